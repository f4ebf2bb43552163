//! Immutable changes: which apps may replace an object, and what must be known before.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::bundle::Bundle;
use crate::canonical;
use crate::check::{Rule, check};
use crate::claim::ClaimOrigin;
use crate::decide::decide;
use crate::diff::diff;
use crate::facts::PruneAllowance;
use crate::intent::Verb;
use crate::live::{Baseline, Health, Presence};
use crate::modes::{Cause, State, States};
use crate::name::{Actor, AppId, LiveVersion, TargetIdentity, Uid};
use crate::observed::Observed;
use crate::report::{RetentionReason, Why};
use crate::resource::Resource;
use crate::snapshot::{Elsewhere, Immutable, Question, Replacement};
use crate::time::Span;

use super::world::{NOW, World, app, body, claim, key, live, reasons, resource, verbs};

fn replaceable(n: u8, content: u8) -> Resource {
    Resource { replace: true, ..resource(n, content) }
}

/// An object of ours, created with content 1 and declared with 2, which the target refused as
/// immutable.
fn stuck(resources: Vec<Resource>) -> World {
    let mut world = World::new(&[]);
    for resource in &resources {
        let n = resource.key.name().trim_start_matches("/k").parse().unwrap();
        world = world.converged(n, &format!("u{n}"), 1);
        world.answers.immutable.insert(resource.key.clone(), refused(resource, &format!("u{n}")));
    }
    world.bundle = Bundle::new(app(), TargetIdentity::new("host-1").unwrap(), resources).unwrap();
    world
}

fn refused(resource: &Resource, uid: &str) -> Immutable {
    let differences = canonical::digest_of(&diff(&resource.body, &body(1)));
    let problem = "spec.selector cannot be changed".to_owned();
    Immutable { uid: Uid::new(uid).unwrap(), declared: resource.digest(), differences, problem }
}

fn proven(mut world: World, resource: &Resource, uid: &str) -> World {
    let (uid, version) = (Uid::new(uid).unwrap(), LiveVersion::new("v7").unwrap());
    let answer = Replacement { uid, version, declared: resource.digest(), at: NOW, verdict: Ok(()) };
    world.answers.replacements.insert(resource.key.clone(), answer);
    world
}

/// Stuck, allowed and proven: all that is needed for a replacement.
fn ready() -> World {
    let resource = replaceable(1, 2);
    proven(stuck(vec![resource.clone()]), &resource, "u1")
}

#[test]
fn what_cannot_be_changed_is_deleted_only_once_the_target_would_take_the_new_one() {
    let resource = replaceable(1, 2);
    let world = stuck(vec![resource.clone()]);
    let decision = world.decide();
    assert!(decision.plan.is_empty());
    assert_eq!(reasons(&decision), [Why::ReplacementPending]);
    let (uid, version, declared) = (Uid::new("u1").unwrap(), LiveVersion::new("v7").unwrap(), resource.digest());
    assert_eq!(decision.questions, BTreeSet::from([Question::Replace { key: key(1), uid, version, declared }]));

    let decision = proven(world, &resource, "u1").decide();
    assert_eq!(verbs(&decision), [(Verb::Delete, Cause::Replace)]);
    let step = &decision.plan.steps[0];
    assert_eq!(step.claim, claim(1, Some("u1")), "it costs like any other should it be pruned instead");
    assert_eq!(step.expect.as_ref().unwrap().uid.as_str(), "u1");
    assert_eq!(step.expect.as_ref().unwrap().version.as_ref().unwrap().as_str(), "v7");
}

#[test]
fn what_was_deleted_to_be_made_anew_is_made_as_ours() {
    let mut world = ready();
    world.claims = world.decide().plan.steps.into_iter().map(|step| (step.key, Arc::new(step.claim))).collect();
    world.baselines.clear();
    let decision = world.absent(1).decide();
    assert_eq!(verbs(&decision), [(Verb::Create, Cause::Declared)]);
    let claim = &decision.plan.steps[0].claim;
    assert_eq!((claim.origin, claim.tombstone, &claim.uid), (ClaimOrigin::Created, false, &None));
    assert_eq!(claim.made.as_deref(), Some(&replaceable(1, 2).digest()));
}

#[test]
fn what_was_made_as_declared_is_not_made_anew_for_the_same_declaration_by_any_later_process() {
    let mut world = ready();
    world.claimed(1).made = Some(Box::new(replaceable(1, 2).digest()));
    world.baselines.clear();
    let tried = world.decide();
    assert_eq!(verbs(&tried), [(Verb::Update, Cause::Declared)]);
    let until = NOW + Span::seconds(5);
    world.backs_off(key(1), until);
    let problem = "spec.selector cannot be changed".to_owned();
    assert_eq!(reasons(&world.decide()), [Why::Immutable { problem, until }]);
    assert!(tried.plan.steps[0].claim.made.is_some(), "trying to update it does not forget that");
    world.claimed(1).made = Some(Box::new(replaceable(1, 1).digest()));
    world.backing_off.clear();
    assert_eq!(verbs(&world.decide()), [(Verb::Delete, Cause::Replace)]);
    world.answers.immutable.clear();
    let another = world.decide();
    assert_eq!(verbs(&another), [(Verb::Update, Cause::Declared)]);
    assert_eq!(
        another.plan.steps[0].claim.made, None,
        "and what is declared otherwise may be made anew when that is taken back"
    );
}

#[test]
fn an_answer_holds_for_its_object_as_it_was_its_declaration_and_a_minute() {
    type Spoil = fn(&mut Replacement);
    let spoils: [Spoil; 5] = [
        |answer| answer.uid = Uid::new("u9").unwrap(),
        |answer| answer.version = LiveVersion::new("v6").unwrap(),
        |answer| answer.declared = resource(1, 9).digest(),
        |answer| answer.at = NOW - Span::seconds(61),
        |answer| answer.verdict = Err("denied".to_owned()),
    ];
    for spoil in spoils {
        let mut world = ready();
        spoil(world.answers.replacements.get_mut(&key(1)).unwrap());
        assert_eq!(reasons(&world.decide()), [Why::ReplacementPending]);
    }
}

#[test]
fn where_it_is_not_allowed_the_report_says_what_to_write_and_it_is_tried_again_later() {
    let plain = resource(1, 2);
    let mut world = proven(stuck(vec![plain.clone()]), &plain, "u1");
    assert_eq!(verbs(&world.decide()), [(Verb::Update, Cause::Declared)]);
    let until = NOW + Span::seconds(5);
    world.backs_off(key(1), until);
    let told = reasons(&world.decide());
    let problem = "spec.selector cannot be changed".to_owned();
    assert_eq!(told, [Why::ReplaceNotAllowed { problem, until }]);
    assert!(told[0].to_string().ends_with("name it in `sync.replace`"));
}

#[test]
fn nobody_is_told_to_allow_what_would_not_be_done() {
    let until = NOW + Span::seconds(5);
    let immutable = Why::Immutable { problem: "spec.selector cannot be changed".to_owned(), until };
    let protected = Resource { protected: true, ..resource(1, 2) };
    let mut world = stuck(vec![protected]);
    world.backs_off(key(1), until);
    assert_eq!(reasons(&world.decide()), std::slice::from_ref(&immutable));

    let mut drifted = was_in_place();
    drifted.backs_off(key(1), until);
    assert_eq!(reasons(&drifted.decide()), [immutable]);
}

#[test]
fn a_refused_replacement_is_told_while_it_waits() {
    let mut world = ready();
    world.answers.replacements.get_mut(&key(1)).unwrap().verdict = Err("a policy forbids it".to_owned());
    let until = NOW + Span::seconds(5);
    world.backs_off(key(1), until);
    let problem = "a policy forbids it".to_owned();
    assert_eq!(reasons(&world.decide()), [Why::ReplacementRefused { problem, until }]);
}

#[test]
fn what_was_refused_is_tried_first_where_anything_is_not_as_it_was_then() {
    type Move = fn(&mut World);
    let moves: [Move; 3] = [
        |world| world.answers.immutable.get_mut(&key(1)).unwrap().declared = resource(1, 9).digest(),
        |world| {
            world.observation.states.insert(key(1), Observed::known(Presence::Present(live("u1", 7)), NOW));
        },
        |world| world.answers.immutable.clear(),
    ];
    for change in moves {
        let mut world = ready();
        change(&mut world);
        assert_eq!(verbs(&world.decide()), [(Verb::Update, Cause::Declared)]);
    }
}

#[test]
fn every_guard_of_a_delete_keeps_it() {
    let kept = |change: fn(&mut World)| {
        let mut world = ready();
        change(&mut world);
        let decision = world.decide();
        assert!(decision.plan.is_empty(), "{:?}", decision.plan);
        decision.report.into_iter().find(|withheld| withheld.key == key(1)).map(|withheld| withheld.why)
    };
    let guard = |kept| Some(Why::RetentionReason(kept));
    assert_eq!(kept(|world| world.target.breaker_open = true), guard(RetentionReason::BreakerOpen));
    assert_eq!(kept(|world| world.observation.at = NOW - Span::seconds(61)), guard(RetentionReason::OldObservation));
    let quarantine = kept(|world| world.target.quarantine_until = NOW + Span::seconds(9));
    assert_eq!(quarantine, guard(RetentionReason::Quarantine { until: NOW + Span::seconds(9) }));
    assert_eq!(kept(|world| world.claimed(1).protected = true), guard(RetentionReason::Protected));
    let recovered = kept(|world| world.claimed(1).origin = ClaimOrigin::Recovered);
    assert_eq!(recovered, guard(RetentionReason::Recovered));
    let adopted = kept(|world| world.claimed(1).origin = ClaimOrigin::Adopted);
    assert_eq!(adopted, guard(RetentionReason::Adopted));
    let controlled = kept(|world| {
        let live = crate::live::Live { controlled: true, ..live("u1", 1) };
        world.observation.states.insert(key(1), Observed::known(Presence::Present(live), NOW));
    });
    assert_eq!(controlled, guard(RetentionReason::Controlled));
    let unseen = kept(|world| *world = world.clone().claim(2, Some("u2")).unknown(2));
    assert_eq!(unseen, guard(RetentionReason::IncompleteObservation));
    let held = kept(|world| world.states = States::with(world.states, State::Held));
    assert_eq!(held, Some(Why::State { state: State::Held }));
}

#[test]
fn what_was_there_before_us_is_made_anew_with_a_person_s_leave() {
    let mut world = ready();
    world.claimed(1).origin = ClaimOrigin::Adopted;
    let (bundle, by) = (world.bundle.digest(), Actor::new("ada").unwrap());
    world.budget.allowance = Some(PruneAllowance { left: 1, bundle, by, reason: "moved".into() });
    assert_eq!(verbs(&world.decide()), [(Verb::Delete, Cause::Replace)]);
}

#[test]
fn one_is_made_anew_at_a_time_and_after_everything_else() {
    let (one, two) = (replaceable(1, 2), replaceable(2, 2));
    let both = proven(proven(stuck(vec![one.clone(), two.clone()]), &one, "u1"), &two, "u2");
    let decision = both.decide();
    assert_eq!(verbs(&decision), [(Verb::Delete, Cause::Replace)]);
    assert_eq!(reasons(&decision), [Why::DependencyNotReady { key: key(1) }]);

    let resources = vec![one.clone(), resource(3, 1)];
    let mut beside = proven(stuck(vec![one.clone()]), &one, "u1");
    beside.bundle = Bundle::new(app(), TargetIdentity::new("host-1").unwrap(), resources).unwrap();
    let beside = beside.absent(3);
    assert_eq!(verbs(&beside.decide()), [(Verb::Create, Cause::Declared)]);
    let mut failing = beside;
    failing.backs_off(key(3), NOW + Span::seconds(5));
    assert!(failing.decide().plan.is_empty(), "nothing goes while something declared is missing");
}

#[test]
fn what_comes_after_it_waits_for_it_and_it_does_not_wait_for_that() {
    let one = replaceable(1, 2);
    let new = Resource { after: [key(1)].into(), ..resource(2, 1) };
    let last = Resource { after: [key(2)].into(), ..resource(3, 1) };
    let mut world = proven(stuck(vec![one.clone()]), &one, "u1");
    world.bundle = Bundle::new(app(), TargetIdentity::new("host-1").unwrap(), vec![one, new, last]).unwrap();
    let decision = world.absent(2).absent(3).decide();
    assert_eq!(verbs(&decision), [(Verb::Delete, Cause::Replace)]);
    let waits = |n| Why::DependencyNotReady { key: key(n) };
    assert_eq!(reasons(&decision), [waits(1), waits(2)]);
}

#[test]
fn a_later_wave_waits_for_it_and_it_waits_for_an_earlier_one() {
    let one = Resource { wave: 1, ..replaceable(1, 2) };
    let with = |other: Resource| {
        let mut world = proven(stuck(vec![one.clone()]), &one, "u1");
        world.bundle = Bundle::new(app(), TargetIdentity::new("host-1").unwrap(), vec![one.clone(), other]).unwrap();
        world
    };
    let later = with(Resource { wave: 2, ..resource(2, 1) }).absent(2).decide();
    assert_eq!(verbs(&later), [(Verb::Delete, Cause::Replace)]);
    assert_eq!(reasons(&later), [Why::EarlierWave { wave: 1, key: key(1) }]);
    let mut earlier = with(resource(2, 1)).converged(2, "u2", 1);
    assert_eq!(verbs(&earlier.decide()), [(Verb::Delete, Cause::Replace)]);
    let Some(Observed::Known { value: Presence::Present(live), .. }) = earlier.observation.states.get_mut(&key(2))
    else {
        panic!("it is there");
    };
    live.health = Health::Progressing;
    assert!(earlier.decide().plan.is_empty(), "else nothing would stand there until the earlier wave is well");
}

#[test]
fn what_another_app_declares_too_is_not_made_anew() {
    let mut world = ready();
    let other: AppId = "web/other".parse().unwrap();
    world.elsewhere.insert(key(1), Elsewhere { app: other.clone(), claim: None, declares: true });
    let decision = world.decide();
    assert!(decision.plan.is_empty());
    assert_eq!(reasons(&decision), [Why::DeclaredElsewhere { app: other }]);
}

#[test]
fn what_was_in_place_as_declared_is_not_made_anew_over_and_over() {
    assert_eq!(verbs(&was_in_place().decide()), [(Verb::Update, Cause::Drift)]);
}

/// Ready, except that another writer changed the object after it was in place.
fn was_in_place() -> World {
    let mut world = ready();
    let fingerprint = crate::live::Live::fingerprint_of(&body(2));
    world.baselines.insert(key(1), Baseline { declared: replaceable(1, 2).digest(), fingerprint });
    world
}

#[test]
fn the_linter_finds_a_replacement_that_is_not_proven() {
    let sound = ready();
    let app = app();
    let plan = decide(&sound.view(&app), NOW).plan;
    let broken = |change: fn(&mut World)| {
        let mut world = sound.clone();
        change(&mut world);
        let rules = check(&plan, &world.view(&app), NOW);
        rules.into_iter().map(|violation| violation.rule).collect::<Vec<_>>()
    };
    assert_eq!(broken(|_| {}), []);
    assert_eq!(broken(|world| world.answers.immutable.clear()), [Rule::ReplaceIsProven]);
    assert_eq!(broken(|world| world.answers.replacements.clear()), [Rule::ReplaceIsProven]);
    let refused = broken(|world| world.answers.replacements.get_mut(&key(1)).unwrap().verdict = Err(String::new()));
    assert_eq!(refused, [Rule::ReplaceIsProven]);
    let moved = broken(|world| {
        world.answers.replacements.get_mut(&key(1)).unwrap().version = LiveVersion::new("v6").unwrap();
    });
    assert_eq!(moved, [Rule::ReplaceIsProven]);
    let old = broken(|world| world.answers.replacements.get_mut(&key(1)).unwrap().at = NOW - Span::seconds(61));
    assert_eq!(old, [Rule::ReplaceIsProven]);
    let protected = broken(|world| world.claimed(1).protected = true);
    assert!(protected.contains(&Rule::ReplaceIsProven), "{protected:?}");
    let again = broken(|world| {
        world.claimed(1).made = Some(Box::new(replaceable(1, 2).digest()));
    });
    assert_eq!(again, [Rule::ReplaceIsProven]);
    let mut forbidden = plan.clone();
    let plain = stuck(vec![resource(1, 2)]);
    forbidden.bundle = plain.bundle.digest();
    let rules = check(&forbidden, &plain.view(&app), NOW);
    assert!(rules.iter().any(|violation| violation.rule == Rule::ReplaceIsProven), "{rules:?}");
}
