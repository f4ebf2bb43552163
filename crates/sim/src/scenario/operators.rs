//! Acts of operators, and two events at once.

use std::sync::Arc;

use setpoint_core::name::TargetIdentity;
use setpoint_engine::NoteKind;

use super::acts::SHARED;
use super::life::{change_first, remove_first};
use super::{MINUTE, Scenario};
use crate::world::World;

pub(super) fn all() -> Vec<Scenario> {
    vec![
        touched_while_down(),
        started_twice(),
        backup_restored(),
        outdated_read(),
        busy_claim(),
        retiring_without_document(),
        fight_again(),
        reported_again(),
    ]
}

/// Every crash of this scenario, wherever it strikes, is followed by edits before the restart.
fn touched_while_down() -> Scenario {
    Scenario::new("what was edited between a crash and the restart is healed")
        .given(|world| {
            world.script.touch_while_down = true;
            world.declare(0, 0..4, 1);
        })
        .at(10, |world| {
            world.declare(0, 0..3, 2);
            world.hint_store(0);
        })
        .at_millis(10 * MINUTE + 12, |world| world.crash(0))
        .expect(60, "everything is as declared", |world| world.stand(0, 0..3, 2) && world.deletes() <= 1)
}

fn started_twice() -> Scenario {
    Scenario::new("two processes under one name do not act at once")
        .with(|universe| {
            universe.instances = 2;
            universe.targets[0].options.checks_epochs = false;
        })
        .given(|world| world.declare(0, 0..6, 1))
        .at(10, |world| {
            world.start_second(4);
            world.declare(0, 0..5, 2);
            world.hint_store(0);
        })
        .at(11, |world| world.meddle_with(0, 0))
        .at(12, |world| world.meddle_with(0, 1))
        .expect(60, "everything is as declared", |world| world.stand(0, 0..5, 2) && world.deletes() == 1)
}

fn backup_restored() -> Scenario {
    Scenario::new("an old copy of the ledger stops everything until a person records the gap")
        .exact()
        .given(|world| world.declare(0, 0..6, 1))
        .at(10, World::back_up)
        .at(12, |world| world.declare(0, 0..5, 2))
        .at(25, |world| {
            world.crash(0);
            world.bring_back();
        })
        .at(28, |world| world.meddle_with(0, 1))
        .expect(50, "nothing is changed", |world| world.stand(0, [1], 90))
        .at(50, World::record_gap)
        .expect(100, "it goes on", |world| world.stand(0, 0..5, 2) && world.deletes() <= 1)
}

/// The neighbour creates the shared resource and gives it up again, all while the other app's read
/// of it is in progress. Each create makes one more object here.
fn outdated_read() -> Scenario {
    Scenario::new("an app does not create what its neighbour created while it was reading")
        .exact()
        .with(|universe| universe.targets[0].options.idempotent_create = false)
        .given(|world| {
            world.declare(0, 0..3, 1);
            world.declare(1, 0..3, 1);
        })
        .at(10, |world| {
            world.script.slow_reads_of = Some(world.universe.apps[1].clone());
            world.declare(1, (0..3).chain([SHARED]), 1);
            world.hint_store(1);
        })
        .at_millis(10 * MINUTE + 2_000, |world| {
            world.declare(0, (0..3).chain([SHARED]), 1);
            world.hint_store(0);
        })
        .at_millis(10 * MINUTE + 4_000, |world| {
            world.declare(0, 0..3, 1);
            world.hint_store(0);
        })
        .at(11, |world| world.script.slow_reads_of = None)
        .expect(40, "the neighbour created it, and the app took it over", |world| {
            let owner = world.claim(1, SHARED).map(|claim| &claim.app);
            owner == Some(&world.universe.apps[1]) && world.single(1, SHARED..SHARED + 1) && world.deletes() == 0
        })
}

/// The app heals an edit. At that time neither this intent is known to be recorded, nor the
/// acceptance that gives the resource up. The edit has produced the neighbour's declaration.
fn busy_claim() -> Scenario {
    Scenario::new("a claim does not change hands while its holder is changing the object")
        .exact()
        .given(|world| {
            world.declare(0, (0..3).chain([SHARED]), 1);
            world.declare(1, 0..2, 1);
        })
        .at(5, |world| world.declare(1, (0..2).chain([SHARED]), 90))
        .at(12, |world| {
            world.script.slow_records = 3_000;
            world.declare(0, 0..3, 1);
            world.hint_store(0);
        })
        .at_millis(12 * MINUTE + 1_000, |world| {
            world.script.slow_records = 6_000;
            world.meddle_with(0, SHARED);
        })
        .at(13, |world| world.script.slow_records = 0)
        .expect(40, "the neighbour owns the same object", |world| {
            let owner = world.claim(1, SHARED).map(|claim| &claim.app);
            owner == Some(&world.universe.apps[1]) && world.stand(1, [SHARED], 90) && world.deletes() == 0
        })
}

/// Its document is removed while the quarantine still keeps everything, and its neighbour cannot be
/// rendered for a while.
fn retiring_without_document() -> Scenario {
    Scenario::new("an app that is taken down leaves to its neighbour what that is about to declare")
        .exact()
        .given(|world| {
            world.declare(0, (0..4).chain([SHARED]), 1);
            world.declare(1, 0..4, 1);
        })
        .at(1, |world| change_first(world, |control| control.retire = true))
        .at(2, remove_first)
        .at(3, |world| {
            world.script.renders_fail_of = Some(world.universe.apps[1].clone());
            world.declare(1, (0..4).chain([SHARED]), 1);
            world.hint_store(1);
        })
        .at(15, |world| world.script.renders_fail_of = None)
        .expect(60, "the neighbour owns the same object", |world| {
            let owner = world.claim(1, SHARED).map(|claim| &claim.app);
            owner == Some(&world.universe.apps[1]) && world.stand(1, [SHARED], 1) && world.deletes() == 4
        })
}

fn fight_again() -> Scenario {
    Scenario::new("a fight that comes back is reported again")
        .exact()
        .given(|world| world.declare(0, 0..4, 1))
        .at(10, |world| world.fight_over(0, 1, 20))
        .expect(35, "it was reported", |world| world.notes(NoteKind::Fight) == 1)
        .at(120, |world| world.fight_over(0, 1, 20))
        .expect(150, "it was reported again", |world| world.notes(NoteKind::Fight) == 2)
}

fn reported_again() -> Scenario {
    Scenario::new("a document that names another target, and apps that wait for each other, are reported again")
        .exact()
        .given(|world| {
            world.declare(0, 0..4, 1);
            world.declare(1, 0..4, 1);
        })
        .at(10, |world| move_first(world, "elsewhere"))
        .at(20, |world| move_first(world, "target-0"))
        .at(30, |world| move_first(world, "elsewhere"))
        .at(40, |world| move_first(world, "target-0"))
        .expect(50, "the other target was reported twice", |world| world.notes(NoteKind::TargetMoved) == 2)
        .at(50, |world| wait_for_each_other(world, true))
        .at(60, |world| wait_for_each_other(world, false))
        .at(70, |world| wait_for_each_other(world, true))
        .at(80, |world| wait_for_each_other(world, false))
        .expect(90, "the circle was reported twice", |world| world.notes(NoteKind::DependencyCycle) == 2)
}

fn move_first(world: &mut World, target: &str) {
    let first = world.universe.apps[0].clone();
    let target = TargetIdentity::new(target).expect("a plain name");
    world.control(|controls| {
        controls.apps.entry(first).and_modify(|control| Arc::make_mut(control).target = target);
    });
}

fn wait_for_each_other(world: &mut World, wait: bool) {
    let apps = world.universe.apps.clone();
    world.control(|controls| {
        for (app, other) in [(&apps[0], &apps[1]), (&apps[1], &apps[0])] {
            let Some(control) = controls.apps.get_mut(app).map(Arc::make_mut) else { continue };
            control.depends_on = if wait { [other.clone()].into() } else { [].into() };
        }
    });
}
