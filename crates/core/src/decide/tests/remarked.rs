//! Undeclared fields on objects of ours: reported once, and nothing else.

use std::sync::Arc;

use super::world::{NOW, World, key, live, verbs};
use crate::claim::Claim;
use crate::decide::{Decision, Drift, Over};
use crate::facts::Change;
use crate::intent::Verb;
use crate::live::{Health, Live, Presence, Remark, Writer};
use crate::modes::{Cause, State, States};
use crate::observed::Observed;

fn remark(cause: Cause, path: &str, holder: &str, time: u8) -> Remark {
    let writer = Writer::Likely { who: format!("{holder} at {time}") };
    Remark { cause, path: path.into(), holder: holder.into(), writer }
}

fn remarked(remarks: &[Remark]) -> Live {
    Live { remarks: Some(remarks.into()), ..live("u1", 1) }
}

/// An app in place whose object has this live state.
fn seen(claim: Option<&Arc<Claim>>, live: Live) -> World {
    let mut world = World::new(&[(1, 1)]).converged(1, "u1", 1);
    if let Some(claim) = claim {
        world.claims.insert(key(1), Arc::clone(claim));
    }
    world.observation.states.insert(key(1), Observed::known(Presence::Present(live), NOW));
    world
}

fn claim_of(decision: &Decision) -> Arc<Claim> {
    let [Change::PutClaim { claim, from: None }] = &decision.changes[..] else { panic!("{:?}", decision.changes) };
    Arc::clone(claim)
}

fn told(drifts: &[Drift]) -> Vec<(Cause, Vec<&str>)> {
    drifts.iter().map(|drift| (drift.cause, drift.beside.iter().map(|path| &**path).collect())).collect()
}

#[test]
fn what_is_added_is_told_once_by_writer_and_makes_nothing_out_of_sync() {
    let label = remark(Cause::Addition, "metadata.labels.team", "kubectl", 1);
    let selector = remark(Cause::Addition, "spec.nodeSelector", "kubectl", 1);
    let other = remark(Cause::Leftover, "spec.paused", "helm", 1);
    let first = seen(None, remarked(&[label.clone(), selector.clone(), other.clone()])).decide();
    assert!(first.plan.is_empty() && first.report.is_empty() && first.drifts.is_empty(), "{first:?}");
    assert_eq!((first.in_sync, first.health), (true, Health::Healthy));
    let expected =
        [(Cause::Addition, vec!["metadata.labels.team", "spec.nodeSelector"]), (Cause::Leftover, vec!["spec.paused"])];
    assert_eq!(told(&first.told), expected);
    assert_eq!(told(&first.remarks), expected);
    let claim = claim_of(&first);
    // If the same holder writes it again, it is the same remark; and the memory of it outlives the
    // process.
    let again = remark(Cause::Addition, "metadata.labels.team", "kubectl", 2);
    let world = seen(Some(&claim), remarked(&[again, selector, other]));
    let mut restarted = world.clone();
    restarted.baselines.clear();
    for world in [world, restarted] {
        let decision = world.decide();
        assert!(decision.is_idle() && decision.told.is_empty() && decision.over.is_empty(), "{decision:?}");
        assert_eq!(told(&decision.remarks), expected, "it is still shown");
    }
}

#[test]
fn only_what_is_new_is_told_and_what_is_gone_is_over() {
    let label = remark(Cause::Addition, "metadata.labels.team", "kubectl", 1);
    let claim = claim_of(&seen(None, remarked(std::slice::from_ref(&label))).decide());
    let other = remark(Cause::Addition, "metadata.labels.tier", "kubectl", 1);
    let more = seen(Some(&claim), remarked(&[label, other.clone()])).decide();
    assert_eq!(told(&more.told), [(Cause::Addition, vec!["metadata.labels.tier"])]);
    assert_eq!(more.over, []);
    let less = seen(Some(&claim_of(&more)), remarked(std::slice::from_ref(&other))).decide();
    assert_eq!(less.told, []);
    assert_eq!(less.over, [Over { key: key(1), paths: vec!["metadata.labels.team".into()] }]);
    let taken_over = remark(Cause::Addition, "metadata.labels.tier", "operator", 1);
    let moved = seen(Some(&claim_of(&less)), remarked(&[taken_over])).decide();
    assert_eq!((told(&moved.told).len(), moved.over.len()), (1, 1), "another holder is another addition");
    let none = seen(Some(&claim_of(&moved)), remarked(&[])).decide();
    assert_eq!(none.over, [Over { key: key(1), paths: vec!["metadata.labels.tier".into()] }]);
    assert_eq!(claim_of(&none).told, None);
}

#[test]
fn a_look_that_cannot_tell_ends_nothing() {
    let label = remark(Cause::Addition, "metadata.labels.team", "kubectl", 1);
    let claim = claim_of(&seen(None, remarked(&[label])).decide());
    let blind = seen(Some(&claim), live("u1", 1)).decide();
    assert!(blind.is_idle() && blind.over.is_empty() && blind.told.is_empty(), "{blind:?}");
    let drifted = seen(Some(&claim), live("u1", 2)).decide();
    assert_eq!(verbs(&drifted), [(Verb::Update, Cause::Drift)]);
    assert_eq!(drifted.plan.steps[0].claim.told, claim.told, "putting it right forgets nothing");
}

#[test]
fn all_of_it_is_over_with_the_object() {
    let label = remark(Cause::Addition, "metadata.labels.team", "kubectl", 1);
    let claim = claim_of(&seen(None, remarked(&[label])).decide());
    let over = [Over { key: key(1), paths: vec!["metadata.labels.team".into()] }];
    let mut gone = World::new(&[(1, 1)]).converged(1, "u1", 1).absent(1);
    gone.claims.insert(key(1), Arc::clone(&claim));
    let decision = gone.decide();
    assert_eq!(decision.over, over);
    assert_eq!(claim_of(&decision).told, None);
    assert_eq!(verbs(&decision), [(Verb::Create, Cause::Drift)]);
    assert_eq!(decision.plan.steps[0].claim.told, None);
    let mut undeclared = World::new(&[]).absent(1);
    undeclared.claims.insert(key(1), claim);
    assert_eq!(undeclared.decide().over, over);
}

#[test]
fn what_is_left_alone_is_told_in_every_mode() {
    for state in State::ALL {
        let mut world = seen(None, remarked(&[remark(Cause::Addition, "metadata.labels.team", "kubectl", 1)]));
        world.states = States::default().with(state);
        let decision = world.decide();
        assert_eq!(decision.told.len(), 1, "{state}");
        assert!(decision.plan.is_empty() && decision.in_sync, "{state}");
    }
}
