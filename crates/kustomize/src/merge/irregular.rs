//! Merges lists by keys or as sets if items lack their keys: ports of which some name a protocol,
//! items without a name, nulls, strings among maps. Kustomize's result follows from its sequence of
//! steps, so that the same steps are taken here: an item without a key may remove others. Each step
//! compares an item with all others, hence the limit.

use std::collections::BTreeSet;

use super::list::Other;
use super::{Kind, Left, Merger, NoMerge, Place, Reason, is_empty_map, is_null, text};
use crate::limits::{Weight, found_among};
use crate::node::{Content, Node, Scalar};
use crate::schema::{Cursor, ListMerge};

/// The maximum number of items: the time grows with the square.
pub(super) const MAX_ITEMS: usize = 1024;

/// The values of an item for the keys; empty if it has none.
type Values = Vec<String>;

/// The items of both lists, and the list that each belongs to.
struct IrregularMerge<'a, 'k> {
    merger: Merger<'a>,
    known: Option<Cursor<'a>>,
    /// For a set, a single key without a name.
    keys: Vec<&'k str>,
    items: Vec<Node>,
    own: Vec<usize>,
    patch: PatchItems,
}

enum PatchItems {
    None,
    SameAsOwn,
    Some(Vec<usize>),
}

impl<'a> Merger<'a> {
    pub(super) fn irregular(
        self,
        own: &mut Vec<Node>,
        mut other: Other<'_>,
        how: &ListMerge<'a>,
        known: Option<Cursor<'a>>,
    ) -> Result<(), NoMerge> {
        let count = own.len() + other.items().len();
        if count > MAX_ITEMS {
            return Err(NoMerge::new(Reason::TooIrregular { count }));
        }
        let keys = match how {
            ListMerge::ByKeys(keys) => keys.clone(),
            _ => vec![""],
        };
        // Each item is compared with all others, and each of these may be in the result once for
        // every key.
        let all = own.iter().chain(other.items()).map(|item| compared(item, &keys));
        self.spend(count.saturating_mul(keys.len()).saturating_mul(all.sum()))?;
        let mut items = std::mem::take(own);
        let own_count = items.len();
        let patch = match &mut other {
            Other::Nothing => PatchItems::None,
            Other::Same => PatchItems::SameAsOwn,
            Other::Patch(patches) => {
                items.append(patches);
                PatchItems::Some((own_count..count).collect())
            }
        };
        let mut desk = IrregularMerge { merger: self, known, keys, items, own: (0..own_count).collect(), patch };
        let result = desk.merge()?;
        if let (Other::Patch(patches), PatchItems::Some(at)) = (other, &desk.patch) {
            patches.extend(at.iter().map(|at| desk.items[*at].clone()));
        }
        self.hold(&desk.items, &result)?;
        own.extend(result.iter().map(|at| desk.items[*at].clone()));
        Ok(())
    }
}

impl Merger<'_> {
    /// Checks that the result fits the limit: an item that lacks keys is in it once for each.
    fn hold(self, items: &[Node], result: &[usize]) -> Result<(), NoMerge> {
        let weights: Vec<usize> = items.iter().map(|item| Weight::of(item).bytes).collect();
        let bytes = result.iter().fold(0, |sum: usize, at| sum.saturating_add(weights[*at]));
        let held = self.budget.hold(bytes);
        // The caller of the merge counts the final result.
        self.budget.release(bytes);
        held.map_err(|exceeded| NoMerge::new(exceeded.into()))
    }
}

impl IrregularMerge<'_, '_> {
    fn merge(&mut self) -> Result<Vec<usize>, NoMerge> {
        let mut all = self.values();
        if self.keys.len() > 1 {
            bring_together(&mut all);
        }
        self.narrow(&mut all);
        let mut result = Vec::new();
        for values in &all {
            self.merge_item(values, &mut result)?;
        }
        for at in self.own.clone() {
            self.put_back(at, &mut result)?;
        }
        Ok(result)
    }

    /// Returns the values of all items for the keys, without duplicates, those of the patch first.
    fn values(&self) -> Vec<Values> {
        let patch: &[usize] = match &self.patch {
            PatchItems::Some(items) => items,
            _ => &[],
        };
        let mut seen = BTreeSet::new();
        let all = patch.iter().chain(&self.own).map(|at| self.values_of(&self.items[*at]));
        all.filter(|values| seen.insert(values.clone())).collect()
    }

    fn values_of(&self, item: &Node) -> Values {
        let value = |key: &&str| match (*key, item.as_map()) {
            ("", _) => text(item).to_owned(),
            (key, Some(map)) => map.get(key).filter(|node| !is_null(node)).map(text).unwrap_or_default().to_owned(),
            (_, None) => String::new(),
        };
        self.keys.iter().map(value).collect()
    }

    /// Drops the keys that no item has, unless no item has any.
    fn narrow(&mut self, all: &mut [Values]) {
        let used: Vec<bool> = (0..self.keys.len()).map(|at| all.iter().any(|values| !values[at].is_empty())).collect();
        if used.contains(&true) {
            let mut is_used = used.iter();
            self.keys.retain(|_| is_used.next() == Some(&true));
            for values in all {
                let mut is_used = used.iter();
                values.retain(|_| is_used.next() == Some(&true));
            }
        }
    }

    /// Merges the first items of both lists with these values, and adds the result.
    fn merge_item(&mut self, values: &Values, result: &mut Vec<usize>) -> Result<(), NoMerge> {
        let own = self.find(&self.own, values);
        let patch = match &self.patch {
            PatchItems::None => None,
            PatchItems::SameAsOwn => own,
            PatchItems::Some(items) => self.find(items, values),
        };
        let left = self.walk(own, patch).map_err(|problem| problem.under(&self.shown(values)))?;
        let Some(left) = left.filter(|at| !is_null(&self.items[*at]) && !is_empty_map(&self.items[*at])) else {
            let mut own = std::mem::take(&mut self.own);
            self.set(&mut own, None, values)?;
            self.own = own;
            return Ok(());
        };
        let origin = self.items[left].origin;
        if let Content::Map(map) = &mut self.items[left].content {
            for (key, value) in self.keys.iter().zip(values) {
                if !value.is_empty() && map.get(key).is_none() {
                    map.set(key, Node::new(Content::Scalar(Scalar::plain(value.as_str())), origin));
                }
            }
        }
        self.set(result, Some(left), values)
    }

    fn walk(&mut self, own: Option<usize>, patch: Option<usize>) -> Result<Option<usize>, NoMerge> {
        let (merger, known) = (self.merger, self.known);
        let left = match (own, patch) {
            (None, None) => Left::Nothing,
            (Some(at), Some(same)) if at == same => {
                Left::patch_if(merger.take(&mut self.items[at], known, Place::Same)?)
            }
            (None, Some(at)) => Left::patch_if(merger.take(&mut self.items[at], known, Place::Empty)?),
            (Some(at), None) => match merger.keep(&mut self.items[at], known)? {
                true => Left::Own,
                false => Left::Nothing,
            },
            (Some(own), Some(patch)) => match self.items.get_disjoint_mut([own, patch]) {
                Ok([own, patch]) => merger.merge(own, patch, known)?,
                Err(_) => Left::Nothing,
            },
        };
        Ok(match left {
            Left::Own => own,
            Left::Patch => patch,
            Left::Nothing => None,
        })
    }

    /// Returns the first item with these values. Empty values are ignored, unless all are empty.
    fn find(&self, list: &[usize], values: &Values) -> Option<usize> {
        let counts = |value: &str| !value.is_empty() || values.iter().all(String::is_empty);
        let wanted = || self.keys.iter().zip(values).filter(|(_, value)| counts(value));
        let is_it = |item: &Node| match (self.keys.first(), item.as_map()) {
            (Some(&""), _) => values.first().is_some_and(|value| text(item) == value),
            (_, Some(map)) => wanted().all(|(key, value)| map.get(key).is_some_and(|node| text(node) == value)),
            (_, None) => false,
        };
        list.iter().copied().find(|at| is_it(&self.items[*at]))
    }

    /// Appends an own item to the merged ones, or replaces one with equal values.
    fn put_back(&self, at: usize, result: &mut Vec<usize>) -> Result<(), NoMerge> {
        let item = &self.items[at];
        if self.keys.first() == Some(&"") {
            return self.set(result, Some(at), &vec![text(item).to_owned()]);
        }
        let mut values = Values::new();
        for key in &self.keys {
            let field = match &item.content {
                Content::Map(map) => map.get(key),
                _ if is_null(item) => None,
                _ => return Err(NoMerge::wrong_kind(Kind::Map, item)),
            };
            match field {
                Some(node) => values.push(text(node).to_owned()),
                None => result.push(at),
            }
        }
        if self.keys.len() > 1 {
            self.set(result, None, &values)?;
        }
        self.set(result, Some(at), &values)
    }

    /// Replaces each item with these values, or appends the item; `None` removes them. Empty items
    /// are removed, and without values all are.
    fn set(&self, list: &mut Vec<usize>, item: Option<usize>, values: &Values) -> Result<(), NoMerge> {
        let is_about_maps = self.keys.first() != Some(&"") && values.first().is_some_and(|value| !value.is_empty());
        let mut is_there = false;
        let mut kept = Vec::with_capacity(list.len() + 1);
        for at in std::mem::take(list) {
            let node = &self.items[at];
            if is_null(node) || is_empty_map(node) {
                continue;
            }
            if is_about_maps && node.as_map().is_none() {
                kept.push(at);
            } else if !self.has(node, values)? {
                kept.extend((!values.is_empty()).then_some(at));
            } else {
                is_there = true;
                kept.extend(item);
            }
        }
        *list = kept;
        list.extend(item.filter(|at| !is_there && !is_null(&self.items[*at])));
        Ok(())
    }

    /// Reports whether an item has these values. An empty value matches anything. If there are
    /// fewer values than keys, the last keys are ignored.
    fn has(&self, item: &Node, values: &Values) -> Result<bool, NoMerge> {
        for (key, value) in self.keys.iter().zip(values) {
            let has = match (&item.content, *key) {
                (Content::Scalar(scalar), "") => *scalar.text == **value,
                (_, "") => return Err(NoMerge::wrong_kind(Kind::Scalar, item)),
                (Content::Map(map), key) => map.get(key).is_some_and(|node| value.is_empty() || text(node) == value),
                _ => return Err(NoMerge::wrong_kind(Kind::Map, item)),
            };
            if !has {
                return Ok(false);
            }
        }
        Ok(!values.is_empty())
    }

    fn shown(&self, values: &Values) -> String {
        let shown: Vec<String> = self.keys.iter().zip(values).map(|(key, value)| format!("{key}={value}")).collect();
        format!("[{}]", shown.join(","))
    }
}

/// Returns the number of steps to compare an item.
fn compared(item: &Node, keys: &[&str]) -> usize {
    let of = |key: &str| match item.as_map() {
        Some(map) => 1 + found_among(map.len()) + map.get(key).map(text).unwrap_or_default().len() / 8,
        None => 1 + text(item).len() / 8,
    };
    keys.iter().map(|key| of(key)).sum()
}

/// Makes values equal that differ only where one of them is empty.
fn bring_together(all: &mut [Values]) {
    for at in 0..all.len() {
        let one = all[at].clone();
        for with in 0..all.len() {
            if let Some(both) = together(&one, &all[with]) {
                all[at].clone_from(&both);
                all[with] = both;
            }
        }
    }
}

/// Returns the common values of two items. They must have a key with equal values, or one that both
/// lack.
fn together(one: &Values, other: &Values) -> Option<Values> {
    let pairs = || one.iter().zip(other);
    let differ = |(a, b): (&String, &String)| a != b && !a.is_empty() && !b.is_empty();
    if pairs().any(differ) || !pairs().any(|(a, b)| a == b) {
        return None;
    }
    Some(pairs().map(|(a, b)| if a.is_empty() { b.clone() } else { a.clone() }).collect())
}
