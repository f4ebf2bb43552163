//! Synchronization without a runtime: a signal that is not lost, and a limited number of places.
//!
//! A runtime may drive this crate's futures, or the simulator by hand. So nothing here depends on a
//! runtime.

use std::future::poll_fn;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

/// A signal that something happened. It is kept until a waiter receives it; raised several times
/// meanwhile, it is received once.
#[derive(Debug, Default)]
pub(crate) struct Signal(Mutex<Raised>);

#[derive(Debug, Default)]
struct Raised {
    raised: bool,
    waiting: Vec<Waker>,
}

impl Signal {
    pub(crate) fn raise(&self) {
        let waiting = {
            let mut state = self.state();
            state.raised = true;
            std::mem::take(&mut state.waiting)
        };
        waiting.into_iter().for_each(Waker::wake);
    }

    /// Waits until the signal is raised. One waiter receives it; the others wait on.
    pub(crate) fn heard(&self) -> impl Future<Output = ()> + Send + '_ {
        poll_fn(|context| {
            let mut state = self.state();
            if std::mem::take(&mut state.raised) {
                return Poll::Ready(());
            }
            if !state.waiting.iter().any(|waker| waker.will_wake(context.waker())) {
                state.waiting.push(context.waker().clone());
            }
            Poll::Pending
        })
    }

    fn state(&self) -> MutexGuard<'_, Raised> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A limited number of places, each held by one caller for a while.
#[derive(Debug)]
pub(crate) struct Places {
    free: Mutex<usize>,
    freed: Signal,
}

/// A place, held until it is dropped.
#[derive(Debug)]
pub(crate) struct PlaceGuard<'p>(&'p Places);

impl Places {
    pub(crate) fn new(places: usize) -> Self {
        Self { free: Mutex::new(places), freed: Signal::default() }
    }

    /// Waits for a place.
    pub(crate) async fn take(&self) -> PlaceGuard<'_> {
        loop {
            {
                let mut free = self.free();
                if *free > 0 {
                    *free -= 1;
                    if *free > 0 {
                        // The signal was for one place; another waiter takes the next.
                        self.freed.raise();
                    }
                    return PlaceGuard(self);
                }
            }
            self.freed.heard().await;
        }
    }

    fn free(&self) -> MutexGuard<'_, usize> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for PlaceGuard<'_> {
    fn drop(&mut self) {
        *self.0.free() += 1;
        self.0.freed.raise();
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[test]
    fn a_signal_that_nobody_waits_for_is_heard_once_by_who_comes_next() {
        let signal = Signal::default();
        signal.raise();
        signal.raise();
        assert!(signal.heard().now_or_never().is_some());
        assert!(signal.heard().now_or_never().is_none());
    }

    #[test]
    fn no_more_places_are_taken_than_there_are() {
        let places = Places::new(2);
        let (first, second) = (places.take().now_or_never(), places.take().now_or_never());
        assert!(first.is_some() && second.is_some());
        let mut third = Box::pin(places.take());
        let mut fourth = Box::pin(places.take());
        assert!((&mut third).now_or_never().is_none() && (&mut fourth).now_or_never().is_none());
        drop((first, second));
        let third = (&mut third).now_or_never();
        assert!(third.is_some());
        assert!((&mut fourth).now_or_never().is_some(), "both places were given back");
    }
}
