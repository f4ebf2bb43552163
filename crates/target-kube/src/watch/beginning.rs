//! Waiting for streams that have begun to tell what is there: after a start that is one request for
//! all that is remembered, where a look would be one for each object.

use std::collections::BTreeSet;
use std::future::poll_fn;
use std::task::{Poll, Waker};

use setpoint_core::key::Key;

use super::{State, StreamId, Watches};

impl State {
    /// Whether the stream of its kind is telling what is there, for the first time.
    fn begins(&self, class: &str, namespace: &str) -> bool {
        let begins = |namespace: &str| {
            let id = StreamId::of_ours(class, namespace);
            self.streams.get(&id).is_some_and(|progress| progress.begins)
        };
        self.driven && (begins("") || begins(namespace))
    }

    /// A stream got to the end of its beginning, or broke off.
    pub(super) fn wake_listeners(&mut self) {
        self.listening.drain(..).for_each(Waker::wake);
    }
}

impl Watches {
    /// Whether the stream of its kind is telling what is there, for the first time.
    pub(crate) fn begins(&self, key: &Key) -> bool {
        self.state().begins(key.class(), key.namespace())
    }

    /// Ends when no stream of these kinds is at its beginning any more.
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
