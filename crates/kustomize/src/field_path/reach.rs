//! Follows a path to one node and creates missing nodes on the way.

use super::{PathError, Step, check_length, is_bracketed, items, pair, step, wrong_kind};
use crate::node::{Content, Map, Node, Scalar};
use crate::origin::Origin;

/// Returns the node at a path. If it is missing, creates a scalar, or the collection that the next
/// part of the path needs.
pub fn reach<'n>(node: &'n mut Node, parts: &[String], origin: Origin) -> Result<&'n mut Node, PathError> {
    let parts: Vec<&str> = parts.iter().map(|part| part.trim()).filter(|part| !part.is_empty()).collect();
    check_length(parts.len())?;
    let mut here = node;
    for (at, part) in parts.iter().enumerate() {
        let found = step(here, part)?;
        here = match found {
            Some(Step::Field(name)) => {
                let Content::Map(map) = &mut here.content else { return Err(missing(part)) };
                if map.get(&name).is_none() {
                    map.set(&name, Node::new(made(parts.get(at + 1)), origin));
                }
                map.get_mut(&name).ok_or_else(|| missing(part))?
            }
            found => {
                let index = match found {
                    Some(Step::Item(index)) => index,
                    _ => add(here, part, origin)?,
                };
                let length = items(here, part)?.len();
                let Content::Seq(items) = &mut here.content else { return Err(missing(part)) };
                items.get_mut(index).ok_or(PathError::Index { index, length })?
            }
        };
    }
    Ok(here)
}

/// Returns the content to create before the next part.
fn made(next: Option<&&str>) -> Content {
    match next {
        None => Content::Scalar(Scalar::plain("")),
        Some(next) if is_bracketed(next) || next.parse::<i64>().is_ok() => Content::Seq(Vec::new()),
        Some(_) => Content::Map(Map::default()),
    }
}

/// Adds the element for a part like `[name=value]`, and returns its index.
fn add(list: &mut Node, part: &str, origin: Origin) -> Result<usize, PathError> {
    let (name, value) = pair(part)?;
    let value = Node::new(Content::Scalar(Scalar::plain(value)), origin);
    let item = match name {
        "" => value,
        name => {
            let mut map = Map::default();
            map.set(name, value);
            Node::new(Content::Map(map), origin)
        }
    };
    match &mut list.content {
        Content::Seq(items) => {
            items.push(item);
            Ok(items.len() - 1)
        }
        _ => Err(wrong_kind(list, "SequenceNode", part)),
    }
}

fn missing(part: &str) -> PathError {
    PathError::Missing { part: part.to_owned() }
}
