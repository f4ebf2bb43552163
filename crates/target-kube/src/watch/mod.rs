//! Notices changes: one stream for each kind of the objects with our label. Objects without it are
//! followed by name, or with all others of their kind if there are many.
//!
//! An event is never an observation. One that agrees with the record is dropped. Any other makes
//! its object suspect and becomes a hint, and the observation that follows reads the object from
//! the server. While a stream is not caught up, observations merely need requests.
//!
//! - [`lines`]: splits bytes into events and items.
//! - `pages`: lists.
//! - `streams`, `single`: keeps streams open.
//! - `unlabelled`: chooses the streams for objects without our label.
//! - `polling`: lists the kinds that there is no stream left for.
//! - `outage`: detects, once for all streams, when the server responds again.
//! - `restored`: detects that the server's state went back.
//! - `unwatched`: the objects that no open stream reports.
//! - `beginning`: waits for streams that have just been opened.
//! - `events`: interprets events.

mod beginning;
mod events;
mod lines;
mod outage;
pub(crate) mod pages;
mod polling;
mod restored;
mod single;
mod streams;
mod unlabelled;
mod unwatched;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

use setpoint_core::key::Key;
use setpoint_core::time::{Span, Timestamp};
use setpoint_target::Hint;

use self::events::WatchedObject;
use self::outage::Outage;
use self::unlabelled::{Crowd, Unlabelled};
use crate::turns::Signal;

/// The state of the streams that hints come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Watching {
    /// The number of wanted streams: of a kind, or of a kind in one namespace.
    pub streams: usize,
    /// The number of streams that have reported everything up to now.
    pub caught_up: usize,
    /// The number of objects that are watched one by one, because they do not have our label.
    pub single: usize,
    /// The number of objects without our label that are watched with all others of their kind,
    /// because there are many.
    pub together: usize,
    /// The number of kinds, or kinds in one namespace, that are listed from time to time, because
    /// the limit of streams is reached.
    pub polled: usize,
    /// The reasons why streams are not caught up.
    pub troubles: Vec<String>,
}

/// A kind, in one namespace or (if empty) in all.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct StreamId {
    pub(crate) class: Arc<str>,
    pub(crate) namespace: Arc<str>,
    pub(crate) whose: Whose,
}

/// The objects of its kind that a stream reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Whose {
    /// The objects with our label.
    Ours,
    /// All objects: among them are some without our label that apps observe.
    Anybodys,
}

/// The streams of one cluster, and the hints that come from them.
#[derive(Debug)]
pub(crate) struct Watches {
    state: Mutex<State>,
    /// The most streams of kinds. Kinds beyond this are polled.
    most_streams: usize,
    /// The most streams of single objects.
    most_by_name: usize,
    /// The period in which all polled kinds are listed once.
    poll_round: Span,
    /// Raised when there is a hint.
    news: Signal,
    /// Raised when there is a stream to open.
    wanted: Signal,
    /// Raised when there is a kind to poll.
    to_poll: Signal,
    outage: Outage,
}

#[derive(Debug, Default)]
struct State {
    /// A task keeps the streams open.
    driven: bool,
    streams: BTreeMap<StreamId, Progress>,
    /// The kinds that there was no stream left for.
    polled: BTreeSet<StreamId>,
    /// The polled kinds whose last list failed, and the reason.
    unlisted: BTreeMap<StreamId, String>,
    /// The kinds that may be watched only namespace by namespace.
    restricted: BTreeSet<Arc<str>>,
    /// All requested kinds and namespaces. They contain the namespaces to watch for a restricted
    /// kind.
    asked: BTreeSet<StreamId>,
    /// The observed objects without our label.
    unlabelled: BTreeMap<Key, Unlabelled>,
    /// The number of those objects that are followed by name.
    by_name: usize,
    /// The streams that report the rest of those objects.
    crowds: BTreeMap<StreamId, Crowd>,
    fresh: Vec<Fresh>,
    hinted: BTreeSet<Key>,
    /// The server responds again after an outage.
    answers_again: bool,
    /// The set of streams that are down differs from the last hint.
    unwatched_changed: bool,
    /// The number of writes of ours in progress by object, with the last event of each object
    /// meanwhile.
    writing: BTreeMap<Key, (usize, Option<WatchedObject>)>,
    /// The wakers of observations that wait for streams to report their initial state.
    listening: Vec<Waker>,
}

#[derive(Debug, Default)]
struct Progress {
    /// The stream is being opened, or reports the current state, for the first time.
    begins: bool,
    /// The stream was open at some time.
    opened: bool,
    caught_up: bool,
    trouble: Option<String>,
    /// The number of failed tries to resume.
    tries: u32,
    /// The time since which the stream is down, if it was open before.
    down_since: Option<Timestamp>,
}

/// A stream that has to be opened.
#[derive(Debug)]
enum Fresh {
    Kind(StreamId),
    Crowd(StreamId, Arc<Signal>),
    Single(Key, Arc<Signal>),
}

impl Watches {
    pub(crate) fn new(most_streams: usize, most_by_name: usize, poll_round: Span) -> Self {
        let (news, wanted, to_poll) = (Signal::default(), Signal::default(), Signal::default());
        let (state, outage) = (Mutex::default(), Outage::default());
        Self { state, most_streams, most_by_name, poll_round, news, wanted, to_poll, outage }
    }

    /// Registers interest in a key: its kind is watched from now on.
    pub(crate) fn want(&self, key: &Key) {
        let of_namespace = StreamId::of_ours(key.class(), key.namespace());
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
        let fresh = state.fresh_of(id);
        state.fresh.push(fresh);
    }

    /// Reports whether every change of a labelled object of this kind was reported.
    pub(crate) fn covers(&self, key: &Key) -> bool {
        let state = self.state();
        let caught_up = |namespace: &str| {
            let id = StreamId::of_ours(key.class(), namespace);
            state.streams.get(&id).is_some_and(|progress| progress.caught_up)
        };
        state.driven && (caught_up("") || caught_up(key.namespace()))
    }

    pub(crate) fn watching(&self) -> Watching {
        let state = self.state();
        Watching {
            streams: state.streams.len(),
            caught_up: state.streams.values().filter(|progress| progress.caught_up).count(),
            single: state.by_name,
            together: state.unlabelled.len() - state.by_name,
            polled: state.polled.len(),
            troubles: state.streams.values().filter_map(|progress| progress.trouble.clone()).collect(),
        }
    }

    /// Waits for the next hint.
    pub(crate) async fn hint(&self) -> Hint {
        loop {
            if let Some(hint) = self.state().next_hint() {
                return hint;
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

impl StreamId {
    fn of_ours(class: &str, namespace: &str) -> Self {
        Self { class: class.into(), namespace: namespace.into(), whose: Whose::Ours }
    }
}
