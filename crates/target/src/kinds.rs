//! The kinds of resources of a target, as the accept plane needs them to render and order versions.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use setpoint_core::key::Key;
use setpoint_core::value::Value;
use setpoint_documents::FieldProblem;

use crate::contract::Unidentifiable;

/// The accept plane's knowledge of a target's kinds, without a connection to the target.
pub trait Kinds: fmt::Debug {
    /// Returns all problems of an object, by field.
    fn check(&self, api_version: &str, kind: &str, body: &Value) -> Vec<FieldProblem>;

    /// Returns the key that the object would have on the target.
    fn key(&self, api_version: &str, kind: &str, body: &Value) -> Result<Key, Unidentifiable>;

    /// Returns the namespace that the target gives to objects without one, if it has namespaces.
    fn namespace(&self) -> Option<&str> {
        None
    }

    /// Returns the part of Setpoint's own installation that an object is (its namespace, its
    /// permissions), in words that follow "it is"; `None` if it is no part.
    fn own_part(&self, _key: &Key, _body: &Value) -> Option<&'static str> {
        None
    }

    /// Returns for each object those of the same app that must be in place before it: the
    /// directories above a file, the namespace of a Service.
    fn after(&self, declared: &[(Key, &Value)]) -> BTreeMap<Key, BTreeSet<Key>>;

    /// Returns the wave of an object.
    fn wave(&self, _body: &Value) -> i32 {
        0
    }

    /// Reports whether the resources after such an object wait until it is healthy, and not only in
    /// place.
    fn is_awaited(&self, _api_version: &str, _kind: &str) -> bool {
        false
    }

    /// Reports whether deleting such an object takes others with it: all objects of a namespace,
    /// all objects of a definition, the data of a volume.
    fn is_protected(&self, api_version: &str, kind: &str) -> bool;

    /// Reports whether such an object runs to its end and is then removed by the target itself.
    fn runs_once(&self, _body: &Value) -> bool {
        false
    }
}

/// Returns the result of [`Kinds::after`] where a key alone implies the objects before it, whether
/// or not any of them is declared.
pub fn after_implied(declared: &[(Key, &Value)], implied: impl Fn(&Key) -> Vec<Key>) -> BTreeMap<Key, BTreeSet<Key>> {
    let keys: BTreeSet<&Key> = declared.iter().map(|(key, _)| key).collect();
    let before = |key: &Key| {
        let there = implied(key).into_iter().filter(|other| keys.contains(other) && other != key);
        (key.clone(), there.collect())
    };
    keys.iter().map(|key| before(key)).collect()
}
