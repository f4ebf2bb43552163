//! The RFC 6962 Merkle tree of a log, stored as its right edge. Appending costs O(1) amortised, the
//! root O(log n).
//!
//! After every [`SEGMENT`] records the tree returns the root of the complete subtree over them. A
//! ledger that stores one hash for each segment opens a log of millions of records without reading
//! them, and builds proofs by hashing at most one segment at each end.

use std::ops::Range;

use setpoint_core::digest::Digest;
use sha2::{Digest as _, Sha256};

/// The levels of a segment's subtree.
pub const SEGMENT_LEVEL: u32 = 10;
/// The number of records in a segment.
pub const SEGMENT: u64 = 1 << SEGMENT_LEVEL;

/// Returns H(0x00 ‖ record). The prefix prevents a record from being passed off as a node.
pub fn leaf_hash(record: &[u8]) -> Digest {
    Digest::from_bytes(Sha256::new().chain_update([0]).chain_update(record).finalize().into())
}

/// Returns H(0x01 ‖ left ‖ right).
pub fn node_hash(left: &Digest, right: &Digest) -> Digest {
    let hash = Sha256::new().chain_update([1]).chain_update(left.as_bytes()).chain_update(right.as_bytes());
    Digest::from_bytes(hash.finalize().into())
}

/// A segment that has just become complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// The index: the segment covers the records `index * SEGMENT .. (index + 1) * SEGMENT`.
    pub index: u64,
    pub root: Digest,
}

/// The right edge of a tree: the roots of its complete subtrees, largest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tree {
    size: u64,
    peaks: Vec<Digest>,
}

impl Tree {
    /// Returns the number of records that the tree covers.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Appends one record's hash. Returns the segment that it completes, if any.
    pub fn push(&mut self, leaf: Digest) -> Option<Segment> {
        self.push_subtree(0, leaf)
    }

    /// Appends the root of a complete segment.
    ///
    /// # Panics
    /// If the tree does not end at a segment's edge: the hash would be counted for other records.
    pub fn push_segment(&mut self, root: Digest) {
        assert!(self.size.is_multiple_of(SEGMENT), "a segment begins at a multiple of {SEGMENT}");
        self.push_subtree(SEGMENT_LEVEL, root);
    }

    fn push_subtree(&mut self, level: u32, root: Digest) -> Option<Segment> {
        let mut hash = root;
        let mut completed = None;
        let mut level_now = level;
        // Equal subtrees merge upwards, like the carries of a binary counter.
        while self.size >> level_now & 1 == 1 {
            let left = self.peaks.pop().expect("a set bit of the size has its peak");
            hash = node_hash(&left, &hash);
            level_now += 1;
            if level_now == SEGMENT_LEVEL {
                completed = Some(Segment { index: self.size >> SEGMENT_LEVEL, root: hash });
            }
        }
        self.peaks.push(hash);
        self.size += 1 << level;
        completed
    }

    /// Returns the tree's root; of an empty tree, the hash of nothing.
    pub fn root(&self) -> Digest {
        let peaks = self.peaks.iter().rev().copied();
        peaks.reduce(|right, left| node_hash(&left, &right)).unwrap_or_else(|| Digest::of(b""))
    }
}

/// Returns the largest power of two below `size`, where RFC 6962 splits a tree of two or more
/// records.
pub(crate) fn split(size: u64) -> u64 {
    debug_assert!(size > 1, "a single record is not split");
    1 << (size - 1).ilog2()
}

/// Returns the whole segments inside `range`. Callers hash the records before and after them.
///
/// A range that does not start at a segment's edge is shorter than a segment in every proof, and so
/// has no whole segment.
pub fn segments_within(range: &Range<u64>) -> Range<u64> {
    if !range.start.is_multiple_of(SEGMENT) {
        return 0..0;
    }
    range.start / SEGMENT..range.end / SEGMENT
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use data_encoding::HEXLOWER;

    /// The leaves of the certificate-transparency reference tests, which published the roots below.
    pub(crate) fn rfc_leaves() -> Vec<Vec<u8>> {
        ["", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f"]
            .into_iter()
            .map(|hex| HEXLOWER.decode(hex.as_bytes()).unwrap())
            .collect()
    }

    const ROOTS: [&str; 8] = [
        "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
        "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
        "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
        "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
        "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
        "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
        "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
        "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
    ];

    #[test]
    fn roots_equal_the_published_vectors() {
        let mut tree = Tree::default();
        assert_eq!(tree.root().to_string(), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
        for (leaf, root) in rfc_leaves().iter().zip(ROOTS) {
            tree.push(leaf_hash(leaf));
            assert_eq!(tree.root().to_string(), root, "size {}", tree.size());
        }
    }

    #[test]
    fn a_tree_of_segments_equals_the_tree_of_their_records() {
        let mut whole = Tree::default();
        let mut segments = Vec::new();
        for n in 0..SEGMENT * 5 + 7 {
            segments.extend(whole.push(leaf_hash(&n.to_le_bytes())));
        }
        assert_eq!(segments.iter().map(|s| s.index).collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
        let mut rebuilt = Tree::default();
        for segment in &segments {
            rebuilt.push_segment(segment.root);
        }
        for n in SEGMENT * 5..SEGMENT * 5 + 7 {
            rebuilt.push(leaf_hash(&n.to_le_bytes()));
        }
        assert_eq!(rebuilt, whole);
    }
}
