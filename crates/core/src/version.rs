//! Versions and revisions: the inputs of an app.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::name::{StoreName, VersionId};

/// The inputs of an app: one version of each store it reads, ordered by store. Shared, because an
/// app is considered, accepted and good at the same revision for most of its life.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Revision(Arc<[(StoreName, VersionId)]>);

impl Revision {
    pub fn of(store: &StoreName, version: &VersionId) -> Self {
        Self([(store.clone(), version.clone())].into())
    }

    /// Returns the version of a store.
    pub fn get(&self, store: &StoreName) -> Option<&VersionId> {
        let place = self.0.binary_search_by(|(name, _)| name.cmp(store)).ok()?;
        Some(&self.0[place].1)
    }

    pub fn iter(&self) -> impl Iterator<Item = (&StoreName, &VersionId)> {
        self.0.iter().map(|(store, version)| (store, version))
    }

    /// Returns this revision with the versions of another one in place of its own.
    pub fn overlaid(&self, other: &Self) -> Self {
        let versions = self.iter().chain(other.iter());
        versions.map(|(store, version)| (store.clone(), version.clone())).collect::<BTreeMap<_, _>>().into()
    }

    /// Returns the first version that another revision of these stores does not have.
    pub fn moved_from(&self, other: &Self) -> Option<&VersionId> {
        self.iter().find(|(store, version)| other.get(store) != Some(*version)).map(|(_, version)| version)
    }

    pub fn versions(&self) -> impl Iterator<Item = &VersionId> {
        self.iter().map(|(_, version)| version)
    }
}

impl From<BTreeMap<StoreName, VersionId>> for Revision {
    fn from(versions: BTreeMap<StoreName, VersionId>) -> Self {
        Self(versions.into_iter().collect())
    }
}

impl Serialize for Revision {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

impl<'de> Deserialize<'de> for Revision {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        BTreeMap::deserialize(deserializer).map(Self::from)
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, (store, version)) in self.iter().enumerate() {
            let comma = if n == 0 { "" } else { ", " };
            let short = &version.as_str()[..version.as_str().len().min(12)];
            write!(f, "{comma}{store}@{short}")?;
        }
        Ok(())
    }
}

/// The relation of an offered head to the version that was accepted before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ancestry {
    /// Nothing was accepted before.
    First,
    Same,
    Descendant,
    /// The head is an ancestor of the accepted version: a mirror that lags, or a branch that was
    /// set back. Not followed.
    Older,
    /// History was rewritten: the accepted version is not an ancestor of the head.
    Rewritten,
    /// The relation is unknown (a shallow clone, a store that did not respond): a reason to hold,
    /// never treated as fine.
    Unknown,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_revision_is_written_by_store_and_reads_back() {
        let [a, b, c] = ["a", "b", "c"].map(|name| StoreName::new(name).unwrap());
        let [one, two] = ["1111", "2222"].map(|id| VersionId::new(id).unwrap());
        let revision = Revision::from(BTreeMap::from([(b.clone(), two.clone()), (a.clone(), one.clone())]));
        let written = serde_json::to_string(&revision).unwrap();
        assert_eq!(written, r#"{"a":"1111","b":"2222"}"#);
        let read: Revision = serde_json::from_str(r#"{"b":"2222","a":"1111"}"#).unwrap();
        assert_eq!(read, revision);
        assert_eq!((read.get(&a), read.get(&b), read.get(&c)), (Some(&one), Some(&two), None));
        assert_eq!(revision.to_string(), "a@1111, b@2222");
        assert_eq!(Revision::of(&b, &one).overlaid(&revision), revision);
        assert_eq!(Revision::of(&c, &one).overlaid(&revision).to_string(), "a@1111, b@2222, c@1111");
        assert_eq!(Revision::of(&a, &one).iter().collect::<Vec<_>>(), [(&a, &one)]);
    }
}
