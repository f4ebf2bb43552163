//! Judges objects that we own and no longer declare: releases the claim if the object is gone,
//! deletes the object if every guard agrees, and retains it otherwise.

use std::sync::Arc;

use crate::claim::{Claim, ClaimOrigin};
use crate::facts::Change;
use crate::intent::{Expect, Verb};
use crate::key::Key;
use crate::live::{Live, Presence};
use crate::modes::{Cause, Permission};
use crate::mutant::Mutant;
use crate::observed::{Observed, UnknownReason};
use crate::plan::Step;
use crate::prune::{self, DeleteBudget};
use crate::report::{RetentionReason, Why};
use crate::snapshot::Question;

use super::{Cursor, Draft, remarked};

/// An existing object of ours that is no longer declared.
struct Candidate<'a> {
    claim: &'a Claim,
    live: &'a Live,
}

pub(super) fn judge_all(draft: &mut Draft<'_>) {
    let snapshot = draft.snapshot;
    let cause = if snapshot.retiring { Cause::Retire } else { Cause::Prune };
    let mut declared = Cursor::new(snapshot.bundle.resources());
    let mut states = Cursor::new(&snapshot.observation.states);
    let mut candidates = Vec::new();
    for (key, claim) in snapshot.claims {
        if !snapshot.retiring && declared.seek(key).is_some() {
            continue;
        }
        if let Some(candidate) = judge(draft, key, claim, states.seek(key), cause) {
            candidates.push(candidate);
        }
    }
    if !candidates.is_empty() {
        prune(draft, candidates, cause);
    }
}

fn judge<'a>(
    draft: &mut Draft<'a>,
    key: &Key,
    claim: &'a Claim,
    state: Option<&'a Observed<Presence>>,
    cause: Cause,
) -> Option<Candidate<'a>> {
    if let Some(intent) = draft.snapshot.open_intents.get(key) {
        draft.decision.questions.insert(Question::Settle { intent: *intent });
        draft.withhold(key, cause, Why::OpenIntent { intent: *intent });
        return None;
    }
    if let Some(elsewhere) = draft.snapshot.elsewhere.get(key).filter(|elsewhere| elsewhere.declares) {
        draft.withhold(key, cause, Why::HandOver { app: elsewhere.app.clone() });
        return None;
    }
    let presence = match state {
        Some(Observed::Known { value, .. }) => value,
        Some(Observed::Unknown { .. }) if Mutant::ErrorReadAsEmpty.is_on() => &Presence::Absent,
        Some(Observed::Unknown { reason }) => {
            draft.withhold(key, cause, Why::NotSeen { reason: reason.clone() });
            return None;
        }
        None => {
            draft.withhold(key, cause, Why::NotSeen { reason: UnknownReason::NotLooked });
            return None;
        }
    };
    match presence {
        Presence::Present(live) if claim.uid.as_ref() == Some(&live.uid) => match awaited(draft, claim, live) {
            Some(why) => {
                draft.withhold(key, cause, why);
                None
            }
            None => Some(Candidate { claim, live }),
        },
        Presence::Present(live) if Mutant::DropUidCheck.is_on() => Some(Candidate { claim, live }),
        // We created an object here whose UID is unknown. It may be this one: we record it, but it
        // is not ours to delete.
        Presence::Present(live) if claim.uid.is_none() => {
            let claim = Claim { uid: Some(live.uid.clone()), origin: ClaimOrigin::Adopted, ..claim.clone() };
            draft.decision.changes.push(Change::PutClaim { claim: Arc::new(claim), from: None });
            None
        }
        Presence::Absent | Presence::Present(_) if !draft.snapshot.is_gone(key, draft.now) => {
            draft.withhold(key, cause, Why::PerhapsGone);
            None
        }
        // The object is gone, or it belongs to another owner: either way nothing here is ours any
        // more.
        Presence::Absent | Presence::Present(_) => {
            remarked::end(draft, claim);
            draft.decision.changes.push(dropped(claim));
            None
        }
    }
}

/// Returns why an object is not deleted whose delete the target has accepted before: repeating it
/// changes nothing, so we wait for its end. Retiring does not wait for objects that it releases
/// without deleting.
fn awaited(draft: &Draft<'_>, claim: &Claim, live: &Live) -> Option<Why> {
    let released = draft.snapshot.retiring && (claim.origin == ClaimOrigin::Adopted || live.controlled);
    deleting(live).filter(|_| !released && !Mutant::RepeatDelete.is_on())
}

/// Returns why an object that is being deleted is left alone.
pub(super) fn deleting(live: &Live) -> Option<Why> {
    live.deleting.as_ref().map(|finalizers| Why::Deleting { finalizers: Arc::clone(finalizers) })
}

/// Checks every guard, the cheap and general ones first, and deletes the objects that pass in
/// reverse order of their creation.
fn prune(draft: &mut Draft<'_>, mut candidates: Vec<Candidate<'_>>, cause: Cause) {
    let snapshot = draft.snapshot;
    let other_changes = !draft.decision.plan.is_empty() || !draft.decision.in_sync;
    let (permission, state) = snapshot.states.permission(cause);
    let refusal = match prune::app_guard(snapshot, other_changes, draft.now) {
        _ if permission != Permission::Act => Some(Why::State { state }),
        Err(kept) => Some(kept.into()),
        Ok(()) => None,
    };
    if let Some(why) = refusal {
        for candidate in candidates {
            draft.withhold(&candidate.claim.key, cause, why.clone());
        }
        return;
    }
    candidates.sort_by(|a, b| (b.claim.rank, &b.claim.key).cmp(&(a.claim.rank, &a.claim.key)));
    let mut purse = DeleteBudget::new(snapshot.budget, snapshot.bundle.digest(), snapshot.retiring);
    let last = candidates.first().map_or(0, |candidate| candidate.claim.rank);
    // Objects that come before a retained one are retained too: deletes run in reverse order
    // without gaps.
    let mut kept_rank = 0;
    for candidate in candidates {
        let rank = candidate.claim.rank;
        let pruned = match rank < kept_rank {
            true => Err(RetentionReason::DependentStands.into()),
            false => prune_one(draft, &candidate, &mut purse, last, cause),
        };
        if let Err(why) = pruned {
            kept_rank = kept_rank.max(rank);
            draft.withhold(&candidate.claim.key, cause, why);
        }
    }
}

fn prune_one(
    draft: &mut Draft<'_>,
    candidate: &Candidate<'_>,
    purse: &mut DeleteBudget,
    last: u32,
    cause: Cause,
) -> Result<(), Why> {
    let Candidate { claim, live } = candidate;
    if let Some(why) = draft.snapshot.backing_off.get(&claim.key).and_then(|pause| pause.reason(draft.now)) {
        return Err(why);
    }
    if draft.snapshot.retiring && (claim.origin == ClaimOrigin::Adopted || live.controlled) {
        // The object existed before the app, or another object controls it: retiring releases it
        // without deleting it, whatever else was allowed.
        remarked::end(draft, claim);
        draft.decision.changes.push(dropped(claim));
        return Ok(());
    }
    if let Some(lacking) = draft.snapshot.rules.boundary.lacks(&claim.key) {
        return Err(Why::OutsideScope(lacking));
    }
    prune::object_guard(claim, live, purse.has_allowance())?;
    prune::fresh_render(draft.snapshot, draft.now).map_err(|(kept, question)| {
        draft.decision.questions.extend(question);
        kept
    })?;
    if !claim.tombstone {
        // A tombstone's delete was paid for when it was first intended.
        purse.take()?;
    }
    draft.step(Step {
        key: claim.key.clone(),
        verb: Verb::Delete,
        cause,
        resource: None,
        expect: Some(Expect { uid: live.uid.clone(), version: Some(live.version.clone()) }),
        claim: Claim { tombstone: true, ..(*claim).clone() },
        from: None,
        rank: last - claim.rank,
        differences: Vec::new(),
        folds: false,
    });
    Ok(())
}

fn dropped(claim: &Claim) -> Change {
    Change::DropClaim { target: claim.target.clone(), key: claim.key.clone(), app: claim.app.clone() }
}
