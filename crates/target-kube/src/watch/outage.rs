//! Outages of the API server. One probe detects for all streams when requests get through again, so
//! that no stream waits for its own next try.

use std::future::poll_fn;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

use setpoint_core::time::Span;

use crate::cluster::Cluster;
use crate::requests::Failure;
use crate::turns::Signal;

/// The first pause of the probe, and the longest one.
const FIRST_PAUSE: Span = Span::seconds(1);
const LONGEST_PAUSE: Span = Span::seconds(4);
/// The longest pause if the server responds but refuses the probe. That is not an outage, and a
/// person has to resolve it.
const LONGEST_REFUSED: Span = Span::minutes(1);

/// The state of outages.
#[derive(Debug, Default)]
pub(super) struct Outage {
    state: Mutex<State>,
    /// Raised when a request of a stream failed in a way that may be an outage.
    suspected: Signal,
}

#[derive(Debug, Default)]
struct State {
    /// The number of outages that have ended.
    ended: u64,
    waiting: Vec<Waker>,
}

impl Outage {
    pub(super) fn suspect(&self) {
        self.suspected.raise();
    }

    /// Returns the number of outages that have ended so far.
    pub(super) fn ended(&self) -> u64 {
        self.state().ended
    }

    /// Waits until more outages have ended than this number.
    pub(super) async fn over(&self, before: u64) {
        poll_fn(|context| {
            let mut state = self.state();
            if state.ended > before {
                return Poll::Ready(());
            }
            if !state.waiting.iter().any(|waker| waker.will_wake(context.waker())) {
                state.waiting.push(context.waker().clone());
            }
            Poll::Pending
        })
        .await;
    }

    fn end(&self) {
        let waiting = {
            let mut state = self.state();
            state.ended += 1;
            std::mem::take(&mut state.waiting)
        };
        waiting.into_iter().for_each(Waker::wake);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Cluster {
    /// Asks the server for its identity after each failure of a stream, until it responds. Never
    /// ends.
    pub(super) async fn probe(&self) {
        loop {
            self.watches.outage.suspected.heard().await;
            let mut failures = 0;
            while let Err(failure) = self.identity.ask(&self.api).await {
                self.api.sender.wire.wait(pause_after(&failure, failures)).await;
                failures += 1;
            }
            if failures > 0 {
                self.watches.outage.end();
                self.watches.answers_again();
            }
        }
    }
}

fn pause_after(failure: &Failure, failures: u32) -> Span {
    let longest = if failure.is_passing() { LONGEST_PAUSE } else { LONGEST_REFUSED };
    FIRST_PAUSE.doubled(failures, longest)
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[test]
    fn the_end_of_an_outage_is_heard_by_all_who_wait_for_it_and_once() {
        let outage = Outage::default();
        let before = outage.ended();
        assert!(outage.over(before).now_or_never().is_none());
        outage.end();
        assert!(outage.over(before).now_or_never().is_some());
        assert!(outage.over(before).now_or_never().is_some(), "another stream hears it too");
        assert!(outage.over(outage.ended()).now_or_never().is_none(), "the next failure waits for the next end");
    }

    #[test]
    fn a_server_that_does_not_respond_is_probed_every_few_seconds() {
        let silent = Failure::Unanswered { detail: String::new() };
        let pauses: Vec<_> = (0..5).map(|failures| pause_after(&silent, failures).as_millis()).collect();
        assert_eq!(pauses, [1_000, 2_000, 4_000, 4_000, 4_000]);
    }
}
