//! Builds trees from events and applies the rules that no single event can check: duplicate keys,
//! unknown tags, aliases and their budget, depth. These mistakes are collected. A syntax error ends
//! the stream, since nothing after it can be trusted.

use std::collections::BTreeMap;

use crate::diagnostic::{Class, Diagnostic, Diagnostics, Findings, visible_text};
use crate::events::{Event, EventKind, Fault, MAX_DEPTH, Parser};
use crate::source::Source;
use crate::tree::{Content, Document, Kind, Node, NodeData, NodeId, Span, Tag};

/// The number of nodes that the aliases of a document may expand to, aliases inside aliased nodes
/// included.
pub const MAX_ALIASES: u64 = 10_000;
/// How many times larger than its source a document may become when its aliases are expanded.
pub const MAX_GROWTH: u64 = 10;
/// Growth is not limited below this size: a small document may repeat a default as often as it
/// likes.
const FREE_SIZE: u64 = 64 * 1024;
/// The maximum number of documents in a stream, equal to the maximum number of rendered objects.
const MAX_DOCUMENTS: usize = 20_000;
const MOST_GUESSED: usize = 1_024;

/// Reads every document of a stream. An empty stream, or one with only comments, has no documents.
/// `---` alone is one null document.
pub fn parse(source: Source<'_>) -> Result<Vec<Document<'_>>, Diagnostics> {
    read(source, false)
}

/// Reads every document of a stream and allows duplicate keys, as go-yaml v2 does outside strict
/// mode. The caller must use the last of them.
pub fn parse_with_repeats(source: Source<'_>) -> Result<Vec<Document<'_>>, Diagnostics> {
    read(source, true)
}

/// Passes each document of a stream to `each` as soon as it is read, so that a long stream is never
/// in memory as a whole. If a later part of the stream has a mistake, the documents passed on
/// before it are invalid.
pub fn parse_each<'a>(source: Source<'a>, each: impl FnMut(Document<'a>)) -> Result<(), Diagnostics> {
    read_each(source, false, each)
}

fn read(source: Source<'_>, may_repeat: bool) -> Result<Vec<Document<'_>>, Diagnostics> {
    let mut documents = Vec::new();
    read_each(source, may_repeat, |document| documents.push(document))?;
    Ok(documents)
}

fn read_each<'a>(source: Source<'a>, may_repeat: bool, mut each: impl FnMut(Document<'a>)) -> Result<(), Diagnostics> {
    source.check()?;
    let parser = Parser::new(source.text());
    let mut composer = Composer { source, parser, found: Findings::default(), nodes_before: 0, may_repeat };
    let mut count = 0;
    loop {
        match composer.document() {
            Ok(Some(document)) if count < MAX_DOCUMENTS => {
                count += 1;
                each(document);
            }
            Ok(Some(document)) => {
                let message = format!("the text has more than {MAX_DOCUMENTS} documents");
                let place = document.root().place();
                composer
                    .found
                    .add(|| Diagnostic::new(Class::Limit, place, message).with_help("split it into several files"));
                return composer.found.or_value(());
            }
            Ok(None) => return composer.found.or_value(()),
            Err(fault) => {
                let diagnostic = composer.diagnostic(&fault);
                composer.found.add(|| diagnostic);
                return composer.found.or_value(());
            }
        }
    }
}

struct Composer<'a> {
    source: Source<'a>,
    parser: Parser<'a>,
    found: Findings,
    /// The number of nodes of the previous document, used as a capacity: documents of a stream are
    /// alike, and growing a vector copies it.
    nodes_before: usize,
    /// Duplicate keys are allowed.
    may_repeat: bool,
}

/// The size of a node with all of its aliases expanded.
#[derive(Clone, Copy, Debug, Default)]
struct Weight {
    /// Nodes and bytes of scalars.
    size: u64,
    /// The part of `size` that aliases contribute.
    repeated: u64,
    aliases: u64,
    /// Levels of collections.
    height: usize,
}

impl Weight {
    fn add(&mut self, inner: Weight) {
        self.size = self.size.saturating_add(inner.size);
        self.repeated = self.repeated.saturating_add(inner.repeated);
        self.aliases = self.aliases.saturating_add(inner.aliases);
        self.height = self.height.max(inner.height);
    }
}

/// A collection that is not closed yet.
struct Open<'a> {
    event: Event<'a>,
    /// The index of its first child in `Builder::pending`.
    first: usize,
    weight: Weight,
}

struct Anchor {
    node: NodeId,
    /// `None` while the node is open: an alias to it would contain itself.
    weight: Option<Weight>,
}

/// The document being built. Nodes are numbered when they are complete; the place of a collection
/// is recorded when it starts.
struct Builder<'a> {
    nodes: Vec<NodeData<'a>>,
    children: Vec<NodeId>,
    open: Vec<Open<'a>>,
    /// Complete nodes whose parent is open.
    pending: Vec<NodeId>,
    anchors: BTreeMap<&'a str, Anchor>,
    root: Option<NodeId>,
    /// The end of the last node in the source.
    end: usize,
}

impl<'a> Composer<'a> {
    fn document(&mut self) -> Result<Option<Document<'a>>, Fault> {
        if matches!(self.parser.next_event()?.kind, EventKind::StreamEnd) {
            return Ok(None);
        }
        let mut builder = Builder {
            nodes: Vec::with_capacity(self.nodes_before),
            children: Vec::with_capacity(self.nodes_before),
            open: Vec::new(),
            pending: Vec::new(),
            anchors: BTreeMap::new(),
            root: None,
            end: 0,
        };
        loop {
            let event = self.parser.next_event()?;
            if matches!(event.kind, EventKind::DocumentEnd | EventKind::StreamEnd) {
                break;
            }
            self.check_tag(&event);
            builder.event(event)?;
        }
        // Unused capacity is released: a stream may have many small documents after a large one.
        if builder.nodes.len() * 2 < builder.nodes.capacity() {
            builder.nodes.shrink_to_fit();
            builder.children.shrink_to_fit();
        }
        self.nodes_before = builder.nodes.len().min(MOST_GUESSED);
        let root = builder.root.expect("the grammar gives every document one root");
        let document = Document { source: self.source, nodes: builder.nodes, children: builder.children, root };
        self.check_keys(&document);
        Ok(Some(document))
    }

    fn diagnostic(&self, fault: &Fault) -> Diagnostic {
        let place = self.source.place(fault.span.start(), self.whole_characters(fault.span));
        let diagnostic = Diagnostic::new(fault.class, place, fault.message.clone());
        match fault.help {
            Some(help) => diagnostic.with_help(help),
            None => diagnostic,
        }
    }

    /// Widens a span to whole characters: faults count bytes, but a place needs characters.
    fn whole_characters(&self, span: Span) -> usize {
        let text = self.source.text();
        (span.end()..text.len()).find(|&at| text.is_char_boundary(at)).unwrap_or(text.len())
    }

    fn check_tag(&mut self, event: &Event<'a>) {
        let Some(properties) = &event.properties else { return };
        let Some(tag) = &properties.tag else { return };
        let fits = match &event.kind {
            EventKind::Scalar { .. } => !matches!(tag, Tag::Seq | Tag::Map | Tag::Other(_)),
            EventKind::SequenceStart { .. } => matches!(tag, Tag::Seq | Tag::NonSpecific),
            EventKind::MappingStart { .. } => matches!(tag, Tag::Map | Tag::NonSpecific),
            _ => true,
        };
        if fits {
            return;
        }
        let message = match tag {
            Tag::Other(name) => format!("the tag `{}` is not supported", visible_text(name)),
            _ => "the tag does not match the kind of its node".to_owned(),
        };
        let help = "only the tags of YAML's core schema are read (`!!str`, `!!int`, `!!map`, …); remove it";
        let source = self.source;
        self.found.add(|| {
            let place = source.place_on_line(properties.line, properties.span.start(), properties.span.end());
            Diagnostic::new(Class::Tag, place, message).with_help(help)
        });
    }

    fn check_keys(&mut self, document: &Document<'a>) {
        for (index, node) in document.nodes.iter().enumerate() {
            if matches!(node.content, Content::Mapping { length: 2.., .. }) {
                let id = NodeId(u32::try_from(index).expect("a document has fewer nodes than bytes"));
                self.check_mapping(document.node(id));
            }
        }
    }

    fn check_mapping(&mut self, mapping: Node<'_>) {
        let Kind::Mapping(entries) = mapping.kind() else { return };
        for (_, value) in entries.iter().filter(|(key, _)| key.is_merge_key()) {
            if !can_be_merged(value) {
                let message = "`<<` merges mappings, but this value is not a mapping";
                let help =
                    "expected an alias to a mapping, or a sequence of them; quote the key if you do not mean a merge";
                self.found.add(|| Diagnostic::new(Class::Type, value.place(), message).with_help(help));
            }
        }
        if self.may_repeat {
            return;
        }
        for (first, second) in crate::duplicates::find(entries) {
            let Kind::Scalar(name) = second.kind() else { continue };
            self.found.add(|| {
                let message = format!("the key `{}` is written twice", visible_text(name));
                let diagnostic = Diagnostic::new(Class::Duplicate, second.place(), message);
                diagnostic.with_other(first.place(), "first here").with_help("keep one of them")
            });
        }
    }
}

fn can_be_merged(value: Node<'_>) -> bool {
    match value.kind() {
        Kind::Mapping(_) => true,
        Kind::Sequence(items) => items.iter().all(|item| matches!(item.kind(), Kind::Mapping(_))),
        Kind::Scalar(_) => false,
    }
}

impl<'a> Builder<'a> {
    fn event(&mut self, event: Event<'a>) -> Result<(), Fault> {
        match event.kind {
            EventKind::Alias(name) => self.alias(name, &event),
            EventKind::Scalar { .. } => self.scalar(event),
            EventKind::SequenceStart { .. } | EventKind::MappingStart { .. } => self.open(event),
            EventKind::CollectionEnd => self.close(event.span),
            EventKind::DocumentStart | EventKind::DocumentEnd | EventKind::StreamEnd => Ok(()),
        }
    }

    fn scalar(&mut self, event: Event<'a>) -> Result<(), Fault> {
        let EventKind::Scalar { value, style } = event.kind else { unreachable!("the caller matched a scalar") };
        let weight = Weight { size: value.len() as u64 + 1, ..Weight::default() };
        let data = NodeData {
            content: Content::Scalar(value),
            style,
            span: event.span,
            line: event.line,
            properties: event.properties,
        };
        self.complete(data, weight)
    }

    fn open(&mut self, event: Event<'a>) -> Result<(), Fault> {
        if self.open.len() >= MAX_DEPTH {
            return Err(Fault::too_deep(event.span));
        }
        if let Some(name) = event.properties.as_ref().and_then(|properties| properties.anchor) {
            self.anchors.insert(name, Anchor { node: NodeId(u32::MAX), weight: None });
        }
        self.open.push(Open { event, first: self.pending.len(), weight: Weight::default() });
        Ok(())
    }

    fn close(&mut self, closing: Span) -> Result<(), Fault> {
        let Open { event, first, mut weight } = self.open.pop().expect("the grammar closes what it opened");
        let start = narrow(self.children.len());
        let length = narrow(self.pending.len() - first);
        self.children.extend(self.pending.drain(first..));
        let (content, style) = match event.kind {
            EventKind::MappingStart { style } => (Content::Mapping { first: start, length }, style),
            EventKind::SequenceStart { style } => (Content::Sequence { first: start, length }, style),
            _ => unreachable!("only collections are opened"),
        };
        // A bracket is part of its collection; a block ends with its last entry, not with the
        // comments after it.
        let end = self.end.max(closing_bracket(closing));
        let span = Span::new(event.span.start(), end.max(event.span.start()));
        weight.size = weight.size.saturating_add(1);
        weight.height += 1;
        self.complete(NodeData { content, style, span, line: event.line, properties: event.properties }, weight)
    }

    fn alias(&mut self, name: &'a str, event: &Event<'a>) -> Result<(), Fault> {
        let fault = |message: String, help| Fault {
            class: Class::Alias,
            span: event.span,
            message: message.into(),
            help: Some(help),
        };
        let Some(anchor) = self.anchors.get(name) else {
            return Err(fault(
                format!("no anchor `&{name}` before this alias"),
                "define the anchor, or quote a value that starts with `*`",
            ));
        };
        let Some(mut weight) = anchor.weight else {
            return Err(fault(format!("the anchor `&{name}` contains itself"), "remove the alias"));
        };
        weight.repeated = weight.size;
        weight.aliases = weight.aliases.saturating_add(1);
        let content = Content::Alias(anchor.node);
        let style = self.nodes[anchor.node.0 as usize].style;
        self.complete(NodeData { content, style, span: event.span, line: event.line, properties: None }, weight)
    }

    /// Numbers a complete node and adds it to its parent.
    fn complete(&mut self, data: NodeData<'a>, weight: Weight) -> Result<(), Fault> {
        let id = NodeId(narrow(self.nodes.len()));
        let span = data.span;
        self.end = span.end();
        if let Some(name) = data.properties.as_ref().and_then(|properties| properties.anchor) {
            self.anchors.insert(name, Anchor { node: id, weight: Some(weight) });
        }
        self.nodes.push(data);
        let depth = self.open.len();
        let total = match self.open.last_mut() {
            Some(parent) => {
                parent.weight.add(weight);
                self.pending.push(id);
                parent.weight
            }
            None => {
                self.root = Some(id);
                weight
            }
        };
        if total.aliases > 0 {
            check_budget(total, depth, span)?;
        }
        Ok(())
    }
}

/// Stops a document whose aliases multiply ("billion laughs", CVE-2019-11253) at the level that
/// multiplies.
fn check_budget(weight: Weight, depth: usize, span: Span) -> Result<(), Fault> {
    if depth + weight.height > MAX_DEPTH {
        return Err(Fault::too_deep(span));
    }
    let limit = |message: String| Fault {
        class: Class::Limit,
        span,
        message: message.into(),
        help: Some("write the values out, or split the document"),
    };
    if weight.aliases > MAX_ALIASES {
        return Err(limit(format!("aliases expand to more than {MAX_ALIASES} copies")));
    }
    let written = weight.size - weight.repeated;
    if weight.size > FREE_SIZE.max(written.saturating_mul(MAX_GROWTH)) {
        return Err(limit(format!("aliases make the document more than {MAX_GROWTH} times larger than it is written")));
    }
    Ok(())
}

/// Returns the end of a closing bracket, or 0 for the end of a block, which has no text of its own.
fn closing_bracket(closing: Span) -> usize {
    if closing.start() == closing.end() { 0 } else { closing.end() }
}

fn narrow(count: usize) -> u32 {
    u32::try_from(count).expect("a document has fewer nodes than MAX_BYTES")
}
