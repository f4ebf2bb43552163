//! How a new holder of the log treats changes that a former one had under way.

use std::collections::BTreeMap;
use std::sync::Arc;

use setpoint_core::claim::Claim;
use setpoint_core::digest::Digest;
use setpoint_core::facts::{AppFacts, Change, Facts};
use setpoint_core::intent::{Expect, Intent, IntentId, Verb};
use setpoint_core::key::Key;
use setpoint_core::name::{AppId, LiveVersion, TargetIdentity, Uid};
use setpoint_core::time::{Span, Timestamp};
use setpoint_engine::{BundleCache, Effect, Event, Machine, Settings};
use setpoint_target::Effects;

use crate::holding::{at, claim};

/// The facts left by a process that died in the middle of a change.
fn left_open(verb: Verb, expect: Option<Expect>) -> Facts {
    let app: AppId = "web/shop".parse().expect("a valid app");
    let target = TargetIdentity::new("host-1").expect("a valid identity");
    let key = Key::new("file", "", "/etc/motd").expect("a valid key");
    let id = IntentId { epoch: 1, number: 1 };
    let uid = expect.as_ref().map(|expect| expect.uid.clone());
    let claim = Claim { target: target.clone(), key: key.clone(), uid, ..claim(&app, "motd") };
    let digest = Digest::of(b"");
    let intent = Intent {
        id,
        app: app.clone(),
        target: target.clone(),
        key,
        verb,
        folds: None,
        plan: digest,
        bundle: digest,
        declared: Some(digest),
        expect,
        acting_as: None,
        at: at(0),
        leave_by: at(5),
        land_by: at(35),
    };
    let mut facts = Facts::default();
    for change in [
        Change::Installed { at: at(0) },
        Change::PutApp { app, facts: Arc::new(AppFacts::new(target)) },
        Change::PutClaim { claim: Arc::new(claim), from: None },
        Change::OpenIntent { intent },
    ] {
        facts.apply(&change).expect("the changes fit each other");
    }
    facts
}

/// Becomes the writer and loads. Returns whether the change under way is settled at once.
fn settles_at_once(machine: &mut Machine, now: Timestamp, epoch: u64) -> bool {
    settles_this_at_once(machine, now, epoch, left_open(Verb::Create, None))
}

fn settles_this_at_once(machine: &mut Machine, now: Timestamp, epoch: u64, facts: Facts) -> bool {
    machine.step(now, Event::Started);
    machine.step(now, Event::Woke);
    machine.step(now, Event::LeaseGranted { epoch, expires: now + Span::seconds(15) });
    let loaded = Event::Loaded { epoch, facts: Box::new(facts), bundles: BundleCache::default() };
    machine.step(now, loaded).iter().any(|effect| matches!(effect, Effect::Settle { .. }))
}

fn of_hosts(effects: Effects) -> BTreeMap<String, Effects> {
    [("host".to_owned(), effects)].into()
}

fn ending_with_the_agent() -> Settings {
    let effects = of_hosts(Effects { ends_with_agent: true, ..Effects::default() });
    Settings { effects, ..Settings::default() }
}

#[test]
fn what_ended_with_the_predecessor_is_settled_at_once() {
    assert!(settles_at_once(&mut Machine::new(ending_with_the_agent()), at(1), 2));
    assert!(!settles_at_once(&mut Machine::new(Settings::default()), at(1), 2), "elsewhere it may still land");
}

#[test]
fn what_this_process_had_under_way_when_it_lost_its_lease_is_waited_for() {
    let mut machine = Machine::new(ending_with_the_agent());
    assert!(settles_at_once(&mut machine, at(1), 2));
    machine.step(at(60), Event::Woke);
    assert!(!settles_at_once(&mut machine, at(70), 3), "its own effects may still land");
}

#[test]
fn what_names_a_version_is_settled_at_once_where_settling_ends_it() {
    let settings = Settings { land_within: Span::seconds(10), ..Settings::default() };
    let fences = of_hosts(Effects { fences: true, ..Effects::default() });
    let fencing = || Machine::new(Settings { effects: fences.clone(), ..settings.clone() });
    let version = LiveVersion::new("7").expect("a valid version");
    let expect = Some(Expect { uid: Uid::new("a").expect("a valid UID"), version: Some(version) });
    let update = left_open(Verb::Update, expect);
    assert!(settles_this_at_once(&mut fencing(), at(1), 2, update.clone()));
    assert!(!settles_this_at_once(&mut Machine::new(Settings::default()), at(1), 2, update));
    let mut machine = fencing();
    assert!(!settles_at_once(&mut machine, at(1), 2), "a create names none, and may still land");
    assert_eq!(settles_later(&mut machine), [36], "then it can land no more");
}

#[test]
fn a_family_has_its_own_limit_for_changes_that_are_under_way() {
    let effects = of_hosts(Effects { lands_within: Some(Span::seconds(10)), ..Effects::default() });
    let mut machine = Machine::new(Settings { effects, ..Settings::default() });
    assert!(!settles_at_once(&mut machine, at(1), 2), "it may still land");
    assert_eq!(settles_later(&mut machine), [36]);
    let mut other = Machine::new(Settings::default());
    assert!(!settles_at_once(&mut other, at(1), 2));
    assert!(settles_later(&mut other).is_empty(), "the limit of the engine is longer");
}

/// Returns the seconds, of the next ones, at which a machine of epoch 2 requests settlements.
fn settles_later(machine: &mut Machine) -> Vec<u64> {
    let mut late = Vec::new();
    for second in 2..40 {
        let expires = at(second) + Span::seconds(15);
        let effects = machine.step(at(second), Event::LeaseRenewed { epoch: 2, expires });
        late.extend(effects.iter().any(|effect| matches!(effect, Effect::Settle { .. })).then_some(second));
    }
    late
}
