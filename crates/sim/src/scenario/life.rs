//! The stages of an app's life.

use std::sync::Arc;

use setpoint_engine::AppControl;

use super::Scenario;
use super::acts::SHARED;
use crate::world::World;

pub(super) fn all() -> Vec<Scenario> {
    vec![
        force_push(),
        hand_over(),
        retire(),
        retire_both(),
        document_removed(),
        rollback(),
        rolled_back_once(),
        fight(),
        suspension(),
    ]
}

fn force_push() -> Scenario {
    Scenario::new("a rewritten history holds the app until a person says which is right")
        .answers(32)
        .given(|world| world.declare(0, 0..6, 1))
        .at(5, |world| world.declare(0, 0..6, 2))
        .at(15, |world| world.force_push(0, 0..5, 3))
        .expect(40, "it stays where it was", |world| {
            world.is_held(0) && world.stand(0, 0..6, 2) && world.deletes() == 0
        })
        .at(40, |world| world.bless(0))
        .at(46, |world| world.bless(0))
        .expect(80, "it follows the person's order", |world| world.stand(0, 0..5, 3) && world.deletes() == 1)
}

fn hand_over() -> Scenario {
    Scenario::new("a resource that moves to another app changes hands and is not deleted")
        .given(|world| {
            world.declare(0, (0..4).chain([SHARED]), 1);
            world.declare(1, 0..4, 1);
        })
        .at(10, |world| {
            world.declare(1, (0..4).chain([SHARED]), 1);
            world.declare(0, 0..4, 1);
        })
        .expect(50, "the other app owns the same object", |world| {
            let owner = world.claim(0, SHARED).map(|claim| &claim.app);
            owner == Some(&world.universe.apps[1]) && world.stand(0, [SHARED], 1) && world.deletes() == 0
        })
}

fn retire() -> Scenario {
    Scenario::new("a retired app is taken down and forgotten, its neighbour is not")
        .given(|world| {
            world.declare(0, 0..6, 1);
            world.declare(1, 0..4, 1);
        })
        .at(10, |world| change_first(world, |control| control.retire = true))
        .expect(50, "nothing of it is left", |world| world.standing(0, 0..6) == 0 && !world.is_known(0))
        .expect(50, "its neighbour exists", |world| world.stand(1, 0..4, 1))
        .at(50, remove_first)
        .expect(80, "it stays forgotten", |world| !world.is_known(0) && world.stand(1, 0..4, 1))
}

/// Key 7 of each app is protected: it stays until a person releases it, and so do the apps.
fn retire_both() -> Scenario {
    Scenario::new("two apps that are retired at once delete no more in an hour than the fleet's budget")
        .given(|world| {
            world.declare(0, 0..10, 1);
            world.declare(1, 0..10, 1);
        })
        .at(10, |world| {
            world.control(|controls| {
                controls.apps.values_mut().for_each(|control| Arc::make_mut(control).retire = true);
            });
        })
        .expect(60, "ten were deleted", |world| world.deletes() == 10)
        .expect(60, "a report gives the reason why it is gone", |world| {
            (0..2).any(|app| world.reports(app, "over fleet budget"))
        })
        .expect(140, "all others were deleted in the next hour", |world| {
            (0..2).all(|app| world.standing(app, 0..10) == 1 && world.stand(app, [7], 1))
        })
}

fn document_removed() -> Scenario {
    Scenario::new("an app whose document is removed freezes until it returns")
        .given(|world| world.declare(0, 0..6, 1))
        .at(10, remove_first)
        .at(15, |world| {
            world.declare(0, 0..5, 2);
            world.meddle_with(0, 1);
        })
        .expect(50, "nothing is changed and nothing is deleted", |world| {
            world.stand(0, [0, 2, 3, 4, 5], 1) && world.stand(0, [1], 90) && world.deletes() == 0
        })
        .at(50, |world| {
            let control = world.universe.controls.apps[&world.universe.apps[1]].clone();
            let first = world.universe.apps[0].clone();
            world.control(|controls| drop(controls.apps.insert(first, control)));
        })
        .expect(90, "it goes on", |world| world.stand(0, 0..5, 2) && world.deletes() == 1)
}

fn rollback() -> Scenario {
    Scenario::new("a bundle that fails is rolled back, and a newer one lets it go")
        .given(|world| world.declare(0, 0..6, 1))
        .at(15, |world| {
            let key = world.key(0, 3).clone();
            world.find_invalid(0, &key);
            world.declare(0, 0..6, 2);
        })
        .expect(50, "it is held at the last good bundle", |world| world.is_held(0) && world.stand(0, 0..6, 1))
        .at(50, |world| {
            let key = world.key(0, 3).clone();
            world.allow(0, &key);
            world.declare(0, 0..6, 3);
        })
        .expect(80, "the newer bundle is held", |world| !world.is_held(0) && world.stand(0, 0..6, 3))
}

fn rolled_back_once() -> Scenario {
    Scenario::new("a bundle that fails is not tried again and again")
        .answers(22)
        .given(|world| world.declare(0, 0..6, 1))
        .at(15, |world| {
            let key = world.key(0, 3).clone();
            world.find_invalid(0, &key);
            world.declare(0, 0..6, 2);
        })
        .expect(240, "it is held at the last good bundle", |world| world.is_held(0) && world.stand(0, 0..6, 1))
        .expect(240, "it took few writes and two acceptances", |world| {
            world.monitor.writes <= 40 && world.acceptances(0) == 2
        })
}

fn fight() -> Scenario {
    Scenario::new("a fight slows us down and does not switch us off")
        .answers(24)
        .given(|world| world.declare(0, 0..6, 1))
        .at(10, |world| world.fight_over(0, 1, 120))
        .expect(129, "the other one has not been written over without end", |world| world.monitor.writes <= 120)
        .expect(129, "nothing else is left undone", |world| world.stand(0, [0, 2, 3, 4, 5], 1))
        .expect(160, "it is healed once the other one stops", |world| world.stand(0, 0..6, 1) && world.deletes() == 0)
}

/// The order is given more than once: one that reaches no writer is lost, which a person notices.
fn suspension() -> Scenario {
    Scenario::new("a suspension ends by itself")
        .given(|world| world.declare(0, 0..6, 1))
        .at(10, |world| world.suspend(0, 40))
        .at(14, |world| world.suspend(0, 40))
        .at(18, |world| world.meddle_with(0, 1))
        .expect(38, "nothing is changed", |world| world.stand(0, [1], 90) && world.reports(0, "suspended"))
        .expect(60, "it is healed", |world| world.stand(0, 0..6, 1))
}

pub(super) fn change_first(world: &mut World, change: fn(&mut AppControl)) {
    let first = world.universe.apps[0].clone();
    world.control(|controls| drop(controls.apps.entry(first).and_modify(|control| change(Arc::make_mut(control)))));
}

pub(super) fn remove_first(world: &mut World) {
    let first = world.universe.apps[0].clone();
    world.control(|controls| drop(controls.apps.remove(&first)));
}
