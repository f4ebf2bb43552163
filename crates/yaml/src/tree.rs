//! The tree of a document. Its nodes are in one vector, so that it is built, read and dropped
//! without recursion, and every node knows its position in the source.

use std::borrow::Cow;

use crate::diagnostic::Place;
use crate::source::Source;

/// A byte range of the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span {
    start: u32,
    end: u32,
}

impl Span {
    pub(crate) fn new(start: usize, end: usize) -> Self {
        let narrow = |at| u32::try_from(at).expect("a source has at most MAX_BYTES bytes");
        Self { start: narrow(start), end: narrow(end) }
    }

    pub fn start(self) -> usize {
        self.start as usize
    }

    pub fn end(self) -> usize {
        self.end as usize
    }
}

/// The notation of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    Plain,
    SingleQuoted,
    DoubleQuoted,
    /// `|`
    Literal,
    /// `>`
    Folded,
    /// A collection written by indentation.
    Block,
    /// A collection written in brackets.
    Flow,
}

/// The tag of a node. Only tags of the core schema are accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tag {
    /// `!`: a string, a sequence or a mapping, whatever its text looks like.
    NonSpecific,
    Null,
    Bool,
    Int,
    Float,
    Str,
    Seq,
    Map,
    Merge,
    /// Its full name.
    Other(String),
}

impl Tag {
    pub(crate) fn named(name: &str, core: &str) -> Self {
        match name.strip_prefix(core) {
            Some("null") => Tag::Null,
            Some("bool") => Tag::Bool,
            Some("int") => Tag::Int,
            Some("float") => Tag::Float,
            Some("str") => Tag::Str,
            Some("seq") => Tag::Seq,
            Some("map") => Tag::Map,
            Some("merge") => Tag::Merge,
            None if name == "!" => Tag::NonSpecific,
            _ => Tag::Other(name.to_owned()),
        }
    }
}

/// Anchor and tag of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Properties<'a> {
    pub anchor: Option<&'a str>,
    pub tag: Option<Tag>,
    /// From the first of them to the last.
    pub span: Span,
    /// Counted from 1.
    pub line: u32,
}

/// The index of a node in its document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct NodeId(pub(crate) u32);

#[derive(Clone, Debug)]
pub(crate) enum Content<'a> {
    Scalar(Cow<'a, str>),
    /// A range of `Document::children`.
    Sequence {
        first: u32,
        length: u32,
    },
    /// A range of `Document::children`: key, value, key, value.
    Mapping {
        first: u32,
        length: u32,
    },
    Alias(NodeId),
}

#[derive(Clone, Debug)]
pub(crate) struct NodeData<'a> {
    pub(crate) content: Content<'a>,
    pub(crate) style: Style,
    pub(crate) span: Span,
    pub(crate) line: u32,
    pub(crate) properties: Option<Box<Properties<'a>>>,
}

/// One document of a stream.
#[derive(Clone, Debug)]
pub struct Document<'a> {
    pub(crate) source: Source<'a>,
    pub(crate) nodes: Vec<NodeData<'a>>,
    pub(crate) children: Vec<NodeId>,
    pub(crate) root: NodeId,
}

impl<'a> Document<'a> {
    pub fn root(&self) -> Node<'_> {
        self.node(self.root)
    }

    pub(crate) fn node(&self, id: NodeId) -> Node<'_> {
        Node { document: self, id }
    }

    pub fn source(&self) -> Source<'a> {
        self.source
    }
}

/// A node of a document. An alias reads as the node of its anchor, but its place is its own.
#[derive(Clone, Copy, Debug)]
pub struct Node<'d> {
    document: &'d Document<'d>,
    id: NodeId,
}

/// The content of a node.
#[derive(Clone, Copy, Debug)]
pub enum Kind<'d> {
    Scalar(&'d str),
    Sequence(Items<'d>),
    Mapping(Entries<'d>),
}

impl<'d> Node<'d> {
    fn written(self) -> &'d NodeData<'d> {
        &self.document.nodes[self.id.0 as usize]
    }

    /// Returns this node, or the anchored node if this is an alias.
    fn meant(self) -> &'d NodeData<'d> {
        match self.written().content {
            Content::Alias(target) => &self.document.nodes[target.0 as usize],
            _ => self.written(),
        }
    }

    pub fn kind(self) -> Kind<'d> {
        let children = |first: u32, length: u32| Items {
            document: self.document,
            children: &self.document.children[first as usize..(first + length) as usize],
        };
        match &self.meant().content {
            Content::Scalar(text) => Kind::Scalar(text),
            Content::Sequence { first, length } => Kind::Sequence(children(*first, *length)),
            Content::Mapping { first, length } => Kind::Mapping(Entries(children(*first, *length))),
            Content::Alias(_) => unreachable!("an alias' target is never an alias: aliases have no anchors"),
        }
    }

    pub fn is_alias(self) -> bool {
        matches!(self.written().content, Content::Alias(_))
    }

    pub fn style(self) -> Style {
        self.meant().style
    }

    pub fn tag(self) -> Option<&'d Tag> {
        self.meant().properties.as_ref().and_then(|properties| properties.tag.as_ref())
    }

    /// Returns the anchor of this node as written.
    pub fn anchor(self) -> Option<&'d str> {
        self.written().properties.as_ref().and_then(|properties| properties.anchor)
    }

    /// Returns the byte range of this node without its anchor and tag. It is empty for an omitted
    /// value. A block scalar ends with its last line of text, a block collection with its last
    /// entry.
    pub fn span(self) -> Span {
        self.written().span
    }

    /// Counted from 1.
    pub fn line(self) -> u32 {
        self.written().line
    }

    /// Counted in characters, from 1.
    pub fn column(self) -> u32 {
        self.place().column
    }

    /// Returns the place of the node, for a diagnostic.
    pub fn place(self) -> Place {
        let span = self.span();
        self.document.source.place_on_line(self.line(), span.start(), span.end())
    }

    /// Returns the text of the node as written.
    pub fn source_text(self) -> &'d str {
        let span = self.span();
        &self.document.source.text()[span.start()..span.end()]
    }

    /// Returns the value of a key of this mapping. Merged keys are ignored: see
    /// [`Entries::merged`].
    pub fn get(self, key: &str) -> Option<Node<'d>> {
        match self.kind() {
            Kind::Mapping(entries) => entries.iter().find(|(name, _)| name.is_text(key)).map(|(_, value)| value),
            _ => None,
        }
    }

    fn is_text(self, text: &str) -> bool {
        matches!(self.kind(), Kind::Scalar(own) if own == text)
    }

    /// Reports whether this node is a merge key: `<<` without quotes.
    pub fn is_merge_key(self) -> bool {
        let plain = self.style() == Style::Plain && matches!(self.tag(), None | Some(Tag::Merge));
        plain && self.is_text("<<")
    }
}

/// The nodes of a sequence.
#[derive(Clone, Copy, Debug)]
pub struct Items<'d> {
    document: &'d Document<'d>,
    children: &'d [NodeId],
}

impl<'d> Items<'d> {
    pub fn len(self) -> usize {
        self.children.len()
    }

    pub fn is_empty(self) -> bool {
        self.children.is_empty()
    }

    pub fn iter(self) -> impl ExactSizeIterator<Item = Node<'d>> + Clone + 'd {
        let document = self.document;
        self.children.iter().map(move |&id| Node { document, id })
    }
}

/// Key and value nodes of a mapping, as written.
#[derive(Clone, Copy, Debug)]
pub struct Entries<'d>(Items<'d>);

impl<'d> Entries<'d> {
    pub fn len(self) -> usize {
        self.0.len() / 2
    }

    pub fn is_empty(self) -> bool {
        self.0.is_empty()
    }

    pub fn iter(self) -> impl ExactSizeIterator<Item = (Node<'d>, Node<'d>)> + Clone + 'd {
        let document = self.0.document;
        let node = move |id| Node { document, id };
        self.0.children.chunks_exact(2).map(move |pair| (node(pair[0]), node(pair[1])))
    }
}
