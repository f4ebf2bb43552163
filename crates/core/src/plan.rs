//! Plans: an immutable, ordered list of steps with a parent. A plan leaves no choice to its
//! executor.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::canonical;
use crate::claim::Claim;
use crate::diff::Difference;
use crate::digest::Digest;
use crate::intent::{Expect, Verb};
use crate::key::Key;
use crate::modes::Cause;
use crate::name::{AppId, TargetIdentity};
use crate::resource::Resource;

/// The steps that will be taken for one app, in order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    pub app: AppId,
    pub target: TargetIdentity,
    /// The bundle that the plan moves the app to or holds it at.
    pub bundle: Digest,
    /// The plan before this one, so that a history of plans can be walked and a stale one
    /// recognised.
    pub parent: Option<Digest>,
    pub steps: Vec<Step>,
}

impl Plan {
    /// Returns the plan's name: the digest of its content.
    pub fn id(&self) -> Digest {
        canonical::digest_of(self)
    }

    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    pub fn deletes(&self) -> usize {
        self.steps.iter().filter(|step| step.verb == Verb::Delete).count()
    }
}

/// One mutation of one object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    pub key: Key,
    pub verb: Verb,
    pub cause: Cause,
    /// The declared resource, for creates and updates, and for a delete that replaces it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub resource: Option<Arc<Resource>>,
    /// The state that must still hold on the target; `None` for a create: the object must not
    /// exist.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub expect: Option<Expect>,
    /// The claim from the moment of the intent on.
    pub claim: Claim,
    /// The app the claim is taken over from.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub from: Option<AppId>,
    /// Steps with a lower rank come first. Within one rank they are independent.
    pub rank: u32,
    /// The differences that the step corrects: for people, the ledger and attribution.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub differences: Vec<Difference>,
    /// Set if the step changes only the managers of the object's fields: fields that the tools of
    /// the claim's `folding` hold together with us are ours alone from then on.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub folds: bool,
}
