//! References between control documents: every name exists, and an app uses only what its scope may
//! use (S11).
//!
//! A scope may use the documents declared in it and those that its Scope document lists. Without a
//! Scope document it may use no more than its own.

use std::collections::{BTreeMap, BTreeSet};

use setpoint_core::graph;
use setpoint_core::mutant::Mutant;
use setpoint_core::name::{AppId, AppName, Scope, StoreName, TargetName};
use setpoint_documents::{AppSpec, FieldProblem, nearest};

use super::candidate::store_path;
use super::documents::{ControlDocument, ControlDocuments};
use super::reading::{BOOTSTRAP_STORE, FieldError};

/// The stores and targets that one scope may use.
struct Rights<'a> {
    stores: BTreeSet<&'a str>,
    targets: BTreeSet<&'a str>,
}

impl ControlDocuments {
    /// Returns errors for references to missing documents, to documents outside of the scope, and
    /// in a cycle.
    pub(super) fn references(&self) -> Vec<FieldError> {
        let mut slips = Vec::new();
        let mut rights = BTreeMap::new();
        for (id, app) in &self.apps {
            let rights = rights.entry(&id.scope).or_insert_with(|| self.rights_of(&id.scope));
            let mut found = self.uses(id, &app.spec, rights);
            found.extend(self.names_of_apps(id, app));
            slips.extend(found.into_iter().map(|problem| (app.place.clone(), problem)));
        }
        slips.extend(self.circles());
        slips.extend(self.boundaries());
        slips.extend(self.misnamed());
        slips.extend(self.accesses_outside());
        for ((scope, _), policy) in &self.policies {
            let missing = |name| !self.apps.contains_key(&AppId::new(scope.clone(), name));
            let unknown = policy.spec.apps.iter().enumerate().filter(|(_, name)| missing((*name).clone()));
            slips.extend(unknown.map(|(n, name)| {
                let problem = self.no_such_app(format!("spec.apps[{n}]"), scope, name.as_str());
                (policy.place.clone(), problem)
            }));
        }
        slips
    }

    fn rights_of(&self, scope: &Scope) -> Rights<'_> {
        let listed = self.scopes.get(scope).map(|scope| &scope.spec);
        let own_stores = self.stores.iter().filter(|(_, store)| store.scope == *scope).map(|(name, _)| name);
        let own_targets = self.targets.iter().filter(|(_, target)| target.scope == *scope).map(|(name, _)| name);
        let stores = own_stores.chain(listed.into_iter().flat_map(|listed| &listed.stores)).map(StoreName::as_str);
        let targets = own_targets.chain(listed.into_iter().flat_map(|listed| &listed.targets)).map(TargetName::as_str);
        if listed.is_none() && Mutant::MissingScopeAllowsAll.is_on() {
            let stores = self.stores.keys().map(StoreName::as_str).chain([BOOTSTRAP_STORE]).collect();
            return Rights { stores, targets: self.targets.keys().map(TargetName::as_str).collect() };
        }
        let bootstrap = (*scope == Scope::default_scope()).then_some(BOOTSTRAP_STORE);
        Rights { stores: stores.chain(bootstrap).collect(), targets: targets.collect() }
    }

    /// Returns the scope of a store; `None` if there is no such store. The store of the bootstrap
    /// belongs to the scope `default`.
    fn owner_of(&self, store: &StoreName) -> Option<Scope> {
        let declared = self.stores.get(store).map(|store| store.scope.clone());
        declared.or_else(|| (store.as_str() == BOOTSTRAP_STORE).then(Scope::default_scope))
    }

    /// Checks the stores and the target of an app.
    fn uses(&self, id: &AppId, app: &AppSpec, rights: &Rights<'_>) -> Vec<FieldProblem> {
        let mut found = Vec::new();
        for (n, input) in app.inputs.iter().enumerate() {
            let owner = self.owner_of(&input.store);
            let wanted = Wanted { kind: "Store", list: "stores", name: input.store.as_str(), scope: &id.scope };
            found.extend(wanted.problem(format!("spec.inputs[{n}].store"), owner, &rights.stores));
            if let Err(bad) = store_path(&input.path) {
                found.push(FieldProblem::new(format!("spec.inputs[{n}].path"), bad.to_string(), "correct the path"));
            }
        }
        for (n, store) in app.kustomize.bases.iter().enumerate() {
            let wanted = Wanted { kind: "Store", list: "stores", name: store.as_str(), scope: &id.scope };
            let path = format!("spec.kustomize.bases[{n}]");
            found.extend(wanted.problem(path.clone(), self.owner_of(store), &rights.stores));
            if store.as_str() == BOOTSTRAP_STORE {
                let message = "the store of the bootstrap has no URL that a kustomization could name";
                found.push(FieldProblem::new(path, message, "refer to its directories by relative paths"));
            }
        }
        let owner = self.targets.get(&app.target).map(|target| target.scope.clone());
        let wanted = Wanted { kind: "Target", list: "targets", name: app.target.as_str(), scope: &id.scope };
        found.extend(wanted.problem("spec.target".to_owned(), owner, &rights.targets));
        found
    }

    /// Checks the other apps of the same scope that an app names.
    fn names_of_apps(&self, id: &AppId, app: &ControlDocument<Box<AppSpec>>) -> Vec<FieldProblem> {
        let depends_on =
            app.spec.sync.depends_on.iter().enumerate().map(|(n, name)| (format!("spec.sync.dependsOn[{n}]"), name));
        let together =
            app.spec.accept_together.iter().enumerate().map(|(n, name)| (format!("spec.acceptTogether[{n}]"), name));
        let unknown = |name: &AppName| !self.apps.contains_key(&AppId::new(id.scope.clone(), name.clone()));
        depends_on
            .chain(together)
            .filter(|(_, name)| unknown(name))
            .map(|(path, name)| self.no_such_app(path, &id.scope, name.as_str()))
            .collect()
    }

    fn no_such_app(&self, path: String, scope: &Scope, name: &str) -> FieldProblem {
        let known = self.apps.keys().filter(|id| id.scope == *scope).map(|id| id.name.as_str());
        let help = nearest(name, known)
            .map_or_else(|| "name an app of the same scope".to_owned(), |near| format!("did you mean `{near}`?"));
        FieldProblem::new(path, format!("the scope `{scope}` has no app `{name}`"), help)
    }

    /// Returns an error for apps that wait for each other: they would wait for ever.
    fn circles(&self) -> Option<FieldError> {
        let edges = self.apps.iter().map(|(id, app)| {
            let before = app.spec.sync.depends_on.iter();
            (id, before.map(|name| AppId::new(id.scope.clone(), name.clone())).collect())
        });
        let edges: BTreeMap<_, BTreeSet<_>> = edges.collect();
        let cycle = graph::ranks(edges.iter().map(|(id, before)| (*id, before))).err()?;
        let app = self.apps.get(cycle.path.first()?)?;
        let problem = FieldProblem::new("spec.sync.dependsOn", cycle.to_string(), "remove one of the dependencies");
        Some((app.place.clone(), problem))
    }

    /// Checks that the stores and targets listed in Scope documents exist, and that no Scope
    /// document is in the scope it bounds.
    fn boundaries(&self) -> Vec<FieldError> {
        let mut slips = Vec::new();
        for scope in self.scopes.values() {
            let mut add = |problem| slips.push((scope.place.clone(), problem));
            if scope.scope != Scope::default_scope() {
                let help = format!("remove `scope`, or write `scope: {}`", Scope::default_scope());
                add(FieldProblem::new(
                    "metadata.scope",
                    "a Scope document must be in the scope `default`, not in the one it bounds",
                    help,
                ));
            }
            self.misplaced_kinds(&scope.spec).into_iter().for_each(&mut add);
            for (n, name) in scope.spec.stores.iter().enumerate().filter(|(_, name)| self.owner_of(name).is_none()) {
                let help = suggestion(name.as_str(), self.stores.keys().map(StoreName::as_str));
                add(FieldProblem::new(format!("spec.stores[{n}]"), format!("there is no Store `{name}`"), help));
            }
            for (n, name) in scope.spec.targets.iter().enumerate().filter(|(_, name)| !self.targets.contains_key(name))
            {
                let help = suggestion(name.as_str(), self.targets.keys().map(TargetName::as_str));
                add(FieldProblem::new(format!("spec.targets[{n}]"), format!("there is no Target `{name}`"), help));
            }
        }
        slips
    }
}

/// A Store or Target that an app names.
struct Wanted<'a> {
    kind: &'static str,
    /// The field of a Scope document that grants it.
    list: &'static str,
    name: &'a str,
    /// The scope of the app.
    scope: &'a Scope,
}

impl Wanted<'_> {
    fn problem(&self, path: String, owner: Option<Scope>, usable: &BTreeSet<&str>) -> Option<FieldProblem> {
        let Self { kind, list, name, scope } = self;
        match owner {
            None => {
                let help = suggestion(name, usable.iter().copied());
                Some(FieldProblem::new(path, format!("there is no {kind} `{name}`"), help))
            }
            Some(owner) if !usable.contains(name) && !Mutant::IgnoreScopes.is_on() => Some(FieldProblem::new(
                path,
                format!("apps of the scope `{scope}` may not use the {kind} `{name}` of the scope `{owner}`"),
                format!("list it in `spec.{list}` of the Scope `{scope}`, or use another"),
            )),
            Some(_) => None,
        }
    }
}

fn suggestion<'k>(name: &str, known: impl Iterator<Item = &'k str>) -> String {
    nearest(name, known)
        .map_or_else(|| "declare it, or name another".to_owned(), |near| format!("did you mean `{near}`?"))
}
