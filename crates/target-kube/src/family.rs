//! The family of Kubernetes clusters: their fields of Target documents, the rules that apps may
//! have, and how the agent connects.

use std::path::PathBuf;
use std::sync::Arc;

use setpoint_documents::{Expression, FieldProblem, Principal, TargetKind, TargetSpec};
use setpoint_kube::health::{BadRule, Expressions, Rules as HealthRules};
use setpoint_kube::key::group_and_kind;
use setpoint_kube::kinds::{BuiltIn, built_in, is_protected, is_protected_anywhere};
use setpoint_kube::shared::shareable;
use setpoint_target::{
    Agent, Bounds, Connection, Effects, Family, Kinds, LentIdentities, NotConnected, PathCheck, PathError, Protection,
};

use crate::document::ClusterSection;
use crate::identity::FAMILY;
use crate::kinds::ClusterKinds;
use crate::options::DEFAULT_NAMESPACE;

/// The family of Kubernetes clusters.
#[derive(Clone, Debug, Default)]
pub struct Kubernetes {
    /// The cluster that the agent runs in.
    pub own_cluster: Option<OwnCluster>,
}

/// The API server of the cluster that a process runs in.
#[derive(Clone, Debug)]
pub struct OwnCluster {
    pub host: String,
    pub port: String,
    /// The directory of the pod's service account, with `token`, `ca.crt` and `namespace`.
    pub account: PathBuf,
}

/// Returns the fields that belong to a cluster.
pub(crate) fn section(spec: &TargetSpec) -> &ClusterSection {
    spec.section().expect("the family is asked about its own documents only")
}

impl Family for Kubernetes {
    fn kind(&self) -> TargetKind {
        TargetKind::new::<ClusterSection>("kubernetes", "A Kubernetes cluster.")
    }

    fn noun(&self) -> &'static str {
        "a Kubernetes cluster"
    }

    fn tag(&self) -> &'static str {
        FAMILY
    }

    fn effects(&self) -> Effects {
        Effects { fences: true, ..Effects::default() }
    }

    fn check(&self, spec: &TargetSpec) -> Vec<FieldProblem> {
        health_rules(section(spec)).err().unwrap_or_default()
    }

    fn namespace(&self, spec: &TargetSpec) -> Option<String> {
        section(spec).namespace.as_ref().map(|name| name.as_str().to_owned())
    }

    fn sharing(&self) -> Option<PathCheck> {
        Some(|path| match shareable(path) {
            Ok(_) => Ok(()),
            Err(bad) => Err(PathError { message: bad.to_string(), help: bad.help() }),
        })
    }

    fn replacing(&self) -> Option<Protection> {
        // Without a group, a rule is about the kinds of that name in all groups.
        Some(|group, kind| match group {
            Some(group) => is_protected(group, kind),
            None => is_protected_anywhere(kind),
        })
    }

    fn bounds(&self) -> Option<Bounds> {
        let is_namespaced = |class: &str| {
            let (group, kind) = group_and_kind(class);
            built_in(group, kind) == Some(BuiltIn::Namespaced)
        };
        Some(Bounds { namespaces: "Namespace", is_namespaced })
    }

    fn impersonation(&self) -> Option<LentIdentities> {
        fn lent(spec: &TargetSpec) -> Option<&[Principal]> {
            section(spec).identities.as_deref()
        }
        Some(lent)
    }

    fn sources(&self, spec: &TargetSpec) -> Vec<PathBuf> {
        section(spec).kubeconfig.iter().map(|file| file.as_str().into()).collect()
    }

    fn offline_kinds(&self, spec: &TargetSpec) -> Arc<dyn Kinds + Send + Sync> {
        let namespace = self.namespace(spec).unwrap_or_else(|| DEFAULT_NAMESPACE.to_owned()).into();
        Arc::new(ClusterKinds { namespace, own_namespace: None })
    }

    #[cfg(feature = "http")]
    fn connect(&self, spec: &TargetSpec, agent: &Agent) -> Result<Connection, NotConnected> {
        crate::http::connect(self.own_cluster.as_ref(), section(spec), agent)
    }

    #[cfg(not(feature = "http"))]
    fn connect(&self, _: &TargetSpec, _: &Agent) -> Result<Connection, NotConnected> {
        Err("this program was built without the network of clusters".into())
    }
}

/// Compiles the health expressions of a Target document.
pub(crate) fn health_rules(section: &ClusterSection) -> Result<HealthRules, Vec<FieldProblem>> {
    let mut rules = HealthRules::default();
    let mut problems = Vec::new();
    for (n, rule) in section.health.iter().enumerate() {
        let expressions = Expressions {
            healthy: rule.healthy.as_str(),
            progressing: rule.progressing.as_ref().map(Expression::as_str),
            degraded: rule.degraded.as_ref().map(Expression::as_str),
        };
        let (field, problem) = match rules.set(rule.kind.as_str(), expressions) {
            Ok(()) => continue,
            Err(bad @ BadRule::NotAKind { .. }) => ("kind", bad.to_string()),
            Err(BadRule::Expression { field, source, .. }) => (field, source.to_string()),
        };
        // Messages consist of the problem and the remedy.
        let (message, help) = problem.rsplit_once("; ").unwrap_or((&problem, "correct it"));
        problems.push(FieldProblem::new(format!("spec.health[{n}].{field}"), message, help));
    }
    if problems.is_empty() { Ok(rules) } else { Err(problems) }
}
