//! The hold plane up to the decision: look, decide, ask.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use setpoint_core::bundle::Bundle;
use setpoint_core::check::check;
use setpoint_core::decide::{Decision, decide};
use setpoint_core::digest::Digest;
use setpoint_core::facts::{AppFacts, Change};
use setpoint_core::hold::{Hold, HoldReason};
use setpoint_core::key::Key;
use setpoint_core::live::{Health, Observation, Presence};
use setpoint_core::modes::{State, States};
use setpoint_core::mutant::Mutant;
use setpoint_core::name::{AppId, TargetIdentity};
use setpoint_core::observed::Observed;
use setpoint_core::report::{Kept, Why};
use setpoint_core::snapshot::{Budget, Elsewhere, FreshRender, Preview, Question, Snapshot, TargetStanding};
use setpoint_core::time::{Span, Timestamp};
use setpoint_ledger::Kind;
use setpoint_target::{Hint, Refusal};

use crate::controls::Mode;
use crate::effect::{Effect, NoteKind, Ticket};

use super::app::Phase;
use super::queue::Priority;
use super::timers::Timer;
use super::{Awaited, Machine, Then};

/// What is withheld is reconsidered at least this often.
const RECONSIDER: Span = Span::minutes(10);
const LONGEST_BLIND: Span = Span::minutes(1);

impl Machine {
    /// The app should be looked at. While it is busy, that is remembered.
    pub(super) fn wants_look(&mut self, app: &AppId, priority: Priority) {
        let Some(kept) = self.apps.get_mut(app) else { return };
        if kept.phase.is_idle() {
            self.queue.push(app, priority, self.now);
        } else if !Mutant::LoseHintWhileBusy.is_on() {
            kept.again = Some(kept.again.map_or(priority, |again| again.min(priority)));
        }
    }

    /// What was noted about the app is durable.
    pub(super) fn noted(&mut self, app: &AppId) {
        self.set_phase(app, Phase::Idle);
        self.wants_look(app, Priority::Drift);
    }

    pub(super) fn hinted(&mut self, target: &TargetIdentity, hint: &Hint) {
        let apps = match hint {
            Hint::Lost => self.apps_on(target),
            Hint::Changed { keys } => {
                let owner = |key: &Key| {
                    let place = (target.clone(), key.clone());
                    self.holdings.facts().claims.get(&place).map(|claim| claim.app.clone())
                };
                keys.iter().filter_map(owner).collect::<BTreeSet<_>>().into_iter().collect()
            }
        };
        for app in apps {
            self.wants_look(&app, Priority::Drift);
        }
    }

    pub(super) fn set_phase(&mut self, app: &AppId, phase: Phase) {
        let Some(kept) = self.apps.get_mut(app) else { return };
        let was_idle = kept.phase.is_idle();
        let is_idle = phase.is_idle();
        kept.phase = phase;
        let busy = self.busy.entry(app.scope.clone()).or_default();
        match (was_idle, is_idle) {
            (true, false) => *busy += 1,
            (false, true) => *busy -= 1,
            _ => {}
        }
        if is_idle && let Some(priority) = self.apps.get_mut(app).and_then(|kept| kept.again.take()) {
            self.queue.push(app, priority, self.now);
        }
    }

    pub(super) fn start_looks(&mut self) {
        if !self.may_act() {
            return;
        }
        while self.busy.values().sum::<usize>() < self.settings.most_busy {
            let (apps, breakers, now) = (&self.apps, &self.breakers, self.now);
            let may_start = |app: &AppId| {
                let target = apps.get(app).map(|kept| &kept.sent.target);
                let breaker = target.and_then(|target| breakers.get(target));
                !breaker.is_some_and(|breaker| breaker.is_closed_to_calls(now))
            };
            let Some(app) = self.queue.pop(&self.busy, self.settings.most_busy, may_start) else { return };
            self.look(&app);
        }
    }

    fn look(&mut self, app: &AppId) {
        let Some(facts) = self.holdings.facts().apps.get(app) else { return };
        let (target, retiring) = (facts.target.clone(), facts.retiring);
        let keys = self.keys_of(app);
        if retiring && self.holdings.claims_of(app).is_empty() {
            return self.forget(app);
        }
        if self.bundle_of(app).is_none() || keys.is_empty() {
            return;
        }
        let ticket = self.ask(Awaited::Look(app.clone()), self.settings.patience);
        self.set_phase(app, Phase::Looking);
        self.effects.push(Effect::Observe { ticket, target, keys });
    }

    /// Nothing of a retired app is left.
    fn forget(&mut self, app: &AppId) {
        let entry = self.app_entry(Kind::AppState, app).with_data("what", "retired");
        let entry = entry.with_change(Change::ForgetApp { app: app.clone() });
        self.append(vec![entry], BTreeMap::new(), Then::Nothing);
        self.queue.remove(app);
        for timer in [Timer::Look(app.clone()), Timer::Sweep(app.clone()), Timer::Deadline(app.clone())] {
            self.timers.cancel(&timer);
        }
        self.undeclare(app);
        self.apps.remove(app);
    }

    pub(super) fn look_failed(&mut self, app: &AppId) {
        if let Some(target) = self.apps.get(app).map(|kept| kept.sent.target.clone()) {
            self.note_call(&target, false);
        }
        self.set_phase(app, Phase::Idle);
        self.look_after_blindness(app);
    }

    fn look_after_blindness(&mut self, app: &AppId) {
        let Some(kept) = self.apps.get_mut(app) else { return };
        kept.converged = false;
        kept.look_failures += 1;
        let pause = Span::seconds(1).doubled(kept.look_failures - 1, LONGEST_BLIND);
        self.timers.set_no_later(Timer::Look(app.clone()), self.now + pause);
    }

    pub(super) fn observed(&mut self, ticket: Ticket, observation: &Observation) {
        let Some(Awaited::Look(app)) = self.take(ticket) else { return };
        let Some(target) = self.apps.get(&app).map(|kept| kept.sent.target.clone()) else { return };
        self.note_look(&target, observation);
        self.note_missing(&app, observation);
        match self.decide(&app, observation) {
            Some(decision) => self.decided(&app, observation, decision),
            None => self.set_phase(&app, Phase::Idle),
        }
    }

    /// Notes since when what the app owns is not to be seen. Looking away ends the run: only what was seen counts.
    fn note_missing(&mut self, app: &AppId, observation: &Observation) {
        let claims = self.holdings.claims_of(app);
        let is_missing = |key: &Key| {
            let uid = claims.get(key).and_then(|claim| claim.uid.as_ref());
            match observation.states.get(key).and_then(Observed::as_known) {
                Some(Presence::Absent) => true,
                Some(Presence::Present(live)) => uid.is_some_and(|uid| *uid != live.uid),
                None => false,
            }
        };
        let missing: Vec<_> = claims.keys().filter(|key| is_missing(key)).cloned().collect();
        let Some(kept) = self.apps.get_mut(app) else { return };
        let before = std::mem::take(&mut kept.missing_since);
        let since = |key: Key| (key.clone(), before.get(&key).copied().unwrap_or(observation.at));
        kept.missing_since = missing.into_iter().map(since).collect();
    }

    fn decide(&mut self, app: &AppId, observation: &Observation) -> Option<Decision> {
        let keys = self.keys_of(app);
        let bundle = self.bundle_of(app)?.clone();
        let facts = self.holdings.facts().apps.get(app)?.clone();
        let budget = self.budget(app, &facts);
        let kept = self.apps.get(app)?;
        let target = self.standing(&facts.target);
        let open = |key: &Key| Some((key.clone(), self.holdings.facts().busy(&facts.target, key)?));
        let declared = |key: &Key| bundle.resources().get(key).map(|declared| declared.digest);
        let rules = kept.control.as_ref().map(|control| control.rules.clone()).unwrap_or_default();
        let rolled_back = |hold: &Hold| matches!(hold.why, HoldReason::RolledBack { .. });
        let snapshot = Snapshot {
            app,
            target: &target,
            rules: &rules,
            states: self.states_of(app, &facts),
            bundle: &bundle,
            retiring: facts.retiring,
            rolling_back: facts.hold.as_ref().is_some_and(rolled_back),
            converged_before: facts.last_good.as_ref().is_some_and(|good| good.bundle == bundle.digest()),
            claims: self.holdings.claims_of(app),
            elsewhere: &self.elsewhere(app, &facts.target, &keys),
            baselines: &kept.baselines,
            observation,
            missing_since: &kept.missing_since,
            open_intents: &keys.iter().filter_map(open).collect(),
            backing_off: &kept.setbacks.backing_off(self.now, declared),
            waiting_for: &self.waiting_for(app),
            budget: &budget,
            answers: &kept.answers,
            parent: kept.last_plan,
        };
        let mut decision = decide(&snapshot, self.now);
        let violations = check(&decision.plan, &snapshot, self.now);
        if let Some(violation) = violations.first() {
            decision.plan.steps.clear();
            let text = violation.to_string();
            self.tell(NoteKind::RuleBroken, app.to_string(), text);
        }
        Some(decision)
    }

    fn standing(&self, target: &TargetIdentity) -> TargetStanding {
        let installed = self.holdings.facts().installed_at;
        TargetStanding {
            identity: target.clone(),
            // Not yet recorded means not yet installed: the quarantine has not even begun.
            quarantine_until: installed.map_or(Timestamp::from_millis(u64::MAX), |at| at + self.settings.quarantine),
            fresh_reads: self.controls.targets.get(target).is_some_and(|control| control.fresh_reads),
            breaker_open: self.breakers.get(target).is_some_and(super::breaker::Breaker::is_open),
        }
    }

    fn budget(&mut self, app: &AppId, facts: &AppFacts) -> Budget {
        Budget {
            owned: self.holdings.claims_of(app).len() as u32,
            spent: self.holdings.spent_by(app, self.now),
            fleet_owned: self.holdings.facts().claims.len() as u32,
            fleet_spent: self.holdings.spent_by_fleet(self.now),
            allowance: facts.allowance.clone(),
        }
    }

    /// Other apps' interest in the keys of this one.
    fn elsewhere(&self, app: &AppId, target: &TargetIdentity, keys: &BTreeSet<Key>) -> BTreeMap<Key, Elsewhere> {
        let interest = |key: &Key| {
            let claim = self.holdings.facts().claims.get(&(target.clone(), key.clone()));
            if let Some(claim) = claim.filter(|claim| claim.app != *app) {
                let declares = self.holdings.is_declared_by(target, key, &claim.app);
                return Some(Elsewhere { app: claim.app.clone(), claim: Some(claim.clone()), declares });
            }
            let other = self.holdings.declared_by_other(target, key, app)?;
            Some(Elsewhere { app: other.clone(), claim: None, declares: true })
        };
        keys.iter().filter_map(|key| Some((key.clone(), interest(key)?))).collect()
    }

    /// Apps this one depends on that have not converged.
    fn waiting_for(&self, app: &AppId) -> Vec<AppId> {
        let control = self.apps.get(app).and_then(|kept| kept.control.as_ref());
        let depends_on = control.into_iter().flat_map(|control| &control.depends_on);
        depends_on.filter(|other| !self.apps.get(other).is_some_and(|kept| kept.converged)).cloned().collect()
    }

    pub(super) fn states_of(&self, app: &AppId, facts: &AppFacts) -> States {
        let control = self.apps.get(app).and_then(|kept| kept.control.as_ref());
        let mode = match control.map(|control| control.mode) {
            None if facts.retiring => State::Auto,
            None => State::Frozen,
            Some(Mode::Observe) => State::Observe,
            Some(Mode::Manual) if facts.let_through != facts.held_at() => State::Manual,
            Some(Mode::Manual | Mode::Auto) => State::Auto,
        };
        let closed = control
            .is_some_and(|control| control.closed.iter().any(|(from, until)| *from <= self.now && self.now < *until));
        let suspended = facts.suspension.as_ref().is_some_and(|suspension| self.now < suspension.until);
        let stale = control.is_some_and(|control| control.stores.iter().any(|store| self.is_stale(store)));
        let also = [
            (closed, State::WindowClosed),
            (suspended, State::Suspended),
            (facts.hold.is_some(), State::Held),
            (stale, State::StoreStale),
        ];
        also.into_iter().filter(|(holds, _)| *holds).map(|(_, state)| state).chain([mode]).collect()
    }

    fn decided(&mut self, app: &AppId, observation: &Observation, decision: Decision) {
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
            let mut entry = self.app_entry(Kind::AppState, app).with_data("what", "claims follow what was seen");
            entry.changes = decision.changes;
            self.set_phase(app, Phase::Noting);
            self.append(vec![entry], BTreeMap::new(), Then::Noted { app: app.clone() });
            return;
        }
        self.schedule_next_look(app, &decision);
        if blind {
            self.look_after_blindness(app);
        }
        self.ask_questions(app, decision.questions);
    }

    fn note_convergence(&mut self, app: &AppId, decision: &Decision) {
        let Some(facts) = self.holdings.facts().apps.get(app).cloned() else { return };
        let Some(kept) = self.apps.get_mut(app) else { return };
        let was = kept.converged;
        kept.converged = decision.in_sync && decision.plan.is_empty() && decision.health == Health::Healthy;
        if !kept.converged {
            return;
        }
        self.timers.cancel(&Timer::Deadline(app.clone()));
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

    fn wake_dependents(&mut self, app: &AppId) {
        let depends = |control: &crate::controls::AppControl| control.depends_on.contains(app);
        let waiting = self.apps.iter().filter(|(_, kept)| kept.control.as_ref().is_some_and(depends));
        for dependent in waiting.map(|(dependent, _)| dependent.clone()).collect::<Vec<_>>() {
            self.wants_look(&dependent, Priority::NewBundle);
        }
    }

    /// Events bring the next look; these timers are the net under them.
    fn schedule_next_look(&mut self, app: &AppId, decision: &Decision) {
        self.timers.set(Timer::Sweep(app.clone()), self.now + self.settings.sweep);
        let soonest = decision.report.iter().map(|withheld| self.worth_a_look_at(app, &withheld.why)).min();
        match soonest {
            Some(at) => self.timers.set(Timer::Look(app.clone()), at.max(self.now + Span::millis(100))),
            None => self.timers.cancel(&Timer::Look(app.clone())),
        }
    }

    fn worth_a_look_at(&self, app: &AppId, why: &Why) -> Timestamp {
        let later = self.now + RECONSIDER;
        match why {
            Why::BackingOff { until } => *until,
            Why::Kept(Kept::Quarantine { left }) => self.now + *left,
            Why::State { state: State::Suspended } => {
                let facts = self.holdings.facts().apps.get(app);
                facts.and_then(|facts| facts.suspension.as_ref()).map_or(later, |suspension| suspension.until)
            }
            Why::State { state: State::WindowClosed } => {
                let control = self.apps.get(app).and_then(|kept| kept.control.as_ref());
                let closed = control.into_iter().flat_map(|control| &control.closed);
                closed.map(|(_, until)| *until).filter(|until| *until > self.now).min().unwrap_or(later)
            }
            Why::Kept(Kept::OldObservation) => self.now,
            Why::PerhapsGone => self.now + Span::seconds(15),
            _ => later,
        }
    }

    fn ask_questions(&mut self, app: &AppId, questions: BTreeSet<Question>) {
        let Some(bundle) = self.bundle_of(app).cloned() else { return self.set_phase(app, Phase::Idle) };
        let mut asked = BTreeSet::new();
        for question in questions {
            match question {
                // Open intents are settled on their own clock, see `settle`.
                Question::Settle { .. } => {}
                Question::FreshRender { bundle } => {
                    let ticket = self.ask(Awaited::Afresh { app: app.clone(), bundle }, self.settings.patience);
                    self.effects.push(Effect::RenderAfresh { ticket, app: app.clone() });
                    asked.insert(ticket);
                }
                Question::Preview { key, version, declared } => {
                    let Some(resource) = bundle.resources().get(&key).map(|declared| declared.resource.clone()) else {
                        continue;
                    };
                    let awaited = Awaited::Preview { app: app.clone(), key, version, declared };
                    let ticket = self.ask(awaited, self.settings.patience);
                    let target = bundle.target().clone();
                    self.effects.push(Effect::Preview { ticket, target, resource });
                    asked.insert(ticket);
                }
            }
        }
        let phase = if asked.is_empty() { Phase::Idle } else { Phase::Asking(asked) };
        self.set_phase(app, phase);
    }

    pub(super) fn rendered_afresh(&mut self, ticket: Ticket, rendered: Option<Digest>) {
        let Some(Awaited::Afresh { app, bundle }) = self.take(ticket) else { return };
        let Some(rendered) = rendered else { return self.question_failed(&app, ticket) };
        let at = self.now;
        if let Some(kept) = self.apps.get_mut(&app) {
            kept.answers.fresh_render = Some(FreshRender { of: bundle, rendered, at });
        }
        if rendered != bundle {
            // The store has moved, or our render was wrong: either way it is time to ask it.
            let control = self.apps.get(&app).and_then(|kept| kept.control.as_ref());
            for store in control.map(|control| control.stores.clone()).into_iter().flatten() {
                self.timers.set(Timer::Poll(store), self.now);
            }
        }
        self.answered(&app, ticket);
    }

    pub(super) fn previewed(&mut self, ticket: Ticket, verdict: Result<(), Refusal>) {
        let Some(Awaited::Preview { app, key, version, declared }) = self.take(ticket) else { return };
        if let Some(kept) = self.apps.get_mut(&app) {
            let verdict = verdict.map_err(|refusal| refusal.detail);
            kept.answers.previews.insert(key, Preview { version, declared, verdict });
        }
        self.answered(&app, ticket);
    }

    pub(super) fn question_failed(&mut self, app: &AppId, ticket: Ticket) {
        self.timers.set_no_later(Timer::Look(app.clone()), self.now + Span::seconds(5));
        let Some(kept) = self.apps.get_mut(app) else { return };
        if let Phase::Asking(left) = &mut kept.phase {
            left.remove(&ticket);
            if left.is_empty() {
                self.set_phase(app, Phase::Idle);
            }
        }
    }

    /// One of the answers is in; with the last one the app is looked at again and decided anew.
    fn answered(&mut self, app: &AppId, ticket: Ticket) {
        let Some(kept) = self.apps.get_mut(app) else { return };
        let Phase::Asking(left) = &mut kept.phase else { return };
        left.remove(&ticket);
        if left.is_empty() {
            self.set_phase(app, Phase::Idle);
            self.wants_look(app, Priority::Drift);
        }
    }

    /// Brings the index of declared keys up to date with the app's durable bundle.
    pub(super) fn redeclare(&mut self, app: &AppId) {
        let retiring = self.holdings.facts().apps.get(app).is_some_and(|facts| facts.retiring);
        let bundle = self.bundle_of(app).filter(|_| !retiring).cloned();
        self.index(app, bundle.as_ref());
    }

    fn undeclare(&mut self, app: &AppId) {
        self.index(app, None);
    }

    fn index(&mut self, app: &AppId, bundle: Option<&Arc<Bundle>>) {
        let Some(kept) = self.apps.get_mut(app) else { return };
        let digest = |bundle: Option<&Arc<Bundle>>| bundle.map(|bundle| bundle.digest());
        if digest(kept.indexed.as_ref()) == digest(bundle) {
            return;
        }
        let before = std::mem::replace(&mut kept.indexed, bundle.cloned());
        let target = kept.sent.target.clone();
        let before = before.iter().flat_map(|bundle| bundle.resources().keys());
        self.holdings.declares(app, &target, before, bundle.iter().flat_map(|bundle| bundle.resources().keys()));
    }
}
