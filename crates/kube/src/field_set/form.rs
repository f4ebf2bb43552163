//! The server's form of sets (`fieldsV1`): `f:` a field, `k:` an item by its keys, `v:` a member,
//! `i:` a position, `.` the path itself.
//!
//! We store the same form with two additions that the server never writes: a leaf of which only the
//! existence is ours is `{".":{}}`, and one that is only claimed is `{"-":{}}`.

use std::sync::Arc;

use setpoint_core::value::Value;

use super::{FieldSet, Node, Own};
use crate::json;
use crate::path::Element;

/// The error for bytes or values that are no set of fields.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{at}` is not a field of a fieldsV1 set: {problem}; apply the object again, so that the server rewrites it")]
pub struct BadFieldSet {
    pub at: String,
    pub problem: &'static str,
}

fn bad(at: &str, problem: &'static str) -> BadFieldSet {
    BadFieldSet { at: at.chars().take(100).flat_map(char::escape_debug).collect(), problem }
}

impl FieldSet {
    /// Reads `fieldsV1` of an entry of `managedFields`.
    pub fn from_fields_v1(fields: &Value) -> Result<Self, BadFieldSet> {
        let mut root = node(fields, "fieldsV1")?;
        if root.own == Own::Whole {
            // `{}` at the top is the empty set, while below it is a leaf.
            root.own = Own::No;
        }
        Ok(Self::of(root))
    }

    pub fn from_bytes(bytes: &[u8]) -> Result<Self, BadFieldSet> {
        let fields = json::read(bytes).map_err(|_| bad("", "it is not JSON"))?;
        Self::from_fields_v1(&fields)
    }

    /// Writes the form that the server accepts.
    pub fn to_fields_v1(&self) -> Value {
        self.compared().0.to_value()
    }

    /// Writes the stored form, which can be read back.
    pub fn to_bytes(&self) -> Vec<u8> {
        json::write(&self.0.to_value()).expect("a set is made of plain values")
    }
}

fn node(fields: &Value, at: &str) -> Result<Node, BadFieldSet> {
    let Value::Map(fields) = fields else { return Err(bad(at, "it is not a map")) };
    let mut children = Vec::with_capacity(fields.len());
    let mut itself = None;
    for (name, below) in fields.iter() {
        match &**name {
            "." => itself = Some(Own::Existence),
            "-" => itself = itself.or(Some(Own::Claim)),
            name => children.push((element(name)?, Arc::new(node(below, name)?))),
        }
    }
    children.sort_by(|(a, _), (b, _)| a.cmp(b));
    let own = match (itself, children.is_empty()) {
        (Some(own), _) => own,
        (None, true) => Own::Whole,
        (None, false) => Own::No,
    };
    Ok(Node::new(own, children))
}

fn element(name: &str) -> Result<Element, BadFieldSet> {
    let (form, content) = name.split_once(':').ok_or_else(|| bad(name, "it has no prefix"))?;
    let value = || json::read(content.as_bytes()).map_err(|_| bad(name, "its value is not JSON"));
    match form {
        "f" => Ok(Element::field(content)),
        "k" => match value()? {
            Value::Map(keys) if !keys.is_empty() => Ok(Element::item(keys)),
            _ => Err(bad(name, "it has no keys")),
        },
        "v" => value().map(Element::member),
        "i" => content.parse().map(Element::Index).map_err(|_| bad(name, "it is no position")),
        _ => Err(bad(name, "it has an unknown prefix")),
    }
}

impl Node {
    fn to_value(&self) -> Value {
        let itself = match self.own {
            Own::Existence => Some("."),
            Own::Claim => Some("-"),
            // Nothing is written for a leaf that is ours as a whole.
            Own::No | Own::Whole => None,
        };
        let itself = itself.map(|name| (Arc::from(name), Value::map::<&str>([])));
        let children = self.children.iter().map(|(element, child)| (name_of(element).into(), child.to_value()));
        Value::Map(itself.into_iter().chain(children).collect())
    }
}

fn name_of(element: &Element) -> String {
    let json = |value: &Value| {
        let bytes = json::write(value).expect("values in paths are plain");
        String::from_utf8(bytes).expect("JSON is text")
    };
    match element {
        Element::Field(name) => format!("f:{name}"),
        Element::Item(keys) => {
            let keys = keys.iter().map(|(name, value)| (Arc::clone(name), value.0.clone()));
            format!("k:{}", json(&Value::Map(keys.collect())))
        }
        Element::Member(value) => format!("v:{}", json(&value.0)),
        Element::Index(index) => format!("i:{index}"),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::samples::any_paths;

    fn set(text: &str) -> FieldSet {
        FieldSet::from_bytes(text.as_bytes()).unwrap()
    }

    #[test]
    fn the_servers_form_is_read() {
        let set =
            set(r#"{"f:metadata":{"f:finalizers":{".":{},"v:\"a/b\"":{}},"f:labels":{"f:app.kubernetes.io/name":{}}},
            "f:spec":{"f:ports":{"k:{\"port\":80,\"protocol\":\"TCP\"}":{".":{},"f:port":{}}},"f:args":{"i:0":{}}}}"#);
        let paths: Vec<_> = set.paths().iter().map(ToString::to_string).collect();
        assert_eq!(
            paths,
            [
                "metadata.finalizers",
                r#"metadata.finalizers[="a/b"]"#,
                r#"metadata.labels["app.kubernetes.io/name"]"#,
                "spec.args[0]",
                r#"spec.ports[port=80,protocol="TCP"]"#,
                r#"spec.ports[port=80,protocol="TCP"].port"#,
            ]
        );
    }

    #[test]
    fn existence_of_a_leaf_is_not_the_whole_of_it() {
        let (whole, existence) = (set(r#"{"f:a":{}}"#), set(r#"{"f:a":{".":{}}}"#));
        assert_ne!(whole, existence);
        assert_eq!(whole.union(&existence), whole);
        assert!(whole.is_within(&existence) && existence.is_within(&whole), "they hold the same path");
        assert_eq!(existence.to_bytes(), br#"{"f:a":{".":{}}}"#);
    }

    #[test]
    fn what_the_server_would_not_write_is_refused() {
        for text in [
            "",
            "[]",
            "1",
            r#"{"a":{}}"#,
            r#"{"x:a":{}}"#,
            r#"{"f:a":1}"#,
            r#"{"k:1":{}}"#,
            r#"{"k:{}":{}}"#,
            r#"{"v:":{}}"#,
            r#"{"i:x":{}}"#,
        ] {
            assert!(FieldSet::from_bytes(text.as_bytes()).is_err(), "{text}");
        }
        assert!(set("{}").is_empty());
    }

    proptest! {
        #[test]
        fn a_set_survives_its_stored_form(paths in any_paths()) {
            let set = FieldSet::from_paths(paths);
            prop_assert_eq!(FieldSet::from_bytes(&set.to_bytes()), Ok(set));
        }
    }
}
