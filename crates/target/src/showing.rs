//! What a target shows to people who ask, beside what the engine decides by. Nothing is decided by
//! any of it, and nothing of it is kept.

use std::collections::BTreeMap;

use setpoint_core::key::Key;
use setpoint_core::live::{Health, Observation, Presence};
use setpoint_core::name::AppId;
use setpoint_core::observed::Observed;
use setpoint_core::time::{Span, Timestamp};

use crate::contract::Answer;

/// Objects of an app with what has come of them, in the order in which they are shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tree {
    pub objects: Vec<TreeObject>,
    /// What could not be looked at, a line each. What is not among the objects because of it is not
    /// known to be absent.
    pub unseen: Vec<String>,
}

/// One object of a tree. Those that it owns come after it, one level deeper.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeObject {
    pub key: Key,
    /// How many owners there are between it and the app.
    pub depth: usize,
    /// The object it belongs to; `None` for what was asked for.
    pub owner: Option<Key>,
    /// It was seen to be there.
    pub present: bool,
    pub health: Health,
    /// Why it is not healthy, in one line, where anybody says so.
    pub reason: Option<String>,
    /// When it was made, where the target keeps that.
    pub created: Option<Timestamp>,
}

impl Tree {
    /// What a look has seen, without anything below it.
    pub fn flat(observation: Observation) -> Self {
        let object = |(key, seen): (Key, Observed<Presence>)| {
            let (present, health, reason) = match seen {
                Observed::Known { value: Presence::Present(live), .. } => (true, live.health, None),
                Observed::Known { value: Presence::Absent, .. } => (false, Health::Unknown, Some(NOT_THERE.to_owned())),
                Observed::Unknown { reason } => (false, Health::Unknown, Some(reason.to_string())),
            };
            TreeObject { key, depth: 0, owner: None, present, health, reason, created: None }
        };
        Self { objects: observation.states.into_iter().map(object).collect(), unseen: Vec::new() }
    }
}

/// Why something that is not there is not well.
pub const NOT_THERE: &str = "it is not there";

/// An object that is not healthy, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unwell {
    pub key: Key,
    pub health: Health,
    /// One line.
    pub reason: String,
}

/// How many requests a target was sent since the process began, by what they do. Empty where
/// nothing is counted.
pub type Tally = BTreeMap<&'static str, u64>;

/// Requests of a target: all of them, and those that were made for single apps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Requests {
    pub all: Tally,
    pub of_apps: BTreeMap<AppId, Tally>,
}

/// Whose logs, and how much of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogQuestion {
    /// Only those of this object and of what it owns: its kind and its name.
    pub object: Option<(String, String)>,
    /// Go on as more is written.
    pub follow: bool,
    /// Only what was written in this last while.
    pub since: Option<Span>,
    /// Only the last so many lines of each container.
    pub tail: Option<u64>,
    /// Only containers of this name.
    pub container: Option<String>,
    /// Those of the run before the present one.
    pub previous: bool,
}

/// A piece of what was logged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogPart {
    /// Whose logs these are, each `pod/container`; it comes first, and again with all of them when
    /// more are followed.
    Sources { names: Vec<String> },
    Line {
        /// Who wrote it: `pod/container`.
        source: String,
        text: String,
    },
    /// Something about the logs: one that cannot be read, a line that was cut.
    Note { text: String },
}

/// Logs as they come.
pub trait LogReader: Send {
    /// The next piece; `None` at the end.
    fn next(&mut self) -> Answer<'_, Option<LogPart>>;
}
