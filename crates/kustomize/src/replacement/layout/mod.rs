//! Writes YAML inside a text again, as kyaml does: fields in their order, the same quotes and
//! brackets, two spaces a level, lists not indented below their field, comments with the nodes that
//! go-yaml attaches them to.
//!
//! - `scan`, `group`: find comments. `attach`: attaches them to nodes.
//! - `write`: collections. `scalar`: scalars. `emitter`: lines, blanks and comments.
//! - `check`: verifies the written content.
//!
//! A text that would change elsewhere is rejected: its reader would miss the lost part.

mod attach;
mod check;
mod emitter;
mod group;
mod scalar;
mod scan;
#[cfg(test)]
mod tests;
mod write;

use setpoint_yaml::{Kind, Node as Written, Source, parse};

use crate::field_path::Step;
use crate::limits::Exceeded;
use crate::node::Node;

use attach::{Noted, NotedDocument};
use scan::Piece;

/// The reason why a text is not written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unwritten {
    Alias,
    Tag,
    Comment,
    /// Kustomize drops all documents but the first.
    Documents,
    Key,
    /// A Unicode line break outside of double quotes.
    Lines,
    /// The text written by go-yaml reads back as something else.
    Changed,
    /// A field of a resource would replace a map or a list.
    Collection,
    /// The text exceeds a limit.
    Limit(Exceeded),
}

/// Returns the text with its current content, changed at the places that a path matches. It has no
/// line break at its end.
pub(super) fn write(now: &Node, text: &str, path: &[String], places: &[Vec<Step>]) -> Result<String, Unwritten> {
    let Ok(documents) = parse(Source::new("", text)) else { return Err(Unwritten::Lines) };
    let Some(document) = documents.first() else { return Err(Unwritten::Lines) };
    if documents.len() > 1 {
        return Err(Unwritten::Documents);
    }
    let root = document.root();
    let mut pieces = Pieces::default();
    pieces.add(root, false)?;
    // Kustomize compares the names of aliases; we compare the anchored nodes.
    let is_plain = |part: &String| !part.starts_with('[') && part != "*";
    let is_out = |place: &Vec<Step>| is_written_out(root, place);
    if pieces.has_aliases && !(path.iter().all(is_plain) && places.iter().all(is_out)) {
        return Err(Unwritten::Alias);
    }
    if !has_comments(text, &pieces.scalars) {
        let bare = NotedDocument { head: String::new(), foot: String::new(), root: Noted::bare(root) };
        return write::document(now, &bare);
    }
    let scanned = scan::scan(text, &pieces.scalars)?;
    write::document(now, &attach::attach(root, &scanned)?)
}

/// The scalars of a text, in their order.
#[derive(Default)]
struct Pieces {
    scalars: Vec<Piece>,
    has_aliases: bool,
}

impl Pieces {
    /// Rejects content that would be lost.
    fn add(&mut self, written: Written<'_>, is_key: bool) -> Result<(), Unwritten> {
        let is_named = written.is_alias() || written.anchor().is_some();
        if is_key && is_named {
            return Err(Unwritten::Key);
        }
        self.has_aliases |= is_named;
        if written.is_alias() {
            return Ok(());
        }
        let is_scalar = matches!(written.kind(), Kind::Scalar(_));
        if written.tag().is_some() && (!is_scalar || is_key && !written.is_merge_key()) {
            return Err(Unwritten::Tag);
        }
        match written.kind() {
            Kind::Scalar(_) => {
                let (start, end) = (written.span().start(), written.span().end());
                if start < end {
                    self.scalars.push(Piece { start, end, style: written.style(), is_key });
                }
            }
            Kind::Sequence(items) => items.iter().try_for_each(|item| self.add(item, false))?,
            Kind::Mapping(entries) => entries.iter().try_for_each(|(key, value)| {
                self.add(key, true)?;
                self.add(value, false)
            })?,
        }
        Ok(())
    }
}

/// Reports whether the scalar at a place is in the text itself and not in an alias or a merge key,
/// or whether there was none.
fn is_written_out(root: Written<'_>, place: &[Step]) -> bool {
    let mut node = root;
    for step in place {
        let next = match (step, node.kind()) {
            _ if node.is_alias() => None,
            (Step::Field(name), Kind::Mapping(entries)) => match node.get(name) {
                None => return !entries.iter().any(|(key, _)| key.is_merge_key()),
                next => next,
            },
            (Step::Item(index), Kind::Sequence(items)) => items.iter().nth(*index),
            _ => None,
        };
        let Some(next) = next else { return false };
        node = next;
    }
    !node.is_alias() && matches!(node.kind(), Kind::Scalar(_))
}

/// Reports whether there is a `#` outside of scalars.
fn has_comments(text: &str, pieces: &[Piece]) -> bool {
    let mut from = 0;
    for piece in pieces {
        let body = piece.body(text);
        if text.get(from..body).is_none_or(|between| between.contains('#')) {
            return true;
        }
        from = piece.end.max(body);
    }
    text[from..].contains('#')
}

impl Unwritten {
    /// Reports whether kustomize drops or changes other parts of the text.
    pub(super) fn is_lost(self) -> bool {
        matches!(self, Self::Documents | Self::Changed)
    }
}

impl std::fmt::Display for Unwritten {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Limit(exceeded) => return exceeded.fmt(f),
            Self::Alias => "has anchors, with which only scalars outside of aliases and merge keys can be set, at a path of plain names",
            Self::Tag => "has tags of maps, lists or keys, or unknown tags",
            Self::Comment => "has comments together with tabs, `\\r`, `?` or directives",
            Self::Documents => "has several documents, of which only the first would remain",
            Self::Key => "has keys of several lines, of more than 128 bytes, or with anchors",
            Self::Lines => "has Unicode line breaks",
            Self::Changed => "has a block whose lines would change (`|+` before a comment at the end, `>+`, or `>` with indented lines)",
            Self::Collection => "has a map or a list there, for which kustomize copies the value with its comments and quotes",
        })
    }
}
