//! Texts to nodes: resources as kyaml reads them, scalars by the rules of go-yaml v3, aliases and merge keys carried out; and documents of kustomize's own, by
//! those of v2.

use std::sync::Arc;

use setpoint_yaml::{
    Class, Diagnostic, Diagnostics, Dialect, Kind, Node as Written, Scalar as Resolved, Source, Style,
    Tag as WrittenTag, parse, parse_with_repeats,
};

use crate::node::{Content, Map, Node, Scalar, Style as NodeStyle, Tag};
use crate::origin::Origin;

/// Reads the resources of a text. Documents that are empty or null are left out.
pub fn read(name: &str, text: &str, origin: Origin) -> Result<Vec<Node>, Diagnostics> {
    let documents = parse(Source::new(name, text))?;
    let mut nodes = Vec::with_capacity(documents.len());
    for document in &documents {
        let node = node(document.root(), origin, Dialect::GoYamlV3, false)?;
        if !node.is_null() {
            nodes.push(node);
        }
    }
    Ok(nodes)
}

/// Reads the first document of a text, which is all that kustomize reads of its own ones; `None` if it is empty.
pub fn read_document(name: &str, text: &str, origin: Origin) -> Result<Option<Node>, Diagnostics> {
    let documents = parse_with_repeats(Source::new(name, text))?;
    let first =
        documents.first().map(|document| node(document.root(), origin, Dialect::GoYamlV2, false)).transpose()?;
    Ok(first.filter(|node| !node.is_null()))
}

/// Reads the first document of a text that stands in a field. None if nothing but blanks and comments is there.
pub(crate) fn read_first(text: &str) -> Result<Option<Node>, Diagnostics> {
    let documents = parse(Source::new("", text))?;
    let Some(root) = documents.first().map(|document| document.root()) else { return Ok(None) };
    if root.span().start() == root.span().end() {
        return Ok(None);
    }
    node(root, Origin::default(), Dialect::GoYamlV3, false).map(Some)
}

/// A node of a document, with everything below it; `is_in_flow` if it is between braces or brackets. How deep that goes is bounded by the parser.
fn node(written: Written<'_>, origin: Origin, dialect: Dialect, is_in_flow: bool) -> Result<Node, Diagnostics> {
    let is_flow = is_in_flow || written.style() == Style::Flow;
    let content = match written.kind() {
        Kind::Scalar(text) => Content::Scalar(scalar(written, text, dialect)),
        Kind::Sequence(items) => Content::Seq(
            items.iter().map(|item| node(item, origin, dialect, is_flow)).collect::<Result<_, Diagnostics>>()?,
        ),
        Kind::Mapping(entries) => {
            let mut map = Map::default();
            for (key, value) in entries.merged() {
                let (name, value) = (name(key)?, node(value, origin, dialect, is_flow)?);
                match dialect {
                    // Of a key that is written twice the last one counts.
                    Dialect::GoYamlV2 => map.set(&name, value),
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
    Ok(Node { style, ..Node::new(content, origin.on(written.line())) })
}

fn scalar(written: Written<'_>, text: &str, dialect: Dialect) -> Scalar {
    let tag = match written.tag() {
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
    };
    Scalar { text: text.into(), tag }
}

/// A key as JSON has it: whatever it is, its text.
fn name(key: Written<'_>) -> Result<Arc<str>, Diagnostics> {
    match key.kind() {
        Kind::Scalar(text) => Ok(text.into()),
        _ => {
            let problem = Diagnostic::new(Class::Type, key.place(), "a key is a collection".to_owned());
            Err(problem.with_help("write a name").into())
        }
    }
}
