//! The hold plane from the plan on: durable intents, effects, results. It proceeds rank by rank, so
//! that an effect is sent soon after its intent. The results of one rank and the intents of the
//! next are one batch and one sync.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use setpoint_core::canonical;
use setpoint_core::claim::{Claim, ClaimOrigin};
use setpoint_core::decide::{Decision, is_as_declared};
use setpoint_core::digest::Digest;
use setpoint_core::facts::{AppFacts, Change, Deletions};
use setpoint_core::intent::{Intent, IntentEnd, IntentId, Verb};
use setpoint_core::key::Key;
use setpoint_core::live::{Baseline, Live};
use setpoint_core::modes::{Cause, Permission};
use setpoint_core::mutant::Mutant;
use setpoint_core::name::AppId;
use setpoint_core::plan::{Plan, Step};
use setpoint_core::snapshot::Immutable;
use setpoint_core::time::Span;
use setpoint_ledger::{Entry, Kind};
use setpoint_target::{Asker, Fence, Granularity, Outcome, Refusal, RefusalClass, Work};

use crate::effect::{Effect, NoteKind, Ticket};

use super::app::Phase;
use super::breaker::health_shown_by;
use super::queue::Priority;
use super::timers::Timer;
use super::{Awaited, Machine, Then};

/// A plan under way.
#[derive(Debug)]
pub(super) struct Batch {
    plan: Digest,
    bundle: Digest,
    /// Steps that have not begun, in order.
    left: Vec<Step>,
    /// Steps whose intents are durable or being recorded.
    current: Vec<Work>,
    fence: Fence,
    /// Keys of steps that were not done; steps after them do not begin.
    not_done: BTreeSet<Key>,
    /// Set if the app was retiring when the plan was decided.
    retiring: bool,
    /// The deletes that the plan may make: they count for the fleet until the plan has ended.
    pub(super) reserved: u32,
}

/// The number of steps that may begin together: a batch has a limit, and effects must be sent soon
/// after their intents.
const MOST_STEPS: usize = 500;
/// The number of changes in one record, because a record has a limit: the changes that follow from
/// one observation are recorded in portions.
pub(super) const MOST_CHANGES: usize = 500;

impl Machine {
    /// Starts a plan. `entries` are recorded with it.
    pub(super) fn start_plan(&mut self, app: &AppId, decision: Decision, mut entries: Vec<Entry>) {
        let Decision { plan, changes, .. } = decision;
        let id = plan.id();
        let deletes = plan.deletes();
        let entry = self
            .app_entry(Kind::Plan, app)
            .with_data("plan", id.to_string())
            .with_data("bundle", plan.bundle.to_string())
            .with_data("steps", plan.steps.len())
            .with_data("deletes", deletes);
        entries.extend(self.entries_of_changes(app, &changes));
        let Plan { bundle, steps, .. } = plan;
        let fence = Fence { epoch: 0, leave_by: self.now, land_by: self.now };
        let retiring = self.is_retiring(app);
        let not_done = BTreeSet::new();
        let reserved = deletes as u32;
        let batch = Batch { plan: id, bundle, left: steps, current: Vec::new(), fence, not_done, retiring, reserved };
        if let Some(kept) = self.apps.get_mut(app) {
            kept.last_plan = Some(id);
        }
        self.reserved += reserved;
        self.set_phase(app, Phase::Acting(Box::new(batch)));
        entries.push(entry);
        self.begin_next_rank(app, entries);
    }

    /// Builds the entries for claims that follow from an observation.
    pub(super) fn entries_of_changes(&self, app: &AppId, changes: &[Change]) -> Vec<Entry> {
        let portion = |portion: &[Change]| {
            let mut entry = self.app_entry(Kind::AppState, app).with_data("what", "claims follow what was seen");
            entry.changes = portion.to_vec();
            entry
        };
        changes.chunks(MOST_CHANGES).map(portion).collect()
    }

    /// Records `entries` together with the intents of the next rank; ends the plan if there is
    /// none.
    fn begin_next_rank(&mut self, app: &AppId, mut entries: Vec<Entry>) {
        let (Some(epoch), Some(kept)) = (self.tenure.epoch(), self.apps.get(app)) else { return };
        let leave_by = self.now + self.settings.leave_within;
        let fence = Fence { epoch, leave_by, land_by: leave_by + self.lands_within(&kept.sent.target) };
        let steps = self.next_steps(app);
        let Some(batch) = self.batch_of(app) else { return };
        batch.fence = fence;
        let (plan, bundle) = (batch.plan, batch.bundle);
        if steps.is_empty() {
            return self.append(entries, BTreeMap::new(), Then::PlanEnded { app: app.clone() });
        }
        entries.extend(self.pay_for_deletes(app, &steps));
        let first = IntentId { epoch, number: self.last_intent + 1 };
        let Asker { acting_as, priority, .. } = self.asker(app);
        let mut current = Vec::with_capacity(steps.len());
        for step in steps {
            self.last_intent += 1;
            let intent = IntentId { epoch, number: self.last_intent };
            let work = Work { intent, step, acting_as: acting_as.clone(), priority };
            let (step, intent) = (&work.step, intent_of(&work, app, plan, bundle, fence, self.now));
            let put = Change::PutClaim { claim: Arc::new(step.claim.clone()), from: step.from.clone() };
            let subject = format!("{app} {}", step.key);
            let entry = Entry::new(Kind::Intent, app.scope.clone(), subject, super::entries::engine(), self.now);
            let entry = entry.with_data("cause", step.cause.to_string()).with_data("verb", step.verb.to_string());
            let entry = told_of_holders(entry, step);
            entries.push(entry.with_change(put).with_change(Change::OpenIntent { intent }));
            current.push(work);
        }
        if let Some(batch) = self.batch_of(app) {
            batch.current = current;
        }
        self.append(entries, BTreeMap::new(), Then::Leave { app: app.clone(), first });
        if Mutant::SkipIntent.is_on() {
            self.effects_may_leave(app, first);
        }
    }

    /// Reports whether the basis of a plan no longer holds: the bundle, the order to retire the
    /// app, and for each step the permission to take it. A plan that has begun does not survive a
    /// change of these.
    fn is_overtaken(&mut self, app: &AppId) -> bool {
        let newest = self.bundle_digest_of(app);
        let Some(facts) = self.holdings.facts().apps.get(app).cloned() else { return true };
        let states = self.states_of(app, &facts);
        let breaker = self.breakers.get(&facts.target).is_some_and(super::breaker::Breaker::is_open);
        let Some(kept) = self.apps.get(app) else { return true };
        let Phase::Acting(batch) = &kept.phase else { return true };
        let outside = |key: &Key| kept.control.as_ref().is_some_and(|control| !control.rules.boundary.allows(key));
        let declared_again = |step: &Step| step.from.as_ref().is_some_and(|from| self.still_declares(from, &step.key));
        let forbidden = |step: &Step| {
            let wanted_elsewhere = || self.holdings.declared_by_other(&facts.target, &step.key, app).is_some();
            states.permission(step.cause).0 != Permission::Act
                || outside(&step.key)
                || declared_again(step)
                || step.verb == Verb::Delete && (breaker || wanted_elsewhere())
        };
        newest != Some(batch.bundle) || self.is_retiring(app) != batch.retiring || batch.left.iter().any(forbidden)
    }

    /// Takes the steps of the lowest rank whose predecessors were done.
    fn next_steps(&mut self, app: &AppId) -> Vec<Step> {
        let overtaken = self.is_overtaken(app);
        let target = self.apps.get(app).map(|kept| kept.sent.target.clone());
        let granularity =
            target.and_then(|target| self.controls.targets.get(&target)).map(|control| control.granularity);
        let Some(batch) = self.batch_of(app) else { return Vec::new() };
        if overtaken {
            batch.left.clear();
        }
        let whole = granularity == Some(Granularity::Unit);
        loop {
            let Some(rank) = batch.left.first().map(|step| step.rank) else { return Vec::new() };
            let (now, later) = std::mem::take(&mut batch.left).into_iter().partition(|step| whole || step.rank == rank);
            batch.left = later;
            let (blocked, mut ready): (Vec<Step>, Vec<Step>) =
                Vec::into_iter(now).partition(|step| is_blocked(step, &batch.not_done));
            batch.not_done.extend(blocked.into_iter().map(|step| step.key));
            if ready.len() > MOST_STEPS && !whole {
                let rest = ready.split_off(MOST_STEPS);
                batch.left.splice(0..0, rest);
            }
            if !ready.is_empty() {
                return ready;
            }
        }
    }

    /// Charges deletes to the budget when they are intended, whatever their result. A tombstone's
    /// delete was paid for before.
    fn pay_for_deletes(&mut self, app: &AppId, steps: &[Step]) -> Option<Entry> {
        let claims = self.holdings.claims_of(app);
        let paid = |step: &Step| claims.get(&step.key).is_some_and(|claim| claim.tombstone);
        // Replacing an object costs nothing, but an adopted one needs a person's permission.
        let free = |step: &Step| step.cause == Cause::Replace && step.claim.origin != ClaimOrigin::Adopted;
        let unpaid = |step: &&Step| step.verb == Verb::Delete && !paid(step) && !free(step);
        let count = steps.iter().filter(unpaid).count() as u32;
        let (now, held_at) = (self.now, self.bundle_digest_of(app));
        let kept = self.apps.get_mut(app)?;
        if count == 0 {
            return None;
        }
        let mut facts = AppFacts::clone(&kept.sent);
        let leave = facts.allowance.as_mut().filter(|leave| Some(leave.bundle) == held_at);
        let allowed = leave.map_or(0, |leave| {
            let allowed = leave.left.min(count);
            leave.left -= allowed;
            allowed
        });
        facts.allowance = facts.allowance.filter(|leave| leave.left > 0);
        let remembered = if Mutant::ForgetDeletesAfterAnHour.is_on() { 1 } else { 24 };
        facts.deletions.retain(|deletions| now.since(deletions.at) < Span::hours(remembered));
        facts.deletions.push(Deletions { at: now, count: count - allowed });
        let facts = Arc::new(facts);
        kept.sent = Arc::clone(&facts);
        let entry = self.app_entry(Kind::AppState, app).with_data("what", "deletes intended");
        Some(entry.with_change(Change::PutApp { app: app.clone(), facts }))
    }

    /// Sends the effects of durable intents. An effect that cannot be sent in time is not sent at
    /// all.
    pub(super) fn effects_may_leave(&mut self, app: &AppId, first: IntentId) {
        let (may_act, now, skew) = (self.may_act(), self.now, self.settings.skew);
        let Some(target) = self.apps.get(app).map(|kept| kept.sent.target.clone()) else { return };
        let Some(batch) = self.batch_of(app) else { return };
        let (fence, work) = (batch.fence, batch.current.clone());
        if work.first().map(|work| work.intent) != Some(first) {
            return;
        }
        let late = now > fence.leave_by && !Mutant::LeaveLate.is_on();
        if !may_act || late {
            let refusal = Refusal {
                class: RefusalClass::Fenced,
                detail: "it could not be sent in time".into(),
                retry_after: None,
            };
            let outcomes = work.iter().map(|_| Outcome::Refused { refusal: refusal.clone() }).collect();
            return self.conclude(app, outcomes);
        }
        let patience = fence.land_by.since(now) + skew;
        let ticket = self.ask(Awaited::Effects { app: app.clone() }, patience);
        self.effects.push(Effect::Execute { ticket, target, work, fence });
    }

    pub(super) fn executed(&mut self, ticket: Ticket, outcomes: Vec<Outcome>) {
        if let Some(Awaited::Effects { app }) = self.take(ticket) {
            self.conclude(&app, outcomes);
        }
    }

    pub(super) fn effects_unanswered(&mut self, app: &AppId) {
        self.conclude(app, Vec::new());
    }

    /// Records the outcomes of the current steps and continues. A step without an outcome is one
    /// whose outcome is unknown.
    fn conclude(&mut self, app: &AppId, outcomes: Vec<Outcome>) {
        let Some(batch) = self.batch_of(app) else { return };
        let work = std::mem::take(&mut batch.current);
        let silence = || Outcome::Unknown { detail: "there was no response in time".into() };
        let outcomes = outcomes.into_iter().chain(std::iter::repeat_with(silence));
        let mut entries = Vec::new();
        for (work, outcome) in work.into_iter().zip(outcomes) {
            let done = matches!(outcome, Outcome::Done { .. });
            *(if done { &mut self.steps_done } else { &mut self.steps_failed }) += 1;
            entries.extend(self.conclude_step(app, &work, outcome));
            if !done && let Some(batch) = self.batch_of(app) {
                batch.not_done.insert(work.step.key);
            }
        }
        self.begin_next_rank(app, entries);
    }

    fn conclude_step(&mut self, app: &AppId, work: &Work, outcome: Outcome) -> Option<Entry> {
        let target = self.apps.get(app)?.sent.target.clone();
        if let Some(healthy) = health_shown_by(&outcome) {
            self.note_call(&target, healthy);
        }
        let subject = format!("{app} {}", work.step.key);
        let entry = Entry::new(Kind::EffectResult, app.scope.clone(), subject, super::entries::engine(), self.now);
        let close = |end| Change::CloseIntent { intent: work.intent, end };
        match outcome {
            Outcome::Done { live } => {
                self.step_done(app, &work.step, live.as_ref());
                let mut entry = entry.with_data("outcome", "done").with_change(close(IntentEnd::Done));
                entry.changes.extend(claim_after(&work.step, live.as_ref()));
                Some(entry)
            }
            Outcome::Refused { refusal } => {
                self.step_refused(app, &work.step, &refusal);
                let why = refusal.detail;
                let entry = entry.with_data("outcome", "refused").with_data("why", why.as_str());
                let mut entry = entry.with_change(close(IntentEnd::NotDone { why }));
                entry.changes.extend(claim_after_refusal(&work.step));
                Some(entry)
            }
            Outcome::Unknown { detail } if Mutant::RepeatUnknownCreate.is_on() => {
                let mut entry = entry.with_change(close(IntentEnd::NotDone { why: detail }));
                entry.changes.extend(claim_after_refusal(&work.step));
                Some(entry)
            }
            Outcome::Unknown { detail } => {
                let fence = self.batch_of(app)?.fence;
                self.settle_from(work.intent, fence.land_by + self.settings.skew);
                Some(entry.with_data("outcome", "unknown").with_data("why", detail))
            }
        }
    }

    fn step_done(&mut self, app: &AppId, step: &Step, live: Option<&Live>) {
        let Some(kept) = self.apps.get_mut(app) else { return };
        let declared = step.resource.as_ref().map(|resource| resource.digest());
        // The missing object was another incarnation.
        kept.missing_since.remove(&step.key);
        kept.setbacks.succeeded(&step.key, declared);
        // The target's result may still differ (an addition that could not be removed): then the
        // next decision handles it.
        if let (Some(resource), Some(declared), Some(live)) = (&step.resource, declared, live)
            && is_as_declared(resource, live)
        {
            let baseline = Baseline { declared, fingerprint: live.fingerprint };
            kept.baselines.insert(step.key.clone(), baseline);
        }
        if step.verb == Verb::Delete {
            kept.baselines.remove(&step.key);
        }
        // Refusals and verdicts were about the object before the change.
        kept.answers.immutable.remove(&step.key);
        kept.answers.replacements.remove(&step.key);
        if matches!(step.cause, Cause::Drift | Cause::Addition) {
            self.note_heal(app, &step.key, declared);
        }
    }

    /// Records that a drift was healed. If that happens again and again, another writer keeps
    /// changing the object: people are notified who it is.
    pub(super) fn note_heal(&mut self, app: &AppId, key: &Key, input: Option<Digest>) {
        let now = self.now;
        let Some(kept) = self.apps.get_mut(app) else { return };
        if kept.setbacks.healed(key, input, now) {
            let drift = kept.drifts.iter().find(|drift| drift.key == *key);
            let writer = drift.map_or("unknown", |drift| kept.writer_of(drift).name());
            let text = format!(
                "{key} of {app} keeps being changed; last writer: {writer}. Setpoint heals it ever more slowly"
            );
            self.tell(NoteKind::Fight, format!("{app} {key}"), text);
        }
    }

    fn step_refused(&mut self, app: &AppId, step: &Step, refusal: &Refusal) {
        let now = self.now;
        let Some(kept) = self.apps.get_mut(app) else { return };
        let input = step.resource.as_ref().map(|resource| resource.digest());
        if let (RefusalClass::Immutable, Some(declared), Some(expect)) = (refusal.class, input, &step.expect) {
            let (uid, problem) = (expect.uid.clone(), refusal.detail.clone());
            let differences = canonical::digest_of(&step.differences);
            kept.answers.immutable.insert(step.key.clone(), Immutable { uid, declared, differences, problem });
        }
        kept.setbacks.failed(&step.key, refusal, input, now);
    }

    /// Ends a plan whose last results are durable, and observes the app again to confirm them.
    pub(super) fn plan_ended(&mut self, app: &AppId) {
        self.set_phase(app, Phase::Idle);
        self.wants_look(app, Priority::Drift);
    }

    /// Handles refused intents of the next rank. Results that were to be recorded with them are
    /// still recorded, because they are true.
    pub(super) fn overtaken_acting(&mut self, app: &AppId, mut entries: Vec<Entry>) {
        entries.retain(|entry| entry.kind == Kind::EffectResult);
        if entries.is_empty() {
            return self.overtaken(app);
        }
        self.append(entries, BTreeMap::new(), Then::PlanEnded { app: app.clone() });
    }

    /// Handles a batch that another one overtook. None of its steps was carried out, so the engine
    /// observes the app and decides again.
    pub(super) fn overtaken(&mut self, app: &AppId) {
        self.set_phase(app, Phase::Idle);
        self.timers.set_no_later(Timer::Look(app.clone()), self.now + Span::seconds(1));
    }
}

fn intent_of(
    Work { intent, step, acting_as, .. }: &Work,
    app: &AppId,
    plan: Digest,
    bundle: Digest,
    fence: Fence,
    at: setpoint_core::time::Timestamp,
) -> Intent {
    Intent {
        id: *intent,
        app: app.clone(),
        target: step.claim.target.clone(),
        key: step.key.clone(),
        verb: step.verb,
        folds: step.claim.folding.clone().filter(|_| step.folds),
        plan,
        bundle,
        declared: step.resource.as_ref().map(|resource| resource.digest()),
        expect: step.expect.clone(),
        acting_as: acting_as.clone(),
        at,
        leave_by: fence.leave_by,
        land_by: fence.land_by,
    }
}

/// Adds the names of the tools whose field entries an adoption folds, and the fields that they
/// retain.
fn told_of_holders(entry: Entry, step: &Step) -> Entry {
    let Some(folding) = &step.claim.folding else { return entry };
    let names = folding.names().join(", ");
    let entry = entry.with_data(if step.folds { "folds" } else { "adopts from" }, names);
    let kept = folding.0.iter().filter(|holder| !holder.kept.is_empty());
    let kept = kept.map(|holder| format!("{}: {}", holder.name, holder.kept.join(" "))).collect::<Vec<_>>();
    if kept.is_empty() { entry } else { entry.with_data("kept by", kept.join("; ")) }
}

/// Reports whether a step must wait. An update waits for the resources before it; a delete waits
/// for every delete before it.
fn is_blocked(step: &Step, not_done: &BTreeSet<Key>) -> bool {
    match &step.resource {
        Some(resource) => resource.after.iter().any(|key| not_done.contains(key)),
        None => !not_done.is_empty(),
    }
}

/// Returns the claim after a step was done: now the object's UID is known. A tombstone stays until
/// absence is observed.
fn claim_after(step: &Step, live: Option<&Live>) -> Option<Change> {
    if Mutant::ForgetTombstone.is_on() && step.verb == Verb::Delete {
        return Some(dropped(step));
    }
    let mut claim = Claim { uid: Some(live?.uid.clone()), ..step.claim.clone() };
    // From now on the object has run with this declaration.
    if let Some(resource) = step.resource.as_ref().filter(|resource| resource.once) {
        claim.made = Some(Box::new(resource.digest()));
    }
    if step.folds || Mutant::ForgetFolding.is_on() {
        claim.folding = None;
    }
    (claim != step.claim).then(|| Change::PutClaim { claim: Arc::new(claim), from: None })
}

/// Returns the claim after a step that did not happen: an object that was not created is not owned.
/// (With the mutant, a refused delete leaves an orphan.)
fn claim_after_refusal(step: &Step) -> Option<Change> {
    let not_made = step.verb == Verb::Create;
    let forgotten = Mutant::ForgetTombstone.is_on() && step.verb == Verb::Delete;
    (not_made || forgotten).then(|| dropped(step))
}

fn dropped(step: &Step) -> Change {
    Change::DropClaim { target: step.claim.target.clone(), key: step.key.clone(), app: step.claim.app.clone() }
}
