//! Refusals: the number of their occurrences, and the ones that must occur.

use std::collections::{BTreeMap, BTreeSet};

use setpoint_sim::universe::Ground;

/// Refusals that occur on every ground, if there are enough seeds. docs/simulator.md gives the
/// reasons why others are not among them.
const EVERYWHERE: &[&str] = &[
    "adopted",
    "app not ready",
    "backing off",
    "breaker open",
    "controlled",
    "dependency not healthy",
    "dependency not ready",
    "dependent stands",
    "earlier wave",
    "empty bundle",
    "fresh render differs",
    "fresh render pending",
    "handed over",
    "held",
    "incomplete observation",
    "manual",
    "not ours",
    "not seen",
    "observe",
    "open intent",
    "other changes first",
    "others not considered",
    "over budget",
    "owned by another app",
    "preview pending",
    "protected",
    "quarantine",
    "store stale",
    "suspended",
    "window closed",
];

/// Refusals that occur only in plain worlds, with documents that disappear and return, lagging
/// targets and immutable fields.
const ON_PLAIN: &[&str] = &[
    "frozen",
    "over fleet budget",
    "perhaps gone",
    "preview refused",
    "replace not allowed",
    "replacement pending",
    "replacement refused",
];

/// Refusals that occur only on clusters, with finalizers that block a deletion.
const ON_CLUSTERS: &[&str] = &["being deleted"];

fn demanded(ground: Ground) -> impl Iterator<Item = &'static str> {
    let own = if ground == Ground::Plain { ON_PLAIN } else { ON_CLUSTERS };
    EVERYWHERE.iter().chain(own).copied()
}

/// The number of worlds of each ground in which each refusal occurred.
#[derive(Default)]
pub(super) struct Refused(BTreeMap<&'static str, BTreeMap<Ground, u64>>);

impl Refused {
    pub(super) fn note(&mut self, ground: Ground, seen: &BTreeSet<&'static str>) {
        for reason in seen {
            *self.0.entry(reason).or_default().entry(ground).or_default() += 1;
        }
    }

    fn worlds(&self, reason: &str, ground: Ground) -> u64 {
        self.0.get(reason).and_then(|grounds| grounds.get(&ground)).copied().unwrap_or(0)
    }

    pub(super) fn print(&self, grounds: &[Ground]) {
        for reason in self.0.keys() {
            let worlds: Vec<_> =
                grounds.iter().map(|ground| format!("{} {ground}", self.worlds(reason, *ground))).collect();
            println!("{:>24} × refused: {reason}", worlds.join(", "));
        }
    }

    /// Prints the expected refusals that did not occur.
    pub(super) fn all_seen(&self, grounds: &[Ground]) -> bool {
        let of_each = grounds.iter().flat_map(|ground| demanded(*ground).map(move |reason| (*ground, reason)));
        let unseen: Vec<_> = of_each.filter(|(ground, reason)| self.worlds(reason, *ground) == 0).collect();
        for (ground, reason) in &unseen {
            println!("refusal never occurred on {ground}: {reason}");
        }
        unseen.is_empty()
    }
}
