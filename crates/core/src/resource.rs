//! Resources: one declared object. Host files and Deployments have the same shape, so that diff, policy, plan and UI are
//! written once.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::canonical;
use crate::digest::Digest;
use crate::key::Key;
use crate::value::Value;

/// One declared object, as a target will be asked to make it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resource {
    pub key: Key,
    /// How the document named itself: part of the declaration, never of the identity.
    pub api_version: Arc<str>,
    pub kind: Arc<str>,
    /// The whole declared object.
    pub body: Arc<Value>,
    /// Resources of the same app that must be in place before this one.
    #[serde(skip_serializing_if = "BTreeSet::is_empty", default)]
    pub after: BTreeSet<Key>,
    /// Deleting one of these takes much else with it (a CRD, a namespace, a volume): a class of its own.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub protected: bool,
}

impl Resource {
    /// The digest of what is declared.
    pub fn digest(&self) -> Digest {
        canonical::digest_of(self)
    }
}
