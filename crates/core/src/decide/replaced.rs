//! Judges objects that cannot be changed in place to their declaration. An object is deleted and
//! created again only if its app allows it, one at a time, and only after the target has confirmed
//! that it would accept the new one: otherwise nothing might replace the deleted object.

use std::collections::BTreeSet;

use crate::bundle::Declared;
use crate::claim::Claim;
use crate::intent::{Expect, Verb};
use crate::key::Key;
use crate::live::Live;
use crate::modes::{Cause, Permission};
use crate::mutant::Mutant;
use crate::plan::Step;
use crate::prune;
use crate::report::{RetentionReason, Why};
use crate::snapshot::{BackOff, FRESH, Immutable, Question, Snapshot};

use super::{Draft, order, undeclared};

/// An object of ours whose change the target refused because of immutable fields.
pub(super) struct Stuck<'a> {
    pub(super) declared: &'a Declared,
    pub(super) claim: &'a Claim,
    pub(super) live: &'a Live,
}

impl Stuck<'_> {
    /// Reports whether an app may allow the replacement. Not if it would take many other objects
    /// with it. Not if the object was in place as declared, or was created from this declaration: a
    /// writer that keeps changing it would have it deleted over and over.
    pub(super) fn may_be_allowed(&self, cause: Cause) -> bool {
        let made_so = self.claim.made.as_deref() == Some(&self.declared.digest);
        !self.declared.resource.protected && !made_so && matches!(cause, Cause::Declared | Cause::Rollback)
    }

    pub(super) fn is_allowed(&self) -> bool {
        self.declared.resource.replace || Mutant::ReplaceWithoutLeave.is_on()
    }

    /// Returns why the object is left alone for now.
    pub(super) fn why_not_yet(
        &self,
        snapshot: &Snapshot<'_>,
        cause: Cause,
        refused: &Immutable,
        BackOff { until, setback }: BackOff,
    ) -> Why {
        let problem = refused.problem.clone();
        if !self.may_be_allowed(cause) {
            return Why::Immutable { problem, until };
        }
        if !self.is_allowed() {
            return Why::ReplaceNotAllowed { problem, until };
        }
        let answer = snapshot.answers.replacements.get(&self.claim.key);
        let answer = answer.filter(|answer| answer.uid == refused.uid && answer.declared == refused.declared);
        match answer.map(|answer| &answer.verdict) {
            Some(Err(problem)) => Why::ReplacementRefused { problem: problem.clone(), until },
            Some(Ok(())) | None => Why::BackingOff { until, setback },
        }
    }
}

pub(super) fn judge_all(draft: &mut Draft<'_>) {
    let mut stuck = std::mem::take(&mut draft.stuck);
    stuck.sort_by_key(|stuck| (stuck.declared.rank, &stuck.claim.key));
    // Each replacement leaves a gap until the object is created again: there is never more than
    // one.
    let first_step = draft.decision.plan.steps.first().map(|step| step.key.clone());
    let mut before = first_step.or_else(|| first_gap(draft, &stuck).cloned());
    for stuck in stuck {
        match may_replace(draft, &stuck, before.as_ref()) {
            Ok(()) => {
                before = Some(stuck.claim.key.clone());
                draft.step(step_of(&stuck));
            }
            Err(why) => draft.withhold(&stuck.claim.key, Cause::Replace, why),
        }
    }
}

/// Returns the first declared key without a live object that is not missing because of these
/// replacements, as resources after them or in a later wave are.
fn first_gap<'a>(draft: &Draft<'a>, stuck: &[Stuck<'_>]) -> Option<&'a Key> {
    if stuck.is_empty() || draft.missing.is_empty() {
        return None;
    }
    let mut behind: BTreeSet<&Key> = stuck.iter().map(|stuck| &stuck.claim.key).collect();
    let first_wave = stuck.iter().map(|stuck| stuck.declared.wave).min();
    let mut declared: Vec<_> = draft.snapshot.bundle.resources().iter().collect();
    declared.sort_by_key(|(_, declared)| declared.rank);
    for (key, declared) in declared {
        let later = first_wave.is_some_and(|wave| wave < declared.wave);
        if later || declared.resource.after.iter().any(|before| behind.contains(before)) {
            behind.insert(key);
        }
    }
    draft.missing.iter().find(|key| !behind.contains(**key)).copied()
}

/// Checks every guard, and last of all the target's verdict. `before` has to be in place first.
fn may_replace(draft: &mut Draft<'_>, stuck: &Stuck<'_>, before: Option<&Key>) -> Result<(), Why> {
    let snapshot = draft.snapshot;
    let (permission, state) = snapshot.states.permission(Cause::Replace);
    if permission != Permission::Act {
        return Err(Why::State { state });
    }
    if let Some(elsewhere) = snapshot.elsewhere.get(&stuck.claim.key).filter(|elsewhere| elsewhere.declares) {
        return Err(Why::DeclaredElsewhere { app: elsewhere.app.clone() });
    }
    if let Some(why) = undeclared::deleting(stuck.live) {
        return Err(why);
    }
    prune::doubt(snapshot, draft.now)?;
    if stuck.claim.protected {
        return Err(RetentionReason::Protected.into());
    }
    let leave = snapshot.budget.allowance.as_ref().filter(|leave| leave.bundle == snapshot.bundle.digest());
    prune::object_guard(stuck.claim, stuck.live, leave.is_some_and(|leave| leave.left > 0))?;
    let after = &stuck.declared.resource.after;
    let not_ready = draft.decision.report.iter().map(|withheld| &withheld.key).find(|key| after.contains(*key));
    if let Some(key) = before.or(not_ready) {
        return Err(Why::DependencyNotReady { key: key.clone() });
    }
    // Otherwise nothing would exist under the key until the resources before it are healthy.
    let awaited = order::not_healthy_before(snapshot, &stuck.declared.resource, Cause::Replace, &BTreeSet::new());
    if let Some(why) = awaited.or_else(|| order::in_a_later_wave(draft, &stuck.claim.key, Cause::Replace)) {
        return Err(why);
    }
    let (uid, version, declared) = (&stuck.live.uid, &stuck.live.version, stuck.declared.digest);
    let answer = snapshot.answers.replacements.get(&stuck.claim.key);
    let proven = answer.is_some_and(|answer| {
        answer.uid == *uid
            && answer.version == *version
            && answer.declared == declared
            && answer.verdict.is_ok()
            && draft.now.since(answer.at) <= FRESH
    });
    if proven || Mutant::ReplaceWithoutProof.is_on() {
        return Ok(());
    }
    let key = stuck.claim.key.clone();
    let (uid, version) = (uid.clone(), version.clone());
    draft.decision.questions.insert(Question::Replace { key, uid, version, declared });
    Err(Why::ReplacementPending)
}

fn step_of(stuck: &Stuck<'_>) -> Step {
    let live = stuck.live;
    Step {
        key: stuck.claim.key.clone(),
        verb: Verb::Delete,
        cause: Cause::Replace,
        resource: Some(stuck.declared.resource.clone()),
        expect: Some(Expect { uid: live.uid.clone(), version: Some(live.version.clone()) }),
        // No tombstone: the resource is still declared. So it is created again once it is found
        // gone, and if it is pruned later, that delete counts against the budget.
        claim: Claim { tombstone: false, ..stuck.claim.clone() },
        from: None,
        rank: stuck.declared.rank,
        differences: Vec::new(),
        folds: false,
    }
}
