//! The tree that kustomizations work on. A scalar is its text and the tag that it was read with: as
//! in kustomize, a later text in its place must have the same type. Each node records its origin.

use std::sync::Arc;

use setpoint_yaml::go::{Shape, Timestamp, Tree, json_float};
use setpoint_yaml::{Dialect, Scalar as Resolved};

use crate::folded::refolded;
use crate::origin::Origin;
pub use crate::style::Style;

/// A node of a resource.
#[derive(Clone, Debug, Eq)]
pub struct Node {
    pub content: Content,
    pub origin: Origin,
    pub style: Style,
}

/// Equality ignores the style.
impl PartialEq for Node {
    fn eq(&self, other: &Self) -> bool {
        self.content == other.content && self.origin == other.origin
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    Scalar(Scalar),
    Seq(Vec<Node>),
    Map(Map),
}

/// A text and its type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scalar {
    pub text: Arc<str>,
    pub tag: Tag,
}

/// The type of a scalar as it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tag {
    /// Any type: that of the text as written.
    Any,
    Null,
    Bool,
    Int,
    Float,
    Text,
    Time,
}

/// The JSON value of a scalar.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    Null,
    Bool(bool),
    /// In the notation of JSON.
    Number(String),
    Text(Arc<str>),
}

/// A scalar whose text contradicts its tag, or that JSON cannot express. The text is not printed:
/// it may be from a Secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoValue {
    #[error("expected {wanted}, got another value")]
    Other { wanted: &'static str },
    #[error("the value is not a JSON number")]
    NonFinite,
    #[error("the zone of the time is a day or more from Greenwich")]
    FarZone,
}

impl Tag {
    /// Returns the type of a plain scalar with this text.
    pub fn of(text: &str) -> Self {
        match Dialect::GoYamlV3.resolve(text) {
            Resolved::Null => Self::Null,
            Resolved::Bool(_) => Self::Bool,
            // An integer of more than 64 bits is a float.
            Resolved::Int(digits) if digits.parse::<i64>().is_err() && digits.parse::<u64>().is_err() => Self::Float,
            Resolved::Int(_) => Self::Int,
            Resolved::Float(_) | Resolved::NonFinite(_) => Self::Float,
            Resolved::Str(_) if Timestamp::parse(text).is_some() => Self::Time,
            Resolved::Str(_) => Self::Text,
        }
    }

    fn describe(self) -> &'static str {
        match self {
            Self::Any => "anything",
            Self::Null => "null",
            Self::Bool => "a boolean",
            Self::Int => "an integer",
            Self::Float => "a number",
            Self::Text => "a text",
            Self::Time => "a time",
        }
    }
}

impl Scalar {
    pub fn text(text: impl Into<Arc<str>>) -> Self {
        Self { text: text.into(), tag: Tag::Text }
    }

    /// Builds a scalar that is written without quotes.
    pub fn plain(text: impl Into<Arc<str>>) -> Self {
        Self { text: text.into(), tag: Tag::Any }
    }

    pub fn value(&self) -> Result<Value, NoValue> {
        if self.tag == Tag::Text {
            return Ok(Value::Text(Arc::clone(&self.text)));
        }
        let found = Tag::of(&self.text);
        let wanted = if self.tag == Tag::Any { found } else { self.tag };
        let fits = found == wanted || (wanted, found) == (Tag::Float, Tag::Int);
        if !fits {
            return Err(NoValue::Other { wanted: wanted.describe() });
        }
        Ok(match Dialect::GoYamlV3.resolve(&self.text) {
            Resolved::Null => Value::Null,
            Resolved::Bool(value) => Value::Bool(value),
            Resolved::Int(digits) if found == Tag::Int && wanted == Tag::Int => Value::Number(digits.into_owned()),
            Resolved::Int(digits) | Resolved::Float(digits) => Value::Number(float(&digits)?),
            Resolved::NonFinite(_) => return Err(NoValue::NonFinite),
            Resolved::Str(text) => match Timestamp::parse(text) {
                Some(time) => Value::Text(time.json().ok_or(NoValue::FarZone)?.into()),
                None => Value::Text(Arc::clone(&self.text)),
            },
        })
    }

    /// Reports whether it was read as null. A text set later is a string, even if it reads like
    /// null.
    pub fn is_null(&self) -> bool {
        self.tag == Tag::Null
    }
}

fn float(digits: &str) -> Result<String, NoValue> {
    digits.parse().ok().and_then(json_float).ok_or(NoValue::NonFinite)
}

/// The fields of a node, in the order they were written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Map(Vec<(Arc<str>, Node)>);

/// A map grows one by one up to this number of fields.
const SMALL: usize = 4;

impl Map {
    pub const EMPTY: Self = Self(Vec::new());

    pub(crate) fn with_capacity(fields: usize) -> Self {
        Self(Vec::with_capacity(fields))
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn get(&self, name: &str) -> Option<&Node> {
        self.0.iter().find(|(own, _)| **own == *name).map(|(_, node)| node)
    }

    pub fn get_mut(&mut self, name: &str) -> Option<&mut Node> {
        self.0.iter_mut().find(|(own, _)| **own == *name).map(|(_, node)| node)
    }

    /// Sets a field at its place, or appends it.
    pub fn set(&mut self, name: &str, node: Node) {
        match self.get_mut(name) {
            Some(own) => *own = node,
            None => self.push(name.into(), node),
        }
    }

    /// Appends a field that is known to be absent.
    pub(crate) fn push(&mut self, name: Arc<str>, node: Node) {
        // Most maps are small, and maps dominate memory: spare capacity would be half of it.
        if self.0.len() < SMALL {
            self.0.reserve_exact(1);
        }
        self.0.push((name, node));
    }

    /// Sets the field at an index, counted from 0.
    pub(crate) fn put(&mut self, at: usize, node: Node) {
        if let Some((_, own)) = self.0.get_mut(at) {
            *own = node;
        }
    }

    pub fn remove(&mut self, name: &str) -> Option<Node> {
        let at = self.0.iter().position(|(own, _)| **own == *name)?;
        Some(self.0.remove(at).1)
    }

    pub(crate) fn retain(&mut self, keeps: impl Fn(&str) -> bool) {
        self.0.retain(|(name, _)| keeps(name));
    }

    /// Retains the fields for which `keeps` returns true, in their order. Stops at the first error
    /// and leaves the rest unchanged.
    pub(crate) fn try_retain<E>(
        &mut self,
        mut keeps: impl FnMut(&Arc<str>, &mut Node) -> Result<bool, E>,
    ) -> Result<(), E> {
        let mut problem = None;
        self.0.retain_mut(|(name, node)| {
            let answer = if problem.is_none() { keeps(name, node) } else { Ok(true) };
            answer.unwrap_or_else(|found| {
                problem = Some(found);
                true
            })
        });
        problem.map_or(Ok(()), Err)
    }

    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&Arc<str>, &Node)> {
        self.0.iter().map(|(name, node)| (name, node))
    }

    pub fn iter_mut(&mut self) -> impl ExactSizeIterator<Item = (&Arc<str>, &mut Node)> {
        self.0.iter_mut().map(|(name, node)| (&*name, node))
    }
}

/// Reports whether a name without quotes is a string. Kustomize does not quote the names of entries
/// that it adds, and cannot write the resource if one is read as another type.
pub(crate) fn is_bare_name(name: &str) -> bool {
    Tag::of(name) == Tag::Text
}

impl Node {
    pub fn new(content: Content, origin: Origin) -> Self {
        Self { content, origin, style: Style::Plain }
    }

    /// Builds a string for a new node.
    pub fn text(text: impl Into<Arc<str>>, origin: Origin) -> Self {
        let text = text.into();
        let style = Style::of_new(&text);
        Self { style, ..Self::new(Content::Scalar(Scalar::text(text)), origin) }
    }

    /// Builds a scalar without a tag for a new node: its type is that of its text. It is quoted if
    /// YAML 1.1 would read it as another type than a string.
    pub fn untagged(text: impl Into<Arc<str>>, origin: Origin) -> Self {
        let text = text.into();
        let style = Style::of_entry(&text);
        let tag = if style == Style::Quoted { Tag::Text } else { Tag::Any };
        Self { style, ..Self::new(Content::Scalar(Scalar { text, tag }), origin) }
    }

    pub fn as_map(&self) -> Option<&Map> {
        match &self.content {
            Content::Map(map) => Some(map),
            _ => None,
        }
    }

    pub fn as_map_mut(&mut self) -> Option<&mut Map> {
        match &mut self.content {
            Content::Map(map) => Some(map),
            _ => None,
        }
    }

    pub fn as_scalar(&self) -> Option<&Scalar> {
        match &self.content {
            Content::Scalar(scalar) => Some(scalar),
            _ => None,
        }
    }

    pub fn as_text(&self) -> Option<&str> {
        self.as_scalar().map(|scalar| &*scalar.text)
    }

    pub fn is_null(&self) -> bool {
        self.as_scalar().is_some_and(Scalar::is_null)
    }

    /// Reports whether the node is null now and an empty string after it was written.
    pub fn is_blank(&self) -> bool {
        self.style == Style::Blank && self.as_scalar().is_some_and(|scalar| scalar.tag == Tag::Null)
    }

    /// Returns the node at a path of fields.
    pub fn at(&self, fields: &[&str]) -> Option<&Self> {
        fields.iter().try_fold(self, |node, field| node.as_map()?.get(field))
    }
}

/// Writes a node. A scalar that [`Scalar::value`] rejects becomes null, so callers check first.
impl Tree for Node {
    fn shape(&self) -> Shape<'_, Self> {
        match &self.content {
            Content::Scalar(Scalar { text, tag: Tag::Text }) if self.style == Style::Folded => {
                Shape::Text(refolded(text))
            }
            Content::Scalar(Scalar { text, tag: Tag::Text }) => Shape::Text((&**text).into()),
            Content::Scalar(_) if self.is_blank() => Shape::Text("".into()),
            Content::Scalar(scalar) => match scalar.value() {
                Ok(Value::Null) | Err(_) => Shape::Null,
                Ok(Value::Bool(value)) => Shape::Bool(value),
                Ok(Value::Number(json)) => Shape::Number(json.into()),
                Ok(Value::Text(text)) => Shape::Text(String::from(&*text).into()),
            },
            Content::Seq(items) => Shape::Seq(items.iter().collect()),
            Content::Map(map) => Shape::Map(map.0.iter().map(|(name, node)| (&**name, node)).collect()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn is(text: &str, value: &Value) {
        assert_eq!(Scalar::plain(text).value().as_ref(), Ok(value), "{text}");
        assert_eq!(Scalar { text: text.into(), tag: Tag::of(text) }.value().as_ref(), Ok(value), "{text}");
    }

    #[test]
    fn plain_scalars_are_what_go_yaml_v3_reads() {
        let number = |json: &str| Value::Number(json.to_owned());
        is("~", &Value::Null);
        is("true", &Value::Bool(true));
        is("yes", &Value::Text("yes".into()));
        is("012", &number("10"));
        is("0o14", &number("12"));
        is("1_000", &number("1000"));
        is("1e3", &number("1000"));
        is("1.50", &number("1.5"));
        is("18446744073709551616", &number("18446744073709552000"));
        is("2020-01-01", &Value::Text("2020-01-01T00:00:00Z".into()));
        is("v1", &Value::Text("v1".into()));
        assert!(matches!(Scalar::plain(".inf").value(), Err(NoValue::NonFinite)));
    }

    #[test]
    fn a_text_in_the_place_of_something_else_has_to_be_of_its_kind() {
        let put = |text: &str, tag| Scalar { text: text.into(), tag }.value();
        assert_eq!(put("12", Tag::Text), Ok(Value::Text("12".into())));
        assert_eq!(put("12", Tag::Float), Ok(Value::Number("12".into())));
        for (text, tag) in [("abc", Tag::Int), ("1.5", Tag::Int), ("1", Tag::Bool), ("x", Tag::Null)] {
            assert!(matches!(put(text, tag), Err(NoValue::Other { .. })), "{text} {tag:?}");
        }
    }
}
