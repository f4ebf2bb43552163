//! Finds all nodes that match a path, and creates missing ones.

use setpoint_yaml::go;

use crate::limits::{Budget, NODE, Weight};
use crate::node::{Content, Map, Node, Scalar, is_bare_name};
use crate::origin::Origin;
use crate::pattern::Pattern;
use crate::read::read_first;

use super::{PathError, Step, is_bracketed, is_null, items, kind_of, pair, wrong_kind};

/// The node to create at the end of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leaf {
    Scalar,
    Seq,
    Map,
}

/// The nodes that a path matches.
#[derive(Debug)]
pub struct Matching<'b> {
    create: Option<Leaf>,
    origin: Origin,
    budget: &'b Budget,
    /// The paths of the nodes.
    pub found: Vec<Vec<Step>>,
    /// The number of matching nodes outside the tree: they were parsed from a text on the way, or
    /// would be created in a null. As in kustomize, values written to them are lost.
    pub lost: usize,
    /// One of the lost nodes is a map or a list.
    pub has_lost_collection: bool,
    here: Vec<Step>,
    is_lost: bool,
    /// The bytes counted for the paths of the nodes, released together with them.
    held: usize,
}

impl Drop for Matching<'_> {
    fn drop(&mut self) {
        self.budget.release(self.held);
    }
}

impl Leaf {
    pub fn of(node: &Node) -> Self {
        match &node.content {
            Content::Scalar(_) => Self::Scalar,
            Content::Seq(_) => Self::Seq,
            Content::Map(_) => Self::Map,
        }
    }

    fn node(self, origin: Origin) -> Node {
        let content = match self {
            Self::Scalar => Content::Scalar(Scalar::plain("")),
            Self::Seq => Content::Seq(Vec::new()),
            Self::Map => Content::Map(Map::default()),
        };
        Node::new(content, origin)
    }

    /// Returns the content to create before the next part of a path.
    fn before(next: Option<&String>, last: Self) -> Self {
        match next.map(String::as_str) {
            None | Some("") => last,
            Some(part) if is_bracketed(part) || index(part).is_some() => Self::Seq,
            Some(_) => Self::Map,
        }
    }
}

fn index(part: &str) -> Option<usize> {
    part.parse::<i64>().ok().and_then(|index| usize::try_from(index).ok())
}

impl<'b> Matching<'b> {
    /// Follows a path from a node. If `create` is set, missing nodes are created with `origin`.
    pub fn of(
        node: &mut Node,
        parts: &[String],
        create: Option<Leaf>,
        origin: Origin,
        budget: &'b Budget,
    ) -> Result<Self, PathError> {
        let mut matching = Self {
            create,
            origin,
            budget,
            found: Vec::new(),
            lost: 0,
            has_lost_collection: false,
            here: Vec::new(),
            is_lost: false,
            held: 0,
        };
        matching.visit(node, parts)?;
        Ok(matching)
    }

    pub fn is_empty(&self) -> bool {
        self.found.is_empty() && self.lost == 0
    }

    /// Returns the number of nodes found from here.
    fn visit(&mut self, node: &mut Node, parts: &[String]) -> Result<usize, PathError> {
        self.budget.steps(1)?;
        let Some((part, rest)) = parts.split_first() else {
            if self.is_lost {
                self.lost += 1;
                self.has_lost_collection |= node.as_scalar().is_none();
            } else {
                let bytes = NODE + size_of_val(&*self.here);
                self.held += bytes;
                self.budget.steps(self.here.len() / 4)?;
                self.budget.hold(bytes)?;
                self.found.push(self.here.clone());
            }
            return Ok(1);
        };
        match part.as_str() {
            part if index(part).is_some() => self.index(node, part, rest),
            part if is_bracketed(part) => self.elements(node, part, rest),
            "*" => {
                let count = items(node, part)?.len();
                (0..count).try_fold(0, |found, at| Ok(found + self.item(node, at, rest)?))
            }
            part => self.field(node, part, rest),
        }
    }

    fn step(&mut self, step: Step, node: &mut Node, rest: &[String]) -> Result<usize, PathError> {
        self.here.push(step);
        let found = self.visit(node, rest);
        self.here.pop();
        found
    }

    fn item(&mut self, node: &mut Node, at: usize, rest: &[String]) -> Result<usize, PathError> {
        match &mut node.content {
            Content::Seq(items) if at < items.len() => self.step(Step::Item(at), &mut items[at], rest),
            _ => Ok(0),
        }
    }

    /// Continues in a node that is not part of the tree.
    fn aside(&mut self, node: &mut Node, parts: &[String]) -> Result<usize, PathError> {
        let was_lost = std::mem::replace(&mut self.is_lost, true);
        let found = self.visit(node, parts);
        self.is_lost = was_lost;
        found
    }

    fn field(&mut self, node: &mut Node, part: &str, rest: &[String]) -> Result<usize, PathError> {
        let is_null = is_null(node);
        if part.is_empty() && !is_null {
            return match node.as_text() {
                Some("") => self.visit(node, rest),
                Some(_) => Ok(0),
                None => Err(wrong_kind(node, "ScalarNode", part)),
            };
        }
        let (create, origin) = (self.create, self.origin);
        if is_null {
            let Some(leaf) = create else { return Ok(0) };
            return self.aside(&mut Leaf::before(rest.first(), leaf).node(origin), rest);
        }
        let kind = kind_of(node);
        let Content::Map(map) = &mut node.content else {
            return Err(PathError::Kind { part: part.to_owned(), expected: "MappingNode", found: kind });
        };
        self.budget.spend(map.len());
        if map.get(part).is_none() {
            let Some(leaf) = create else { return Ok(0) };
            if !is_bare_name(part) {
                return Err(PathError::Name { part: part.to_owned() });
            }
            self.budget.hold_text(part)?;
            map.set(part, Leaf::before(rest.first(), leaf).node(origin));
        }
        let Some(field) = map.get_mut(part) else { return Ok(0) };
        match field.as_text() {
            Some(text) if !rest.is_empty() => {
                let unread = || PathError::Text { part: part.to_owned() };
                self.budget.steps(text.len())?;
                let mut inner = read_first(text).ok().flatten().ok_or_else(unread)?;
                let held = Weight::of(&inner).bytes;
                self.budget.hold(held)?;
                let found = self.aside(&mut inner, rest);
                self.budget.release(held);
                found
            }
            _ => self.step(Step::Field(part.into()), field, rest),
        }
    }

    fn index(&mut self, node: &mut Node, part: &str, rest: &[String]) -> Result<usize, PathError> {
        let length = items(node, part)?.len();
        let index = index(part).unwrap_or(usize::MAX);
        match (self.create, &mut node.content) {
            (Some(leaf), Content::Seq(items)) if index == length => {
                self.budget.hold(NODE)?;
                items.push(Leaf::before(rest.first(), leaf).node(self.origin));
            }
            (Some(leaf), Content::Scalar(_)) if index == length => {
                return self.aside(&mut Leaf::before(rest.first(), leaf).node(self.origin), rest);
            }
            _ if index >= length => return Err(PathError::Index { index, length }),
            _ => {}
        }
        self.item(node, index, rest)
    }

    /// Visits all matching elements, and creates one if there are none.
    fn elements(&mut self, node: &mut Node, part: &str, rest: &[String]) -> Result<usize, PathError> {
        let (name, value) = pair(part)?;
        let mut found = self.fitting(node, part, rest)?;
        if found == 0 && self.create.is_some() {
            let scalar = Node::new(Content::Scalar(Scalar::plain(value)), self.origin);
            let made = match name {
                "" => scalar,
                name => {
                    let mut map = Map::default();
                    map.set(name, scalar);
                    Node::new(Content::Map(map), self.origin)
                }
            };
            found = match &mut node.content {
                Content::Seq(items) => {
                    self.budget.hold(Weight::of(&made).bytes)?;
                    items.push(made);
                    self.fitting(node, part, rest)?
                }
                _ => {
                    let mut list = Node::new(Content::Seq(vec![made]), self.origin);
                    let was_lost = std::mem::replace(&mut self.is_lost, true);
                    let found = self.fitting(&mut list, part, rest);
                    self.is_lost = was_lost;
                    found?
                }
            };
            // Kustomize would create elements endlessly.
            if found == 0 {
                return Err(PathError::Unmade { part: part.to_owned() });
            }
        }
        Ok(found)
    }

    fn fitting(&mut self, node: &mut Node, part: &str, rest: &[String]) -> Result<usize, PathError> {
        let count = items(node, part)?.len();
        let (name, value) = pair(part)?;
        if count == 0 {
            return Ok(0);
        }
        let bad = |source| PathError::Pattern { part: part.to_owned(), source };
        let pattern = Pattern::new(value).map_err(bad)?;
        self.budget.steps(pattern.size())?;
        let mut found = 0;
        for at in 0..count {
            let item = &items(node, part)?[at];
            let compared = match name {
                "" => Some(item),
                name => item.as_map().and_then(|map| map.get(name)),
            };
            self.budget.steps(compared.map_or(1, |node| 1 + Weight::of(node).bytes / NODE))?;
            if compared.is_some_and(|node| pattern.is_match(&shown(node), self.budget)) {
                // If elements themselves are compared, the rest of the path is ignored.
                found += self.item(node, at, if name.is_empty() { &[] } else { rest })?;
            }
        }
        Ok(found)
    }
}

/// Returns the text by which a node is compared.
fn shown(node: &Node) -> String {
    match &node.content {
        Content::Scalar(scalar) => scalar.text.trim().to_owned(),
        _ => {
            let mut text = String::new();
            // A node that cannot be written is compared by the part that can.
            let _ = go::write(node, &mut text);
            text.trim().to_owned()
        }
    }
}
