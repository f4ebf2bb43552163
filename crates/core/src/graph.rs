//! Order by dependency, for the resources of an app and for apps among each other. Cycles are reported by name.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;

/// Nodes that wait for each other, in order, the first repeated at the end.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("they wait for each other: {}", path.iter().map(ToString::to_string).collect::<Vec<_>>().join(" → "))]
pub struct Cycle<N: Display> {
    pub path: Vec<N>,
}

/// For each node the length of the longest chain of nodes before it. Nodes of one rank are independent of each other.
///
/// Edges to nodes that are not in the graph are ignored: whether that is an error is the caller's to say.
pub fn ranks<N: Ord + Clone + Display>(after: BTreeMap<N, BTreeSet<N>>) -> Result<BTreeMap<N, u32>, Cycle<N>> {
    let mut waiting = after;
    let known: BTreeSet<N> = waiting.keys().cloned().collect();
    for before in waiting.values_mut() {
        before.retain(|node| known.contains(node));
    }
    let mut followers = BTreeMap::<N, Vec<N>>::new();
    for (node, before) in &waiting {
        for earlier in before {
            followers.entry(earlier.clone()).or_default().push(node.clone());
        }
    }
    let mut ranks = BTreeMap::new();
    let mut ready: Vec<N> =
        waiting.iter().filter(|(_, before)| before.is_empty()).map(|(node, _)| node.clone()).collect();
    let mut rank = 0;
    while !ready.is_empty() {
        let mut next = Vec::new();
        for node in ready {
            waiting.remove(&node);
            for follower in followers.get(&node).into_iter().flatten() {
                let before = waiting.get_mut(follower).expect("a follower is ranked only after all before it");
                before.remove(&node);
                if before.is_empty() {
                    next.push(follower.clone());
                }
            }
            ranks.insert(node, rank);
        }
        ready = next;
        rank += 1;
    }
    if waiting.is_empty() { Ok(ranks) } else { Err(find_cycle(&waiting)) }
}

/// Every remaining node waits for another remaining one, so walking "waits for" must come back to a node already seen.
fn find_cycle<N: Ord + Clone + Display>(waiting: &BTreeMap<N, BTreeSet<N>>) -> Cycle<N> {
    let mut path: Vec<N> = Vec::new();
    let mut node = waiting.keys().next().expect("called with nodes left").clone();
    loop {
        if let Some(start) = path.iter().position(|seen| *seen == node) {
            path.drain(..start);
            path.push(node);
            return Cycle { path };
        }
        let next = waiting[&node].iter().find(|before| waiting.contains_key(before));
        let next = next.expect("a node is left only if it waits for another that is left").clone();
        path.push(std::mem::replace(&mut node, next));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn graph(edges: &[(u8, &[u8])]) -> BTreeMap<u8, BTreeSet<u8>> {
        edges.iter().map(|(node, before)| (*node, before.iter().copied().collect())).collect()
    }

    #[test]
    fn ranks_are_longest_chains() {
        let ranks = ranks(graph(&[(1, &[]), (2, &[1]), (3, &[1, 2]), (4, &[])])).unwrap();
        assert_eq!(ranks, BTreeMap::from([(1, 0), (2, 1), (3, 2), (4, 0)]));
    }

    #[test]
    fn a_cycle_is_reported_by_name_and_without_its_tail() {
        let error = ranks(graph(&[(1, &[2]), (2, &[3]), (3, &[2])])).unwrap_err();
        assert_eq!(error.to_string(), "they wait for each other: 2 → 3 → 2");
        let error = ranks(graph(&[(1, &[1])])).unwrap_err();
        assert_eq!(error.path, [1, 1]);
    }

    proptest! {
        #[test]
        fn every_node_ranks_above_what_it_waits_for(edges in proptest::collection::btree_map(0u8..12, proptest::collection::btree_set(0u8..12, 0..3), 0..12)) {
            match ranks(edges.clone()) {
                Ok(ranks) => {
                    prop_assert_eq!(ranks.len(), edges.len());
                    for (node, before) in &edges {
                        for earlier in before.iter().filter(|earlier| edges.contains_key(earlier)) {
                            prop_assert!(ranks[node] > ranks[earlier]);
                        }
                    }
                }
                Err(cycle) => {
                    prop_assert!(cycle.path.len() >= 2);
                    prop_assert_eq!(cycle.path.first(), cycle.path.last());
                    for pair in cycle.path.windows(2) {
                        prop_assert!(edges[&pair[0]].contains(&pair[1]));
                    }
                }
            }
        }
    }
}
