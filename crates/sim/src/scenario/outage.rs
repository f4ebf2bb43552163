//! Stores, targets, disks and instances that fail: the held state stays, and nothing is done twice.

use std::sync::Arc;

use setpoint_core::claim::ClaimOrigin;
use setpoint_core::name::TargetIdentity;

use super::Scenario;
use crate::fault::Fault;
use crate::world::World;

pub(super) fn all() -> Vec<Scenario> {
    vec![
        disconnected(),
        store_down(),
        paused_holder(),
        lease_lost(),
        lost_answers(),
        lost_answers_without_marks(),
        broken_disk(),
        reinstalled(),
        partition(),
        failing_target(),
    ]
}

fn disconnected() -> Scenario {
    Scenario::new("an engine that is cut off from everything freezes and removes nothing")
        .answers(10)
        .given(|world| world.declare(0, 0..6, 1))
        .at(10, |world| world.suffer(&[Fault::StoreUnreachable, Fault::TargetUnreachable]))
        .at(12, |world| world.declare(0, 0..5, 2))
        .expect(40, "everything is as it was", |world| world.stand(0, 0..6, 1) && world.deletes() == 0)
        .at(40, World::recover)
        .expect(90, "it goes on where the store is by now", |world| world.stand(0, 0..5, 2) && world.deletes() == 1)
}

fn store_down() -> Scenario {
    Scenario::new("an edit is healed while the store is down")
        .given(|world| world.declare(0, 0..6, 1))
        .at(10, |world| world.suffer(&[Fault::StoreUnreachable]))
        .at(30, |world| world.meddle_with(0, 2))
        .expect(50, "it is healed", |world| world.stand(0, 0..6, 1) && world.deletes() == 0)
        .at(50, World::recover)
}

/// The target cannot check epochs: only the engine's own waiting separates two holders.
fn paused_holder() -> Scenario {
    Scenario::new("a holder that stood still while another took over does not act any more")
        .answers(26)
        .with(|universe| {
            universe.instances = 2;
            universe.targets[0].options.checks_epochs = false;
        })
        .given(|world| {
            world.instances[1].offset = 3_000;
            world.declare(0, 0..6, 1);
        })
        .at(10, |world| {
            world.declare(0, 0..5, 2);
            world.meddle_with(0, 0);
            world.pause(0, 400);
        })
        .at(13, |world| world.meddle_with(0, 1))
        .expect(50, "everything is as declared", |world| world.stand(0, 0..5, 2) && world.deletes() == 1)
}

fn lease_lost() -> Scenario {
    Scenario::new("a holder that cannot renew its lease lets go")
        .answers(26)
        .with(|universe| universe.instances = 2)
        .given(|world| {
            world.instances[1].offset = -3_000;
            world.declare(0, 0..6, 1);
        })
        .at(10, |world| {
            world.suffer(&[Fault::LeaseLoss]);
            world.declare(0, 0..5, 2);
        })
        .at(14, |world| world.meddle_with(0, 1))
        .at(20, World::recover)
        .expect(60, "everything is as declared", |world| world.stand(0, 0..5, 2) && world.deletes() == 1)
}

fn lost_answers() -> Scenario {
    Scenario::new("a create whose answer is lost is looked up, not repeated")
        .answers(29)
        .with(|universe| universe.targets[0].options.idempotent_create = false)
        .given(|world| {
            world.suffer(&[Fault::LostAnswer]);
            world.declare(0, 0..6, 1);
        })
        .at(5, World::recover)
        .expect(50, "there is one of each", |world| world.single(0, 0..6) && world.stand(0, 0..6, 1))
}

fn lost_answers_without_marks() -> Scenario {
    Scenario::new("a create whose end cannot be told waits for a person")
        .answers(29)
        .with(|universe| {
            universe.targets[0].options.idempotent_create = false;
            universe.targets[0].options.marks = false;
        })
        .given(|world| {
            world.suffer(&[Fault::TimeoutAfter]);
            world.declare(0, 0..6, 1);
        })
        .at(5, World::recover)
        .expect(30, "nothing exists twice", |world| (0..6).all(|n| world.targets[0].instances(world.key(0, n)) <= 1))
        .expect(30, "it is remembered", |world| world.open_intents() > 0)
}

fn broken_disk() -> Scenario {
    Scenario::new("nothing is done on the strength of a record that the disk lost")
        .given(|world| world.declare(0, 0..6, 1))
        .at(10, |world| {
            world.suffer(&[Fault::DiskLost]);
            world.declare(0, 0..5, 2);
        })
        .expect(14, "everything is as it was", |world| world.stand(0, 0..6, 1) && world.deletes() == 0)
        .at(14, |world| world.suffer(&[Fault::DiskKept]))
        .at(15, World::recover)
        .expect(60, "everything is as declared", |world| world.stand(0, 0..5, 2) && world.deletes() == 1)
}

fn reinstalled() -> Scenario {
    Scenario::new("a new installation deletes nothing of what an older one left")
        .answers(9)
        .given(|world| world.declare(0, 0..6, 1))
        .at(10, |world| {
            world.declare(0, 0..3, 2);
            world.reinstall();
        })
        .expect(60, "what is declared is held", |world| world.stand(0, 0..3, 2))
        .expect(60, "everything else exists", |world| world.stand(0, 3..6, 1) && world.deletes() == 0)
        .expect(60, "and belongs to no app, unless an older head declared it and it was taken over", |world| {
            let older = world.script.older_head.is_some();
            let is_left = |n| world.claim(0, n).is_none_or(|claim| older && claim.origin == ClaimOrigin::Adopted);
            (3..6).all(is_left)
        })
}

fn partition() -> Scenario {
    Scenario::new("a target that is cut off holds up no other")
        .with(|universe| {
            let mut other = universe.targets[0].clone();
            other.identity = TargetIdentity::new("target-1").expect("a plain name");
            let control = universe.controls.targets[&universe.targets[0].identity].clone();
            universe.controls.targets.insert(other.identity.clone(), control);
            let second = universe.apps[1].clone();
            universe
                .controls
                .apps
                .entry(second)
                .and_modify(|control| Arc::make_mut(control).target = other.identity.clone());
            universe.targets.push(other);
            universe.grounds = 2;
        })
        .given(|world| {
            world.declare(0, 0..6, 1);
            world.declare(1, 0..4, 1);
        })
        .at(10, |world| {
            world.cut_off(0, 40);
            world.declare(0, 0..5, 2);
            world.declare(1, 0..3, 2);
        })
        .expect(40, "nothing changes there", |world| world.stand(0, 0..6, 1))
        .expect(40, "the other one is as declared", |world| world.stand(1, 0..3, 2) && world.deletes() == 1)
        .expect(110, "it goes on once it is back", |world| world.stand(0, 0..5, 2) && world.deletes() == 2)
}

fn failing_target() -> Scenario {
    Scenario::new("a target that failed too often loses nothing before one full look at it")
        .given(|world| world.declare(0, 0..6, 1))
        .at(10, |world| {
            world.suffer(&[Fault::TargetUnreachable]);
            world.declare(0, 1..6, 1);
            world.meddle_with(0, 1);
            world.meddle_with(1, 0);
        })
        .expect(20, "it was left alone", |world| world.monitor.left_alone > 0)
        .at(20, |world| {
            world.recover();
            world.hide(0, 5);
            world.hide(1, 0);
        })
        .expect(30, "partial observations are not enough", |world| world.stand(0, 0..6, 1) && world.deletes() == 0)
        .expect(30, "the report gives the reason", |world| world.reports(0, "incomplete observation"))
        .at(30, World::show_all)
        .expect(70, "what was removed is deleted then", |world| {
            world.deletes() == 1 && world.stand(0, 1..6, 1) && world.standing(0, 0..1) == 0
        })
}
