//! The verifier's own RFC 6962 tree: a stack of (height, hash). The two topmost entries are merged
//! while their heights are equal.

use sha2::{Digest as _, Sha256};

pub(crate) type Hash = [u8; 32];

pub(crate) fn leaf(record: &[u8]) -> Hash {
    Sha256::new_with_prefix([0]).chain_update(record).finalize().into()
}

pub(crate) fn node(left: &Hash, right: &Hash) -> Hash {
    Sha256::new_with_prefix([1]).chain_update(left).chain_update(right).finalize().into()
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Stack(Vec<(u32, Hash)>);

impl Stack {
    /// Adds a leaf. Returns the root of the subtree of `height` that it completes, if any.
    pub(crate) fn add(&mut self, leaf: Hash, height: u32) -> Option<Hash> {
        let mut top = (0, leaf);
        let mut completed = None;
        while let Some((_, left)) = self.0.pop_if(|(below, _)| *below == top.0) {
            top = (top.0 + 1, node(&left, &top.1));
            if top.0 == height {
                completed = Some(top.1);
            }
        }
        self.0.push(top);
        completed
    }

    pub(crate) fn root(&self) -> Hash {
        let mut hashes = self.0.iter().rev().map(|(_, hash)| *hash);
        match hashes.next() {
            None => Sha256::digest([]).into(),
            Some(last) => hashes.fold(last, |right, left| node(&left, &right)),
        }
    }
}

/// One step of a proof: the hash next to the one computed so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Beside {
    Left(Hash),
    Right(Hash),
}

/// Returns the steps from the leaf `index` to the root over all `leaves`, level by level. An odd
/// last hash moves up unchanged.
pub(crate) fn steps(leaves: &[Hash], index: usize) -> Vec<Beside> {
    let (mut level, mut index, mut steps) = (leaves.to_vec(), index, Vec::new());
    while level.len() > 1 {
        if index % 2 == 1 {
            steps.push(Beside::Left(level[index - 1]));
        } else if index + 1 < level.len() {
            steps.push(Beside::Right(level[index + 1]));
        }
        level = level
            .chunks(2)
            .map(|pair| match pair {
                [left, right] => node(left, right),
                rest => rest[0],
            })
            .collect();
        index /= 2;
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;
    use data_encoding::HEXLOWER;

    #[test]
    fn the_root_equals_the_published_vector() {
        let mut stack = Stack::default();
        for hex in ["", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f"]
        {
            stack.add(leaf(&HEXLOWER.decode(hex.as_bytes()).unwrap()), 10);
        }
        let root = "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328";
        assert_eq!(HEXLOWER.encode(&stack.root()), root);
    }

    #[test]
    fn the_steps_of_every_leaf_lead_to_the_root() {
        for size in 1..70_usize {
            let leaves: Vec<_> = (0..size).map(|n| leaf(&n.to_le_bytes())).collect();
            let mut stack = Stack::default();
            for leaf in &leaves {
                stack.add(*leaf, 10);
            }
            for index in 0..size {
                let root = steps(&leaves, index).into_iter().fold(leaves[index], |hash, step| match step {
                    Beside::Left(left) => node(&left, &hash),
                    Beside::Right(right) => node(&hash, &right),
                });
                assert_eq!(root, stack.root(), "{index} of {size}");
            }
        }
    }
}
