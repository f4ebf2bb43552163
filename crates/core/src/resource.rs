//! Resources: one declared object. Host files and Deployments have the same shape, so that diff,
//! policy, plan and UI are written once.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::canonical;
use crate::digest::Digest;
use crate::key::Key;
use crate::value::Value;

/// One declared object, in the form that a target receives.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resource {
    pub key: Key,
    /// The document's own apiVersion: part of the declaration, never of the identity.
    pub api_version: Arc<str>,
    pub kind: Arc<str>,
    /// The whole declared object.
    pub body: Arc<Value>,
    /// Resources of the same app that must be in place before this one.
    #[serde(skip_serializing_if = "BTreeSet::is_empty", default)]
    pub after: BTreeSet<Key>,
    /// The wave of the resource. A wave of a new declaration begins once all resources of the
    /// earlier waves are in place and healthy.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub wave: i32,
    /// Set if the resources after this one wait until it is healthy, and not only in place (a
    /// definition whose kind is not served yet).
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub awaited: bool,
    /// Set if deleting the object takes many other objects with it (a CRD, a namespace, a volume):
    /// such objects are a class of their own.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub protected: bool,
    /// Fields that others may set.
    #[serde(skip_serializing_if = "BTreeSet::is_empty", default)]
    pub shared: BTreeSet<SharedField>,
    /// Set if the live object may be deleted and created again when the declaration changes
    /// immutable fields.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub replace: bool,
    /// Rules for the additions of others, where the app sets any.
    #[serde(skip_serializing_if = "BTreeSet::is_empty", default)]
    pub additions: BTreeSet<AdditionRule>,
    /// Set if the object runs to its end and is then removed by the target itself: once it was
    /// created, its absence is no drift.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub once: bool,
}

/// The treatment of additions at a path or below it. The target defines the meaning of the path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct AdditionRule {
    pub path: Arc<str>,
    pub then: Treat,
}

/// The treatment of an addition. A later variant is gentler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Treat {
    /// Remove the addition.
    Heal,
    /// Report the addition once, and leave it alone.
    Report,
    /// Neither remove nor report the addition.
    Ignore,
}

/// A field of a declared object that others may set. The target defines the meaning of the path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SharedField {
    pub path: Arc<str>,
    /// The name under which the target records the permitted writer. If omitted, any writer.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub writer: Option<Arc<str>>,
}

/// Returns the group of an apiVersion: `apps` of `apps/v1`, and nothing of `v1`.
pub fn group_of(api_version: &str) -> &str {
    api_version.split_once('/').map_or("", |(group, _)| group)
}

fn is_zero(wave: &i32) -> bool {
    *wave == 0
}

impl Resource {
    /// Builds a declaration without order, protection or rules.
    pub fn new(
        key: Key,
        api_version: impl Into<Arc<str>>,
        kind: impl Into<Arc<str>>,
        body: impl Into<Arc<Value>>,
    ) -> Self {
        Self {
            key,
            api_version: api_version.into(),
            kind: kind.into(),
            body: body.into(),
            after: BTreeSet::new(),
            wave: 0,
            awaited: false,
            protected: false,
            shared: BTreeSet::new(),
            replace: false,
            additions: BTreeSet::new(),
            once: false,
        }
    }

    /// Returns the digest of the declaration.
    pub fn digest(&self) -> Digest {
        canonical::digest_of(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resource(shared: &[(&str, Option<&str>)]) -> Resource {
        let field = |(path, writer): &(&str, Option<&str>)| SharedField {
            path: (*path).into(),
            writer: writer.map(Into::into),
        };
        Resource {
            shared: shared.iter().map(field).collect(),
            ..Resource::new(
                Key::new("apps/Deployment", "web", "shop").unwrap(),
                "apps/v1",
                "Deployment",
                Value::map([("spec", Value::map([("replicas", Value::int(3))]))]),
            )
        }
    }

    fn text(resource: &Resource) -> String {
        String::from_utf8(canonical::to_bytes(resource)).unwrap()
    }

    #[test]
    fn a_resource_that_shares_nothing_has_the_bytes_it_always_had() {
        let plain = resource(&[]);
        assert_eq!(
            text(&plain),
            r#"{"key":"apps/Deployment:web:shop","api_version":"apps/v1","kind":"Deployment","body":{"spec":{"replicas":3}}}"#
        );
    }

    #[test]
    fn the_leave_to_make_it_anew_is_part_of_the_declaration_and_reads_back() {
        let replaced = Resource { replace: true, ..resource(&[]) };
        assert!(text(&replaced).ends_with(r#","replace":true}"#));
        assert_eq!(canonical::from_bytes(&canonical::to_bytes(&replaced)), Ok(replaced.clone()));
        assert_ne!(replaced.digest(), resource(&[]).digest());
    }

    #[test]
    fn its_place_in_the_order_is_part_of_the_declaration_and_reads_back() {
        let ordered = Resource { wave: -2, awaited: true, ..resource(&[]) };
        assert!(text(&ordered).ends_with(r#","wave":-2,"awaited":true}"#));
        assert_eq!(canonical::from_bytes(&canonical::to_bytes(&ordered)), Ok(ordered.clone()));
        assert_ne!(ordered.digest(), resource(&[]).digest());
    }

    #[test]
    fn what_is_done_about_additions_is_part_of_the_declaration_and_reads_back() {
        let rule = AdditionRule { path: "metadata.labels".into(), then: Treat::Heal };
        let ruled = Resource { additions: BTreeSet::from([rule]), ..resource(&[]) };
        assert!(text(&ruled).ends_with(r#","additions":[{"path":"metadata.labels","then":"heal"}]}"#));
        assert_eq!(canonical::from_bytes(&canonical::to_bytes(&ruled)), Ok(ruled.clone()));
        assert_ne!(ruled.digest(), resource(&[]).digest());
    }

    #[test]
    fn what_is_shared_is_part_of_the_declaration_and_reads_back() {
        let shared = resource(&[("spec.replicas", None), ("data", Some("operator"))]);
        assert!(
            text(&shared).ends_with(r#","shared":[{"path":"data","writer":"operator"},{"path":"spec.replicas"}]}"#)
        );
        assert_eq!(canonical::from_bytes(&canonical::to_bytes(&shared)), Ok(shared.clone()));
        assert_ne!(shared.digest(), resource(&[]).digest());
        assert_ne!(shared.digest(), resource(&[("spec.replicas", None), ("data", None)]).digest());
    }
}
