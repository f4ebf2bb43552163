//! Intents: the durable record that precedes every mutation, and how one ends.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::acting::ActingAs;
use crate::digest::Digest;
use crate::key::Key;
use crate::live::Holders;
use crate::name::{AppId, BadName, LiveVersion, TargetIdentity, Uid};
use crate::time::Timestamp;

/// Names an intent: the epoch it was written in and its number within that epoch. Also the
/// idempotency key of its effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IntentId {
    pub epoch: u64,
    pub number: u64,
}

impl fmt::Display for IntentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.epoch, self.number)
    }
}

impl FromStr for IntentId {
    type Err = BadName;

    fn from_str(text: &str) -> Result<Self, BadName> {
        text.split_once('-')
            .and_then(|(epoch, number)| Some(Self { epoch: epoch.parse().ok()?, number: number.parse().ok()? }))
            .ok_or_else(|| BadName::new("intent", text, "write it as `epoch-number`"))
    }
}

impl Serialize for IntentId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for IntentId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// What a mutation does to its object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verb {
    Create,
    Update,
    Delete,
}

impl fmt::Display for Verb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Create => "create",
            Self::Update => "update",
            Self::Delete => "delete",
        })
    }
}

/// The incarnation and version a step was decided on. The target refuses the step when they no
/// longer hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Expect {
    pub uid: Uid,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub version: Option<LiveVersion>,
}

/// One mutation that is about to be made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Intent {
    pub id: IntentId,
    pub app: AppId,
    pub target: TargetIdentity,
    pub key: Key,
    pub verb: Verb,
    /// Those who are to let go of what is ours, where nothing else of the object is to change.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub folds: Option<Box<Holders>>,
    /// The plan it belongs to.
    pub plan: Digest,
    /// The bundle the plan holds the app at.
    pub bundle: Digest,
    /// Digest of the declared resource, for creates and updates, and for a delete that makes room
    /// for it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub declared: Option<Digest>,
    /// `None` for a create: there must be nothing there.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub expect: Option<Expect>,
    /// In whose name it is made, where not in the agent's.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub acting_as: Option<Arc<ActingAs>>,
    pub at: Timestamp,
    /// The effect leaves before this instant or not at all.
    pub leave_by: Timestamp,
    /// After this instant the effect can no longer land.
    pub land_by: Timestamp,
}

/// How an intent ended. An intent whose end is unknown stays open.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "end", rename_all = "kebab-case")]
pub enum IntentEnd {
    /// The mutation happened.
    Done,
    /// It did not happen and never will under this intent.
    NotDone { why: String },
    /// It can no longer happen, and whether it did is lost, because someone has written since. What
    /// follows is decided from what is there.
    Superseded { why: String },
}
