//! The kinds of a cluster, for the accept plane.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use setpoint_core::key::Key;
use setpoint_core::resource::group_of;
use setpoint_core::value::Value;
use setpoint_documents::FieldProblem;
use setpoint_kube::key::Scope;
use setpoint_kube::kinds::{BuiltIn, built_in};
use setpoint_kube::{kinds, manifest, object, order, own};
use setpoint_target::{Kinds, Unidentifiable};

/// Returns the key of a declared object.
pub(crate) fn key_of(api_version: &str, kind: &str, body: &Value, default: &str) -> Result<Key, Unidentifiable> {
    let scope = match built_in(group_of(api_version), kind) {
        Some(BuiltIn::Namespaced) => Scope::Namespaced { default },
        Some(BuiltIn::Cluster) => Scope::Cluster,
        // The object's definition may arrive later, and a key never changes.
        None => Scope::Unknown,
    };
    setpoint_kube::key::key(api_version, kind, body, scope)
        .map_err(|error| Unidentifiable { problem: error.to_string() })
}

#[derive(Debug)]
pub(crate) struct ClusterKinds {
    /// The namespace of objects that name none.
    pub(crate) namespace: Arc<str>,
    /// The namespace of the agent, if it runs in this cluster.
    pub(crate) own_namespace: Option<String>,
}

impl Kinds for ClusterKinds {
    fn check(&self, api_version: &str, kind: &str, body: &Value) -> Vec<FieldProblem> {
        let problem = |problem: manifest::Problem| FieldProblem::new(problem.path, problem.message, problem.hint);
        manifest::check(api_version, kind, body).into_iter().map(problem).collect()
    }

    fn key(&self, api_version: &str, kind: &str, body: &Value) -> Result<Key, Unidentifiable> {
        key_of(api_version, kind, body, &self.namespace)
    }

    fn namespace(&self) -> Option<&str> {
        Some(&self.namespace)
    }

    fn own_part(&self, key: &Key, body: &Value) -> Option<&'static str> {
        own::own_part(self.own_namespace.as_deref()?, key, body)
    }

    fn after(&self, declared: &[(Key, &Value)]) -> BTreeMap<Key, BTreeSet<Key>> {
        order::after(declared)
    }

    fn wave(&self, body: &Value) -> i32 {
        // A version with an invalid wave was refused before it came here.
        order::wave(body).ok().flatten().unwrap_or(0)
    }

    fn is_awaited(&self, api_version: &str, kind: &str) -> bool {
        kinds::is_awaited(group_of(api_version), kind)
    }

    fn is_protected(&self, api_version: &str, kind: &str) -> bool {
        kinds::is_protected(group_of(api_version), kind)
    }

    fn runs_once(&self, body: &Value) -> bool {
        object::time_to_live(body).is_some()
    }
}
