//! The tokens that the scanner passes to the grammar.

use std::borrow::Cow;

use crate::tree::{Span, Style};

#[derive(Debug)]
pub(super) struct Token<'a> {
    pub(super) kind: TokenKind<'a>,
    pub(super) span: Span,
    pub(super) line: u32,
}

#[derive(Debug, PartialEq)]
pub(super) enum TokenKind<'a> {
    StreamEnd,
    Version,
    TagDirective { handle: &'a str, prefix: String },
    DocumentStart,
    DocumentEnd,
    BlockSequenceStart,
    BlockMappingStart,
    BlockEnd,
    FlowSequenceStart,
    FlowSequenceEnd,
    FlowMappingStart,
    FlowMappingEnd,
    BlockEntry,
    FlowEntry,
    Key,
    Value,
    Alias(&'a str),
    Anchor(&'a str),
    Tag { handle: &'a str, suffix: String },
    Scalar { value: Cow<'a, str>, style: Style },
}
