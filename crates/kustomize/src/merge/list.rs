//! Merges lists by keys or as sets if each item has its keys. For other lists see
//! [`super::irregular`].

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::{Left, Merger, NoMerge, Place, is_empty_map, is_null};
use crate::limits::found_among;
use crate::node::{Map, Node};
use crate::schema::{Cursor, ListMerge};

/// The list to merge with.
#[derive(Debug)]
pub(super) enum Other<'a> {
    Nothing,
    /// The list itself, since it was taken from the patch.
    Same,
    Patch(&'a mut Vec<Node>),
}

impl Other<'_> {
    pub(super) fn items(&self) -> &[Node] {
        match self {
            Self::Patch(items) => items,
            _ => &[],
        }
    }
}

/// The name of an item: its values for the keys, or the item itself.
type Name = Vec<Arc<str>>;

/// The source of an item of the result.
#[derive(Clone, Copy)]
enum From {
    Patch(usize),
    Own(usize),
}

impl<'a> Merger<'a> {
    pub(super) fn list(
        self,
        own: &mut Vec<Node>,
        other: Other<'_>,
        how: &ListMerge<'a>,
        known: Option<Cursor<'a>>,
    ) -> Result<(), NoMerge> {
        if own.is_empty() && other.items().is_empty() {
            return Ok(());
        }
        self.spend(sought(&mut own.iter().chain(other.items()), how))?;
        let used = used_keys(&own.iter().chain(other.items()), how);
        match (names(own, &used), names(other.items(), &used)) {
            (Some(owns), Some(patches)) => {
                Regular { merger: self, used: &used, known }.merge(own, &owns, other, &patches)
            }
            _ => self.irregular(own, other, how, known),
        }
    }
}

/// Returns the number of steps to search the keys in all items, in addition to one for each of
/// their nodes.
fn sought<'n>(items: &mut impl Iterator<Item = &'n Node>, how: &ListMerge<'_>) -> usize {
    let ListMerge::ByKeys(keys) = how else { return 0 };
    let fields: usize = items.map(|item| 1 + found_among(item.as_map().map_or(0, Map::len))).sum();
    fields.saturating_mul(keys.len())
}

/// Returns the keys that at least one item has; `None` for a set.
fn used_keys<'n, 'k>(items: &(impl Iterator<Item = &'n Node> + Clone), how: &ListMerge<'k>) -> Option<Vec<&'k str>> {
    let ListMerge::ByKeys(keys) = how else { return None };
    let is_used =
        |key: &&str| items.clone().any(|item| item.as_map().and_then(|map| map.get(key)).is_some_and(is_name));
    Some(keys.iter().copied().filter(is_used).collect())
}

/// Reports whether a node can be a name: a string that is not empty.
fn is_name(node: &Node) -> bool {
    node.as_text().is_some_and(|text| !text.is_empty()) && !is_null(node)
}

/// Returns the names of all items; `None` if one lacks a name.
fn names(items: &[Node], used: &Option<Vec<&str>>) -> Option<Vec<Name>> {
    let of = |node: &Node| is_name(node).then(|| node.as_scalar().map(|scalar| Arc::clone(&scalar.text))).flatten();
    let name = |item: &Node| match used {
        None => of(item).map(|text| vec![text]),
        Some(keys) if keys.is_empty() => None,
        Some(keys) => keys.iter().map(|key| of(item.as_map()?.get(key)?)).collect(),
    };
    items.iter().map(name).collect()
}

struct Regular<'a, 'k> {
    merger: Merger<'a>,
    used: &'k Option<Vec<&'k str>>,
    known: Option<Cursor<'a>>,
}

impl Regular<'_, '_> {
    /// Merges the items. Of items with one name the first is merged and the last remains: as in
    /// kustomize, it overwrites the others, merged or not.
    fn merge(&self, own: &mut Vec<Node>, names: &[Name], other: Other<'_>, patches: &[Name]) -> Result<(), NoMerge> {
        let mut places: BTreeMap<&Name, (usize, usize)> = BTreeMap::new();
        for (at, name) in names.iter().enumerate() {
            places.entry(name).and_modify(|(_, last)| *last = at).or_insert((at, at));
        }
        let is_same = matches!(other, Other::Same);
        let patch = match other {
            Other::Patch(items) => items,
            _ => &mut Vec::new(),
        };
        let mut result = self.merge_patches(own, &places, patch, patches)?;
        let patched: BTreeSet<&Name> = patches.iter().collect();
        for (at, name) in names.iter().enumerate() {
            let (first, last) = places[name];
            if at == first && !patched.contains(name) && self.walk(&mut own[at], is_same, name)? {
                result.push(From::Own(last));
            }
        }
        // With several keys, kustomize removes an item that it finds again and appends it, so that
        // the own items keep their order.
        if self.used.as_ref().is_some_and(|keys| keys.len() > 1) {
            result.sort_by_key(|from| match from {
                From::Patch(_) => None,
                From::Own(at) => Some(*at),
            });
        }
        let mut items: Vec<Option<Node>> = own.drain(..).map(Some).collect();
        own.extend(result.into_iter().filter_map(|from| match from {
            From::Patch(at) => Some(patch[at].clone()),
            From::Own(at) => items[at].take(),
        }));
        Ok(())
    }

    /// Merges the items that the patch names.
    fn merge_patches(
        &self,
        own: &mut [Node],
        places: &BTreeMap<&Name, (usize, usize)>,
        patch: &mut [Node],
        names: &[Name],
    ) -> Result<Vec<From>, NoMerge> {
        let mut result = Vec::with_capacity(own.len() + patch.len());
        let mut seen = BTreeSet::new();
        for (at, name) in names.iter().enumerate() {
            if !seen.insert(name) {
                continue;
            }
            let patch = &mut patch[at];
            let (left, from) = match places.get(name) {
                Some((first, last)) => (self.merger.merge(&mut own[*first], patch, self.known), From::Own(*last)),
                None => (self.merger.take(patch, self.known, Place::Empty).map(Left::patch_if), From::Patch(at)),
            };
            let stays = match left.map_err(|problem| self.located(problem, name))? {
                Left::Nothing => false,
                Left::Patch => !is_empty_map(patch),
                Left::Own => places.get(name).is_none_or(|(first, _)| !is_empty_map(&own[*first])),
            };
            if stays {
                result.push(from);
            }
        }
        Ok(result)
    }

    /// Walks an item that the patch does not name. Reports whether it remains.
    fn walk(&self, item: &mut Node, is_same: bool, name: &Name) -> Result<bool, NoMerge> {
        let stays = match is_same {
            true => self.merger.take(item, self.known, Place::Same),
            false => self.merger.keep(item, self.known),
        };
        Ok(stays.map_err(|problem| self.located(problem, name))? && !is_empty_map(item))
    }

    fn located(&self, problem: NoMerge, name: &Name) -> NoMerge {
        let keys = self.used.iter().flatten().copied().chain(std::iter::repeat(""));
        let shown: Vec<String> = keys.zip(name).map(|(key, value)| format!("{key}={value}")).collect();
        problem.under(&format!("[{}]", shown.join(",")))
    }
}
