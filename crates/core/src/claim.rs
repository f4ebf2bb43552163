//! Claims: who owns what. A claim with the object's UID is the only proof of ownership there is;
//! labels and annotations travel (operators copy them to children), claims do not.

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
    /// The incarnation we own. `None` between the intent to create it and the answer; and after it
    /// where someone said that it was made but not as what. A create that did not happen leaves no
    /// claim.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub uid: Option<Uid>,
    pub origin: ClaimOrigin,
    /// Set when a delete was intended; the claim stays as a tombstone until absence is *observed*
    /// (a denied delete that dropped its claim would leave an orphan for ever: incident 28).
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub tombstone: bool,
    /// Its rank in the bundle that last declared it: deletes go in reverse.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub rank: u32,
    /// Whether deleting it takes much else with it; remembered, because what is pruned is no longer
    /// declared.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub protected: bool,
    /// It has ended as it was meant to, and the target removes it by itself.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub ended: Option<Ended>,
    /// What it was made as, where it may be made anew or runs once: for the same declaration it is
    /// not made once more. Boxed, because few have it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub made: Option<Box<Digest>>,
    /// What stands on it undeclared and was told to people, so that it is told once. Few have any.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub told: Option<Arc<BTreeSet<ReportedRemark>>>,
    /// Whom the object is being adopted from: what they hold of what is declared is taken out of
    /// their hands once, and then this is over. A tool that comes back later is another matter.
    /// Boxed, because few have it.
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
    /// Whether this was told of the object.
    pub fn has_told(&self, remark: &Remark) -> bool {
        let is_it = |told: &ReportedRemark| (&told.path, &told.holder) == (&remark.path, &remark.holder);
        self.told.iter().any(|told| told.iter().any(is_it))
    }
}

/// How something ended that runs once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ended {
    /// What was declared when it ran: another declaration runs again.
    pub declared: Digest,
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub failed: bool,
    /// Nobody saw it end: it was made, and it is gone.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub unseen: bool,
}

fn is_zero(n: &u32) -> bool {
    *n == 0
}

/// How the object came to be ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClaimOrigin {
    /// We created it: we may delete it.
    Created,
    /// It was there before us, or someone replaced it: never pruned until a person says it may be.
    Adopted,
    /// Rebuilt after the data folder was lost: nothing is deleted until a person releases it.
    Recovered,
}
