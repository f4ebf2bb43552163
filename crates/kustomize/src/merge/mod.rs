//! Strategic merge patches, as kustomize applies them.
//!
//! The whole resource is walked, including the parts that the patch does not name: empty nulls are
//! removed, and lists that are merged by keys are sorted as if by an empty patch. New fields follow
//! the existing ones, sorted; new items of merged lists come first. A node taken from the patch is
//! merged with itself, so that its nulls and directives are applied too.
//!
//! - [`directive`]: `$patch`. [`list`]: lists whose items all have their keys. [`irregular`]: all
//!   other lists.

mod directive;
mod irregular;
mod list;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::limits::{Budget, Exceeded};
use crate::node::{Content, Map, Node, Style, Tag};
use crate::schema::{Cursor, ListMerge, Schema};
use directive::Directive;
use list::Other;

/// The outcome for a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Merged {
    RetentionReason,
    /// The patch deletes it, or leaves it empty.
    Deleted,
}

/// A patch that cannot be merged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{reason}", self.place())]
pub struct NoMerge {
    /// The path of the fields; empty for the whole resource.
    pub path: String,
    pub reason: Reason,
}

/// The reason why a patch cannot be merged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
    #[error(
        "wrong node kind: expected {wanted} but got {found}; write the same kind of node in the patch as in the resource, or remove the field by an earlier patch"
    )]
    WrongKind { wanted: Kind, found: Kind },
    #[error("unknown patch strategy '{directive}'; write `replace`, `delete` or `merge` after `$patch`")]
    UnknownDirective { directive: String },
    #[error(
        "{count} items are merged by their keys, and some lack them; give each item its keys, or write fewer than {} items",
        irregular::MAX_ITEMS
    )]
    TooIrregular { count: usize },
    #[error("wrong node kind: expected ScalarNode but got MappingNode: a field has an empty name; remove it")]
    NoName,
    #[error("limit: {0}")]
    Limit(#[from] Exceeded),
}

/// The type of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Scalar,
    Seq,
    Map,
}

/// Formats as kustomize does.
impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Scalar => "ScalarNode",
            Self::Seq => "SequenceNode",
            Self::Map => "MappingNode",
        })
    }
}

impl Kind {
    fn of(node: &Node) -> Self {
        match node.content {
            Content::Scalar(_) => Self::Scalar,
            Content::Seq(_) => Self::Seq,
            Content::Map(_) => Self::Map,
        }
    }
}

impl NoMerge {
    fn new(reason: Reason) -> Self {
        Self { path: String::new(), reason }
    }

    fn wrong_kind(wanted: Kind, found: &Node) -> Self {
        Self::new(Reason::WrongKind { wanted, found: Kind::of(found) })
    }

    fn place(&self) -> String {
        if self.path.is_empty() { String::new() } else { format!("`{}`: ", self.path) }
    }

    fn under(mut self, field: &str) -> Self {
        let dot = if self.path.is_empty() { "" } else { "." };
        self.path.insert_str(0, dot);
        self.path.insert_str(0, field);
        self
    }
}

/// Merges a patch into a resource. Nodes taken from the patch keep their origin. After an error the
/// resource may be partly merged.
pub fn merge(patch: &Node, into: &mut Node, schema: &Schema, budget: &Budget) -> Result<Merged, NoMerge> {
    let mut patch = patch.clone();
    Ok(match (Merger { schema, budget }).merge(into, &mut patch, None)? {
        // Kustomize returns the patch here but ignores it: at the top, `$patch: replace` changes
        // nothing.
        Left::Own | Left::Patch if !is_empty_map(into) => Merged::RetentionReason,
        _ => Merged::Deleted,
    })
}

/// The node that remains. Both may have been changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Left {
    Own,
    Patch,
    Nothing,
}

impl Left {
    fn patch_if(stays: bool) -> Self {
        if stays { Self::Patch } else { Self::Nothing }
    }
}

/// The way items are merged, and their schema.
type Associative<'a> = (ListMerge<'a>, Option<Cursor<'a>>);

#[derive(Clone, Copy)]
struct Merger<'a> {
    schema: &'a Schema,
    budget: &'a Budget,
}

impl<'a> Merger<'a> {
    /// Merges a node that the patch names.
    fn merge(self, own: &mut Node, patch: &mut Node, known: Option<Cursor<'a>>) -> Result<Left, NoMerge> {
        let known = known.or_else(|| self.embedded(own)).or_else(|| self.embedded(patch));
        if is_null(own) {
            return self.take(patch, known, Place::Empty).map(Left::patch_if);
        }
        if is_null(patch) {
            return Ok(Left::Nothing);
        }
        match (&mut own.content, &mut patch.content) {
            (Content::Scalar(_), Content::Scalar(_)) => Ok(Left::Patch),
            (Content::Map(map), Content::Map(fields)) => match Directive::take_from_map(fields)? {
                Directive::Delete => Ok(Left::Nothing),
                Directive::Replace => self.take_fields(fields, known).map(|()| Left::Patch),
                Directive::Merge => self.merge_fields(map, fields, known).map(|()| Left::Own),
            },
            (Content::Seq(items), Content::Seq(patches)) => self.merge_items(items, patches, known),
            _ => Err(NoMerge::wrong_kind(Kind::of(own), patch)),
        }
    }

    fn merge_items(
        self,
        own: &mut Vec<Node>,
        patch: &mut Vec<Node>,
        known: Option<Cursor<'a>>,
    ) -> Result<Left, NoMerge> {
        let Some((how, items)) = self.associative(known)? else { return Ok(Left::Patch) };
        match Directive::take_from_list(patch)? {
            Directive::Delete => Ok(Left::Nothing),
            Directive::Replace => self.list(patch, Other::Same, &how, items).map(|()| Left::Patch),
            Directive::Merge => self.list(own, Other::Patch(patch), &how, items).map(|()| Left::Own),
        }
    }

    fn merge_fields(self, own: &mut Map, patch: &mut Map, known: Option<Cursor<'a>>) -> Result<(), NoMerge> {
        let mut patches: BTreeMap<Arc<str>, &mut Node> =
            patch.iter_mut().map(|(name, node)| (Arc::clone(name), node)).collect();
        let below = |name: &str| self.below(known, name);
        own.try_retain(|name, node| {
            check_name(name)?;
            let Some(patch) = patches.remove(name) else {
                return self.keep_field(node, below(name)?).map_err(|problem| problem.under(name));
            };
            let left = self.merge(node, patch, below(name)?).map_err(|problem| problem.under(name))?;
            if left == Left::Patch {
                replace(node, patch);
            }
            Ok(left != Left::Nothing)
        })?;
        for (name, patch) in patches {
            check_name(&name)?;
            if self.take(patch, below(&name)?, Place::Empty).map_err(|problem| problem.under(&name))? {
                self.settle(patch)?;
                own.push(name, patch.clone());
            }
        }
        Ok(())
    }

    fn keep_field(self, own: &mut Node, known: Option<Cursor<'a>>) -> Result<bool, NoMerge> {
        self.settle(own)?;
        self.keep(own, known)
    }

    /// Walks a node that the patch does not name. Reports whether it remains.
    fn keep(self, own: &mut Node, known: Option<Cursor<'a>>) -> Result<bool, NoMerge> {
        let known = known.or_else(|| self.embedded(own));
        match &mut own.content {
            // An explicit null is intended; an empty one is not.
            Content::Scalar(scalar) => return Ok(scalar.tag != Tag::Null || !scalar.text.is_empty()),
            Content::Map(map) => map.try_retain(|name, node| {
                check_name(name)?;
                self.keep_field(node, self.below(known, name)?).map_err(|problem| problem.under(name))
            })?,
            Content::Seq(items) => {
                if let Some((how, known)) = self.associative(known)? {
                    self.list(items, Other::Nothing, &how, known)?;
                }
            }
        }
        Ok(true)
    }

    /// Walks a node that is taken from the patch. Reports whether it remains.
    fn take(self, patch: &mut Node, known: Option<Cursor<'a>>, place: Place) -> Result<bool, NoMerge> {
        let known = known.or_else(|| self.embedded(patch));
        let directive = match (&mut patch.content, place) {
            // If the resource has no such node, kustomize ignores an unknown directive.
            (Content::Map(map), Place::Empty) => Directive::take_from_map(map).unwrap_or(Directive::Merge),
            (Content::Map(map), Place::Same) => Directive::take_from_map(map)?,
            (Content::Seq(items), Place::Same) if self.associative(known)?.is_some() => {
                Directive::take_from_list(items)?
            }
            _ => Directive::Merge,
        };
        if directive == Directive::Delete {
            return Ok(false);
        }
        match &mut patch.content {
            Content::Map(map) => self.take_fields(map, known)?,
            Content::Seq(items) => {
                if let Some((how, known)) = self.associative(known)? {
                    self.list(items, Other::Same, &how, known)?;
                }
            }
            Content::Scalar(_) => {}
        }
        Ok(!is_null(patch))
    }

    fn take_fields(self, patch: &mut Map, known: Option<Cursor<'a>>) -> Result<(), NoMerge> {
        patch.try_retain(|name, node| {
            self.settle(node)?;
            self.take(node, self.below(known, name)?, Place::Same).map_err(|problem| problem.under(name))
        })
    }

    /// Returns the schema of a field.
    fn below(self, known: Option<Cursor<'a>>, name: &str) -> Result<Option<Cursor<'a>>, NoMerge> {
        let below = known.and_then(|known| known.field(name));
        self.spend(self.schema.take_steps()).map(|()| below)
    }

    /// Returns how the items of a list are merged; `None` if the list is replaced.
    fn associative(self, known: Option<Cursor<'a>>) -> Result<Option<Associative<'a>>, NoMerge> {
        let how = known.map(|known| (known.list(), known));
        let how = how.filter(|(how, _)| *how != ListMerge::Replace).map(|(how, known)| (how, known.items()));
        self.spend(self.schema.take_steps()).map(|()| how)
    }

    fn spend(self, steps: usize) -> Result<(), NoMerge> {
        self.budget.steps(steps).map_err(|exceeded| NoMerge::new(exceeded.into()))
    }

    /// Quotes a string that YAML 1.1 would read as another type: merging sets all fields again.
    fn settle(self, field: &mut Node) -> Result<(), NoMerge> {
        let Content::Scalar(scalar) = &mut field.content else { return Ok(()) };
        if field.style == Style::Plain && matches!(scalar.tag, Tag::Text | Tag::Any) {
            self.spend(Style::cost_of_entry(&scalar.text))?;
            field.style = Style::of_entry(&scalar.text);
            if field.style == Style::Quoted {
                scalar.tag = Tag::Text;
            }
        }
        Ok(())
    }

    /// Returns the schema of a node without one, if the node names its own kind.
    fn embedded(self, node: &Node) -> Option<Cursor<'a>> {
        let map = node.as_map()?;
        let text = |field| {
            map.get(field).filter(|node| !is_null(node)).and_then(Node::as_text).filter(|text| !text.is_empty())
        };
        self.schema.resource_of(text("apiVersion")?, text("kind")?)
    }
}

/// The counterpart of a node that is taken from the patch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// There is none.
    Empty,
    /// The node itself, since its parent was taken.
    Same,
}

/// Replaces a node by one of the patch. A quoted node stays quoted, whatever its new type. A node
/// with equal content keeps its origin.
fn replace(own: &mut Node, patch: &Node) {
    let origin = if own.content == patch.content { own.origin } else { patch.origin };
    *own = Node { style: own.style, origin, ..patch.clone() };
    if let (Style::Quoted | Style::Folded, Content::Scalar(scalar)) = (own.style, &mut own.content) {
        // A tag that differs from the type of the text is written before the quotes.
        if scalar.tag == Tag::Any || scalar.tag == Tag::of(&scalar.text) {
            scalar.tag = Tag::Text;
        }
    }
}

/// Reports whether a node of a patch replaces its counterpart instead of merging with it.
pub fn is_total(patch: &Node) -> bool {
    is_null(patch) || patch.as_map().is_some_and(Directive::is_total)
}

fn check_name(name: &str) -> Result<(), NoMerge> {
    if name.is_empty() { Err(NoMerge { path: String::new(), reason: Reason::NoName }) } else { Ok(()) }
}

fn is_null(node: &Node) -> bool {
    node.is_null()
}

fn is_empty_map(node: &Node) -> bool {
    node.as_map().is_some_and(Map::is_empty)
}

/// Returns the text of a scalar, or an empty one.
fn text(node: &Node) -> &str {
    node.as_text().unwrap_or_default()
}
