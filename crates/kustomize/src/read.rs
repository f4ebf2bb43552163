//! Parses text into nodes: resources as kyaml reads them, with the scalars of go-yaml v3, aliases
//! and merge keys applied; and documents of kustomize's own types by the rules of v2.

use std::collections::BTreeMap;
use std::sync::Arc;

use setpoint_yaml::{
    Class, Diagnostic, Diagnostics, Dialect, Entries, Kind, Node as Written, Scalar as Resolved, Source, Style,
    Tag as WrittenTag, parse, parse_each, parse_with_repeats,
};

use crate::documents::Parts;
use crate::limits::{Exceeded, Limit};
use crate::node::{Content, Map, Node, Scalar, Style as NodeStyle, Tag};
use crate::origin::Origin;

/// Parses the resources of a text. Empty and null documents are skipped.
pub fn read(name: &str, text: &str, origin: Origin) -> Result<Vec<Node>, Diagnostics> {
    let parts = Parts::of(name, text)?;
    let mut reading = Reading { is_resource: true, ..Reading::new(origin, Dialect::GoYamlV3) };
    let (mut nodes, mut problem, mut last) = (Vec::new(), None, None);
    parse_each(Source::new(name, &parts.text), |document| {
        if problem.is_some() {
            return;
        }
        let root = document.root();
        match reading.node(root, false) {
            Ok(node) if node.is_null() => {}
            Ok(node) => {
                let part = parts.at(root.span().start());
                if last.replace(part) == Some(part) {
                    problem = Some(unseparated(root));
                }
                nodes.push(node);
            }
            Err(found) => problem = Some(found),
        }
    })?;
    problem.map_or(Ok(nodes), Err)
}

/// Reports a document that kustomize would not read.
fn unseparated(root: Written<'_>) -> Diagnostics {
    let problem = "kustomize reads only the document before this one".to_owned();
    let help = "write `---` on a line of its own before it, with line breaks that are `\\n`";
    Diagnostic::new(Class::Syntax, root.place(), problem).with_help(help).into()
}

/// Parses the first document of a text, the only one that kustomize reads of its own types; `None`
/// if it is empty.
pub fn read_document(name: &str, text: &str, origin: Origin) -> Result<Option<Node>, Diagnostics> {
    let documents = parse_with_repeats(Source::new(name, text))?;
    let mut reading = Reading::new(origin, Dialect::GoYamlV2);
    let first = documents.first().map(|document| reading.node(document.root(), false)).transpose()?;
    Ok(first.filter(|node| !node.is_null()))
}

/// Parses the first document of a text and rejects duplicate keys.
pub fn read_strictly(name: &str, text: &str, origin: Origin) -> Result<Option<Node>, Diagnostics> {
    parse(Source::new(name, text))?;
    read_document(name, text, origin)
}

/// Parses the first document of a text in a field. Returns `None` if the text has only blanks and
/// comments.
pub(crate) fn read_first(text: &str) -> Result<Option<Node>, Diagnostics> {
    let documents = parse(Source::new("", text))?;
    let Some(root) = documents.first().map(|document| document.root()) else { return Ok(None) };
    if root.span().start() == root.span().end() {
        return Ok(None);
    }
    Reading::new(Origin::default(), Dialect::GoYamlV3).node(root, false).map(Some)
}

/// The maximum number of nodes of one text, with aliases expanded. The limits of a build only apply
/// after it was parsed.
const MOST_NODES: usize = 4_500_000;

/// Counts one more node of a text.
pub(crate) fn count(nodes: &mut usize, written: Written<'_>) -> Result<(), Diagnostics> {
    *nodes += 1;
    if *nodes <= MOST_NODES {
        return Ok(());
    }
    let problem = Exceeded::Limit { limit: Limit::Text, most: MOST_NODES as u64 };
    Err(Diagnostic::new(Class::Limit, written.place(), problem.to_string()).into())
}
/// The number of strings that are retained for sharing.
const KEPT: usize = 256;
/// Longer strings are rarely repeated.
const LONGEST_KEPT: usize = 40;

/// The state while a text is converted to nodes.
struct Reading {
    origin: Origin,
    dialect: Dialect,
    /// The text is a resource, which is written as JSON, whose keys are strings.
    is_resource: bool,
    nodes: usize,
    names: RetainedTexts,
    values: RetainedTexts,
}

/// Recently read strings, by [`place`]. Most names of fields are repeated, and so are many values;
/// they share one string.
#[derive(Default)]
struct RetainedTexts(Vec<Arc<str>>);

impl RetainedTexts {
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
        Self {
            origin,
            dialect,
            is_resource: false,
            nodes: 0,
            names: RetainedTexts::default(),
            values: RetainedTexts::default(),
        }
    }

    /// Converts a node with everything below it; `is_in_flow` is set inside braces or brackets. The
    /// parser bounds the depth.
    fn node(&mut self, written: Written<'_>, is_in_flow: bool) -> Result<Node, Diagnostics> {
        count(&mut self.nodes, written)?;
        let is_flow = is_in_flow || written.style() == Style::Flow;
        let content = match written.kind() {
            Kind::Scalar(text) => Content::Scalar(self.scalar(written, text)?),
            Kind::Sequence(items) => {
                let mut nodes = Vec::with_capacity(items.len());
                for item in items.iter() {
                    nodes.push(self.node(item, is_flow)?);
                }
                Content::Seq(nodes)
            }
            Kind::Mapping(entries) => Content::Map(self.map(entries, is_flow)?),
        };
        let style = match written.style() {
            Style::Plain if is_in_flow && matches!(written.kind(), Kind::Scalar("")) => NodeStyle::Blank,
            Style::Plain => NodeStyle::Plain,
            Style::Flow => NodeStyle::Flow,
            _ if !matches!(written.kind(), Kind::Scalar(_)) => NodeStyle::Plain,
            _ if written.tag().is_some() => NodeStyle::Tagged,
            Style::Folded => NodeStyle::Folded,
            _ => NodeStyle::Quoted,
        };
        Ok(Node { style, ..Node::new(content, self.origin.on(written.line())) })
    }

    fn scalar(&mut self, written: Written<'_>, text: &str) -> Result<Scalar, Diagnostics> {
        let scalar = Scalar { text: self.values.get(text), tag: tag(written, text, self.dialect) };
        // For resources this is reported when they are written, if they ever are.
        if self.dialect == Dialect::GoYamlV2 && written.tag().is_some() && scalar.value().is_err() {
            // The text is not repeated, since it may be a secret.
            let problem = "the value does not match its tag".to_owned();
            return Err(Diagnostic::new(Class::Type, written.place(), problem).with_help("remove the tag").into());
        }
        Ok(scalar)
    }

    fn map(&mut self, entries: Entries<'_>, is_flow: bool) -> Result<Map, Diagnostics> {
        let mut map = Map::with_capacity(entries.len());
        let mut places = BTreeMap::new();
        for (key, value) in entries.merged() {
            let (name, value) = (self.name(key)?, self.node(value, is_flow)?);
            // Of duplicate keys the last one wins; only v2 accepts them.
            match (self.dialect == Dialect::GoYamlV2).then(|| places.insert(Arc::clone(&name), map.len())) {
                Some(Some(first)) => {
                    places.insert(name, first);
                    map.put(first, value);
                }
                _ => map.push(name, value),
            }
        }
        Ok(map)
    }

    /// Returns a key as in JSON: its text, whatever its type. In documents of kustomize's own
    /// types, a word like `yes` becomes its boolean. In a resource, a key that is a number or the
    /// like is an error: kustomize cannot write such a resource.
    fn name(&mut self, key: Written<'_>) -> Result<Arc<str>, Diagnostics> {
        let Kind::Scalar(text) = key.kind() else {
            let problem = Diagnostic::new(Class::Type, key.place(), "a key is a collection".to_owned());
            return Err(problem.with_help("write a name").into());
        };
        if self.is_resource && key.style() == Style::Plain && key.tag().is_none() && Tag::of(text) != Tag::Text {
            let problem = format!(
                "the key `{text}` is not a string, and JSON only has string keys (unsupported type: map[interface {{}}]interface {{}})"
            );
            let problem = Diagnostic::new(Class::Type, key.place(), problem);
            return Err(problem.with_help("write it in quotes").into());
        }
        if self.dialect == Dialect::GoYamlV2
            && key.style() == Style::Plain
            && let Some(Ok(resolved)) = key.resolve(self.dialect)
        {
            return Ok(match resolved {
                Resolved::Bool(value) => self.names.get(if value { "true" } else { "false" }),
                Resolved::Int(digits) => self.names.get(&digits),
                _ => self.names.get(text),
            });
        }
        Ok(self.names.get(text))
    }
}

/// Returns the slot of a string, below [`KEPT`].
fn place(text: &str) -> usize {
    let mixed = text.bytes().fold(text.len(), |mixed, byte| mixed.wrapping_mul(31).wrapping_add(usize::from(byte)));
    (mixed ^ mixed >> 8) % KEPT
}

fn tag(written: Written<'_>, text: &str, dialect: Dialect) -> Tag {
    match written.tag() {
        None if written.style() == Style::Plain => match dialect.resolve(text) {
            // Only v2 has more words for booleans.
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
