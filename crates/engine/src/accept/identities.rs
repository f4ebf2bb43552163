//! Identities: the users that the apps of a scope act as on targets. A Scope document names them,
//! within the limits that the owners of lent targets set.
//!
//! A name in a Scope document would give its user's permissions to the scope, so a name alone
//! counts for nothing. On a target of another scope only names count that its Target document
//! lists. No two scopes may have the same name. Names that a system reserves for itself cannot be
//! used at all (`Principal`).

use std::collections::BTreeMap;
use std::sync::Arc;

use setpoint_core::acting::ActingAs;
use setpoint_core::name::{AppId, Scope, TargetName};
use setpoint_documents::{ActAs, AppSpec, FieldProblem, Principal, TargetSpec};
use setpoint_target::LentIdentities;

use super::documents::{ControlDocument, ControlDocuments};
use super::reading::FieldError;

/// The identities of all scopes that have one, each shared by all apps of the scope.
pub(super) type Identities<'a> = BTreeMap<&'a Scope, Arc<ActingAs>>;

impl ControlDocuments {
    pub(super) fn identities(&self) -> Identities<'_> {
        let named = self.scopes.iter().filter_map(|(scope, document)| Some((scope, document.spec.act_as.as_ref()?)));
        named.map(|(scope, act_as)| (scope, Arc::new(acting(act_as)))).collect()
    }

    /// Returns the user that an app acts as, if one can be impersonated on its target.
    pub(super) fn acting_as(&self, identities: &Identities<'_>, id: &AppId, app: &AppSpec) -> Option<Arc<ActingAs>> {
        let impersonates = self.family(app).is_none_or(|family| family.impersonation().is_some());
        identities.get(&id.scope).filter(|_| impersonates).cloned()
    }

    /// Returns errors for identities that were not lent, or that another scope has.
    pub(super) fn misnamed(&self) -> Vec<FieldError> {
        let mut slips = Vec::new();
        let mut taken: BTreeMap<&Principal, &Scope> = BTreeMap::new();
        for (scope, document) in &self.scopes {
            let mut add = |problem| slips.push((document.place.clone(), problem));
            let act_as = document.spec.act_as.as_ref();
            for name in &document.spec.targets {
                let Some(target) = self.targets.get(name).filter(|target| target.scope != *scope) else { continue };
                let Some(lent) = self.families.of(&target.spec).impersonation() else { continue };
                not_lent(name, target, lent, act_as).into_iter().for_each(&mut add);
            }
            let Some(act_as) = act_as else { continue };
            if let Some(other) = taken.insert(&act_as.user, scope) {
                let message = format!("the Scope `{other}` acts as `{}` too", act_as.user);
                add(FieldProblem::new("spec.actAs.user", message, "give each scope a user of its own"));
            }
        }
        slips
    }
}

/// Returns errors for names of a scope that the owner of a target did not list. An owner that lists
/// names lends the target under these names alone.
fn not_lent(
    name: &TargetName,
    target: &ControlDocument<TargetSpec>,
    lent: LentIdentities,
    act_as: Option<&ActAs>,
) -> Vec<FieldProblem> {
    let (owner, lent) = (&target.scope, lent(&target.spec));
    let Some(act_as) = act_as else {
        let nameless = lent.is_some().then(|| {
            let message =
                format!("the Target `{name}` of the scope `{owner}` may be used only with identities that it lists");
            let help = format!("add `actAs` with a user of `spec.identities` of the Target `{name}`");
            FieldProblem::new("spec.actAs", message, help)
        });
        return nameless.into_iter().collect();
    };
    let groups = act_as.groups.iter().enumerate().map(|(n, group)| (format!("spec.actAs.groups[{n}]"), group));
    let named = std::iter::once(("spec.actAs.user".to_owned(), &act_as.user)).chain(groups);
    let listed = |principal: &Principal| lent.iter().copied().flatten().any(|one| one == principal);
    let problem = |(path, principal): (String, &Principal)| {
        let message = format!("apps may not act as `{principal}` on the Target `{name}` of the scope `{owner}`");
        FieldProblem::new(path, message, format!("list it in `spec.identities` of the Target `{name}`"))
    };
    named.filter(|(_, principal)| !listed(principal)).map(problem).collect()
}

fn acting(ActAs { user, groups }: &ActAs) -> ActingAs {
    ActingAs { user: user.as_str().into(), groups: groups.iter().map(|group| group.as_str().into()).collect() }
}
