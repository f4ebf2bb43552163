//! From text to events: the only module that knows YAML's grammar. What is outside sees [`Parser`],
//! [`Event`] and [`Fault`], so another parser could take its place.
//!
//! The rules are those of go-yaml v3, and thus of libyaml, from which it was ported: what kubectl
//! and Helm read is what we read. Where the two differ (`{a:}`), go-yaml decides, but for tabs:
//! go-yaml v3 skips them before some comments, a side effect of keeping comments that v2 does not
//! have either. Neither scanner nor grammar recurses: nesting lives in vectors, bounded by
//! [`MAX_DEPTH`].
//!
//! - `scanner`: characters to tokens: indentation, simple keys, indicators; `cursor` moves, `token`
//!   is what comes out.
//! - `plain`, `quoted`, `block_scalar`: the text of scalars, borrowed from the source where it can
//!   be.
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

/// The deepest nesting of collections that is read, written or through aliases: enough for fifty
/// Lists in each other, and less than what reads bundles back (128, with what stands around them).
pub(crate) const MAX_DEPTH: usize = 110;

/// A step of the walk through a stream.
#[derive(Debug)]
pub(crate) struct Event<'a> {
    pub(crate) kind: EventKind<'a>,
    /// What was written for it, without anchor and tag. Empty where nothing was (`a:`).
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

/// Why the text cannot be read on, at a byte range.
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
