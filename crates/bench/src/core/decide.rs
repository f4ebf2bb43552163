//! Decisions: a fleet at rest of growing size, and the one app in it that has something to do.

use std::time::Duration;

use anyhow::ensure;
use setpoint_core::decide::decide;

use super::fleet::{AtRest, FleetEnvironment, NOW, RESOURCES};
use crate::stopwatch::shortest_of;
use crate::table::{Bar, Peer, Row, Table, Unit};

/// Sizes of the fleet. The bar holds for a thousand apps, and for the others in proportion: the
/// cost grows linearly.
const FLEETS: [usize; 4] = [10, 100, 1_000, 10_000];
const BAR_PER_APP: f64 = 0.1;
const RUNS: u32 = 5;
const RUNS_OF_ONE: u32 = 50;

pub(super) fn decide_all(table: &mut Table) -> anyhow::Result<()> {
    let around = FleetEnvironment::new()?;
    let mut fleet: Vec<AtRest> = Vec::new();
    for size in FLEETS {
        for number in fleet.len()..size {
            fleet.push(AtRest::new(number, &around)?);
        }
        let idle = idle_apps(&fleet, &around);
        ensure!(idle == size, "{idle} of {size} apps at rest had nothing to do");
        let time = shortest_of(RUNS, || idle_apps(&fleet, &around));
        table.add(at_rest(size, time));
        if size == 1_000 {
            table.add(one_change(&mut fleet, &around)?);
        }
    }
    Ok(())
}

fn idle_apps(fleet: &[AtRest], around: &FleetEnvironment) -> usize {
    let idle = |app: &&AtRest| {
        let decision = decide(&app.snapshot(around), NOW);
        decision.is_idle() && decision.in_sync
    };
    fleet.iter().filter(idle).count()
}

fn at_rest(size: usize, time: Duration) -> Row {
    let micros = time.as_secs_f64() * 1e6 / size as f64;
    Row {
        what: format!("decide, nothing to do, {size} apps × {RESOURCES} resources ({micros:.1} µs an app)"),
        unit: Unit::Cost("ms"),
        ours: time.as_secs_f64() * 1e3,
        peer: Peer::None,
        bar: Bar::Figure(BAR_PER_APP * size as f64),
    }
}

/// Takes the app in the middle of the fleet, changes it, measures the decision, and restores it.
fn one_change(fleet: &mut [AtRest], around: &FleetEnvironment) -> anyhow::Result<Row> {
    let (size, middle) = (fleet.len(), fleet.len() / 2);
    let changed = AtRest::new(middle, around)?.with_one_change(around)?;
    let steps = decide(&changed.snapshot(around), NOW).plan.steps.len();
    ensure!(steps == 1, "one changed resource made {steps} steps");
    let time = shortest_of(RUNS_OF_ONE, || decide(&changed.snapshot(around), NOW));
    Ok(Row {
        what: format!("decide, one change, the one app of {size}"),
        unit: Unit::Cost("ms"),
        ours: time.as_secs_f64() * 1e3,
        peer: Peer::None,
        bar: Bar::Figure(1.0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_app_at_rest_has_nothing_to_do_and_a_changed_one_has_one_step() {
        let around = FleetEnvironment::new().unwrap();
        let fleet = [AtRest::new(0, &around).unwrap(), AtRest::new(1, &around).unwrap()];
        assert_eq!(idle_apps(&fleet, &around), 2);
        let changed = AtRest::new(1, &around).unwrap().with_one_change(&around).unwrap();
        assert_eq!(decide(&changed.snapshot(&around), NOW).plan.steps.len(), 1);
    }
}
