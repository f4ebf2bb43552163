//! Boundaries: the namespaces and kinds of targets that a Scope document allows its apps to write,
//! where the family of the target has any.
//!
//! A target of the scope itself is open to its apps unless the Scope document draws a boundary. On
//! a target of another scope only listed namespaces and kinds are allowed: lending a target to a
//! tenant grants nothing by itself.

use std::collections::BTreeMap;
use std::sync::Arc;

use setpoint_core::boundary::{Boundary, Grants, Pattern};
use setpoint_core::name::{AppId, Scope};
use setpoint_documents::{AppSpec, FieldProblem, GroupKind, ScopeSpec};

use setpoint_target::Family;

use super::documents::ControlDocuments;

impl ControlDocuments {
    pub(super) fn boundary_of(&self, id: &AppId, app: &AppSpec) -> Boundary {
        let family = self.family(app);
        let bounds = match family {
            Some(family) => family.bounds(),
            // Nothing is open on a target that is not declared.
            None => self.families.iter().find_map(Family::bounds),
        };
        let is_own = self.targets.get(&app.target).is_some_and(|target| target.scope == id.scope);
        let listed = self.scopes.get(&id.scope).map(|scope| &scope.spec);
        let is_drawn = listed.is_some_and(|listed| listed.namespaces.is_some() || listed.cluster_kinds.is_some());
        if family.is_some() && bounds.is_none() || is_own && !is_drawn {
            return Boundary::Open;
        }
        let namespaces = listed.into_iter().flat_map(namespaces_of).collect::<Vec<_>>();
        let classes = listed.and_then(|listed| listed.cluster_kinds.as_ref()).into_iter().flatten();
        let is_namespaces = |class: &str| bounds.is_some_and(|bounds| bounds.namespaces == class);
        let names = |class: &str| if is_namespaces(class) { namespaces.clone() } else { vec![Pattern::any()] };
        let classes: BTreeMap<_, _> = classes.map(|kind| (kind.as_str().into(), names(kind.as_str()))).collect();
        Boundary::Within(Arc::new(Grants { scope: id.scope.clone(), namespaces, classes }))
    }

    /// Returns errors for namespaced kinds that are listed among the kinds without a namespace,
    /// where they have no effect.
    pub(super) fn misplaced_kinds(&self, scope: &ScopeSpec) -> Vec<FieldProblem> {
        let is_namespaced = |class: &str| {
            let mut bounds = self.families.iter().filter_map(Family::bounds);
            bounds.any(|bounds| (bounds.is_namespaced)(class))
        };
        let listed = scope.cluster_kinds.iter().flatten().enumerate();
        let problem = |(n, kind): (usize, &GroupKind)| {
            let help = "remove it: in the namespaces of `spec.namespaces` every kind is allowed";
            FieldProblem::new(format!("spec.clusterKinds[{n}]"), format!("a {kind} lives in a namespace"), help)
        };
        listed.filter(|(_, kind)| is_namespaced(kind.as_str())).map(problem).collect()
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
