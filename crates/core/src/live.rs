//! What a target was seen to hold.

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

/// An object as it stands on its target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Live {
    pub uid: Uid,
    pub version: LiveVersion,
    /// The object as far as it can be compared with a declaration: the target leaves out what it
    /// adds by itself.
    pub value: Arc<Value>,
    /// Digest of `value`.
    pub fingerprint: Digest,
    /// Another object of the target controls this one (an owner reference): it is never pruned
    /// directly.
    pub controlled: bool,
    pub writer: Writer,
    pub health: Health,
    /// It has run to its end, well or not, and the target is going to remove it by itself: a Job
    /// with a time to live.
    pub ended: bool,
    /// The target has accepted a delete of it and has not removed it yet: the finalizers that it
    /// waits for, of which there may be none. A delete cannot be taken back. `None` where it is not
    /// being deleted.
    pub deleting: Option<Arc<[Arc<str>]>>,
    /// What stands on it undeclared and is left alone; `None` where nobody looked for that.
    pub remarks: Option<Arc<[Remark]>>,
    /// Where we have not written it though the target keeps who wrote what: the tools that have
    /// declared it, if any is known for one. `None` where we have, or nobody looked for that.
    pub holders: Option<Box<Holders>>,
}

/// The tools that have declared an object which we had not written. There may be none that is known
/// for one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holders(pub Vec<Holder>);

impl Holders {
    /// What they are called.
    pub fn names(&self) -> Vec<Arc<str>> {
        self.0.iter().map(|holder| Arc::clone(&holder.name)).collect()
    }
}

/// A tool that declared an object before us. As long as it holds a field, the field stays, declared
/// or not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// The name it gave itself.
    pub name: Arc<str>,
    /// Some of what it alone holds, and keeps.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub kept: Vec<Arc<str>>,
}

/// Something on an object that is not declared and that is left alone: people are told of it once,
/// and nothing else follows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Remark {
    /// An addition or a leftover.
    pub cause: Cause,
    /// Where, in the target's own words.
    pub path: Arc<str>,
    /// Who holds it, by the names they go by. With the path it is what a remark is known by: told
    /// again is only another one.
    pub holder: Arc<str>,
    pub writer: Writer,
}

impl Remark {
    /// Whether it is the same one, perhaps written anew.
    pub fn is_same(&self, other: &Self) -> bool {
        (&self.path, &self.holder) == (&other.path, &other.holder)
    }
}

impl Live {
    pub fn fingerprint_of(value: &Value) -> Digest {
        canonical::digest_of(value)
    }
}

/// Whether something stands under a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Presence {
    Absent,
    Present(Live),
}

/// The last writer of an object, as far as the target can say.
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

/// What an audit trail says about a writer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Proof {
    /// Who the system took the writer for.
    pub who: String,
    /// In whose name the writer acted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acting_as: Option<String>,
    /// Where it came from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// Where to find it in the audit trail; `None` where the same writer did it in one of several
    /// entries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audit_id: Option<String>,
    /// With what, and when.
    pub how: String,
}

impl Writer {
    /// A name to show.
    pub fn name(&self) -> &str {
        match self {
            Self::Proven(proof) => &proof.who,
            Self::Likely { who } => who,
            Self::Unknown => "unknown",
        }
    }
}

/// What is known of an object's well-being. `Unknown` is not healthy: its controller must have
/// spoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Health {
    Healthy,
    Progressing,
    Degraded,
    Unknown,
}

/// One look at the keys of an app.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observation {
    /// When the look *began*: what it says holds for some instant after this.
    pub at: Timestamp,
    pub states: BTreeMap<Key, Observed<Presence>>,
}

impl Observation {
    /// Every key that was asked for was seen.
    pub fn is_complete(&self) -> bool {
        self.states.values().all(Observed::is_known)
    }
}

/// What the engine saw when a resource was last as declared. Disposable: losing it costs a
/// comparison, never a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Baseline {
    pub declared: Digest,
    pub fingerprint: Digest,
}
