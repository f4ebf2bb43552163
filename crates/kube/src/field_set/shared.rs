//! Shared memory for equal sets, and for equal parts of different ones. A hundred thousand objects
//! have few shapes. If each app names its container differently, everything below that name is
//! still the same.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::{FieldSet, Node};
use crate::path::Element;

/// A pool that stores equal sets, and equal parts of sets, once.
#[derive(Debug, Default)]
pub struct FieldSets {
    nodes: BTreeSet<Arc<Node>>,
    names: BTreeSet<Arc<str>>,
    /// The number of nodes at which the pool drops those that are used nowhere else.
    sweep_at: usize,
}

/// The minimum for a sweep: a smaller pool is not worth the time.
const FEWEST: usize = 1024;

impl FieldSets {
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the same set, in the memory that all equal ones share.
    pub fn intern(&mut self, set: FieldSet) -> FieldSet {
        if self.nodes.len() >= self.sweep_at.max(FEWEST) {
            self.sweep();
            self.sweep_at = self.nodes.len() * 2;
        }
        FieldSet(self.node(set.0))
    }

    fn node(&mut self, node: Arc<Node>) -> Arc<Node> {
        if let Some(known) = self.nodes.get(&node) {
            return Arc::clone(known);
        }
        let Node { own, children } = Arc::unwrap_or_clone(node);
        let children = children.into_iter().map(|(element, child)| (self.element(element), self.node(child))).collect();
        let node = Arc::new(Node { own, children });
        self.nodes.insert(Arc::clone(&node));
        node
    }

    fn element(&mut self, element: Element) -> Element {
        let Element::Field(name) = element else { return element };
        if let Some(known) = self.names.get(&name) {
            return Element::Field(Arc::clone(known));
        }
        self.names.insert(Arc::clone(&name));
        Element::Field(name)
    }

    /// Returns the number of different parts of sets in the pool.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Drops the nodes that are used nowhere else.
    pub fn sweep(&mut self) {
        // A dropped node kept the nodes below it alive, so these may be dropped next.
        let mut before = usize::MAX;
        while self.nodes.len() < before {
            before = self.nodes.len();
            self.nodes.retain(|node| Arc::strong_count(node) > 1);
        }
        self.names.retain(|name| Arc::strong_count(name) > 1);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::samples::any_paths;

    fn set(text: &str) -> FieldSet {
        FieldSet::from_bytes(text.as_bytes()).unwrap()
    }

    #[test]
    fn equal_sets_share_one_memory_until_nobody_holds_them() {
        let mut sets = FieldSets::new();
        let text = r#"{"f:a":{"f:b":{}},"f:c":{}}"#;
        let (a, b) = (sets.intern(set(text)), sets.intern(set(text)));
        assert!(Arc::ptr_eq(&a.0, &b.0));
        let other = sets.intern(set(r#"{"f:a":{"f:b":{}}}"#));
        assert!(Arc::ptr_eq(&a.0.children[0].1, &other.0.children[0].1), "what is equal in both is there once");
        drop((a, b));
        sets.sweep();
        assert_eq!(sets.len(), 3, "the other set, its `a` and its `b`");
        drop(other);
        sets.sweep();
        assert!(sets.is_empty());
    }

    #[test]
    fn sets_that_differ_in_one_name_share_the_rest() {
        let mut sets = FieldSets::new();
        let container = |name: &str| {
            let item = r#"{".":{},"f:image":{},"f:name":{},"f:resources":{"f:limits":{"f:cpu":{},"f:memory":{}}}}"#;
            set(&format!(r#"{{"f:spec":{{"f:containers":{{"k:{{\"name\":\"{name}\"}}":{item}}}}}}}"#))
        };
        let first = sets.intern(container("a"));
        let parts = sets.len();
        let held: Vec<FieldSet> = (0..10).map(|n| sets.intern(container(&format!("c{n}")))).collect();
        assert_eq!(sets.len(), parts + 10 * 3, "the way down to the name, for each of {} and {first:?}", held.len());
    }

    proptest! {
        #[test]
        fn a_shared_set_is_the_same_set(paths in prop::collection::vec(any_paths(), 1..6)) {
            let mut sets = FieldSets::new();
            for paths in paths {
                let set = FieldSet::from_paths(paths);
                prop_assert_eq!(sets.intern(set.clone()), set);
                sets.sweep();
            }
        }
    }
}
