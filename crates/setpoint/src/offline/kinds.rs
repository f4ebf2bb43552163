//! The kinds of targets, as far as they are known without a connection.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use setpoint_core::key::Key;
use setpoint_core::value::Value;
use setpoint_documents::{FieldProblem, TargetFamily, TargetSpec};
use setpoint_engine::accept::{Kinds, after_implied};
use setpoint_kube::key::{Scope, group_of, key};
use setpoint_kube::kinds::{BuiltIn, built_in};
use setpoint_kube::{manifest, order};
use setpoint_target::Unidentifiable;

use crate::agent::check_on_host;

/// The namespace that clusters give to objects without one.
const DEFAULT_NAMESPACE: &str = "default";

/// Returns the kinds of a target.
pub(super) fn of(spec: &TargetSpec) -> Arc<dyn Kinds> {
    match spec.family {
        TargetFamily::Kubernetes => {
            let namespace = spec.namespace.as_ref().map_or(DEFAULT_NAMESPACE, |name| name.as_str()).to_owned();
            Arc::new(Cluster { namespace })
        }
        TargetFamily::Host | TargetFamily::Memory => Arc::new(Host),
    }
}

#[derive(Debug)]
struct Host;

impl Kinds for Host {
    fn check(&self, api_version: &str, kind: &str, body: &Value) -> Vec<FieldProblem> {
        check_on_host(api_version, kind, body).err().unwrap_or_default()
    }

    fn key(&self, api_version: &str, kind: &str, body: &Value) -> Result<Key, Unidentifiable> {
        let problem = |problems: Vec<FieldProblem>| {
            let texts = problems.iter().map(|problem| format!("{}: {}", problem.path, problem.message));
            Unidentifiable { problem: texts.collect::<Vec<_>>().join("; ") }
        };
        check_on_host(api_version, kind, body).map(|resource| resource.key()).map_err(problem)
    }

    fn after(&self, declared: &[(Key, &Value)]) -> BTreeMap<Key, BTreeSet<Key>> {
        after_implied(declared, setpoint_target_host::implied_dependencies)
    }

    fn is_protected(&self, _: &str, _: &str) -> bool {
        false
    }
}

#[derive(Debug)]
struct Cluster {
    namespace: String,
}

impl Kinds for Cluster {
    fn check(&self, api_version: &str, kind: &str, body: &Value) -> Vec<FieldProblem> {
        let problem = |problem: manifest::Problem| FieldProblem::new(problem.path, problem.message, problem.hint);
        manifest::check(api_version, kind, body).into_iter().map(problem).collect()
    }

    fn key(&self, api_version: &str, kind: &str, body: &Value) -> Result<Key, Unidentifiable> {
        let scope = match built_in(group_of(api_version), kind) {
            Some(BuiltIn::Namespaced) => Scope::Namespaced { default: &self.namespace },
            Some(BuiltIn::Cluster) => Scope::Cluster,
            None => Scope::Unknown,
        };
        key(api_version, kind, body, scope).map_err(|error| Unidentifiable { problem: error.to_string() })
    }

    fn namespace(&self) -> Option<&str> {
        Some(&self.namespace)
    }

    fn after(&self, declared: &[(Key, &Value)]) -> BTreeMap<Key, BTreeSet<Key>> {
        order::after(declared)
    }

    fn wave(&self, body: &Value) -> i32 {
        order::wave(body).ok().flatten().unwrap_or(0)
    }

    fn is_protected(&self, api_version: &str, kind: &str) -> bool {
        setpoint_kube::kinds::is_protected(group_of(api_version), kind)
    }
}
