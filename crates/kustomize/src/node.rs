//! The tree that kustomizations work on. A scalar is the text that stands there and the tag that it
//! was read with: a text that is put in its place later has to be of the same kind, as in
//! kustomize. Each node knows where it came from.

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

/// How it was written is no part of what it is.
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

/// A text, and what it was read as.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scalar {
    pub text: Arc<str>,
    pub tag: Tag,
}

/// What a scalar was read as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tag {
    /// Whatever the text says.
    Any,
    Null,
    Bool,
    Int,
    Float,
    Text,
    Time,
}

/// What a scalar is in JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    Null,
    Bool(bool),
    /// As JSON writes it.
    Number(String),
    Text(Arc<str>),
}

/// A scalar whose text is not what its tag says, or that JSON has no word for. The text is not
/// told: it may have been taken from a Secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoValue {
    #[error("something else stands where {wanted} was read")]
    Other { wanted: &'static str },
    #[error("what stands there is no number of JSON")]
    NonFinite,
    #[error("the zone of the time that stands there is a day or more from Greenwich")]
    FarZone,
}

impl Tag {
    /// What a plain scalar of this text is read as.
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

    /// As if it were written without quotes.
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

    /// Whether it was read as null. What was put there later and reads like it is a text on its
    /// way.
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

/// So many fields a map grows to one by one.
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

    /// Puts a field where it was, or behind all others.
    pub fn set(&mut self, name: &str, node: Node) {
        match self.get_mut(name) {
            Some(own) => *own = node,
            None => self.push(name.into(), node),
        }
    }

    /// Adds a field that is known not to be there.
    pub(crate) fn push(&mut self, name: Arc<str>, node: Node) {
        // Most maps are small, and most of what they are made of: room for fields that never come
        // would be half of it.
        if self.0.len() < SMALL {
            self.0.reserve_exact(1);
        }
        self.0.push((name, node));
    }

    /// Sets the field that stands at a place, counted from 0.
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

    /// Keeps the fields for which the answer is yes, in their order. With the first error it stops,
    /// and the rest is as it was.
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

/// Whether a name is a text without quotes. Kustomize puts none around the names of entries that it
/// adds, and cannot write the resource if one is read as something else then.
pub(crate) fn is_bare_name(name: &str) -> bool {
    Tag::of(name) == Tag::Text
}

impl Node {
    pub fn new(content: Content, origin: Origin) -> Self {
        Self { content, origin, style: Style::Plain }
    }

    /// A text that is put where nothing was.
    pub fn text(text: impl Into<Arc<str>>, origin: Origin) -> Self {
        let text = text.into();
        let style = Style::of_new(&text);
        Self { style, ..Self::new(Content::Scalar(Scalar::text(text)), origin) }
    }

    /// A text that is put where nothing was, and that nobody says is one: it is what it looks like,
    /// or has quotes where YAML 1.1 would take it for something else.
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

    /// Whether it is null, and an empty text once it was written.
    pub fn is_blank(&self) -> bool {
        self.style == Style::Blank && self.as_scalar().is_some_and(|scalar| scalar.tag == Tag::Null)
    }

    /// The node at a path of fields.
    pub fn at(&self, fields: &[&str]) -> Option<&Self> {
        fields.iter().try_fold(self, |node, field| node.as_map()?.get(field))
    }
}

/// As it is written. What [`Scalar::value`] does not know is null: ask before.
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
