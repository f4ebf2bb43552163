//! Live objects: the observed state of a target.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::canonical;
use crate::digest::Digest;
use crate::key::Key;
use crate::modes::Cause;
use crate::name::{LiveVersion, Uid};
use crate::observed::Observed;
use crate::time::Timestamp;
use crate::value::Value;

/// An object as it exists on its target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Live {
    pub uid: Uid,
    pub version: LiveVersion,
    /// The part of the object that can be compared with a declaration: the target leaves out the
    /// fields that it adds by itself.
    pub value: Arc<Value>,
    /// The digest of `value`.
    pub fingerprint: Digest,
    /// Set if another object of the target controls this one (an owner reference): it is never
    /// pruned directly.
    pub controlled: bool,
    pub writer: Writer,
    pub health: Health,
    /// Set if the object has ended, with success or not, and the target is going to remove it by
    /// itself: a Job with a time to live.
    pub ended: bool,
    /// Set if the target has accepted a delete of the object and has not removed it yet: the
    /// finalizers that it waits for, possibly none. A delete cannot be undone.
    pub deleting: Option<Arc<[Arc<str>]>>,
    /// Undeclared fields that are left alone; `None` if they were not searched for.
    pub remarks: Option<Arc<[Remark]>>,
    /// The tools known to have declared the object, where we have not written it although the
    /// target records who wrote what. `None` if we have written it, or if they were not searched
    /// for.
    pub holders: Option<Box<Holders>>,
}

/// The tools that declared an object which we had not written. May be empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holders(pub Vec<Holder>);

impl Holders {
    /// Returns the names of the tools.
    pub fn names(&self) -> Vec<Arc<str>> {
        self.0.iter().map(|holder| Arc::clone(&holder.name)).collect()
    }
}

/// A tool that declared an object before us. As long as it holds a field, the field stays, declared
/// or not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// The name that the tool gave itself.
    pub name: Arc<str>,
    /// Some of the fields that it alone holds, and keeps.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub kept: Vec<Arc<str>>,
}

/// An undeclared field of an object that is left alone: it is reported once, and nothing else is
/// done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Remark {
    /// An addition or a leftover.
    pub cause: Cause,
    /// The path, in the target's notation.
    pub path: Arc<str>,
    /// The names of the tools that hold the field. Path and holder identify a remark: only a remark
    /// that differs in one of them is reported again.
    pub holder: Arc<str>,
    pub writer: Writer,
}

impl Remark {
    /// Reports whether this is the same remark, perhaps written again.
    pub fn is_same(&self, other: &Self) -> bool {
        (&self.path, &self.holder) == (&other.path, &other.holder)
    }
}

impl Live {
    /// Builds an object of which only the content was observed: its writer and health are unknown.
    pub fn new(uid: Uid, version: LiveVersion, value: impl Into<Arc<Value>>) -> Self {
        let value = value.into();
        let fingerprint = Self::fingerprint_of(&value);
        Self::with_fingerprint(uid, version, value, fingerprint)
    }

    /// Builds the same where the digest of the value is already known.
    pub fn with_fingerprint(uid: Uid, version: LiveVersion, value: Arc<Value>, fingerprint: Digest) -> Self {
        Self {
            uid,
            version,
            value,
            fingerprint,
            controlled: false,
            writer: Writer::Unknown,
            health: Health::Unknown,
            ended: false,
            deleting: None,
            remarks: None,
            holders: None,
        }
    }

    pub fn fingerprint_of(value: &Value) -> Digest {
        canonical::digest_of(value)
    }
}

/// The presence of an object under a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Presence {
    Absent,
    Present(Live),
}

/// The last writer of an object, as far as the target can name it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "certainty", rename_all = "kebab-case")]
pub enum Writer {
    /// Proven by an audit trail.
    Proven(Box<Proof>),
    /// Named by the object itself.
    Likely {
        who: String,
    },
    Unknown,
}

/// The entry of an audit trail about a writer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Proof {
    /// The user that the system authenticated.
    pub who: String,
    /// The user that the writer impersonated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acting_as: Option<String>,
    /// The address that the request came from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// The id of the entry in the audit trail; `None` if the same writer made the change in one of
    /// several entries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audit_id: Option<String>,
    /// The tool and the time of the change.
    pub how: String,
}

impl Writer {
    /// Returns a name to show.
    pub fn name(&self) -> &str {
        match self {
            Self::Proven(proof) => &proof.who,
            Self::Likely { who } => who,
            Self::Unknown => "unknown",
        }
    }
}

/// The health of an object. `Unknown` is not healthy: the object's controller must have reported
/// its state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Health {
    Healthy,
    Progressing,
    Degraded,
    Unknown,
}

/// One observation of the keys of an app.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observation {
    /// The time at which the observation *began*: its states held at some instant after this.
    pub at: Timestamp,
    pub states: BTreeMap<Key, Observed<Presence>>,
}

impl Observation {
    /// Reports whether the state of every requested key is known.
    pub fn is_complete(&self) -> bool {
        self.states.values().all(Observed::is_known)
    }
}

/// The observed state of a resource when it last matched its declaration. Disposable: losing it
/// costs a comparison, never a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Baseline {
    pub declared: Digest,
    pub fingerprint: Digest,
}
