//! The limits on time and bytes of a conversation. Every byte of every transport passes here.
//!
//! gix reads from blocking streams, and this module waits for their data, which may never arrive. A
//! read ends by silence, by slowness, by the end of the time, by too many bytes, or because the
//! caller gave up. The reason is stored as a typed error: gix wraps an I/O error in its own.
//! I/O error that it wraps in its own.

use std::future::Future;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use setpoint_store::StoreError;
use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

use crate::options::{GitLimits, Patience};

/// Interrupts a poll from outside, even while it waits.
#[derive(Debug, Default)]
pub(crate) struct Interrupt {
    flag: AtomicBool,
    bell: Notify,
}

impl Interrupt {
    pub(crate) fn ring(&self) {
        self.flag.store(true, Ordering::Relaxed);
        self.bell.notify_one();
    }

    fn was_rung(&self) -> bool {
        self.flag.load(Ordering::Relaxed)
    }
}

/// The limits of one poll on time and bytes.
#[derive(Debug)]
pub(crate) struct Pace {
    runtime: Handle,
    patience: Patience,
    limit: u64,
    deadline: Instant,
    interrupt: Arc<Interrupt>,
    spent: Mutex<Spent>,
}

#[derive(Debug, Default)]
struct Spent {
    bytes: u64,
    /// The bytes received and the time waited since the last check of the rate. Time for our own
    /// work does not count against the server.
    window_bytes: u64,
    window_waited: Duration,
    verdict: Option<StoreError>,
}

/// Returns the time, for the limits on a server. It decides only how long to wait.
#[expect(clippy::disallowed_methods, reason = "the door of this crate to the clock")]
fn now() -> Instant {
    Instant::now()
}

impl Pace {
    pub(crate) fn new(runtime: Handle, patience: Patience, limits: &GitLimits, interrupt: Arc<Interrupt>) -> Self {
        let deadline = now() + patience.total;
        Self { runtime, patience, limit: limits.pack_bytes, deadline, interrupt, spent: Mutex::default() }
    }

    /// Ends our own work, which does not wait, when its time is over.
    pub(crate) fn go_on(&self) -> Result<(), StoreError> {
        if self.interrupt.was_rung() || now() >= self.deadline {
            return Err(self.overdue());
        }
        Ok(())
    }

    /// Returns the reason for an interruption.
    pub(crate) fn overdue(&self) -> StoreError {
        let total = self.patience.total.as_secs_f32();
        StoreError::unreachable(format!("the poll was interrupted, or did not finish within {total} s"))
    }

    /// Returns the flag that gix checks between its own steps.
    pub(crate) fn interrupt(&self) -> &AtomicBool {
        &self.interrupt.flag
    }

    pub(crate) fn patience(&self) -> Patience {
        self.patience
    }

    /// Waits for the server, within the remaining limits. Must not be called on a thread of the
    /// runtime.
    pub(crate) fn wait<T>(&self, answer: impl Future<Output = T>) -> io::Result<T> {
        let started = now();
        if self.interrupt.was_rung() {
            return Err(self.end(self.overdue()));
        }
        let until = self.deadline.min(started + self.patience.idle);
        let answer = self.runtime.block_on(async {
            tokio::select! {
                biased;
                () = self.interrupt.bell.notified() => None,
                answer = timeout_at(until, answer) => Some(answer),
            }
        });
        self.spent().window_waited += started.elapsed();
        let answer = answer.ok_or_else(|| self.end(self.overdue()))?;
        answer.map_err(|_| {
            let total = self.patience.total.as_secs_f32();
            let idle = self.patience.idle.as_secs_f32();
            let overdue = now() >= self.deadline;
            self.end(StoreError::unreachable(if overdue {
                format!("the server did not finish within {total} s")
            } else {
                format!("the server sent nothing for {idle} s")
            }))
        })
    }

    /// Counts received bytes.
    pub(crate) fn received(&self, bytes: usize) -> io::Result<()> {
        let mut spent = self.spent();
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        spent.bytes = spent.bytes.saturating_add(bytes);
        spent.window_bytes = spent.window_bytes.saturating_add(bytes);
        let too_much = spent.bytes > self.limit;
        let mut too_slow = false;
        if spent.window_waited >= self.patience.window {
            too_slow = spent.window_bytes < self.patience.rate.saturating_mul(spent.window_waited.as_secs().max(1));
            spent.window_bytes = 0;
            spent.window_waited = Duration::ZERO;
        }
        drop(spent);
        if too_much {
            return Err(self.end(StoreError::refused(
                format!("the server sent more than {} bytes", self.limit),
                "make the repository smaller, declare the store shallow, or raise its limit",
            )));
        }
        if too_slow {
            let rate = self.patience.rate;
            return Err(self.end(StoreError::unreachable(format!("the server sent less than {rate} bytes a second"))));
        }
        Ok(())
    }

    /// Ends the poll. The first reason counts: later ones are its consequences.
    pub(crate) fn end(&self, why: StoreError) -> io::Error {
        let text = why.to_string();
        self.spent().verdict.get_or_insert(why);
        io::Error::other(text)
    }

    /// Returns the reason why the poll was ended here, if it was.
    pub(crate) fn verdict(&self) -> Option<StoreError> {
        self.spent().verdict.clone()
    }

    fn spent(&self) -> MutexGuard<'_, Spent> {
        // Numbers and a text, each valid after every assignment, even if another thread panicked.
        self.spent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_poll_that_is_given_up_interrupts_gix_too() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let interrupt = Arc::new(Interrupt::default());
        let limits = GitLimits::default();
        let pace = Pace::new(runtime.handle().clone(), Patience::default(), &limits, Arc::clone(&interrupt));
        assert!(!pace.interrupt().load(Ordering::Relaxed));
        assert!(pace.go_on().is_ok());
        interrupt.ring();
        assert!(pace.interrupt().load(Ordering::Relaxed));
        assert!(pace.go_on().is_err());
        assert!(pace.wait(std::future::ready(())).is_err());
    }

    #[test]
    fn a_server_may_send_as_much_as_the_limit_and_not_a_byte_more() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let limits = GitLimits { pack_bytes: 10, ..GitLimits::default() };
        let pace = Pace::new(runtime.handle().clone(), Patience::default(), &limits, Arc::default());
        assert!(pace.received(10).is_ok());
        assert_eq!(pace.verdict(), None);
        assert!(pace.received(1).is_err());
        assert!(pace.verdict().is_some());
    }
}
