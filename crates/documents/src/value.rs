//! Conversion of YAML trees to values. After it, the notation of a scalar has no effect any more.

use std::collections::BTreeMap;
use std::sync::Arc;

use setpoint_core::num::Num;
use setpoint_core::value::Value;
use setpoint_yaml::{Class, Diagnostic, Diagnostics, Dialect, Entries, Findings, Kind, Node, Scalar, visible_text};

/// Converts a tree to a value, with merge keys resolved and exact numbers.
pub fn read_value(node: Node<'_>, dialect: Dialect) -> Result<Value, Diagnostics> {
    let mut found = Findings::default();
    let value = value_of(node, dialect, &mut found);
    found.or_value(value.unwrap_or_default())
}

/// Converts a node, or returns `None` after it has added a diagnostic to `found`. The depth limit
/// of the tree bounds the recursion.
pub(crate) fn value_of(node: Node<'_>, dialect: Dialect, found: &mut Findings) -> Option<Value> {
    if found.is_full() {
        return None;
    }
    match node.kind() {
        Kind::Scalar(_) => scalar_of(node, dialect, found),
        Kind::Sequence(items) => {
            let values: Vec<Option<Value>> = items.iter().map(|item| value_of(item, dialect, found)).collect();
            values.into_iter().collect::<Option<_>>().map(Value::Seq)
        }
        Kind::Mapping(entries) => map_of(entries, dialect, found),
    }
}

fn map_of(entries: Entries<'_>, dialect: Dialect, found: &mut Findings) -> Option<Value> {
    let mut map: BTreeMap<Arc<str>, Value> = BTreeMap::new();
    let mut complete = true;
    for (key, value) in entries.merged() {
        let (key_text, value) = (key_of(key, dialect, found), value_of(value, dialect, found));
        let (Some(key_text), Some(value)) = (key_text, value) else {
            complete = false;
            continue;
        };
        if map.insert(Arc::clone(&key_text), value).is_some() {
            let message = format!("the key `{}` is written twice, in two notations", visible_text(&key_text));
            found.add(|| Diagnostic::new(Class::Duplicate, key.place(), message).with_help("keep one of them"));
            complete = false;
        }
    }
    complete.then(|| Value::Map(map.into()))
}

/// Returns a key as JSON represents it: kubectl reads the key `on` as `true`, and `0x10` as `16`.
fn key_of(key: Node<'_>, dialect: Dialect, found: &mut Findings) -> Option<Arc<str>> {
    let scalar = match key.resolve(dialect) {
        Some(Ok(scalar)) => scalar,
        Some(Err(errors)) => {
            found.extend(errors.into_vec());
            return None;
        }
        None => return refuse(key, "a list or mapping cannot be a key", found),
    };
    match scalar {
        Scalar::Str(text) => Some(text.into()),
        Scalar::Bool(value) => Some(if value { "true" } else { "false" }.into()),
        Scalar::Int(digits) => Some(digits.as_ref().into()),
        Scalar::Null | Scalar::Float(_) | Scalar::NonFinite(_) => {
            refuse(key, "a key must be a string, boolean or integer", found)
        }
    }
}

fn refuse<T>(key: Node<'_>, message: &str, found: &mut Findings) -> Option<T> {
    found.add(|| Diagnostic::new(Class::Type, key.place(), message).with_help("write a string; quote it if necessary"));
    None
}

fn scalar_of(node: Node<'_>, dialect: Dialect, found: &mut Findings) -> Option<Value> {
    match node.resolve(dialect)? {
        Ok(Scalar::Null) => Some(Value::Null),
        Ok(Scalar::Bool(value)) => Some(Value::Bool(value)),
        Ok(Scalar::Str(text)) => Some(Value::str(text)),
        Ok(Scalar::Int(digits) | Scalar::Float(digits)) => match digits.parse::<Num>() {
            Ok(number) => Some(Value::Num(number)),
            Err(bad) => {
                found.add(|| {
                    Diagnostic::new(Class::Value, node.place(), bad.to_string()).with_help("quote it if it is a string")
                });
                None
            }
        },
        Ok(Scalar::NonFinite(text)) => {
            let message = format!("JSON has no number `{text}`");
            found.add(|| Diagnostic::new(Class::Value, node.place(), message).with_help("quote it if it is a string"));
            None
        }
        Err(errors) => {
            found.extend(errors.into_vec());
            None
        }
    }
}
