//! Chooses the resource that a name refers to.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::identity::{Gvk, Id};
use crate::node::{Content, Node, Tag};
use crate::resource::Resource;

/// A resource that refers to another one.
pub(super) struct Referrer<'a> {
    pub(super) id: &'a Id,
    prefixes: Vec<Arc<str>>,
    suffixes: Vec<Arc<str>>,
    /// Namespaces of the service accounts that a RoleBinding names.
    account_namespaces: BTreeSet<Arc<str>>,
    /// Group and kind of the role that a RoleBinding names.
    role: Option<Gvk>,
}

impl<'a> Referrer<'a> {
    /// Returns `None` for a RoleBinding with a subject that is not a map, with a kind that is not a
    /// string, or with a namespace of a service account that is not one.
    pub(super) fn of(resource: &Resource, id: &'a Id) -> Option<Self> {
        Some(Self {
            id,
            prefixes: resource.prefixes.clone(),
            suffixes: resource.suffixes.clone(),
            account_namespaces: account_namespaces(resource)?,
            role: role(resource),
        })
    }
}

fn account_namespaces(resource: &Resource) -> Option<BTreeSet<Arc<str>>> {
    let subjects = match resource.node.at(&["subjects"]).map(|node| &node.content) {
        Some(Content::Seq(subjects)) if resource.kind() == "RoleBinding" => subjects.as_slice(),
        _ => &[],
    };
    let mut namespaces = BTreeSet::new();
    for subject in subjects {
        let subject = subject.as_map()?;
        let (Some(kind), Some(namespace)) = (subject.get("kind"), subject.get("namespace")) else { continue };
        if &*text(kind)? == "ServiceAccount" {
            namespaces.insert(text(namespace)?);
        }
    }
    Some(namespaces)
}

/// Returns a scalar that is read as a string. A timestamp is not one.
fn text(node: &Node) -> Option<Arc<str>> {
    let scalar = node.as_scalar()?;
    let tag = if scalar.tag == Tag::Any { Tag::of(&scalar.text) } else { scalar.tag };
    (tag == Tag::Text).then(|| Arc::clone(&scalar.text))
}

fn role(resource: &Resource) -> Option<Gvk> {
    let text = |field: &str| resource.node.at(&["roleRef", field]).and_then(Node::as_text);
    Some(Gvk::new(text("apiGroup")?, "", text("kind")?))
}

/// A resource that may be referred to.
struct Named {
    id: Id,
    /// Former kinds, names and namespaces, the oldest first.
    former: Vec<Id>,
    prefixes: Vec<Arc<str>>,
    suffixes: Vec<Arc<str>>,
}

impl Named {
    /// Returns its first namespace.
    fn original_namespace(&self) -> &str {
        self.former.first().unwrap_or(&self.id).effective_namespace()
    }

    fn was_selected(&self, gvk: &Gvk) -> bool {
        self.former.iter().any(|former| former.gvk.is_selected(gvk))
    }

    /// Reports whether it was given the same prefixes and suffixes as the referrer. With
    /// `may_have_none`, a resource without any matches too.
    fn is_affixed_as(&self, referrer: &Referrer<'_>, may_have_none: bool) -> bool {
        let is_same = |own: &[Arc<str>], other: &[Arc<str>]| {
            may_have_none && (own.is_empty() || other.is_empty()) || end_the_same(own, other)
        };
        is_same(&self.prefixes, &referrer.prefixes) && is_same(&self.suffixes, &referrer.suffixes)
    }
}

fn end_the_same(one: &[Arc<str>], other: &[Arc<str>]) -> bool {
    match (one.is_empty(), other.is_empty()) {
        (true, true) => true,
        (true, false) | (false, true) => false,
        (false, false) => one.ends_with(other) || other.ends_with(one),
    }
}

/// All resources, by their former names.
pub(super) struct Choice {
    all: Vec<Named>,
    by_former_name: BTreeMap<Arc<str>, Vec<usize>>,
}

impl Choice {
    pub(super) fn among(resources: &[Resource], ids: &[Id]) -> Self {
        let all: Vec<Named> = resources.iter().zip(ids).map(|(resource, id)| named(resource, id)).collect();
        let mut by_former_name: BTreeMap<Arc<str>, Vec<usize>> = BTreeMap::new();
        for (at, named) in all.iter().enumerate() {
            for former in &named.former {
                let places = by_former_name.entry(Arc::clone(&former.name)).or_default();
                if places.last() != Some(&at) {
                    places.push(at);
                }
            }
        }
        Self { all, by_former_name }
    }

    /// Returns the first kind of a resource.
    pub(super) fn original_gvk(&self, at: usize) -> Gvk {
        let named = &self.all[at];
        named.former.first().unwrap_or(&named.id).gvk.clone()
    }

    pub(super) fn name(&self, at: usize) -> Arc<str> {
        Arc::clone(&self.all[at].id.name)
    }

    pub(super) fn namespace(&self, at: usize) -> Arc<str> {
        Arc::clone(&self.all[at].id.namespace)
    }

    /// Returns the number of steps to choose: all former names of each resource with this name are
    /// compared, and with a namespace all resources.
    pub(super) fn cost(&self, name: &str, within: Option<Option<&str>>) -> usize {
        let places = self.by_former_name.get(name).map(Vec::as_slice).unwrap_or_default();
        let names: usize = places.iter().map(|at| 2 + self.all[*at].former.len()).sum();
        let everybody = if within.flatten().is_some() { self.all.len() } else { 0 };
        1 + names + everybody
    }

    /// Returns the resource that a name refers to, `None` if there is none here, or all candidates
    /// if the name is ambiguous. `within` is `Some` if a namespace can be given next to the name,
    /// and holds it if it is.
    pub(super) fn choose(
        &self,
        name: &str,
        of: &Gvk,
        referrer: &Referrer<'_>,
        field: &str,
        within: Option<Option<&str>>,
    ) -> Result<Option<usize>, Vec<Id>> {
        let places = self.by_former_name.get(name).map(Vec::as_slice).unwrap_or_default();
        let role = referrer.role.as_ref().filter(|_| field.ends_with("roleRef/name"));
        let fits = |at: &usize| {
            let named = &self.all[*at];
            can_be_named(named, referrer)
                && named.was_selected(of)
                && role.is_none_or(|role| named.was_selected(role))
                && is_near(named, referrer)
        };
        let candidates: Vec<usize> = places.iter().copied().filter(fits).collect();
        let candidates = match within.flatten() {
            Some(namespace) => self.in_namespace(candidates, namespace, referrer),
            None => candidates,
        };
        self.one_of(candidates, referrer, within.is_some())
    }

    /// Returns the candidates whose first namespace is this one. Only if no resource at all began
    /// there, returns those that are in it now.
    fn in_namespace(&self, candidates: Vec<usize>, namespace: &str, referrer: &Referrer<'_>) -> Vec<usize> {
        let is_scoped = |named: &Named| !named.id.is_cluster_scoped;
        let was_in = |named: &Named| is_scoped(named) && named.original_namespace() == namespace;
        let any_was = self.all.iter().any(|named| can_be_named(named, referrer) && was_in(named));
        let fits = |at: &usize| {
            let named = &self.all[*at];
            if any_was { was_in(named) } else { is_scoped(named) && named.id.effective_namespace() == namespace }
        };
        candidates.into_iter().filter(fits).collect()
    }

    fn one_of(
        &self,
        mut candidates: Vec<usize>,
        referrer: &Referrer<'_>,
        by_namespace: bool,
    ) -> Result<Option<usize>, Vec<Id>> {
        if candidates.len() > 1 {
            candidates.retain(|at| self.all[*at].is_affixed_as(referrer, true));
        }
        if candidates.len() > 1 {
            candidates.retain(|at| self.all[*at].is_affixed_as(referrer, false));
        }
        let Some(first) = candidates.first().copied() else { return Ok(None) };
        let is_alike = |at: &usize| {
            let (one, other) = (&self.all[first].id, &self.all[*at].id);
            one.name == other.name && (!by_namespace || one.namespace == other.namespace)
        };
        match candidates.iter().all(is_alike) {
            true => Ok(Some(first)),
            false => Err(candidates.into_iter().map(|at| self.all[at].id.clone()).collect()),
        }
    }
}

fn named(resource: &Resource, id: &Id) -> Named {
    let former = resource.former.iter().map(|former| Id {
        gvk: Gvk { kind: Arc::clone(&former.kind), ..id.gvk.clone() },
        name: Arc::clone(&former.name),
        namespace: Arc::clone(&former.namespace),
        is_cluster_scoped: false,
    });
    Named {
        id: id.clone(),
        former: former.collect(),
        prefixes: resource.prefixes.clone(),
        suffixes: resource.suffixes.clone(),
    }
}

/// Reports whether the referrer can refer to this resource at all, given the namespaces of both.
fn can_be_named(named: &Named, referrer: &Referrer<'_>) -> bool {
    let (own, by) = (&named.id, referrer.id);
    by.is_cluster_scoped
        || own.is_cluster_scoped
        || own.is_in_namespace_of(by)
        || referrer.account_namespaces.contains(&own.namespace)
}

/// Reports the same for all kinds except service accounts, which bindings name across namespaces.
fn is_near(named: &Named, referrer: &Referrer<'_>) -> bool {
    let (own, by) = (&named.id, referrer.id);
    by.is_cluster_scoped || own.is_cluster_scoped || &*own.gvk.kind == "ServiceAccount" || own.is_in_namespace_of(by)
}
