//! Families of targets. Everything in which one kind of target differs from another, before a
//! connection exists, is answered by its [`Family`]: its fields of Target documents, the rules that
//! its apps may have, how it connects, and how its effects end.
//!
//! A family lives in the crate of its target. The engine gets all of them as [`Families`] and
//! knows none by name.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use setpoint_core::time::Span;
use setpoint_documents::{FieldProblem, KindPage, Principal, TargetKind, TargetKinds, TargetSpec};

use crate::connection::{Agent, Connection};
use crate::kinds::Kinds;

/// A family of targets: hosts, clusters.
///
/// The rules of apps that a family does not support are refused in the App document.
pub trait Family: fmt::Debug + Send + Sync {
    /// Returns the value of `kind` in Target documents, with the fields that belong to it.
    fn kind(&self) -> TargetKind;

    /// Returns a noun for one of its targets, with an article, for messages.
    fn noun(&self) -> &'static str;

    /// Returns the word that begins the identities of its targets, before the first `-`.
    fn tag(&self) -> &'static str;

    /// Returns how changes of its targets end.
    fn effects(&self) -> Effects {
        Effects::default()
    }

    /// Returns the documentation of the resources that its targets accept, if Setpoint defines them.
    fn resource_pages(&self) -> Vec<KindPage> {
        Vec::new()
    }

    /// Returns the problems of a Target document that its reader does not find; paths begin at the
    /// document.
    fn check(&self, _spec: &TargetSpec) -> Vec<FieldProblem> {
        Vec::new()
    }

    /// Returns the namespace that a Target document gives to objects without one.
    fn namespace(&self, _spec: &TargetSpec) -> Option<String> {
        None
    }

    /// Returns the check of the field paths that apps share with others or have rules of additions
    /// for. `None` if a resource is always held as a whole.
    fn sharing(&self) -> Option<PathCheck> {
        None
    }

    /// Returns the rule for objects that are never deleted and created again. `None` if none ever
    /// needs to be, because every change is possible.
    fn replacing(&self) -> Option<Protection> {
        None
    }

    /// Returns what Scope documents bound. `None` if every app may write everywhere on a target
    /// that its scope may use.
    fn bounds(&self) -> Option<Bounds> {
        None
    }

    /// Returns the reader of the users that a Target document lends to other scopes. `None` if no
    /// user can be impersonated.
    fn impersonation(&self) -> Option<LentIdentities> {
        None
    }

    /// Returns the files that a connection is made from: a new one is made after they have changed.
    fn sources(&self, _spec: &TargetSpec) -> Vec<PathBuf> {
        Vec::new()
    }

    /// Returns the kinds of a target as far as they are known without a connection.
    fn offline_kinds(&self, spec: &TargetSpec) -> Arc<dyn Kinds + Send + Sync>;

    /// Connects to a target.
    fn connect(&self, spec: &TargetSpec, agent: &Agent) -> Result<Connection, NotConnected>;
}

/// The reason why a connection cannot be made, with the remedy.
pub type NotConnected = Box<dyn Error + Send + Sync>;

/// Checks the path of a field.
pub type PathCheck = fn(&str) -> Result<(), PathError>;

/// Reports whether objects of a group and kind are never replaced; without a group, whether any
/// objects of that kind are not.
pub type Protection = fn(Option<&str>, &str) -> bool;

/// Returns the users that a Target document lends to other scopes; `None` if it does not limit
/// them.
pub type LentIdentities = fn(&TargetSpec) -> Option<&[Principal]>;

/// A path that no target of the family can follow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathError {
    pub message: String,
    pub help: &'static str,
}

/// The objects of targets on which Scope documents draw boundaries.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// The class whose objects have the names of the namespaces they create.
    pub namespaces: &'static str,
    /// Reports whether the objects of a class are known to live in namespaces.
    pub is_namespaced: fn(&str) -> bool,
}

/// How changes of a target end: the engine relies on it when it takes over from a former holder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Effects {
    /// A change has landed within this time of being sent, or never will. `None` for the engine's
    /// default.
    pub lands_within: Option<Span>,
    /// A change is refused if the object's version differs from the one it was decided on. Settling
    /// makes sure that it differs, so only creates are waited for.
    pub fences: bool,
    /// The agent's process carries out the changes itself, so none outlives it.
    pub ends_with_agent: bool,
}

/// The families that a program knows. By default none.
#[derive(Clone, Default)]
pub struct Families {
    families: Arc<[Arc<dyn Family>]>,
    kinds: TargetKinds,
}

impl Families {
    pub fn new(families: impl IntoIterator<Item = Arc<dyn Family>>) -> Self {
        let families: Arc<[Arc<dyn Family>]> = families.into_iter().collect();
        let kinds = families.iter().map(|family| family.kind()).collect();
        Self { families, kinds }
    }

    /// Returns the kinds of targets that documents may declare.
    pub fn kinds(&self) -> &TargetKinds {
        &self.kinds
    }

    /// Returns the family of a Target document.
    pub fn of(&self, spec: &TargetSpec) -> &dyn Family {
        let family = self.iter().find(|family| family.kind().name == spec.kind);
        family.expect("a document was read with the kinds of these families")
    }

    pub fn iter(&self) -> impl Iterator<Item = &dyn Family> {
        self.families.iter().map(AsRef::as_ref)
    }

    /// Returns how changes end, by the word that begins the identities of targets.
    pub fn effects(&self) -> BTreeMap<String, Effects> {
        self.iter().map(|family| (family.tag().to_owned(), family.effects())).collect()
    }

    /// Lists the targets of the families that can do something, for a message: "a host or a
    /// cluster".
    pub fn nouns(&self, can: impl Fn(&dyn Family) -> bool) -> String {
        let nouns: Vec<_> = self.iter().filter(|family| can(*family)).map(Family::noun).collect();
        if nouns.is_empty() { "another kind of target".to_owned() } else { nouns.join(" or ") }
    }
}

impl fmt::Debug for Families {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// The same families are registered under the same kinds.
impl PartialEq for Families {
    fn eq(&self, other: &Self) -> bool {
        let names = |families: &Self| families.iter().map(|family| family.kind().name).collect::<Vec<_>>();
        names(self) == names(other)
    }
}

impl Eq for Families {}
