//! `$patch`: the directive of a map or a list in a patch.

use super::{NoMerge, Reason, is_empty_map, is_null, text};
use crate::node::{Map, Node};

const FIELD: &str = "$patch";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Directive {
    Merge,
    Replace,
    Delete,
}

impl Directive {
    fn of(node: &Node) -> Result<Self, NoMerge> {
        match text(node) {
            "merge" => Ok(Self::Merge),
            "replace" => Ok(Self::Replace),
            "delete" => Ok(Self::Delete),
            other => Err(NoMerge::new(Reason::UnknownDirective { directive: other.to_owned() })),
        }
    }

    /// Reports whether a map replaces or deletes another one.
    pub(super) fn is_total(map: &Map) -> bool {
        map.get(FIELD).is_some_and(|node| matches!(Self::of(node), Ok(Self::Replace | Self::Delete)))
    }

    /// Removes the directive of a map and returns it.
    pub(super) fn take_from_map(map: &mut Map) -> Result<Self, NoMerge> {
        let Some(node) = map.get(FIELD) else { return Ok(Self::Merge) };
        let directive = Self::of(node)?;
        map.remove(FIELD);
        Ok(directive)
    }

    /// Removes the directive of a list and returns it: the first item that has only a directive.
    /// All items with the same directive are removed too, and all empty ones.
    pub(super) fn take_from_list(items: &mut Vec<Node>) -> Result<Self, NoMerge> {
        let own = |item: &Node| item.as_map().and_then(|map| map.get(FIELD)).cloned();
        let first = items.iter().find_map(|item| own(item).map(|node| (node, item.as_map().map_or(0, Map::len))));
        let Some((node, 1)) = first else { return Ok(Self::Merge) };
        let directive = Self::of(&node)?;
        items.retain(|item| {
            let is_it = own(item).is_some_and(|other| text(&other) == text(&node));
            !is_it && !is_null(item) && !is_empty_map(item)
        });
        Ok(directive)
    }
}
