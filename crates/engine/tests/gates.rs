//! The gates between a version and its acceptance, and between a bundle and its convergence.

use std::collections::BTreeMap;

use setpoint_core::digest::Digest;
use setpoint_core::facts::AppFacts;
use setpoint_core::hold::HoldReason;
use setpoint_core::live::{Health, Presence};
use setpoint_core::name::StoreName;
use setpoint_core::observed::Observed;
use setpoint_core::time::{Span, Timestamp};
use setpoint_core::version::{Ancestry, Revision};
use setpoint_engine::{AppControl, Effect, Event, Mode, NoteKind, OnFailure, Order, RenderOutcome, StoreControl};
use setpoint_ledger::Kind;

use crate::holding::{resource, stands, target, unseen};
use crate::stage::{Before, Stage, app, document, revision, version};

fn at_rest() -> Stage {
    let mut before = Before::new();
    let facts = before.held("shop", &["a"]);
    before.app("shop", facts, Some(document(Mode::Auto)));
    before.begin()
}

fn rendered(ancestry: Ancestry, names: &[&str]) -> RenderOutcome {
    RenderOutcome::Rendered { resources: names.iter().map(|name| resource(name)).collect(), ancestry }
}

/// The store offers a version, which is rendered with this outcome. Returns the revision that it
/// had to descend from.
fn offer(stage: &mut Stage, name: &str, outcome: RenderOutcome) -> Option<Revision> {
    stage.offer(name);
    let renders = stage.renders();
    let [(ticket, _, descends_from)] = renders.as_slice() else { panic!("one render, not {renders:?}") };
    stage.step(Event::Rendered { ticket: *ticket, outcome });
    stage.record();
    descends_from.clone()
}

#[test]
fn a_version_of_unknown_ancestry_is_not_followed_and_the_app_is_held() {
    for ancestry in [Ancestry::Unknown, Ancestry::Rewritten] {
        let mut stage = at_rest();
        offer(&mut stage, "v2", rendered(ancestry, &["a", "b"]));
        let facts = stage.status("shop").facts;
        assert_eq!(facts.accepted.as_ref().map(|accepted| accepted.sequence), Some(1), "{ancestry:?}");
        let why = facts.hold.as_ref().map(|hold| hold.why.clone());
        let expected = HoldReason::Rewritten { accepted: revision("v1"), offered: revision("v2") };
        assert_eq!(why, Some(expected), "{ancestry:?}");
        assert!(stage.recorded.iter().all(|entry| entry.kind != Kind::VersionAccepted));
    }
}

#[test]
fn a_branch_that_is_set_back_is_shown_until_it_goes_on_and_each_time() {
    let mut stage = at_rest();
    let set_back = |stage: &Stage| stage.status("shop").set_back;
    let told = |stage: &mut Stage| stage.notes().iter().any(|note| note.kind == NoteKind::Rewritten);
    for _ in 0..2 {
        offer(&mut stage, "v0", rendered(Ancestry::Older, &["a", "b"]));
        assert_eq!(set_back(&stage), Some(revision("v0")));
        assert!(told(&mut stage));
        let facts = stage.status("shop").facts;
        assert!(facts.hold.is_none() && facts.accepted.as_ref().is_some_and(|at| at.sequence == 1), "{facts:?}");
        offer(&mut stage, "v1", rendered(Ancestry::Same, &["a"]));
        assert_eq!((set_back(&stage), told(&mut stage)), (None, false));
    }
    offer(&mut stage, "v0", rendered(Ancestry::Older, &["a", "b"]));
    assert!(told(&mut stage));
    offer(&mut stage, "v1", RenderOutcome::Unchanged);
    assert_eq!(set_back(&stage), None);
    offer(&mut stage, "v0", rendered(Ancestry::Older, &["a", "b"]));
    assert!(told(&mut stage));
}

#[test]
fn what_a_person_said_is_right_counts_for_one_acceptance() {
    let mut before = Before::new();
    let facts = before.held("shop", &["a"]);
    let blessed = Some(revision("v2"));
    before.app("shop", AppFacts { blessed, ..facts }, Some(document(Mode::Auto)));
    let mut stage = before.begin();
    let descended = |names: &[&str]| rendered(Ancestry::Descendant, names);
    assert_eq!(offer(&mut stage, "v3", descended(&["a", "b"])), Some(revision("v2")));
    assert_eq!(stage.status("shop").facts.blessed, None);
    assert_eq!(offer(&mut stage, "v4", descended(&["a"])), Some(revision("v3")));
}

#[test]
fn a_version_named_for_one_store_says_nothing_about_another() {
    let [code, values] = ["platform", "values"].map(|name| StoreName::new(name).unwrap());
    let both =
        |one, other| Revision::from(BTreeMap::from([(code.clone(), version(one)), (values.clone(), version(other))]));
    let mut before = Before::new();
    let mut facts = before.held("shop", &["a"]);
    facts.accepted.as_mut().expect("it is held").revision = both("c1", "v1");
    let repository = Digest::of(b"values");
    before.controls.stores.insert(values.clone(), StoreControl { interval: Span::seconds(30), repository });
    let document = AppControl { stores: [code.clone(), values.clone()].into(), ..document(Mode::Auto) };
    before.app("shop", facts, Some(document));
    let mut stage = before.begin();
    let release = |stage: &mut Stage, id, accept| {
        stage.order(id, "shop", "it was rebased", Order::Release { accept: Some(accept) });
        stage.record();
    };
    release(&mut stage, 1, Revision::of(&code, &version("c2")));
    let polls = stage.take(|effect| match effect {
        Effect::Poll { ticket, .. } => Some(*ticket),
        _ => None,
    });
    for ticket in polls {
        stage.step(Event::Polled { ticket, head: Observed::known(version("new"), stage.now) });
    }
    let descends_from = stage.renders().pop().expect("it is rendered").2;
    assert_eq!(descends_from, Some(both("c2", "v1")));
    release(&mut stage, 2, Revision::of(&values, &version("v2")));
    assert_eq!(stage.status("shop").facts.blessed, Some(both("c2", "v2")), "both were corrected");
}

#[test]
fn a_render_that_was_asked_for_before_a_person_named_another_version_is_not_followed() {
    let late = [
        rendered(Ancestry::Same, &["a", "b"]),
        rendered(Ancestry::Rewritten, &["a", "b"]),
        RenderOutcome::Unchanged,
        RenderOutcome::Refused { problems: vec!["it is broken".to_owned()] },
    ];
    for outcome in late {
        let mut before = Before::new();
        let facts = before.held("shop", &["a"]);
        let blessed = Some(revision("v2"));
        before.app("shop", AppFacts { blessed, ..facts }, Some(document(Mode::Auto)));
        let mut stage = before.begin();
        stage.offer("v2");
        stage.order(1, "shop", "it is v3", Order::Release { accept: Some(revision("v3")) });
        stage.record();
        stage.rendered(outcome);
        stage.record();
        let facts = stage.status("shop").facts;
        assert_eq!(facts.accepted.as_ref().map(|accepted| accepted.sequence), Some(1));
        assert_eq!((&facts.blessed, &facts.hold), (&Some(revision("v3")), &None));
        let anew: Vec<_> = stage.renders().into_iter().map(|(.., descends_from)| descends_from).collect();
        assert_eq!(anew, [Some(revision("v3"))], "it is judged by what was said last");
    }
}

#[test]
fn an_app_whose_health_is_unknown_has_not_converged() {
    let mut before = Before::new();
    let facts = before.held("shop", &["a"]);
    before.app("shop", AppFacts { last_good: None, ..facts }, Some(document(Mode::Auto)));
    let mut stage = before.begin();
    let now = stage.now;
    stage.look(|name| of_health(stands(name, now), Health::Unknown));
    let status = stage.status("shop");
    assert!(!status.converged && status.facts.last_good.is_none(), "{status:?}");
    assert_eq!(status.health, Health::Unknown);
    stage.look_again();
    let status = stage.status("shop");
    assert!(status.converged && status.facts.last_good.is_some(), "{status:?}");
}

fn of_health(seen: Observed<Presence>, health: Health) -> Observed<Presence> {
    let Observed::Known { value: Presence::Present(mut live), at } = seen else { panic!("it stands there") };
    live.health = health;
    Observed::known(Presence::Present(live), at)
}

#[test]
fn an_app_without_resources_is_as_declared() {
    let mut before = Before::new();
    let accepted = Some(before.version(&app("shop"), 1, &[]));
    before.app("shop", AppFacts { accepted, ..AppFacts::new(target()) }, Some(document(Mode::Auto)));
    let mut stage = before.begin();
    stage.offer_known("v1");
    assert_eq!(stage.looks(), [], "there is nothing to look at");
    let status = stage.status("shop");
    assert!(status.converged && status.health == Health::Healthy && !status.pending, "{status:?}");
    assert!(status.facts.last_good.is_some());
    stage.wait(3_600);
    assert!(stage.notes().iter().all(|note| note.kind != NoteKind::NotConverged), "no deadline passes");
}

/// An app at a second version that stays wrong until its deadline has passed.
fn failing(there: fn(&str, Timestamp) -> Observed<Presence>) -> Stage {
    let mut before = Before::new();
    let good = before.held("shop", &["a"]);
    let accepted = Some(before.version(&app("shop"), 2, &["a", "b"]));
    before.owns(&app("shop"), &["b"]);
    let control = AppControl { on_failure: OnFailure::Rollback, ..document(Mode::Auto) };
    before.app("shop", AppFacts { accepted, ..good }, Some(control));
    let mut stage = before.begin();
    for _ in 0..21 {
        stage.offer_known("v2");
        stage.hint();
        let now = stage.now;
        stage.look(|name| there(name, now));
        stage.wait(30);
    }
    stage.record();
    stage
}

#[test]
fn an_app_that_fails_is_rolled_back_and_one_that_cannot_be_observed_is_not() {
    let is_known_of = |stage: &mut Stage| stage.notes().iter().any(|note| note.kind == NoteKind::NotConverged);
    let mut sick = failing(|name, now| of_health(stands(name, now), Health::Degraded));
    assert!(is_known_of(&mut sick));
    let hold = sick.status("shop").facts.hold.as_ref().map(|hold| hold.why.clone());
    assert_eq!(hold, Some(HoldReason::RolledBack { failed: 2 }));

    let mut blind = failing(|_, _| unseen());
    assert!(is_known_of(&mut blind));
    assert_eq!(blind.status("shop").facts.hold, None);
}
