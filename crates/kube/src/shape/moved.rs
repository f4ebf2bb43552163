//! A declaration that moved: there is no baseline for it yet, so the live object is compared with what is declared literally. What only looks different
//! (`0.1` and `100m`) costs one apply, which was due anyway.

use std::sync::Arc;

use data_encoding::BASE64;
use setpoint_core::digest::DigestKey;
use setpoint_core::value::Value;

use super::edit;
use super::sealed::Sealing;
use crate::field_set::{FieldSet, Node};
use crate::path::{Element, FieldPath, at};
use crate::request::{is_left_out, is_the_clusters};

/// The declared body with live values where they differ literally, and with what the previous declaration had, this one lacks and is
/// still there. Equal to `declared` when nothing differs literally.
///
/// `ours_before` is what was ours under the previous declaration.
pub fn moved(declared: &Value, live: &Value, ours_before: &FieldSet, secrets: &DigestKey) -> Value {
    let sealing = Sealing::new(declared, secrets);
    let mut shaped = literal_top(declared, live, &ours_before.0, &sealing);
    for path in no_longer_declared(declared, &ours_before.0, &sealing) {
        if let Some(value) = at(live, &path) {
            let place = sealing.place(&path);
            edit::put(&mut shaped, &place.0, sealing.shown(&place, value));
        }
    }
    shaped
}

/// The object itself: what names it and what is not sent is not compared.
fn literal_top(declared: &Value, live: &Value, ours: &Node, sealing: &Sealing<'_>) -> Value {
    let Value::Map(fields) = declared else { return live.clone() };
    let compared = fields.iter().filter_map(|(name, value)| {
        let node = ours.child(&Element::Field(Arc::clone(name)));
        let kept = match &**name {
            "apiVersion" | "kind" => Some(value.clone()),
            name if is_the_clusters(name, declared) => Some(value.clone()),
            "metadata" => literal_metadata(value, live.get("metadata"), node),
            "data" | "stringData" if sealing.is_secret() => Some(literal_secret(name, value, live, sealing)),
            _ => literal(value, live.get(name), node),
        };
        kept.map(|kept| (Arc::clone(name), kept))
    });
    Value::Map(compared.collect())
}

fn literal_metadata(declared: &Value, live: Option<&Value>, ours: Option<&Node>) -> Option<Value> {
    let Value::Map(fields) = declared else { return live.cloned() };
    let compared = fields.iter().filter_map(|(name, value)| {
        let node = ours.and_then(|ours| ours.child(&Element::Field(Arc::clone(name))));
        let skip = matches!(&**name, "name" | "namespace") || is_left_out(name);
        let kept = if skip { Some(value.clone()) } else { literal(value, live.and_then(|live| live.get(name)), node) };
        kept.map(|kept| (Arc::clone(name), kept))
    });
    Some(Value::Map(compared.collect()))
}

/// Values of a Secret are compared as bytes: as text they are declared in `stringData`, in base64 in `data`.
fn literal_secret(map: &str, declared: &Value, live: &Value, sealing: &Sealing<'_>) -> Value {
    let Value::Map(fields) = declared else { return declared.clone() };
    let compared = fields.iter().filter_map(|(name, value)| {
        let found = live.get("data").and_then(|data| data.get(name))?;
        let same = match value {
            Value::Str(text) if map == "stringData" => found.as_str() == Some(&*BASE64.encode(text.as_bytes())),
            Value::Null => found.as_str() == Some(""),
            other => other == found,
        };
        let shown = || sealing.shown(&FieldPath::fields(&[map, name]), found);
        Some((Arc::clone(name), if same { value.clone() } else { shown() }))
    });
    Value::Map(compared.collect())
}

/// A declared value against the live one; `None` where nothing stands.
fn literal(declared: &Value, live: Option<&Value>, ours: Option<&Node>) -> Option<Value> {
    match (declared, live) {
        (Value::Null, None | Some(Value::Null)) => Some(declared.clone()),
        // The server leaves out what is empty.
        (declared, None) => is_empty(declared).then(|| declared.clone()),
        // What others put into what is declared empty is theirs; what we had put there must go.
        (declared, Some(live)) if is_empty(declared) => {
            Some(if ours.is_some() && !is_empty(live) { live.clone() } else { declared.clone() })
        }
        (Value::Map(fields), Some(live @ Value::Map(_))) => {
            let compared = fields.iter().filter_map(|(name, value)| {
                let node = ours.and_then(|ours| ours.child(&Element::Field(Arc::clone(name))));
                literal(value, live.get(name), node).map(|kept| (Arc::clone(name), kept))
            });
            Some(Value::Map(compared.collect()))
        }
        (Value::Seq(items), Some(Value::Seq(live))) => Some(literal_list(items, live, ours)),
        (declared, Some(live)) => Some(if declared == live { declared.clone() } else { live.clone() }),
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Map(fields) => fields.is_empty(),
        Value::Seq(items) => items.is_empty(),
        _ => false,
    }
}

/// Lists of which the server told us the keys are compared by key; others by position if they are equally long, else as a whole.
fn literal_list(declared: &[Value], live: &[Value], ours: Option<&Node>) -> Value {
    let keys = ours.and_then(|ours| {
        ours.children.iter().find_map(|(element, _)| match element {
            Element::Item(keys) => Some(keys.iter().map(|(name, _)| Arc::clone(name)).collect::<Vec<_>>()),
            _ => None,
        })
    });
    match (keys, ours) {
        (Some(keys), Some(ours)) => literal_items(declared, live, &keys, ours),
        _ if declared.len() == live.len() => {
            let pairs = declared.iter().zip(live);
            Value::Seq(pairs.filter_map(|(declared, live)| literal(declared, Some(live), None)).collect())
        }
        _ => Value::Seq(live.to_vec()),
    }
}

fn literal_items(declared: &[Value], live: &[Value], keys: &[Arc<str>], ours: &Node) -> Value {
    let mut found: Vec<(usize, Value)> = Vec::with_capacity(declared.len());
    for item in declared {
        // As a declaration names its item, among items that have all keys: the other way round.
        let named = Element::item(keys.iter().filter_map(|key| Some((Arc::clone(key), item.get(key)?.clone()))));
        let Some(at) = named.declared_position(live) else { continue };
        let whole =
            Element::item(keys.iter().map(|key| (Arc::clone(key), live[at].get(key).cloned().unwrap_or_default())));
        found.extend(literal(item, Some(&live[at]), ours.child(&whole)).map(|item| (at, item)));
    }
    found.sort_by_key(|(at, _)| *at);
    Value::Seq(found.into_iter().map(|(_, item)| item).collect())
}

/// The topmost paths that were ours and that the declaration no longer has.
fn no_longer_declared(declared: &Value, ours: &Node, sealing: &Sealing<'_>) -> Vec<FieldPath> {
    fn collect(declared: Option<&Value>, ours: &Node, path: &mut Vec<Element>, found: &mut Vec<FieldPath>) {
        if declared.is_none() && ours.owns() {
            found.push(FieldPath(path.clone()));
            return;
        }
        // A single value where there was a map: that it differs is seen without the old fields.
        if declared.is_some_and(|declared| !matches!(declared, Value::Map(_) | Value::Seq(_))) {
            return;
        }
        for (element, child) in &ours.children {
            path.push(element.clone());
            collect(declared.and_then(|declared| element.declared_step(declared)), child, path, found);
            path.pop();
        }
    }
    let mut found = Vec::new();
    collect(Some(declared), ours, &mut Vec::new(), &mut found);
    found.retain(|path| at(declared, &sealing.place(path)).is_none());
    found
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use setpoint_core::diff::diff;

    use super::*;
    use crate::object;
    use crate::samples::{any_owned_object, digest_key};

    fn read(text: &str) -> Value {
        object::read(text.as_bytes()).unwrap()
    }

    fn shown(declared: &str, live: &str, fields: &str) -> Vec<String> {
        let ours = FieldSet::from_bytes(fields.as_bytes()).unwrap();
        let declared = read(declared);
        let shaped = moved(&declared, &read(live), &ours, &digest_key());
        diff(&declared, &shaped).iter().map(ToString::to_string).collect()
    }

    const CONTAINERS: &str = r#"{"f:spec":{"f:c":{"k:{\"name\":\"a\"}":{".":{},"f:name":{},"f:image":{},"f:tty":{}},"k:{\"name\":\"b\"}":{".":{},"f:name":{}}},"f:old":{}}}"#;

    proptest! {
        #[test]
        fn a_declaration_that_is_literally_there_has_the_declared_body((live, _) in any_owned_object()) {
            prop_assert_eq!(&moved(&live, &live, &FieldSet::empty(), &digest_key()), &live);
        }
    }

    #[test]
    fn a_new_image_a_new_item_and_a_removed_field_are_shown() {
        let declared = r#"{"spec":{"c":[{"name":"a","image":"2"},{"name":"n"}]}}"#;
        let live = r#"{"spec":{"c":[{"name":"a","image":"1","tty":true,"by":"server"},{"name":"b"},{"name":"x"}],"old":1,"default":2}}"#;
        assert_eq!(
            shown(declared, live, CONTAINERS),
            [
                r#"spec.c[0].image: "2" → "1""#,
                "spec.c[0].tty: (absent) → true",
                r#"spec.c[1].name: "n" → "b""#,
                "spec.old: (absent) → 1",
            ],
            "what others and the server put there is not ours to show"
        );
    }

    #[test]
    fn a_namespace_a_status_and_a_null_timestamp_are_not_compared() {
        let declared = r#"{"apiVersion":"v1","kind":"X","metadata":{"name":"a","namespace":"n","creationTimestamp":null},"status":{"a":1}}"#;
        let live =
            r#"{"apiVersion":"v1","kind":"X","metadata":{"name":"a","creationTimestamp":"2026"},"status":{"a":2}}"#;
        assert_eq!(shown(declared, live, "{}"), [] as [&str; 0]);
    }

    #[test]
    fn class_5_string_data_is_compared_as_bytes_and_hidden() {
        let declared = r#"{"apiVersion":"v1","kind":"Secret","stringData":{"a":"hi","b":"new"}}"#;
        let live = r#"{"apiVersion":"v1","kind":"Secret","data":{"a":"aGk=","b":"b2xk","c":"b2xk"}}"#;
        let shown = shown(declared, live, r#"{"f:data":{"f:a":{},"f:b":{},"f:c":{}}}"#);
        assert_eq!(shown.len(), 2, "{shown:?}");
        assert!(shown[0].starts_with("data: (absent) → {1 fields}"), "{shown:?}");
        assert!(shown[1].starts_with(r#"stringData.b: "(hidden)" → secret:"#), "{shown:?}");
    }

    #[test]
    fn class_3_empty_and_absent_are_the_same_unless_we_had_put_something_there() {
        let declared = r#"{"spec":{"a":{},"b":[],"c":null,"d":[]}}"#;
        let live = r#"{"spec":{"b":["theirs"],"d":["ours"]}}"#;
        assert_eq!(shown(declared, live, r#"{"f:spec":{"f:d":{}}}"#), [r#"spec.d[0]: (absent) → "ours""#]);
    }

    #[test]
    fn another_order_of_our_items_is_a_difference() {
        let declared = r#"{"spec":{"c":[{"name":"b"},{"name":"a"}]}}"#;
        let live = r#"{"spec":{"c":[{"name":"a"},{"name":"b"}]}}"#;
        assert_eq!(shown(declared, live, CONTAINERS).len(), 2);
        let same = r#"{"spec":{"c":[{"name":"b"},{"name":"x"},{"name":"a"}]}}"#;
        assert_eq!(shown(declared, same, CONTAINERS), [] as [&str; 0]);
    }

    #[test]
    fn lists_without_known_keys_are_compared_item_by_item_or_as_a_whole() {
        let declared = r#"{"spec":{"args":["a","b"],"rules":[{"verbs":["get"]}]}}"#;
        let live = r#"{"spec":{"args":["a"],"rules":[{"verbs":["get"],"filled":true}]}}"#;
        assert_eq!(shown(declared, live, "{}"), [r#"spec.args[1]: "b" → (absent)"#]);
    }
}
