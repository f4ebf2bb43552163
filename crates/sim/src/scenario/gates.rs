//! The gates that keep an app from moving, and their duration: windows, orders, deadlines, budgets.

use std::sync::Arc;

use setpoint_core::time::{Span, Timestamp};
use setpoint_engine::{AppControl, Order};

use super::Scenario;
use crate::fault::Fault;
use crate::instance::EPOCH;
use crate::universe::Universe;

pub(super) fn all() -> Vec<Scenario> {
    vec![
        window(),
        blessing_is_spent(),
        unknown_history(),
        branch_set_back(),
        deletes_count_for_a_day(),
        unobserved(),
        suspension_after_restart(),
        suspension_extended(),
        order_refused(),
    ]
}

/// Returns a minute of an exact clock.
fn minute(minute: u64) -> Timestamp {
    Timestamp::from_millis(EPOCH) + Span::minutes(minute)
}

fn control_of(universe: &mut Universe, app: usize) -> &mut AppControl {
    let app = universe.apps[app].clone();
    Arc::make_mut(universe.controls.apps.get_mut(&app).expect("it has a document"))
}

fn window() -> Scenario {
    Scenario::new("while a window is closed nothing declared is begun, and edits are healed to the last good bundle")
        .with(|universe| control_of(universe, 0).closed = vec![(minute(12), minute(60))])
        .given(|world| world.declare(0, 0..6, 1))
        .at(15, |world| world.declare(0, 0..5, 2))
        .at(30, |world| world.meddle_with(0, 1))
        .expect(58, "everything is as it was before the window closed", |world| {
            world.stand(0, 0..6, 1) && world.deletes() == 0
        })
        .expect(100, "it moves on when the window opens", |world| world.stand(0, 0..5, 2) && world.deletes() == 1)
}

/// The second rewritten head descends from the version that the person named, and not from the one
/// accepted since.
fn blessing_is_spent() -> Scenario {
    Scenario::new("a person's word on a rewritten history is spent by the next acceptance")
        .given(|world| world.declare(0, 0..4, 1))
        .at(5, |world| world.declare(0, 0..4, 2))
        .at(10, |world| world.force_push(0, 0..4, 3))
        .at(20, |world| world.bless(0))
        .at(30, |world| world.declare(0, 0..4, 2))
        .at(40, |world| world.declare(0, 0..4, 1))
        .at(55, |world| world.force_push(0, 0..4, 3))
        .expect(90, "the second rewritten history is not followed", |world| world.is_held(0))
}

fn unknown_history() -> Scenario {
    Scenario::new("a head of which the store cannot say what it descends from waits for a person")
        .given(|world| world.declare(0, 0..4, 1))
        .at(10, |world| world.suffer(&[Fault::UnknownHistory]))
        .at(12, |world| world.declare(0, 0..4, 2))
        .expect(40, "it is held where it was", |world| world.is_held(0) && world.stand(0, 0..4, 1))
        .at(40, |world| world.bless(0))
        .at(46, |world| world.bless(0))
        .expect(80, "it follows the person's order", |world| world.stand(0, 0..4, 2))
}

fn branch_set_back() -> Scenario {
    Scenario::new("a branch that is set back is not followed until a person says so")
        .given(|world| world.declare(0, 0..4, 1))
        .at(10, |world| world.declare(0, 0..4, 2))
        .at(25, |world| world.set_back(0))
        .expect(50, "nothing moves back", |world| world.stand(0, 0..4, 2))
        .at(50, |world| world.bless(0))
        .at(56, |world| world.bless(0))
        .expect(
            90,
            "it follows the person's order, unless a mirror responded once more with the abandoned head",
            |world| world.stand(0, 0..4, 1) || world.script.older_head.is_some(),
        )
}

/// A delete within the budget, then one that a person allows an hour later; after these, none is
/// left for that day.
fn deletes_count_for_a_day() -> Scenario {
    Scenario::new("deletes count for a whole day")
        .exact()
        .given(|world| world.declare(0, [0, 1, 2, 3, 4, 6, 8, 9], 1))
        .at(10, |world| world.declare(0, [0, 1, 2, 3, 4, 6, 8], 1))
        .at(75, |world| world.declare(0, [0, 1, 2, 3, 4, 6], 1))
        .at(80, |world| world.give(0, Order::Sync { allow_prune: 1 }))
        .expect(88, "one was deleted within the budget, and one that a person allowed", |world| world.deletes() == 2)
        .at(90, |world| world.declare(0, [0, 1, 2, 3, 4], 1))
        .expect(150, "no more is deleted", |world| world.deletes() == 2 && world.stand(0, [6], 1))
        .expect(150, "the report gives the reason", |world| world.reports(0, "over budget"))
}

fn unobserved() -> Scenario {
    Scenario::new("an app whose target cannot be observed is not rolled back")
        .given(|world| world.declare(0, 0..4, 1))
        .at(15, |world| {
            world.suffer(&[Fault::TargetUnreachable]);
            world.declare(0, 0..4, 2);
        })
        .expect(40, "it waits", |world| !world.is_held(0) && world.stand(0, 0..4, 1))
        .at(40, crate::world::World::recover)
        .expect(90, "it goes on", |world| world.stand(0, 0..4, 2))
}

fn suspension_after_restart() -> Scenario {
    Scenario::new("a suspension ends by itself after a restart")
        .given(|world| world.declare(0, 0..4, 1))
        .at(10, |world| world.suspend(0, 40))
        .at(14, |world| world.suspend(0, 40))
        .at(20, |world| world.crash(0))
        .at(25, |world| world.meddle_with(0, 1))
        .expect(38, "nothing is changed", |world| world.stand(0, [1], 90))
        .expect(60, "it is over, and what was edited is healed", |world| {
            !world.is_suspended(0) && world.stand(0, 0..4, 1)
        })
}

/// The order takes three seconds to be recorded. In that time the timer of the old end fires, and
/// there is something to heal.
fn suspension_extended() -> Scenario {
    Scenario::new("a suspension that is extended as it ends goes on")
        .exact()
        .given(|world| world.declare(0, 0..4, 1))
        .at(10, |world| world.suspend(0, 40))
        .at(30, |world| {
            world.meddle_with(0, 1);
            world.script.slow_records = 3_000;
        })
        .at_millis(40 * super::MINUTE - 11, |world| world.suspend(0, 70))
        .at(42, |world| world.script.slow_records = 0)
        .expect(65, "nothing is changed", |world| world.is_suspended(0) && world.stand(0, [1], 90))
        .expect(90, "it is healed at the new end", |world| world.stand(0, 0..4, 1))
}

fn order_refused() -> Scenario {
    Scenario::new("an order that cannot be recorded has no effect, and stands in the way of nothing")
        .given(|world| world.declare(0, 0..4, 1))
        .at(10, |world| world.give_too_long(0, Order::Hold))
        .at(14, |world| world.declare(0, 0..4, 2))
        .expect(40, "the next commit is followed", |world| !world.is_held(0) && world.stand(0, 0..4, 2))
        .at(40, |world| world.give_too_long(0, Order::Suspend { until: minute(300) }))
        .at(44, |world| world.declare(0, 0..4, 3))
        .expect(70, "and the next", |world| !world.is_suspended(0) && world.stand(0, 0..4, 3))
        .at(70, |world| world.give(0, Order::Suspend { until: Timestamp::from_millis(u64::MAX) }))
        .at(74, |world| world.declare(0, 0..4, 1))
        .expect(100, "and the next", |world| world.stand(0, 0..4, 1))
}
