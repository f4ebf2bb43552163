//! What is known and what is not. There is no way from an error to an empty set: an error is an
//! `Unknown`.

use serde::{Deserialize, Serialize};

use crate::time::Timestamp;

/// The result of looking at something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Observed<T> {
    /// It was seen at this instant.
    Known { value: T, at: Timestamp },
    /// It could not be seen. Nothing may be concluded from it, least of all that it is not there.
    Unknown { reason: UnknownReason },
}

/// Why something could not be seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "why", rename_all = "kebab-case")]
pub enum UnknownReason {
    #[error("the system did not answer: {detail}")]
    Unreachable { detail: String },
    /// The system answers, but will not show this.
    #[error("access was denied: {detail}")]
    Denied { detail: String },
    /// The system does not take us for anybody: it will show nothing of anything.
    #[error("the system does not know who asks: {detail}")]
    Unauthenticated { detail: String },
    #[error("only a part was delivered: {detail}")]
    Partial { detail: String },
    #[error("the answer could not be understood: {detail}")]
    Malformed { detail: String },
    /// Of this object alone, because its declaration or something around it is wrong: a path
    /// through a file, a command whose check fails. It says nothing about the system.
    #[error("{detail}")]
    Unobservable { detail: String },
    #[error("events were lost: {detail}")]
    EventsLost { detail: String },
    #[error("the system at this address is `{found}`, not `{expected}`")]
    OtherIdentity { expected: String, found: String },
    /// Of whoever makes something by a program that could not be run.
    #[error("{detail}")]
    NotRun { detail: String },
    #[error("nobody has looked yet")]
    NotLooked,
    /// Of whoever makes something by control documents.
    #[error("other control documents are taken up than those in force")]
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

    /// Why it could not be seen.
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
