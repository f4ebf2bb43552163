//! Follows objects without our label, mostly those of apps that only observe. Each is followed by
//! its name while there are few, otherwise with all others of its kind. Only observed objects are
//! remembered, and their streams bring metadata only.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures_util::future::select;
use setpoint_core::key::Key;
use setpoint_core::name::LiveVersion;
use setpoint_core::time::Span;

use super::{Fresh, State, StreamId, Watches, Whose};
use crate::cluster::Cluster;
use crate::turns::{Places, Signal};

/// How long a crowd must be unchanged before it is followed. An object that is about to be created
/// has no label for a moment, and mostly that is why it was read.
const SETTLES: Span = Span::seconds(5);
/// The number of these waits after which a crowd is followed, even if it still changes.
const MOST_WAITS: usize = 12;

/// An object without our label.
#[derive(Debug)]
pub(super) struct Unlabelled {
    /// Its last known version; `None` if it did not exist.
    pub(super) seen: Option<LiveVersion>,
    /// Ends the stream of this object alone, if it has one.
    alone: Option<Arc<Signal>>,
}

/// The objects that are followed with all others of their kind.
#[derive(Debug)]
pub(super) struct Crowd {
    members: usize,
    over: Arc<Signal>,
}

impl Cluster {
    /// Follows all objects of a kind, for as long as some of those without our label are observed.
    pub(super) async fn follow_crowd(&self, id: StreamId, over: Arc<Signal>, relists: &Places) {
        let following = async {
            let mut members = None;
            for _ in 0..MOST_WAITS {
                self.api.sender.wire.wait(SETTLES).await;
                let now = self.watches.members(&id);
                if members.replace(now) == Some(now) {
                    break;
                }
            }
            if self.watches.is_crowded(&id) {
                self.follow(id, relists).await;
            }
        };
        select(std::pin::pin!(following), std::pin::pin!(over.heard())).await;
    }
}

impl Watches {
    /// Notes the version that a read found, or that it found no object. An object that the stream
    /// of its kind does not report is followed in another way.
    pub(crate) fn saw(&self, key: &Key, version: Option<&LiveVersion>, covered: bool) {
        let mut state = self.state();
        if covered {
            state.let_go(key);
            return;
        }
        if let Some(known) = state.unlabelled.get_mut(key) {
            known.seen = version.cloned();
            return;
        }
        state.unlabelled.insert(key.clone(), Unlabelled { seen: version.cloned(), alone: None });
        self.place(&mut state, key);
        drop(state);
        self.wanted.raise();
    }

    /// Stops following an object separately, because it has our label from now on, or we deleted
    /// it.
    pub(crate) fn let_go(&self, key: &Key) {
        self.state().let_go(key);
    }

    /// Follows an object by its name if there is room, or with its kind. Without room, the kind
    /// that has the most objects followed by name gives them up.
    fn place(&self, state: &mut State, key: &Key) {
        if state.crowds.contains_key(&state.crowd_of(key)) {
            return self.join(state, key);
        }
        if state.by_name < self.most_by_name {
            return state.follow_by_name(key);
        }
        let class = state.commonest(key.class());
        for other in state.leave_names(&class) {
            self.join(state, &other);
        }
        if *class == *key.class() { self.join(state, key) } else { state.follow_by_name(key) }
    }

    fn join(&self, state: &mut State, key: &Key) {
        let id = state.crowd_of(key);
        if let Some(crowd) = state.crowds.get_mut(&id) {
            crowd.members += 1;
            return;
        }
        state.crowds.insert(id.clone(), Crowd { members: 1, over: Arc::default() });
        self.open(state, id);
    }

    fn members(&self, id: &StreamId) -> usize {
        self.state().crowds.get(id).map_or(0, |crowd| crowd.members)
    }

    /// Reports whether these objects are still too many to be followed by name. If not, follows
    /// them by name.
    fn is_crowded(&self, id: &StreamId) -> bool {
        let mut state = self.state();
        let members = state.members_of(id);
        if state.by_name + members.len() > self.most_by_name {
            return true;
        }
        state.disperse(id);
        members.iter().for_each(|key| state.follow_by_name(key));
        drop(state);
        self.wanted.raise();
        false
    }

    /// Returns the objects that a crowd's stream should report.
    pub(super) fn members_of(&self, id: &StreamId) -> BTreeSet<Key> {
        self.state().members_of(id)
    }

    /// Hints at an object without our label if its version is news.
    pub(super) fn told_unlabelled(&self, key: &Key, version: Option<&LiveVersion>) {
        let news = self.state().unlabelled.get(key).is_some_and(|known| known.seen.as_ref() != version);
        if news {
            self.tell(key.clone());
        }
    }

    /// Follows the objects of a kind by namespace instead of in the whole cluster, because the
    /// whole cluster may not be watched.
    pub(super) fn spread(&self, state: &mut State, class: &Arc<str>) {
        let whole = StreamId { class: Arc::clone(class), namespace: "".into(), whose: Whose::Anybodys };
        let members = state.members_of(&whole);
        state.disperse(&whole);
        state.restricted.insert(Arc::clone(class));
        members.iter().for_each(|key| self.join(state, key));
    }
}

impl State {
    fn crowd_of(&self, key: &Key) -> StreamId {
        let restricted = self.restricted.contains(key.class());
        let namespace = if restricted { key.namespace() } else { "" };
        StreamId { class: key.class().into(), namespace: namespace.into(), whose: Whose::Anybodys }
    }

    fn follow_by_name(&mut self, key: &Key) {
        let Some(known) = self.unlabelled.get_mut(key) else { return };
        let over = Arc::new(Signal::default());
        known.alone = Some(Arc::clone(&over));
        self.by_name += 1;
        self.fresh.push(Fresh::Single(key.clone(), over));
    }

    /// Returns the kind with the most objects followed by name, counting one more of this kind.
    fn commonest(&self, class: &str) -> Arc<str> {
        let mut counts = BTreeMap::from([(class, 1_usize)]);
        for (key, _) in self.unlabelled.iter().filter(|(_, known)| known.alone.is_some()) {
            *counts.entry(key.class()).or_default() += 1;
        }
        let commonest = counts.into_iter().max_by_key(|(_, count)| *count);
        commonest.map_or(class, |(class, _)| class).into()
    }

    /// Ends the streams of single objects of a kind.
    fn leave_names(&mut self, class: &str) -> Vec<Key> {
        let mut left = Vec::new();
        for (key, known) in self.unlabelled.iter_mut().filter(|(key, _)| key.class() == class) {
            if let Some(over) = known.alone.take() {
                over.raise();
                left.push(key.clone());
            }
        }
        self.by_name -= left.len();
        left
    }

    fn members_of(&self, id: &StreamId) -> BTreeSet<Key> {
        if !self.crowds.contains_key(id) {
            return BTreeSet::new();
        }
        let is_in =
            |key: &Key| key.class() == &*id.class && (id.namespace.is_empty() || key.namespace() == &*id.namespace);
        let members = self.unlabelled.iter().filter(|(key, known)| known.alone.is_none() && is_in(key));
        members.map(|(key, _)| key.clone()).collect()
    }

    pub(super) fn let_go(&mut self, key: &Key) {
        let Some(gone) = self.unlabelled.remove(key) else { return };
        if let Some(over) = gone.alone {
            self.by_name -= 1;
            return over.raise();
        }
        let id = self.crowd_of(key);
        let Some(crowd) = self.crowds.get_mut(&id) else { return };
        crowd.members -= 1;
        if crowd.members == 0 {
            self.disperse(&id);
        }
    }

    /// Ends the stream of a crowd.
    fn disperse(&mut self, id: &StreamId) {
        if let Some(crowd) = self.crowds.remove(id) {
            crowd.over.raise();
            self.close(id);
        }
    }

    pub(super) fn close(&mut self, id: &StreamId) {
        self.streams.remove(id);
        self.polled.remove(id);
        self.unlisted.remove(id);
    }

    /// Returns the way in which to follow a kind.
    pub(super) fn fresh_of(&self, id: StreamId) -> Fresh {
        match self.crowds.get(&id).map(|crowd| Arc::clone(&crowd.over)) {
            Some(over) => Fresh::Crowd(id, over),
            None => Fresh::Kind(id),
        }
    }

    /// Returns all streams of single objects, to be opened again.
    pub(super) fn singles(&self) -> Vec<Fresh> {
        let single = |(key, known): (&Key, &Unlabelled)| Some(Fresh::Single(key.clone(), known.alone.clone()?));
        self.unlabelled.iter().filter_map(single).collect()
    }
}
