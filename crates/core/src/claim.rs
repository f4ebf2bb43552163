//! Claims: who owns what. A claim with the object's UID is the only proof of ownership. Labels and
//! annotations are none: operators copy them to children.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::digest::Digest;
use crate::key::Key;
use crate::live::{Holders, Remark};
use crate::name::{AppId, TargetIdentity, Uid};

/// `(target identity, key) → app, UID`. Unique per `(target, key)`; durable before the first
/// mutation of the object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    pub target: TargetIdentity,
    pub key: Key,
    pub app: AppId,
    /// The incarnation we own. `None` between the intent to create the object and the result, and
    /// after it if the object was created but its UID is unknown. A create that did not happen
    /// leaves no claim.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub uid: Option<Uid>,
    pub origin: ClaimOrigin,
    /// Set when a delete was intended. The claim stays as a tombstone until absence is *observed*:
    /// a denied delete that dropped its claim would leave an orphan for ever (incident 28).
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub tombstone: bool,
    /// The resource's rank in the bundle that last declared it: deletes run in reverse order.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub rank: u32,
    /// Set if deleting the object takes many other objects with it. Remembered here, because a
    /// pruned resource is no longer declared.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub protected: bool,
    /// Set if the object ended as intended and the target removes it by itself.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub ended: Option<Ended>,
    /// The declaration the object was created from, where it may be replaced or runs once: the same
    /// declaration does not create it a second time. Boxed, because few claims have it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub made: Option<Box<Digest>>,
    /// The undeclared fields of the object that were reported to people, so that each is reported
    /// once. Few claims have any.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub told: Option<Arc<BTreeSet<ReportedRemark>>>,
    /// The tools from which the object is being adopted. They lose their hold on declared fields
    /// once, and then the adoption is over. A tool that comes back later is treated as any other
    /// writer. Boxed, because few claims have it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub folding: Option<Box<Holders>>,
}

/// A [`Remark`] that was recorded.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ReportedRemark {
    pub path: Arc<str>,
    pub holder: Arc<str>,
}

impl Claim {
    /// Builds the claim of an app on an object, with nothing else known about the object.
    pub fn new(target: TargetIdentity, key: Key, app: AppId, uid: Option<Uid>, origin: ClaimOrigin) -> Self {
        Self {
            target,
            key,
            app,
            uid,
            origin,
            tombstone: false,
            rank: 0,
            protected: false,
            ended: None,
            made: None,
            told: None,
            folding: None,
        }
    }

    /// Reports whether this remark about the object was reported before.
    pub fn has_told(&self, remark: &Remark) -> bool {
        let is_it = |told: &ReportedRemark| (&told.path, &told.holder) == (&remark.path, &remark.holder);
        self.told.iter().any(|told| told.iter().any(is_it))
    }
}

/// The end of a resource that runs once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ended {
    /// The declaration it ran with: another declaration runs again.
    pub declared: Digest,
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub failed: bool,
    /// Set if the end was not observed: the object was created, and it is gone.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub unseen: bool,
}

fn is_zero(n: &u32) -> bool {
    *n == 0
}

/// The way in which the object became ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClaimOrigin {
    /// We created it, so we may delete it.
    Created,
    /// It existed before us, or it was replaced by another writer: never pruned until a person
    /// allows it.
    Adopted,
    /// Its claim was rebuilt after the data directory was lost: it is not deleted until a person
    /// releases it.
    Recovered,
}
