//! Parses text into events: the only module that knows YAML's grammar. Other modules use only
//! [`Parser`], [`Event`] and [`Fault`], so another parser could replace this one.
//!
//! The rules are those of go-yaml v3, and thus of libyaml, from which it was ported: this parser
//! reads the same files as kubectl and Helm. Where the two differ (`{a:}`), it follows go-yaml,
//! except for tabs: go-yaml v3 skips them before some comments, a side effect of preserving
//! comments that v2 does not have either. Neither scanner nor grammar recurses: nesting lives in
//! vectors, bounded by [`MAX_DEPTH`].
//!
//! - `scanner`: characters to tokens: indentation, simple keys, indicators; `cursor` moves, `token`
//!   is the output.
//! - `plain`, `quoted`, `block_scalar`: the text of scalars, borrowed from the source where
//!   possible.
//! - `properties`: anchors, tags and directives.
//! - `grammar`: tokens to events; `flow` has the collections in brackets.

mod block_scalar;
mod cursor;
mod flow;
mod grammar;
#[cfg(test)]
mod oracle;
mod plain;
mod properties;
mod quoted;
mod scanner;
mod token;

use std::borrow::Cow;

pub(crate) use grammar::Parser;

use crate::diagnostic::Class;
use crate::tree::{Properties, Span, Style};

/// The deepest nesting of collections that is read, written or reached through aliases. It is
/// enough for fifty nested Lists, and less than the limit of the reader of bundles (128, with the
/// levels around them).
pub(crate) const MAX_DEPTH: usize = 110;

/// An event of the parser.
#[derive(Debug)]
pub(crate) struct Event<'a> {
    pub(crate) kind: EventKind<'a>,
    /// The source range without anchor and tag. Empty if nothing was written (`a:`).
    pub(crate) span: Span,
    /// Counted from 1.
    pub(crate) line: u32,
    pub(crate) properties: Option<Box<Properties<'a>>>,
}

#[derive(Debug)]
pub(crate) enum EventKind<'a> {
    DocumentStart,
    DocumentEnd,
    StreamEnd,
    Alias(&'a str),
    Scalar { value: Cow<'a, str>, style: Style },
    SequenceStart { style: Style },
    MappingStart { style: Style },
    CollectionEnd,
}

/// The reason why the text cannot be read on, at a byte range.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) class: Class,
    pub(crate) span: Span,
    pub(crate) message: Cow<'static, str>,
    pub(crate) help: Option<&'static str>,
}

impl Fault {
    fn syntax(span: Span, message: impl Into<Cow<'static, str>>, help: &'static str) -> Self {
        Self { class: Class::Syntax, span, message: message.into(), help: Some(help) }
    }

    pub(crate) fn too_deep(span: Span) -> Self {
        Self {
            class: Class::Limit,
            span,
            message: format!("collections are nested deeper than {MAX_DEPTH} levels").into(),
            help: Some("no known document needs this; check how the text was generated"),
        }
    }
}
