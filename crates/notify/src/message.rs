//! Messages to people.

use setpoint_core::time::Timestamp;

/// A message about one event.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Message {
    /// The kind of the event, in one word: `not-converged`.
    pub kind: String,
    /// The app, the target or the change that it is about.
    pub subject: String,
    /// The event, and what to do about it.
    pub text: String,
    pub at: Timestamp,
    /// The installation that sends it.
    pub installation: String,
}

impl Message {
    /// Reports whether two messages are about the same event. The time does not count: an event
    /// that is submitted again is the same event.
    pub(crate) fn is_same_matter(&self, other: &Self) -> bool {
        (&self.kind, &self.subject, &self.text) == (&other.kind, &other.subject, &other.text)
    }
}
