//! Resources: one declared object. Host files and Deployments have the same shape, so that diff,
//! policy, plan and UI are written once.

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
    /// In which wave it comes: a wave of a new declaration begins once all of the earlier ones is
    /// in place and healthy.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub wave: i32,
    /// What comes after it waits until it is healthy too, and not only in place (a definition whose
    /// kind is not served yet).
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub awaited: bool,
    /// Deleting one of these takes much else with it (a CRD, a namespace, a volume): a class of its
    /// own.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub protected: bool,
    /// Fields of it that others may set.
    #[serde(skip_serializing_if = "BTreeSet::is_empty", default)]
    pub shared: BTreeSet<SharedField>,
    /// Where what is there cannot be changed into this, it may be deleted and made anew.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub replace: bool,
    /// What is done about something that others add to it, where the app says so.
    #[serde(skip_serializing_if = "BTreeSet::is_empty", default)]
    pub additions: BTreeSet<AdditionRule>,
    /// It runs to its end and is then removed by the target itself: once it was made, its absence
    /// is no drift.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub once: bool,
}

/// What is done about something that others add at a path or below it. What the path means is for
/// the target to say.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct AdditionRule {
    pub path: Arc<str>,
    pub then: Treat,
}

/// What is done about an addition, the gentler the later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Treat {
    /// It is taken out.
    Heal,
    /// It is told once, and left alone.
    Report,
    /// It is nobody's business.
    Ignore,
}

/// A field of a declared object that others may set. What the path means is for the target to say.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SharedField {
    pub path: Arc<str>,
    /// Who may: the name under which the target records the writes. Whoever it is, if unsaid.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub writer: Option<Arc<str>>,
}

fn is_zero(wave: &i32) -> bool {
    *wave == 0
}

impl Resource {
    /// The digest of what is declared.
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
            key: Key::new("apps/Deployment", "web", "shop").unwrap(),
            api_version: "apps/v1".into(),
            kind: "Deployment".into(),
            body: Arc::new(Value::map([("spec", Value::map([("replicas", Value::int(3))]))])),
            after: BTreeSet::new(),
            wave: 0,
            awaited: false,
            protected: false,
            shared: shared.iter().map(field).collect(),
            replace: false,
            additions: BTreeSet::new(),
            once: false,
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
