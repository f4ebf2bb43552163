//! Runs slow work, such as renders, on threads where it may block. One job cannot harm another: a
//! job whose result is no longer awaited is stopped, a job that does not stop is not begun a second
//! time, and a panic is reported as an error.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use setpoint_core::name::AppId;
use setpoint_core::observed::UnknownReason;
use setpoint_engine::accept::NotRendered;

/// The jobs that are running.
#[derive(Debug, Default)]
pub(super) struct Work {
    under_way: Mutex<BTreeMap<u64, (AppId, Stop)>>,
    begun: AtomicU64,
}

/// Set once the result is no longer awaited.
type Stop = Arc<AtomicBool>;

/// The reason why a job has no result. It says nothing about the version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum NotDone {
    #[error("an earlier attempt took too long and has not stopped yet; Setpoint tries again")]
    NotStopped,
    #[error(
        "the renderer crashed on this version, which is a bug in Setpoint: report it; until it is fixed, an external kustomize can render kustomizations (`kustomize.external`)"
    )]
    BrokeDown,
    #[error("the agent is stopping")]
    Stopping,
}

impl From<NotDone> for UnknownReason {
    fn from(why: NotDone) -> Self {
        Self::NotRun { detail: why.to_string() }
    }
}

impl From<NotDone> for NotRendered {
    fn from(why: NotDone) -> Self {
        Self::Unavailable { what: why.to_string() }
    }
}

impl Work {
    /// Runs a job for an app. The job is stopped when its result is no longer awaited.
    pub(super) async fn done<T: Send + 'static>(
        self: &Arc<Self>,
        app: AppId,
        work: impl FnOnce(&Stop) -> T + Send + 'static,
    ) -> Result<T, NotDone> {
        let seat = self.seat(app)?;
        let _waiting = Waiting(Arc::clone(&seat.stop));
        let done = spawn(move || work(&seat.stop)).await;
        done.map_err(|error| if error.is_panic() { NotDone::BrokeDown } else { NotDone::Stopping })
    }

    fn seat(self: &Arc<Self>, app: AppId) -> Result<Seat, NotDone> {
        let mut under_way = self.under_way();
        let is_given_up = |(of, stop): &(AppId, Stop)| *of == app && stop.load(Ordering::Relaxed);
        if under_way.values().any(is_given_up) {
            return Err(NotDone::NotStopped);
        }
        let (number, stop) = (self.begun.fetch_add(1, Ordering::Relaxed), Stop::default());
        under_way.insert(number, (app, Arc::clone(&stop)));
        Ok(Seat { work: Arc::clone(self), number, stop })
    }

    fn under_way(&self) -> MutexGuard<'_, BTreeMap<u64, (AppId, Stop)>> {
        self.under_way.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A running job, for as long as its thread runs.
struct Seat {
    work: Arc<Work>,
    number: u64,
    stop: Stop,
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.work.under_way().remove(&self.number);
    }
}

/// A caller that waits for a result.
struct Waiting(Stop);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the door: a job that is no longer awaited is stopped, and is not begun again until it has"
)]
fn spawn<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> tokio::task::JoinHandle<T> {
    tokio::task::spawn_blocking(work)
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;

    fn app(name: &str) -> AppId {
        format!("default/{name}").parse().expect("a valid app")
    }

    #[tokio::test]
    async fn what_panics_is_told_as_that_and_nobody_else_is_harmed() {
        let work = Arc::new(Work::default());
        let broken: Result<(), _> = work.done(app("broken"), |_| panic!("hunter2")).await;
        assert_eq!(broken, Err(NotDone::BrokeDown));
        assert!(!UnknownReason::from(NotDone::BrokeDown).to_string().contains("hunter2"));
        assert_eq!(work.done(app("broken"), |_| 1).await, Ok(1), "another attempt is possible");
        assert_eq!(work.done(app("other"), |_| 2).await, Ok(2));
        assert!(work.under_way().is_empty());
    }

    #[tokio::test]
    async fn what_nobody_waits_for_is_told_to_stop_and_not_begun_again_until_it_has() {
        let work = Arc::new(Work::default());
        let ((go, gone_on), (say, said)) = (mpsc::channel::<()>(), mpsc::channel());
        let slow = work.done(app("slow"), move |stop| {
            gone_on.recv().expect("the test lets it go on");
            say.send(stop.load(Ordering::Relaxed)).expect("the test listens");
        });
        assert!(timeout(Duration::from_millis(1), slow).await.is_err(), "the result is no longer awaited");
        assert_eq!(work.done(app("slow"), |_| ()).await, Err(NotDone::NotStopped));
        assert_eq!(work.done(app("other"), |_| 2).await, Ok(2));
        go.send(()).expect("the job waits for this");
        assert!(said.recv().expect("it responds"), "it was stopped");
        // Its thread releases the seat a moment after it has responded.
        while work.done(app("slow"), |_| ()).await.is_err() {
            tokio::task::yield_now().await;
        }
    }
}
