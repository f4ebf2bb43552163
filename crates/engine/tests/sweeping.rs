//! Every object is read once a day, whatever events report: the fallback for events that never
//! come.

use std::collections::BTreeSet;

use setpoint_core::live::Observation;
use setpoint_core::time::Timestamp;
use setpoint_engine::{Effect, Event, Machine, Ticket};
use setpoint_target::{Hint, Priority};

use crate::attributing::observing;
use crate::holding::{at, key, stands, target, unseen};

/// Both objects as declared.
fn in_place(now: Timestamp) -> Observation {
    Observation { at: now, states: ["a", "b"].map(|name| (key(name), stands(name, now))).into() }
}

fn nothing_seen(now: Timestamp) -> Observation {
    Observation { at: now, states: ["a", "b"].map(|name| (key(name), unseen())).into() }
}

/// Returns the requested observations: their priority, and whether everything is to be read.
fn looks(effects: &[Effect]) -> Vec<(Ticket, Priority, bool)> {
    let look = |effect: &Effect| match effect {
        Effect::Observe { ticket, asker, .. } => Some((*ticket, asker.priority, asker.afresh)),
        _ => None,
    };
    effects.iter().filter_map(look).collect()
}

/// A machine that holds the log for years, its first observation answered.
fn at_rest() -> Machine {
    let (mut machine, ticket) = observing(false);
    machine.step(at(100), Event::LeaseRenewed { epoch: 3, expires: at(1_000_000_000) });
    machine.step(at(100), Event::Observed { ticket, observation: in_place(at(100)) });
    machine
}

/// Steps from hour to hour with a report about one object each time. Returns the hours at which all
/// objects were read.
fn read_at(machine: &mut Machine, hours: std::ops::Range<u64>, answer: fn(Timestamp) -> Observation) -> Vec<u64> {
    let mut read = BTreeSet::new();
    for hour in hours {
        // Every five minutes: a sweep may wait for so long.
        for now in (0..12).map(|part| at(hour * 3_600 + part * 300)) {
            let hint = Hint::Changed { keys: [key("a")].into() };
            let hinted = machine.step(now, Event::Hinted { target: target(), hint });
            for (ticket, _, afresh) in [looks(&hinted), looks(&machine.step(now, Event::Woke))].concat() {
                read.extend(afresh.then_some(hour));
                machine.step(now, Event::Observed { ticket, observation: answer(now) });
            }
        }
    }
    read.into_iter().collect()
}

#[test]
fn what_is_told_of_one_object_does_not_put_off_reading_the_others() {
    let read = read_at(&mut at_rest(), 1..100, in_place);
    assert!(read[0] <= 24, "the first time within a day: {read:?}");
    let pauses: Vec<u64> = read.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(read.len() >= 4 && pauses.iter().all(|pause| *pause == 24), "{read:?}");
}

#[test]
fn a_sweep_that_saw_nothing_goes_on_until_it_does() {
    let mut machine = at_rest();
    let first = read_at(&mut machine, 1..30, in_place)[0];
    let mut machine = at_rest();
    let in_vain = read_at(&mut machine, 1..first + 3, nothing_seen);
    assert!(in_vain.len() > 1, "{in_vain:?}");
    let read = read_at(&mut machine, first + 3..first + 10, in_place);
    assert_eq!(read.len(), 1, "{read:?}");
}

#[test]
fn nobody_waits_for_a_sweep_and_it_says_so() {
    let mut machine = at_rest();
    let mut swept = (1..=25 * 12).filter_map(|part| {
        let effects = machine.step(at(100 + part * 300), Event::Woke);
        looks(&effects).first().map(|(_, priority, afresh)| (*priority, *afresh))
    });
    assert_eq!(swept.next(), Some((Priority::Sweep, true)));
}
