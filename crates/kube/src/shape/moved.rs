//! Comparison for a changed declaration. There is no baseline for it yet, so the live object is
//! compared with the declaration literally. A value that is only written differently (`0.1` and
//! `100m`) costs one apply, which was due anyway.

use std::sync::Arc;

use data_encoding::BASE64;
use setpoint_core::digest::DigestKey;
use setpoint_core::fields::Fields;
use setpoint_core::value::Value;

use super::edit;
use super::sealed::Sealing;
use crate::field_set::{FieldSet, Node};
use crate::path::{Element, FieldPath, at};
use crate::pattern::FieldPattern;
use crate::request::{is_left_out, is_the_clusters};

/// Returns the declared body with live values where they differ literally, and with the fields that
/// the previous declaration had, this one lacks and the object still has. The result is equal to
/// `declared` if nothing differs literally.
///
/// `ours_before` are our fields under the previous declaration; `not_ours` is left to others, and
/// shown as declared.
pub fn moved(
    declared: &Value,
    live: &Value,
    ours_before: &FieldSet,
    not_ours: &[FieldPattern],
    secrets: &DigestKey,
) -> Value {
    let sealing = Sealing::new(declared, secrets);
    let mut comparison = Comparison { not_ours, sealing: &sealing, path: Vec::new() };
    let mut shaped = comparison.top(declared, live, &ours_before.0);
    for path in no_longer_declared(declared, &ours_before.0, &sealing) {
        let is_left = not_ours.iter().any(|pattern| pattern.covers(&path));
        if let Some(value) = at(live, &path).filter(|_| !is_left) {
            let place = sealing.place(&path);
            edit::put(&mut shaped, &place.0, sealing.shown(&place, value));
        }
    }
    shaped
}

/// A walk through a declaration and its live object.
struct Comparison<'a> {
    not_ours: &'a [FieldPattern],
    sealing: &'a Sealing<'a>,
    /// The present position.
    path: Vec<Element>,
}

impl Comparison<'_> {
    /// Compares one step deeper, unless the field there is left to others.
    fn below(
        &mut self,
        element: Element,
        declared: &Value,
        compare: impl FnOnce(&mut Self) -> Option<Value>,
    ) -> Option<Value> {
        self.path.push(element);
        let left = self.not_ours.iter().any(|pattern| pattern.covers_elements(&self.path));
        let compared = if left { Some(declared.clone()) } else { compare(self) };
        self.path.pop();
        compared
    }

    fn fields(
        &mut self,
        fields: &Fields,
        ours: Option<&Node>,
        mut compare: impl FnMut(&mut Self, &Arc<str>, &Value, Option<&Node>) -> Option<Value>,
    ) -> Value {
        let mut compared = Fields::new();
        for (name, value) in fields.iter() {
            let element = Element::Field(Arc::clone(name));
            let node = ours.and_then(|ours| ours.child(&element));
            if let Some(kept) = self.below(element, value, |within| compare(within, name, value, node)) {
                compared.insert(Arc::clone(name), kept);
            }
        }
        Value::Map(compared)
    }

    /// Compares the object itself, except its identity and the fields that are not sent.
    fn top(&mut self, declared: &Value, live: &Value, ours: &Node) -> Value {
        let Value::Map(fields) = declared else { return live.clone() };
        self.fields(fields, Some(ours), |within, name, value, node| match &**name {
            "apiVersion" | "kind" => Some(value.clone()),
            name if is_the_clusters(name, declared) => Some(value.clone()),
            "metadata" => within.metadata(value, live.get("metadata"), node),
            "data" | "stringData" if within.sealing.is_secret() => Some(within.secret(name, value, live)),
            _ => within.literal(value, live.get(name), node),
        })
    }

    fn metadata(&mut self, declared: &Value, live: Option<&Value>, ours: Option<&Node>) -> Option<Value> {
        let Value::Map(fields) = declared else { return live.cloned() };
        Some(self.fields(fields, ours, |within, name, value, node| {
            let skip = matches!(&**name, "name" | "namespace") || is_left_out(name);
            if skip { Some(value.clone()) } else { within.literal(value, live.and_then(|live| live.get(name)), node) }
        }))
    }

    /// Compares values of a Secret as bytes: they are declared as text in `stringData`, and in
    /// base64 in `data`.
    fn secret(&mut self, map: &str, declared: &Value, live: &Value) -> Value {
        let Value::Map(fields) = declared else { return declared.clone() };
        // The server knows only `data`, and rules for shared fields refer to it.
        self.path.pop();
        self.path.push(Element::field("data"));
        self.fields(fields, None, |within, name, value, _| {
            let found = live.get("data").and_then(|data| data.get(name))?;
            // An empty value is written as an empty text or as null, by people and by servers.
            let is_void = |value: &Value| *value == Value::Null || value.as_str() == Some("");
            let same = match value {
                void if is_void(void) => is_void(found),
                Value::Str(text) if map == "stringData" => found.as_str() == Some(&*BASE64.encode(text.as_bytes())),
                other => other == found,
            };
            let shown = || within.sealing.shown(&FieldPath::fields(&[map, name]), found);
            Some(if same { value.clone() } else { shown() })
        })
    }

    /// Compares a declared value with the live one; `None` if there is none.
    fn literal(&mut self, declared: &Value, live: Option<&Value>, ours: Option<&Node>) -> Option<Value> {
        // Null counts as absent, as everywhere: a server writes it for an empty list that it must
        // name (the rules of a role).
        match (declared, live.filter(|live| **live != Value::Null)) {
            (Value::Null, None) => Some(declared.clone()),
            // The server leaves out empty values.
            (declared, None) => (is_empty(declared) || self.is_left(declared)).then(|| declared.clone()),
            // Content that others put into a field declared as empty is theirs; content that we had
            // put there must go.
            (declared, Some(live)) if is_empty(declared) => {
                Some(if ours.is_some() && !is_empty(live) { live.clone() } else { declared.clone() })
            }
            (Value::Map(fields), Some(live @ Value::Map(_))) => {
                Some(self.fields(fields, ours, |within, name, value, node| within.literal(value, live.get(name), node)))
            }
            (Value::Seq(items), Some(Value::Seq(live))) => Some(self.list(items, live, ours)),
            (declared, Some(live)) => Some(if declared == live { declared.clone() } else { live.clone() }),
        }
    }

    /// Reports whether all of a declared map is left to others.
    fn is_left(&mut self, declared: &Value) -> bool {
        let Value::Map(fields) = declared else { return false };
        fields.iter().all(|(name, value)| {
            let left = |within: &mut Self| within.is_left(value).then_some(Value::Null);
            self.below(Element::Field(Arc::clone(name)), value, left).is_some()
        })
    }

    /// Compares lists by key if the server has sent the keys, by position if they are equally long,
    /// and otherwise as a whole.
    fn list(&mut self, declared: &[Value], live: &[Value], ours: Option<&Node>) -> Value {
        match ours.and_then(|ours| Some((ours, ours.item_keys()?))) {
            Some((ours, keys)) => self.items(declared, live, &keys, ours),
            None if declared.len() == live.len() => {
                let pairs = declared.iter().zip(live);
                let compared = pairs.filter_map(|(declared, live)| {
                    self.below(by_its_values(declared), declared, |within| within.literal(declared, Some(live), None))
                });
                Value::Seq(compared.collect())
            }
            None => Value::Seq(live.to_vec()),
        }
    }

    fn items(&mut self, declared: &[Value], live: &[Value], keys: &[Arc<str>], ours: &Node) -> Value {
        let mut found: Vec<(usize, Value)> = Vec::with_capacity(declared.len());
        for item in declared {
            let (element, _) = Element::of_declared(item, keys, live);
            let (at, node) = (element.position(live), ours.child(&element));
            let compared =
                self.below(element, item, |within| at.and_then(|at| within.literal(item, Some(&live[at]), node)));
            // An absent item that is left to others is put after its predecessor in the
            // declaration.
            let at = at.unwrap_or_else(|| found.last().map_or(0, |(at, _)| *at));
            found.extend(compared.map(|item| (at, item)));
        }
        found.sort_by_key(|(at, _)| *at);
        Value::Seq(found.into_iter().map(|(_, item)| item).collect())
    }
}

/// Returns a declared item by every value that could be a key of it. A pattern names some keys, and
/// those decide.
fn by_its_values(item: &Value) -> Element {
    match item {
        Value::Map(fields) => {
            let scalar = |value: &Value| matches!(value, Value::Str(_) | Value::Num(_) | Value::Bool(_));
            let values = fields.iter().filter(|(_, value)| scalar(value));
            Element::item(values.map(|(name, value)| (Arc::clone(name), value.clone())))
        }
        other => Element::member(other.clone()),
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Map(fields) => fields.is_empty(),
        Value::Seq(items) => items.is_empty(),
        _ => false,
    }
}

/// Returns the topmost paths that were ours and that the declaration no longer has.
fn no_longer_declared(declared: &Value, ours: &Node, sealing: &Sealing<'_>) -> Vec<FieldPath> {
    fn collect(declared: Option<&Value>, ours: &Node, path: &mut Vec<Element>, found: &mut Vec<FieldPath>) {
        if declared.is_none() && ours.owns() {
            found.push(FieldPath(path.clone()));
            return;
        }
        // A single value replaced a map: the difference is visible without the old fields.
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
        let shaped = moved(&declared, &read(live), &ours, &[], &digest_key());
        diff(&declared, &shaped).iter().map(ToString::to_string).collect()
    }

    const CONTAINERS: &str = r#"{"f:spec":{"f:c":{"k:{\"name\":\"a\"}":{".":{},"f:name":{},"f:image":{},"f:tty":{}},"k:{\"name\":\"b\"}":{".":{},"f:name":{}}},"f:old":{}}}"#;

    proptest! {
        #[test]
        fn a_declaration_that_is_literally_there_has_the_declared_body((live, _) in any_owned_object()) {
            prop_assert_eq!(&moved(&live, &live, &FieldSet::empty(), &[], &digest_key()), &live);
        }
    }

    #[test]
    fn what_is_left_to_others_is_shown_as_declared() {
        let declared = read(
            r#"{"spec":{"replicas":3,"c":[{"name":"a","image":"2"},{"name":"n"}],"p":[{"port":1,"node":5}],"keep":{"x":1}}}"#,
        );
        let live = r#"{"spec":{"replicas":7,"c":[{"name":"a","image":"1"}],"p":[{"port":1,"node":6}],"old":1}}"#;
        let ours = FieldSet::from_bytes(CONTAINERS.as_bytes()).unwrap();
        let left =
            ["spec.replicas", "spec.c[*].image", "spec.c[name=n]", "spec.p[port=1].node", "spec.keep.x", "spec.old"]
                .map(|text| text.parse().unwrap());
        let shaped = moved(&declared, &read(live), &ours, &left, &digest_key());
        let shown: Vec<_> = diff(&declared, &shaped).iter().map(ToString::to_string).collect();
        assert_eq!(shown, [] as [&str; 0]);
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
    fn class_5_no_bytes_are_written_as_an_empty_text_or_as_null() {
        let secret =
            |map: &str, value: &str| format!(r#"{{"apiVersion":"v1","kind":"Secret","{map}":{{"a":{value}}}}}"#);
        for map in ["data", "stringData"] {
            for (declared, live) in [("null", r#""""#), (r#""""#, "null"), (r#""""#, r#""""#), ("null", "null")] {
                assert_eq!(
                    shown(&secret(map, declared), &secret("data", live), "{}"),
                    [] as [&str; 0],
                    "{map} {declared}"
                );
            }
            assert_eq!(shown(&secret(map, r#""""#), &secret("data", r#""aGk=""#), "{}").len(), 1);
        }
    }

    #[test]
    fn class_3_empty_and_absent_are_the_same_unless_we_had_put_something_there() {
        let declared = r#"{"spec":{"a":{},"b":[],"c":null,"d":[]}}"#;
        let live = r#"{"spec":{"b":["theirs"],"d":["ours"]}}"#;
        assert_eq!(shown(declared, live, r#"{"f:spec":{"f:d":{}}}"#), [r#"spec.d[0]: (absent) → "ours""#]);
    }

    #[test]
    fn class_3_rules_that_a_server_writes_as_null_are_none() {
        let (declared, live) = (r#"{"kind":"Role","rules":[]}"#, r#"{"kind":"Role","rules":null}"#);
        assert_eq!(shown(declared, live, r#"{"f:rules":{}}"#), [] as [&str; 0]);
        assert_eq!(shown(r#"{"kind":"Role","rules":[1]}"#, live, r#"{"f:rules":{}}"#).len(), 1);
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
