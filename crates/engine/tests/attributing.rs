//! Attribution: requested once drift was recorded, answered when the target's audit trail has a
//! result, and never waited for.

use std::collections::BTreeMap;
use std::sync::Arc;

use setpoint_core::bundle::Bundle;
use setpoint_core::facts::{Accepted, AppFacts, Change, Facts};
use setpoint_core::live::{Observation, Presence, Proof, Writer};
use setpoint_core::name::AppId;
use setpoint_core::observed::Observed;
use setpoint_core::version::Revision;
use setpoint_engine::{BundleCache, Controls, Effect, Event, Machine, Mode, Settings, Ticket};
use setpoint_ledger::{Entry, Kind};

use crate::holding::{at, claim, control, key, reach, resource, target};

fn app() -> AppId {
    "web/shop".parse().expect("a valid app")
}

fn proven(who: &str) -> Writer {
    let proof = Proof { who: who.into(), acting_as: None, address: None, audit_id: None, how: "delete".into() };
    Writer::Proven(Box::new(proof))
}

/// A machine whose app converged and is now in observe mode, with the ticket of the first
/// observation.
pub(crate) fn observing(attributes: bool) -> (Machine, Ticket) {
    converged(Mode::Observe, attributes)
}

/// A machine whose app converged before, with the ticket of the first observation.
pub(crate) fn converged(mode: Mode, attributes: bool) -> (Machine, Ticket) {
    let bundle = Bundle::new(app(), target(), vec![resource("a"), resource("b")]).expect("a valid bundle");
    let digest = bundle.digest();
    let accepted = Accepted { bundle: digest, sequence: 1, revision: Revision::default(), at: at(0) };
    let facts = AppFacts { accepted: Some(accepted.clone()), last_good: Some(accepted), ..AppFacts::new(target()) };
    let mut known = Facts::default();
    for change in [
        Change::Installed { at: at(0) },
        Change::PutApp { app: app(), facts: Arc::new(facts) },
        Change::PutClaim { claim: Arc::new(claim(&app(), "a")), from: None },
        Change::PutClaim { claim: Arc::new(claim(&app(), "b")), from: None },
    ] {
        known.apply(&change).expect("the changes fit each other");
    }
    let controls = Controls {
        apps: [(app(), control(mode, false))].into(),
        targets: [(target(), reach(attributes))].into(),
        ..Controls::default()
    };
    let mut machine = Machine::new(Settings::default());
    let bundles = BundleCache::default();
    bundles.put(bundle.into());
    let mut effects = Vec::new();
    for event in [
        Event::Started,
        Event::Controls(controls),
        Event::LeaseGranted { epoch: 3, expires: at(1_000) },
        Event::Loaded { epoch: 3, facts: Box::new(known), bundles },
        Event::Woke,
    ] {
        effects.extend(machine.step(at(100), event));
    }
    let look = effects.iter().find_map(|effect| match effect {
        Effect::Observe { ticket, .. } => Some(*ticket),
        _ => None,
    });
    (machine, look.expect("the app is looked at"))
}

fn gone() -> Observation {
    let absent = |name: &str| (key(name), Observed::known(Presence::Absent, at(100)));
    Observation { at: at(100), states: [absent("a"), absent("b")].into() }
}

fn entries(effects: &[Effect], kind: Kind) -> Vec<Entry> {
    let appended = effects.iter().filter_map(|effect| match effect {
        Effect::Append { entries, .. } => Some(entries),
        _ => None,
    });
    appended.flatten().filter(|entry| entry.kind == kind).cloned().collect()
}

fn asked(effects: &[Effect]) -> Option<(Ticket, Vec<String>)> {
    effects.iter().find_map(|effect| match effect {
        Effect::Attribute { ticket, seen, .. } => {
            assert!(seen.values().all(Option::is_none), "they were gone");
            Some((*ticket, seen.keys().map(|key| key.name().to_owned()).collect()))
        }
        _ => None,
    })
}

#[test]
fn what_the_trail_tells_becomes_a_record_that_names_the_drift_and_the_rest_is_asked_again() {
    let (mut machine, look) = observing(true);
    let effects = machine.step(at(100), Event::Observed { ticket: look, observation: gone() });
    let observed = entries(&effects, Kind::DriftObserved);
    let (ticket, names) = asked(&effects).expect("the target is asked");
    assert_eq!((observed.len(), names), (1, vec!["a".to_owned(), "b".to_owned()]));

    let stranger = (key("other"), proven("eve"));
    let writers = [(key("a"), proven("jane")), stranger].into();
    let effects = machine.step(at(101), Event::Attributed { ticket, writers });
    let attributed = entries(&effects, Kind::DriftAttributed);
    assert_eq!(attributed.len(), 1);
    assert_eq!(attributed[0].data.get("of"), observed[0].data.get("drift"));
    assert_eq!(attributed[0].data["count"], 1, "only what was asked about");
    let status = machine.status(&app()).expect("it is known");
    let who: Vec<&str> = status.drifts.iter().map(|drift| drift.writer.name()).collect();
    assert_eq!(who, ["jane", "unknown"]);

    let (again, names) = asked(&effects).expect("the rest is asked again");
    assert_eq!(names, ["b"]);
    let effects = machine.step(at(102), Event::Attributed { ticket: again, writers: BTreeMap::new() });
    assert!(asked(&effects).is_none() && entries(&effects, Kind::DriftAttributed).is_empty(), "no more is to come");
}

#[test]
fn a_late_answer_is_nobodys_and_a_target_without_a_trail_is_not_asked() {
    let (mut machine, look) = observing(true);
    let effects = machine.step(at(100), Event::Observed { ticket: look, observation: gone() });
    let (ticket, _) = asked(&effects).expect("the target is asked");
    machine.step(at(400), Event::LeaseRenewed { epoch: 3, expires: at(1_400) });
    let writers = [(key("a"), proven("jane"))].into();
    let effects = machine.step(at(400), Event::Attributed { ticket, writers });
    assert!(entries(&effects, Kind::DriftAttributed).is_empty());

    let (mut machine, look) = observing(false);
    let effects = machine.step(at(100), Event::Observed { ticket: look, observation: gone() });
    assert_eq!(entries(&effects, Kind::DriftObserved).len(), 1);
    assert!(asked(&effects).is_none());
}
