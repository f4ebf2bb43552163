//! What follows from a decision: a plan, bookkeeping, questions, or rest until something happens.

use std::collections::BTreeMap;

use setpoint_core::decide::Decision;
use setpoint_core::live::{Health, Observation};
use setpoint_core::modes::State;
use setpoint_core::name::AppId;
use setpoint_core::report::{Kept, Why};
use setpoint_core::time::{Span, Timestamp};
use setpoint_ledger::Kind;

use super::app::Phase;
use super::queue::Priority;
use super::timers::Timer;
use super::{Machine, Then};

/// What is withheld is reconsidered at least this often.
const RECONSIDER: Span = Span::minutes(10);

impl Machine {
    pub(super) fn decided(&mut self, app: &AppId, observation: &Observation, decision: Decision) {
        let Some(kept) = self.apps.get_mut(app) else { return };
        kept.baselines.extend(decision.baselines.iter().cloned());
        kept.report.clone_from(&decision.report);
        kept.drifts.clone_from(&decision.drifts);
        kept.health = decision.health;
        let blind = !observation.is_complete();
        if !blind {
            kept.look_failures = 0;
        }
        self.note_convergence(app, &decision);
        if !decision.plan.is_empty() {
            return self.start_plan(app, decision);
        }
        if !decision.changes.is_empty() {
            let entries = self.entries_of_changes(app, &decision.changes);
            self.set_phase(app, Phase::Noting);
            self.append(entries, BTreeMap::new(), Then::Noted { app: app.clone() });
            return;
        }
        self.schedule_next_look(app, &decision);
        if blind {
            self.look_after_blindness(app);
        }
        self.ask_questions(app, decision.questions);
    }

    pub(super) fn note_convergence(&mut self, app: &AppId, decision: &Decision) {
        let Some(facts) = self.holdings.facts().apps.get(app).cloned() else { return };
        let Some(kept) = self.apps.get_mut(app).filter(|_| !facts.retiring) else { return };
        let was = kept.converged;
        kept.converged = decision.in_sync && decision.plan.is_empty() && decision.health == Health::Healthy;
        if !kept.converged {
            return self.deadline_runs(app);
        }
        self.deadline_met(app);
        let Some(kept) = self.apps.get(app) else { return };
        let good = facts.accepted.filter(|accepted| accepted.bundle == decision.plan.bundle);
        let known = facts.last_good.map(|good| good.bundle);
        if let Some(good) = good.filter(|good| Some(good.bundle) != known) {
            let mut sent = kept.sent.clone();
            sent.last_good = Some(good);
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

    /// Events bring the next look; these timers are the net under them.
    pub(super) fn schedule_next_look(&mut self, app: &AppId, decision: &Decision) {
        self.timers.set(Timer::Sweep(app.clone()), self.now + self.settings.sweep);
        let withheld = decision.report.iter().map(|withheld| self.worth_a_look_at(app, &withheld.why));
        let soonest = withheld.chain(self.window_opens(app)).min();
        match soonest {
            Some(at) => self.timers.set(Timer::Look(app.clone()), at.max(self.now + Span::millis(100))),
            None => self.timers.cancel(&Timer::Look(app.clone())),
        }
    }

    pub(super) fn worth_a_look_at(&self, app: &AppId, why: &Why) -> Timestamp {
        let later = self.now + RECONSIDER;
        match why {
            Why::BackingOff { until } => *until,
            Why::Kept(Kept::Quarantine { left }) => self.now + *left,
            Why::State { state: State::Suspended } => {
                let facts = self.holdings.facts().apps.get(app);
                facts.and_then(|facts| facts.suspension.as_ref()).map_or(later, |suspension| suspension.until)
            }
            Why::State { state: State::WindowClosed } => self.window_opens(app).unwrap_or(later),
            Why::Kept(Kept::OldObservation) => self.now,
            Why::PerhapsGone => self.now + Span::seconds(15),
            _ => later,
        }
    }

    /// When the window that is closed now opens.
    fn window_opens(&self, app: &AppId) -> Option<Timestamp> {
        let control = self.apps.get(app)?.control.as_ref()?;
        let closed = control.closed.iter().filter(|(from, until)| *from <= self.now && self.now < *until);
        closed.map(|(_, until)| *until).max()
    }
}
