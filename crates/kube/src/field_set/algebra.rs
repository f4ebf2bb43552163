//! Union, difference and other operations on trees in normal form.

use std::cmp::Ordering;
use std::sync::Arc;

use setpoint_core::value::Value;

use super::{Child, Node, Own};
use crate::path::Element;
use crate::pattern::FieldPattern;

/// Walks the children of two nodes in order, those of the same element together.
fn paired<'n>(a: &'n [Child], b: &'n [Child], mut visit: impl FnMut(Option<&'n Child>, Option<&'n Child>)) {
    let (mut a, mut b) = (a.iter().peekable(), b.iter().peekable());
    loop {
        let order = match (a.peek(), b.peek()) {
            (Some((left, _)), Some((right, _))) => left.cmp(right),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => return,
        };
        let left = if order.is_le() { a.next() } else { None };
        let right = if order.is_ge() { b.next() } else { None };
        visit(left, right);
    }
}

impl Node {
    pub(super) fn union(&self, other: &Self) -> Self {
        let mut children = Vec::with_capacity(self.children.len().max(other.children.len()));
        paired(&self.children, &other.children, |left, right| match (left, right) {
            (Some((element, a)), Some((_, b))) => children.push((element.clone(), Arc::new(a.union(b)))),
            (Some(child), None) | (None, Some(child)) => children.push(child.clone()),
            (None, None) => {}
        });
        Self::new(self.own.max(other.own), children)
    }

    pub(super) fn difference(&self, other: &Self) -> Self {
        let mut children = Vec::new();
        paired(&self.children, &other.children, |left, right| match (left, right) {
            (Some((element, a)), Some((_, b))) => children.push((element.clone(), Arc::new(a.difference(b)))),
            (Some(child), None) => children.push(child.clone()),
            _ => {}
        });
        Self::new(if other.owns() { Own::No } else { self.own }, children)
    }

    pub(super) fn let_go(&self, other: &Self) -> Self {
        let mut children = Vec::new();
        paired(&self.children, &other.children, |left, right| match (left, right) {
            (Some((element, a)), Some((_, b))) => children.push((element.clone(), Arc::new(a.let_go(b)))),
            (Some(child), None) => children.push(child.clone()),
            _ => {}
        });
        let hollow = !self.children.is_empty() && children.iter().all(|(_, child)| child.is_nothing());
        Self::new(if other.owns() || hollow { Own::No } else { self.own }, children)
    }

    pub(super) fn is_within(&self, other: &Self) -> bool {
        (!self.owns() || other.owns())
            && self.children.iter().all(|(element, a)| other.child(element).is_some_and(|b| a.is_within(b)))
    }

    /// Removes the fields that match the patterns. The patterns are those whose first steps lead to
    /// this node, `depth` steps down. Subtrees without a matching pattern are shared, not copied.
    pub(super) fn without(&self, patterns: &[&FieldPattern], depth: usize) -> Self {
        let mut children = Vec::with_capacity(self.children.len());
        for child in &self.children {
            let (element, below) = child;
            let leads = |pattern: &&FieldPattern| pattern.means_at(depth, element);
            let leading: Vec<&FieldPattern> = patterns.iter().copied().filter(leads).collect();
            if leading.is_empty() {
                children.push(child.clone());
            } else if leading.iter().all(|pattern| pattern.len() > depth + 1) {
                children.push((element.clone(), Arc::new(below.without(&leading, depth + 1))));
            }
        }
        Self::new(self.own, children)
    }

    pub(super) fn has_claims(&self) -> bool {
        self.own == Own::Claim || self.children.iter().any(|(_, child)| child.has_claims())
    }

    pub(super) fn compared(&self) -> Self {
        let children = self.children.iter().map(|(element, child)| (element.clone(), Arc::new(child.compared())));
        Self::new(if self.own == Own::Claim { Own::No } else { self.own }, children.collect())
    }

    pub(super) fn with_empties_of<'n>(
        &'n self,
        declared: Option<&Value>,
        path: &mut Vec<&'n Element>,
        keep: &impl Fn(&[&Element]) -> bool,
    ) -> Self {
        let empty = match declared {
            Some(Value::Map(fields)) => fields.is_empty(),
            Some(Value::Seq(items)) => items.is_empty(),
            _ => false,
        };
        let own = if self.own == Own::Whole && empty && !keep(path) { Own::Existence } else { self.own };
        let mut children = Vec::with_capacity(self.children.len());
        for (element, child) in &self.children {
            path.push(element);
            let below = declared.and_then(|declared| element.declared_step(declared));
            children.push((element.clone(), Arc::new(child.with_empties_of(below, path, keep))));
            path.pop();
        }
        Self::new(own, children)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use crate::field_set::FieldSet;
    use crate::path::FieldPath;
    use crate::pattern::FieldPattern;
    use crate::samples::any_paths;

    fn model(set: &FieldSet) -> BTreeSet<FieldPath> {
        set.paths().into_iter().collect()
    }

    proptest! {
        #[test]
        fn sets_of_paths_behave_as_sets(a in any_paths(), b in any_paths()) {
            let (x, y) = (FieldSet::from_paths(a.clone()), FieldSet::from_paths(b.clone()));
            prop_assert_eq!(model(&x), a.clone());
            prop_assert_eq!(x.len(), a.len());
            prop_assert_eq!(model(&x.union(&y)), a.union(&b).cloned().collect());
            prop_assert_eq!(model(&x.difference(&y)), a.difference(&b).cloned().collect());
            prop_assert_eq!(x.is_within(&y), a.is_subset(&b));
            prop_assert!(x.let_go(&y).is_within(&x.difference(&y)));
            prop_assert!(x.leaves().iter().all(|leaf| b.contains(leaf) || x.let_go(&y).contains(leaf)));
            for path in a.union(&b) {
                prop_assert_eq!(x.contains(path), a.contains(path));
            }
        }

        #[test]
        fn what_patterns_cover_is_left_out_and_nothing_else(a in any_paths(), b in any_paths()) {
            let patterns: Vec<FieldPattern> = b.into_iter().map(FieldPattern::from).collect();
            let kept = a.iter().filter(|path| !patterns.iter().any(|pattern| pattern.covers(path)));
            let kept: BTreeSet<FieldPath> = kept.cloned().collect();
            prop_assert_eq!(model(&FieldSet::from_paths(a).without(&patterns)), kept);
        }

        #[test]
        fn the_laws_of_sets_hold_on_the_trees(a in any_paths(), b in any_paths(), c in any_paths()) {
            let [a, b, c] = [a, b, c].map(FieldSet::from_paths);
            prop_assert_eq!(a.union(&b), b.union(&a));
            prop_assert_eq!(a.union(&b).union(&c), a.union(&b.union(&c)));
            prop_assert_eq!(a.union(&a), a.clone());
            prop_assert!(a.difference(&a).is_empty());
            prop_assert_eq!(a.difference(&b.union(&c)), a.difference(&b).difference(&c));
            prop_assert_eq!(a.difference(&b).union(&b).paths(), a.union(&b).paths());
            prop_assert!(a.is_within(&a.union(&b)));
        }

        #[test]
        fn every_path_is_found_by_the_servers_text(paths in any_paths()) {
            let set = FieldSet::from_paths(paths.clone());
            for path in paths {
                let found = set.find(&path.to_server_text()).map(|path| path.to_server_text());
                prop_assert_eq!(found, Some(path.to_server_text()));
            }
        }
    }
}
