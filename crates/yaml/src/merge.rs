//! Merge keys: `<<: *defaults`. Explicit keys win wherever they are, and the first of several
//! merged mappings wins over the later ones, as in go-yaml v3.

use std::collections::BTreeSet;

use crate::tree::{Entries, Kind, Node};

impl<'d> Entries<'d> {
    /// Returns the entries with `<<` applied: explicit ones first, in their order, then the merged
    /// ones. The shape of each `<<` was checked when the tree was built, and aliases have a budget
    /// there, so this terminates.
    pub fn merged(self) -> Vec<(Node<'d>, Node<'d>)> {
        if !self.iter().any(|(key, _)| key.is_merge_key()) {
            return self.iter().collect();
        }
        let mut merged = Merged { entries: Vec::new(), keys: BTreeSet::new() };
        merged.add(self);
        merged.entries
    }
}

struct Merged<'d> {
    entries: Vec<(Node<'d>, Node<'d>)>,
    keys: BTreeSet<&'d str>,
}

impl<'d> Merged<'d> {
    /// The tree's own limit bounds the depth of this recursion.
    fn add(&mut self, entries: Entries<'d>) {
        for (key, value) in entries.iter().filter(|(key, _)| !key.is_merge_key()) {
            match key.kind() {
                Kind::Scalar(text) if !self.keys.insert(text) => {}
                _ => self.entries.push((key, value)),
            }
        }
        for (_, value) in entries.iter().filter(|(key, _)| key.is_merge_key()) {
            match value.kind() {
                Kind::Mapping(merged) => self.add(merged),
                Kind::Sequence(items) => {
                    for item in items.iter() {
                        if let Kind::Mapping(merged) = item.kind() {
                            self.add(merged);
                        }
                    }
                }
                Kind::Scalar(_) => {}
            }
        }
    }
}
