//! Properties of every decision, over random worlds.

use crate::bundle::Bundle;
use crate::claim::{Claim, ClaimOrigin};
use crate::decide::Decision;
use crate::facts::Change;
use crate::intent::{IntentId, Verb};
use crate::live::{Baseline, Health, Live, Presence};
use crate::modes::{State, States};
use crate::name::{TargetIdentity, Uid};
use crate::observed::{Observed, UnknownReason};
use crate::report::Why;
use crate::resource::Resource;
use crate::time::Span;
use proptest::prelude::*;
use std::sync::Arc;

use super::world::{NOW, World, app, body, claim, key, live, resource};

fn any_presence() -> impl Strategy<Value = Option<Observed<Presence>>> {
    prop_oneof![
        1 => Just(None),
        2 => Just(Some(Observed::known(Presence::Absent, NOW))),
        1 => Just(Some(Observed::unknown(UnknownReason::NotLooked))),
        6 => (0u8..3, 0u8..3, any::<bool>(), any_health()).prop_map(|(uid, content, controlled, health)| {
            let live = Live { controlled, health, ..live(&format!("u{uid}"), content) };
            Some(Observed::known(Presence::Present(live), NOW))
        }),
    ]
}

fn any_health() -> impl Strategy<Value = Health> {
    prop_oneof![4 => Just(Health::Healthy), 1 => Just(Health::Progressing), 1 => Just(Health::Degraded)]
}

/// For each key: its wave, whether it is awaited, whether it comes after the key before.
type Order = Vec<(i32, bool, bool)>;

fn unordered() -> Order {
    vec![(0, false, false); 6]
}

fn any_order() -> impl Strategy<Value = Order> {
    proptest::collection::vec((-1i32..2, any::<bool>(), any::<bool>()), 6)
}

fn ordered(declared: &[(u8, u8)], order: &Order) -> Bundle {
    let resources = declared.iter().map(|(n, content)| {
        let (wave, awaited, follows) = order[usize::from(*n)];
        let before = declared.iter().map(|(other, _)| *other).find(|other| follows && *other + 1 == *n);
        Resource { wave, awaited, after: before.map(key).into_iter().collect(), ..resource(*n, *content) }
    });
    Bundle::new(app(), TargetIdentity::new("host-1").unwrap(), resources.collect()).unwrap()
}

fn any_claim(n: u8) -> impl Strategy<Value = Option<Claim>> {
    let origin = prop_oneof![
        4 => Just(ClaimOrigin::Created),
        1 => Just(ClaimOrigin::Adopted),
        1 => Just(ClaimOrigin::Recovered)
    ];
    let fields =
        (proptest::option::of(0u8..3), origin, proptest::bool::weighted(0.1), proptest::bool::weighted(0.1), 0u32..3);
    proptest::option::weighted(0.7, fields).prop_map(move |fields| {
        fields.map(|(uid, origin, tombstone, protected, rank)| Claim {
            uid: uid.map(|uid| Uid::new(&format!("u{uid}")).unwrap()),
            origin,
            tombstone,
            protected,
            rank,
            ..claim(n, None)
        })
    })
}

fn any_world() -> impl Strategy<Value = World> {
    prop_oneof![any_world_in(Just(unordered())), any_world_in(any_order())]
}

fn any_world_in(order: impl Strategy<Value = Order>) -> impl Strategy<Value = World> {
    let per_key = (0u8..6)
        .map(|n| (any_presence(), any_claim(n), proptest::option::of(0u8..3), 0u8..12, proptest::bool::weighted(0.1)))
        .collect::<Vec<_>>();
    let states = proptest::collection::vec(proptest::sample::select(State::ALL.to_vec()), 0..2);
    let flags = (any::<bool>(), any::<bool>(), proptest::bool::weighted(0.2), any::<bool>(), any::<bool>());
    let numbers = (0u32..40, 0u32..4, 0u32..12, 0u64..90, 0u32..4);
    (per_key, states, flags, numbers, order).prop_map(|(per_key, states, flags, numbers, order)| {
        let declared: Vec<_> =
            (0u8..6).zip(&per_key).filter_map(|(n, fields)| fields.2.map(|content| (n, content))).collect();
        let mut world = World::new(&declared);
        world.bundle = ordered(&declared, &order);
        for (n, (presence, claim, content, base, intent)) in (0u8..6).zip(per_key) {
            world.observation.states.extend(presence.map(|presence| (key(n), presence)));
            world.claims.extend(claim.map(|claim| (key(n), Arc::new(claim))));
            if base < 3 {
                let unordered = || resource(n, content.unwrap_or(base)).digest();
                let declared = world.bundle.resources().get(&key(n)).map_or_else(unordered, |declared| declared.digest);
                let fingerprint = Live::fingerprint_of(&body(base));
                world.baselines.insert(key(n), Baseline { declared, fingerprint });
            }
            if intent {
                world.open_intents.insert(key(n), IntentId { epoch: 1, number: n.into() });
            }
        }
        world.states = states.into_iter().fold(world.states, States::with);
        (world.rules.prune, world.rules.adopt, world.retiring, world.converged_before, _) = flags;
        if flags.4 {
            world = world.rendered_afresh();
        }
        world.budget.owned = numbers.0;
        world.budget.spent = numbers.1;
        world.budget.fleet_spent = numbers.2;
        world.observation.at = NOW - Span::seconds(numbers.3);
        if numbers.4 == 0 {
            world.target.breaker_open = true;
        }
        world
    })
}

/// Applies a plan and the bookkeeping to the world, as a faithful target and ledger would.
fn carry_out(world: &World, decision: &Decision) -> World {
    let mut next = world.clone();
    for (key, baseline) in &decision.baselines {
        next.baselines.insert(key.clone(), *baseline);
    }
    for change in &decision.changes {
        match change {
            Change::PutClaim { claim, .. } => drop(next.claims.insert(claim.key.clone(), claim.clone())),
            Change::DropClaim { key, .. } => drop(next.claims.remove(key)),
            other => panic!("{other:?}"),
        }
    }
    for step in &decision.plan.steps {
        next.claims.insert(step.key.clone(), Arc::new(step.claim.clone()));
        let presence = match (&step.resource, step.verb) {
            (Some(resource), Verb::Create | Verb::Update) => {
                let uid = step.expect.as_ref().map_or("new", |expect| expect.uid.as_str());
                let mut made = live(uid, 0);
                made.value = Arc::clone(&resource.body);
                made.fingerprint = Live::fingerprint_of(&made.value);
                Arc::make_mut(next.claims.get_mut(&step.key).unwrap()).uid = Some(made.uid.clone());
                let baseline = Baseline { declared: resource.digest(), fingerprint: made.fingerprint };
                next.baselines.insert(step.key.clone(), baseline);
                Presence::Present(made)
            }
            _ => Presence::Absent,
        };
        next.observation.states.insert(step.key.clone(), Observed::known(presence, NOW));
    }
    next.budget.spent += decision.plan.deletes() as u32;
    next.budget.fleet_spent += decision.plan.deletes() as u32;
    next
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    /// The linter, which shares no judgement with `decide`, finds nothing in any decided plan;
    /// asserted in `decide()`.
    #[test]
    fn no_decided_plan_breaks_a_rule(world in any_world()) {
        world.decide();
    }

    #[test]
    fn nothing_is_deleted_that_is_declared_unclaimed_unknown_or_another_incarnation(world in any_world()) {
        for step in world.decide().plan.steps.iter().filter(|step| step.verb == Verb::Delete) {
            let claim = &world.claims[&step.key];
            let Some(Presence::Present(live)) = world.observation.states[&step.key].as_known() else { panic!() };
            prop_assert_eq!(claim.uid.as_ref(), Some(&live.uid));
            prop_assert!(world.retiring || !world.bundle.resources().contains_key(&step.key));
            prop_assert!(world.observation.is_complete());
        }
    }

    /// Carried out faithfully, decisions come to rest, and at rest nothing is written (S4).
    #[test]
    fn decisions_come_to_rest(world in any_world()) {
        let mut world = world;
        for _ in 0..12 {
            let decision = world.decide();
            if decision.is_idle() || decision.plan.is_empty() && decision.changes.is_empty() {
                prop_assert!(carry_out(&world, &decision).decide().plan.is_empty());
                return Ok(());
            }
            world = carry_out(&world, &decision);
        }
        prop_assert!(false, "still busy after 12 rounds: {:?}", world.decide());
    }

    /// Once everything is healthy, waves and awaited resources withhold nothing for good: the world
    /// comes to rest as declared.
    #[test]
    fn order_delays_and_never_withholds(world in any_world()) {
        let mut world = world;
        for _ in 0..12 {
            for state in world.observation.states.values_mut() {
                if let Observed::Known { value: Presence::Present(live), .. } = state {
                    live.health = Health::Healthy;
                }
            }
            world = carry_out(&world, &world.decide());
        }
        let report = world.decide().report;
        let by_order =
            |why: &Why| matches!(why, Why::DependencyNotHealthy { .. } | Why::EarlierWave { .. });
        let blockers = report.iter().filter(|withheld| !by_order(&withheld.why)).count();
        prop_assert!(blockers > 0 || report.is_empty(), "{report:?}");
    }

    /// A key that cannot be observed changes nothing for keys that do not depend on it, except for
    /// deletes.
    #[test]
    fn one_unseen_resource_does_not_block_the_others(world in any_world_in(Just(unordered())), blind in 0u8..6) {
        let writes = |decision: &Decision| {
            let steps = decision.plan.steps.iter().filter(|step| step.verb != Verb::Delete && step.key != key(blind));
            steps.map(|step| (step.key.clone(), step.verb)).collect::<Vec<_>>()
        };
        prop_assert_eq!(writes(&world.decide()), writes(&world.clone().unknown(blind).decide()));
    }
}
