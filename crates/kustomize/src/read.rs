//! Texts to nodes: resources as kyaml reads them, scalars by the rules of go-yaml v3, aliases and merge keys carried out; and documents of kustomize's own, by
//! those of v2.

use std::collections::BTreeMap;
use std::sync::Arc;

use setpoint_yaml::{
    Class, Diagnostic, Diagnostics, Dialect, Kind, Node as Written, Scalar as Resolved, Source, Style,
    Tag as WrittenTag, parse, parse_each, parse_with_repeats,
};

use crate::node::{Content, Map, Node, Scalar, Style as NodeStyle, Tag};
use crate::origin::Origin;

/// Reads the resources of a text. Documents that are empty or null are left out.
pub fn read(name: &str, text: &str, origin: Origin) -> Result<Vec<Node>, Diagnostics> {
    let mut reading = Reading::new(origin, Dialect::GoYamlV3);
    let (mut nodes, mut problem) = (Vec::new(), None);
    parse_each(Source::new(name, text), |document| {
        if problem.is_none() {
            match reading.node(document.root(), false) {
                Ok(node) if node.is_null() => {}
                Ok(node) => nodes.push(node),
                Err(found) => problem = Some(found),
            }
        }
    })?;
    problem.map_or(Ok(nodes), Err)
}

/// Reads the first document of a text, which is all that kustomize reads of its own ones; `None` if it is empty.
pub fn read_document(name: &str, text: &str, origin: Origin) -> Result<Option<Node>, Diagnostics> {
    let documents = parse_with_repeats(Source::new(name, text))?;
    let mut reading = Reading::new(origin, Dialect::GoYamlV2);
    let first = documents.first().map(|document| reading.node(document.root(), false)).transpose()?;
    Ok(first.filter(|node| !node.is_null()))
}

/// Reads the first document of a text that stands in a field. None if nothing but blanks and comments is there.
pub(crate) fn read_first(text: &str) -> Result<Option<Node>, Diagnostics> {
    let documents = parse(Source::new("", text))?;
    let Some(root) = documents.first().map(|document| document.root()) else { return Ok(None) };
    if root.span().start() == root.span().end() {
        return Ok(None);
    }
    Reading::new(Origin::default(), Dialect::GoYamlV3).node(root, false).map(Some)
}

/// How many texts are kept to be shared.
const KEPT: usize = 256;
/// Longer ones are hardly the same as others.
const LONGEST_KEPT: usize = 40;

/// A text on its way to nodes.
struct Reading {
    origin: Origin,
    dialect: Dialect,
    names: Kept,
    values: Kept,
}

/// Texts that were read lately, by [`place`]: most fields are called as others are, and many hold the same. They share the text.
#[derive(Default)]
struct Kept(Vec<Arc<str>>);

impl Kept {
    fn get(&mut self, text: &str) -> Arc<str> {
        if text.len() > LONGEST_KEPT {
            return text.into();
        }
        if self.0.is_empty() {
            self.0.resize_with(KEPT, Arc::default);
        }
        let kept = &mut self.0[place(text)];
        if **kept != *text {
            *kept = text.into();
        }
        Arc::clone(kept)
    }
}

impl Reading {
    fn new(origin: Origin, dialect: Dialect) -> Self {
        Self { origin, dialect, names: Kept::default(), values: Kept::default() }
    }

    /// A node of a document, with everything below it; `is_in_flow` if it is between braces or brackets. How deep that goes is bounded by the parser.
    fn node(&mut self, written: Written<'_>, is_in_flow: bool) -> Result<Node, Diagnostics> {
        let is_flow = is_in_flow || written.style() == Style::Flow;
        let content = match written.kind() {
            Kind::Scalar(text) => {
                let tag = tag(written, text, self.dialect);
                Content::Scalar(Scalar { text: self.values.get(text), tag })
            }
            Kind::Sequence(items) => {
                let mut nodes = Vec::with_capacity(items.len());
                for item in items.iter() {
                    nodes.push(self.node(item, is_flow)?);
                }
                Content::Seq(nodes)
            }
            Kind::Mapping(entries) => {
                let mut map = Map::with_capacity(entries.len());
                let mut places = BTreeMap::new();
                for (key, value) in entries.merged() {
                    let (name, value) = (self.name(key)?, self.node(value, is_flow)?);
                    // Of a key that is written twice the last one counts; only v2 reads such a text.
                    match (self.dialect == Dialect::GoYamlV2).then(|| places.insert(Arc::clone(&name), map.len())) {
                        Some(Some(first)) => {
                            places.insert(name, first);
                            map.put(first, value);
                        }
                        _ => map.push(name, value),
                    }
                }
                Content::Map(map)
            }
        };
        let style = match written.style() {
            Style::Plain if is_in_flow && matches!(written.kind(), Kind::Scalar("")) => NodeStyle::Blank,
            Style::Plain => NodeStyle::Plain,
            Style::Folded => NodeStyle::Folded,
            _ => NodeStyle::Quoted,
        };
        Ok(Node { style, ..Node::new(content, self.origin.on(written.line())) })
    }

    /// A key as JSON has it: whatever it is, its text.
    fn name(&mut self, key: Written<'_>) -> Result<Arc<str>, Diagnostics> {
        let Kind::Scalar(text) = key.kind() else {
            let problem = Diagnostic::new(Class::Type, key.place(), "a key is a collection".to_owned());
            return Err(problem.with_help("write a name").into());
        };
        Ok(self.names.get(text))
    }
}

/// Where a text is kept, below [`KEPT`].
fn place(text: &str) -> usize {
    let mixed = text.bytes().fold(text.len(), |mixed, byte| mixed.wrapping_mul(31).wrapping_add(usize::from(byte)));
    (mixed ^ mixed >> 8) % KEPT
}

fn tag(written: Written<'_>, text: &str, dialect: Dialect) -> Tag {
    match written.tag() {
        None if written.style() == Style::Plain => match dialect.resolve(text) {
            // Only v2 knows more words for these.
            Resolved::Bool(_) => Tag::Bool,
            _ => Tag::of(text),
        },
        None | Some(WrittenTag::NonSpecific | WrittenTag::Str) => Tag::Text,
        Some(WrittenTag::Null) => Tag::Null,
        Some(WrittenTag::Bool) => Tag::Bool,
        Some(WrittenTag::Int) => Tag::Int,
        Some(WrittenTag::Float) => Tag::Float,
        Some(_) => Tag::Text,
    }
}
