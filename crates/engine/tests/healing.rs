//! Putting drift right: what the target answers counts for done only if it is as declared.

use std::sync::Arc;

use setpoint_core::live::{Live, Observation, Presence};
use setpoint_core::observed::Observed;
use setpoint_core::value::Value;
use setpoint_engine::{Effect, Event, Machine, Mode, Ticket};
use setpoint_target::Outcome;

use crate::attributing::converged;
use crate::holding::{at, key, stands};

/// The first object as a stranger made it; the second as declared.
fn drifted(seconds: u64) -> (Observation, Live) {
    let now = at(seconds);
    let mut states = [("a", stands("a", now)), ("b", stands("b", now))].map(|(name, state)| (key(name), state));
    let Observed::Known { value: Presence::Present(live), .. } = &mut states[0].1 else { panic!("it stands there") };
    live.value = Arc::new(Value::map([("data", Value::str("a")), ("added", Value::str("by a stranger"))]));
    live.fingerprint = Live::fingerprint_of(&live.value);
    let live = live.clone();
    (Observation { at: now, states: states.into() }, live)
}

/// Steps, lets all that is to be recorded be durable, and gives what else is asked for.
fn step(machine: &mut Machine, seconds: u64, event: Event) -> Vec<Effect> {
    let (mut events, mut others) = (vec![event], Vec::new());
    while let Some(event) = events.pop() {
        for effect in machine.step(at(seconds), event) {
            match effect {
                Effect::Append { ticket, .. } => events.push(Event::Appended { ticket }),
                other => others.push(other),
            }
        }
    }
    others
}

fn executed(effects: &[Effect]) -> Option<Ticket> {
    effects.iter().find_map(|effect| match effect {
        Effect::Execute { ticket, .. } => Some(*ticket),
        _ => None,
    })
}

/// Answers every look with what the stranger made; whether anything is done about it.
fn is_put_right(machine: &mut Machine, seconds: u64, effects: Vec<Effect>) -> bool {
    let looks: Vec<Ticket> = effects
        .into_iter()
        .filter_map(|effect| match effect {
            Effect::Observe { ticket, .. } => Some(ticket),
            _ => None,
        })
        .collect();
    looks.into_iter().any(|ticket| {
        let observation = drifted(seconds).0;
        executed(&step(machine, seconds, Event::Observed { ticket, observation })).is_some()
    })
}

#[test]
fn what_was_written_and_still_differs_is_written_again() {
    let (mut machine, look) = converged(Mode::Auto, false);
    let (observation, still) = drifted(100);
    let effects = step(&mut machine, 100, Event::Observed { ticket: look, observation });
    let ticket = executed(&effects).expect("it is put right");
    let outcomes = vec![Outcome::Done { live: Some(still) }];
    let effects = step(&mut machine, 101, Event::Executed { ticket, outcomes });
    let again = is_put_right(&mut machine, 101, effects)
        || (102..400).any(|seconds| {
            let effects = step(&mut machine, seconds, Event::Woke);
            is_put_right(&mut machine, seconds, effects)
        });
    assert!(again, "{:?}", machine.status(&"web/shop".parse().expect("a valid app")));
}
