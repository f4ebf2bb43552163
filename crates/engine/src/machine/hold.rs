//! Follows up on a decision: starts a plan, records bookkeeping, asks questions, or waits for the
//! next event.

use std::collections::{BTreeMap, BTreeSet};

use setpoint_core::canonical;
use setpoint_core::decide::{Decision, Drift, Over};
use setpoint_core::digest::Digest;
use setpoint_core::facts::AppFacts;
use setpoint_core::key::Key;
use setpoint_core::live::{Health, Observation};
use setpoint_core::modes::State;
use setpoint_core::mutant::Mutant;
use setpoint_core::name::AppId;
use setpoint_core::observed::Observed;
use setpoint_core::report::{RetentionReason, Why, Withheld};
use setpoint_core::time::{Span, Timestamp};
use setpoint_ledger::{Entry, Kind};

use super::app::Phase;
use super::queue::Priority;
use super::timers::Timer;
use super::{Machine, Then};

/// The size of drift that is recorded in full, in bytes; of the rest only the keys are recorded.
const LARGEST_DRIFT: usize = 256 * 1024;
/// The number of drifted resources named in one record.
const MOST_NAMED: usize = 200;
/// The interval after which withheld changes are reconsidered at the latest.
const RECONSIDER: Span = Span::minutes(10);

impl Machine {
    pub(super) fn decided(&mut self, app: &AppId, observation: &Observation, decision: Decision) {
        let Some(kept) = self.apps.get_mut(app) else { return };
        kept.baselines.extend(decision.baselines.iter().cloned());
        let withheld_before = std::mem::replace(&mut kept.report, decision.report.clone());
        let seen_before = kept.take_drifts(decision.drifts.clone());
        kept.remarks.clone_from(&decision.remarks);
        kept.health = decision.health;
        let blind = !observation.is_complete();
        if !blind {
            kept.look_failures = 0;
        }
        let healthy = decision.health == Health::Healthy
            || decision.health == Health::Unknown && Mutant::UnknownIsHealthy.is_on();
        let converged = decision.in_sync && decision.plan.is_empty() && healthy;
        self.note_convergence(app, decision.plan.bundle, converged);
        let new = decision.drifts.iter().filter(|drift| !seen_before.contains(drift));
        // A remark was reported before if the claim says so, whichever process observed it.
        let new: Vec<&Drift> = new.chain(&decision.told).collect();
        let ended = ended_by_itself(&seen_before, &withheld_before, &decision, observation);
        let over: Vec<Over> = decision.over.iter().cloned().chain(ended).collect();
        let over = self.entry_of_over(app, &over);
        let mut entries: Vec<Entry> = over.into_iter().chain(self.entry_of_drift(app, &new)).collect();
        self.ask_who(app, self.name_of_drift(), &new, observation);
        if !decision.plan.is_empty() {
            return self.start_plan(app, decision, entries);
        }
        if !decision.changes.is_empty() {
            entries.extend(self.entries_of_changes(app, &decision.changes));
            self.set_phase(app, Phase::Noting);
            self.append(entries, BTreeMap::new(), Then::Noted { app: app.clone() });
            return;
        }
        if !entries.is_empty() {
            self.append(entries, BTreeMap::new(), Then::Nothing);
        }
        self.schedule_next_look(app, &decision);
        if blind {
            self.look_after_blindness(app);
        }
        self.ask_questions(app, decision.questions);
    }

    /// Builds the record of drift that was absent in the last observation. The differences may be
    /// personal or large: they are in the body, which can be erased and has a limit.
    fn entry_of_drift(&self, app: &AppId, new: &[&Drift]) -> Option<Entry> {
        if new.is_empty() {
            return None;
        }
        let mut room = LARGEST_DRIFT;
        let fits = |drift: &&&Drift| {
            let size = canonical::to_bytes(*drift).len();
            let fits = size <= room;
            room -= if fits { size } else { 0 };
            fits
        };
        let told: Vec<&Drift> = new.iter().filter(fits).copied().collect();
        let keys = new.iter().take(MOST_NAMED).map(|drift| drift.key.to_text()).collect::<Vec<_>>().join("\n");
        let entry = self.app_entry(Kind::DriftObserved, app).with_data("count", new.len()).with_data("keys", keys);
        let entry = entry.with_data("drift", self.name_of_drift());
        Some(entry.with_body(canonical::to_bytes(&told)))
    }

    /// Builds the record of reported drift that ended without our doing.
    fn entry_of_over(&self, app: &AppId, over: &[Over]) -> Option<Entry> {
        let keys = over.iter().take(MOST_NAMED).map(|over| over.key.to_text()).collect::<Vec<_>>().join("\n");
        let entry = self.app_entry(Kind::DriftOver, app).with_data("count", over.len()).with_data("keys", keys);
        (!over.is_empty()).then(|| entry.with_body(canonical::to_bytes(&over)))
    }

    /// Notes whether every object that the bundle declares was observed in place and healthy.
    pub(super) fn note_convergence(&mut self, app: &AppId, bundle: Digest, converged: bool) {
        let retiring = self.holdings.facts().apps.get(app).is_none_or(|facts| facts.retiring);
        let Some(kept) = self.apps.get_mut(app).filter(|_| !retiring) else { return };
        let was = kept.converged;
        kept.converged = converged;
        if !kept.converged {
            return self.deadline_runs(app);
        }
        self.deadline_met(app);
        let (Some(kept), Some(facts)) = (self.apps.get(app), self.holdings.facts().apps.get(app)) else { return };
        let good = facts.accepted.as_ref().filter(|accepted| accepted.bundle == bundle);
        let known = facts.last_good.as_ref().map(|good| good.bundle);
        if let Some(good) = good.filter(|good| Some(good.bundle) != known) {
            let mut sent = AppFacts::clone(&kept.sent);
            sent.last_good = Some(good.clone());
            self.put_app(app, sent, Kind::AppState, "converged", Then::Nothing);
        }
        if !was {
            self.wake_dependents(app);
        }
    }

    pub(super) fn wake_dependents(&mut self, app: &AppId) {
        for dependent in self.dependents.get(app).cloned().into_iter().flatten() {
            self.wants_look(&dependent, Priority::NewBundle);
        }
    }

    /// Schedules the next observation. Events trigger it; these timers are the fallback.
    pub(super) fn schedule_next_look(&mut self, app: &AppId, decision: &Decision) {
        self.schedule_sweep(app);
        let withheld = decision.report.iter().map(|withheld| self.worth_a_look_at(app, &withheld.why));
        let soonest = withheld.chain(self.window_opens(app)).min();
        match soonest {
            Some(at) => self.timers.set(Timer::Look(app.clone()), at.max(self.now + Span::millis(100))),
            None => self.timers.cancel(&Timer::Look(app.clone())),
        }
    }

    pub(super) fn worth_a_look_at(&self, app: &AppId, why: &Why) -> Timestamp {
        let later = self.now + RECONSIDER;
        if let Some(until) = why.until() {
            return until;
        }
        match why {
            Why::State { state: State::Suspended } => {
                let facts = self.holdings.facts().apps.get(app);
                facts.and_then(|facts| facts.suspension.as_ref()).map_or(later, |suspension| suspension.until)
            }
            Why::State { state: State::WindowClosed } => self.window_opens(app).unwrap_or(later),
            Why::RetentionReason(RetentionReason::OldObservation) => self.now,
            // Other apps render in a moment. If one keeps failing, we must not check too often in
            // vain.
            Why::RetentionReason(RetentionReason::OthersNotConsidered) => self.now + Span::seconds(5),
            // There is nothing to wait for: another declaration triggers an observation of its own.
            Why::NotSeenToEnd => self.now + self.settings.sweep,
            Why::PerhapsGone => self.now + Span::seconds(15),
            _ => later,
        }
    }

    /// Returns when the currently closed window opens.
    pub(super) fn window_opens(&self, app: &AppId) -> Option<Timestamp> {
        let control = self.apps.get(app)?.control.as_ref()?;
        let closed = control.closed.iter().filter(|(from, until)| *from <= self.now && self.now < *until);
        closed.map(|(_, until)| *until).max()
    }
}

/// Returns drift that was observed and left alone before, and is gone now: others have corrected
/// it, or it is declared now. Drift of unobserved objects may persist.
fn ended_by_itself(
    before: &[Drift],
    withheld: &[Withheld],
    decision: &Decision,
    observation: &Observation,
) -> Vec<Over> {
    if before.is_empty() {
        return Vec::new();
    }
    let left_alone: BTreeSet<&Key> = withheld.iter().map(|withheld| &withheld.key).collect();
    let drifts: BTreeSet<&Key> = decision.drifts.iter().map(|drift| &drift.key).collect();
    let is_seen = |key: &Key| observation.states.get(key).is_some_and(Observed::is_known);
    let before: BTreeSet<&Key> = before.iter().map(|drift| &drift.key).collect();
    let ended = before.into_iter().filter(|key| left_alone.contains(key) && is_seen(key) && !drifts.contains(key));
    ended.map(|key| Over { key: key.clone(), paths: Vec::new() }).collect()
}
