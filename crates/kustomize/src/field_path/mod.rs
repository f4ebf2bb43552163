//! Field paths as written in replacements: `spec.containers.[name=app].env.0.value`,
//! `metadata.annotations.[a.b/c]`, `spec.*.name`, `a\.b`.
//!
//! There are two interpretations, as in kyaml. [`find`] follows a path to one node; values in
//! brackets are compared as text. [`Matching`] follows it to all nodes that match, creates missing
//! ones if requested, and takes values in brackets for patterns that match anywhere in a text.

mod matching;
mod reach;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use crate::limits::{Budget, Exceeded};
use crate::node::{Content, Node, Tag};
use crate::pattern::BadPattern;

pub use matching::{Leaf, Matching};
pub use reach::reach;

/// The maximum number of parts in a path.
const MAX_PARTS: usize = 500;

/// A step from a node to one in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    Field(Arc<str>),
    Item(usize),
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    #[error("wrong node kind: expected {expected} but got {found} at `{part}`: correct the path or the resource")]
    Kind { part: String, expected: &'static str, found: &'static str },
    #[error("index {index} specified but only {length} elements found: correct the index")]
    Index { index: usize, length: usize },
    #[error("array index {part} cannot be negative: count from 0, or write `-` for the last")]
    Negative { part: String },
    #[error("`-` names the last element, and there is none: add one first")]
    NoLast,
    #[error("wildcard is not supported in the path of a source: name one element")]
    Wildcard,
    #[error(
        "list path element must contain fieldName=fieldValue for element to match: `{part}`: write, for example, `[name=web]`"
    )]
    NoPair { part: String },
    #[error("`{part}` is not a valid pattern")]
    Pattern { part: String, source: BadPattern },
    #[error("an element created for `{part}` does not match it: write a plain value")]
    Unmade { part: String },
    #[error("cannot create `{part}` in a null: write a value instead of the null")]
    Missing { part: String },
    /// Kustomize writes such a name without quotes, and cannot read it again.
    #[error(
        "json: unsupported type: map[interface {{}}]interface {{}}: cannot create the field `{part}`, which is not a string without quotes: write it in the resource"
    )]
    Name { part: String },
    #[error("the text at `{part}` is not YAML: correct the text or the path")]
    Text { part: String },
    #[error("a path may have {MAX_PARTS} parts, but this one has {parts}: write a shorter one")]
    TooLong { parts: usize },
    #[error("limit")]
    Limit(#[from] Exceeded),
}

/// Splits a path into its parts. A dot after a backslash or in brackets is part of a name.
pub fn split(path: &str) -> Result<Vec<String>, PathError> {
    let parts = bracketed(split_at(path.strip_prefix('.').unwrap_or(path), '.'));
    check_length(parts.len())?;
    Ok(parts)
}

/// Splits a path at a separator. After a backslash the separator is part of a name.
pub(crate) fn split_at(path: &str, joint: char) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    for part in path.split(joint) {
        match parts.last_mut() {
            Some(last) if last.ends_with('\\') => {
                last.pop();
                last.push(joint);
                last.push_str(part);
            }
            _ => parts.push(part.to_owned()),
        }
    }
    parts
}

/// Rejects paths with too many parts: the nodes created along a path are nested as deeply as it is
/// long.
pub(crate) fn check_length(parts: usize) -> Result<(), PathError> {
    if parts > MAX_PARTS { Err(PathError::TooLong { parts }) } else { Ok(()) }
}

/// Joins the parts in brackets. The brackets remain if a value is compared.
fn bracketed(parts: Vec<String>) -> Vec<String> {
    let mut joined = Vec::with_capacity(parts.len());
    let mut parts = parts.into_iter();
    while let Some(mut part) = parts.next() {
        if !part.starts_with('[') || part.ends_with(']') {
            joined.push(part);
            continue;
        }
        for next in parts.by_ref() {
            part.push('.');
            part.push_str(&next);
            if next.ends_with(']') {
                break;
            }
        }
        joined.push(if part.contains('=') { part } else { part.trim_matches(['[', ']']).to_owned() });
    }
    joined
}

/// Splits `[name=value]` into name and value. The name is empty if elements themselves are
/// compared.
fn pair(part: &str) -> Result<(&str, &str), PathError> {
    let inner = part.strip_suffix(']').unwrap_or(part);
    let inner = inner.strip_prefix('[').unwrap_or(inner);
    inner.split_once('=').ok_or_else(|| PathError::NoPair { part: part.to_owned() })
}

fn is_bracketed(part: &str) -> bool {
    part.starts_with('[') && part.ends_with(']')
}

fn kind_of(node: &Node) -> &'static str {
    match &node.content {
        Content::Scalar(_) => "ScalarNode",
        Content::Seq(_) => "SequenceNode",
        Content::Map(_) => "MappingNode",
    }
}

fn wrong_kind(node: &Node, expected: &'static str, part: &str) -> PathError {
    PathError::Kind { part: part.to_owned(), expected, found: kind_of(node) }
}

/// Returns the elements of a list. Null has none.
fn items<'n>(node: &'n Node, part: &str) -> Result<&'n [Node], PathError> {
    match &node.content {
        Content::Seq(items) => Ok(items),
        _ if is_null(node) => Ok(&[]),
        _ => Err(wrong_kind(node, "SequenceNode", part)),
    }
}

/// Reports whether a node was read as null. A node created without quotes is not null, whatever its
/// text.
fn is_null(node: &Node) -> bool {
    node.as_scalar().is_some_and(|scalar| scalar.tag == Tag::Null)
}

fn text_of(node: &Node) -> &str {
    node.as_text().unwrap_or_default()
}

/// Returns the one node at a path, if it exists. Empty parts are skipped.
pub fn find(node: &Node, parts: &[String]) -> Result<Option<Vec<Step>>, PathError> {
    look(node, parts, |_| Ok(()))
}

/// As [`find`], but spends the steps from a budget.
pub(crate) fn find_within(node: &Node, parts: &[String], budget: &Budget) -> Result<Option<Vec<Step>>, PathError> {
    look(node, parts, |here| Ok(budget.steps(looked_at(here))?))
}

fn look(
    node: &Node,
    parts: &[String],
    spend: impl Fn(&Node) -> Result<(), PathError>,
) -> Result<Option<Vec<Step>>, PathError> {
    let mut steps = Vec::new();
    let mut here = node;
    for part in parts.iter().map(|part| part.trim()).filter(|part| !part.is_empty()) {
        spend(here)?;
        let step = step(here, part)?;
        let next = match &step {
            Some(Step::Field(name)) => here.as_map().and_then(|map| map.get(name)),
            Some(Step::Item(at)) => items(here, part)?.get(*at),
            None => None,
        };
        let (Some(step), Some(next)) = (step, next) else { return Ok(None) };
        steps.push(step);
        here = next;
    }
    Ok(Some(steps))
}

/// Returns the number of steps to find a field or an item.
fn looked_at(node: &Node) -> usize {
    match &node.content {
        Content::Scalar(_) => 2,
        Content::Seq(items) => 6 + items.len(),
        Content::Map(map) => 6 + map.len(),
    }
}

fn step(here: &Node, part: &str) -> Result<Option<Step>, PathError> {
    match part.parse::<i64>() {
        Ok(index) if index < 0 => return Err(PathError::Negative { part: part.to_owned() }),
        Ok(index) => {
            let is_there = usize::try_from(index).ok().filter(|index| *index < usize::MAX);
            items(here, part)?;
            return Ok(is_there.map(Step::Item));
        }
        Err(_) => {}
    }
    match part {
        "-" => items(here, part)?.len().checked_sub(1).map(|last| Some(Step::Item(last))).ok_or(PathError::NoLast),
        "*" => Err(PathError::Wildcard),
        part if is_bracketed(part) => {
            let (name, value) = pair(part)?;
            let is_it = |item: &Node| match name {
                "" => text_of(item) == value,
                name => item.as_map().and_then(|map| map.get(name)).is_some_and(|field| text_of(field) == value),
            };
            Ok(items(here, part)?.iter().position(is_it).map(Step::Item))
        }
        part => match &here.content {
            Content::Map(_) => Ok(Some(Step::Field(part.into()))),
            _ if is_null(here) => Ok(None),
            _ => Err(wrong_kind(here, "MappingNode", part)),
        },
    }
}

/// Returns the node at the end of these steps.
pub fn at<'n>(node: &'n Node, steps: &[Step]) -> Option<&'n Node> {
    steps.iter().try_fold(node, |node, step| match (step, &node.content) {
        (Step::Field(name), Content::Map(map)) => map.get(name),
        (Step::Item(at), Content::Seq(items)) => items.get(*at),
        _ => None,
    })
}

pub fn at_mut<'n>(node: &'n mut Node, steps: &[Step]) -> Option<&'n mut Node> {
    steps.iter().try_fold(node, |node, step| match (step, &mut node.content) {
        (Step::Field(name), Content::Map(map)) => map.get_mut(name),
        (Step::Item(at), Content::Seq(items)) => items.get_mut(*at),
        _ => None,
    })
}
