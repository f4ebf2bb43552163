//! Finds duplicate keys of a mapping. Small mappings are compared in place, large ones through a
//! sorted list, so that a generated mapping of 100,000 keys stays cheap.

use crate::tree::{Entries, Kind, Node};

const SMALL: usize = 12;

/// Returns pairs (first, later) of scalar keys with the same text. `1` and `"1"` count as
/// duplicates, because they are the same key in JSON.
pub(crate) fn find(entries: Entries<'_>) -> Vec<(Node<'_>, Node<'_>)> {
    if entries.len() <= SMALL { find_in_small(entries) } else { find_in_large(entries) }
}

fn find_in_small(entries: Entries<'_>) -> Vec<(Node<'_>, Node<'_>)> {
    let mut found = Vec::new();
    for (index, (key, _)) in entries.iter().enumerate().skip(1) {
        let Kind::Scalar(text) = key.kind() else { continue };
        let mut earlier = entries.iter().take(index).map(|(key, _)| key);
        let first = earlier.find(|other| matches!(other.kind(), Kind::Scalar(other) if other == text));
        found.extend(first.map(|first| (first, key)));
    }
    found
}

fn find_in_large(entries: Entries<'_>) -> Vec<(Node<'_>, Node<'_>)> {
    let mut keys: Vec<(&str, Node<'_>)> = Vec::with_capacity(entries.len());
    for (key, _) in entries.iter() {
        if let Kind::Scalar(text) = key.kind() {
            keys.push((text, key));
        }
    }
    keys.sort_by_key(|(text, _)| *text);
    keys.windows(2).filter(|pair| pair[0].0 == pair[1].0).map(|pair| (pair[0].1, pair[1].1)).collect()
}
