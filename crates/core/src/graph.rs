//! Order by dependency, for the resources of an app and for apps. Cycles are reported by name.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;

/// Nodes that wait for each other, in order, the first repeated at the end.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("they wait for each other: {}", path.iter().map(ToString::to_string).collect::<Vec<_>>().join(" → "))]
pub struct Cycle<N: Display> {
    pub path: Vec<N>,
}

/// Returns for each node, in the given order, the length of the longest chain of nodes before it.
/// Nodes of one rank are independent of each other.
///
/// Edges to nodes that are not in the graph are ignored: the caller decides whether that is an
/// error.
pub fn ranks<'a, N: Ord + Clone + Display + 'a>(
    after: impl IntoIterator<Item = (&'a N, &'a BTreeSet<N>)>,
) -> Result<Vec<u32>, Cycle<N>> {
    let (nodes, after): (Vec<&N>, Vec<&BTreeSet<N>>) = after.into_iter().unzip();
    let places: BTreeMap<&N, usize> = nodes.iter().enumerate().map(|(place, node)| (*node, place)).collect();
    let before: Vec<Vec<usize>> =
        after.iter().map(|before| before.iter().filter_map(|node| places.get(node).copied()).collect()).collect();
    let mut followers = vec![Vec::new(); nodes.len()];
    for (place, before) in before.iter().enumerate() {
        before.iter().for_each(|earlier| followers[*earlier].push(place));
    }
    let mut waits_for: Vec<usize> = before.iter().map(Vec::len).collect();
    let mut ready: Vec<usize> = (0..nodes.len()).filter(|place| waits_for[*place] == 0).collect();
    let (mut ranks, mut rank, mut ranked) = (vec![0; nodes.len()], 0, 0);
    while !ready.is_empty() {
        let mut next = Vec::new();
        for place in ready {
            (ranks[place], ranked) = (rank, ranked + 1);
            for follower in &followers[place] {
                waits_for[*follower] -= 1;
                if waits_for[*follower] == 0 {
                    next.push(*follower);
                }
            }
        }
        (ready, rank) = (next, rank + 1);
    }
    if ranked == nodes.len() { Ok(ranks) } else { Err(find_cycle(&nodes, &before, &waits_for)) }
}

/// Finds a cycle. Every node that still waits does so for another one that still waits, so
/// following "waits for" must come back to a node of the path.
fn find_cycle<N: Clone + Display>(nodes: &[&N], before: &[Vec<usize>], waits_for: &[usize]) -> Cycle<N> {
    let mut path: Vec<usize> = Vec::new();
    let mut node = waits_for.iter().position(|waits| *waits > 0).expect("called with nodes left");
    loop {
        if let Some(start) = path.iter().position(|seen| *seen == node) {
            path.drain(..start);
            path.push(node);
            return Cycle { path: path.into_iter().map(|place| nodes[place].clone()).collect() };
        }
        let next = before[node].iter().find(|place| waits_for[**place] > 0);
        let next = *next.expect("a node is left only if it waits for another that is left");
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
        let ranks = ranks(&graph(&[(1, &[]), (2, &[1]), (3, &[1, 2]), (4, &[9])])).unwrap();
        assert_eq!(ranks, [0, 1, 2, 0]);
    }

    #[test]
    fn a_cycle_is_reported_by_name_and_without_its_tail() {
        let error = ranks(&graph(&[(1, &[2]), (2, &[3]), (3, &[2])])).unwrap_err();
        assert_eq!(error.to_string(), "they wait for each other: 2 → 3 → 2");
        let error = ranks(&graph(&[(1, &[1])])).unwrap_err();
        assert_eq!(error.path, [1, 1]);
    }

    proptest! {
        #[test]
        fn every_node_ranks_above_what_it_waits_for(edges in proptest::collection::btree_map(0u8..12, proptest::collection::btree_set(0u8..12, 0..3), 0..12)) {
            match ranks(&edges) {
                Ok(ranks) => {
                    prop_assert_eq!(ranks.len(), edges.len());
                    let ranks: BTreeMap<_, _> = edges.keys().zip(ranks).collect();
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
