//! Puts steps in order. Withholds those that come after a resource that is not in place or not
//! healthy yet.

use std::collections::BTreeSet;

use crate::key::Key;
use crate::live::{Health, Presence};
use crate::modes::Cause;
use crate::mutant::Mutant;
use crate::observed::Observed;
use crate::report::Why;
use crate::resource::Resource;
use crate::snapshot::Snapshot;

use super::Draft;

pub(super) fn put_in_order(draft: &mut Draft<'_>) {
    hold_back(draft);
    draft.decision.plan.steps.sort_by(|a, b| (a.rank, &a.key).cmp(&(b.rank, &b.key)));
}

/// Withholds steps that must wait. A step is taken only if every resource before it is in place or
/// is created by an earlier step of the same plan. A resource that must also be healthy cannot be
/// created by the same plan: its health is only observed afterwards.
fn hold_back(draft: &mut Draft<'_>) {
    if draft.decision.plan.steps.is_empty() && draft.stuck.is_empty() {
        return;
    }
    let mut unready = unready(draft);
    let by_health = draft.snapshot.bundle.waits_for_health() && !Mutant::IgnoreWaves.is_on();
    if !by_health && unready.is_empty() {
        return;
    }
    if by_health {
        draft.unfinished = first_unfinished(draft, &unready);
    }
    let mut steps = std::mem::take(&mut draft.decision.plan.steps);
    steps.sort_by(|a, b| (a.rank, &a.key).cmp(&(b.rank, &b.key)));
    let changing: BTreeSet<Key> = steps.iter().map(|step| step.key.clone()).collect();
    for step in steps {
        let resource = step.resource.as_ref().expect("steps for declared resources carry them");
        let missing = resource.after.iter().find(|key| unready.contains(key)).cloned();
        let why = missing.map(|key| Why::DependencyNotReady { key }).or_else(|| {
            by_health.then(|| not_healthy_before(draft.snapshot, resource, step.cause, &changing)).flatten()
        });
        match why.or_else(|| in_a_later_wave(draft, &step.key, step.cause)) {
            Some(why) => {
                unready.insert(step.key.clone());
                draft.withhold(&step.key, step.cause, why);
            }
            None => draft.step(step),
        }
    }
}

/// Returns the keys that need a change but get none now.
fn unready(draft: &Draft<'_>) -> BTreeSet<Key> {
    // An end that was not observed is reported, but needs no change.
    let waiting = draft.decision.report.iter().filter(|withheld| withheld.why != Why::NotSeenToEnd);
    let stuck = draft.stuck.iter().map(|stuck| &stuck.claim.key);
    waiting.map(|withheld| &withheld.key).chain(stuck).cloned().collect()
}

/// Returns the earliest wave with a resource that is not in place or not healthy, and its first
/// such key.
fn first_unfinished(draft: &Draft<'_>, unready: &BTreeSet<Key>) -> Option<(i32, Key)> {
    let changing: BTreeSet<&Key> = draft.decision.plan.steps.iter().map(|step| &step.key).collect();
    let declared = draft.snapshot.bundle.resources().iter();
    let unfinished =
        declared.filter(|(key, _)| unready.contains(key) || changing.contains(key) || !is_well(draft.snapshot, key));
    unfinished.map(|(key, declared)| (declared.wave, key)).min().map(|(wave, key)| (wave, key.clone()))
}

/// Reports whether a resource is healthy, or gone after it ended with success. The caller knows
/// that its absence is no gap.
fn is_well(snapshot: &Snapshot<'_>, key: &Key) -> bool {
    match snapshot.observation.states.get(key).and_then(Observed::as_known) {
        Some(Presence::Present(live)) => live.health == Health::Healthy,
        Some(Presence::Absent) => {
            !snapshot.claims.get(key).is_some_and(|claim| claim.ended.is_some_and(|ended| ended.failed))
        }
        None => false,
    }
}

/// Returns why a resource waits for the health of one before it. A heal does not wait for resources
/// that are ill, only for those that are progressing: the healed resource worked with the ill ones
/// before.
pub(super) fn not_healthy_before(
    snapshot: &Snapshot<'_>,
    resource: &Resource,
    cause: Cause,
    changing: &BTreeSet<Key>,
) -> Option<Why> {
    let awaited = |key: &&Key| snapshot.bundle.resources().get(*key).is_some_and(|before| before.resource.awaited);
    let mut before = resource.after.iter().filter(awaited);
    let is_ill = |key: &Key| {
        let seen = snapshot.observation.states.get(key).and_then(Observed::as_known);
        matches!(seen, Some(Presence::Present(live)) if live.health != Health::Progressing)
    };
    let is_ready = |key: &Key| is_well(snapshot, key) || heals(cause) && is_ill(key);
    let key = before.find(|key| changing.contains(key) || !is_ready(key))?;
    Some(Why::DependencyNotHealthy { key: key.clone() })
}

/// Returns why a resource waits for an earlier wave. Only new declarations come in waves: drift is
/// healed whatever is wrong elsewhere.
pub(super) fn in_a_later_wave(draft: &Draft<'_>, key: &Key, cause: Cause) -> Option<Why> {
    let (wave, first) = draft.unfinished.as_ref()?;
    let later = draft.snapshot.bundle.resources().get(key).is_some_and(|declared| declared.wave > *wave);
    (later && !heals(cause)).then(|| Why::EarlierWave { wave: *wave, key: first.clone() })
}

fn heals(cause: Cause) -> bool {
    matches!(cause, Cause::Drift | Cause::Addition)
}
