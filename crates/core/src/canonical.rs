//! The canonical byte form: compact JSON with one spelling per value. Digests are taken over it,
//! and it reads back without loss.
//!
//! Its input consists of structs (fields in declared order), ordered maps and integers, so equal
//! values have equal bytes. A value that JSON cannot express is an object with one key that starts
//! with `$`: `{"$num":"0.5"}`, `{"$secret":…}`, `{"$deferred":…}`. A declared key that starts with
//! `$` gets one more `$`, so no declared map can pose as one of these.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use serde::de::{self, MapAccess, SeqAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::digest::Digest;
use crate::value::Value;

/// Returns the canonical bytes of a value.
pub fn to_bytes<T: Serialize>(value: &T) -> Vec<u8> {
    serde_json::to_vec(value).expect("our types have string keys and no failing serializers")
}

/// Appends the canonical bytes of a value.
pub(crate) fn append<T: Serialize>(value: &T, bytes: &mut Vec<u8>) {
    serde_json::to_writer(bytes, value).expect("our types have string keys and no failing serializers");
}

/// Returns the digest of a value's canonical bytes.
pub fn digest_of<T: Serialize>(value: &T) -> Digest {
    Digest::of(&to_bytes(value))
}

/// An error for stored bytes that differ from those that were written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("stored bytes cannot be read: {problem}")]
pub struct Unreadable {
    pub problem: String,
}

/// Reads canonical bytes back.
pub fn from_bytes<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, Unreadable> {
    serde_json::from_slice(bytes).map_err(|error| Unreadable { problem: error.to_string() })
}

const NUM: &str = "$num";
const SECRET: &str = "$secret";
const DEFERRED: &str = "$deferred";

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Bool(b) => serializer.serialize_bool(*b),
            Self::Num(n) => match n.as_i128().and_then(|n| i64::try_from(n).ok()) {
                Some(n) => serializer.serialize_i64(n),
                None => special(serializer, NUM, &n.to_string()),
            },
            Self::Str(text) => serializer.serialize_str(text),
            Self::Seq(items) => serializer.collect_seq(items),
            Self::Map(map) => serializer.collect_map(map.iter().map(|(key, value)| (escaped(key), value))),
            Self::Secret(secret) => special(serializer, SECRET, secret),
            Self::Deferred(deferred) => special(serializer, DEFERRED, deferred),
        }
    }
}

fn special<S: Serializer, T: Serialize>(serializer: S, name: &str, content: &T) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(Some(1))?;
    map.serialize_entry(name, content)?;
    map.end()
}

fn escaped(key: &str) -> Cow<'_, str> {
    if key.starts_with('$') { Cow::Owned(format!("${key}")) } else { Cow::Borrowed(key) }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ValueVisitor)
    }
}

struct ValueVisitor;

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value in canonical form")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, b: bool) -> Result<Value, E> {
        Ok(Value::Bool(b))
    }

    fn visit_i64<E>(self, n: i64) -> Result<Value, E> {
        Ok(Value::Num(n.into()))
    }

    fn visit_u64<E>(self, n: u64) -> Result<Value, E> {
        Ok(Value::Num(n.into()))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::str(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element()? {
            items.push(item);
        }
        Ok(Value::Seq(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut fields = Vec::new();
        while let Some(name) = access.next_key()? {
            match name {
                Name::Field(name) => fields.push((name, access.next_value()?)),
                Name::Special(name) => return special_value(&name, &mut access),
            }
        }
        Ok(Value::Map(fields.into_iter().collect()))
    }
}

/// The name of a field or of a special form: the text before a `:`.
enum Name {
    Field(Arc<str>),
    Special(String),
}

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(NameVisitor)
    }
}

struct NameVisitor;

impl Visitor<'_> for NameVisitor {
    type Value = Name;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a field")
    }

    fn visit_str<E>(self, name: &str) -> Result<Name, E> {
        Ok(match name.strip_prefix('$') {
            Some(rest) if rest.starts_with('$') => Name::Field(rest.into()),
            Some(_) => Name::Special(name.to_owned()),
            None => Name::Field(name.into()),
        })
    }
}

fn special_value<'de, A: MapAccess<'de>>(name: &str, access: &mut A) -> Result<Value, A::Error> {
    let value = match name {
        NUM => Value::Num(access.next_value::<String>()?.parse().map_err(de::Error::custom)?),
        SECRET => Value::Secret(access.next_value()?),
        DEFERRED => Value::Deferred(access.next_value()?),
        _ => return Err(de::Error::custom(format!("`{name}` is not a form of value"))),
    };
    match access.next_key::<Cow<'de, str>>()? {
        None => Ok(value),
        Some(extra) => Err(de::Error::custom(format!("unexpected `{extra}` next to `{name}`"))),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::digest::DigestKey;
    use crate::key::Key;
    use crate::secret::SecretRef;
    use crate::value::{Deferred, Path, Segment};
    use proptest::prelude::*;

    pub(crate) fn any_value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::Bool),
            any::<i64>().prop_map(Value::int),
            (any::<i64>(), -30i32..30).prop_map(|(m, e)| Value::Num(format!("{m}e{e}").parse().unwrap())),
            "[$a-z\"\\\\\n\u{1}é]{0,6}".prop_map(|s| Value::str(&s)),
            "[a-z]{1,4}".prop_map(|s| Value::Secret(SecretRef {
                digest: DigestKey::new([7; 32]).digest(s.as_bytes()),
                name: s.as_str().into(),
            })),
            (0usize..3).prop_map(|n| Value::Deferred(Deferred {
                resource: Key::new("file", "", "/a").unwrap(),
                path: Path(vec![Segment::Field("a".into()), Segment::Index(n)]),
            })),
        ];
        leaf.prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::Seq),
                proptest::collection::btree_map("[$a-c]{0,3}", inner, 0..4).prop_map(Value::map),
            ]
        })
    }

    proptest! {
        #[test]
        fn values_survive_their_canonical_form(value in any_value()) {
            let bytes = to_bytes(&value);
            let back: Value = from_bytes(&bytes).unwrap();
            prop_assert_eq!(&back, &value);
            prop_assert_eq!(to_bytes(&back), bytes);
        }

        #[test]
        fn different_values_have_different_bytes(a in any_value(), b in any_value()) {
            prop_assert_eq!(a == b, to_bytes(&a) == to_bytes(&b));
        }
    }

    #[test]
    fn a_declared_map_cannot_pose_as_a_secret() {
        let posing = Value::map([("$secret", Value::map([("name", Value::str("db"))]))]);
        assert_eq!(String::from_utf8(to_bytes(&posing)).unwrap(), r#"{"$$secret":{"name":"db"}}"#);
        assert_eq!(from_bytes::<Value>(&to_bytes(&posing)), Ok(posing));
    }

    #[test]
    fn bytes_that_nobody_wrote_are_refused() {
        for text in ["", "{", "1.5", r#"{"$num":"x"}"#, r#"{"$other":1}"#, r#"{"$num":"1.5","a":1}"#] {
            assert!(from_bytes::<Value>(text.as_bytes()).is_err(), "{text}");
        }
    }
}
