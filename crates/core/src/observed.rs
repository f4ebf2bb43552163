//! Known and unknown states. An error never becomes an empty set: an error is `Unknown`.

use serde::{Deserialize, Serialize};

use crate::time::Timestamp;

/// The result of an observation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Observed<T> {
    /// The value was observed at this instant.
    Known { value: T, at: Timestamp },
    /// The value could not be observed. Nothing may be concluded from this, least of all absence.
    Unknown { reason: UnknownReason },
}

/// The reason why a state is unknown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "why", rename_all = "kebab-case")]
pub enum UnknownReason {
    #[error("the system did not respond: {detail}")]
    Unreachable { detail: String },
    /// The system responds, but does not permit us to read this.
    #[error("access was denied: {detail}")]
    Denied { detail: String },
    /// The system does not know our user: we can read nothing at all.
    #[error("authentication failed: {detail}")]
    Unauthenticated { detail: String },
    /// The system responds, but the declared place is missing: a repository, a branch, a commit. It
    /// never counts as empty.
    #[error("{detail}")]
    NotFound { detail: String },
    #[error("the response is incomplete: {detail}")]
    Partial { detail: String },
    #[error("the response could not be read: {detail}")]
    Malformed { detail: String },
    /// This object alone cannot be observed, because its declaration or its surroundings are wrong:
    /// a path through a file, a command whose check fails. It implies nothing about the system.
    #[error("{detail}")]
    Unobservable { detail: String },
    #[error("events were lost: {detail}")]
    EventsLost { detail: String },
    #[error("the system at this address is `{found}`, not `{expected}`")]
    OtherIdentity { expected: String, found: String },
    /// For apps that are rendered by an external program: the program could not be run.
    #[error("{detail}")]
    NotRun { detail: String },
    #[error("it has not been observed yet")]
    NotLooked,
    /// For apps that are rendered by control documents.
    #[error("the loaded control documents are not the ones in force")]
    OtherDocuments,
}

impl<T> Observed<T> {
    pub fn known(value: T, at: Timestamp) -> Self {
        Self::Known { value, at }
    }

    pub fn unknown(reason: UnknownReason) -> Self {
        Self::Unknown { reason }
    }

    pub fn as_known(&self) -> Option<&T> {
        match self {
            Self::Known { value, .. } => Some(value),
            Self::Unknown { .. } => None,
        }
    }

    /// Returns the reason why the state is unknown.
    pub fn blindness(&self) -> Option<&UnknownReason> {
        match self {
            Self::Known { .. } => None,
            Self::Unknown { reason } => Some(reason),
        }
    }

    pub fn is_known(&self) -> bool {
        matches!(self, Self::Known { .. })
    }

    pub fn map<U>(self, f: impl FnOnce(T) -> U) -> Observed<U> {
        match self {
            Self::Known { value, at } => Observed::Known { value: f(value), at },
            Self::Unknown { reason } => Observed::Unknown { reason },
        }
    }
}
