//! The text of paths: the notation of people, and that of the server.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use setpoint_core::value::Value;

use super::{Atom, Element, FieldPath};
use crate::json;

/// The error for a text that is not a path.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a path to a field: {problem}")]
pub struct BadPath {
    /// The given text, escaped.
    pub text: String,
    /// The problem, and the correction.
    pub problem: &'static str,
}

/// A step of a path as people write it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Part {
    /// `[*]`: every field, every item.
    Any,
    Exactly(Element),
}

impl fmt::Display for Atom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Value::Str(text) => f.write_str(&quoted(text)),
            other => match json::write(other) {
                Ok(bytes) => f.write_str(&String::from_utf8_lossy(&bytes)),
                Err(_) => f.write_str("(secret)"),
            },
        }
    }
}

fn is_plain(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
}

/// Quotes a text with JSON's escapes, so that it can be read again.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

impl Element {
    /// Formats the step in the server's notation, in which `.a.b` may be one field or two.
    pub(crate) fn server_text(&self) -> String {
        match self {
            Self::Field(name) => format!(".{name}"),
            other => other.to_string(),
        }
    }
}

impl fmt::Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field(name) if is_plain(name) => write!(f, ".{name}"),
            Self::Field(name) => write!(f, "[{}]", quoted(name)),
            Self::Member(value) => write!(f, "[={value}]"),
            Self::Index(index) => write!(f, "[{index}]"),
            Self::Item(keys) => {
                for (n, (name, value)) in keys.iter().enumerate() {
                    write!(f, "{}{name}={value}", if n == 0 { "[" } else { "," })?;
                }
                f.write_str("]")
            }
        }
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => f.write_str("[*]"),
            Self::Exactly(element) => element.fmt(f),
        }
    }
}

/// Formats consecutive steps; the first one has no dot before it.
pub(crate) fn show<T: fmt::Display>(parts: &[T], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if parts.is_empty() {
        return f.write_str("(whole)");
    }
    let text: String = parts.iter().map(ToString::to_string).collect();
    f.write_str(text.strip_prefix('.').unwrap_or(&text))
}

impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        show(&self.0, f)
    }
}

impl FieldPath {
    /// Formats the path in the server's notation, as in conflicts.
    pub fn to_server_text(&self) -> String {
        self.0.iter().map(Element::server_text).collect()
    }
}

impl FromStr for FieldPath {
    type Err = BadPath;

    /// Reads people's notation, and the server's if no name contains a `.`.
    fn from_str(text: &str) -> Result<Self, BadPath> {
        let exact = |part| match part {
            Part::Exactly(element) => Ok(element),
            Part::Any => Err(bad(text, "`[*]` matches many fields: name one")),
        };
        parts(text)?.into_iter().map(exact).collect::<Result<_, _>>().map(Self)
    }
}

fn bad(text: &str, problem: &'static str) -> BadPath {
    BadPath { text: text.chars().take(200).flat_map(char::escape_debug).collect(), problem }
}

/// Splits a path in people's notation into its steps.
pub(crate) fn parts(text: &str) -> Result<Vec<Part>, BadPath> {
    let mut parts = Vec::new();
    let mut rest = text.strip_prefix('.').unwrap_or(text);
    let mut dotted = true;
    while !rest.is_empty() {
        if let Some(inner) = rest.strip_prefix('[') {
            let end = bracket_end(inner).ok_or_else(|| bad(text, "a `[` is not closed"))?;
            parts.push(bracket(&inner[..end]).map_err(|problem| bad(text, problem))?);
            rest = &inner[end + 1..];
        } else {
            if !dotted {
                return Err(bad(text, "write `.` or `[` after a `]`"));
            }
            let end = rest.find(['.', '[']).unwrap_or(rest.len());
            if end == 0 {
                return Err(bad(text, "a name is missing: write it as `spec.replicas`"));
            }
            parts.push(if &rest[..end] == "*" { Part::Any } else { Part::Exactly(Element::field(&rest[..end])) });
            rest = &rest[end..];
        }
        dotted = rest.starts_with('.');
        if dotted {
            rest = &rest[1..];
            if rest.is_empty() {
                return Err(bad(text, "a name is missing after the last `.`"));
            }
        }
    }
    if parts.is_empty() { Err(bad(text, "it is empty: write it as `spec.replicas`")) } else { Ok(parts) }
}

/// Returns the position of the closing bracket: the first `]` outside quotes.
fn bracket_end(inner: &str) -> Option<usize> {
    let (mut quoted, mut escaped) = (false, false);
    for (at, byte) in inner.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b']' if !quoted => return Some(at),
            _ => {}
        }
    }
    None
}

fn bracket(inner: &str) -> Result<Part, &'static str> {
    if inner == "*" {
        return Ok(Part::Any);
    }
    if let Some(member) = inner.strip_prefix('=') {
        return Ok(Part::Exactly(Element::Member(Box::new(atom(member)?))));
    }
    if inner.starts_with('"') {
        return match atom(inner)?.0 {
            Value::Str(name) => Ok(Part::Exactly(Element::Field(name))),
            _ => Err("a quoted name is not closed"),
        };
    }
    if let Ok(index) = inner.parse() {
        return Ok(Part::Exactly(Element::Index(index)));
    }
    if inner.contains('=') {
        return keys(inner).map(|keys| Part::Exactly(Element::item(keys)));
    }
    if inner.is_empty() { Err("the brackets are empty") } else { Ok(Part::Exactly(Element::field(inner))) }
}

/// Reads keys: `name="app"`, `port=53,protocol="UDP"`.
fn keys(text: &str) -> Result<Vec<(Arc<str>, Value)>, &'static str> {
    let mut keys = Vec::new();
    let mut rest = text;
    loop {
        let (name, after) = rest.split_once('=').ok_or("a key has no `=`: write it as `[name=\"app\"]`")?;
        let end = value_end(after);
        keys.push((name.into(), atom(&after[..end])?.0));
        match after[end..].strip_prefix(',') {
            Some(more) => rest = more,
            None => return Ok(keys),
        }
    }
}

fn value_end(text: &str) -> usize {
    let (mut quoted, mut escaped) = (false, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b',' if !quoted => return at,
            _ => {}
        }
    }
    text.len()
}

/// Reads a quoted text, a number, true, false or null; anything else is text without quotes.
fn atom(text: &str) -> Result<Atom, &'static str> {
    match json::read(text.as_bytes()) {
        Ok(value) => Ok(Atom(value)),
        Err(_) if text.starts_with('"') => Err("a quoted text is not closed"),
        Err(_) if text.is_empty() => Err("a value is missing after `=`"),
        Err(_) => Ok(Atom(Value::str(text))),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::samples::any_path;

    #[test]
    fn people_and_the_server_write_the_same_path() {
        let image = FieldPath(vec![
            Element::field("spec"),
            Element::field("containers"),
            Element::item([("name", Value::str("app"))]),
            Element::field("image"),
        ]);
        for text in [
            r#"spec.containers[name="app"].image"#,
            r#".spec.containers[name="app"].image"#,
            "spec.containers[name=app].image",
            r#"["spec"]["containers"][name="app"]["image"]"#,
        ] {
            assert_eq!(text.parse(), Ok(image.clone()), "{text}");
        }
        assert_eq!(image.to_string(), r#"spec.containers[name="app"].image"#);
        assert_eq!(image.to_server_text(), r#".spec.containers[name="app"].image"#);
    }

    #[test]
    fn names_with_dots_are_written_in_brackets() {
        let path = FieldPath::fields(&["metadata", "annotations", "example.com/x"]);
        assert_eq!("metadata.annotations[example.com/x]".parse(), Ok(path.clone()));
        assert_eq!(path.to_string(), r#"metadata.annotations["example.com/x"]"#);
    }

    #[test]
    fn keys_are_values_and_not_texts() {
        let port = Element::item([("containerPort", Value::int(80)), ("protocol", "TCP".into())]);
        assert_eq!("a[containerPort=80,protocol=TCP]".parse(), Ok(FieldPath(vec![Element::field("a"), port])));
        let quoted = Element::item([("name", Value::str("a]b,c\"d"))]);
        assert_eq!(r#"a[name="a]b,c\"d"]"#.parse(), Ok(FieldPath(vec![Element::field("a"), quoted])));
    }

    #[test]
    fn what_is_no_path_is_refused_with_what_would_be_right() {
        for text in ["", ".", "a.", "a..b", "a[", "a[]", "a[*]", "a[x", "a]b[0]c", "a[\"x]", "a[name=]", "a[b=c,d]"] {
            assert!(text.parse::<FieldPath>().is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_path_survives_its_text(path in any_path()) {
            prop_assert_eq!(path.to_string().parse(), Ok(path));
        }

        #[test]
        fn text_never_panics(text in "[a-c.*=\\[\\]\",0-9\\\\]{0,16}") {
            let _ = text.parse::<FieldPath>();
        }
    }
}
