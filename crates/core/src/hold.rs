//! Holds and suspensions: they keep an app from following its store. Each has a reason, an author
//! and an end.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::digest::Digest;
use crate::name::Actor;
use crate::time::Timestamp;
use crate::version::Revision;

/// A pin: the app stays at a bundle until released.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hold {
    /// The bundle at which the app stays. `None` if nothing has been accepted yet.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub bundle: Option<Digest>,
    pub why: HoldReason,
    pub by: Actor,
    pub at: Timestamp,
}

/// The reason why an app is held. It determines what releases the hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum HoldReason {
    /// A person ordered it, and a person releases it.
    Asked { reason: String },
    /// The bundle with this sequence failed. Released when a newer one is accepted.
    RolledBack { failed: u64 },
    /// The stores' heads do not descend from the accepted versions. A person decides which are
    /// right.
    Rewritten { accepted: Revision, offered: Revision },
}

impl fmt::Display for HoldReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Asked { reason } => write!(f, "held: {reason}"),
            Self::RolledBack { .. } => {
                write!(f, "rolled back to the last good bundle until a newer version is accepted")
            }
            Self::Rewritten { accepted, offered } => {
                write!(
                    f,
                    "history was rewritten, or a tag was moved: {accepted} was accepted, {offered} is offered in its place"
                )
            }
        }
    }
}

impl HoldReason {
    /// Reports whether accepting the bundle with this sequence ends the hold.
    pub fn ends_with(&self, sequence: u64) -> bool {
        matches!(self, Self::RolledBack { failed } if sequence > *failed)
    }
}

/// A suspension: nothing is written until it ends, by itself or by a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Suspension {
    pub reason: String,
    pub by: Actor,
    pub at: Timestamp,
    /// The end. Every suspension has one.
    pub until: Timestamp,
}
