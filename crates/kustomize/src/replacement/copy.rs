//! A value on its way to where it is copied: how much it is, and what it does to what stands there.

use std::sync::Arc;

use crate::field_path::{Step, at, at_mut};
use crate::limits::{BYTES, Budget, Exceeded, Weight};
use crate::node::{Content, Node, Style, Tag};
use crate::origin::Origin;

use super::{FieldOptions, ReplacementError};

/// What it costs to copy a node as often as it is on the way, and to drop the one in its place.
pub(super) const COPIED: usize = 16;

/// Whether what is noted of a resource stands there or below, as kustomize has it.
pub(super) fn holds_notes(place: &[Step]) -> bool {
    let is = |step: &Step, wanted: &str| matches!(step, Step::Field(name) if **name == *wanted);
    match place {
        [metadata] => is(metadata, "metadata"),
        [metadata, annotations] => is(metadata, "metadata") && is(annotations, "annotations"),
        _ => false,
    }
}

/// Ends that scalars of a copy are one node with those that they were copied from.
pub(super) fn own_texts(node: &mut Node) {
    match &mut node.content {
        Content::Scalar(scalar) => scalar.text = Arc::from(&*scalar.text),
        Content::Seq(items) => items.iter_mut().for_each(own_texts),
        Content::Map(map) => map.iter_mut().for_each(|(_, node)| own_texts(node)),
    }
}

/// Counts a value in the place of a node, before it is put there: texts that are put into
/// themselves double each time.
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
    // A text is put together first, and then becomes one that can be shared: it is there twice for
    // a moment.
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

/// Makes a text of nothing that stands between braces or brackets: that is what Go writes there.
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

/// Puts a value in the place of a node, or of a part of its text.
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

/// A text with another part in it: in the place of the one with this number, behind all others, or
/// before them. It may be large, and takes no more room than it needs.
pub(super) fn with_part(own: &str, options: &FieldOptions, part: &str) -> String {
    let delimiter = &*options.delimiter;
    let Ok(index) = usize::try_from(options.index) else { return [part, delimiter, own].concat() };
    let before = index.checked_sub(1).map(|before| own.match_indices(delimiter).nth(before));
    let start = before.map_or(Some(0), |found| found.map(|(at, _)| at + delimiter.len()));
    let Some(start) = start else { return [own, delimiter, part].concat() };
    let end = own[start..].find(delimiter).map_or(own.len(), |at| start + at);
    [&own[..start], part, &own[end..]].concat()
}
