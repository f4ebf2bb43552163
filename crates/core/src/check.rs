//! The plan linter: rules that no plan may break. Runs on every plan before it is executed, in
//! production, in the simulator and in tests.
//!
//! It reads the same snapshot as [`decide`](crate::decide::decide) but shares no judgement with it:
//! `decide` works out what should be done, the linter only checks whether a plan breaks a rule. A
//! violation stops the target, not the process.

use std::collections::BTreeSet;

use crate::claim::ClaimOrigin;
use crate::intent::Verb;
use crate::key::Key;
use crate::live::{Health, Live, Presence};
use crate::modes::{Cause, Permission};
use crate::mutant::Mutant;
use crate::observed::Observed;
use crate::plan::{Plan, Step};
use crate::prune::{app_budget, fleet_budget};
use crate::snapshot::{FRESH, Snapshot};
use crate::time::Timestamp;

/// A rule that a plan breaks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the step on {key} breaks a rule: {rule}. This is a defect in Setpoint; the plan was not executed")]
pub struct Violation {
    pub key: Key,
    pub rule: Rule,
}

/// The rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Rule {
    #[error("one step for each key")]
    OneStepPerKey,
    #[error("the plan, its claims and its snapshot name the same app and target")]
    SameAppAndTarget,
    #[error("the app's states allow the cause")]
    Permitted,
    #[error("the app's scope may write the object")]
    WithinScope,
    #[error("an object is changed only where its state is known")]
    SeenBeforeChanged,
    #[error("an object is not changed while an earlier intent on it is open")]
    NoOpenIntent,
    #[error("a create is for a declared key without a live object")]
    CreateIsDeclaredAndAbsent,
    #[error("an update is for a declared key and names the observed incarnation")]
    UpdateIsDeclaredAndSeen,
    #[error("the managers of an object's fields change only during a recorded adoption, and in a step of their own")]
    FoldIsRecorded,
    #[error("a delete names the claimed and observed incarnation")]
    DeleteIsOwned,
    #[error("a delete that the target has accepted is not repeated")]
    DeleteIsNotRepeated,
    #[error("a declared object is not deleted")]
    DeclaredIsKept,
    #[error("a delete leaves a tombstone, unless it replaces a declared object")]
    DeleteLeavesTombstone,
    #[error("a delete rests on a complete and fresh observation")]
    DeleteIsSeenWhole,
    #[error("nothing is deleted for an empty bundle unless the app is retired")]
    EmptyBundleKeepsAll,
    #[error("nothing is deleted in quarantine or behind an open breaker")]
    NoDeleteInDoubt,
    #[error("an object that another one controls is not deleted")]
    ControlledIsKept,
    #[error("an adopted, recovered or protected object is deleted only with a person's permission")]
    LeaveForOthers,
    #[error("a prune rests on a fresh render that equals the bundle, and on `sync.prune`")]
    PruneIsRendered,
    #[error("an object that another app owns and declares is not changed")]
    OthersAreLeftAlone,
    #[error("deletes stay within the budgets or a person's permission")]
    WithinBudget,
    #[error("deletes and other changes do not share a plan")]
    PruneLast,
    #[error(
        "a declared object is deleted only to be created again, alone in its plan: its app allows it, the target refused its change and would accept the new one"
    )]
    ReplaceIsProven,
    #[error("a new resource is begun only when every resource that must be healthy before it is")]
    InItsTurn,
}

/// Returns every rule that the plan breaks; empty for a sound plan.
pub fn check(plan: &Plan, snapshot: &Snapshot<'_>, now: Timestamp) -> Vec<Violation> {
    let mut violations = Vec::new();
    if Mutant::any_is_on() {
        return violations;
    }
    let mut keys = BTreeSet::new();
    for step in &plan.steps {
        let mut broken = |holds: bool, rule| {
            if !holds {
                violations.push(Violation { key: step.key.clone(), rule });
            }
        };
        broken(keys.insert(&step.key), Rule::OneStepPerKey);
        broken(names_agree(plan, step, snapshot), Rule::SameAppAndTarget);
        broken(snapshot.states.permission(step.cause).0 == Permission::Act, Rule::Permitted);
        broken(snapshot.rules.boundary.allows(&step.key), Rule::WithinScope);
        broken(!snapshot.open_intents.contains_key(&step.key), Rule::NoOpenIntent);
        let others = snapshot.elsewhere.get(&step.key);
        let untouched = others.is_none_or(|others| !(others.declares && others.claim.is_some()));
        broken(untouched, Rule::OthersAreLeftAlone);
        let Some(presence) = snapshot.observation.states.get(&step.key).and_then(Observed::as_known) else {
            broken(false, Rule::SeenBeforeChanged);
            continue;
        };
        broken(!step.folds || fold_is_sound(step, snapshot), Rule::FoldIsRecorded);
        match (step.verb, presence) {
            (Verb::Create, _) => broken(create_is_sound(step, presence, snapshot), Rule::CreateIsDeclaredAndAbsent),
            (Verb::Update, _) => broken(update_is_sound(step, presence, snapshot), Rule::UpdateIsDeclaredAndSeen),
            (Verb::Delete, Presence::Present(live)) => check_delete(step, live, snapshot, now, &mut broken),
            (Verb::Delete, Presence::Absent) => broken(false, Rule::DeleteIsOwned),
        }
    }
    check_turns(plan, snapshot, &mut violations);
    check_deletes_together(plan, snapshot, &mut violations);
    violations
}

fn names_agree(plan: &Plan, step: &Step, snapshot: &Snapshot<'_>) -> bool {
    let identity = &snapshot.target.identity;
    plan.app == *snapshot.app
        && plan.target == *identity
        && plan.bundle == snapshot.bundle.digest()
        && step.claim.app == plan.app
        && step.claim.target == *identity
        && step.claim.key == step.key
}

fn declares(snapshot: &Snapshot<'_>, key: &Key) -> bool {
    !snapshot.retiring && snapshot.bundle.resources().contains_key(key)
}

fn create_is_sound(step: &Step, presence: &Presence, snapshot: &Snapshot<'_>) -> bool {
    declares(snapshot, &step.key) && *presence == Presence::Absent && step.expect.is_none() && step.resource.is_some()
}

fn update_is_sound(step: &Step, presence: &Presence, snapshot: &Snapshot<'_>) -> bool {
    let Presence::Present(live) = presence else { return false };
    let expected = step.expect.as_ref();
    declares(snapshot, &step.key)
        && step.resource.is_some()
        && expected.is_some_and(|expect| expect.uid == live.uid && expect.version.as_ref() == Some(&live.version))
        && step.claim.uid.as_ref() == Some(&live.uid)
}

fn fold_is_sound(step: &Step, snapshot: &Snapshot<'_>) -> bool {
    let claim = snapshot.claims.get(&step.key);
    let recorded = claim.is_some_and(|claim| **claim == step.claim && claim.folding.is_some());
    step.verb == Verb::Update && step.differences.is_empty() && recorded
}

fn check_delete(
    step: &Step,
    live: &Live,
    snapshot: &Snapshot<'_>,
    now: Timestamp,
    broken: &mut impl FnMut(bool, Rule),
) {
    let claim = snapshot.claims.get(&step.key);
    let owned = claim.is_some_and(|claim| claim.app == *snapshot.app && claim.uid.as_ref() == Some(&live.uid))
        && step.expect.as_ref().is_some_and(|expect| expect.uid == live.uid && expect.version.is_some());
    broken(owned, Rule::DeleteIsOwned);
    broken(live.deleting.is_none(), Rule::DeleteIsNotRepeated);
    let replaces = step.cause == Cause::Replace;
    broken(!declares(snapshot, &step.key) || replaces, Rule::DeclaredIsKept);
    broken(!replaces || replace_is_proven(step, live, snapshot, now), Rule::ReplaceIsProven);
    let declared_elsewhere = snapshot.elsewhere.get(&step.key).is_some_and(|elsewhere| elsewhere.declares);
    broken(!declared_elsewhere, Rule::DeclaredIsKept);
    broken(step.claim.tombstone != replaces, Rule::DeleteLeavesTombstone);
    let whole = snapshot.observation.states.values().all(Observed::is_known);
    broken(whole && now.since(snapshot.observation.at) <= FRESH, Rule::DeleteIsSeenWhole);
    broken(snapshot.retiring || !snapshot.bundle.resources().is_empty(), Rule::EmptyBundleKeepsAll);
    broken(now >= snapshot.target.quarantine_until && !snapshot.target.breaker_open, Rule::NoDeleteInDoubt);
    broken(!live.controlled, Rule::ControlledIsKept);
    broken(matches!(step.cause, Cause::Prune | Cause::Retire | Cause::Replace), Rule::Permitted);
    let leave = snapshot.budget.allowance.as_ref().is_some_and(|leave| leave.bundle == snapshot.bundle.digest());
    let ordinary = claim.is_some_and(|claim| claim.origin == ClaimOrigin::Created && !claim.protected);
    let paid = claim.is_some_and(|claim| claim.tombstone && claim.origin != ClaimOrigin::Recovered);
    broken(ordinary || leave || paid, Rule::LeaveForOthers);
    let rendered = snapshot.answers.fresh_render.is_some_and(|render| {
        render.of == snapshot.bundle.digest() && render.rendered == render.of && now.since(render.at) <= FRESH
    });
    broken(snapshot.retiring || replaces || snapshot.rules.prune && rendered, Rule::PruneIsRendered);
}

fn replace_is_proven(step: &Step, live: &Live, snapshot: &Snapshot<'_>, now: Timestamp) -> bool {
    let Some(declared) = snapshot.bundle.resources().get(&step.key).filter(|_| !snapshot.retiring) else {
        return false;
    };
    let made = Some(Box::new(declared.digest));
    let refused = snapshot.answers.immutable.get(&step.key);
    let taken = snapshot.answers.replacements.get(&step.key);
    declared.resource.replace
        && !declared.resource.protected
        && snapshot.claims.get(&step.key).is_some_and(|claim| !claim.protected && claim.made != made)
        && step.resource.as_ref() == Some(&declared.resource)
        && refused.is_some_and(|refused| refused.uid == live.uid && refused.declared == declared.digest)
        && taken.is_some_and(|taken| {
            taken.uid == live.uid
                && taken.version == live.version
                && taken.declared == declared.digest
                && taken.verdict.is_ok()
                && now.since(taken.at) <= FRESH
        })
}

/// Checks that each step waits for its turn. An awaited resource, or one of an earlier wave, must
/// be present and healthy, and the same plan must not touch it. A resource that ran once may be
/// gone. A heal also waits for awaited resources, except for those that are degraded or of unknown
/// health and that the plan does not touch.
fn check_turns(plan: &Plan, snapshot: &Snapshot<'_>, violations: &mut Vec<Violation>) {
    let declared = snapshot.bundle.resources();
    if snapshot.retiring || !snapshot.bundle.waits_for_health() {
        return;
    }
    let touched: BTreeSet<&Key> = plan.steps.iter().map(|step| &step.key).collect();
    let is_well = |key: &Key| match snapshot.observation.states.get(key).and_then(Observed::as_known) {
        Some(Presence::Present(live)) => live.health == Health::Healthy,
        Some(Presence::Absent) => declared[key].resource.once,
        None => false,
    };
    let is_ill = |key: &Key| {
        let seen = snapshot.observation.states.get(key).and_then(Observed::as_known);
        matches!(seen, Some(Presence::Present(live)) if matches!(live.health, Health::Degraded | Health::Unknown))
    };
    let unwell: Vec<&Key> = declared.keys().filter(|key| touched.contains(key) || !is_well(key)).collect();
    let first = unwell.iter().map(|key| declared[*key].wave).min();
    for step in plan.steps.iter().filter(|step| step.verb != Verb::Delete || step.cause == Cause::Replace) {
        let Some(own) = declared.get(&step.key) else { continue };
        let heals = matches!(step.cause, Cause::Drift | Cause::Addition);
        let in_turn = heals || first.is_none_or(|first| own.wave <= first);
        let is_passed_over = |key: &Key| heals && !touched.contains(key) && is_ill(key);
        let waits_for = |key: &Key| declared[key].resource.awaited && own.resource.after.contains(key);
        if !in_turn || unwell.iter().any(|key| waits_for(key) && !is_passed_over(key)) {
            violations.push(Violation { key: step.key.clone(), rule: Rule::InItsTurn });
        }
    }
}

fn check_deletes_together(plan: &Plan, snapshot: &Snapshot<'_>, violations: &mut Vec<Violation>) {
    let deletes = plan.steps.iter().filter(|step| step.verb == Verb::Delete);
    let Some(first) = deletes.clone().next() else { return };
    let paid_before = |step: &&Step| snapshot.claims.get(&step.key).is_some_and(|claim| claim.tombstone);
    // A replaced object is created again: its delete costs nothing.
    let costs = |step: &&Step| !paid_before(step) && step.cause != Cause::Replace;
    let new = deletes.clone().filter(costs).count() as u64;
    let budget = snapshot.budget;
    let leave =
        budget.allowance.as_ref().filter(|leave| leave.bundle == plan.bundle).map_or(0, |leave| u64::from(leave.left));
    let beyond_leave = new.saturating_sub(leave);
    let left = |budget: u32, spent: u32| u64::from(budget.saturating_sub(spent));
    let within_app = snapshot.retiring || beyond_leave <= left(app_budget(budget.owned), budget.spent);
    let within_fleet = beyond_leave <= left(fleet_budget(budget.fleet_owned), budget.fleet_spent);
    if !(within_app && within_fleet) {
        violations.push(Violation { key: first.key.clone(), rule: Rule::WithinBudget });
    }
    let replaces = deletes.clone().any(|step| step.cause == Cause::Replace);
    if replaces && plan.steps.len() > 1 {
        violations.push(Violation { key: first.key.clone(), rule: Rule::ReplaceIsProven });
    }
    if deletes.count() != plan.steps.len() {
        violations.push(Violation { key: first.key.clone(), rule: Rule::PruneLast });
    }
}
