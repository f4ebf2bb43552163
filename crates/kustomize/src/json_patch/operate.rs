//! The operations of a patch.

use std::sync::Arc;

use super::{Operation, Problem};
use crate::limits::{Budget, Weight};
use crate::node::{Content, Node, Scalar, Tag};
use crate::origin::Origin;

/// The maximum depth of a tree: deeper ones would exhaust the stack of recursive code.
const DEEPEST: usize = 1000;

/// The steps to copy a node, walk it and drop it.
const COPIED: usize = 8;

/// The place of an operation: the node that contains it, and its key there.
struct Place<'n> {
    holder: &'n mut Node,
    key: String,
    depth: usize,
}

impl Operation {
    /// Applies the operation. `added` is the number of bytes counted for values so far.
    pub(super) fn carry_out(
        &self,
        root: &mut Node,
        origin: Origin,
        budget: &Budget,
        added: &mut usize,
    ) -> Result<(), Problem> {
        let weight = self.value.as_ref().map(Weight::of).unwrap_or_default();
        budget.steps(1 + COPIED * weight.nodes)?;
        let mut hold = |bytes: usize| {
            *added = added.saturating_add(bytes);
            budget.hold(bytes)
        };
        match &*self.op {
            "add" => {
                hold(weight.bytes)?;
                let value = self.value_or_null(origin);
                self.place(root, "path", self.path.as_ref(), budget)?.add(self, value, budget)
            }
            "remove" => self.place(root, "path", self.path.as_ref(), budget)?.remove(self, budget).map(drop),
            "replace" => {
                hold(weight.bytes)?;
                self.replace(root, origin, budget)
            }
            "move" => {
                let value = self.place(root, "from", self.from.as_ref(), budget)?.remove(self, budget)?;
                // Checking its depth walks the value.
                budget.steps(2 * size(&value))?;
                self.place(root, "path", self.path.as_ref(), budget)?.add(self, value, budget)
            }
            "copy" => {
                let place = self.place(root, "from", self.from.as_ref(), budget)?;
                let found = place.get(self)?;
                // Copies of copies double with each operation.
                let weight = found.map(Weight::of).unwrap_or_default();
                budget.steps(COPIED * weight.nodes)?;
                hold(weight.bytes)?;
                let value = found.cloned().unwrap_or_else(|| null(origin));
                self.place(root, "path", self.path.as_ref(), budget)?.add(self, value, budget)
            }
            "test" => self.test(root, budget),
            _ => Err(Problem::UnknownOp { op: Arc::clone(&self.op) }),
        }
    }

    /// Returns the value, or null if it is omitted.
    fn value_or_null(&self, origin: Origin) -> Node {
        let mut value = self.value.clone().unwrap_or_else(|| null(origin));
        put_origin(&mut value, origin);
        value
    }

    /// Replaces a value. A missing field is added, against the standard. An item must exist.
    fn replace(&self, root: &mut Node, origin: Origin, budget: &Budget) -> Result<(), Problem> {
        let value = self.value_or_null(origin);
        if self.path.as_deref() == Some("") {
            if matches!(value.content, Content::Scalar(_)) {
                return Err(Problem::RootValue);
            }
            *root = value;
            return Ok(());
        }
        let place = self.place(root, "path", self.path.as_ref(), budget)?;
        place.check_depth(&value)?;
        let Place { holder, key, .. } = place;
        match &mut holder.content {
            Content::Map(map) => map.set(&key, value),
            Content::Seq(items) => match index(&key, items.len()) {
                Some(at) if at < items.len() => items[at] = value,
                _ => return Err(Problem::NoItem { op: Arc::clone(&self.op), path: self.shown_path() }),
            },
            Content::Scalar(_) => {}
        }
        Ok(())
    }

    fn test(&self, root: &mut Node, budget: &Budget) -> Result<(), Problem> {
        let failed = || Problem::TestFailed { path: self.shown_path() };
        if self.path.as_deref() == Some("") {
            return self.value.as_ref().filter(|value| is_equal(root, value)).map(drop).ok_or_else(failed);
        }
        let place = self.place(root, "path", self.path.as_ref(), budget)?;
        let is_passed = match (place.get(self)?.filter(|found| !found.is_null()), &self.value) {
            (None, None) => true,
            (None, Some(value)) => value.is_null(),
            (Some(found), Some(value)) => is_equal(found, value),
            (Some(_), None) => false,
        };
        if is_passed { Ok(()) } else { Err(failed()) }
    }

    fn shown_path(&self) -> Arc<str> {
        self.path.clone().unwrap_or_default()
    }

    /// Finds the node that contains a place. The whole path must exist.
    fn place<'n>(
        &self,
        root: &'n mut Node,
        field: &'static str,
        path: Option<&Arc<str>>,
        budget: &Budget,
    ) -> Result<Place<'n>, Problem> {
        let op = || Arc::clone(&self.op);
        let path = path.ok_or_else(|| Problem::NoText { op: op(), field })?;
        budget.steps(path.len() / 4)?;
        let missing = || Problem::Missing { op: op(), field, path: Arc::clone(path) };
        let (first, rest) = path.split_once('/').ok_or_else(missing)?;
        if !first.is_empty() {
            return Err(Problem::NoSlash { field, path: Arc::clone(path) });
        }
        let (above, key) = rest.rsplit_once('/').map_or((None, rest), |(above, key)| (Some(above), key));
        let mut holder = root;
        let mut depth = 1;
        for name in above.into_iter().flat_map(|above| above.split('/')) {
            let name = unescaped(name);
            budget.steps(1 + entries(holder))?;
            let next = match &mut holder.content {
                Content::Map(map) => map.get_mut(&name),
                Content::Seq(items) => index(&name, items.len()).and_then(|at| items.get_mut(at)),
                Content::Scalar(_) => None,
            };
            holder = next.filter(|next| next.as_scalar().is_none()).ok_or_else(missing)?;
            depth += 1;
        }
        budget.steps(1 + entries(holder))?;
        Ok(Place { holder, key: unescaped(key), depth })
    }
}

impl Place<'_> {
    /// Returns the value at the place, or `None` for a missing field.
    fn get(&self, operation: &Operation) -> Result<Option<&Node>, Problem> {
        match &self.holder.content {
            Content::Map(map) => Ok(map.get(&self.key)),
            Content::Seq(items) => self.item(operation, items.len()).map(|at| items.get(at)),
            Content::Scalar(_) => Ok(None),
        }
    }

    fn remove(self, operation: &Operation, budget: &Budget) -> Result<Node, Problem> {
        let len = self.len();
        let at = if matches!(self.holder.content, Content::Seq(_)) { self.item(operation, len)? } else { 0 };
        let no_key =
            || Problem::NoKey { op: Arc::clone(&operation.op), path: operation.shown_path(), key: self.key.clone() };
        match &mut self.holder.content {
            Content::Map(map) => map.remove(&self.key).ok_or_else(no_key),
            Content::Seq(items) => {
                budget.steps(len - at)?;
                Ok(items.remove(at))
            }
            Content::Scalar(_) => Err(no_key()),
        }
    }

    /// Adds a field, or inserts an item before the existing one. `-`, the length, or -1 append.
    fn add(self, operation: &Operation, value: Node, budget: &Budget) -> Result<(), Problem> {
        self.check_depth(&value)?;
        let len = self.len();
        let at = match &self.holder.content {
            Content::Seq(_) if self.key == "-" => len,
            Content::Seq(_) => self.item(operation, len + 1)?,
            _ => 0,
        };
        match &mut self.holder.content {
            Content::Map(map) => map.set(&self.key, value),
            Content::Seq(items) => {
                // The items after it are moved.
                budget.steps(len - at)?;
                items.insert(at, value);
            }
            Content::Scalar(_) => {}
        }
        Ok(())
    }

    fn len(&self) -> usize {
        match &self.holder.content {
            Content::Seq(items) => items.len(),
            _ => 0,
        }
    }

    /// Returns the index of the item that the key names, in a list of this length.
    fn item(&self, operation: &Operation, len: usize) -> Result<usize, Problem> {
        let (op, path, key) = (Arc::clone(&operation.op), operation.shown_path(), self.key.clone());
        match index(&key, len) {
            Some(at) if at < len => Ok(at),
            Some(_) => Err(Problem::Outside { op, path, key, len: self.len() }),
            None if key.parse::<i64>().is_ok() => Err(Problem::Outside { op, path, key, len: self.len() }),
            None => Err(Problem::NoIndex { op, path, key }),
        }
    }

    fn check_depth(&self, value: &Node) -> Result<(), Problem> {
        if self.depth + height(value) > DEEPEST { Err(Problem::TooDeep(DEEPEST)) } else { Ok(()) }
    }
}

/// Parses an index, which counts from the end if it is negative.
fn index(key: &str, len: usize) -> Option<usize> {
    let number: i64 = key.parse().ok()?;
    match usize::try_from(number) {
        Ok(at) => Some(at),
        Err(_) => len.checked_sub(usize::try_from(number.unsigned_abs()).ok()?),
    }
}

/// Unescapes a name: `~1` is a slash, and `~0` is `~`.
fn unescaped(name: &str) -> String {
    let mut parts = name.split('~');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (c, rest) = match part.as_bytes().first() {
            Some(b'0') => ('~', &part[1..]),
            Some(b'1') => ('/', &part[1..]),
            _ => ('~', part),
        };
        text.push(c);
        text.push_str(rest);
    }
    text
}

fn null(origin: Origin) -> Node {
    Node::new(Content::Scalar(Scalar { text: "null".into(), tag: Tag::Null }), origin)
}

/// Compares two nodes. Numbers are equal if their JSON is.
fn is_equal(one: &Node, other: &Node) -> bool {
    match (&one.content, &other.content) {
        (Content::Scalar(one), Content::Scalar(other)) => one == other,
        (Content::Seq(one), Content::Seq(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| is_equal(one, other))
        }
        (Content::Map(one), Content::Map(other)) if one.len() == other.len() => {
            let mut fields: Vec<_> = one.iter().collect();
            let mut others: Vec<_> = other.iter().collect();
            fields.sort_by_key(|(name, _)| *name);
            others.sort_by_key(|(name, _)| *name);
            fields.iter().zip(&others).all(|(one, other)| one.0 == other.0 && is_equal(one.1, other.1))
        }
        _ => false,
    }
}

fn put_origin(node: &mut Node, origin: Origin) {
    node.origin = origin;
    match &mut node.content {
        Content::Scalar(_) => {}
        Content::Seq(items) => items.iter_mut().for_each(|item| put_origin(item, origin)),
        Content::Map(map) => map.iter_mut().for_each(|(_, field)| put_origin(field, origin)),
    }
}

/// Returns the number of fields or items that a lookup or an insertion passes.
fn entries(holder: &Node) -> usize {
    match &holder.content {
        Content::Scalar(_) => 0,
        Content::Seq(items) => items.len(),
        Content::Map(map) => map.len(),
    }
}

fn size(node: &Node) -> usize {
    1 + match &node.content {
        Content::Scalar(_) => 0,
        Content::Seq(items) => items.iter().map(size).sum(),
        Content::Map(map) => map.iter().map(|(_, field)| size(field)).sum(),
    }
}

fn height(node: &Node) -> usize {
    1 + match &node.content {
        Content::Scalar(_) => 0,
        Content::Seq(items) => items.iter().map(height).max().unwrap_or_default(),
        Content::Map(map) => map.iter().map(|(_, field)| height(field)).max().unwrap_or_default(),
    }
}
