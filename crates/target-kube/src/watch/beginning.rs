//! Waits for streams that have begun to report the current state. After a start this costs one
//! request for all recorded objects, where reading each would cost one per object.

use std::collections::BTreeSet;
use std::future::poll_fn;
use std::task::{Poll, Waker};

use setpoint_core::key::Key;

use super::{State, StreamId, Watches};

impl State {
    /// Reports whether the stream of a kind is reporting the current state for the first time.
    fn begins(&self, class: &str, namespace: &str) -> bool {
        let begins = |namespace: &str| {
            let id = StreamId::of_ours(class, namespace);
            self.streams.get(&id).is_some_and(|progress| progress.begins)
        };
        self.driven && (begins("") || begins(namespace))
    }

    /// Wakes the waiting observations, because a stream has reported its initial state, or broke
    /// off.
    pub(super) fn wake_listeners(&mut self) {
        self.listening.drain(..).for_each(Waker::wake);
    }
}

impl Watches {
    /// Reports whether the stream of a key's kind is reporting the current state for the first
    /// time.
    pub(crate) fn begins(&self, key: &Key) -> bool {
        self.state().begins(key.class(), key.namespace())
    }

    /// Waits until no stream of these kinds is reporting its initial state any more.
    pub(crate) async fn heard_out(&self, keys: impl Iterator<Item = &Key>) {
        let kinds: BTreeSet<(&str, &str)> = keys.map(|key| (key.class(), key.namespace())).collect();
        poll_fn(|context| {
            let mut state = self.state();
            if !kinds.iter().any(|(class, namespace)| state.begins(class, namespace)) {
                return Poll::Ready(());
            }
            state.listening.push(context.waker().clone());
            Poll::Pending
        })
        .await;
    }
}
