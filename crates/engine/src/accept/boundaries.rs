//! Boundaries: the namespaces and kinds of clusters that a Scope document allows its apps to write.
//!
//! A cluster of the scope itself is open to its apps unless the Scope document draws a boundary. On
//! a cluster of another scope only listed namespaces and kinds are allowed: lending a cluster to a
//! tenant grants nothing by itself.

use std::collections::BTreeMap;
use std::sync::Arc;

use setpoint_core::boundary::{Boundary, Grants, Pattern};
use setpoint_core::name::{AppId, Scope};
use setpoint_documents::{AppSpec, FieldProblem, ScopeSpec, TargetFamily};
use setpoint_kube::key::group_and_kind;
use setpoint_kube::kinds::{BuiltIn, built_in};

use super::documents::ControlDocuments;

/// The kind whose objects have the names of the namespaces they create.
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

    /// Reports whether the scope may declare the objects that Setpoint itself runs from. No scope
    /// may by default, not even `default`.
    pub(super) fn manages_setpoint(&self, scope: &Scope) -> bool {
        self.scopes.get(scope).is_some_and(|scope| scope.spec.manage_setpoint)
    }
}

fn namespaces_of(scope: &ScopeSpec) -> impl Iterator<Item = Pattern> {
    scope.namespaces.iter().flatten().map(|name| Pattern::new(name.as_str()))
}

/// Returns errors for namespaced kinds that are listed among the kinds without a namespace, where
/// they have no effect.
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
