//! Objects that must not be deleted, whatever the store seems to declare, and objects that must be
//! deleted as soon as that is possible.

use std::sync::Arc;

use setpoint_engine::{OnFailure, Order};

use super::Scenario;
use super::acts::SHARED;
use crate::fault::Fault;
use crate::world::World;

pub(super) fn all() -> Vec<Scenario> {
    vec![
        most_removed(),
        emptied(),
        emptied_beside_adopted(),
        unreadable_target(),
        render_gives_less(),
        render_gives_nothing(),
        store_flaps(),
        controlled_and_replaced(),
        denied_delete(),
        made_anew(),
        not_made_anew(),
        refused_anew(),
    ]
}

fn most_removed() -> Scenario {
    Scenario::new("a change that removes nine tenths deletes no more than the budget")
        .answers(3)
        .given(|world| world.declare(0, 0..10, 1))
        .at(10, |world| world.declare(0, 0..1, 1))
        .expect(60, "one was deleted", |world| world.deletes() == 1 && world.standing(0, 0..10) == 9)
        .expect(60, "the report gives the reason", |world| world.reports(0, "over budget"))
        .at(60, |world| world.give(0, Order::Sync { allow_prune: 3 }))
        .expect(90, "no more than a person allowed is deleted", |world| world.deletes() <= 4)
}

fn emptied() -> Scenario {
    Scenario::new("an emptied folder deletes nothing")
        .answers(4)
        .given(|world| world.declare(0, 0..6, 1))
        .at(10, |world| world.declare(0, 0..0, 1))
        .expect(50, "everything exists", |world| world.stand(0, 0..6, 1) && world.deletes() == 0)
        .expect(50, "the report gives the reason", |world| world.reports(0, "empty bundle"))
}

fn emptied_beside_adopted() -> Scenario {
    Scenario::new("an emptied folder deletes nothing where adopted and shared objects stand")
        .answers(5)
        .given(|world| {
            world.put_strangers(0, 0..3, 1);
            world.declare(0, (0..6).chain([SHARED]), 1);
        })
        .at(10, |world| {
            world.declare(0, 0..0, 1);
            world.declare(1, (0..3).chain([SHARED]), 1);
        })
        .expect(50, "everything exists", |world| world.stand(0, 0..6, 1) && world.deletes() == 0)
        .expect(50, "the shared resource has changed hands", |world| {
            world.stand(1, [SHARED], 1)
                && world.claim(1, SHARED).is_some_and(|claim| claim.app == world.universe.apps[1])
        })
}

fn unreadable_target() -> Scenario {
    Scenario::new("nothing is concluded from a target that cannot be read")
        .answers(6)
        .given(|world| world.declare(0, 0..6, 1))
        .at(10, |world| {
            world.suffer(&[Fault::TargetUnreachable]);
            world.declare(0, 1..6, 1);
        })
        .expect(15, "everything exists", |world| world.stand(0, 0..6, 1) && world.deletes() == 0)
        .at(15, World::recover)
        .expect(60, "what was removed is deleted then", |world| {
            world.deletes() == 1 && world.stand(0, 1..6, 1) && world.standing(0, 0..1) == 0
        })
}

fn render_gives_less() -> Scenario {
    Scenario::new("a render that loses resources deletes none of them")
        .answers(7)
        .given(|world| world.declare(0, 0..6, 1))
        .at(10, |world| {
            world.script.render_keeps = Some(3);
            world.declare(0, 0..6, 2);
        })
        .expect(50, "everything exists", |world| world.standing(0, 0..6) == 6 && world.deletes() == 0)
        .expect(50, "the report gives the reason", |world| world.reports(0, "fresh render differs"))
        .at(50, |world| {
            world.script.render_keeps = None;
            world.declare(0, 0..6, 3);
        })
        .expect(80, "the next whole render is held", |world| world.stand(0, 0..6, 3) && world.deletes() == 0)
}

fn render_gives_nothing() -> Scenario {
    Scenario::new("a render that gives nothing deletes nothing")
        .answers(7)
        .given(|world| world.declare(0, 0..6, 1))
        .at(10, |world| {
            world.script.render_keeps = Some(0);
            world.declare(0, 0..6, 2);
        })
        .expect(50, "everything exists", |world| world.standing(0, 0..6) == 6 && world.deletes() == 0)
        .at(50, |world| world.script.render_keeps = None)
}

fn store_flaps() -> Scenario {
    Scenario::new("a store that answers with an older head moves nothing back")
        .answers(7)
        .given(|world| world.declare(0, 0..3, 1))
        .at(6, |world| world.declare(0, 0..8, 2))
        .at(20, |world| world.suffer(&[Fault::StoreStale]))
        .at(30, |world| world.suffer(&[Fault::StoreUnreachable]))
        .at(34, |world| world.suffer(&[Fault::StoreStale]))
        .at(40, World::recover)
        .expect(50, "everything is as last declared", |world| world.stand(0, 0..8, 2) && world.deletes() == 0)
}

fn controlled_and_replaced() -> Scenario {
    Scenario::new("an object that another one controls, or that someone put in our place, is not deleted")
        .answers(13)
        .given(|world| world.declare(0, 0..6, 1))
        .at(8, |world| {
            world.let_control(0, 0);
            world.put_strangers(0, 3..4, 1);
        })
        .at(20, |world| world.declare(0, [1, 2, 4, 5], 1))
        .expect(60, "both exist", |world| world.stand(0, 0..6, 1) && world.deletes() == 0)
        .expect(60, "the report gives the reason", |world| world.reports(0, "controlled"))
}

fn denied_delete() -> Scenario {
    Scenario::new("a denied delete is remembered until the object is gone")
        .answers(28)
        .given(|world| world.declare(0, 0..6, 1))
        .at(10, |world| {
            let key = world.key(0, 3).clone();
            world.deny_delete(0, &key);
            world.declare(0, [0, 1, 2, 4, 5], 1);
        })
        .expect(50, "it exists and is still ours", |world| world.stand(0, [3], 1) && world.claim(0, 3).is_some())
        .at(50, |world| {
            let key = world.key(0, 3).clone();
            world.allow(0, &key);
        })
        .expect(120, "it is deleted and forgotten", |world| {
            world.deletes() == 1 && world.standing(0, 3..4) == 0 && world.claim(0, 3).is_none()
        })
}

/// Key 3 has an immutable field, and may be replaced.
fn made_anew() -> Scenario {
    Scenario::new("what cannot be changed is deleted and made anew where its app allows it")
        .given(|world| world.declare(0, 0..4, 1))
        .at(10, |world| world.declare(0, 0..4, 5))
        .expect(40, "it was replaced, once", |world| world.stand(0, 0..4, 5) && world.deletes() == 1)
        .expect(40, "it is ours and no tombstone", |world| world.claim(0, 3).is_some_and(|claim| !claim.tombstone))
}

/// Key 4 has one too, and may not be replaced.
fn not_made_anew() -> Scenario {
    Scenario::new("what cannot be changed stays where its app does not allow to make it anew")
        .with(|universe| {
            universe
                .controls
                .apps
                .values_mut()
                .for_each(|control| Arc::make_mut(control).on_failure = OnFailure::Alert);
        })
        .given(|world| world.declare(0, [0, 1, 4], 1))
        .at(10, |world| world.declare(0, [0, 1, 4], 5))
        .expect(40, "the report gives the reason", |world| world.reports(0, "replace not allowed"))
        .expect(40, "it is as it was", |world| world.stand(0, [4], 1) && world.deletes() == 0)
        .expect(40, "the others have moved on", |world| world.stand(0, 0..2, 5))
}

fn refused_anew() -> Scenario {
    Scenario::new("what cannot be changed stays as long as the target would not take the new one")
        .with(|universe| {
            universe
                .controls
                .apps
                .values_mut()
                .for_each(|control| Arc::make_mut(control).on_failure = OnFailure::Alert);
        })
        .given(|world| world.declare(0, 0..4, 1))
        .at(10, |world| {
            let key = world.key(0, 3).clone();
            world.targets[0].deny_create(&key);
            world.declare(0, 0..4, 5);
        })
        .expect(40, "it is as it was", |world| world.stand(0, [3], 1) && world.deletes() == 0)
        .expect(40, "the report gives the reason", |world| world.reports(0, "replacement refused"))
        .at(40, |world| {
            let key = world.key(0, 3).clone();
            world.allow(0, &key);
        })
        .expect(120, "it is replaced then", |world| world.stand(0, 0..4, 5) && world.deletes() == 1)
}
