//! The simulator: whole runs of the shipped engine in worlds with faults, on two threads.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use anyhow::ensure;
use setpoint_sim::run::run_seed_on;
use setpoint_sim::universe::Ground;

use crate::stopwatch::time;
use crate::table::{Bar, Peer, Row, Table, Unit};

const SEEDS: u64 = 2_000;
const THREADS: usize = 2;

/// The bar is for worlds with plain targets. Worlds with clusters run the shipped target and an API
/// server, and have no bar.
pub(super) fn run_seeds(table: &mut Table) -> anyhow::Result<()> {
    for (ground, bar) in [(Ground::Plain, Bar::Figure(200.0)), (Ground::Clusters, Bar::None)] {
        let (violations, time) = time(|| violations(ground, SEEDS));
        ensure!(violations == 0, "{violations} of {SEEDS} seeds broke a property: run `cargo xtask sim`");
        table.add(Row {
            what: format!("simulator, {SEEDS} seeds of {ground} worlds on {THREADS} threads"),
            unit: Unit::Rate("seeds/s"),
            ours: SEEDS as f64 / time.as_secs_f64(),
            peer: Peer::None,
            bar,
        });
    }
    Ok(())
}

/// Runs seeds on two threads, of which each takes the next free seed.
fn violations(ground: Ground, seeds: u64) -> u64 {
    let (next, violations) = (AtomicU64::new(0), AtomicU64::new(0));
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                let taken = std::iter::from_fn(|| Some(next.fetch_add(1, Ordering::Relaxed)));
                let broken = taken
                    .take_while(|seed| *seed < seeds)
                    .filter(|seed| run_seed_on(ground, *seed).violation.is_some());
                violations.fetch_add(broken.count() as u64, Ordering::Relaxed);
            });
        }
    });
    violations.into_inner()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_measured_seeds_break_no_property() {
        for ground in Ground::ALL {
            assert_eq!(violations(ground, 4), 0);
        }
    }
}
