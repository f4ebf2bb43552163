//! Values: the one shape of everything declared and observed.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::fields::Fields;
use crate::key::Key;
use crate::num::Num;
use crate::secret::SecretRef;

/// A declared or observed value. Maps are ordered, numbers exact, secrets references.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum Value {
    #[default]
    Null,
    Bool(bool),
    Num(Num),
    Str(Arc<str>),
    Seq(Vec<Value>),
    Map(Fields),
    /// A reference to a secret; the bytes are sealed per target.
    Secret(SecretRef),
    /// Known only once another resource exists.
    Deferred(Deferred),
}

/// A value that another resource will have, with the path at which to find it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Deferred {
    pub resource: Key,
    pub path: Path,
}

/// One step of a path into a value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Segment {
    Index(usize),
    Field(Arc<str>),
}

/// The place of a value within another one: `spec.template.containers[0].image`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Path(pub Vec<Segment>);

impl std::fmt::Display for Path {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.0.is_empty() {
            return f.write_str("(whole)");
        }
        for (n, segment) in self.0.iter().enumerate() {
            match segment {
                Segment::Index(index) => write!(f, "[{index}]")?,
                Segment::Field(field) if is_plain(field) && n == 0 => write!(f, "{field}")?,
                Segment::Field(field) if is_plain(field) => write!(f, ".{field}")?,
                Segment::Field(field) => write!(f, "[{field:?}]")?,
            }
        }
        Ok(())
    }
}

fn is_plain(field: &str) -> bool {
    !field.is_empty() && field.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
}

impl Value {
    pub fn str(text: &str) -> Self {
        Self::Str(text.into())
    }

    pub fn int(n: i64) -> Self {
        Self::Num(n.into())
    }

    pub fn map<K: Into<Arc<str>>>(entries: impl IntoIterator<Item = (K, Self)>) -> Self {
        Self::Map(entries.into_iter().map(|(key, value)| (key.into(), value)).collect())
    }

    /// Returns the value of a field, if this is a map that has it.
    pub fn get(&self, field: &str) -> Option<&Self> {
        match self {
            Self::Map(map) => map.get(field),
            _ => None,
        }
    }

    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::Str(text) => Some(text),
            _ => None,
        }
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::str(text)
    }
}

impl From<i64> for Value {
    fn from(n: i64) -> Self {
        Self::int(n)
    }
}

impl From<bool> for Value {
    fn from(b: bool) -> Self {
        Self::Bool(b)
    }
}
