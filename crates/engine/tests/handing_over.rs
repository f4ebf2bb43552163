//! Objects that change hands between apps: a claim is judged again right before it is taken.

use std::collections::BTreeMap;
use std::sync::Arc;

use setpoint_core::bundle::Bundle;
use setpoint_core::facts::{Accepted, AppFacts, Change, Facts};
use setpoint_core::live::{Live, Observation, Presence};
use setpoint_core::name::AppId;
use setpoint_core::observed::Observed;
use setpoint_core::resource::Resource;
use setpoint_core::value::Value;
use setpoint_core::version::Revision;
use setpoint_engine::{BundleCache, Controls, Effect, Event, Machine, Mode, Settings};
use setpoint_target::{Outcome, Work};

use crate::holding::{absent, at, claim, control, key, reach, resource, stands, target};

fn app(name: &str) -> AppId {
    name.parse().expect("a valid app")
}

fn controls(apps: &[&str]) -> Controls {
    Controls {
        apps: apps.iter().map(|name| (app(name), control(Mode::Auto, false))).collect(),
        targets: [(target(), reach(false))].into(),
        ..Controls::default()
    }
}

/// `web/new` declares `a`, and `b` after it. The document of `web/old`, which owns `b` and declares
/// it, is gone.
fn facts(bundles: &BundleCache) -> Facts {
    let b = Resource { after: [key("a")].into(), ..resource("b") };
    let declared = [("web/new", vec![resource("a"), b]), ("web/old", vec![resource("b")])];
    let mut changes = vec![Change::Installed { at: at(0) }];
    for (name, resources) in declared {
        let bundle = Bundle::new(app(name), target(), resources).expect("a valid bundle");
        let accepted = Accepted { bundle: bundle.digest(), sequence: 1, revision: Revision::default(), at: at(0) };
        let facts = AppFacts { accepted: Some(accepted), frozen: name == "web/old", ..AppFacts::new(target()) };
        changes.push(Change::PutApp { app: app(name), facts: Arc::new(facts) });
        bundles.put(bundle.into());
    }
    changes.push(Change::PutClaim { claim: Arc::new(claim(&app("web/old"), "b")), from: None });
    let mut facts = Facts::default();
    for change in changes {
        facts.apply(&change).expect("the changes fit each other");
    }
    facts
}

/// Shows that `a` is absent, and that `b` is another than declared.
fn observation() -> Observation {
    let mut b = stands("b", at(100));
    let Observed::Known { value: Presence::Present(live), .. } = &mut b else { panic!("it is there") };
    live.value = Arc::new(Value::map([("data", Value::str("edited"))]));
    live.fingerprint = Live::fingerprint_of(&live.value);
    Observation { at: at(100), states: BTreeMap::from([(key("a"), absent(at(100))), (key("b"), b)]) }
}

/// Steps and makes all records durable. Answers the first observation and carries nothing out;
/// returns the steps that were sent.
fn step(machine: &mut Machine, event: Event) -> Vec<(setpoint_engine::Ticket, Work)> {
    let mut events = vec![event];
    let mut sent = Vec::new();
    while let Some(event) = events.pop() {
        for effect in machine.step(at(100), event) {
            match effect {
                Effect::Append { ticket, .. } => events.push(Event::Appended { ticket }),
                Effect::Observe { ticket, asker, .. } if asker.app == Some(app("web/new")) => {
                    events.push(Event::Observed { ticket, observation: observation() });
                }
                Effect::Execute { ticket, work, .. } => sent.extend(work.into_iter().map(|work| (ticket, work))),
                _ => {}
            }
        }
    }
    sent
}

/// Starts the plan of `web/new`, and returns who changes `b` after the first step was done. Before
/// that, documents of these apps come into force.
fn changes_of_b(documents: &[&str]) -> Vec<String> {
    let mut machine = Machine::new(Settings::default());
    let bundles = BundleCache::default();
    let facts = Box::new(facts(&bundles));
    for event in
        [Event::Started, Event::Controls(controls(&["web/new"])), Event::LeaseGranted { epoch: 3, expires: at(1_000) }]
    {
        step(&mut machine, event);
    }
    let sent = step(&mut machine, Event::Loaded { epoch: 3, facts, bundles });
    let [(ticket, work)] = &sent[..] else { panic!("{sent:?}") };
    assert_eq!((&work.step.key, &work.step.from), (&key("a"), &None));
    step(&mut machine, Event::Controls(controls(documents)));
    let Observed::Known { value: Presence::Present(live), .. } = stands("a", at(100)) else { panic!("it is there") };
    let outcomes = vec![Outcome::Done { live: Some(live) }];
    let sent = step(&mut machine, Event::Executed { ticket: *ticket, outcomes });
    let of_b = sent.into_iter().filter(|(_, work)| work.step.key == key("b"));
    of_b.map(|(_, work)| work.step.claim.app.to_string()).collect()
}

#[test]
fn an_object_is_taken_over_from_an_app_without_a_document() {
    assert_eq!(changes_of_b(&["web/new"]), ["web/new"]);
}

#[test]
fn an_object_is_not_taken_from_an_app_whose_document_returned_after_the_plan() {
    assert_eq!(changes_of_b(&["web/new", "web/old"]), Vec::<String>::new());
}
