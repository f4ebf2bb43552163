//! Judges each declared resource: in place, to be created, to be corrected, or left alone with a
//! reason.

use std::sync::Arc;

use crate::bundle::Declared;
use crate::canonical;
use crate::claim::{Claim, ClaimOrigin, Ended};
use crate::diff::{Difference, diff};
use crate::facts::Change;
use crate::intent::{Expect, Verb};
use crate::key::Key;
use crate::live::{Baseline, Health, Live, Presence, Writer};
use crate::modes::{Cause, Permission};
use crate::mutant::Mutant;
use crate::name::{AppId, Uid};
use crate::observed::{Observed, UnknownReason};
use crate::plan::Step;
use crate::report::Why;
use crate::resource::Resource;
use crate::snapshot::{BackOff, Elsewhere, Immutable, Preview, Question};
use crate::value::Value;

use super::replaced::Stuck;
use super::{Cursor, Draft, Drift, remarked};

pub(super) fn judge_all(draft: &mut Draft<'_>) {
    let snapshot = draft.snapshot;
    let mut claims = Cursor::new(snapshot.claims);
    let mut baselines = Cursor::new(snapshot.baselines);
    let mut states = Cursor::new(&snapshot.observation.states);
    for (key, declared) in snapshot.bundle.resources() {
        let elsewhere = snapshot.elsewhere.get(key);
        let handed_over = elsewhere.and_then(Elsewhere::handed_over);
        let claim = claims.seek(key).map(AsRef::as_ref).or(handed_over);
        let seen = Seen { key, declared, claim, baseline: baselines.seek(key), elsewhere };
        match states.seek(key) {
            Some(Observed::Known { value, .. }) => judge(draft, &seen, value),
            Some(Observed::Unknown { .. }) if Mutant::ErrorReadAsEmpty.is_on() => {
                judge(draft, &seen, &Presence::Absent);
            }
            Some(Observed::Unknown { reason }) => not_seen(draft, &seen, reason.clone()),
            None => not_seen(draft, &seen, UnknownReason::NotLooked),
        }
    }
}

/// One declared resource and its remembered state.
struct Seen<'a> {
    key: &'a Key,
    declared: &'a Declared,
    /// Our claim, or the claim of another of our apps that no longer declares the resource and so
    /// hands it over.
    claim: Option<&'a Claim>,
    baseline: Option<&'a Baseline>,
    elsewhere: Option<&'a Elsewhere>,
}

impl Seen<'_> {
    /// Returns the app that the claim has to be taken from.
    fn from(&self) -> Option<AppId> {
        let elsewhere = self.elsewhere.filter(|elsewhere| elsewhere.claim.is_some());
        elsewhere.map(|elsewhere| elsewhere.app.clone())
    }

    /// Returns the claim, if it is this app's.
    fn own_claim(&self) -> Option<&Claim> {
        self.claim.filter(|_| self.from().is_none())
    }
}

fn not_seen(draft: &mut Draft<'_>, seen: &Seen<'_>, reason: UnknownReason) {
    draft.decision.in_sync = false;
    draft.decision.health = Health::Unknown;
    draft.withhold(seen.key, declared_cause(draft, seen), Why::NotSeen { reason });
}

fn judge<'a>(draft: &mut Draft<'a>, seen: &Seen<'a>, presence: &'a Presence) {
    // The common case first, and without an allocation: the object is ours, and neither its
    // declaration nor its live state has changed.
    if let (Presence::Present(live), Some(claim), Some(baseline)) = (presence, seen.claim, seen.baseline) {
        let unmoved = baseline.declared == seen.declared.digest && baseline.fingerprint == live.fingerprint;
        let quiet = draft.snapshot.open_intents.is_empty() && seen.elsewhere.is_none();
        let known = claim.uid.is_some() && is_ours(claim, live) && live.ended == ended_at(seen, claim).is_some();
        let told = remarked::is_told(claim, live) && (!seen.declared.resource.once || was_made(seen, claim));
        let settled = !claim.tombstone && claim.folding.is_none() && live.holders.is_none();
        if unmoved && quiet && settled && known && told && !Mutant::RewriteInSync.is_on() {
            draft.decision.health = worse(draft.decision.health, live.health);
            remarked::show(draft, seen.key, live);
            return;
        }
    }
    if let Some(intent) = draft.snapshot.open_intents.get(seen.key) {
        draft.decision.in_sync = false;
        draft.decision.questions.insert(Question::Settle { intent: *intent });
        let cause = declared_cause(draft, seen);
        draft.withhold(seen.key, cause, Why::OpenIntent { intent: *intent });
        return;
    }
    let owner = seen.elsewhere.filter(|elsewhere| elsewhere.declares && elsewhere.claim.is_some());
    if let Some(owner) = owner.filter(|_| !Mutant::StealClaim.is_on()) {
        draft.decision.in_sync = false;
        let cause = declared_cause(draft, seen);
        draft.withhold(seen.key, cause, Why::OwnedByOther { app: owner.app.clone() });
        return;
    }
    // Of two apps without documents, each would take the object from the other, for ever.
    let idle = draft.snapshot.states.without_document().filter(|_| seen.from().is_some());
    if let Some(state) = idle {
        draft.decision.in_sync = false;
        let cause = declared_cause(draft, seen);
        return draft.withhold(seen.key, cause, Why::State { state });
    }
    match presence {
        Presence::Absent => absent(draft, seen),
        Presence::Present(live) => present(draft, seen, live),
    }
}

fn absent<'a>(draft: &mut Draft<'a>, seen: &Seen<'a>) {
    if let Some(claim) = seen.own_claim().filter(|_| draft.snapshot.is_gone(seen.key, draft.now)) {
        remarked::end_and_forget(draft, claim);
    }
    if let Some((claim, ended)) = seen.claim.and_then(|claim| Some((claim, ended_at(seen, claim)?))) {
        return has_ended(draft, seen, claim, ended);
    }
    if let Some(claim) = seen.claim.filter(|claim| has_run(seen, claim)) {
        let ended = Ended { declared: seen.declared.digest, failed: false, unseen: true };
        match is_surely_gone(draft, seen, Cause::Drift) {
            true => has_ended(draft, seen, claim, ended),
            false => draft.decision.in_sync = false,
        }
        return;
    }
    draft.decision.in_sync = false;
    draft.missing.push(seen.key);
    draft.decision.health = worse(draft.decision.health, Health::Progressing);
    let cause = if is_unmoved(draft, seen) { Cause::Drift } else { declared_cause(draft, seen) };
    let differences =
        vec![Difference { path: crate::value::Path::default(), before: Some(Value::str("present")), after: None }];
    if cause == Cause::Drift {
        drifted(draft, seen, cause, &differences, &Writer::Unknown);
    }
    if !may_change(draft, seen, cause) || !is_surely_gone(draft, seen, cause) {
        return;
    }
    let Resource { replace, once, .. } = &*seen.declared.resource;
    let made = (*replace || *once).then(|| Box::new(seen.declared.digest));
    draft.step(Step {
        key: seen.key.clone(),
        verb: Verb::Create,
        cause,
        resource: Some(seen.declared.resource.clone()),
        expect: None,
        claim: Claim { made, ..claim_for(draft, seen, None, ClaimOrigin::Created) },
        from: seen.from(),
        rank: seen.declared.rank,
        differences: Vec::new(),
        folds: false,
    });
}

/// Reports whether a resource that runs once was created from this very declaration, and we have
/// not deleted it. An end that was not observed proves nothing: there may have been no observation
/// in between.
fn has_run(seen: &Seen<'_>, claim: &Claim) -> bool {
    seen.declared.resource.once && was_made(seen, claim) && !claim.tombstone
}

fn was_made(seen: &Seen<'_>, claim: &Claim) -> bool {
    claim.made.as_deref() == Some(&seen.declared.digest)
}

/// Returns how the resource ended with this very declaration, if we did not delete it.
fn ended_at(seen: &Seen<'_>, claim: &Claim) -> Option<Ended> {
    claim.ended.filter(|ended| ended.declared == seen.declared.digest && !claim.tombstone)
}

/// Records that a resource that runs once has ended, and that the target removed it afterwards.
/// This is no drift, and the same declaration does not run again.
fn has_ended(draft: &mut Draft<'_>, seen: &Seen<'_>, claim: &Claim, ended: Ended) {
    if ended.failed {
        draft.decision.health = worse(draft.decision.health, Health::Degraded);
    }
    if ended.unseen {
        draft.withhold(seen.key, Cause::Drift, Why::NotSeenToEnd);
    }
    let kept = Claim {
        ended: Some(ended),
        told: None,
        made: claim.made.clone(),
        ..claim_for(draft, seen, claim.uid.clone(), claim.origin)
    };
    if kept != *claim {
        draft.decision.changes.push(Change::PutClaim { claim: Arc::new(kept), from: seen.from() });
    }
}

/// Reports whether an object is certainly gone. We create it again only then: on a lagging target
/// we would get two.
fn is_surely_gone(draft: &mut Draft<'_>, seen: &Seen<'_>, cause: Cause) -> bool {
    let made_before = seen.claim.is_some_and(|claim| claim.uid.is_some());
    let sure = !made_before || draft.snapshot.is_gone(seen.key, draft.now);
    if !sure {
        draft.withhold(seen.key, cause, Why::PerhapsGone);
    }
    sure
}

fn present<'a>(draft: &mut Draft<'a>, seen: &Seen<'a>, live: &'a Live) {
    draft.decision.health = worse(draft.decision.health, live.health);
    let differences = differences(&seen.declared.resource, live);
    let ours = seen.claim.is_some_and(|claim| is_ours(claim, live));
    if differences.is_empty() && !Mutant::RewriteInSync.is_on() {
        in_place(draft, seen, live, ours);
        return;
    }
    draft.decision.in_sync = false;
    let cause = match is_unmoved(draft, seen) {
        true if differences.iter().all(Difference::is_addition) && !differences.is_empty() => Cause::Addition,
        true => Cause::Drift,
        false => declared_cause(draft, seen),
    };
    if matches!(cause, Cause::Drift | Cause::Addition) {
        drifted(draft, seen, cause, &differences, &live.writer);
    }
    if let Some(refused) = refused_as_immutable(draft, seen, live, &differences)
        && is_settled_as_immutable(draft, seen, live, cause, refused)
    {
        return;
    }
    if !may_change(draft, seen, cause) || !(ours || may_adopt(draft, seen, live, cause)) {
        return;
    }
    let claim = claim_to(draft, seen, live, ours);
    update(draft, seen, live, Update { cause, claim, differences, folds: false });
}

/// An update of an existing object.
struct Update {
    cause: Cause,
    claim: Claim,
    differences: Vec<Difference>,
    folds: bool,
}

fn update(draft: &mut Draft<'_>, seen: &Seen<'_>, live: &Live, Update { cause, claim, differences, folds }: Update) {
    let version = (!Mutant::DropVersionPrecondition.is_on()).then(|| live.version.clone());
    draft.step(Step {
        key: seen.key.clone(),
        verb: Verb::Update,
        cause,
        resource: Some(seen.declared.resource.clone()),
        expect: Some(Expect { uid: live.uid.clone(), version }),
        claim,
        from: seen.from(),
        rank: seen.declared.rank,
        differences,
        folds,
    });
}

/// Builds the claim on an existing object. An object that is not ours is adopted from the tools
/// that have declared it.
fn claim_to(draft: &Draft<'_>, seen: &Seen<'_>, live: &Live, ours: bool) -> Claim {
    let origin = seen.claim.filter(|_| ours).map_or(ClaimOrigin::Adopted, |claim| claim.origin);
    let claim = claim_for(draft, seen, Some(live.uid.clone()), origin);
    // An object that was claimed before, but could not or need not be written, is still to be taken
    // from them.
    match live.holders.as_ref().filter(|_| origin == ClaimOrigin::Adopted) {
        Some(holders) => Claim { folding: Some(holders.clone()).filter(|holders| !holders.0.is_empty()), ..claim },
        None => claim,
    }
}

/// Returns the target's refusal of this very change of this very object of ours.
fn refused_as_immutable<'a>(
    draft: &Draft<'a>,
    seen: &Seen<'_>,
    live: &Live,
    differences: &[Difference],
) -> Option<&'a Immutable> {
    let refused = draft.snapshot.answers.immutable.get(seen.key)?;
    let ours = draft.snapshot.claims.get(seen.key).is_some_and(|claim| claim.uid.as_ref() == Some(&live.uid));
    let same = refused.uid == live.uid
        && refused.declared == seen.declared.digest
        && refused.differences == canonical::digest_of(&differences);
    (ours && same).then_some(refused)
}

/// Leaves an object with a refused change alone for a while, then queues it for replacement if the
/// app allows that. Returns `false` if the change is to be tried once more.
fn is_settled_as_immutable<'a>(
    draft: &mut Draft<'a>,
    seen: &Seen<'a>,
    live: &'a Live,
    cause: Cause,
    refused: &Immutable,
) -> bool {
    let Some(claim) = draft.snapshot.claims.get(seen.key) else { return false };
    let stuck = Stuck { declared: seen.declared, claim, live };
    match hindrance(draft, seen, cause) {
        Some(Why::BackingOff { until, setback }) => {
            let why = stuck.why_not_yet(draft.snapshot, cause, refused, BackOff { until, setback });
            draft.withhold(seen.key, cause, why);
            true
        }
        None if stuck.may_be_allowed(cause) && stuck.is_allowed() => {
            draft.stuck.push(stuck);
            true
        }
        None | Some(_) => false,
    }
}

/// Handles an object that is as declared. Only bookkeeping may be left: claim it, lift a tombstone,
/// learn a baseline.
fn in_place(draft: &mut Draft<'_>, seen: &Seen<'_>, live: &Live, ours: bool) {
    if !ours && draft.is_only_observed() {
        // Everything is as declared: an object that is not ours blocks nothing.
        return remarked::show(draft, seen.key, live);
    }
    if live.holders.is_some() {
        return take_over(draft, seen, live, ours);
    }
    if !ours && !may_claim(draft, seen, live) {
        return;
    }
    let origin = seen.claim.filter(|_| ours).map_or(ClaimOrigin::Adopted, |claim| claim.origin);
    let (declared, failed) = (seen.declared.digest, live.health == Health::Degraded);
    let ended = live.ended.then_some(Ended { declared, failed, unseen: false });
    let told = remarked::tell(draft, seen.key, seen.own_claim(), live);
    remarked::show(draft, seen.key, live);
    let mut claim = Claim { ended, told, ..claim_for(draft, seen, Some(live.uid.clone()), origin) };
    if seen.declared.resource.once {
        claim.made = Some(Box::new(declared));
    }
    let baseline = Baseline { declared: seen.declared.digest, fingerprint: live.fingerprint };
    if seen.baseline != Some(&baseline) {
        draft.decision.baselines.push((seen.key.clone(), baseline));
    }
    let folds = claim.folding.is_some() && may_change(draft, seen, Cause::Declared);
    draft.decision.in_sync &= !folds;
    if seen.claim != Some(&claim) {
        draft.decision.changes.push(Change::PutClaim { claim: Arc::new(claim), from: seen.from() });
    } else if folds {
        update(draft, seen, live, Update { cause: Cause::Declared, claim, differences: Vec::new(), folds });
    }
}

/// Applies an object that is as declared but was not written by us. Without an apply of ours we
/// would hold none of its fields, and fields that are removed from the declaration later would
/// stay.
fn take_over(draft: &mut Draft<'_>, seen: &Seen<'_>, live: &Live, ours: bool) {
    let cause = declared_cause(draft, seen);
    if !may_change(draft, seen, cause) || !(ours || is_adoptable(draft, seen, live, cause)) {
        return;
    }
    draft.decision.in_sync = false;
    if !ours && !is_acceptable(draft, seen, live, cause) {
        return;
    }
    let claim = claim_to(draft, seen, live, ours);
    update(draft, seen, live, Update { cause, claim, differences: Vec::new(), folds: false });
}

/// Reports whether an equal object that is not ours may be claimed: only where a change of it would
/// be allowed too.
fn may_claim(draft: &mut Draft<'_>, seen: &Seen<'_>, live: &Live) -> bool {
    let cause = declared_cause(draft, seen);
    may_change(draft, seen, cause) && is_adoptable(draft, seen, live, cause)
}

/// Reports whether the modes, the scope, back-off and dependencies allow a change now. Adds the
/// reason to the report if they do not.
fn may_change(draft: &mut Draft<'_>, seen: &Seen<'_>, cause: Cause) -> bool {
    match hindrance(draft, seen, cause) {
        Some(why) => {
            draft.withhold(seen.key, cause, why);
            false
        }
        None => true,
    }
}

fn hindrance(draft: &Draft<'_>, seen: &Seen<'_>, cause: Cause) -> Option<Why> {
    let (permission, state) = draft.snapshot.states.permission(cause);
    if permission != Permission::Act {
        return Some(Why::State { state });
    }
    if let Some(lacking) = draft.snapshot.rules.boundary.lacks(seen.key) {
        return Some(Why::OutsideScope(lacking));
    }
    if let Some(why) = draft.snapshot.backing_off.get(seen.key).and_then(|pause| pause.reason(draft.now)) {
        return Some(why);
    }
    let waits = draft.snapshot.waiting_for.first().filter(|_| cause == Cause::Declared);
    waits.map(|app| Why::AppNotReady { app: app.clone() })
}

/// Reports whether an existing object that is not ours may be taken over: only after the target has
/// confirmed that it would accept this.
fn may_adopt(draft: &mut Draft<'_>, seen: &Seen<'_>, live: &Live, cause: Cause) -> bool {
    is_adoptable(draft, seen, live, cause) && is_acceptable(draft, seen, live, cause)
}

/// Reports whether the target has confirmed that it would accept the declaration as an update of
/// the live object.
fn is_acceptable(draft: &mut Draft<'_>, seen: &Seen<'_>, live: &Live, cause: Cause) -> bool {
    let (version, declared) = (&live.version, seen.declared.digest);
    let why = match draft.snapshot.answers.previews.get(seen.key) {
        Some(Preview { version: of, declared: by, verdict }) if of == version && *by == declared => match verdict {
            Ok(()) => return true,
            Err(problem) => Why::PreviewRefused { problem: problem.clone() },
        },
        _ => {
            let key = seen.key.clone();
            draft.decision.questions.insert(Question::Preview { key, version: version.clone(), declared });
            Why::PreviewPending
        }
    };
    draft.withhold(seen.key, cause, why);
    false
}

fn is_adoptable(draft: &mut Draft<'_>, seen: &Seen<'_>, live: &Live, cause: Cause) -> bool {
    let why = if live.controlled {
        Why::Controlled
    } else if !draft.snapshot.rules.adopt {
        Why::NotOurs
    } else {
        return true;
    };
    draft.withhold(seen.key, cause, why);
    false
}

fn claim_for(draft: &Draft<'_>, seen: &Seen<'_>, uid: Option<Uid>, origin: ClaimOrigin) -> Claim {
    let same = |claim: &&Claim| uid.is_some() && (claim.uid.is_none() || claim.uid == uid);
    let made = seen.claim.filter(same).and_then(|claim| claim.made.clone());
    let folding = seen.claim.filter(same).and_then(|claim| claim.folding.clone());
    // After another declaration, going back to the first one is a new change.
    let made = made.filter(|made| **made == seen.declared.digest);
    let told = seen.own_claim().filter(|_| uid.is_some()).and_then(|claim| claim.told.clone());
    Claim {
        rank: seen.declared.rank,
        protected: seen.declared.resource.protected,
        made,
        told,
        folding,
        ..Claim::new(draft.snapshot.target.identity.clone(), seen.key.clone(), draft.snapshot.app.clone(), uid, origin)
    }
}

/// Reports whether this is the incarnation that we claimed. A claim without a UID whose intent is
/// closed belongs to a create that a person confirmed: then the live object is ours.
fn is_ours(claim: &Claim, live: &Live) -> bool {
    claim.uid.as_ref().is_none_or(|uid| *uid == live.uid)
}

/// Reports whether the declaration is the one that was last observed in place, so that a difference
/// has another origin. In an app that is only observed, every difference has.
fn is_unmoved(draft: &Draft<'_>, seen: &Seen<'_>) -> bool {
    match seen.baseline {
        _ if draft.is_only_observed() => true,
        Some(baseline) => baseline.declared == seen.declared.digest,
        None => draft.snapshot.converged_before,
    }
}

fn declared_cause(draft: &Draft<'_>, seen: &Seen<'_>) -> Cause {
    match (is_unmoved(draft, seen), draft.snapshot.rolling_back) {
        (true, _) => Cause::Drift,
        (false, true) => Cause::Rollback,
        (false, false) => Cause::Declared,
    }
}

fn drifted(draft: &mut Draft<'_>, seen: &Seen<'_>, cause: Cause, differences: &[Difference], writer: &Writer) {
    let differences = differences.to_vec();
    let (key, writer) = (seen.key.clone(), writer.clone());
    draft.decision.drifts.push(Drift { key, cause, differences, writer, beside: Vec::new() });
}

/// Returns the differences between a live object and its declaration.
pub(super) fn differences(resource: &Resource, live: &Live) -> Vec<Difference> {
    let mut differences = diff(&resource.body, &live.value);
    // A deferred value cannot be compared before the other resource exists.
    differences.retain(|difference| !matches!(difference.before, Some(Value::Deferred(_))));
    differences
}

fn worse(a: Health, b: Health) -> Health {
    let badness = |health| match health {
        Health::Healthy => 0,
        Health::Progressing => 1,
        Health::Unknown => 2,
        Health::Degraded => 3,
    };
    if badness(b) > badness(a) { b } else { a }
}
