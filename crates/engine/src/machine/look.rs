//! Observes apps: queues them, requests observations, and handles the results.

use std::collections::{BTreeMap, BTreeSet};

use setpoint_core::digest::Digest;
use setpoint_core::facts::Change;
use setpoint_core::key::Key;
use setpoint_core::live::{Health, Observation, Presence};
use setpoint_core::mutant::Mutant;
use setpoint_core::name::{AppId, TargetIdentity};
use setpoint_core::observed::{Observed, UnknownReason};
use setpoint_core::time::Span;
use setpoint_ledger::Kind;
use setpoint_target::{Asker, Hint, Unwatched};

use crate::effect::{Effect, Ticket};

use super::app::Phase;
use super::queue::Priority;
use super::timers::Timer;
use super::{Awaited, Machine, Then};

const LONGEST_BLIND: Span = Span::minutes(1);

impl Machine {
    /// Queues an app for observation. If the app is busy, that is remembered.
    pub(super) fn wants_look(&mut self, app: &AppId, priority: Priority) {
        if self.is_root(app) {
            return self.hold_root();
        }
        let Some(kept) = self.apps.get_mut_unmarked(app) else { return };
        if kept.phase.is_idle() {
            if !self.queue.holds(app) {
                self.apps.marks.mark(app);
            }
            let Some(kept) = self.apps.get(app) else { return };
            self.queue.push(app, &kept.sent.target, priority, self.now);
        } else if !Mutant::LoseHintWhileBusy.is_on() {
            kept.again = Some(kept.again.map_or(priority, |again| again.min(priority)));
        }
    }

    /// Continues once the bookkeeping of the app is durable.
    pub(super) fn noted(&mut self, app: &AppId) {
        self.set_phase(app, Phase::Idle);
        self.wants_look(app, Priority::Drift);
    }

    pub(super) fn hinted(&mut self, target: &TargetIdentity, hint: &Hint) {
        let apps = match hint {
            Hint::Lost => {
                if self.unwatched.remove(target).is_some() {
                    self.mark_target(target);
                }
                self.apps_on(target)
            }
            Hint::Unwatched { kinds } => {
                let before = self.unwatched.insert(target.clone(), kinds.clone());
                if before.unwrap_or_default() != *kinds {
                    self.mark_target(target);
                }
                return;
            }
            Hint::AnswersAgain => self.apps_to_look_at_again(target),
            Hint::Changed { keys } => {
                let interested = keys.iter().flat_map(|key| self.holdings.interested_in(target, key));
                interested.cloned().collect::<BTreeSet<_>>().into_iter().collect()
            }
        };
        for app in apps {
            self.wants_look(&app, Priority::Drift);
        }
    }

    /// Returns the apps to observe now because the target responds again: those with unknown states
    /// need not wait for their timers.
    fn apps_to_look_at_again(&mut self, target: &TargetIdentity) -> Vec<AppId> {
        let was_left_alone = self.end_pause(target);
        let is_blind = |app: &AppId| self.apps.get(app).is_some_and(|kept| kept.look_failures > 0);
        self.apps_on(target).into_iter().filter(|app| was_left_alone || is_blind(app)).collect()
    }

    /// Returns the earliest outage of watching for objects that an app declares or owns, with its
    /// reason.
    pub(super) fn unwatched_of(&self, app: &AppId) -> Option<&Unwatched> {
        let target = &self.apps.get(app)?.sent.target;
        let kinds = self.unwatched.get(target).filter(|kinds| !kinds.is_empty())?;
        let keys = self.keys_of(app);
        kinds
            .iter()
            .filter(|unwatched| keys.iter().any(|key| unwatched.covers(key)))
            .min_by_key(|unwatched| unwatched.since)
    }

    pub(super) fn set_phase(&mut self, app: &AppId, phase: Phase) {
        let Some(kept) = self.apps.get_mut(app) else { return };
        let was_idle = kept.phase.is_idle();
        let is_idle = phase.is_idle();
        if let Phase::Acting(ended) = std::mem::replace(&mut kept.phase, phase) {
            self.reserved -= ended.reserved;
        }
        let busy = self.busy.entry(app.scope.clone()).or_default();
        match (was_idle, is_idle) {
            (true, false) => *busy += 1,
            (false, true) => *busy -= 1,
            _ => {}
        }
        if is_idle && let Some(priority) = kept.again.take() {
            self.queue.push(app, &kept.sent.target, priority, self.now);
        }
    }

    pub(super) fn start_looks(&mut self) {
        if !self.may_act() || self.knows_no_targets_yet() {
            return;
        }
        while self.busy.values().sum::<usize>() < self.settings.most_busy {
            let (breakers, now) = (&self.breakers, self.now);
            let may_start =
                |target: &TargetIdentity| !breakers.get(target).is_some_and(|breaker| breaker.is_closed_to_calls(now));
            let next = self.queue.pop(&self.busy, self.settings.most_busy, may_start);
            let Some((app, priority)) = next else { return };
            if let Some(kept) = self.apps.get_mut(&app) {
                kept.priority = priority;
            }
            self.look(&app);
        }
    }

    pub(super) fn look(&mut self, app: &AppId) {
        let Some(facts) = self.holdings.facts().apps.get(app) else { return };
        let target = facts.target.clone();
        let wanted = self.wanted_of(app);
        if self.has_given_up(app) && self.holdings.claims_of(app).is_empty() {
            return self.forget(app);
        }
        let Some(bundle) = self.bundle_digest_of(app) else { return };
        if wanted.is_empty() {
            return self.nothing_to_hold(app, bundle);
        }
        let ticket = self.ask(Awaited::Look(app.clone()), self.settings.patience);
        let sweeping = self.apps.get(app).is_some_and(|kept| kept.sweeping);
        self.set_phase(app, Phase::Looking { bundle, outdated: BTreeSet::new(), sweeping });
        let asker = Asker { afresh: sweeping && !Mutant::BelieveMemoryForEver.is_on(), ..self.asker(app) };
        self.effects.push(Effect::Observe { ticket, target, wanted, asker });
    }

    /// Handles an app that declares nothing and owns nothing: it is as declared, and there is
    /// nothing to observe.
    fn nothing_to_hold(&mut self, app: &AppId, bundle: Digest) {
        let Some(kept) = self.apps.get_mut(app) else { return };
        kept.report.clear();
        kept.drifts.clear();
        kept.remarks.clear();
        kept.health = Health::Healthy;
        self.note_convergence(app, bundle, true);
    }

    /// Forgets an app that is retired, or whose document is gone, once nothing of it is left.
    pub(super) fn forget(&mut self, app: &AppId) {
        let entry = self.app_entry(Kind::AppState, app).with_data("what", "forgotten");
        let entry = entry.with_change(Change::ForgetApp { app: app.clone() });
        self.append(vec![entry], BTreeMap::new(), Then::Forgotten { app: app.clone() });
        self.forgetting.insert(app.clone());
        self.queue.remove(app);
        for timer in [Timer::Look, Timer::Sweep, Timer::Deadline, Timer::SuspensionEnds] {
            self.timers.cancel(&timer(app.clone()));
        }
        self.undeclare(app);
        self.forget_notes(app);
        self.apps.remove(app);
    }

    pub(super) fn look_failed(&mut self, app: &AppId) {
        if let Some(target) = self.apps.get(app).map(|kept| kept.sent.target.clone()) {
            self.note_call(&target, false);
        }
        self.set_phase(app, Phase::Idle);
        self.look_after_blindness(app);
    }

    pub(super) fn look_after_blindness(&mut self, app: &AppId) {
        let Some(kept) = self.apps.get_mut(app) else { return };
        kept.converged = false;
        kept.look_failures += 1;
        let pause = Span::seconds(1).doubled(kept.look_failures - 1, LONGEST_BLIND);
        self.timers.set_no_later(Timer::Look(app.clone()), self.now + pause);
    }

    pub(super) fn observed(&mut self, ticket: Ticket, mut observation: Observation) {
        let Some(Awaited::Look(app)) = self.take(ticket) else { return };
        // Objects that were not requested then, or not returned, were not observed.
        let keys = self.keys_of(&app);
        for key in &keys {
            if !observation.states.contains_key(key) {
                observation.states.insert(key.clone(), Observed::unknown(UnknownReason::NotLooked));
            }
        }
        if let Some(Phase::Looking { bundle, outdated, .. }) = self.apps.get(&app).map(|kept| &kept.phase) {
            let moved = self.declared_otherwise(&app, *bundle);
            let unseen =
                outdated.iter().chain(&moved).map(|key| (key.clone(), Observed::unknown(UnknownReason::NotLooked)));
            observation.states.extend(unseen);
        }
        self.swept(&app, &observation);
        let observation = &observation;
        let Some(target) = self.apps.get(&app).map(|kept| kept.sent.target.clone()) else { return };
        self.note_look(&target, observation);
        self.note_missing(&app, observation);
        match self.decide(&app, &keys, observation) {
            Some(decision) => self.decided(&app, observation, decision),
            None => self.set_phase(&app, Phase::Idle),
        }
    }

    /// Reads everything of an app again, whatever events have reported.
    pub(super) fn sweep(&mut self, app: &AppId) {
        if let Some(kept) = self.apps.get_mut_unmarked(app) {
            kept.sweeping = true;
        }
        self.wants_look(app, Priority::Sweep);
    }

    /// Ends a sweep that has observed something: the target reads the rest at the next observation.
    /// A sweep that has observed nothing continues.
    fn swept(&mut self, app: &AppId, observation: &Observation) {
        let Some(kept) = self.apps.get_mut(app) else { return };
        let ended = matches!(kept.phase, Phase::Looking { sweeping: true, .. });
        if ended && observation.states.values().any(Observed::is_known) {
            kept.sweeping = false;
            self.timers.set(Timer::Sweep(app.clone()), self.now + self.settings.sweep);
        }
    }

    /// Schedules the first sweep of an app some time within the period, a different time for each
    /// app: apps that start together must not be read together.
    pub(super) fn schedule_sweep(&mut self, app: &AppId) {
        let timer = Timer::Sweep(app.clone());
        if self.timers.is_set(&timer) || self.apps.get(app).is_some_and(|kept| kept.sweeping) {
            return;
        }
        let digest = Digest::of(app.to_string().as_bytes());
        let share = 1 + u64::from(digest.as_bytes()[0]);
        let first = Span::millis(self.settings.sweep.as_millis() * share / 256);
        self.timers.set(timer, self.now + first);
    }

    /// Returns the keys whose current declaration differs from the one in the observed bundle. A
    /// target shows objects in the shape of the declaration it was given, so its result does not
    /// apply to another declaration.
    fn declared_otherwise(&self, app: &AppId, looked_for: Digest) -> BTreeSet<Key> {
        if self.bundle_digest_of(app) == Some(looked_for) {
            return BTreeSet::new();
        }
        let then = self.bundles.get(&looked_for);
        let then = |key: &Key| then.as_ref()?.resources().get(key).map(|declared| declared.digest);
        let now = self.bundle_of(app);
        let now = now.iter().flat_map(|bundle| bundle.resources());
        now.filter(|(key, declared)| then(key) != Some(declared.digest)).map(|(key, _)| key.clone()).collect()
    }

    /// Invalidates concurrent observations after a change of a claim. Other apps that declare the
    /// object may be reading it right now, and may get its state before the change. An app that
    /// takes over an object it has not observed yet would create it a second time, and forget that
    /// it exists.
    pub(super) fn claim_changed(&mut self, target: &TargetIdentity, key: &Key, of: &AppId) {
        if Mutant::BelieveOutdatedRead.is_on() {
            return;
        }
        let others: Vec<AppId> =
            self.holdings.interested_in(target, key).filter(|other| *other != of).cloned().collect();
        for other in others {
            if let Some(Phase::Looking { outdated, .. }) =
                self.apps.get_mut_unmarked(&other).map(|kept| &mut kept.phase)
            {
                outdated.insert(key.clone());
            }
        }
    }

    /// Notes since when owned objects are missing. An observation with an unknown state ends the
    /// run: only known states count.
    pub(super) fn note_missing(&mut self, app: &AppId, observation: &Observation) {
        let Some(target) = self.apps.get(app).map(|kept| kept.sent.target.clone()) else { return };
        let is_missing = |(key, state): (&Key, &Observed<Presence>)| {
            // The claim of this app, or of one that may hand the object over.
            let claim = self.holdings.facts().claims.get(&target, key)?;
            let missing = match state.as_known()? {
                Presence::Absent => true,
                Presence::Present(live) => claim.uid.as_ref().is_some_and(|uid| *uid != live.uid),
            };
            missing.then(|| key.clone())
        };
        let missing: Vec<_> = observation.states.iter().filter_map(is_missing).collect();
        let Some(kept) = self.apps.get_mut(app) else { return };
        let is_absent =
            |key: &Key| matches!(observation.states.get(key), Some(Observed::Known { value: Presence::Absent, .. }));
        kept.setbacks.forget_gone(is_absent);
        let before = std::mem::take(&mut kept.missing_since);
        let since = |key: Key| (key.clone(), before.get(&key).copied().unwrap_or(observation.at));
        kept.missing_since = missing.into_iter().map(since).collect();
    }
}
