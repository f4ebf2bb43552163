//! Proofs that a record is in a log (inclusion) and that a log only grew (consistency), as in RFC
//! 6962 §2.1.
//!
//! A proof is planned as the ranges of records whose hashes it holds, so that a ledger can compute
//! the hash of each range in its cheapest way. Checking a proof needs no ledger.

use std::ops::Range;

use serde::{Deserialize, Serialize};
use setpoint_core::digest::Digest;

use crate::merkle::{node_hash, split};

/// A proof that the record `seq` with hash `leaf` is in a log of `size` records with a known root.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inclusion {
    pub seq: u64,
    pub size: u64,
    pub leaf: Digest,
    pub path: Vec<Digest>,
}

/// A proof that the log of `old` records is a prefix of the log of `new` records.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Consistency {
    pub old: u64,
    pub new: u64,
    pub path: Vec<Digest>,
}

/// Returns the ranges whose hashes prove `seq` within `size` records, or `None` if `seq` is not
/// among them.
pub fn plan_inclusion(seq: u64, size: u64) -> Option<Vec<Range<u64>>> {
    if seq >= size {
        return None;
    }
    let (mut range, mut path) = (0..size, Vec::new());
    while range.end - range.start > 1 {
        let middle = range.start + split(range.end - range.start);
        let (near, far) = if seq < middle {
            (range.start..middle, middle..range.end)
        } else {
            (middle..range.end, range.start..middle)
        };
        path.push(far);
        range = near;
    }
    // The walk goes from the root down, but a proof is read from the leaf up.
    path.reverse();
    Some(path)
}

/// Returns the ranges whose hashes prove that `old` records are a prefix of `new`, or `None` if
/// `old` is the larger.
pub fn plan_consistency(old: u64, new: u64) -> Option<Vec<Range<u64>>> {
    if old > new {
        return None;
    }
    let (mut range, mut path) = (0..new, Vec::new());
    if old == 0 || old == new {
        return Some(path);
    }
    // While the walk has entered only left halves, the old root itself is the subtree's hash, and
    // the proof need not contain it.
    let mut old_root_is_known = true;
    while range.end != old {
        let middle = range.start + split(range.end - range.start);
        if old <= middle {
            path.push(middle..range.end);
            range.end = middle;
        } else {
            path.push(range.start..middle);
            range.start = middle;
            old_root_is_known = false;
        }
    }
    if !old_root_is_known {
        path.push(range);
    }
    path.reverse();
    Some(path)
}

impl Inclusion {
    /// Reports whether the proof leads to `root`.
    pub fn leads_to(&self, root: &Digest) -> bool {
        let mut path = self.path.clone();
        self.seq < self.size
            && root_of_inclusion(self.seq, self.size, self.leaf, &mut path).as_ref() == Some(root)
            && path.is_empty()
    }
}

fn root_of_inclusion(seq: u64, size: u64, leaf: Digest, path: &mut Vec<Digest>) -> Option<Digest> {
    if size == 1 {
        return Some(leaf);
    }
    let left_size = split(size);
    let sibling = path.pop()?;
    Some(if seq < left_size {
        node_hash(&root_of_inclusion(seq, left_size, leaf, path)?, &sibling)
    } else {
        node_hash(&sibling, &root_of_inclusion(seq - left_size, size - left_size, leaf, path)?)
    })
}

impl Consistency {
    /// Reports whether the proof leads from `old_root` to `new_root`.
    pub fn leads(&self, old_root: &Digest, new_root: &Digest) -> bool {
        if self.old == 0 {
            return self.path.is_empty();
        }
        let mut path = self.path.clone();
        let roots = (self.old <= self.new)
            .then(|| roots_of_consistency(self.old, self.new, Some(*old_root), &mut path))
            .flatten();
        roots == Some((*old_root, *new_root)) && path.is_empty()
    }
}

/// Computes the old and the new root from the proof's hashes. `known` is the old root while it
/// covers a whole subtree.
fn roots_of_consistency(old: u64, new: u64, known: Option<Digest>, path: &mut Vec<Digest>) -> Option<(Digest, Digest)> {
    if old == new {
        let hash = known.or_else(|| path.pop())?;
        return Some((hash, hash));
    }
    let left_size = split(new);
    let sibling = path.pop()?;
    if old <= left_size {
        let (old_root, new_root) = roots_of_consistency(old, left_size, known, path)?;
        Some((old_root, node_hash(&new_root, &sibling)))
    } else {
        let (old_root, new_root) = roots_of_consistency(old - left_size, new - left_size, None, path)?;
        Some((node_hash(&sibling, &old_root), node_hash(&sibling, &new_root)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::merkle::tests::rfc_leaves;
    use crate::merkle::{Tree, leaf_hash};

    fn hash_of(leaves: &[Digest], range: &Range<u64>) -> Digest {
        let mut tree = Tree::default();
        for leaf in &leaves[range.start as usize..range.end as usize] {
            tree.push(*leaf);
        }
        tree.root()
    }

    fn hashes_of(leaves: &[Digest], ranges: &[Range<u64>]) -> Vec<Digest> {
        ranges.iter().map(|range| hash_of(leaves, range)).collect()
    }

    fn leaves(n: u64) -> Vec<Digest> {
        (0..n).map(|i| leaf_hash(&i.to_le_bytes())).collect()
    }

    #[test]
    fn inclusion_equals_the_published_vectors() {
        let leaves: Vec<_> = rfc_leaves().iter().map(|leaf| leaf_hash(leaf)).collect();
        let path = hashes_of(&leaves, &plan_inclusion(5, 8).unwrap());
        let hex: Vec<_> = path.iter().map(ToString::to_string).collect();
        assert_eq!(
            hex,
            [
                "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
                "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
                "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
            ]
        );
    }

    #[test]
    fn consistency_equals_the_published_vectors() {
        let leaves: Vec<_> = rfc_leaves().iter().map(|leaf| leaf_hash(leaf)).collect();
        let path = hashes_of(&leaves, &plan_consistency(6, 8).unwrap());
        let hex: Vec<_> = path.iter().map(ToString::to_string).collect();
        assert_eq!(
            hex,
            [
                "0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a",
                "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
                "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
            ]
        );
    }

    #[test]
    fn every_record_of_every_small_log_is_provable_and_no_other_record_fits_its_proof() {
        for size in 1..40 {
            let leaves = leaves(size);
            let root = hash_of(&leaves, &(0..size));
            for seq in 0..size {
                let path = hashes_of(&leaves, &plan_inclusion(seq, size).unwrap());
                let proof = Inclusion { seq, size, leaf: leaves[seq as usize], path };
                assert!(proof.leads_to(&root), "{seq} of {size}");
                let moved = Inclusion { seq: (seq + 1) % size, ..proof.clone() };
                assert!(size == 1 || !moved.leads_to(&root), "{seq} of {size} passes as its neighbour");
                let longer = Inclusion { path: [&proof.path[..], &[root]].concat(), ..proof };
                assert!(!longer.leads_to(&root), "a longer path must not be accepted");
            }
        }
        assert_eq!(plan_inclusion(3, 3), None);
    }

    #[test]
    fn every_prefix_of_every_small_log_is_provable_and_a_changed_one_is_not() {
        for new in 1..40 {
            let leaves = leaves(new);
            let new_root = hash_of(&leaves, &(0..new));
            for old in 1..=new {
                let old_root = hash_of(&leaves, &(0..old));
                let path = hashes_of(&leaves, &plan_consistency(old, new).unwrap());
                let proof = Consistency { old, new, path };
                assert!(proof.leads(&old_root, &new_root), "{old} of {new}");
                assert!(!proof.leads(&leaf_hash(b"other"), &new_root), "{old} of {new}: a forged past");
                assert!(!proof.leads(&old_root, &leaf_hash(b"other")), "{old} of {new}: a forged present");
            }
        }
        assert_eq!(plan_consistency(4, 3), None);
    }
}
