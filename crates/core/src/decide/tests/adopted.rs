//! Objects that other tools created and hold: adopted by a write, and then folded once.

use super::world::{NOW, World, app, key, live, reasons, resource, verbs};
use crate::check::{Rule, check};
use crate::claim::ClaimOrigin;
use crate::intent::Verb;
use crate::live::{Holder, Holders, Live, Presence};
use crate::modes::{Cause, State};
use crate::name::LiveVersion;
use crate::observed::Observed;
use crate::report::Why;
use crate::snapshot::{Preview, Question};

fn holders() -> Holders {
    Holders(vec![Holder { name: "kubectl".into(), kept: vec!["note".into()] }])
}

fn folding() -> Option<Box<Holders>> {
    Some(Box::new(holders()))
}

/// An object that we have not written, with the tools that declared it.
fn held_by(mut world: World, uid: &str, content: u8, holders: Holders) -> World {
    let live = Live { holders: Some(Box::new(holders)), ..live(uid, content) };
    world.observation.states.insert(key(1), Observed::known(Presence::Present(live), NOW));
    world
}

/// The target would accept the declaration.
fn acceptable(mut world: World) -> World {
    let (version, declared) = (LiveVersion::new("v7").unwrap(), resource(1, 1).digest());
    world.answers.previews.insert(key(1), Preview { version, declared, verdict: Ok(()) });
    world
}

/// An object of ours whose former holders have not given up its fields yet.
fn pending() -> World {
    let mut world = World::new(&[(1, 1)]).converged(1, "u1", 1);
    world.claimed(1).folding = folding();
    world
}

#[test]
fn an_equal_object_that_others_declared_is_taken_over_by_a_write_after_a_preview() {
    for content in [1, 9] {
        let world = held_by(World::new(&[(1, 1)]), "stranger", content, holders());
        let decision = world.decide();
        assert!(decision.plan.is_empty() && !decision.in_sync);
        let (version, declared) = (LiveVersion::new("v7").unwrap(), resource(1, 1).digest());
        let question = Question::Preview { key: key(1), version, declared };
        assert_eq!(decision.questions, [question].into());

        let decision = acceptable(world).decide();
        assert_eq!(verbs(&decision), [(Verb::Update, Cause::Declared)]);
        let step = &decision.plan.steps[0];
        assert_eq!((step.claim.origin, &step.claim.folding, step.folds), (ClaimOrigin::Adopted, &folding(), false));
    }
}

#[test]
fn an_equal_object_of_nobody_who_is_known_is_written_and_there_is_nothing_to_fold() {
    let decision = acceptable(held_by(World::new(&[(1, 1)]), "stranger", 1, Holders::default())).decide();
    assert_eq!(verbs(&decision), [(Verb::Update, Cause::Declared)]);
    assert_eq!(decision.plan.steps[0].claim.folding, None);
}

#[test]
fn what_was_adopted_is_folded_once_it_is_in_place_and_not_again() {
    let mut world = pending();
    let decision = world.decide();
    let step = &decision.plan.steps[0];
    assert_eq!((step.verb, step.cause, step.folds), (Verb::Update, Cause::Declared, true));
    assert_eq!((&step.claim.folding, step.differences.len()), (&folding(), 0));
    assert!(!decision.in_sync);

    world.claimed(1).folding = None;
    let over = world.decide();
    assert!(over.plan.is_empty() && over.in_sync, "a tool that comes back is left alone");
}

#[test]
fn what_was_claimed_and_could_not_be_written_is_written_and_not_folded() {
    let decision = held_by(pending(), "u1", 1, holders()).decide();
    let step = &decision.plan.steps[0];
    assert_eq!((step.verb, step.folds, &step.claim.folding), (Verb::Update, false, &folding()));
}

#[test]
fn what_is_ours_and_lost_its_holders_is_written_again_and_nobody_is_folded() {
    let world = World::new(&[(1, 1)]).converged(1, "u1", 1);
    let decision = held_by(world, "u1", 1, holders()).decide();
    let step = &decision.plan.steps[0];
    assert_eq!((step.verb, step.folds, &step.claim.folding), (Verb::Update, false, &None));
}

#[test]
fn drift_comes_before_folding_and_does_not_forget_it() {
    let decision = pending().live(1, "u1", 9).decide();
    let step = &decision.plan.steps[0];
    assert_eq!((step.cause, step.folds, &step.claim.folding), (Cause::Drift, false, &folding()));
}

#[test]
fn nothing_is_taken_over_or_folded_where_nothing_may_be_changed() {
    for mut world in [pending(), held_by(World::new(&[(1, 1)]), "stranger", 1, holders())] {
        world.states = [State::Suspended].into_iter().collect();
        let decision = world.decide();
        assert!(decision.plan.is_empty() && decision.in_sync);
        assert_eq!(reasons(&decision), [Why::State { state: State::Suspended }]);
    }
}

#[test]
fn a_plan_that_folds_what_was_not_adopted_is_unsound() {
    let mut world = pending();
    let plan = world.decide().plan;
    world.claimed(1).folding = None;
    let app = app();
    let broken = check(&plan, &world.view(&app), NOW);
    assert_eq!(broken.iter().map(|violation| violation.rule).collect::<Vec<_>>(), [Rule::FoldIsRecorded]);
}
