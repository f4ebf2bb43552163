//! YAML trees with source spans, budgets and dialects.
//!
//! [`parse`] reads a stream into [`Document`]s whose [`Node`]s know their position in the source.
//! [`Node::resolve`] then gives the value of a scalar, which depends on its reader ([`Dialect`]).
//! Mistakes are returned as [`Diagnostics`] that show the line.
//!
//! For any input this crate guarantees: no panic, no recursion that depth can exhaust, no alias
//! bomb, no duplicate key, no unknown tag, no number that lost digits.
//!
//! - `source`: the text, its encoding and size.
//! - `events`: text to events; the only place that knows the grammar.
//! - `compose`: events to trees, and the rules about keys, tags and aliases.
//! - `tree`, `merge`: reading a tree.
//! - `resolve`: the values of scalars.
//! - `diagnostic`: how mistakes are reported.
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
