//! How changes are noticed: one stream for each kind, and one for each single object that bears no label of ours.
//!
//! What a stream tells is never an observation. An event that fits what is remembered is dropped; any other makes its object suspect, which
//! is hinted at, and the look that follows is a read from the server. A stream that is not caught up means only that looks need requests.
//!
//! - [`lines`]: bytes to events and items.
//! - `pages`: lists.
//! - `streams`, `single`: keeping streams open.
//! - `polling`: what there is no stream left for.
//! - `beginning`: waiting for streams that have just been opened.
//! - `events`: what an event means.

mod beginning;
mod events;
mod lines;
pub(crate) mod pages;
mod polling;
mod single;
mod streams;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

use setpoint_core::key::Key;
use setpoint_core::name::LiveVersion;
use setpoint_core::time::Span;
use setpoint_target::Hint;

use self::events::Told;
use crate::turns::Signal;

/// Streams of single objects.
const MOST_SINGLE: usize = 100;

/// How far changes are hinted at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Watching {
    /// Streams that are wanted: of a kind, or of a kind in one namespace.
    pub streams: usize,
    /// Those that have told everything up to now.
    pub caught_up: usize,
    /// Objects that are watched one by one, because they bear no label of ours.
    pub single: usize,
    /// Kinds, or kinds in one namespace, that are listed from time to time, because there are streams enough.
    pub polled: usize,
    /// What is not watched, and so only noticed by the regular look.
    pub unwatched: usize,
    /// Why the streams that are not caught up are not.
    pub troubles: Vec<String>,
}

/// A kind, in one namespace or (if empty) in all.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct StreamId {
    pub(crate) class: Arc<str>,
    pub(crate) namespace: Arc<str>,
}

/// The streams of one cluster, and what they have to say.
#[derive(Debug)]
pub(crate) struct Watches {
    state: Mutex<State>,
    /// Streams of kinds. Beyond this they are polled.
    most_streams: usize,
    /// These are all listed once in this time.
    poll_round: Span,
    /// There is something to hint at.
    news: Signal,
    /// There is a stream to open.
    wanted: Signal,
    /// There is something to poll.
    to_poll: Signal,
}

#[derive(Debug, Default)]
struct State {
    /// Somebody keeps the streams open.
    driven: bool,
    streams: BTreeMap<StreamId, Progress>,
    /// What there was no stream left for.
    polled: BTreeSet<StreamId>,
    /// Of that, what could not be listed when its turn came, and why.
    unlisted: BTreeMap<StreamId, String>,
    /// Kinds that may be watched only namespace by namespace.
    restricted: BTreeSet<Arc<str>>,
    /// All that was asked about, so that a restricted kind knows its namespaces.
    asked: BTreeSet<StreamId>,
    single: BTreeMap<Key, Single>,
    /// What there was no room for among these, and whether it is there.
    unwatched: BTreeMap<Key, bool>,
    fresh: Vec<Fresh>,
    hinted: BTreeSet<Key>,
    /// Writes under way, and the last that a stream has told of each object meanwhile.
    writing: BTreeMap<Key, (usize, Option<Told>)>,
    /// Whoever waits for streams at their beginning.
    listening: Vec<Waker>,
}

#[derive(Debug, Default)]
struct Progress {
    /// It is being opened, or tells what is there, for the first time.
    begins: bool,
    caught_up: bool,
    trouble: Option<String>,
}

/// An object that is watched by its name.
#[derive(Debug)]
struct Single {
    /// As it was last seen; `None`: it was not there.
    seen: Option<LiveVersion>,
    over: Arc<Signal>,
}

/// A stream that has to be opened.
#[derive(Debug)]
enum Fresh {
    Kind(StreamId),
    Single(Key, Arc<Signal>),
}

impl Watches {
    pub(crate) fn new(most_streams: usize, poll_round: Span) -> Self {
        let (news, wanted, to_poll) = (Signal::default(), Signal::default(), Signal::default());
        Self { state: Mutex::default(), most_streams, poll_round, news, wanted, to_poll }
    }

    /// Somebody looks at this key: its kind is watched from now on.
    pub(crate) fn want(&self, key: &Key) {
        let of_namespace = StreamId { class: key.class().into(), namespace: key.namespace().into() };
        let mut state = self.state();
        if state.asked.contains(&of_namespace) {
            return;
        }
        let restricted = state.restricted.contains(&of_namespace.class);
        let id =
            if restricted { of_namespace.clone() } else { StreamId { namespace: "".into(), ..of_namespace.clone() } };
        state.asked.insert(of_namespace);
        self.open(&mut state, id);
        drop(state);
        self.wanted.raise();
    }

    fn open(&self, state: &mut State, id: StreamId) {
        if state.streams.contains_key(&id) {
            return;
        }
        if state.streams.len() >= self.most_streams {
            state.polled.insert(id);
            self.to_poll.raise();
            return;
        }
        state.streams.insert(id.clone(), Progress { begins: true, ..Progress::default() });
        state.fresh.push(Fresh::Kind(id));
    }

    /// Whether everything that happened to a labelled object of this kind has been told.
    pub(crate) fn covers(&self, key: &Key) -> bool {
        let state = self.state();
        let caught_up = |namespace: &str| {
            let id = StreamId { class: key.class().into(), namespace: namespace.into() };
            state.streams.get(&id).is_some_and(|progress| progress.caught_up)
        };
        state.driven && (caught_up("") || caught_up(key.namespace()))
    }

    /// A look found an object like this, or nothing. What the stream of its kind does not tell of is watched by name.
    pub(crate) fn saw(&self, key: &Key, version: Option<&LiveVersion>, covered: bool) {
        let mut state = self.state();
        if covered {
            state.let_go(key);
            return;
        }
        if let Some(single) = state.single.get_mut(key) {
            single.seen = version.cloned();
            return;
        }
        if state.single.len() >= MOST_SINGLE {
            state.unwatched.insert(key.clone(), version.is_some());
            return;
        }
        let over = Arc::new(Signal::default());
        state.single.insert(key.clone(), Single { seen: version.cloned(), over: Arc::clone(&over) });
        state.fresh.push(Fresh::Single(key.clone(), over));
        drop(state);
        self.wanted.raise();
    }

    /// From now on it bears our label, or is gone by our hand.
    pub(crate) fn let_go(&self, key: &Key) {
        self.state().let_go(key);
    }

    pub(crate) fn watching(&self) -> Watching {
        let state = self.state();
        Watching {
            streams: state.streams.len(),
            caught_up: state.streams.values().filter(|progress| progress.caught_up).count(),
            single: state.single.len(),
            polled: state.polled.len(),
            unwatched: state.unwatched.len(),
            troubles: state.streams.values().filter_map(|progress| progress.trouble.clone()).collect(),
        }
    }

    /// Waits for something to hint at.
    pub(crate) async fn hint(&self) -> Hint {
        loop {
            let keys = std::mem::take(&mut self.state().hinted);
            if !keys.is_empty() {
                return Hint::Changed { keys };
            }
            self.news.heard().await;
        }
    }

    pub(crate) fn tell(&self, key: Key) {
        self.state().hinted.insert(key);
        self.news.raise();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn let_go(&mut self, key: &Key) {
        self.unwatched.remove(key);
        if let Some(single) = self.single.remove(key) {
            single.over.raise();
        }
    }
}
