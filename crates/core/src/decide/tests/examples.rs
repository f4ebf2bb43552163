//! Examples: one decision each, as a user would meet it.

use crate::boundary::{Boundary, Grants, Pattern};
use crate::bundle::Bundle;
use crate::check::check;
use crate::claim::{Claim, ClaimOrigin};
use crate::digest::Digest;
use crate::facts::{Change, PruneAllowance};
use crate::intent::{IntentId, Verb};
use crate::live::{Health, Live, Presence};
use crate::modes::{Cause, State};
use crate::name::{Actor, AppId, LiveVersion, TargetIdentity, Uid};
use crate::observed::{Observed, UnknownReason};
use crate::report::{RetentionReason, Why};
use crate::resource::Resource;
use crate::snapshot::{Elsewhere, Preview, Question};
use crate::time::Span;
use crate::value::Value;
use std::collections::BTreeSet;
use std::sync::Arc;

use super::world::{NOW, World, app, bundle, claim, key, live, reasons, resource, verbs};

#[test]
fn what_is_declared_and_absent_is_created_under_a_claim_without_uid() {
    let decision = World::new(&[(1, 1)]).absent(1).decide();
    assert_eq!(verbs(&decision), [(Verb::Create, Cause::Declared)]);
    assert_eq!(decision.plan.steps[0].claim.uid, None);
}

#[test]
fn what_is_in_place_is_left_alone() {
    let decision = World::new(&[(1, 1)]).converged(1, "u1", 1).decide();
    assert!(decision.is_idle() && decision.in_sync && decision.report.is_empty());
}

#[test]
fn an_unknown_state_is_never_taken_for_absent() {
    let decision = World::new(&[(1, 1)]).unknown(1).claim(2, Some("u2")).unknown(2).decide();
    assert!(decision.plan.is_empty());
    assert!(reasons(&decision).iter().all(|why| matches!(why, Why::NotSeen { .. })), "{:?}", decision.report);
    let decision = World::new(&[(1, 1)]).decide();
    assert_eq!(reasons(&decision), [Why::NotSeen { reason: UnknownReason::NotLooked }]);
}

#[test]
fn a_live_change_of_an_unmoved_declaration_is_drift_and_is_healed() {
    let decision = World::new(&[(1, 1)]).converged(1, "u1", 1).live(1, "u1", 9).decide();
    assert_eq!(verbs(&decision), [(Verb::Update, Cause::Drift)]);
    assert_eq!(decision.drifts[0].differences[0].to_string(), "content: 1 → 9");
}

#[test]
fn without_baselines_the_same_drift_is_found() {
    let mut world = World::new(&[(1, 1)]).converged(1, "u1", 1).live(1, "u1", 9);
    let with = world.decide();
    world.baselines.clear();
    world.converged_before = true;
    let without = world.decide();
    assert_eq!((with.plan, with.drifts), (without.plan, without.drifts));
}

#[test]
fn a_moved_declaration_is_a_declared_change() {
    let decision = World::new(&[(1, 2)]).converged(1, "u1", 1).decide();
    assert_eq!(verbs(&decision), [(Verb::Update, Cause::Declared)]);
}

#[test]
fn whatever_differs_in_an_app_that_is_only_observed_is_drift_and_what_does_not_is_no_news() {
    let mut world = World::new(&[(1, 1), (2, 2), (3, 3)]).live(1, "stranger", 9).live(2, "stranger", 2).absent(3);
    // An object of ours whose declaration changed is not written either.
    world = world.converged(3, "u3", 4).absent(3);
    world.states = [State::Observe].into_iter().collect();
    let decision = world.decide();
    assert!(decision.plan.is_empty() && decision.questions.is_empty() && decision.changes.is_empty());
    let told: Vec<_> = decision.drifts.iter().map(|drift| (&drift.key, drift.cause)).collect();
    assert_eq!(told, [(&key(1), Cause::Drift), (&key(3), Cause::Drift)]);
    assert_eq!(decision.drifts[0].differences[0].to_string(), "content: 1 → 9");
    let withheld: Vec<_> = decision.report.iter().map(|withheld| (&withheld.key, &withheld.why)).collect();
    let why = Why::State { state: State::Observe };
    assert_eq!(withheld, [(&key(1), &why), (&key(3), &why)]);
}

#[test]
fn something_added_beside_the_declaration_is_an_addition() {
    let mut world = World::new(&[(1, 1)]).converged(1, "u1", 1);
    let mut added = live("u1", 1);
    added.value = Arc::new(Value::map([("content", Value::int(1)), ("extra", Value::Bool(true))]));
    added.fingerprint = Live::fingerprint_of(&added.value);
    world.observation.states.insert(key(1), Observed::known(Presence::Present(added), NOW));
    assert_eq!(verbs(&world.decide()), [(Verb::Update, Cause::Addition)]);
}

#[test]
fn a_stranger_s_object_is_taken_over_only_after_a_preview() {
    let world = World::new(&[(1, 1)]).live(1, "stranger", 9);
    let decision = world.decide();
    assert!(decision.plan.is_empty());
    let (version, declared) = (LiveVersion::new("v7").unwrap(), resource(1, 1).digest());
    let question = Question::Preview { key: key(1), version: version.clone(), declared };
    assert_eq!(decision.questions, BTreeSet::from([question]));

    let mut answered = world.clone();
    answered.answers.previews.insert(key(1), Preview { version: version.clone(), declared, verdict: Ok(()) });
    let decision = answered.decide();
    assert_eq!(decision.plan.steps[0].claim.origin, ClaimOrigin::Adopted);

    let mut refused = world.clone();
    let verdict = Err("immutable".to_owned());
    refused.answers.previews.insert(key(1), Preview { version, declared, verdict });
    assert!(refused.decide().plan.is_empty());

    let mut unwilling = world;
    unwilling.rules.adopt = false;
    assert_eq!(reasons(&unwilling.decide()), [Why::NotOurs]);
}

#[test]
fn an_equal_object_is_adopted_without_a_write() {
    let decision = World::new(&[(1, 1)]).live(1, "stranger", 1).decide();
    assert!(decision.plan.is_empty() && decision.in_sync);
    let Change::PutClaim { claim, from: None } = &decision.changes[0] else { panic!("{:?}", decision.changes) };
    assert_eq!((claim.origin, claim.uid.as_ref().map(Uid::as_str)), (ClaimOrigin::Adopted, Some("stranger")));
}

#[test]
fn what_a_person_said_was_made_is_ours_without_adoption() {
    let mut world = World::new(&[(1, 1)]).claim(1, None).live(1, "u1", 1);
    world.rules.adopt = false;
    let decision = world.decide();
    assert!(decision.plan.is_empty() && decision.report.is_empty(), "{:?}", decision.report);
    let learned = Claim { uid: Some(Uid::new("u1").unwrap()), ..claim(1, None) };
    assert_eq!(decision.changes, [Change::PutClaim { claim: Arc::new(learned), from: None }]);
}

#[test]
fn what_is_no_longer_declared_is_deleted_only_after_a_fresh_render() {
    let world = World::new(&[(1, 1)]).converged(1, "u1", 1).claim(2, Some("u2")).live(2, "u2", 1);
    let decision = world.decide();
    assert_eq!(reasons(&decision), [Why::RetentionReason(RetentionReason::FreshRenderPending)]);
    assert_eq!(decision.questions, BTreeSet::from([Question::FreshRender { bundle: world.bundle.digest() }]));
    let decision = world.clone().rendered_afresh().decide();
    assert_eq!(verbs(&decision), [(Verb::Delete, Cause::Prune)]);
    assert!(decision.plan.steps[0].claim.tombstone);
    let mut differs = world.rendered_afresh();
    differs.answers.fresh_render.as_mut().unwrap().rendered = Digest::of(b"other");
    assert_eq!(reasons(&differs.decide()), [Why::RetentionReason(RetentionReason::FreshRenderDiffers)]);
}

#[test]
fn another_incarnation_under_our_key_is_let_go_and_not_deleted() {
    let world = World::new(&[(1, 1)]).converged(1, "u1", 1).claim(2, Some("u2")).live(2, "someone-else", 1);
    let decision = world.rendered_afresh().decide();
    assert!(decision.plan.is_empty());
    assert!(matches!(&decision.changes[..], [Change::DropClaim { key: dropped, .. }] if *dropped == key(2)));
}

#[test]
fn a_tombstone_stays_until_absence_is_seen() {
    let mut world = World::new(&[(1, 1)]).converged(1, "u1", 1).claim(2, Some("u2")).live(2, "u2", 1).rendered_afresh();
    world.claimed(2).tombstone = true;
    world.budget.spent = 1;
    assert_eq!(verbs(&world.decide()), [(Verb::Delete, Cause::Prune)], "its delete was paid for");
    assert!(matches!(&world.absent(2).decide().changes[..], [Change::DropClaim { .. }]));
}

/// Each guard alone retains an object that everything else would delete.
#[test]
fn every_guard_keeps_on_its_own() {
    type Guard = (fn(&mut World), fn(&Why) -> bool);
    let guards: [Guard; 14] = [
        (|w| w.unconsidered = Some(app()), |why| *why == Why::RetentionReason(RetentionReason::OthersNotConsidered)),
        (|w| w.rules.prune = false, |why| *why == Why::RetentionReason(RetentionReason::PruneOff)),
        (|w| w.bundle = bundle(&[]), |why| *why == Why::RetentionReason(RetentionReason::EmptyBundle)),
        (|w| *w = w.clone().unknown(3), |why| *why == Why::RetentionReason(RetentionReason::IncompleteObservation)),
        (
            |w| w.observation.at = NOW - Span::seconds(61),
            |why| *why == Why::RetentionReason(RetentionReason::OldObservation),
        ),
        (
            |w| w.target.quarantine_until = NOW + Span::seconds(1),
            |why| *why == Why::RetentionReason(RetentionReason::Quarantine { until: NOW + Span::seconds(1) }),
        ),
        (|w| w.target.breaker_open = true, |why| *why == Why::RetentionReason(RetentionReason::BreakerOpen)),
        (|w| *w = w.clone().absent(1), |why| *why == Why::RetentionReason(RetentionReason::OtherChangesFirst)),
        (|w| w.claimed(2).origin = ClaimOrigin::Adopted, |why| *why == Why::RetentionReason(RetentionReason::Adopted)),
        (
            |w| w.claimed(2).origin = ClaimOrigin::Recovered,
            |why| *why == Why::RetentionReason(RetentionReason::Recovered),
        ),
        (|w| w.claimed(2).protected = true, |why| *why == Why::RetentionReason(RetentionReason::Protected)),
        (|w| w.budget.spent = 1, |why| matches!(why, Why::RetentionReason(RetentionReason::OverBudget { .. }))),
        (
            |w| w.budget.fleet_spent = 10,
            |why| matches!(why, Why::RetentionReason(RetentionReason::OverFleetBudget { .. })),
        ),
        (|w| w.states = w.states.with(State::StoreStale), |why| *why == Why::State { state: State::StoreStale }),
    ];
    let ready = World::new(&[(1, 1)]).converged(1, "u1", 1).claim(2, Some("u2")).live(2, "u2", 1).rendered_afresh();
    assert_eq!(ready.decide().plan.deletes(), 1);
    for (n, (spoil, expected)) in guards.into_iter().enumerate() {
        let mut world = ready.clone();
        spoil(&mut world);
        let decision = world.decide();
        assert_eq!(decision.plan.deletes(), 0, "guard {n}");
        assert!(reasons(&decision).iter().any(expected), "guard {n}: {:?}", decision.report);
    }
}

#[test]
fn what_is_outside_of_the_scope_is_seen_and_not_touched() {
    let within = |classes: &[&str]| {
        let classes = classes.iter().map(|class| ((*class).into(), vec![Pattern::any()])).collect();
        Boundary::Within(Arc::new(Grants { scope: app().scope, namespaces: Vec::new(), classes }))
    };
    let worlds = [
        World::new(&[(1, 1)]).absent(1),
        World::new(&[(1, 1)]).converged(1, "u1", 1).live(1, "u1", 9),
        World::new(&[(1, 1)]).live(1, "stranger", 1),
        World::new(&[(1, 1)]).converged(1, "u1", 1).claim(2, Some("u2")).live(2, "u2", 1).rendered_afresh(),
    ];
    for mut world in worlds {
        world.rules.boundary = within(&[key(1).class()]);
        let inside = world.decide();
        assert!(!inside.is_idle(), "{inside:?}");
        world.rules.boundary = within(&[]);
        let outside = world.decide();
        assert!(outside.is_idle(), "{outside:?}");
        assert!(matches!(reasons(&outside)[..], [Why::OutsideScope(_)]), "{:?}", outside.report);
        assert_eq!(outside.drifts, inside.drifts, "what is seen is told");
        let broken = check(&inside.plan, &world.view(&app()), NOW);
        assert_eq!(broken.is_empty(), inside.plan.is_empty(), "the linter goes by it too");
    }
}

#[test]
fn what_runs_once_and_ended_is_not_made_again_until_another_declaration_says_so() {
    let ended = |world: World, health: Health| {
        let mut world = world;
        let mut done = live("u1", 1);
        (done.ended, done.health) = (true, health);
        world.observation.states.insert(key(1), Observed::known(Presence::Present(done), NOW));
        world
    };
    for (health, later) in [(Health::Healthy, Health::Healthy), (Health::Degraded, Health::Degraded)] {
        let seen = ended(World::new(&[(1, 1)]).converged(1, "u1", 1), health).decide();
        let [Change::PutClaim { claim, from: None }] = &seen.changes[..] else { panic!("{:?}", seen.changes) };
        let mut gone = World::new(&[(1, 1)]).converged(1, "u1", 1).absent(1);
        gone.claims.insert(key(1), claim.clone());
        let decision = gone.decide();
        assert!(decision.is_idle() && decision.in_sync && decision.drifts.is_empty(), "{decision:?}");
        assert_eq!(decision.health, later, "that it failed is not forgotten");
        gone.baselines.clear();
        assert!(gone.decide().is_idle(), "nor is anything needed that a restart forgets");

        let mut changed = World::new(&[(1, 2)]).absent(1);
        changed.claims.insert(key(1), claim.clone());
        assert_eq!(verbs(&changed.decide()), [(Verb::Create, Cause::Declared)]);
    }
    let unfinished = World::new(&[(1, 1)]).converged(1, "u1", 1).absent(1).decide();
    assert_eq!(verbs(&unfinished), [(Verb::Create, Cause::Drift)], "what was deleted before it ended is made again");
}

#[test]
fn what_runs_once_is_not_made_again_though_nobody_saw_it_end() {
    let once = |content: u8| Resource { once: true, ..resource(1, content) };
    let declaring = |content: u8, world: World| {
        let bundle = Bundle::new(app(), TargetIdentity::new("host-1").unwrap(), vec![once(content)]).unwrap();
        World { bundle, ..world }
    };
    // A create is remembered from the intent on.
    let first = declaring(1, World::new(&[]).absent(1)).decide();
    assert_eq!(verbs(&first), [(Verb::Create, Cause::Declared)]);
    let made = first.plan.steps[0].claim.clone();
    assert_eq!(made.made.as_deref(), Some(&once(1).digest()));
    // So is an object that was found in place.
    let seen = declaring(1, World::new(&[]).claim(1, Some("u1")).live(1, "u1", 1)).decide();
    let [Change::PutClaim { claim: adopted, from: None }] = &seen.changes[..] else { panic!("{:?}", seen.changes) };
    assert_eq!(adopted.made, made.made);
    let known = Claim { uid: Some(Uid::new("u1").unwrap()), ..made.clone() };
    // A claim without a UID belongs to a create that a person confirmed.
    for claim in [known.clone(), made] {
        let mut world = declaring(1, World::new(&[]).absent(1));
        world.claims.insert(key(1), Arc::new(claim));
        let gone = world.decide();
        assert!(gone.plan.is_empty() && gone.drifts.is_empty() && gone.in_sync, "{gone:?}");
        assert_eq!(reasons(&gone), [Why::NotSeenToEnd]);
        assert_eq!(gone.health, Health::Healthy);
        let [Change::PutClaim { claim, from: None }] = &gone.changes[..] else { panic!("{:?}", gone.changes) };
        world.claims.insert(key(1), Arc::clone(claim));
        let later = world.decide();
        assert!(later.is_idle() && reasons(&later) == [Why::NotSeenToEnd], "{later:?}");
        let mut changed = declaring(2, World::new(&[]).absent(1));
        changed.claims.insert(key(1), Arc::clone(claim));
        assert_eq!(verbs(&changed.decide()), [(Verb::Create, Cause::Declared)]);
    }
    // An object that we deleted ourselves has to be created again; one that cannot be observed is
    // not gone.
    let mut deleted = declaring(1, World::new(&[]).absent(1));
    deleted.claims.insert(key(1), Arc::new(Claim { tombstone: true, ..known.clone() }));
    assert_eq!(verbs(&deleted.decide()), [(Verb::Create, Cause::Declared)]);
    let mut lagging = declaring(1, World::new(&[]).absent(1));
    lagging.target.fresh_reads = false;
    lagging.claims.insert(key(1), Arc::new(known));
    let decision = lagging.decide();
    assert!(decision.plan.is_empty() && decision.changes.is_empty(), "{decision:?}");
}

#[test]
fn a_person_s_leave_allows_more_than_the_budget_for_its_bundle_only() {
    let mut world = World::new(&[(1, 1)]).converged(1, "u1", 1).rendered_afresh();
    for n in 2..6 {
        world = world.claim(n, Some("u")).live(n, "u", 1);
    }
    assert_eq!(world.decide().plan.deletes(), 1);
    let by = Actor::new("ada").unwrap();
    let leave = PruneAllowance { left: 3, bundle: world.bundle.digest(), by, reason: "moved".into() };
    world.budget.allowance = Some(leave.clone());
    assert_eq!(world.decide().plan.deletes(), 4);
    world.budget.allowance = Some(PruneAllowance { bundle: Digest::of(b"older"), ..leave });
    assert_eq!(world.decide().plan.deletes(), 1);
}

#[test]
fn a_resource_moves_between_apps_without_a_delete() {
    let other: AppId = "web/old".parse().unwrap();
    let theirs = Claim { app: other.clone(), ..claim(1, Some("u1")) };
    let mut taker = World::new(&[(1, 1)]).live(1, "u1", 1);
    let elsewhere = Elsewhere { app: other.clone(), claim: Some(Arc::new(theirs)), declares: false };
    taker.elsewhere.insert(key(1), elsewhere.clone());
    let decision = taker.decide();
    let [Change::PutClaim { claim, from }] = &decision.changes[..] else { panic!("{:?}", decision.changes) };
    assert_eq!((claim.origin, from), (ClaimOrigin::Created, &Some(other.clone())));

    taker.elsewhere.insert(key(1), Elsewhere { declares: true, ..elsewhere });
    assert_eq!(reasons(&taker.decide()), [Why::OwnedByOther { app: other.clone() }]);

    let mut giver = World::new(&[(1, 1)]).converged(1, "u1", 1).converged(2, "u2", 1).rendered_afresh();
    giver.elsewhere.insert(key(2), Elsewhere { app: other.clone(), claim: None, declares: true });
    let decision = giver.decide();
    assert_eq!((decision.plan.deletes(), reasons(&decision)), (0, vec![Why::HandOver { app: other }]));
}

#[test]
fn an_app_without_a_document_takes_nothing_over() {
    let other: AppId = "web/old".parse().unwrap();
    let theirs = Claim { app: other.clone(), ..claim(1, Some("u1")) };
    let elsewhere = Elsewhere { app: other, claim: Some(Arc::new(theirs)), declares: false };
    for state in [State::Frozen, State::TargetMoved, State::TargetUnknown] {
        let mut equal = World::new(&[(1, 1)]).live(1, "u1", 1);
        let mut gone = World::new(&[(1, 1)]).absent(1);
        for world in [&mut equal, &mut gone] {
            world.states = [state].into_iter().collect();
            world.elsewhere.insert(key(1), elsewhere.clone());
            let decision = world.decide();
            assert_eq!(reasons(&decision), [Why::State { state }]);
            assert!(decision.plan.is_empty() && decision.changes.is_empty() && !decision.in_sync, "{decision:?}");
        }
    }
}

#[test]
fn a_target_that_may_lag_is_believed_about_absence_only_after_a_while() {
    let mut world = World::new(&[(1, 1)]).converged(1, "u1", 1).absent(1).claim(2, Some("u2")).absent(2);
    world.target.fresh_reads = false;
    for since in [None, Some(NOW - Span::seconds(60))] {
        world.missing_since.extend(since.map(|since| (key(1), since)));
        world.missing_since.extend(since.map(|since| (key(2), since)));
        let decision = world.decide();
        assert_eq!(reasons(&decision), [Why::PerhapsGone, Why::PerhapsGone]);
        assert!(decision.plan.is_empty() && decision.changes.is_empty());
    }
    world.missing_since = [1, 2].map(|n| (key(n), NOW - Span::seconds(61))).into();
    let decision = world.decide();
    assert_eq!((verbs(&decision), decision.changes.len()), (vec![(Verb::Create, Cause::Drift)], 1));
}

#[test]
fn an_open_intent_is_settled_before_anything_else() {
    let mut world = World::new(&[(1, 1)]).absent(1);
    let intent = IntentId { epoch: 1, number: 1 };
    world.open_intents.insert(key(1), intent);
    let decision = world.decide();
    assert!(decision.plan.is_empty());
    assert_eq!(decision.questions, BTreeSet::from([Question::Settle { intent }]));
}

#[test]
fn dependents_wait_for_what_is_not_in_place() {
    let mut world = World::new(&[]).absent(2).absent(3).unknown(1);
    let after = |n: u8, before: u8| Resource { after: BTreeSet::from([key(before)]), ..resource(n, 1) };
    let resources = vec![resource(1, 1), after(2, 1), resource(3, 1)];
    world.bundle = Bundle::new(app(), world.target.identity.clone(), resources).unwrap();
    let decision = world.decide();
    assert_eq!(decision.plan.steps.iter().map(|step| step.key.clone()).collect::<Vec<_>>(), [key(3)]);
    assert!(reasons(&decision).contains(&Why::DependencyNotReady { key: key(1) }));
}

#[test]
fn retiring_deletes_what_we_made_and_lets_go_of_what_was_there_before() {
    let mut world = World::new(&[(1, 1), (2, 1)]).converged(1, "u1", 1).converged(2, "u2", 1);
    world.retiring = true;
    world.claimed(2).origin = ClaimOrigin::Adopted;
    let decision = world.decide();
    assert_eq!(verbs(&decision), [(Verb::Delete, Cause::Retire)]);
    assert!(matches!(&decision.changes[..], [Change::DropClaim { key: dropped, .. }] if *dropped == key(2)));
}

#[test]
fn a_delete_that_was_accepted_is_awaited_and_not_repeated() {
    let mut world = World::new(&[(1, 1)]).converged(1, "u1", 1).claim(2, Some("u2")).live(2, "u2", 1).rendered_afresh();
    assert_eq!(world.decide().plan.deletes(), 1);
    let again = world.decide().plan;
    let finalizers: Arc<[Arc<str>]> = ["example.com/backup".into()].into();
    let deleting = Live { deleting: Some(finalizers.clone()), ..live("u2", 1) };
    world.observation.states.insert(key(2), Observed::known(Presence::Present(deleting), NOW));
    // Also if another program deleted it, so that no budget paid for the delete.
    for tombstone in [true, false] {
        world.claimed(2).tombstone = tombstone;
        let decision = world.decide();
        assert!(decision.is_idle() && decision.changes.is_empty());
        let [why] = &reasons(&decision)[..] else { panic!("{:?}", decision.report) };
        assert_eq!(*why, Why::Deleting { finalizers: finalizers.clone() });
        assert!(why.to_string().contains("until its finalizers are removed: example.com/backup"), "{why}");
    }
    // Nor does the check let it through.
    let (app, world) = world.snapshot();
    assert!(!check(&again, &world.view(&app), NOW).is_empty());
}

#[test]
fn what_a_kept_object_was_made_after_is_kept_too() {
    let mut world = World::new(&[(1, 1)]).converged(1, "u1", 1).claim(2, Some("u2")).live(2, "u2", 1).rendered_afresh();
    world = world.claim(3, Some("u3")).live(3, "u3", 1);
    world.claimed(3).rank = 1;
    world.budget.owned = 100;
    assert_eq!(world.decide().plan.deletes(), 2);
    world.backs_off(key(3), NOW + Span::seconds(9));
    let decision = world.decide();
    assert_eq!(decision.plan.deletes(), 0, "its dependent is still there");
    assert!(reasons(&decision).contains(&Why::RetentionReason(RetentionReason::DependentStands)));
}

#[test]
fn retiring_lets_go_of_what_was_there_before_whatever_a_person_allowed() {
    let mut world = World::new(&[(1, 1)]).converged(1, "u1", 1);
    world.retiring = true;
    world.claimed(1).origin = ClaimOrigin::Adopted;
    let (by, bundle) = (Actor::new("ada").unwrap(), world.bundle.digest());
    world.budget.allowance = Some(PruneAllowance { left: 5, bundle, by, reason: "other things".into() });
    assert_eq!(world.decide().plan.deletes(), 0);
}
