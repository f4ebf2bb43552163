//! YAML trees with source spans, budgets and dialects.
//!
//! [`parse`] reads a stream into [`Document`]s whose [`Node`]s know where they were written;
//! [`Node::resolve`] then says what a scalar means, which depends on who reads it ([`Dialect`]).
//! Mistakes come as [`Diagnostics`] that show the line.
//!
//! What this crate promises whatever the input: no panic, no recursion that depth can exhaust, no
//! alias bomb, no duplicate key, no unknown tag, no number that lost digits.
//!
//! - `source`: the text, its encoding and size.
//! - `events`: text to events; the only place that knows the grammar.
//! - `compose`: events to trees, and the rules about keys, tags and aliases.
//! - `tree`, `merge`: reading a tree.
//! - `resolve`: what scalars mean.
//! - `diagnostic`: how mistakes are told.
//! - [`go`]: writing, as Go's libraries do.

#![forbid(unsafe_code)]

mod compose;
mod diagnostic;
mod duplicates;
mod events;
pub mod go;
mod merge;
mod resolve;
mod source;
mod tree;

pub use compose::{MAX_ALIASES, MAX_GROWTH, parse, parse_each, parse_with_repeats};
pub use diagnostic::{Class, Diagnostic, Diagnostics, Findings, Place, visible_text};
pub use resolve::{Dialect, Scalar};
pub use source::{MAX_BYTES, Source};
pub use tree::{Document, Entries, Items, Kind, Node, Properties, Span, Style, Tag};
