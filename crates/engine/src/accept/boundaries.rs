//! Where the apps of a scope may write: what its Scope document says of the namespaces and kinds of
//! clusters.
//!
//! A cluster that is the scope's own is open to it unless its Scope document draws a boundary. On
//! one of another scope nothing is allowed but what is listed, so that a tenant who was lent a
//! cluster has been given nothing by that alone.

use std::collections::BTreeMap;
use std::sync::Arc;

use setpoint_core::boundary::{Boundary, Grants, Pattern};
use setpoint_core::name::{AppId, Scope};
use setpoint_documents::{AppSpec, FieldProblem, ScopeSpec, TargetFamily};
use setpoint_kube::key::group_and_kind;
use setpoint_kube::kinds::{BuiltIn, built_in};

use super::documents::ControlDocuments;

/// The kind whose objects are called as the namespaces they make.
const NAMESPACE: &str = "Namespace";

impl ControlDocuments {
    pub(super) fn boundary_of(&self, id: &AppId, app: &AppSpec) -> Boundary {
        let target = self.targets.get(&app.target);
        let is_cluster = target.is_none_or(|target| target.spec.family == TargetFamily::Kubernetes);
        let is_own = target.is_some_and(|target| target.scope == id.scope);
        let listed = self.scopes.get(&id.scope).map(|scope| &scope.spec);
        let is_drawn = listed.is_some_and(|listed| listed.namespaces.is_some() || listed.cluster_kinds.is_some());
        if !is_cluster || is_own && !is_drawn {
            return Boundary::Open;
        }
        let namespaces = listed.into_iter().flat_map(namespaces_of).collect::<Vec<_>>();
        let classes = listed.and_then(|listed| listed.cluster_kinds.as_ref()).into_iter().flatten();
        let names = |class: &str| if class == NAMESPACE { namespaces.clone() } else { vec![Pattern::any()] };
        let classes: BTreeMap<_, _> = classes.map(|kind| (kind.as_str().into(), names(kind.as_str()))).collect();
        Boundary::Within(Arc::new(Grants { scope: id.scope.clone(), namespaces, classes }))
    }

    /// Whether the scope was given leave to declare what Setpoint itself runs from. None has it by
    /// itself, not even `default`.
    pub(super) fn manages_setpoint(&self, scope: &Scope) -> bool {
        self.scopes.get(scope).is_some_and(|scope| scope.spec.manage_setpoint)
    }
}

fn namespaces_of(scope: &ScopeSpec) -> impl Iterator<Item = Pattern> {
    scope.namespaces.iter().flatten().map(|name| Pattern::new(name.as_str()))
}

/// Kinds that live in a namespace would be listed among those without one in vain.
pub(super) fn misplaced_kinds(scope: &ScopeSpec) -> Vec<FieldProblem> {
    let listed = scope.cluster_kinds.iter().flatten().enumerate();
    let misplaced = listed.filter(|(_, kind)| {
        let (group, kind) = group_and_kind(kind.as_str());
        built_in(group, kind) == Some(BuiltIn::Namespaced)
    });
    let problem = |(n, kind)| {
        let help = "remove it: in the namespaces of `spec.namespaces` every kind is allowed";
        FieldProblem::new(format!("spec.clusterKinds[{n}]"), format!("a {kind} lives in a namespace"), help)
    };
    misplaced.map(problem).collect()
}
