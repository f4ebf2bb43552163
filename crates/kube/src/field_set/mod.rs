//! Sets of field paths, as the server stores them for every writer (`fieldsV1`). A set is a tree of
//! shared, immutable nodes.

mod algebra;
mod form;
mod shared;

use std::sync::Arc;

use setpoint_core::value::Value;

use crate::path::{Element, FieldPath};
use crate::pattern::FieldPattern;

pub use form::BadFieldSet;
pub use shared::FieldSets;

/// A set of field paths. Cheap to copy.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct FieldSet(pub(crate) Arc<Node>);

/// The part of a set at one path, with everything below it.
///
/// It is always in normal form, so that equal sets are equal trees: children are ordered by
/// element; a node with children never owns as a whole; only the root may own nothing and have no
/// children.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Node {
    pub(crate) own: Own,
    pub(crate) children: Box<[Child]>,
}

/// A step, and the node it leads to.
pub(crate) type Child = (Element, Arc<Node>);

/// The ownership of a path itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Own {
    #[default]
    No,
    /// Declared as empty, and left out by the server: ours to take back from others, but there is
    /// nothing to compare.
    Claim,
    /// Only the existence of a value, not its content: a map or item that others may add to, or a
    /// field that was declared as empty.
    Existence,
    /// The whole value.
    Whole,
}

impl Node {
    pub(crate) fn new(own: Own, mut children: Vec<Child>) -> Self {
        children.retain(|(_, child)| !child.is_nothing());
        let own = if own == Own::Whole && !children.is_empty() { Own::Existence } else { own };
        Self { own, children: children.into() }
    }

    pub(crate) fn is_nothing(&self) -> bool {
        self.own == Own::No && self.children.is_empty()
    }

    pub(crate) fn owns(&self) -> bool {
        self.own != Own::No
    }

    pub(crate) fn child(&self, element: &Element) -> Option<&Self> {
        let at = self.children.binary_search_by(|(known, _)| known.cmp(element)).ok()?;
        Some(&self.children[at].1)
    }

    /// Returns the names of the keys by which the server distinguishes the items of a list.
    pub(crate) fn item_keys(&self) -> Option<Vec<Arc<str>>> {
        self.children.iter().find_map(|(element, _)| match element {
            Element::Item(keys) => Some(keys.iter().map(|(name, _)| Arc::clone(name)).collect()),
            _ => None,
        })
    }

    fn len(&self) -> usize {
        usize::from(self.owns()) + self.children.iter().map(|(_, child)| child.len()).sum::<usize>()
    }

    /// Visits every owned path, those above before those below.
    pub(crate) fn visit<'n>(&'n self, path: &mut Vec<&'n Element>, seen: &mut impl FnMut(&[&'n Element], &'n Self)) {
        if self.owns() {
            seen(path, self);
        }
        for (element, child) in &self.children {
            path.push(element);
            child.visit(path, seen);
            path.pop();
        }
    }
}

pub(crate) fn path_of(elements: &[&Element]) -> FieldPath {
    FieldPath(elements.iter().map(|element| (*element).clone()).collect())
}

impl FieldSet {
    pub fn empty() -> Self {
        Self::default()
    }

    pub(crate) fn of(root: Node) -> Self {
        Self(Arc::new(root))
    }

    pub fn from_paths(paths: impl IntoIterator<Item = FieldPath>) -> Self {
        paths.into_iter().fold(Self::empty(), |set, path| set.union(&Self::alone(path, Own::Whole)))
    }

    /// Returns the set of one path.
    pub(crate) fn alone(path: FieldPath, own: Own) -> Self {
        let below = |node, element| Node::new(Own::No, vec![(element, Arc::new(node))]);
        Self::of(path.0.into_iter().rev().fold(Node::new(own, Vec::new()), below))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_nothing()
    }

    /// Returns the number of paths.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    fn node(&self, path: &FieldPath) -> Option<&Node> {
        path.0.iter().try_fold(&*self.0, |node, element| node.child(element))
    }

    /// Reports whether the set contains exactly this path.
    pub fn contains(&self, path: &FieldPath) -> bool {
        self.node(path).is_some_and(Node::owns)
    }

    /// Reports whether the set contains the path, or a path above it as a whole.
    pub fn covers(&self, path: &FieldPath) -> bool {
        let mut node = &*self.0;
        for element in &path.0 {
            if node.own == Own::Whole {
                return true;
            }
            match node.child(element) {
                Some(child) => node = child,
                None => return false,
            }
        }
        node.owns()
    }

    /// Reports whether the set covers the path, or contains a path below it.
    pub fn touches(&self, path: &FieldPath) -> bool {
        self.covers(path) || self.node(path).is_some()
    }

    /// Reports whether the other set contains every path of this one.
    pub fn is_within(&self, other: &Self) -> bool {
        self.0.is_within(&other.0)
    }

    pub fn union(&self, other: &Self) -> Self {
        Self::of(self.0.union(&other.0))
    }

    /// Returns the paths that the other set does not contain.
    pub fn difference(&self, other: &Self) -> Self {
        Self::of(self.0.difference(&other.0))
    }

    /// Returns the difference, without the maps and items of which only the existence would be
    /// left.
    pub fn let_go(&self, other: &Self) -> Self {
        Self::of(self.0.let_go(&other.0))
    }

    /// Returns the set without the paths that match the patterns, and all below them.
    pub fn without(&self, patterns: &[FieldPattern]) -> Self {
        if patterns.is_empty() {
            return self.clone();
        }
        Self::of(self.0.without(&patterns.iter().collect::<Vec<_>>(), 0))
    }

    /// Returns every path in the set, those above before those below.
    pub fn paths(&self) -> Vec<FieldPath> {
        let mut paths = Vec::with_capacity(self.len());
        self.0.visit(&mut Vec::new(), &mut |path, _| paths.push(path_of(path)));
        paths
    }

    /// Returns the paths without other paths of the set below them.
    pub fn leaves(&self) -> Vec<FieldPath> {
        let mut leaves = Vec::new();
        self.0.visit(&mut Vec::new(), &mut |path, node| {
            if node.children.is_empty() {
                leaves.push(path_of(path));
            }
        });
        leaves
    }

    /// Returns the paths whose whole value the set contains.
    pub fn values(&self) -> Vec<FieldPath> {
        let mut values = Vec::new();
        self.0.visit(&mut Vec::new(), &mut |path, node| {
            if node.own == Own::Whole {
                values.push(path_of(path));
            }
        });
        values
    }

    /// Returns the path for the server's notation, in which `.metadata.labels.a.b/c` may be split
    /// in several ways.
    pub fn find(&self, server_text: &str) -> Option<FieldPath> {
        fn search<'n>(node: &'n Node, text: &str, path: &mut Vec<&'n Element>) -> bool {
            if text.is_empty() {
                return node.owns();
            }
            node.children.iter().any(|(element, child)| {
                path.push(element);
                let found = text.strip_prefix(&element.server_text()).is_some_and(|rest| search(child, rest, path));
                if !found {
                    path.pop();
                }
                found
            })
        }
        let mut path = Vec::new();
        search(&self.0, server_text, &mut path).then(|| path_of(&path))
    }

    /// Returns the set without claimed fields: the fields that can be compared.
    pub(crate) fn compared(&self) -> Self {
        if self.0.has_claims() { Self::of(self.0.compared()) } else { self.clone() }
    }

    /// Reduces leaves that were declared as an empty map or list to their existence: content that
    /// others add to them is an addition and not a change. `keep` names the exceptions.
    pub(crate) fn with_empties_of(&self, declared: &Value, keep: &impl Fn(&[&Element]) -> bool) -> Self {
        Self::of(self.0.with_empties_of(Some(declared), &mut Vec::new(), keep))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(paths: &[&str]) -> FieldSet {
        FieldSet::from_paths(paths.iter().map(|path| path.parse().unwrap()))
    }

    #[test]
    fn a_whole_value_covers_what_is_below_it() {
        let set = set(&["spec.selector", "spec.template.a"]);
        let holds = |path: &str| {
            let path = path.parse().unwrap();
            (set.contains(&path), set.covers(&path), set.touches(&path))
        };
        assert_eq!(holds("spec.selector"), (true, true, true));
        assert_eq!(holds("spec.selector.app"), (false, true, true));
        assert_eq!(holds("spec.template"), (false, false, true));
        assert_eq!(holds("spec.replicas"), (false, false, false));
    }

    #[test]
    fn the_servers_text_is_found_however_it_is_cut() {
        let label = FieldPath::fields(&["metadata", "labels", "app.kubernetes.io/name"]);
        let set = FieldSet::from_paths([label.clone(), "metadata.labels.app".parse().unwrap()]);
        assert_eq!(set.find(".metadata.labels.app.kubernetes.io/name"), Some(label));
        assert_eq!(set.find(".metadata.labels.app"), Some("metadata.labels.app".parse().unwrap()));
        assert_eq!(set.find(".metadata.labels"), None, "it holds something below, not this");
        assert_eq!(set.find(".metadata.labels.ap"), None);
    }

    #[test]
    fn a_co_owners_paths_are_left_out_with_all_below() {
        let all = set(&["spec.replicas", "spec.template.x", r#"spec.c[name="a"].image"#, r#"spec.c[name="b"].image"#]);
        let patterns = ["spec.replicas", "spec.c[*].image"].map(|text| text.parse().unwrap());
        assert_eq!(all.without(&patterns), set(&["spec.template.x"]));
    }
}
