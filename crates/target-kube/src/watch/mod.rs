//! How changes are noticed: one stream for each kind of what bears our label. What bears none is
//! followed by name, or where there is much of it with all others of its kind.
//!
//! What a stream tells is never an observation. An event that fits what is remembered is dropped;
//! any other makes its object suspect, which is hinted at, and the look that follows is a read from
//! the server. A stream that is not caught up means only that looks need requests.
//!
//! - [`lines`]: bytes to events and items.
//! - `pages`: lists.
//! - `streams`, `single`: keeping streams open.
//! - `unlabelled`: which of them tell of what bears no label of ours.
//! - `polling`: what there is no stream left for.
//! - `outage`: finding out, once for all of them, when the server responds again.
//! - `restored`: noticing that the server's state went back.
//! - `unwatched`: which objects no open stream tells of.
//! - `beginning`: waiting for streams that have just been opened.
//! - `events`: what an event means.

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

/// How far changes are hinted at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Watching {
    /// Streams that are wanted: of a kind, or of a kind in one namespace.
    pub streams: usize,
    /// Those that have told everything up to now.
    pub caught_up: usize,
    /// Objects that are watched one by one, because they bear no label of ours.
    pub single: usize,
    /// Objects without our label that are watched with all others of their kind, because there are
    /// many.
    pub together: usize,
    /// Kinds, or kinds in one namespace, that are listed from time to time, because there are
    /// streams enough.
    pub polled: usize,
    /// Why the streams that are not caught up are not.
    pub troubles: Vec<String>,
}

/// A kind, in one namespace or (if empty) in all.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct StreamId {
    pub(crate) class: Arc<str>,
    pub(crate) namespace: Arc<str>,
    pub(crate) whose: Whose,
}

/// Which objects of its kind a stream tells of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Whose {
    /// Those that bear our label.
    Ours,
    /// All: among them are some that apps look at and that bear no label of ours.
    Anybodys,
}

/// The streams of one cluster, and what they have to say.
#[derive(Debug)]
pub(crate) struct Watches {
    state: Mutex<State>,
    /// Streams of kinds. Beyond this they are polled.
    most_streams: usize,
    /// Streams of single objects.
    most_by_name: usize,
    /// These are all listed once in this time.
    poll_round: Span,
    /// There is something to hint at.
    news: Signal,
    /// There is a stream to open.
    wanted: Signal,
    /// There is something to poll.
    to_poll: Signal,
    outage: Outage,
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
    /// What somebody looks at, and bears no label of ours.
    unlabelled: BTreeMap<Key, Unlabelled>,
    /// How much of that is followed by name.
    by_name: usize,
    /// The streams that tell of the rest.
    crowds: BTreeMap<StreamId, Crowd>,
    fresh: Vec<Fresh>,
    hinted: BTreeSet<Key>,
    /// The server responds again after an outage.
    answers_again: bool,
    /// Other streams are down than were hinted at last.
    unwatched_changed: bool,
    /// Writes under way, and the last that a stream has told of each object meanwhile.
    writing: BTreeMap<Key, (usize, Option<WatchedObject>)>,
    /// Whoever waits for streams at their beginning.
    listening: Vec<Waker>,
}

#[derive(Debug, Default)]
struct Progress {
    /// It is being opened, or tells what is there, for the first time.
    begins: bool,
    /// It was open at some time.
    opened: bool,
    caught_up: bool,
    trouble: Option<String>,
    /// How often it was tried in vain to go on.
    tries: u32,
    /// Since when it is down, where it was open before.
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

    /// Somebody looks at this key: its kind is watched from now on.
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

    /// Whether everything that happened to a labelled object of this kind has been told.
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

    /// Waits for something to hint at.
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
