//! Intents: the durable record that precedes every mutation, and its end.

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

/// The name of an intent: the epoch it was written in and its number within that epoch. Also the
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

/// The kind of a mutation.
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

/// The incarnation and version that a step was decided on. The target refuses the step if they no
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
    /// The tools that are to give up declared fields, where nothing else of the object changes.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub folds: Option<Box<Holders>>,
    /// The plan it belongs to.
    pub plan: Digest,
    /// The bundle the plan holds the app at.
    pub bundle: Digest,
    /// The digest of the declared resource, for creates and updates, and for a delete that replaces
    /// it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub declared: Option<Digest>,
    /// `None` for a create: the object must not exist.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub expect: Option<Expect>,
    /// The user that the mutation is made as, if not the agent's.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub acting_as: Option<Arc<ActingAs>>,
    pub at: Timestamp,
    /// The effect is sent before this instant or not at all.
    pub leave_by: Timestamp,
    /// After this instant the effect can no longer land.
    pub land_by: Timestamp,
}

/// The end of an intent. An intent whose end is unknown stays open.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "end", rename_all = "kebab-case")]
pub enum IntentEnd {
    /// The mutation happened.
    Done,
    /// The mutation did not happen and never will under this intent.
    NotDone { why: String },
    /// The mutation can no longer happen, and its outcome is lost, because another write came after
    /// it. The next decision is based on the live object.
    Superseded { why: String },
}
