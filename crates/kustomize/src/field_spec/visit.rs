//! Visits the fields of a resource that a field spec matches, and creates missing ones.

use std::borrow::Cow;
use std::sync::Arc;

use super::FieldSpec;
use crate::field_path::{PathError, check_length};
use crate::identity::{Gvk, Id};
use crate::limits::{Budget, Exceeded, found_among};
use crate::node::{Content, Map, Node, Scalar, Style, Tag, is_bare_name};
use crate::origin::Origin;

/// The node to create for a missing or null field, if the field spec requests it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Create {
    Nothing,
    Map,
    /// A scalar. A null keeps its text and gets this type.
    Scalar(Tag),
}

/// A field of an unexpected type.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("considering field '{}' of object {resource}", beginning(path))]
pub struct FieldError {
    pub path: Arc<str>,
    pub resource: Box<Id>,
    #[source]
    pub problem: FieldProblem,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FieldProblem {
    #[error(
        "expected sequence or mapping node before `{field}`, but there is a scalar; correct the resource or the path"
    )]
    Scalar { field: String },
    #[error("cannot set or create an empty field name; remove the extra slash")]
    NoName,
    #[error(
        "`{field}` names a list item, but the node is a map; write the name of the list with `[]` after it instead"
    )]
    Index { field: String },
    #[error(
        "json: unsupported type: map[interface {{}}]interface {{}}: the name `{name}` is not a string without quotes; rename it"
    )]
    Name { name: String },
    #[error("wrong node kind: expected {expected} but got {found}; correct the resource or the path")]
    Kind { expected: &'static str, found: &'static str },
    #[error(transparent)]
    Path(#[from] PathError),
    #[error("limit")]
    Limit(#[from] Exceeded),
}

/// Shortens a path for messages.
pub(crate) fn beginning(path: &str) -> Cow<'_, str> {
    match path.char_indices().nth(200) {
        Some((end, _)) => format!("{}…", &path[..end]).into(),
        None => path.into(),
    }
}

impl FieldProblem {
    pub(crate) fn kind(expected: &'static str, found: &Node) -> Self {
        let found = match &found.content {
            Content::Scalar(_) => "ScalarNode",
            Content::Seq(_) => "SequenceNode",
            Content::Map(_) => "MappingNode",
        };
        Self::Kind { expected, found }
    }
}

impl FieldSpec {
    /// Passes the fields of a resource to `set`, if the spec matches the resource. A missing field
    /// is created or skipped.
    pub fn apply(
        &self,
        node: &mut Node,
        create: Create,
        origin: Origin,
        budget: &Budget,
        set: &mut dyn FnMut(&mut Node) -> Result<(), FieldProblem>,
    ) -> Result<(), FieldError> {
        budget.spend(3 + found_among(node.as_map().map_or(0, Map::len)));
        if !self.is_about(node) {
            return Ok(());
        }
        budget.spend(8 + self.path.len() / 2);
        let create = if self.create { create } else { Create::Nothing };
        let visit = &mut Visit { create, origin, budget, set };
        let names = self.names();
        let visited = check_length(names.len()).map_err(FieldProblem::from).and_then(|()| visit.node(node, &names));
        let is_made = create != Create::Nothing;
        let visited = visited.and_then(|()| if is_made { Ok(budget.fields(node)?) } else { Ok(()) });
        visited.map_err(|problem| FieldError { path: Arc::clone(&self.path), resource: shown(node), problem })
    }
}

impl FieldSpec {
    fn is_about(&self, node: &Node) -> bool {
        let text = |field| node.at(&[field]).and_then(Node::as_text).unwrap_or_default();
        let api_version = text("apiVersion");
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let is = |wanted: &str, own: &str| wanted.is_empty() || wanted == own;
        is(&self.gvk.kind, text("kind")) && is(&self.gvk.group, group) && is(&self.gvk.version, version)
    }
}

/// Returns the id of a resource for messages.
pub(crate) fn shown(node: &Node) -> Box<Id> {
    let text = |field| node.at(&["metadata", field]).and_then(Node::as_text).unwrap_or_default().into();
    Box::new(Id { gvk: Gvk::of(node), name: text("name"), namespace: text("namespace"), is_cluster_scoped: false })
}

struct Visit<'v> {
    create: Create,
    origin: Origin,
    budget: &'v Budget,
    set: &'v mut dyn FnMut(&mut Node) -> Result<(), FieldProblem>,
}

impl Visit<'_> {
    fn node(&mut self, node: &mut Node, names: &[String]) -> Result<(), FieldProblem> {
        self.budget.steps(1)?;
        let [name, rest @ ..] = names else { return (self.set)(node) };
        if node.is_null() {
            return Ok(());
        }
        match &mut node.content {
            Content::Seq(items) => items.iter_mut().try_for_each(|item| self.node(item, names)),
            Content::Map(map) => match self.field(map, name, rest.is_empty())? {
                Some(field) => self.node(field, rest),
                None => Ok(()),
            },
            Content::Scalar(_) => Err(FieldProblem::Scalar { field: name.clone() }),
        }
    }

    fn field<'m>(&self, map: &'m mut Map, written: &str, is_last: bool) -> Result<Option<&'m mut Node>, FieldProblem> {
        let name = written.strip_suffix("[]").unwrap_or(written);
        let is_list = name.len() < written.len();
        let name = field_name(name)?;
        let wanted = match self.create {
            _ if is_list => None,
            Create::Map | Create::Scalar(_) if !is_last => Some(Create::Map),
            Create::Nothing => None,
            create => Some(create),
        };
        self.budget.spend(found_among(map.len()));
        if map.get(name).is_none() {
            let Some(wanted) = wanted else { return Ok(None) };
            self.budget.hold_text(name)?;
            map.push(name.into(), Node::new(missing(wanted), self.origin));
            return Ok(map.get_mut(name));
        }
        let mut field = map.get_mut(name);
        if let Some(null) = field.as_mut().filter(|field| field.is_null()) {
            self.fill(null, wanted, is_list);
        }
        Ok(field)
    }

    /// Replaces a null by the content to create.
    fn fill(&self, field: &mut Node, wanted: Option<Create>, is_list: bool) {
        let content = match (wanted, &field.content) {
            _ if is_list => Content::Seq(Vec::new()),
            (Some(Create::Scalar(tag)), Content::Scalar(null)) => {
                Content::Scalar(Scalar { text: Arc::clone(&null.text), tag })
            }
            (Some(wanted), _) => missing(wanted),
            (None, _) => return,
        };
        *field = Node::new(content, self.origin);
    }
}

fn missing(wanted: Create) -> Content {
    match wanted {
        Create::Map => Content::Map(Map::default()),
        Create::Nothing | Create::Scalar(_) => Content::Scalar(Scalar::plain("")),
    }
}

/// Returns a name for a lookup. A part that would name a list item is an error.
pub(crate) fn field_name(written: &str) -> Result<&str, FieldProblem> {
    let name = written.trim();
    let is_index = matches!(name, "-" | "*") || name.parse::<i64>().is_ok();
    match name {
        "" => Err(FieldProblem::NoName),
        _ if is_index || name.starts_with('[') && name.ends_with(']') => {
            Err(FieldProblem::Index { field: name.to_owned() })
        }
        _ => Ok(name),
    }
}

/// Sets a scalar to a string, whatever the text looks like.
pub fn set_text(node: &mut Node, text: &Arc<str>, origin: Origin) -> Result<(), FieldProblem> {
    set_scalar(node, Scalar::text(Arc::clone(text)), origin)
}

/// Sets a scalar in the notation of the old one: quoted, or with the type of its text.
pub fn set_plain(node: &mut Node, text: &str, origin: Origin) -> Result<(), FieldProblem> {
    let tag = if was_quoted(node) { Tag::Text } else { Tag::Any };
    set_scalar(node, Scalar { text: text.into(), tag }, origin)
}

/// Sets an integer, which is quoted if the old value was.
pub fn set_int(node: &mut Node, number: i64, origin: Origin) -> Result<(), FieldProblem> {
    // A tag is written before the quotes.
    let tag = if was_quoted(node) && node.style != Style::Tagged { Tag::Text } else { Tag::Int };
    set_scalar(node, Scalar { text: number.to_string().into(), tag }, origin)
}

/// Reports whether the node was quoted, or a block scalar.
fn was_quoted(node: &Node) -> bool {
    matches!(node.style, Style::Quoted | Style::Folded | Style::Tagged)
}

fn set_scalar(node: &mut Node, scalar: Scalar, origin: Origin) -> Result<(), FieldProblem> {
    if node.as_scalar().is_none() {
        return Err(FieldProblem::kind("ScalarNode", node));
    }
    let style = if node.style == Style::Blank { Style::Plain } else { node.style };
    *node = Node { style, ..Node::new(Content::Scalar(scalar), origin) };
    Ok(())
}

/// Sets an entry of a map of strings. A null stays null. `style` is the notation so far: that of
/// the last replaced value, or the required quotes if there was none.
pub fn set_entry(
    node: &mut Node,
    name: &str,
    text: &Arc<str>,
    style: &mut Style,
    origin: Origin,
) -> Result<(), FieldProblem> {
    if name.is_empty() {
        return set_text(node, text, origin);
    }
    if node.is_null() {
        return Ok(());
    }
    let Some(map) = node.as_map_mut() else { return Err(FieldProblem::kind("MappingNode", node)) };
    match map.get(name).map(|own| own.style) {
        Some(Style::Blank | Style::Flow) => *style = Style::Plain,
        Some(own) => *style = own,
        None if !is_bare_name(name) => return Err(FieldProblem::Name { name: name.to_owned() }),
        None if *style == Style::Plain => *style = Style::of_entry(text),
        None => {}
    }
    map.set(name, Node { style: *style, ..Node::new(Content::Scalar(Scalar::text(Arc::clone(text))), origin) });
    Ok(())
}
