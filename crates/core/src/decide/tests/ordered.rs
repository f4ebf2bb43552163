//! Order: waves, and resources that must be healthy before others follow.

use std::collections::BTreeSet;

use crate::bundle::Bundle;
use crate::check::{Rule, check};
use crate::claim::Ended;
use crate::intent::Verb;
use crate::live::{Health, Presence};
use crate::modes::Cause;
use crate::observed::Observed;
use crate::report::Why;
use crate::resource::Resource;

use super::world::{NOW, World, app, key, reasons, resource, verbs};

fn in_wave(n: u8, content: u8, wave: i32) -> Resource {
    Resource { wave, ..resource(n, content) }
}

fn world(resources: Vec<Resource>) -> World {
    let mut world = World::new(&[]);
    world.bundle = Bundle::new(app(), world.target.identity.clone(), resources).unwrap();
    world
}

fn sick(mut world: World, n: u8, health: Health) -> World {
    let Some(Observed::Known { value: Presence::Present(live), .. }) = world.observation.states.get_mut(&key(n)) else {
        panic!("there is nothing under {n}");
    };
    live.health = health;
    world
}

fn keys(world: &World) -> Vec<u8> {
    let steps = world.decide().plan.steps;
    steps.iter().map(|step| step.key.name().strip_prefix("/k").unwrap().parse().unwrap()).collect()
}

#[test]
fn a_wave_begins_once_the_earlier_ones_are_in_place_and_healthy() {
    let two = || world(vec![in_wave(1, 1, -1), in_wave(2, 1, 0), in_wave(3, 1, 5)]);
    assert_eq!(keys(&two().absent(1).absent(2).absent(3)), [1]);
    for health in [Health::Progressing, Health::Unknown, Health::Degraded] {
        let waiting = sick(two().converged(1, "u1", 1).absent(2).absent(3), 1, health);
        assert_eq!(verbs(&waiting.decide()), [], "{health:?}");
        assert_eq!(reasons(&waiting.decide())[0], Why::EarlierWave { wave: -1, key: key(1) });
    }
    assert_eq!(keys(&two().converged(1, "u1", 1).absent(2).absent(3)), [2]);
    assert_eq!(keys(&two().converged(1, "u1", 1).converged(2, "u2", 1).absent(3)), [3]);
}

#[test]
fn drift_is_put_right_whatever_is_wrong_with_earlier_waves() {
    let mut world = world(vec![in_wave(1, 1, 0), in_wave(2, 1, 1)]);
    world = sick(world.converged(1, "u1", 1), 1, Health::Degraded).converged(2, "u2", 1).live(2, "u2", 9);
    world.baselines.get_mut(&key(2)).unwrap().declared = in_wave(2, 1, 1).digest();
    assert_eq!(verbs(&world.decide()), [(Verb::Update, Cause::Drift)]);
}

#[test]
fn what_an_earlier_wave_needs_comes_with_it() {
    let needed = in_wave(1, 1, 7);
    let needs = Resource { after: [key(1)].into(), ..in_wave(2, 1, -3) };
    let world = world(vec![needed, needs, in_wave(3, 1, 0)]).absent(1).absent(2).absent(3);
    assert_eq!(keys(&world), [1, 2]);
    let declared = |n| &world.bundle.resources()[&key(n)];
    assert_eq!((declared(1).wave, declared(2).wave, declared(3).wave), (-3, -3, 0));
    assert!(declared(1).rank < declared(2).rank && declared(2).rank < declared(3).rank);
}

#[test]
fn later_waves_are_taken_down_first() {
    let resources = vec![in_wave(1, 1, 2), in_wave(2, 1, 1)];
    let ranks: Vec<u32> = world(resources).bundle.resources().values().map(|declared| declared.rank).collect();
    assert_eq!(ranks, [1, 0]);
}

#[test]
fn what_ran_to_a_good_end_holds_nothing_up_and_what_failed_does() {
    let migration = Resource { once: true, ..in_wave(1, 1, -1) };
    let after = |failed: bool, unseen: bool| {
        let mut world = world(vec![migration.clone(), in_wave(2, 1, 0)]).claim(1, Some("u1")).absent(1).absent(2);
        let declared = migration.digest();
        world.claimed(1).made = Some(Box::new(declared));
        world.claimed(1).ended = (!unseen).then_some(Ended { declared, failed, unseen: false });
        keys(&world)
    };
    assert_eq!(after(false, false), [2]);
    assert_eq!(after(false, true), [2], "that nobody saw it end is told, and not waited for");
    assert_eq!(after(true, false), [] as [u8; 0]);
}

#[test]
fn what_is_awaited_has_to_be_healthy_for_what_comes_after_it_and_for_nothing_else() {
    let definition = Resource { awaited: true, ..resource(1, 1) };
    let custom = Resource { after: [key(1)].into(), ..resource(2, 1) };
    let both = || world(vec![definition.clone(), custom.clone(), resource(3, 1)]).absent(2).absent(3);
    assert_eq!(keys(&both().absent(1)), [1, 3], "how the first one does is seen only once it is there");
    let installing = sick(both().converged(1, "u1", 1), 1, Health::Progressing);
    assert_eq!(keys(&installing), [3]);
    assert!(reasons(&installing.decide()).contains(&Why::DependencyNotHealthy { key: key(1) }));
    assert_eq!(keys(&both().converged(1, "u1", 1)), [3, 2]);
}

#[test]
fn heals_wait_until_what_is_awaited_is_there_and_not_until_it_is_well() {
    let definition = Resource { awaited: true, ..resource(1, 1) };
    let custom = Resource { after: [key(1)].into(), ..resource(2, 1) };
    let both = || world(vec![definition.clone(), custom.clone()]).claim(1, Some("u1")).claim(2, Some("u2"));
    let gone = |mut world: World| {
        world.converged_before = true;
        world.absent(2)
    };
    assert_eq!(keys(&gone(both().absent(1))), [1]);
    let there = |health| sick(gone(both().converged(1, "u1", 1)), 1, health);
    assert_eq!(keys(&there(Health::Progressing)), [] as [u8; 0]);
    for health in [Health::Healthy, Health::Degraded, Health::Unknown] {
        let world = there(health);
        assert_eq!(verbs(&world.decide()), [(Verb::Create, Cause::Drift)], "{health:?}");
        assert_eq!(keys(&world), [2]);
        assert_eq!(check(&world.decide().plan, &world.view(&app()), NOW), []);
        // A resource that is progressing, or changed by the same plan, is waited for.
        for early in [sick(world.clone(), 1, Health::Progressing), world.clone().absent(1), world.clone().unknown(1)] {
            let violations = check(&world.decide().plan, &early.view(&app()), NOW);
            assert!(violations.iter().any(|violation| violation.rule == Rule::InItsTurn), "{violations:?}");
        }
    }
}

#[test]
fn a_plan_that_begins_a_wave_too_early_is_refused() {
    let early = world(vec![in_wave(1, 1, 0), in_wave(2, 1, 1)]).converged(1, "u1", 1).absent(2);
    let (app, plan) = (app(), early.decide().plan);
    let broken = |world: &World| -> BTreeSet<String> {
        check(&plan, &world.view(&app), NOW).into_iter().map(|violation| violation.rule.to_string()).collect()
    };
    assert_eq!(broken(&early), [].into());
    let in_turn = BTreeSet::from([Rule::InItsTurn.to_string()]);
    assert_eq!(broken(&sick(early.clone(), 1, Health::Degraded)), in_turn);
    assert_eq!(broken(&early.clone().unknown(1)), in_turn);
    assert_eq!(broken(&early.absent(1)), in_turn);
}
