//! What is said to people.

use setpoint_core::time::Timestamp;

/// One matter, told once.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Message {
    /// What kind of matter it is, in one word: `not-converged`.
    pub kind: String,
    /// What it is about: an app, a target, a change.
    pub subject: String,
    /// What happened and what to do about it.
    pub text: String,
    pub at: Timestamp,
    /// Which installation speaks.
    pub installation: String,
}

impl Message {
    /// What makes two messages the same: a matter that is told again is the same matter, whenever
    /// that is.
    pub(crate) fn is_same_matter(&self, other: &Self) -> bool {
        (&self.kind, &self.subject, &self.text) == (&other.kind, &other.subject, &other.text)
    }
}
