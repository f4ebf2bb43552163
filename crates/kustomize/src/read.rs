//! Texts to nodes: resources as kyaml reads them, scalars by the rules of go-yaml v3, aliases and
//! merge keys carried out; and documents of kustomize's own, by those of v2.

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

/// Reads the resources of a text. Documents that are empty or null are left out.
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

/// Kustomize does not see it.
fn unseparated(root: Written<'_>) -> Diagnostics {
    let problem = "kustomize reads only the document before this one".to_owned();
    let help = "write `---` on a line of its own before it, with line breaks that are `\\n`";
    Diagnostic::new(Class::Syntax, root.place(), problem).with_help(help).into()
}

/// Reads the first document of a text, which is all that kustomize reads of its own ones; `None` if
/// it is empty.
pub fn read_document(name: &str, text: &str, origin: Origin) -> Result<Option<Node>, Diagnostics> {
    let documents = parse_with_repeats(Source::new(name, text))?;
    let mut reading = Reading::new(origin, Dialect::GoYamlV2);
    let first = documents.first().map(|document| reading.node(document.root(), false)).transpose()?;
    Ok(first.filter(|node| !node.is_null()))
}

/// Reads the first document of a text in which no key may stand twice.
pub fn read_strictly(name: &str, text: &str, origin: Origin) -> Result<Option<Node>, Diagnostics> {
    parse(Source::new(name, text))?;
    read_document(name, text, origin)
}

/// Reads the first document of a text that stands in a field. None if nothing but blanks and
/// comments is there.
pub(crate) fn read_first(text: &str) -> Result<Option<Node>, Diagnostics> {
    let documents = parse(Source::new("", text))?;
    let Some(root) = documents.first().map(|document| document.root()) else { return Ok(None) };
    if root.span().start() == root.span().end() {
        return Ok(None);
    }
    Reading::new(Origin::default(), Dialect::GoYamlV3).node(root, false).map(Some)
}

/// How many nodes one text may come to, with those of its aliases. What a build may hold is only
/// known once it was read.
const MOST_NODES: usize = 4_500_000;

/// Counts one more node of a text, which this is.
pub(crate) fn count(nodes: &mut usize, written: Written<'_>) -> Result<(), Diagnostics> {
    *nodes += 1;
    if *nodes <= MOST_NODES {
        return Ok(());
    }
    let problem = Exceeded::Limit { limit: Limit::Text, most: MOST_NODES as u64 };
    Err(Diagnostic::new(Class::Limit, written.place(), problem.to_string()).into())
}
/// How many texts are kept to be shared.
const KEPT: usize = 256;
/// Longer ones are hardly the same as others.
const LONGEST_KEPT: usize = 40;

/// A text on its way to nodes.
struct Reading {
    origin: Origin,
    dialect: Dialect,
    /// It will be written as JSON, whose keys are texts.
    is_resource: bool,
    nodes: usize,
    names: RetainedTexts,
    values: RetainedTexts,
}

/// Texts that were read lately, by [`place`]: most fields are called as others are, and many hold
/// the same. They share the text.
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

    /// A node of a document, with everything below it; `is_in_flow` if it is between braces or
    /// brackets. How deep that goes is bounded by the parser.
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
        // Resources say so when they are written, if they ever are.
        if self.dialect == Dialect::GoYamlV2 && written.tag().is_some() && scalar.value().is_err() {
            // It may be a secret, and is not repeated.
            let problem = "what stands here is not what its tag says".to_owned();
            return Err(Diagnostic::new(Class::Type, written.place(), problem).with_help("remove the tag").into());
        }
        Ok(scalar)
    }

    fn map(&mut self, entries: Entries<'_>, is_flow: bool) -> Result<Map, Diagnostics> {
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
        Ok(map)
    }

    /// A key as JSON has it: whatever it is, its text, and a word like `yes` what it means in
    /// kustomize's own documents. Of a resource one that is a number or the like is refused:
    /// kustomize cannot write what has one.
    fn name(&mut self, key: Written<'_>) -> Result<Arc<str>, Diagnostics> {
        let Kind::Scalar(text) = key.kind() else {
            let problem = Diagnostic::new(Class::Type, key.place(), "a key is a collection".to_owned());
            return Err(problem.with_help("write a name").into());
        };
        if self.is_resource && key.style() == Style::Plain && key.tag().is_none() && Tag::of(text) != Tag::Text {
            let problem = format!(
                "the key `{text}` is no text, and only texts are keys of JSON (unsupported type: map[interface {{}}]interface {{}})"
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
