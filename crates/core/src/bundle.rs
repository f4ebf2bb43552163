//! Bundles: the accepted, self-contained desired state of one app on one target, named by its
//! digest.
//!
//! The origin of a bundle (its revision, the gates' evidence, its sequence) is in the ledger and
//! not in the digest, because several versions may lead to the same content.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::canonical::{self, Unreadable};
use crate::digest::Digest;
use crate::graph::{self, Cycle};
use crate::key::Key;
use crate::name::{AppId, TargetIdentity};
use crate::resource::Resource;

/// A resource of a bundle with its digest, computed once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declared {
    pub resource: Arc<Resource>,
    pub digest: Digest,
    /// The step's place in the order. Everything that it comes after, and all earlier waves, have a
    /// lower rank. Steps of one rank are independent.
    pub rank: u32,
    /// The wave of the resource: its own, or that of the first resource that needs it.
    pub wave: i32,
}

/// The desired state of one app on one target. Immutable; equal content has an equal digest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bundle {
    app: AppId,
    target: TargetIdentity,
    resources: BTreeMap<Key, Declared>,
    digest: Digest,
    /// Reports whether a resource may have to wait for the health of another one.
    waits_for_health: bool,
}

/// The stored form of a bundle: the content that its digest is taken over. Written by [`written`].
#[derive(Deserialize)]
struct Stored<'a> {
    app: AppId,
    target: TargetIdentity,
    /// The bytes as they were written, so that digests can be taken without writing them again.
    #[serde(borrow)]
    resources: Vec<&'a RawValue>,
}

/// The reasons why resources cannot form a bundle.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadBundle {
    #[error("{key} is declared twice: keep one of the two declarations")]
    DeclaredTwice { key: Key },
    #[error("{key} must come after {missing}, which the app does not declare")]
    MissingDependency { key: Key, missing: Key },
    #[error(transparent)]
    Cycle(#[from] Cycle<Key>),
    #[error(transparent)]
    Unreadable(#[from] Unreadable),
    #[error("the stored bundle is {found}, not {wanted}: it was altered or damaged")]
    OtherDigest { wanted: Digest, found: Digest },
}

impl Bundle {
    pub fn new(app: AppId, target: TargetIdentity, resources: Vec<Resource>) -> Result<Self, BadBundle> {
        let mut resources = resources;
        resources.sort_by(|a, b| a.key.cmp(&b.key));
        let mut digests = Vec::with_capacity(resources.len());
        let bytes = written(&app, &target, &resources, |resource| digests.push(Digest::of(resource)));
        Self::of(app, target, resources.into_iter().zip(digests).collect(), Digest::of(&bytes))
    }

    /// Builds a bundle from resources in the order of their keys, each with its digest.
    fn of(
        app: AppId,
        target: TargetIdentity,
        resources: Vec<(Resource, Digest)>,
        digest: Digest,
    ) -> Result<Self, BadBundle> {
        if let Some(pair) = resources.windows(2).find(|pair| pair[0].0.key == pair[1].0.key) {
            return Err(BadBundle::DeclaredTwice { key: pair[0].0.key.clone() });
        }
        let order = order(&resources)?;
        let waves = order.iter().any(|(wave, _)| *wave != order[0].0);
        let waits_for_health = waves || resources.iter().any(|(resource, _)| resource.awaited);
        let declared = resources.into_iter().zip(order).map(|((resource, digest), (wave, rank))| {
            (resource.key.clone(), Declared { resource: Arc::new(resource), digest, rank, wave })
        });
        Ok(Self { app, target, resources: declared.collect(), digest, waits_for_health })
    }

    pub fn app(&self) -> &AppId {
        &self.app
    }

    pub fn target(&self) -> &TargetIdentity {
        &self.target
    }

    pub fn resources(&self) -> &BTreeMap<Key, Declared> {
        &self.resources
    }

    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// Reports whether a resource may have to wait for the health of another one: there are several
    /// waves, or a resource is awaited.
    pub fn waits_for_health(&self) -> bool {
        self.waits_for_health
    }

    pub fn is_empty(&self) -> bool {
        self.resources.is_empty()
    }

    /// Returns the bytes that the digest is taken over.
    pub fn to_bytes(&self) -> Vec<u8> {
        let resources = self.resources.values().map(|declared| declared.resource.as_ref());
        written(&self.app, &self.target, resources, |_| {})
    }

    /// Reads a stored bundle. Refuses content that does not have the digest it is stored under.
    pub fn from_bytes(bytes: &[u8], wanted: Digest) -> Result<Self, BadBundle> {
        let found = Digest::of(bytes);
        if found != wanted {
            return Err(BadBundle::OtherDigest { wanted, found });
        }
        let stored: Stored<'_> = canonical::from_bytes(bytes)?;
        let read = |written: &&RawValue| {
            let bytes = written.get().as_bytes();
            Ok((canonical::from_bytes(bytes)?, Digest::of(bytes)))
        };
        let mut resources = stored.resources.iter().map(read).collect::<Result<Vec<(Resource, _)>, Unreadable>>()?;
        resources.sort_by(|(a, _), (b, _)| a.key.cmp(&b.key));
        Self::of(stored.app, stored.target, resources, wanted)
    }
}

/// Writes the canonical bytes of a [`Stored`] bundle. Calls `each` with the bytes of every
/// resource: their digests are needed too, and writing the bytes is most of the cost of building a
/// bundle.
fn written<'a>(
    app: &AppId,
    target: &TargetIdentity,
    resources: impl IntoIterator<Item = &'a Resource>,
    mut each: impl FnMut(&[u8]),
) -> Vec<u8> {
    let mut bytes = b"{\"app\":".to_vec();
    canonical::append(app, &mut bytes);
    bytes.extend_from_slice(b",\"target\":");
    canonical::append(target, &mut bytes);
    bytes.extend_from_slice(b",\"resources\":[");
    for (n, resource) in resources.into_iter().enumerate() {
        if n > 0 {
            bytes.push(b',');
        }
        let start = bytes.len();
        canonical::append(resource, &mut bytes);
        each(&bytes[start..]);
    }
    bytes.extend_from_slice(b"]}");
    bytes
}

/// Computes the wave and the rank of each resource.
fn order(resources: &[(Resource, Digest)]) -> Result<Vec<(i32, u32)>, BadBundle> {
    let place_of = |key: &Key| resources.binary_search_by(|(resource, _)| resource.key.cmp(key)).ok();
    for (resource, _) in resources {
        if let Some(missing) = resource.after.iter().find(|key| place_of(key).is_none()) {
            return Err(BadBundle::MissingDependency { key: resource.key.clone(), missing: missing.clone() });
        }
    }
    let ranks = graph::ranks(resources.iter().map(|(resource, _)| (&resource.key, &resource.after)))?;
    let mut waves: Vec<i32> = resources.iter().map(|(resource, _)| resource.wave).collect();
    if waves.iter().all(|wave| *wave == waves[0]) {
        return Ok(waves.into_iter().zip(ranks).collect());
    }
    // A resource that an earlier wave needs moves to that wave: otherwise each would wait for the
    // other.
    let mut last_first: Vec<usize> = (0..resources.len()).collect();
    last_first.sort_by_key(|place| std::cmp::Reverse(ranks[*place]));
    for place in last_first {
        for before in resources[place].0.after.iter().filter_map(place_of) {
            waves[before] = waves[before].min(waves[place]);
        }
    }
    let places: Vec<(i32, u32)> = waves.iter().copied().zip(ranks).collect();
    let taken: BTreeSet<&(i32, u32)> = places.iter().collect();
    let ranked: BTreeMap<&(i32, u32), u32> = taken.into_iter().zip(0..).collect();
    Ok(places.iter().map(|place| (place.0, ranked[place])).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::Value;

    fn resource(name: &str, after: &[&str]) -> Resource {
        let key = |name: &str| Key::new("file", "", name).unwrap();
        Resource {
            after: after.iter().map(|name| key(name)).collect::<BTreeSet<_>>(),
            ..Resource::new(key(name), "v1", "File", Value::map([("content", Value::str(name))]))
        }
    }

    fn bundle(resources: Vec<Resource>) -> Result<Bundle, BadBundle> {
        Bundle::new("web/shop".parse().unwrap(), TargetIdentity::new("host-1").unwrap(), resources)
    }

    #[test]
    fn a_bundle_does_not_depend_on_the_order_of_documents() {
        let one = bundle(vec![resource("a", &[]), resource("b", &["a"])]).unwrap();
        let two = bundle(vec![resource("b", &["a"]), resource("a", &[])]).unwrap();
        assert_eq!(one.digest(), two.digest());
        assert_eq!(one.to_bytes(), two.to_bytes());
    }

    #[test]
    fn a_bundle_reads_back_only_under_its_own_digest() {
        let bundle = bundle(vec![resource("a", &[]), resource("b", &["a"])]).unwrap();
        let bytes = bundle.to_bytes();
        assert_eq!(Bundle::from_bytes(&bytes, bundle.digest()), Ok(bundle.clone()));
        let mut altered = bytes.clone();
        let last = altered.len() - 3;
        altered[last] ^= 1;
        assert!(matches!(Bundle::from_bytes(&altered, bundle.digest()), Err(BadBundle::OtherDigest { .. })));
    }

    #[test]
    fn what_is_nested_as_deep_as_documents_may_be_reads_back() {
        let mut deep = resource("a", &[]);
        let body = (0..109).fold(Value::Null, |inner, _| Value::Seq(vec![inner]));
        deep.body = Arc::new(Value::map([("content", body)]));
        let bundle = bundle(vec![deep]).unwrap();
        assert_eq!(Bundle::from_bytes(&bundle.to_bytes(), bundle.digest()), Ok(bundle));
    }

    #[test]
    fn case_42_the_same_object_twice_is_refused() {
        let mut other = resource("a", &[]);
        other.body = Arc::new(Value::Null);
        let error = bundle(vec![resource("a", &[]), other]).unwrap_err();
        assert_eq!(error.to_string(), "file a is declared twice: keep one of the two declarations");
    }

    #[test]
    fn cycles_and_missing_dependencies_are_named() {
        let error = bundle(vec![resource("a", &["b"]), resource("b", &["a"])]).unwrap_err();
        assert_eq!(error.to_string(), "they wait for each other: file a → file b → file a");
        let error = bundle(vec![resource("a", &["z"])]).unwrap_err();
        assert_eq!(error.to_string(), "file a must come after file z, which the app does not declare");
    }
}
