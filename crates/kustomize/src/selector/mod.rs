//! Selects resources by patterns for their current and former ids, and by labels and annotations.
//!
//! - [`labels`]: the syntax of label selectors. Patterns are those of [`crate::pattern`].

pub mod labels;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use crate::field_spec::shown;
use crate::identity::{Gvk, Id};
use crate::limits::{Budget, Exceeded, found_among, named};
use crate::node::{Content, Map, Node};
use crate::pattern::{BadPattern, Pattern};
use crate::resource::Resource;

use labels::{BadLabelSelector, LabelSelector};

/// Reports whether a kind is known to be cluster-scoped.
pub type Scope<'s> = &'s dyn Fn(&Gvk) -> bool;

/// The steps to check a resource.
const LOOK: usize = 4;

/// A selector as written. Empty parts match anything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selector {
    /// Patterns, each for a whole text.
    pub id: Id,
    pub labels: Arc<str>,
    pub annotations: Arc<str>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadSelector {
    #[error("the {field} of a selector is not a valid pattern")]
    Pattern { field: &'static str, source: BadPattern },
    #[error("cannot parse the {field}")]
    Labels { field: &'static str, source: BadLabelSelector },
    /// Kustomize takes the items for alternating names and values, and panics if one is left.
    #[error("`metadata.{field}` of {resource} is a list, and cannot be selected by: write a map of texts")]
    List { field: &'static str, resource: Box<Id> },
    #[error("limit")]
    Limit(#[from] Exceeded),
}

/// A compiled selector.
#[derive(Clone, Debug)]
pub struct Selection {
    group: Option<Pattern>,
    version: Option<Pattern>,
    kind: Option<Pattern>,
    name: Option<Pattern>,
    namespace: Option<Pattern>,
    /// As in kustomize, a mistake in it is only reported when it is applied to a resource.
    labels: Result<LabelSelector, BadLabelSelector>,
    annotations: Result<LabelSelector, BadLabelSelector>,
    /// The size in bytes of the label and annotation selectors.
    read: usize,
}

/// The steps to read and store a byte of a label selector.
const READ: usize = 16;

fn pattern(field: &'static str, text: &str) -> Result<Option<Pattern>, BadSelector> {
    if text.is_empty() {
        return Ok(None);
    }
    Pattern::whole(text).map(Some).map_err(|source| BadSelector::Pattern { field, source })
}

fn fits(pattern: Option<&Pattern>, text: &str, budget: &Budget) -> bool {
    pattern.is_none_or(|pattern| pattern.is_match(text, budget))
}

impl Selection {
    pub fn new(selector: &Selector) -> Result<Self, BadSelector> {
        Ok(Self {
            group: pattern("group", &selector.id.gvk.group)?,
            version: pattern("version", &selector.id.gvk.version)?,
            kind: pattern("kind", &selector.id.gvk.kind)?,
            name: pattern("name", &selector.id.name)?,
            namespace: pattern("namespace", &selector.id.namespace)?,
            labels: LabelSelector::parse(&selector.labels),
            annotations: LabelSelector::parse(&selector.annotations),
            read: selector.labels.len() + selector.annotations.len(),
        })
    }

    /// Returns the number of steps to compile the selector.
    pub(crate) fn size(&self) -> usize {
        let patterns = [&self.group, &self.version, &self.kind, &self.name, &self.namespace];
        patterns.into_iter().flatten().map(Pattern::size).sum::<usize>() + READ * self.read
    }

    /// Reports whether a patch selects a resource. The first name and namespace match as well as
    /// the current ones; only the current kind counts.
    pub fn is_about(&self, resource: &Resource, scope: Scope<'_>, budget: &Budget) -> Result<bool, BadSelector> {
        budget.steps(LOOK + named(&resource.node))?;
        let former = resource.former.first();
        let name = self.name.as_ref();
        Ok((fits(name, resource.name(), budget) || former.is_some_and(|former| fits(name, &former.name, budget)))
            && self.is_of_kind(resource, budget)
            && (self.namespace.is_none() || self.is_in(resource, scope, budget))
            && self.is_labelled(resource, budget)?
            && self.is_annotated(resource, budget)?)
    }

    fn is_of_kind(&self, resource: &Resource, budget: &Budget) -> bool {
        let api_version = resource.node.at(&["apiVersion"]).and_then(Node::as_text).unwrap_or_default();
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        self.is_of(group, version, resource.kind(), budget)
    }

    /// Returns the only selected name, if there is exactly one.
    pub fn only_name(&self) -> Option<&str> {
        self.name.as_ref().and_then(Pattern::only)
    }

    fn is_in(&self, resource: &Resource, scope: Scope<'_>, budget: &Budget) -> bool {
        let namespace = self.namespace.as_ref();
        fits(namespace, resource.first_id(scope).effective_namespace(), budget)
            || fits(namespace, resource.id(scope).effective_namespace(), budget)
    }

    fn is_of(&self, group: &str, version: &str, kind: &str, budget: &Budget) -> bool {
        fits(self.group.as_ref(), group, budget)
            && fits(self.version.as_ref(), version, budget)
            && fits(self.kind.as_ref(), kind, budget)
    }

    /// Reports whether all parts of an id match. The namespace is compared as written.
    fn is_called(&self, id: &Id, budget: &Budget) -> bool {
        budget.spend(1);
        self.is_of(&id.gvk.group, &id.gvk.version, &id.gvk.kind, budget)
            && fits(self.name.as_ref(), &id.name, budget)
            && fits(self.namespace.as_ref(), &id.namespace, budget)
    }

    fn is_labelled(&self, resource: &Resource, budget: &Budget) -> Result<bool, BadSelector> {
        is_match(&self.labels, "labelSelector", resource, "labels", budget)
    }

    fn is_annotated(&self, resource: &Resource, budget: &Budget) -> Result<bool, BadSelector> {
        is_match(&self.annotations, "annotationSelector", resource, "annotations", budget)
    }
}

fn is_match(
    selector: &Result<LabelSelector, BadLabelSelector>,
    name: &'static str,
    resource: &Resource,
    field: &'static str,
    budget: &Budget,
) -> Result<bool, BadSelector> {
    let selector = selector.as_ref().map_err(|bad| BadSelector::Labels { field: name, source: bad.clone() })?;
    let node = resource.node.at(&["metadata", field]);
    if let Some(Content::Seq(items)) = node.map(|node| &node.content)
        && (items.len() % 2 == 1 || !items.is_empty() && !selector.is_empty())
    {
        return Err(BadSelector::List { field, resource: shown(&resource.node) });
    }
    let map = node.and_then(Node::as_map);
    budget.spend(selector.len() * (1 + found_among(map.map_or(0, Map::len))));
    Ok(selector.is_match(|key| map.and_then(|map| map.get(key)).map(|node| node.as_text().unwrap_or_default())))
}

/// Returns the positions of the selected resources.
pub fn select<'r>(
    resources: impl Iterator<Item = (usize, &'r Resource)>,
    selection: &Selection,
    scope: Scope<'_>,
    budget: &Budget,
) -> Result<Vec<usize>, BadSelector> {
    let mut found = Vec::new();
    for (at, resource) in resources {
        if selection.is_about(resource, scope, budget)? {
            found.push(at);
        }
    }
    budget.steps(0)?;
    Ok(found)
}

/// The targets of a replacement: the resources that one selector selects, without those of others.
/// Unlike for patches, a single current or former id must match with name, namespace and kind.
#[derive(Clone, Debug)]
pub struct TargetSelection {
    select: Selection,
    /// Selectors of rejected resources: by name, unless the selector names nothing; and by labels,
    /// unless it has none.
    reject: Vec<(Option<Selection>, Option<Selection>)>,
}

impl TargetSelection {
    pub fn new(select: &Selector, reject: &[Selector]) -> Result<Self, BadSelector> {
        let rejected = |selector: &Selector| {
            let selection = Selection::new(selector)?;
            let is_named = selector.id != Id::default();
            let has_labels = !selector.labels.is_empty() || !selector.annotations.is_empty();
            Ok((is_named.then(|| selection.clone()), has_labels.then_some(selection)))
        };
        Ok(Self {
            select: Selection::new(select)?,
            reject: reject.iter().map(rejected).collect::<Result<_, BadSelector>>()?,
        })
    }

    /// Returns the number of steps to compile the selectors.
    pub(crate) fn size(&self) -> usize {
        let rejected = self.reject.iter().flat_map(|(by_name, by_labels)| [by_name, by_labels]).flatten();
        self.select.size() + rejected.map(Selection::size).sum::<usize>()
    }

    /// Returns the only selected name, if there is exactly one and no other check comes first.
    pub fn only_name(&self) -> Option<&str> {
        let can_be_asked = |selection: &Selection| selection.labels.is_ok() && selection.annotations.is_ok();
        let rejected = self.reject.iter().filter_map(|(_, by_labels)| by_labels.as_ref());
        self.select.only_name().filter(|_| can_be_asked(&self.select) && rejected.into_iter().all(can_be_asked))
    }

    /// Reports whether the resource is a target. `ids` are its current and former ids
    /// ([`Resource::written_ids`]).
    pub fn is_about(&self, resource: &Resource, ids: &[Id], budget: &Budget) -> Result<bool, BadSelector> {
        budget.steps((LOOK + named(&resource.node)) * (1 + self.reject.len()))?;
        let has_labels = |selection: &Selection| {
            let is_annotated = selection.is_annotated(resource, budget)?;
            Ok::<_, BadSelector>(selection.is_labelled(resource, budget)? && is_annotated)
        };
        if !has_labels(&self.select)? {
            return Ok(false);
        }
        for (_, by_labels) in &self.reject {
            if by_labels.as_ref().map_or(Ok(false), has_labels)? {
                return Ok(false);
            }
        }
        let is_rejected = |(by_name, _): &(Option<Selection>, _)| {
            by_name.as_ref().is_some_and(|selection| ids.iter().any(|id| selection.is_called(id, budget)))
        };
        let is_rejected = self.reject.iter().any(is_rejected);
        let is_selected = !is_rejected && ids.iter().any(|id| self.select.is_called(id, budget));
        budget.steps(0)?;
        Ok(is_selected)
    }
}
