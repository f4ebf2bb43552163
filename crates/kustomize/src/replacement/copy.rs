//! Copies a value into a node: the cost of the copy, and its effect on the old value.

use std::sync::Arc;

use crate::field_path::{Step, at, at_mut};
use crate::limits::{BYTES, Budget, Exceeded, Weight};
use crate::node::{Content, Node, Style, Tag};
use crate::origin::Origin;

use super::{FieldOptions, ReplacementError};

/// The steps for all copies of a node on the way, and to drop the one it replaces.
pub(super) const COPIED: usize = 16;

/// Reports whether kustomize's records about a resource are at this place or below.
pub(super) fn holds_notes(place: &[Step]) -> bool {
    let is = |step: &Step, wanted: &str| matches!(step, Step::Field(name) if **name == *wanted);
    match place {
        [metadata] => is(metadata, "metadata"),
        [metadata, annotations] => is(metadata, "metadata") && is(annotations, "annotations"),
        _ => false,
    }
}

/// Gives the scalars of a copy their own strings, so that they are no longer shared with the
/// originals.
pub(super) fn own_texts(node: &mut Node) {
    match &mut node.content {
        Content::Scalar(scalar) => scalar.text = Arc::from(&*scalar.text),
        Content::Seq(items) => items.iter_mut().for_each(own_texts),
        Content::Map(map) => map.iter_mut().for_each(|(_, node)| own_texts(node)),
    }
}

/// Counts a replacement of a node's value before it happens: a text inserted into itself doubles
/// each time.
pub(super) fn account(
    node: &Node,
    value: &Node,
    options: Option<&FieldOptions>,
    budget: &Budget,
) -> Result<(), Exceeded> {
    let (old, new) = (Weight::of(node), Weight::of(value));
    let is_part = options.is_some_and(|options| !options.delimiter.is_empty());
    let kept = if is_part { old.bytes } else { 0 };
    budget.steps(COPIED * (old.nodes + new.nodes) + new.texts() / BYTES + kept)?;
    let made = new.bytes.saturating_add(kept);
    // The text is built first and then copied to a shared string: both exist for a moment.
    let passing = if is_part { made } else { 0 };
    budget.hold(made.saturating_add(passing))?;
    budget.release(old.bytes.saturating_add(passing));
    Ok(())
}

pub(super) fn depth(node: &Node) -> usize {
    match &node.content {
        Content::Scalar(_) => 1,
        Content::Seq(items) => 1 + items.iter().map(depth).max().unwrap_or_default(),
        Content::Map(map) => 1 + map.iter().map(|(_, node)| depth(node)).max().unwrap_or_default(),
    }
}

/// Makes an empty scalar without a tag a string if it is between braces or brackets, because Go
/// writes it as one.
pub(super) fn settle(root: &mut Node, place: &[Step]) {
    let is_nothing = |node: &Node| node.as_scalar().is_some_and(|own| own.text.is_empty() && own.tag == Tag::Any);
    if !at(root, place).is_some_and(is_nothing) {
        return;
    }
    let mut around = Some(&*root);
    let mut is_in_flow = false;
    for step in place {
        is_in_flow |= around.is_some_and(|node| node.style == Style::Flow);
        around = around.and_then(|node| at(node, std::slice::from_ref(step)));
    }
    if let Some(Content::Scalar(own)) = at_mut(root, place).map(|node| &mut node.content).filter(|_| is_in_flow) {
        own.tag = Tag::Text;
    }
}

/// Replaces the value of a node, or a part of its text.
pub(super) fn set(
    node: &mut Node,
    value: Node,
    options: Option<&FieldOptions>,
    origin: Origin,
    path: &Arc<str>,
) -> Result<(), ReplacementError> {
    let delimited = options.filter(|options| !options.delimiter.is_empty());
    let Content::Scalar(own) = &mut node.content else {
        return match delimited {
            Some(_) => Err(ReplacementError::Delimiter { path: Arc::clone(path) }),
            None => {
                *node = value;
                Ok(())
            }
        };
    };
    let text = value.as_text().unwrap_or_default();
    own.text = match delimited {
        None => text.into(),
        Some(options) => {
            let is_null = value.as_scalar().is_some_and(|scalar| scalar.tag == Tag::Null);
            let text = if is_null { "" } else { text };
            with_part(&own.text, options, text).into()
        }
    };
    node.origin = origin;
    Ok(())
}

/// Returns a text with another part: instead of the one at the index, after the last, or before the
/// first. The text may be large, so its capacity is exact.
pub(super) fn with_part(own: &str, options: &FieldOptions, part: &str) -> String {
    let delimiter = &*options.delimiter;
    let Ok(index) = usize::try_from(options.index) else { return [part, delimiter, own].concat() };
    let before = index.checked_sub(1).map(|before| own.match_indices(delimiter).nth(before));
    let start = before.map_or(Some(0), |found| found.map(|(at, _)| at + delimiter.len()));
    let Some(start) = start else { return [own, delimiter, part].concat() };
    let end = own[start..].find(delimiter).map_or(own.len(), |at| start + at);
    [&own[..start], part, &own[end..]].concat()
}
