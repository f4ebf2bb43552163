//! Merge keys: `<<: *defaults`. Explicit keys win wherever they stand, and the first of several
//! merged mappings wins over the later ones, as in go-yaml v3.

use std::collections::BTreeSet;

use crate::tree::{Entries, Kind, Node};

impl<'d> Entries<'d> {
    /// The entries with `<<` carried out: explicit ones first, in their order, then what is merged
    /// in. Which shapes `<<` may have was checked when the tree was built, and aliases have a
    /// budget there, so this ends.
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
    /// Depth is bounded by the tree's own limit.
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
