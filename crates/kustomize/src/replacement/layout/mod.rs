//! YAML in a text, written anew as kyaml does it: fields in their order, quotes and brackets as
//! they were, two spaces a level, lists not indented below their field, comments with the nodes
//! that go-yaml takes them to be for.
//!
//! - `scan`, `group`: where comments stand. `attach`: which node each of them is for.
//! - `write`: collections. `scalar`: scalars. `emitter`: lines, blanks and comments on their way
//!   out.
//! - `check`: whether what was written says the same.
//!
//! What is not written the same is refused: whoever reads the result would miss it.

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

/// Why a text is not written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unwritten {
    Alias,
    Tag,
    Comment,
    /// Kustomize drops all but the first.
    Documents,
    Key,
    /// A line break of Unicode outside of double quotes.
    Lines,
    /// What go-yaml writes is read as something else.
    Changed,
    /// A map or a list, in whose place a field of a resource is put.
    Collection,
    /// There is more of it than may be held.
    Limit(Exceeded),
}

/// The text with what stands in it now, which was set at those places that a path leads to. No line
/// break is at its end.
pub(super) fn write(now: &Node, text: &str, path: &[String], places: &[Vec<Step>]) -> Result<String, Unwritten> {
    let Ok(documents) = parse(Source::new("", text)) else { return Err(Unwritten::Lines) };
    let Some(document) = documents.first() else { return Err(Unwritten::Lines) };
    if documents.len() > 1 {
        return Err(Unwritten::Documents);
    }
    let root = document.root();
    let mut pieces = Pieces::default();
    pieces.add(root, false)?;
    // Kustomize compares the names of aliases where we compare what they stand for.
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
    /// Refuses what would be lost.
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

/// Whether a scalar stands at a place in the text itself, and not in what an alias or a merge key
/// brings along; or nothing did.
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

/// Whether there is a `#` outside of scalars.
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
    /// Whether kustomize drops or changes what it was not asked to.
    pub(super) fn is_lost(self) -> bool {
        matches!(self, Self::Documents | Self::Changed)
    }
}

impl std::fmt::Display for Unwritten {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Limit(exceeded) => return exceeded.fmt(f),
            Self::Alias => "holds anchors, where only a scalar that no alias or merge key brings along can be set, at a path of plain names",
            Self::Tag => "holds tags of maps, lists or keys, or such as YAML does not know",
            Self::Comment => "holds comments besides tabs, `\\r`, `?` or directives",
            Self::Documents => "holds several documents, of which only the first would be left",
            Self::Key => "holds keys of several lines, of more than 128 bytes, or with anchors",
            Self::Lines => "holds line breaks of Unicode",
            Self::Changed => "holds a block whose lines would change (`|+` before a comment at the end, `>+`, or `>` with indented lines)",
            Self::Collection => "has a map or a list there, for which kustomize takes the value with its own comments and quotes",
        })
    }
}
