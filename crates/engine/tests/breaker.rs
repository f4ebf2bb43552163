//! A target that fails too often is left alone, and afterwards nothing is deleted there before one
//! complete observation.

use std::sync::Arc;

use setpoint_core::bundle::Bundle;
use setpoint_core::facts::{Accepted, AppFacts, Change, Facts};
use setpoint_core::intent::Verb;
use setpoint_core::live::{Observation, Presence};
use setpoint_core::name::AppId;
use setpoint_core::observed::{Observed, UnknownReason};
use setpoint_core::report::{RetentionReason, Why};
use setpoint_core::time::{Span, Timestamp};
use setpoint_core::version::Revision;
use setpoint_engine::{BundleCache, Controls, Effect, Event, Machine, Mode, Settings, Ticket};
use setpoint_target::{Hint, Outcome, Refusal, RefusalClass};

use crate::holding::{at, claim, control, key, reach, resource, stands, target, unseen};

/// An app that is being retired: its objects are to be deleted, without a render.
fn retired() -> AppId {
    "web/old".parse().expect("a valid app")
}

/// An app that stays.
fn neighbour() -> AppId {
    "web/shop".parse().expect("a valid app")
}

/// A machine that holds both apps, and its first effects.
fn holding() -> (Machine, Vec<Effect>) {
    let (bundles, mut facts) = (BundleCache::default(), Facts::default());
    facts.apply(&Change::Installed { at: at(0) }).expect("it fits");
    for (app, names) in [(retired(), ["a", "b"]), (neighbour(), ["c", "d"])] {
        let bundle = Bundle::new(app.clone(), target(), names.map(resource).into()).expect("a valid bundle");
        let accepted = Accepted { bundle: bundle.digest(), sequence: 1, revision: Revision::default(), at: at(0) };
        bundles.put(bundle.into());
        let known = AppFacts {
            accepted: Some(accepted.clone()),
            last_good: Some(accepted),
            retiring: app == retired(),
            ..AppFacts::new(target())
        };
        facts.apply(&Change::PutApp { app: app.clone(), facts: Arc::new(known) }).expect("it fits");
        for name in names {
            let put = Change::PutClaim { claim: Arc::new(claim(&app, name)), from: None };
            facts.apply(&put).expect("it fits");
        }
    }
    let controls = Controls {
        apps: [(retired(), control(Mode::Auto, true)), (neighbour(), control(Mode::Auto, false))].into(),
        targets: [(target(), reach(false))].into(),
        ..Controls::default()
    };
    let settings = Settings { breaker_calls: 4, quarantine: Span::ZERO, ..Settings::default() };
    let mut machine = Machine::new(settings);
    let mut effects = Vec::new();
    for event in [
        Event::Started,
        Event::Controls(controls),
        Event::LeaseGranted { epoch: 3, expires: at(1_000) },
        Event::Loaded { epoch: 3, facts: Box::new(facts), bundles },
        Event::Woke,
    ] {
        effects.extend(machine.step(at(100), event));
    }
    (machine, effects)
}

/// Returns the observation of an app's objects.
fn look_of(effects: &[Effect], name: &str) -> Option<Ticket> {
    effects.iter().find_map(|effect| match effect {
        Effect::Observe { ticket, wanted, .. } if wanted.contains_key(&key(name)) => Some(*ticket),
        _ => None,
    })
}

fn observed(ticket: Ticket, seen: Timestamp, states: [(&str, Observed<Presence>); 2]) -> Event {
    let states = states.into_iter().map(|(name, state)| (key(name), state)).collect();
    Event::Observed { ticket, observation: Observation { at: seen, states } }
}

fn deletes(effects: &[Effect]) -> usize {
    let entries = effects.iter().flat_map(|effect| match effect {
        Effect::Append { entries, .. } => entries.as_slice(),
        _ => &[],
    });
    let is_delete = |change: &&Change| matches!(change, Change::OpenIntent { intent } if intent.verb == Verb::Delete);
    entries.flat_map(|entry| &entry.changes).filter(is_delete).count()
}

fn kept_for(machine: &Machine, kept: RetentionReason) -> bool {
    machine.withheld(&retired()).iter().any(|withheld| withheld.why == Why::RetentionReason(kept))
}

/// The neighbour cannot be observed, four times within seven seconds. An observation of the retired
/// app is under way since before.
fn failed_too_often() -> (Machine, Ticket) {
    let (mut machine, first) = holding();
    let under_way = look_of(&first, "a").expect("the retired app is looked at");
    let mut effects = first;
    for second in [100, 101, 103, 107] {
        effects.extend(machine.step(at(second), Event::Woke));
        let ticket = look_of(&std::mem::take(&mut effects), "c").expect("it is looked at again");
        assert_eq!(machine.left_alone_until(&target()), None);
        machine.step(at(second), observed(ticket, at(second), [("c", unseen()), ("d", unseen())]));
    }
    (machine, under_way)
}

#[test]
fn a_target_that_fails_every_call_is_left_alone_for_half_a_minute() {
    let (mut machine, _) = failed_too_often();
    assert_eq!(machine.left_alone_until(&target()), Some(at(137)));
    let looks = |effects: &[Effect]| effects.iter().filter(|effect| matches!(effect, Effect::Observe { .. })).count();
    assert!((108..137).all(|second| looks(&machine.step(at(second), Event::Woke)) == 0));
    assert!(looks(&machine.step(at(137), Event::Woke)) > 0);
}

#[test]
fn a_target_that_answers_again_is_looked_at_at_once_and_nothing_is_deleted_before_it_was_seen_in_full() {
    let (mut machine, under_way) = failed_too_often();
    let effects = machine.step(at(109), Event::Hinted { target: target(), hint: Hint::AnswersAgain });
    let neighbours = look_of(&effects, "c").expect("the pause is over");
    let states = |seen| [("a", stands("a", seen)), ("b", stands("b", seen))];
    // An observation that began before the hint does not count.
    let effects = machine.step(at(110), observed(under_way, at(106), states(at(106))));
    assert_eq!(deletes(&effects), 0);
    assert!(kept_for(&machine, RetentionReason::BreakerOpen), "{:?}", machine.withheld(&retired()));
    let seen = at(109);
    machine.step(at(111), observed(neighbours, seen, [("c", stands("c", seen)), ("d", stands("d", seen))]));
    assert_eq!(machine.left_alone_until(&target()), None);
}

#[test]
fn a_look_from_before_the_target_failed_too_often_deletes_nothing() {
    let (mut machine, under_way) = failed_too_often();
    let seen = at(106);
    let effects =
        machine.step(at(108), observed(under_way, seen, [("a", stands("a", seen)), ("b", stands("b", seen))]));
    assert_eq!(deletes(&effects), 0);
    assert!(kept_for(&machine, RetentionReason::BreakerOpen), "{:?}", machine.withheld(&retired()));
    assert_eq!(machine.left_alone_until(&target()), Some(at(137)), "it does not end the doubt either");
}

#[test]
fn a_partial_look_does_not_end_the_doubt_and_a_full_one_does() {
    let (mut machine, under_way) = failed_too_often();
    machine.step(at(108), observed(under_way, at(106), [("a", unseen()), ("b", unseen())]));
    let effects = machine.step(at(137), Event::Woke);
    let ticket = look_of(&effects, "a").expect("it is looked at again");
    let effects = machine.step(at(138), observed(ticket, at(137), [("a", stands("a", at(137))), ("b", unseen())]));
    assert_eq!(deletes(&effects), 0);
    assert!(machine.left_alone_until(&target()).is_some(), "the doubt goes on");
    let again = (139..200).find_map(|second| {
        let effects = machine.step(at(second), Event::Woke);
        Some((second, look_of(&effects, "a")?))
    });
    let (second, ticket) = again.expect("it is looked at once more");
    let seen = at(second);
    let effects = machine.step(seen, observed(ticket, seen, [("a", stands("a", seen)), ("b", stands("b", seen))]));
    assert_eq!(machine.left_alone_until(&target()), None);
    assert_eq!(deletes(&effects), 2, "{:?}", machine.withheld(&retired()));
}

/// Answers everything about the neighbour for half a minute: its objects are missing, and each step
/// is refused with this class. Returns the number of refused steps, and whether the target was left
/// alone at any time.
fn refused_for_half_a_minute(class: RefusalClass) -> (usize, bool) {
    let (mut machine, mut effects) = holding();
    let (mut refused, mut left_alone) = (0, false);
    for second in 100..130 {
        let mut events = Vec::new();
        effects.extend(machine.step(at(second), Event::Woke));
        while !effects.is_empty() {
            for effect in std::mem::take(&mut effects) {
                events.extend(match effect {
                    Effect::Append { ticket, .. } => Some(Event::Appended { ticket }),
                    Effect::Observe { ticket, wanted, .. } if wanted.contains_key(&key("c")) => {
                        let absent = || Observed::known(Presence::Absent, at(second));
                        Some(observed(ticket, at(second), [("c", absent()), ("d", absent())]))
                    }
                    Effect::Execute { ticket, work, .. } => {
                        refused += work.len();
                        let refusal = Refusal { class, detail: "no".into(), retry_after: None };
                        let outcomes = work.iter().map(|_| Outcome::Refused { refusal: refusal.clone() }).collect();
                        Some(Event::Executed { ticket, outcomes })
                    }
                    _ => None,
                });
            }
            for event in std::mem::take(&mut events) {
                effects.extend(machine.step(at(second), event));
            }
        }
        left_alone |= machine.left_alone_until(&target()).is_some();
    }
    (refused, left_alone)
}

#[test]
fn refused_work_says_nothing_about_the_health_of_a_target() {
    for class in [
        RefusalClass::Unready,
        RefusalClass::Invalid,
        RefusalClass::Denied,
        RefusalClass::Conflict,
        RefusalClass::Fenced,
    ] {
        let (refused, left_alone) = refused_for_half_a_minute(class);
        assert!(refused >= 8 && !left_alone, "{class:?}: {refused} steps were refused");
    }
    let (refused, left_alone) = refused_for_half_a_minute(RefusalClass::Unavailable);
    assert!(left_alone, "{refused} steps failed");
}

#[test]
fn an_app_that_cannot_be_observed_for_reasons_of_its_own_keeps_no_other_waiting() {
    for reason in [
        UnknownReason::Unobservable { detail: "the check of a command fails".into() },
        UnknownReason::Denied { detail: "forbidden".into() },
    ] {
        let (mut machine, mut effects) = holding();
        let mut looks = 0;
        for second in 100..130 {
            effects.extend(machine.step(at(second), Event::Woke));
            if let Some(ticket) = look_of(&std::mem::take(&mut effects), "c") {
                looks += 1;
                let states = ["c", "d"].map(|name| (name, Observed::unknown(reason.clone())));
                effects.extend(machine.step(at(second), observed(ticket, at(second), states)));
            }
            assert_eq!(machine.left_alone_until(&target()), None, "{reason}");
        }
        assert!(looks >= 4, "{looks} looks");
    }
}

#[test]
fn a_target_that_is_left_alone_is_told_with_every_app_on_it() {
    let (machine, _) = failed_too_often();
    let standing = machine.standing();
    assert_eq!(standing.left_alone, [(target(), at(137))].into());
    assert!(standing.apps.values().all(|app| app.left_alone_until == Some(at(137))));
}
