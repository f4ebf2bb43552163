//! Parses the text of a patch: as JSON if it begins with a bracket, otherwise as YAML like
//! `sigs.k8s.io/yaml`, of which only the first document is used.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;
use setpoint_yaml::go::json_float;
use setpoint_yaml::{Dialect, Kind, Node as Written, Scalar as Resolved, Source, parse_with_repeats};

use super::{JsonPatch, NoPatch, Operation};
use crate::node::{Content, Map, Node, Scalar, Tag};
use crate::origin::Origin;
use crate::read::count;

impl JsonPatch {
    /// Parses a patch. The nodes it adds to resources come from `origin`, with line numbers if the
    /// patch is a file of its own.
    pub fn parse(name: &str, text: &str, origin: Origin) -> Result<Self, NoPatch> {
        let node = if text.starts_with('[') {
            let value: Value = serde_json::from_str(text).map_err(|error| NoPatch::Json(error.to_string()))?;
            from_json(value, if origin.line() == 0 { origin.on(1) } else { origin })
        } else {
            let documents = parse_with_repeats(Source::new(name, text)).map_err(NoPatch::Yaml)?;
            match documents.first().map(|document| document.root()) {
                Some(root) if matches!(root.kind(), Kind::Mapping(_)) => return Err(NoPatch::NoList),
                Some(root) => from_yaml(root, origin, &mut 0)?,
                None => return Ok(Self::default()),
            }
        };
        match node.content {
            _ if node.is_null() => Ok(Self::default()),
            Content::Seq(items) => {
                let operations = items.into_iter().map(operation).collect::<Result<_, NoPatch>>()?;
                Ok(Self { operations })
            }
            _ => Err(NoPatch::NoList),
        }
    }
}

fn operation(item: Node) -> Result<Operation, NoPatch> {
    let unknown = || Arc::from("unknown");
    if item.is_null() {
        return Ok(Operation { op: unknown(), path: None, from: None, value: None, origin: item.origin });
    }
    let origin = item.origin;
    let Content::Map(mut map) = item.content else { return Err(NoPatch::NotOperations) };
    let text = |field: &str| {
        let scalar = map.get(field).and_then(Node::as_scalar).filter(|scalar| scalar.tag == Tag::Text);
        scalar.map(|scalar| Arc::clone(&scalar.text))
    };
    let (op, path, from) = (text("op").unwrap_or_else(unknown), text("path"), text("from"));
    Ok(Operation { op, path, from, value: map.remove("value"), origin })
}

fn from_json(value: Value, origin: Origin) -> Node {
    let scalar = |text: String, tag| Content::Scalar(Scalar { text: text.into(), tag });
    let content = match value {
        Value::Null => scalar("null".to_owned(), Tag::Null),
        Value::Bool(value) => scalar(value.to_string(), Tag::Bool),
        Value::Number(number) => scalar(number.to_string(), Tag::Float),
        Value::String(text) => scalar(text, Tag::Text),
        Value::Array(items) => Content::Seq(items.into_iter().map(|item| from_json(item, origin)).collect()),
        Value::Object(fields) => {
            let mut map = Map::default();
            for (name, value) in fields {
                map.push(name.into(), from_json(value, origin));
            }
            Content::Map(map)
        }
    };
    Node::new(content, origin)
}

/// Converts a node. `nodes` is the number so far: a few aliases of aliases can expand to any
/// number.
fn from_yaml(written: Written<'_>, origin: Origin, nodes: &mut usize) -> Result<Node, NoPatch> {
    count(nodes, written).map_err(NoPatch::Yaml)?;
    let content = match written.kind() {
        Kind::Scalar(_) => Content::Scalar(scalar(written)?),
        Kind::Sequence(items) => {
            Content::Seq(items.iter().map(|item| from_yaml(item, origin, nodes)).collect::<Result<_, NoPatch>>()?)
        }
        Kind::Mapping(entries) => {
            let mut fields = BTreeMap::new();
            for (key, value) in entries.merged() {
                let name = match key.kind() {
                    Kind::Scalar(_) => scalar(key)?.text,
                    _ => return Err(NoPatch::NotOperations),
                };
                // Of equal names the last one wins: `y` and `yes` are both `true`.
                fields.insert(name, from_yaml(value, origin, nodes)?);
            }
            let mut map = Map::with_capacity(fields.len());
            fields.into_iter().for_each(|(name, value)| map.push(name, value));
            Content::Map(map)
        }
    };
    let origin = if origin.line() == 0 { origin.on(written.line()) } else { origin };
    Ok(Node::new(content, origin))
}

/// Converts a scalar to JSON. Words such as `yes` are booleans here, unlike in resources.
fn scalar(written: Written<'_>) -> Result<Scalar, NoPatch> {
    let resolved = match written.resolve(Dialect::GoYamlV2) {
        Some(resolved) => resolved.map_err(NoPatch::Yaml)?,
        None => return Err(NoPatch::NotOperations),
    };
    let number = |text: String| Scalar { text: text.into(), tag: Tag::Float };
    Ok(match resolved {
        Resolved::Null => Scalar { text: "null".into(), tag: Tag::Null },
        Resolved::Bool(value) => Scalar { text: value.to_string().into(), tag: Tag::Bool },
        Resolved::Int(digits) if digits.parse::<i64>().is_ok() || digits.parse::<u64>().is_ok() => {
            number(digits.into_owned())
        }
        Resolved::Int(digits) | Resolved::Float(digits) => {
            let json = digits.parse().ok().and_then(json_float);
            number(json.ok_or_else(|| NoPatch::NonFinite(digits.into_owned()))?)
        }
        Resolved::NonFinite(text) => return Err(NoPatch::NonFinite(text.to_owned())),
        Resolved::Str(text) => Scalar::text(text),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aliases_count_for_what_they_stand_for() {
        let documents = parse_with_repeats(Source::new("p.yaml", "[&a [0, 0], *a, *a]")).unwrap();
        let read =
            |nodes: usize| from_yaml(documents.first().unwrap().root(), Origin::default(), &mut (4_500_000 - nodes));
        assert!(read(10).is_ok());
        let Err(NoPatch::Yaml(problem)) = read(9) else { panic!("it is too much") };
        let told = problem.to_string();
        assert!(told.contains("the text has more than 4500000 nodes, with those of its aliases: split it"), "{told}");
    }
}
