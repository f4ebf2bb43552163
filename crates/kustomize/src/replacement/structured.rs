//! Fields inside a text: `data.config\.json.server.port` is the port in the JSON text of
//! `config.json`. The text is written again, as JSON if it began as JSON and otherwise as YAML.
//! Delimiter options have no effect inside it.

use std::sync::Arc;

use crate::field_path::{Leaf, Matching, at, at_mut, find_within};
use crate::json::{self, Layout};
use crate::limits::{BYTES, Budget, Weight};
use crate::node::{Content, Node, Tag};
use crate::origin::Origin;
use crate::read::read_first;

use super::copy::COPIED;
use super::layout::{self, Unwritten};

/// The steps to read a byte and write it again.
const READ: usize = 16;
/// The bytes of a node in the tree of the text, with its comments and position.
const LAID_OUT: usize = 300;

/// Writes the value if a path leads into a text, and reports whether it does. Otherwise nothing
/// changes.
pub(super) fn write(
    root: &mut Node,
    parts: &[String],
    value: &Node,
    create: Option<Leaf>,
    origin: Origin,
    budget: &Budget,
) -> Result<bool, Unwritten> {
    let Some((place, rest, mut inner)) = (1..parts.len()).find_map(|length| {
        let place = find_within(root, &parts[..length], budget).ok().flatten()?;
        let text = at(root, &place)?.as_text()?;
        budget.spend(READ * text.len());
        budget.steps(0).ok()?;
        Some((place, &parts[length..], read_first(text).ok()?))
    }) else {
        return Ok(false);
    };
    let (Some(inner), Some(Content::Scalar(scalar))) =
        (inner.as_mut(), at_mut(root, &place).map(|node| &mut node.content))
    else {
        return Ok(false);
    };
    let matching = match Matching::of(inner, rest, create, origin, budget) {
        Ok(matching) if !matching.is_empty() => matching,
        _ => return Ok(false),
    };
    let text: Arc<str> = scalar.text.clone();
    let is_json = text.trim_start().starts_with(['{', '[']);
    // A long value is copied for each place.
    let copied = Weight::of(value);
    budget.spend(
        COPIED.saturating_mul(copied.nodes).saturating_add(copied.texts() / BYTES).saturating_mul(matching.found.len()),
    );
    let copies = copied.bytes.saturating_mul(matching.found.len());
    budget.hold(copies).map_err(Unwritten::Limit)?;
    for place in &matching.found {
        let Some(node) = at_mut(inner, place) else { continue };
        match &mut node.content {
            Content::Scalar(own) => own.text = value.as_text().unwrap_or_default().into(),
            _ if !is_json && !is_bare(value) => return Err(Unwritten::Collection),
            _ => *node = value.clone(),
        }
    }
    // Until the text is written, its whole content is in memory: as nodes, and with its layout.
    budget.release(copies);
    let weight = Weight::of(inner);
    let held = weight.bytes.saturating_add(LAID_OUT * weight.nodes);
    budget.hold(held).map_err(Unwritten::Limit)?;
    let written =
        if is_json { Ok(as_json(inner, &text)) } else { layout::write(inner, &text, rest, &matching.found).map(Some) };
    budget.release(held);
    let Some(written) = written? else { return Ok(false) };
    budget.hold(written.len()).map_err(Unwritten::Limit)?;
    budget.release(text.len());
    scalar.text = written.into();
    if let Some(node) = at_mut(root, &place) {
        node.origin = origin;
    }
    Ok(true)
}

/// Reports whether the value is a text of the kustomization. All others may have comments and
/// quotes, which kustomize copies when it replaces a map or a list.
fn is_bare(value: &Node) -> bool {
    value.as_scalar().is_some_and(|own| own.tag == Tag::Any)
}

fn as_json(inner: &mut Node, text: &str) -> Option<String> {
    fill(inner);
    let layout = Layout { is_indented: text.contains('\n') && text.contains("  "), has_floats: false };
    let mut json = String::new();
    json::write(inner, layout, &mut json).ok()?;
    Some(json)
}

/// Between brackets, null is written as an empty string.
fn fill(node: &mut Node) {
    match &mut node.content {
        Content::Scalar(own) if own.text.is_empty() && matches!(own.tag, Tag::Null | Tag::Any) => own.tag = Tag::Text,
        Content::Scalar(_) => {}
        Content::Seq(items) => items.iter_mut().for_each(fill),
        Content::Map(map) => map.iter_mut().for_each(|(_, node)| fill(node)),
    }
}
