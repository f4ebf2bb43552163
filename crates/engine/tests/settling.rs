//! The consequences of settling a change of a dead process.

use std::sync::Arc;

use setpoint_core::bundle::Bundle;
use setpoint_core::claim::{Claim, ClaimOrigin};
use setpoint_core::facts::{Accepted, AppFacts, Change, Facts};
use setpoint_core::intent::{Expect, Intent, IntentEnd, IntentId, Verb};
use setpoint_core::live::{Live, Observation, Presence};
use setpoint_core::name::{AppId, LiveVersion, Uid};
use setpoint_core::observed::Observed;
use setpoint_core::value::Value;
use setpoint_core::version::Revision;
use setpoint_engine::{BundleCache, Controls, Effect, Event, Machine, Mode, Settings, Ticket};
use setpoint_ledger::Class;
use setpoint_target::{Effects, Settlement, Work};

use crate::holding::{at, claim, control, key, reach, resource, stands, target};

fn app() -> AppId {
    "web/shop".parse().expect("a valid app")
}

/// The app declares `a`, and a former process was about to apply it.
fn left_open(verb: Verb) -> (Facts, BundleCache) {
    let bundle = Bundle::new(app(), target(), vec![resource("a")]).expect("a valid bundle");
    let accepted = Accepted { bundle: bundle.digest(), sequence: 1, revision: Revision::default(), at: at(0) };
    let uid = (verb == Verb::Update).then(|| Uid::new("a").expect("a valid UID"));
    let version = Some(LiveVersion::new("0").expect("a valid version"));
    let intent = Intent {
        id: IntentId { epoch: 1, number: 1 },
        app: app(),
        target: target(),
        key: key("a"),
        verb,
        folds: None,
        plan: bundle.digest(),
        bundle: bundle.digest(),
        declared: bundle.resources().get(&key("a")).map(|declared| declared.digest),
        expect: uid.clone().map(|uid| Expect { uid, version }),
        acting_as: None,
        at: at(0),
        leave_by: at(5),
        land_by: at(35),
    };
    let mut facts = Facts::default();
    for change in [
        Change::Installed { at: at(0) },
        Change::PutApp {
            app: app(),
            facts: Arc::new(AppFacts { accepted: Some(accepted), ..AppFacts::new(target()) }),
        },
        Change::PutClaim { claim: Arc::new(Claim { uid, ..claim(&app(), "a") }), from: None },
        Change::OpenIntent { intent },
    ] {
        facts.apply(&change).expect("the changes fit each other");
    }
    let bundles = BundleCache::default();
    bundles.put(bundle.into());
    (facts, bundles)
}

/// Steps, makes all records durable, and returns the changes and the other effects.
fn step(machine: &mut Machine, seconds: u64, event: Event) -> (Vec<Change>, Vec<Effect>) {
    let (mut events, mut changes, mut others) = (vec![event], Vec::new(), Vec::new());
    while let Some(event) = events.pop() {
        for effect in machine.step(at(seconds), event) {
            match effect {
                Effect::Append { ticket, entries, .. } => {
                    changes.extend(entries.into_iter().flat_map(|entry| entry.changes));
                    events.push(Event::Appended { ticket });
                }
                other => others.push(other),
            }
        }
    }
    (changes, others)
}

/// A machine that takes over, and the ticket of the settlement it requests.
fn taking_over(verb: Verb) -> (Machine, Ticket) {
    let (facts, bundles) = left_open(verb);
    let controls = Controls {
        apps: [(app(), control(Mode::Auto, false))].into(),
        targets: [(target(), reach(false))].into(),
        ..Controls::default()
    };
    let ends_with_agent = Effects { ends_with_agent: true, ..Effects::default() };
    let effects = [("cluster".to_owned(), ends_with_agent)].into();
    let mut machine = Machine::new(Settings { effects, ..Settings::default() });
    let mut effects = Vec::new();
    for event in [
        Event::Started,
        Event::Controls(controls),
        Event::LeaseGranted { epoch: 3, expires: at(1_000) },
        Event::Loaded { epoch: 3, facts: Box::new(facts), bundles },
    ] {
        effects.extend(step(&mut machine, 100, event).1);
    }
    let asked = effects.iter().find_map(|effect| match effect {
        Effect::Settle { ticket, .. } => Some(*ticket),
        _ => None,
    });
    (machine, asked.expect("it is settled at once"))
}

/// An observation with a later write by another writer.
fn edited(seconds: u64) -> Observation {
    let mut state = stands("a", at(seconds));
    let Observed::Known { value: Presence::Present(live), .. } = &mut state else { panic!("it stands there") };
    live.value = Arc::new(Value::map([("data", Value::str("edited"))]));
    live.fingerprint = Live::fingerprint_of(&live.value);
    Observation { at: at(seconds), states: [(key("a"), state)].into() }
}

/// Answers the machine's requests, with the edited object and with yes, until it changes something.
fn until_work(machine: &mut Machine, mut effects: Vec<Effect>) -> (Vec<Change>, Vec<Work>) {
    let mut changes = Vec::new();
    for seconds in 101..200 {
        for effect in std::mem::take(&mut effects) {
            let event = match effect {
                Effect::Execute { work, .. } => return (changes, work),
                Effect::Observe { ticket, .. } => Event::Observed { ticket, observation: edited(seconds) },
                Effect::Preview { ticket, .. } => Event::Previewed { ticket, verdict: Ok(()) },
                Effect::Notify { note, .. } => panic!("no one has to do anything: {note:?}"),
                _ => continue,
            };
            let (recorded, more) = step(machine, seconds, event);
            changes.extend(recorded);
            effects.extend(more);
        }
        let (recorded, more) = step(machine, seconds, Event::Woke);
        changes.extend(recorded);
        effects.extend(more);
    }
    panic!("nothing is done: {:?}", machine.status(&app()))
}

#[test]
fn an_update_that_someone_wrote_over_is_closed_and_decided_again() {
    let (mut machine, ticket) = taking_over(Verb::Update);
    let settlement = Settlement::Superseded { detail: "it was written since".into() };
    let (changes, effects) = step(&mut machine, 100, Event::Settled { ticket, settlement });
    let why = "it was written since".to_owned();
    assert!(changes.contains(&Change::CloseIntent {
        intent: IntentId { epoch: 1, number: 1 },
        end: IntentEnd::Superseded { why }
    }));
    assert!(machine.status(&app()).expect("it is known").unsettled.is_empty());
    let (_, work) = until_work(&mut machine, effects);
    let steps: Vec<_> = work.iter().map(|work| (work.step.verb, work.step.expect.clone())).collect();
    let (uid, version) = (Uid::new("a").expect("a valid UID"), LiveVersion::new("1").expect("a valid version"));
    assert_eq!(steps, [(Verb::Update, Some(Expect { uid, version: Some(version) }))], "of what is there now");
}

#[test]
fn what_a_create_may_have_made_is_not_ours_and_is_adopted_where_the_app_may() {
    let (mut machine, ticket) = taking_over(Verb::Create);
    let settlement = Settlement::Superseded { detail: "it is there".into() };
    let (changes, effects) = step(&mut machine, 100, Event::Settled { ticket, settlement });
    let dropped = |change: &Change| matches!(change, Change::DropClaim { key: of, .. } if *of == key("a"));
    assert!(changes.iter().any(dropped), "{changes:?}");
    let (_, work) = until_work(&mut machine, effects);
    let claim = &work[0].step.claim;
    assert_eq!((work.len(), work[0].step.verb, claim.origin), (1, Verb::Update, ClaimOrigin::Adopted));
}

#[test]
fn what_cannot_be_told_still_waits_for_a_person() {
    let (mut machine, ticket) = taking_over(Verb::Update);
    let settlement = Settlement::Unknown { detail: "no answer".into() };
    step(&mut machine, 100, Event::Settled { ticket, settlement });
    assert_eq!(machine.status(&app()).expect("it is known").unsettled.len(), 1);
}

#[test]
fn a_settlement_that_the_ledger_refuses_is_looked_up_again() {
    let (mut machine, ticket) = taking_over(Verb::Update);
    let effects = machine.step(at(100), Event::Settled { ticket, settlement: Settlement::NotDone });
    let append = effects.iter().find_map(|effect| match effect {
        Effect::Append { ticket, .. } => Some(*ticket),
        _ => None,
    });
    let ticket = append.expect("its end is recorded");
    machine.step(at(100), Event::AppendFailed { ticket, class: Class::Conflict, detail: String::new() });
    assert_eq!(machine.status(&app()).expect("it is known").unsettled.len(), 1);
    let effects = machine.step(at(101), Event::Woke);
    assert!(effects.iter().any(|effect| matches!(effect, Effect::Settle { .. })), "{effects:?}");
}
