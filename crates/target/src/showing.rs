//! The views of a target for people. Nothing is decided by them, and nothing of them is stored.

use std::collections::BTreeMap;

use setpoint_core::key::Key;
use setpoint_core::live::{Health, Observation, Presence};
use setpoint_core::observed::Observed;
use setpoint_core::time::{Span, Timestamp};

use crate::contract::Answer;

/// Objects of an app with the objects they own, in the order of display.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tree {
    pub objects: Vec<TreeObject>,
    /// The parts that could not be observed, a line each. An object that is missing because of them
    /// is not known to be absent.
    pub unseen: Vec<String>,
}

/// One object of a tree. The objects it owns follow it, one level deeper.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeObject {
    pub key: Key,
    /// The number of owners between it and the app.
    pub depth: usize,
    /// The owner of the object; `None` for a requested object.
    pub owner: Option<Key>,
    /// Set if the object was observed to exist.
    pub present: bool,
    pub health: Health,
    /// The reason why it is not healthy, in one line, if one is known.
    pub reason: Option<String>,
    /// The time of its creation, if the target stores it.
    pub created: Option<Timestamp>,
}

impl Tree {
    /// Builds a tree from an observation, without owned objects.
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

/// The reason why a missing object is not healthy.
pub const NOT_THERE: &str = "it is not there";

/// An unhealthy object, with the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unwell {
    pub key: Key,
    pub health: Health,
    /// The reason, in one line.
    pub reason: String,
}

/// The number of requests to a target since the process began, by kind. Empty if they are not
/// counted.
pub type Tally = BTreeMap<&'static str, u64>;

/// A request for logs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogQuestion {
    /// Only logs of this object and of the objects it owns: its kind and its name.
    pub object: Option<(String, String)>,
    /// Continue as more is written.
    pub follow: bool,
    /// Only lines of this last period.
    pub since: Option<Span>,
    /// Only the last lines of each container, this many.
    pub tail: Option<u64>,
    /// Only containers of this name.
    pub container: Option<String>,
    /// Logs of the run before the present one.
    pub previous: bool,
}

/// A part of the logs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogPart {
    /// The sources of the logs, each `pod/container`. It comes first, and again with all of them
    /// when more are followed.
    Sources { names: Vec<String> },
    Line {
        /// The source of the line: `pod/container`.
        source: String,
        text: String,
    },
    /// A note about the logs: one that cannot be read, a line that was cut.
    Note { text: String },
}

/// A stream of logs.
pub trait LogReader: Send {
    /// Returns the next part; `None` at the end.
    fn next(&mut self) -> Answer<'_, Option<LogPart>>;
}
