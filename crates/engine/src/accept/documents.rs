//! Control documents by name, as resources of the root app's bundle and back: acceptance, ledger
//! and history treat the root app like any other.

use std::collections::BTreeMap;

use setpoint_core::bundle::Bundle;
use setpoint_core::canonical;
use setpoint_core::key::Key;
use setpoint_core::name::{AppId, AppName, Scope, StoreName, TargetName};
use setpoint_core::resource::Resource;
use setpoint_core::value::Value;
use setpoint_documents::{
    API_VERSION, AccessSpec, AppSpec, Document, Label, Metadata, NotifierSpec, PolicySpec, ScopeSpec, Spec, StoreSpec,
    TargetSpec, read_documents,
};
use setpoint_render::Problem;
use setpoint_render::problem::Problems;
use setpoint_target::{Families, Family};
use setpoint_yaml::Place;

use super::flow;
use super::reading::ROOT_SCOPE;

/// One control document: its content, its scope, and its place in the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControlDocument<S> {
    pub scope: Scope,
    /// Empty for kinds that cannot have labels.
    pub labels: BTreeMap<String, String>,
    pub spec: S,
    /// The whole document.
    pub(super) body: Body,
    pub place: Place,
}

/// The text of a document, in canonical bytes: the documents in force stay in memory, and as trees
/// they would need five times the space.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Body(Box<[u8]>);

impl Body {
    fn of(document: &Value) -> Self {
        Self(canonical::to_bytes(document).into())
    }

    pub(super) fn value(&self) -> Value {
        canonical::from_bytes(&self.0).expect("we wrote it")
    }
}

/// All control documents of one version, or of one accepted bundle.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ControlDocuments {
    /// The families that the targets were read with.
    pub(super) families: Families,
    /// Boxed: there may be thousands, and the nodes of a tree are half empty.
    pub(super) apps: BTreeMap<AppId, ControlDocument<Box<AppSpec>>>,
    pub(super) stores: BTreeMap<StoreName, ControlDocument<StoreSpec>>,
    pub(super) targets: BTreeMap<TargetName, ControlDocument<TargetSpec>>,
    /// By the scope whose boundary they draw.
    pub(super) scopes: BTreeMap<Scope, ControlDocument<ScopeSpec>>,
    pub(super) policies: BTreeMap<(Scope, Label), ControlDocument<PolicySpec>>,
    pub(super) notifiers: BTreeMap<(Scope, Label), ControlDocument<NotifierSpec>>,
    pub(super) accesses: BTreeMap<(Scope, Label), ControlDocument<AccessSpec>>,
}

impl ControlDocuments {
    pub(super) fn none(families: &Families) -> Self {
        Self { families: families.clone(), ..Self::default() }
    }

    /// Returns the family of an app's target; `None` if there is no such target.
    pub(super) fn family(&self, app: &AppSpec) -> Option<&dyn Family> {
        self.targets.get(&app.target).map(|target| self.families.of(&target.spec))
    }

    pub fn apps(&self) -> &BTreeMap<AppId, ControlDocument<Box<AppSpec>>> {
        &self.apps
    }

    pub fn stores(&self) -> &BTreeMap<StoreName, ControlDocument<StoreSpec>> {
        &self.stores
    }

    pub fn targets(&self) -> &BTreeMap<TargetName, ControlDocument<TargetSpec>> {
        &self.targets
    }

    pub fn notifiers(&self) -> &BTreeMap<(Scope, Label), ControlDocument<NotifierSpec>> {
        &self.notifiers
    }

    pub fn accesses(&self) -> &BTreeMap<(Scope, Label), ControlDocument<AccessSpec>> {
        &self.accesses
    }

    /// Reports whether an app, a store, a target or a Scope document belongs to this scope. The
    /// scopes `default` and that of the engine always exist.
    pub(super) fn has_scope(&self, scope: &Scope) -> bool {
        // No name of an app is before `0`.
        let first = AppId::new(scope.clone(), named(AppName::new("0")));
        *scope == Scope::default_scope()
            || scope.as_str() == ROOT_SCOPE
            || self.scopes.contains_key(scope)
            || self.apps.range(first..).next().is_some_and(|(app, _)| app.scope == *scope)
            || self.stores.values().any(|store| store.scope == *scope)
            || self.targets.values().any(|target| target.scope == *scope)
    }

    /// Returns the documents as resources of the root app.
    pub fn resources(&self) -> Vec<Resource> {
        let mut resources = Vec::new();
        let mut add = |kind: &str, scope: &Scope, name: &str, body: &Body| {
            resources.push(Resource::new(key_of(kind, scope, name), API_VERSION, kind, body.value()));
        };
        self.apps.iter().for_each(|(id, app)| add("App", &id.scope, id.name.as_str(), &app.body));
        self.stores.iter().for_each(|(name, store)| add("Store", &store.scope, name.as_str(), &store.body));
        self.targets.iter().for_each(|(name, target)| add("Target", &target.scope, name.as_str(), &target.body));
        self.scopes.iter().for_each(|(name, scope)| add("Scope", &scope.scope, name.as_str(), &scope.body));
        self.policies.iter().for_each(|((scope, name), policy)| add("Policy", scope, name.as_str(), &policy.body));
        self.notifiers.iter().for_each(|((scope, name), it)| add("Notifier", scope, name.as_str(), &it.body));
        self.accesses.iter().for_each(|((scope, name), it)| add("Access", scope, name.as_str(), &it.body));
        resources
    }

    /// Reads the documents of an accepted bundle of the root app. They were judged when they were
    /// accepted; here they are only read. That fails if a newer Setpoint is stricter: then the
    /// problems name the changes to make in the store.
    pub fn from_bundle(bundle: &Bundle, families: &Families) -> Result<Self, Vec<Problem>> {
        let mut problems = Problems::default();
        let mut documents = Self::none(families);
        for (key, declared) in bundle.resources() {
            let text = flow::text_of(&declared.resource.body);
            match read_documents(&key.to_string(), &text, families.kinds()) {
                Ok(read) => read.into_iter().for_each(|document| {
                    if documents.add(document).is_none_or(|added| added != *key) {
                        problems.add(Problem::found(
                            key.to_string(),
                            "the accepted bundle has another document under this name",
                            "commit the control documents again, so that they are accepted again",
                        ));
                    }
                }),
                Err(found) => problems.add_all(found),
            }
        }
        problems.or_value(documents)
    }

    /// Adds a document under its key; `None` for one that is not allowed in a store. A document
    /// with the same key is replaced: the caller decides whether that is an error.
    pub(super) fn add(&mut self, document: Document) -> Option<Key> {
        let Document { metadata, spec, body, place } = document;
        let Metadata { name, scope, labels } = metadata?;
        let labels = labels.into_map();
        let key = key_of(spec.kind(), &scope, name.as_str());
        let (text, body) = (name.as_str(), Body::of(&body));
        match spec {
            Spec::App(spec) => {
                let id = AppId::new(scope.clone(), named(AppName::new(text)));
                self.apps.insert(id, ControlDocument { scope, labels, spec, body, place });
            }
            Spec::Store(spec) => {
                self.stores
                    .insert(named(StoreName::new(text)), ControlDocument { scope, labels, spec: *spec, body, place });
            }
            Spec::Target(spec) => {
                self.targets
                    .insert(named(TargetName::new(text)), ControlDocument { scope, labels, spec: *spec, body, place });
            }
            Spec::Scope(spec) => {
                self.scopes
                    .insert(named(Scope::new(text)), ControlDocument { scope, labels, spec: *spec, body, place });
            }
            Spec::Policy(spec) => {
                self.policies
                    .insert((scope.clone(), name), ControlDocument { scope, labels, spec: *spec, body, place });
            }
            Spec::Notifier(spec) => {
                self.notifiers
                    .insert((scope.clone(), name), ControlDocument { scope, labels, spec: *spec, body, place });
            }
            Spec::Access(spec) => {
                self.accesses
                    .insert((scope.clone(), name), ControlDocument { scope, labels, spec: *spec, body, place });
            }
            Spec::Bootstrap(_) => return None,
        }
        Some(key)
    }
}

fn named<T, E: std::fmt::Debug>(name: Result<T, E>) -> T {
    name.expect("all names of documents follow one rule, which was checked when the document was read")
}

fn key_of(kind: &str, scope: &Scope, name: &str) -> Key {
    Key::new(&format!("setpoint.dev/{kind}"), scope.as_str(), name).expect("kinds, scopes and names are plain text")
}
