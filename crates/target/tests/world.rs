//! Tests the world in memory: the effect of each option, and the changes from outside.

use std::collections::BTreeSet;
use std::sync::Arc;

use setpoint_core::key::Key;
use setpoint_core::live::{Health, Live, Presence, Writer};
use setpoint_core::observed::{Observed, UnknownReason};
use setpoint_core::resource::Resource;
use setpoint_core::time::Span;
use setpoint_core::value::Value;
use setpoint_target::conformance::Steps;
use setpoint_target::memory::FIXED;
use setpoint_target::{
    Fence, MemoryOptions, MemoryTarget, MemoryWorld, Outcome, RefusalClass, Settlement, Target, Work,
};

use crate::scene::{at, fence, identity, resource, value, world};

fn options() -> MemoryOptions {
    MemoryOptions::default()
}

fn stage(options: MemoryOptions) -> (MemoryWorld, Steps) {
    (world(options), Steps::new(identity()))
}

fn done(world: &mut MemoryWorld, work: &Work) -> Option<Live> {
    match world.execute_one(work, fence(), at(0)) {
        Outcome::Done { live } => live,
        other => panic!("{other:?}"),
    }
}

fn refused(world: &mut MemoryWorld, work: &Work, fence: Fence) -> RefusalClass {
    match world.execute_one(work, fence, at(0)) {
        Outcome::Refused { refusal } => refusal.class,
        other => panic!("{other:?}"),
    }
}

fn settle(world: &MemoryWorld, steps: &Steps, work: &Work) -> Settlement {
    let intent = steps.intent(work, fence().land_by);
    world.settle(&intent, work.step.resource.as_deref(), fence().land_by + Span::millis(1))
}

fn look(world: &MemoryWorld, key: &Key) -> Observed<Presence> {
    world.observe([key], at(0)).states.remove(key).expect("it was asked for")
}

fn live(world: &MemoryWorld, key: &Key) -> Live {
    match look(world, key) {
        Observed::Known { value: Presence::Present(live), .. } => live,
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_effect_may_leave_at_the_last_instant_and_not_after_it() {
    let (mut world, steps) = stage(options());
    let work = steps.create(&resource("a", 1));
    let late = world.execute_one(&work, fence(), fence().leave_by + Span::millis(1));
    assert!(matches!(late, Outcome::Refused { refusal } if refusal.class == RefusalClass::Fenced));
    assert!(matches!(world.execute_one(&work, fence(), fence().leave_by), Outcome::Done { .. }));
}

#[test]
fn lateness_comes_before_the_epoch_and_the_epoch_before_preconditions() {
    let (mut world, steps) = stage(options());
    let work = steps.create(&resource("a", 1));
    done(&mut world, &work);
    let late_and_newer = Fence { epoch: Steps::EPOCH + 1, leave_by: at(0) - Span::millis(1), ..fence() };
    assert_eq!(refused(&mut world, &work, late_and_newer), RefusalClass::Fenced);
    assert_eq!(done(&mut world, &work).map(|live| live.uid), Some(live(&world, &work.step.key).uid), "still our epoch");
    let conflicting = steps.create(&resource("a", 2));
    let newer = Fence { epoch: Steps::EPOCH + 1, ..fence() };
    assert_eq!(refused(&mut world, &conflicting, newer), RefusalClass::Conflict);
    assert_eq!(refused(&mut world, &conflicting, fence()), RefusalClass::Fenced, "the refused step began an epoch");
}

#[test]
fn a_world_that_cannot_check_epochs_lets_an_old_one_through() {
    let (mut world, steps) = stage(MemoryOptions { checks_epochs: false, ..options() });
    done(&mut world, &steps.create(&resource("a", 1)));
    let older = Fence { epoch: Steps::EPOCH - 1, ..fence() };
    assert!(matches!(world.execute_one(&steps.create(&resource("b", 1)), older, at(0)), Outcome::Done { .. }));
    assert!(!world.capabilities().checks_epochs);
}

#[test]
fn a_repeated_create_answers_with_the_object_it_made() {
    let (mut world, steps) = stage(options());
    let work = steps.create(&resource("a", 1));
    let first = done(&mut world, &work);
    assert_eq!(done(&mut world, &work), first);
    assert_eq!((world.instances(&work.step.key), world.change_count()), (1, 1));
    assert_eq!(refused(&mut world, &steps.create(&resource("a", 1)), fence()), RefusalClass::Conflict);
}

#[test]
fn without_idempotent_creates_each_one_makes_one_more_object_and_the_key_cannot_be_seen() {
    let (mut world, steps) = stage(MemoryOptions { idempotent_create: false, ..options() });
    let (work, other) = (steps.create(&resource("a", 1)), steps.create(&resource("a", 1)));
    let key = &work.step.key;
    let first = done(&mut world, &work).expect("an object");
    done(&mut world, &other);
    assert_eq!(world.instances(key), 2);
    assert!(matches!(look(&world, key), Observed::Unknown { reason: UnknownReason::Malformed { .. } }));
    assert_eq!(world.preview(&resource("a", 2)).expect_err("which one?").class, RefusalClass::Conflict);
    assert_eq!(settle(&world, &steps, &work), Settlement::Done { live: Some(first.clone()) }, "it carries its mark");
    done(&mut world, &work);
    assert!(matches!(settle(&world, &steps, &work), Settlement::Unknown { .. }), "two carry it");
    done(&mut world, &steps.delete(key, &first));
    assert_eq!(world.instances(key), 2, "a delete takes the one it names");
}

#[test]
fn marks_tell_our_object_from_an_equal_one() {
    let (mut world, steps) = stage(options());
    let (ours, never_left) = (steps.create(&resource("a", 1)), steps.create(&resource("b", 1)));
    let made = done(&mut world, &ours);
    world.recreate(&never_left.step.key, value("b", 1), "someone");
    assert_eq!(settle(&world, &steps, &ours), Settlement::Done { live: made });
    assert_eq!(settle(&world, &steps, &never_left), Settlement::NotDone);
}

#[test]
fn without_marks_nobody_can_tell_whose_object_stands_there() {
    let (mut world, steps) = stage(MemoryOptions { marks: false, ..options() });
    let (ours, never_left) = (steps.create(&resource("a", 1)), steps.create(&resource("b", 1)));
    done(&mut world, &ours);
    world.recreate(&never_left.step.key, value("b", 1), "someone");
    for work in [&ours, &never_left] {
        assert!(matches!(settle(&world, &steps, work), Settlement::Unknown { .. }));
    }
    world.remove(&ours.step.key);
    assert_eq!(settle(&world, &steps, &ours), Settlement::NotDone, "nothing of it is left");
}

#[test]
fn an_update_edited_over_is_told_by_its_mark_alone() {
    for marks in [true, false] {
        let (mut world, steps) = stage(MemoryOptions { marks, ..options() });
        let key = resource("a", 1).key;
        let seen = done(&mut world, &steps.create(&resource("a", 1))).expect("an object");
        let landed = steps.update(&resource("a", 2), &seen);
        done(&mut world, &landed);
        world.edit(&key, &value("a", 3), "someone");
        let never_left = steps.update(&resource("a", 2), &live(&world, &key));
        world.edit(&key, &value("a", 4), "someone");
        let settled = [settle(&world, &steps, &landed), settle(&world, &steps, &never_left)];
        if marks {
            assert_eq!(settled, [Settlement::Done { live: Some(live(&world, &key)) }, Settlement::NotDone]);
        } else {
            assert!(
                settled.iter().all(|settlement| matches!(settlement, Settlement::Superseded { .. })),
                "{settled:?}"
            );
        }
    }
}

#[test]
fn an_update_whose_mark_was_overwritten_by_a_later_intent_cannot_be_told() {
    let (mut world, steps) = stage(options());
    let seen = done(&mut world, &steps.create(&resource("a", 1))).expect("an object");
    let first = steps.update(&resource("a", 2), &seen);
    let between = done(&mut world, &first).expect("an object");
    done(&mut world, &steps.update(&resource("a", 3), &between));
    assert!(matches!(settle(&world, &steps, &first), Settlement::Unknown { .. }));
}

#[test]
fn a_first_health_holds_until_the_controller_speaks() {
    let (mut world, steps) = stage(MemoryOptions { first_health: Health::Unknown, ..options() });
    let made = done(&mut world, &steps.create(&resource("a", 1))).expect("an object");
    let key = resource("a", 1).key;
    assert_eq!(made.health, Health::Unknown);
    assert!(world.set_health(&key, Health::Degraded));
    assert!(world.set_controlled(&key, true));
    let spoken = live(&world, &key);
    assert_eq!((spoken.health, spoken.controlled), (Health::Degraded, true));
    assert!(spoken.version != made.version && spoken.uid == made.uid);
    assert!(!world.set_health(&resource("b", 1).key, Health::Healthy), "nothing stands there");
}

#[test]
fn every_write_has_a_version_of_its_own_and_every_object_a_uid_of_its_own() {
    let (mut world, steps) = stage(options());
    let key = resource("a", 1).key;
    let mut seen = vec![done(&mut world, &steps.create(&resource("a", 1))).expect("an object")];
    world.edit(&key, &value("a", 1), "someone");
    seen.push(live(&world, &key));
    world.recreate(&key, value("a", 1), "someone");
    seen.push(live(&world, &key));
    world.remove(&key);
    seen.push(done(&mut world, &steps.create(&resource("a", 1))).expect("an object"));
    let versions: BTreeSet<_> = seen.iter().map(|live| live.version.as_str()).collect();
    let uids: BTreeSet<_> = seen.iter().map(|live| live.uid.as_str()).collect();
    assert_eq!((versions.len(), uids.len()), (4, 3));
    assert_eq!(seen[1].writer, Writer::Likely { who: "someone".to_owned() });
}

#[test]
fn rules_refuse_as_admission_would_and_are_lifted_again() {
    let (mut world, steps) = stage(options());
    let made = done(&mut world, &steps.create(&resource("a", 1))).expect("an object");
    let (a, b) = (resource("a", 1).key, resource("b", 1).key);
    let create = steps.create(&resource("b", 1));
    let (update, delete) = (steps.update(&resource("a", 2), &made), steps.delete(&a, &made));
    world.deny_create(&b);
    world.deny_update(&a);
    world.deny_delete(&a);
    for work in [&create, &update, &delete] {
        assert_eq!(refused(&mut world, work, fence()), RefusalClass::Denied);
    }
    world.find_invalid(&a);
    assert_eq!(world.preview(&resource("a", 2)).expect_err("invalid").class, RefusalClass::Invalid);
    assert_eq!(refused(&mut world, &update, fence()), RefusalClass::Invalid);
    assert_eq!(world.change_count(), 1);
    world.allow(&a);
    world.allow(&b);
    for work in [&create, &update] {
        done(&mut world, work);
    }
}

#[test]
fn a_denied_delete_of_what_is_gone_is_done() {
    let (mut world, steps) = stage(options());
    let made = done(&mut world, &steps.create(&resource("a", 1))).expect("an object");
    let delete = steps.delete(&resource("a", 1).key, &made);
    world.deny_delete(&delete.step.key);
    world.remove(&delete.step.key);
    assert_eq!(done(&mut world, &delete), None);
}

#[test]
fn a_step_that_does_not_say_what_to_do_is_invalid() {
    let (mut world, steps) = stage(options());
    let made = done(&mut world, &steps.create(&resource("a", 1))).expect("an object");
    let mut without_resource = steps.update(&resource("a", 2), &made);
    without_resource.step.resource = None;
    let mut without_object = steps.delete(&resource("a", 1).key, &made);
    without_object.step.expect = None;
    let mut of_another_key = steps.create(&resource("b", 1));
    of_another_key.step.key = resource("c", 1).key;
    for work in [without_resource, without_object, of_another_key] {
        assert_eq!(refused(&mut world, &work, fence()), RefusalClass::Invalid);
    }
    assert_eq!(world.change_count(), 1);
}

#[test]
fn what_is_fixed_stays_as_it_was_made_whoever_writes() {
    let (mut world, steps) = stage(options());
    let fixed = |content: i64, fixed: i64| {
        let body = Value::map([("content", Value::int(content)), (FIXED, Value::int(fixed))]);
        Resource { body: Arc::new(body), ..resource("a", 1) }
    };
    let made = done(&mut world, &steps.create(&fixed(1, 1))).expect("an object");
    assert_eq!(refused(&mut world, &steps.update(&fixed(1, 2), &made), fence()), RefusalClass::Immutable);
    assert_eq!(world.preview(&fixed(1, 2)).expect_err("it is fixed").class, RefusalClass::Immutable);
    assert_eq!(world.preview_replacement(&fixed(1, 2)), Ok(()));
    world.edit(&resource("a", 1).key, &fixed(7, 9).body, "ada");
    let (_, object) = world.objects().next().expect("it is there");
    assert_eq!(object.live.value, fixed(7, 1).body);
    assert_eq!(object.live.fingerprint, Live::fingerprint_of(&object.live.value));
    world.deny_create(&resource("a", 1).key);
    assert_eq!(world.preview_replacement(&fixed(1, 2)).expect_err("it is denied").class, RefusalClass::Denied);
}

#[test]
fn a_clone_is_a_snapshot_that_later_changes_do_not_reach() {
    let (mut world, steps) = stage(options());
    let before = world.clone();
    done(&mut world, &steps.create(&resource("a", 1)));
    assert_eq!((before.objects().count(), world.objects().count()), (0, 1));
}

#[test]
fn a_key_holds_the_group_and_never_the_version_of_an_api() {
    let target = MemoryTarget::new(world(options()));
    let body = resource("a", 1).body;
    let key = |api_version| target.key(api_version, "Thing", &body).expect("it is named");
    assert_eq!(key("test/v1"), key("test/v2"));
    assert_eq!(key("test/v1").to_text(), "test/Thing:lab:a");
    assert_eq!(key("v1").to_text(), "Thing:lab:a");
    let numbered = Value::map([("metadata", Value::map([("name", Value::int(1))]))]);
    let error = target.key("v1", "Thing", &numbered).expect_err("a number is no name");
    assert_eq!(error.to_string(), "`metadata.name` is not a text: put it in quotes");
}
