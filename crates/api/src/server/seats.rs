//! Limits the connections, and selects those that make room for new ones. A connection without a
//! request costs little, so these are the ones that can pile up.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use tokio::sync::Notify;
use tokio::task::AbortHandle;

/// The progress of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum Phase {
    /// Its request has not arrived in full.
    Arriving,
    /// The agent works on it, or its response comes in parts for as long as the client listens.
    Answering,
    /// The response is complete, and the client has not read all of it.
    Leaving,
}

/// The phase of one connection, for the tasks that move it on.
#[derive(Clone, Debug)]
pub(super) struct Progress {
    phase: Arc<AtomicU8>,
    changed: Arc<Notify>,
}

impl Progress {
    /// The request has arrived.
    pub(super) fn heard(&self) {
        self.phase.store(Phase::Answering as u8, Ordering::Release);
    }

    /// The response is complete.
    pub(super) fn answered(&self) {
        self.phase.store(Phase::Leaving as u8, Ordering::Release);
        self.changed.notify_one();
    }

    fn is(&self, phase: Phase) -> bool {
        self.phase.load(Ordering::Acquire) == phase as u8
    }
}

#[derive(Debug)]
struct Seat {
    task: AbortHandle,
    progress: Progress,
}

/// The connections that are open, the oldest first.
#[derive(Debug)]
pub(super) struct Seats {
    most: usize,
    taken: VecDeque<Seat>,
    changed: Arc<Notify>,
}

impl Seats {
    pub(super) fn new(most: usize) -> Self {
        Self { most, taken: VecDeque::new(), changed: Arc::default() }
    }

    /// Reports whether a new connection can be accepted: there is room, or a connection that can
    /// make room.
    pub(super) fn has_room(&mut self) -> bool {
        self.taken.retain(|seat| !seat.task.is_finished());
        self.taken.len() < self.most || self.dispensable().is_some()
    }

    /// Waits until [`has_room`](Self::has_room) may have changed, other than by the end of a
    /// connection.
    pub(super) fn changed(&self) -> impl Future<Output = ()> + use<> {
        let changed = Arc::clone(&self.changed);
        async move { changed.notified().await }
    }

    /// Begins a connection, and ends another one if there is no room for both.
    pub(super) fn take(&mut self, begin: impl FnOnce(Progress) -> AbortHandle) {
        while self.taken.len() >= self.most
            && let Some(seat) = self.dispensable().and_then(|index| self.taken.remove(index))
        {
            seat.task.abort();
        }
        let phase = Arc::new(AtomicU8::new(Phase::Arriving as u8));
        let progress = Progress { phase, changed: Arc::clone(&self.changed) };
        self.taken.push_back(Seat { task: begin(progress.clone()), progress });
    }

    /// Returns the connection that has waited longest without sending a request, or else the oldest
    /// one whose client does not read the response.
    fn dispensable(&self) -> Option<usize> {
        let oldest = |phase| self.taken.iter().position(|seat| seat.progress.is(phase));
        oldest(Phase::Arriving).or_else(|| oldest(Phase::Leaving))
    }
}
