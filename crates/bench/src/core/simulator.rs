//! The simulator: whole runs of the shipped engine in worlds with faults, on two threads.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use anyhow::ensure;
use setpoint_sim::run::run_seed;

use crate::stopwatch::time;
use crate::table::{Bar, Peer, Row, Table, Unit};

const SEEDS: u64 = 2_000;
const THREADS: usize = 2;

pub(super) fn run_seeds(table: &mut Table) -> anyhow::Result<()> {
    let (violations, time) = time(|| violations(SEEDS));
    ensure!(violations == 0, "{violations} of {SEEDS} seeds broke a property: run `cargo xtask sim`");
    table.add(Row {
        what: format!("simulator, {SEEDS} seeds on {THREADS} threads"),
        unit: Unit::Rate("seeds/s"),
        ours: SEEDS as f64 / time.as_secs_f64(),
        peer: Peer::None,
        bar: Bar::Figure(200.0),
    });
    Ok(())
}

/// Each thread takes the next seed that nobody has taken.
fn violations(seeds: u64) -> u64 {
    let (next, violations) = (AtomicU64::new(0), AtomicU64::new(0));
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                let taken = std::iter::from_fn(|| Some(next.fetch_add(1, Ordering::Relaxed)));
                let broken = taken.take_while(|seed| *seed < seeds).filter(|seed| run_seed(*seed).violation.is_some());
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
        assert_eq!(violations(4), 0);
    }
}
