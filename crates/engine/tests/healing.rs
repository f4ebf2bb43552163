//! Healing drift: a result from the target counts as done only if the object is as declared.

use std::sync::Arc;

use setpoint_core::live::{Live, Observation, Presence};
use setpoint_core::name::Actor;
use setpoint_core::observed::Observed;
use setpoint_core::value::Value;
use setpoint_engine::{Command, Effect, Event, Machine, Mode, Order, OrderId, Ticket};
use setpoint_target::{Hint, Outcome, Priority, Refusal, RefusalClass, Unwatched};

use crate::attributing::converged;
use crate::holding::{at, key, stands, target};

/// The first object as a stranger wrote it; the second as declared.
fn drifted(seconds: u64) -> (Observation, Live) {
    let now = at(seconds);
    let mut states = [("a", stands("a", now)), ("b", stands("b", now))].map(|(name, state)| (key(name), state));
    let Observed::Known { value: Presence::Present(live), .. } = &mut states[0].1 else { panic!("it stands there") };
    live.value = Arc::new(Value::map([("data", Value::str("a")), ("added", Value::str("by a stranger"))]));
    live.fingerprint = Live::fingerprint_of(&live.value);
    let live = live.clone();
    (Observation { at: now, states: states.into() }, live)
}

/// Steps, makes all records durable, and returns the other effects.
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

fn looks(effects: &[Effect]) -> Vec<Ticket> {
    let look = |effect: &Effect| match effect {
        Effect::Observe { ticket, .. } => Some(*ticket),
        _ => None,
    };
    effects.iter().filter_map(look).collect()
}

fn executed(effects: &[Effect]) -> Option<Ticket> {
    effects.iter().find_map(|effect| match effect {
        Effect::Execute { ticket, .. } => Some(*ticket),
        _ => None,
    })
}

/// Answers every observation with the stranger's object. Returns whether a heal follows.
fn is_put_right(machine: &mut Machine, seconds: u64, effects: &[Effect]) -> bool {
    looks(effects).into_iter().any(|ticket| {
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
    let again = is_put_right(&mut machine, 101, &effects)
        || (102..400).any(|seconds| {
            let effects = step(&mut machine, seconds, Event::Woke);
            is_put_right(&mut machine, seconds, &effects)
        });
    assert!(again, "{:?}", machine.status(&"web/shop".parse().expect("a valid app")));
}

#[test]
fn what_a_person_orders_is_done_as_urgently_as_it_is_looked_at() {
    let done_for = |order: Option<Order>| -> Vec<Priority> {
        let (mut machine, ticket) = converged(Mode::Auto, false);
        let (app, by) = ("web/shop".parse().expect("a valid app"), Actor::new("ada").expect("a plain name"));
        let now = at(100);
        let states = ["a", "b"].map(|name| (key(name), stands(name, now))).into();
        step(&mut machine, 100, Event::Observed { ticket, observation: Observation { at: now, states } });
        let event = match order {
            Some(order) => {
                let (id, via, reason) = (OrderId(1), "password".to_owned(), "to see it".to_owned());
                Event::Command(Command { id, app, by, via, reason, order })
            }
            None => Event::Hinted { target: target(), hint: Hint::Changed { keys: [key("a")].into() } },
        };
        let mut effects = step(&mut machine, 101, event);
        effects.extend(step(&mut machine, 110, Event::Woke));
        let look = looks(&effects)[0];
        let effects = step(&mut machine, 111, Event::Observed { ticket: look, observation: drifted(111).0 });
        let of_work = |effect: Effect| match effect {
            Effect::Execute { work, .. } => work.into_iter().map(|work| work.priority).collect(),
            _ => Vec::new(),
        };
        effects.into_iter().flat_map(of_work).collect()
    };
    assert_eq!(done_for(None), [Priority::Drift]);
    assert_eq!(done_for(Some(Order::Sync { allow_prune: 0 })), [Priority::Person]);
}

#[test]
fn what_was_written_in_between_is_decided_again_at_once_a_few_times() {
    let (mut machine, look) = converged(Mode::Auto, false);
    let mut effects = step(&mut machine, 100, Event::Observed { ticket: look, observation: drifted(100).0 });
    let mut tries = 0;
    while let Some(ticket) = executed(&effects) {
        tries += 1;
        let detail = "the object has been modified".to_owned();
        let refusal = Refusal { class: RefusalClass::Conflict, detail, retry_after: None };
        let refused = Event::Executed { ticket, outcomes: vec![Outcome::Refused { refusal }] };
        let look = looks(&step(&mut machine, 100, refused))[0];
        effects = step(&mut machine, 100, Event::Observed { ticket: look, observation: drifted(100).0 });
    }
    assert_eq!(tries, 5, "all within one instant, and then it waits");
    // The pause is one of milliseconds.
    let effects = step(&mut machine, 101, Event::Woke);
    assert!(is_put_right(&mut machine, 101, &effects));
}

#[test]
fn an_app_whose_changes_are_not_noticed_is_not_converged() {
    let (mut machine, ticket) = converged(Mode::Auto, false);
    let states = ["a", "b"].map(|name| (key(name), stands(name, at(100)))).into();
    step(&mut machine, 100, Event::Observed { ticket, observation: Observation { at: at(100), states } });
    let status = |machine: &Machine| machine.status(&"web/shop".parse().expect("a valid app")).expect("it is known");
    assert!(status(&machine).converged);
    let unwatched = |class: &str, namespace: Option<&str>| Unwatched {
        class: class.into(),
        namespace: namespace.map(Into::into),
        since: at(101),
        why: "no answer".into(),
    };
    let hint = |kinds: Vec<Unwatched>| Event::Hinted { target: target(), hint: Hint::Unwatched { kinds } };
    for elsewhere in [unwatched("Secret", None), unwatched("ConfigMap", Some("another"))] {
        step(&mut machine, 102, hint(vec![elsewhere]));
        assert!(status(&machine).converged, "it has nothing of that");
    }
    for of_it in [unwatched("ConfigMap", None), unwatched("ConfigMap", Some("shop"))] {
        step(&mut machine, 103, hint(vec![of_it.clone()]));
        assert!(!status(&machine).converged);
        assert_eq!(status(&machine).unwatched, Some(of_it));
        step(&mut machine, 104, hint(Vec::new()));
        assert!(status(&machine).converged);
    }
    // From now on another connection sends the hints.
    step(&mut machine, 105, hint(vec![unwatched("ConfigMap", None)]));
    step(&mut machine, 106, Event::Hinted { target: target(), hint: Hint::Lost });
    assert_eq!(status(&machine).unwatched, None);
}
