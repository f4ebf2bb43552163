//! Versions and revisions: what an app is made from.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::name::{StoreName, VersionId};

/// What an app is made from: one version of each store it reads.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Revision(pub BTreeMap<StoreName, VersionId>);

impl Revision {
    pub fn of(store: &StoreName, version: &VersionId) -> Self {
        Self(BTreeMap::from([(store.clone(), version.clone())]))
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, (store, version)) in self.0.iter().enumerate() {
            let comma = if n == 0 { "" } else { ", " };
            let short = &version.as_str()[..version.as_str().len().min(12)];
            write!(f, "{comma}{store}@{short}")?;
        }
        Ok(())
    }
}

/// How an offered head relates to the version that was accepted before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ancestry {
    /// Nothing was accepted before.
    First,
    Same,
    Descendant,
    /// The head is an ancestor of what was accepted: a mirror that lags, or a branch that was set back. Not followed.
    Older,
    /// History was rewritten: the accepted version is not an ancestor of the head.
    Rewritten,
    /// Cannot be told (a shallow clone, a store that did not answer): treated as a reason to hold, never as fine.
    Unknown,
}
