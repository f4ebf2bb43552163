//! Adds generated resources: each is new, or replaces or merges with the resource of the same name.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::annotations::ORIGIN;
use crate::field_spec::set_plain;
use crate::identity::{Gvk, Id};
use crate::limits::{BYTES, Budget, Exceeded, Weight};
use crate::node::{Content, Map, Node, is_bare_name};
use crate::resource::{Behavior, Resource};
use crate::selector::Scope;

/// The steps to merge a node.
const MERGED: usize = 12;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AbsorbError {
    #[error(
        "id {id} does not exist; cannot merge or replace: write `behavior: create`, or correct the name and namespace"
    )]
    Missing { id: Id },
    #[error("id {id} exists; can not use behavior: '{behavior}', behavior must be merge or replace: write one of them")]
    Exists { id: Id, behavior: &'static str },
    #[error("found multiple objects that could accept merge of {id}: give each a name of its own")]
    Many { id: Id },
    #[error("{id} now has another kind and cannot be replaced: name its current kind")]
    Changed { id: Id },
    #[error(
        "json: unsupported type: map[interface {{}}]interface {{}}: `{key}` in `{field}` of {id} is not a string without quotes: rename it"
    )]
    Key { id: Id, field: &'static str, key: Arc<str> },
    #[error("`{field}` of {id} is not a map: write it as one")]
    NoMap { id: Id, field: &'static str },
    #[error("limit")]
    Limit { id: Id, source: Exceeded },
}

impl AbsorbError {
    /// Returns the id of the generated resource.
    pub fn id(&self) -> &Id {
        match self {
            Self::Missing { id }
            | Self::Exists { id, .. }
            | Self::Many { id }
            | Self::Changed { id }
            | Self::Key { id, .. }
            | Self::NoMap { id, .. }
            | Self::Limit { id, .. } => id,
        }
    }
}

/// Positions of resources by their current and former ids.
#[derive(Default)]
struct Index(BTreeMap<(Gvk, Arc<str>, Arc<str>), Vec<usize>>);

impl Index {
    fn key(id: &Id) -> (Gvk, Arc<str>, Arc<str>) {
        (id.gvk.clone(), Arc::clone(&id.name), id.effective_namespace().into())
    }

    fn add(&mut self, id: &Id, at: usize) {
        let all = self.0.entry(Self::key(id)).or_default();
        // Many resources may have had the same id.
        if let Err(place) = all.binary_search(&at) {
            all.insert(place, at);
        }
    }

    fn get(&self, id: &Id) -> &[usize] {
        self.0.get(&Self::key(id)).map(Vec::as_slice).unwrap_or_default()
    }
}

/// Adds generated resources to the existing ones.
pub fn absorb(
    existing: &mut Vec<Resource>,
    generated: Vec<Resource>,
    scope: Scope<'_>,
    budget: &Budget,
) -> Result<(), AbsorbError> {
    let (mut current, mut any) = (Index::default(), Index::default());
    let mut add = |resource: &Resource, at, any: &mut Index| {
        let id = resource.id(scope);
        current.add(&id, at);
        std::iter::once(id).chain(resource.former_ids()).for_each(|id| any.add(&id, at));
        current.get(&resource.id(scope)).to_vec()
    };
    for (at, resource) in existing.iter().enumerate() {
        add(resource, at, &mut any);
    }
    for resource in generated {
        let id = resource.id(scope);
        match (any.get(&id), resource.behavior) {
            ([], Behavior::Merge | Behavior::Replace) => return Err(AbsorbError::Missing { id }),
            ([], _) => {
                add(&resource, existing.len(), &mut any);
                existing.push(resource);
            }
            ([_, _, ..], _) => return Err(AbsorbError::Many { id }),
            ([_], Behavior::Create) => return Err(AbsorbError::Exists { id, behavior: "create" }),
            ([_], Behavior::Unspecified) => return Err(AbsorbError::Exists { id, behavior: "unspecified" }),
            (&[at], behavior) => {
                let was = existing[at].id(scope);
                budget
                    .steps(cost(&existing[at], &resource))
                    .map_err(|source| AbsorbError::Limit { id: id.clone(), source })?;
                let resource = take_place(resource, &existing[at], behavior == Behavior::Merge, &id)?;
                // Its current id must be the requested one; the old resource may have had that id
                // only before.
                let is_only = resource.id(scope).is_same(&was) && add(&resource, at, &mut any) == [at];
                if !is_only {
                    return Err(AbsorbError::Changed { id });
                }
                existing[at] = resource;
            }
        }
    }
    Ok(())
}

/// Returns the number of steps to replace or merge a resource: a merge builds the result from both.
fn cost(old: &Resource, new: &Resource) -> usize {
    let of = |resource: &Resource| {
        let weight = Weight::of(&resource.node);
        MERGED * weight.nodes + weight.texts() / BYTES
    };
    of(old) + of(new)
}

/// Gives a new resource the place of an old one: its name, its history, and those labels and
/// annotations that the new one does not set; its data too for a merge.
fn take_place(mut new: Resource, old: &Resource, is_merged: bool, id: &Id) -> Result<Resource, AbsorbError> {
    let origin = new.node.origin;
    let no_map = |field| AbsorbError::NoMap { id: id.clone(), field };
    let map = new.node.as_map_mut().ok_or_else(|| no_map("resource"))?;
    let metadata = map.get_mut("metadata").and_then(Node::as_map_mut).ok_or_else(|| no_map("metadata"))?;
    for field in ["labels", "annotations"] {
        let mut texts = merged(old.node.at(&["metadata", field]), metadata.remove(field).as_ref(), false);
        let noted = old.node.at(&["metadata", field, ORIGIN]);
        if let (true, Some(noted)) = (is_merged, noted) {
            texts.set(ORIGIN, noted.clone());
        }
        check_names(&texts, field, id)?;
        if !texts.is_empty() {
            metadata.set(field, Node::new(Content::Map(texts), origin));
        }
    }
    for (field, text) in [("name", old.name()), ("namespace", old.namespace())] {
        let written = old.node.at(&["metadata", field]).map_or(origin, |node| node.origin);
        match text {
            "" => {
                metadata.remove(field);
            }
            text => {
                // As in kustomize, the string type is lost, and the quotes of the old value are
                // preserved.
                match metadata.get_mut(field) {
                    Some(node) => drop(set_plain(node, text, written)),
                    None => metadata.set(field, Node::untagged(text, written)),
                }
            }
        }
    }
    if is_merged {
        for field in ["data", "binaryData"] {
            let texts = merged(old.node.at(&[field]), map.remove(field).as_ref(), true);
            check_names(&texts, field, id)?;
            if !texts.is_empty() {
                map.set(field, Node::new(Content::Map(texts), origin));
            }
        }
    }
    Ok(Resource { node: new.node, needs_hash: new.needs_hash && old.needs_hash, ..old.clone() })
}

/// Rejects names that kustomize could not write.
fn check_names(texts: &Map, field: &'static str, id: &Id) -> Result<(), AbsorbError> {
    match texts.iter().find(|(name, _)| !is_bare_name(name)) {
        Some((name, _)) => Err(AbsorbError::Key { id: id.clone(), field, key: Arc::clone(name) }),
        None => Ok(()),
    }
}

/// Merges the entries of two maps as strings, sorted by name; the second map wins. In data a null
/// is an empty string; elsewhere it keeps its text.
pub(crate) fn merged(one: Option<&Node>, other: Option<&Node>, is_data: bool) -> Map {
    let entries = [one, other].into_iter().flatten().filter_map(Node::as_map).flat_map(Map::iter);
    let all: BTreeMap<&Arc<str>, &Node> = entries.collect();
    let mut texts = Map::default();
    for (name, node) in all {
        let text: Arc<str> = match &node.content {
            Content::Scalar(scalar) if !(is_data && scalar.is_null()) => Arc::clone(&scalar.text),
            _ => "".into(),
        };
        texts.push(Arc::clone(name), Node::text(text, node.origin));
    }
    texts
}
