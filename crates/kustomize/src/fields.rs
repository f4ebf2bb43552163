//! Reads the fields of documents that kustomize reads into its own types. Names are
//! case-insensitive, and null is the same as an omitted field. Unknown names and values of an
//! unexpected type are rejected.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use crate::identity::Gvk;
use crate::node::{Content, Map, Node, Scalar, Tag};
use crate::origin::Origin;

/// A field with a wrong name or value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadField {
    /// The path from the root of the document: `patches[0].target.kind`.
    pub path: String,
    pub origin: Origin,
    pub problem: String,
    pub help: String,
}

impl fmt::Display for BadField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: {}", self.path, self.problem, self.help)
    }
}

impl std::error::Error for BadField {}

/// Strings by name.
pub type Texts = BTreeMap<Arc<str>, Arc<str>>;

/// The fields of one map; records which names are known.
#[derive(Debug)]
pub struct Fields<'n> {
    map: &'n Map,
    path: String,
    origin: Origin,
    known: RefCell<BTreeSet<String>>,
}

impl<'n> Fields<'n> {
    /// Reads the fields of a map. `path` is the path of the map; empty for a whole document.
    pub fn of(node: &'n Node, path: &str) -> Result<Self, BadField> {
        match &node.content {
            Content::Map(map) => {
                let fields = Self { map, path: path.to_owned(), origin: node.origin, known: RefCell::default() };
                fields.refuse_what_go_mixes()?;
                Ok(fields)
            }
            // A null item has no fields.
            Content::Scalar(scalar) if scalar.is_null() && !path.is_empty() => {
                static NONE: Map = Map::EMPTY;
                Ok(Self { map: &NONE, path: path.to_owned(), origin: node.origin, known: RefCell::default() })
            }
            _ => Err(wrong(path, node, "a map")),
        }
    }

    /// Rejects maps under one name in several cases. Of other duplicates the last one wins, but Go
    /// merges maps field by field, which no one intends.
    fn refuse_what_go_mixes(&self) -> Result<(), BadField> {
        let mut seen = BTreeMap::new();
        for (name, node) in self.map.iter().filter(|(_, node)| node.as_map().is_some()) {
            if let Some(other) = seen.insert(name.to_ascii_lowercase(), name) {
                return Err(BadField {
                    path: self.path_of(name),
                    origin: node.origin,
                    problem: format!("it is written twice, as `{other}` too"),
                    help: "keep one of them".to_owned(),
                });
            }
        }
        Ok(())
    }

    fn path_of(&self, name: &str) -> String {
        if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) }
    }

    /// Returns the node of a field, unless it is null. If a name is written in several cases, the
    /// last in the order of names wins, as in Go.
    pub fn node(&self, name: &str) -> Option<&'n Node> {
        self.known.borrow_mut().insert(name.to_lowercase());
        let is_it = |own: &str| own.eq_ignore_ascii_case(name);
        let named = self.map.iter().filter(|(own, _)| is_it(own)).max_by(|one, other| one.0.cmp(other.0));
        named.map(|(_, node)| node).filter(|node| !node.is_null())
    }

    pub fn text(&self, name: &str) -> Result<Option<Arc<str>>, BadField> {
        self.node(name).map(|node| text(node, &self.path_of(name))).transpose()
    }

    /// Returns the string of a field, or an empty one if it is omitted.
    pub fn text_or_empty(&self, name: &str) -> Result<Arc<str>, BadField> {
        Ok(self.text(name)?.unwrap_or_default())
    }

    pub fn flag(&self, name: &str) -> Result<Option<bool>, BadField> {
        let flag = |node: &Node| match node.as_scalar() {
            Some(Scalar { text, tag: Tag::Bool }) => Ok(is_yes(text)),
            _ => Err(wrong(&self.path_of(name), node, "true or false")),
        };
        self.node(name).map(flag).transpose()
    }

    pub fn integer(&self, name: &str) -> Result<Option<i64>, BadField> {
        let integer = |node: &Node| match node.as_scalar() {
            // JSON writes a float without a fraction as an integer.
            Some(scalar @ Scalar { tag: Tag::Int | Tag::Float, .. }) => match scalar.value() {
                Ok(crate::node::Value::Number(digits)) => {
                    digits.parse().map_err(|_| wrong(&self.path_of(name), node, "an integer of 64 bits"))
                }
                _ => Err(wrong(&self.path_of(name), node, "an integer")),
            },
            _ => Err(wrong(&self.path_of(name), node, "an integer")),
        };
        self.node(name).map(integer).transpose()
    }

    pub fn texts(&self, name: &str) -> Result<Vec<Arc<str>>, BadField> {
        self.list(name, text)
    }

    /// Reads a list item by item; an omitted list is empty.
    pub fn list<T>(
        &self,
        name: &str,
        read: impl Fn(&'n Node, &str) -> Result<T, BadField>,
    ) -> Result<Vec<T>, BadField> {
        let path = self.path_of(name);
        let Some(node) = self.node(name) else { return Ok(Vec::new()) };
        let Content::Seq(items) = &node.content else { return Err(wrong(&path, node, "a list")) };
        items.iter().enumerate().map(|(at, item)| read(item, &format!("{path}[{at}]"))).collect()
    }

    /// Returns a map of strings, or `None` if it is omitted.
    pub fn text_map(&self, name: &str) -> Result<Option<Texts>, BadField> {
        let path = self.path_of(name);
        let Some(node) = self.node(name) else { return Ok(None) };
        let Content::Map(map) = &node.content else { return Err(wrong(&path, node, "a map of texts")) };
        let entry = |(name, node): (&Arc<str>, &Node)| {
            let value = if node.is_null() { "".into() } else { text(node, &format!("{path}.{name}"))? };
            Ok((Arc::clone(name), value))
        };
        map.iter().map(entry).collect::<Result<_, BadField>>().map(Some)
    }

    /// Reads a value from a map of its own.
    pub fn inner<T>(
        &self,
        name: &str,
        read: impl Fn(&'n Node, &str) -> Result<T, BadField>,
    ) -> Result<Option<T>, BadField> {
        self.node(name).map(|node| read(node, &self.path_of(name))).transpose()
    }

    /// Reads group, version and kind, each of which may be omitted.
    pub fn gvk(&self) -> Result<Gvk, BadField> {
        Ok(Gvk {
            group: self.text_or_empty("group")?,
            version: self.text_or_empty("version")?,
            kind: self.text_or_empty("kind")?,
        })
    }

    pub fn origin(&self) -> Origin {
        self.origin
    }

    /// Rejects fields that were not read.
    pub fn end(self) -> Result<(), BadField> {
        let known = self.known.borrow();
        let unknown = self.map.iter().find(|(name, _)| !known.contains(&name.to_lowercase()));
        match unknown {
            None => Ok(()),
            Some((name, node)) => Err(BadField {
                path: self.path_of(name),
                origin: node.origin,
                problem: format!("unknown field \"{name}\""),
                help: "remove it, or correct its name".to_owned(),
            }),
        }
    }
}

/// Returns the value of a boolean, including the other words of YAML 1.1.
pub(crate) fn is_yes(text: &str) -> bool {
    matches!(text.as_bytes().first(), Some(b't' | b'T' | b'y' | b'Y')) || text.eq_ignore_ascii_case("on")
}

fn text(node: &Node, path: &str) -> Result<Arc<str>, BadField> {
    match &node.content {
        Content::Scalar(Scalar { text, tag: Tag::Text | Tag::Time }) => Ok(Arc::clone(text)),
        _ if node.is_null() => Ok("".into()),
        _ => Err(wrong(path, node, "a text")),
    }
}

/// Reports a value of an unexpected type. The value itself is not printed: it may be a secret's
/// literal.
pub fn wrong(path: &str, node: &Node, expected: &str) -> BadField {
    let (found, help) = match &node.content {
        Content::Map(_) => ("a map", "correct it"),
        Content::Seq(_) => ("a list", "correct it"),
        Content::Scalar(Scalar { tag, .. }) => match tag {
            Tag::Bool => ("a boolean", "write it in quotes if the word is meant"),
            Tag::Int | Tag::Float => ("a number", "write it in quotes if the text is meant"),
            _ => ("a text", "correct it"),
        },
    };
    let path = if path.is_empty() { "the document" } else { path };
    BadField {
        path: path.to_owned(),
        origin: node.origin,
        problem: format!("expected {expected}, got {found}"),
        help: help.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::read_document;

    fn node(text: &str) -> Node {
        read_document("kustomization.yaml", text, Origin::default()).unwrap().unwrap()
    }

    #[test]
    fn names_have_no_case_and_null_is_nothing() {
        let node = node("NAMEPREFIX: a-\nresources: null\nlabels: {a: b, c: null}\n");
        let fields = Fields::of(&node, "").unwrap();
        assert_eq!(fields.text("namePrefix").unwrap().as_deref(), Some("a-"));
        assert_eq!(fields.texts("resources").unwrap(), Vec::<Arc<str>>::new());
        let labels = fields.text_map("labels").unwrap().unwrap();
        assert_eq!(labels, BTreeMap::from([("a".into(), "b".into()), ("c".into(), "".into())]));
        assert_eq!(fields.end(), Ok(()));
    }

    #[test]
    fn a_map_in_two_cases_is_refused_and_of_all_else_the_last_counts() {
        let scalars = node("NAMEPREFIX: a\nnamePrefix: b\nMetadata: null\nmetadata: {}\n");
        assert_eq!(Fields::of(&scalars, "").unwrap().text("namePrefix").unwrap().as_deref(), Some("b"));
        let maps = node("METADATA: {name: a}\nmetadata: {namespace: b}\n");
        let told = Fields::of(&maps, "").unwrap_err();
        let text = "metadata: it is written twice, as `METADATA` too: keep one of them";
        assert_eq!((told.origin.line(), told.to_string()), (2, text.to_owned()));
        let lists = node("Resources: [a]\nresources: [b]\n");
        assert_eq!(Fields::of(&lists, "").unwrap().texts("resources").unwrap(), ["b".into()] as [Arc<str>; 1]);
    }

    #[test]
    fn what_is_unknown_or_of_another_kind_is_refused_with_its_place() {
        let node = node("resources: a\nnamePrefix: 5\npatches:\n- yes\nother: 1\n");
        let fields = Fields::of(&node, "").unwrap();
        let shown = |error: BadField| (error.origin.line(), error.to_string());
        let list = shown(fields.texts("resources").unwrap_err());
        assert_eq!(list, (1, "resources: expected a list, got a text: correct it".to_owned()));
        let text = shown(fields.text("namePrefix").unwrap_err());
        assert_eq!(
            text,
            (2, "namePrefix: expected a text, got a number: write it in quotes if the text is meant".to_owned())
        );
        let item = shown(fields.texts("patches").unwrap_err());
        assert_eq!(
            item,
            (4, "patches[0]: expected a text, got a boolean: write it in quotes if the word is meant".to_owned())
        );
        let unknown = shown(fields.end().unwrap_err());
        assert_eq!(unknown, (5, "other: unknown field \"other\": remove it, or correct its name".to_owned()));
    }
}
