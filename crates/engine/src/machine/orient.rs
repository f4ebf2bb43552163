//! Builds the input of a decision from durable facts, memory and observations.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use setpoint_core::acting::ActingAs;
use setpoint_core::bundle::Bundle;
use setpoint_core::check::check;
use setpoint_core::decide::{Decision, decide};
use setpoint_core::digest::Digest;
use setpoint_core::facts::AppFacts;
use setpoint_core::hold::{Hold, HoldReason};
use setpoint_core::key::Key;
use setpoint_core::live::Observation;
use setpoint_core::modes::{State, States};
use setpoint_core::mutant::Mutant;
use setpoint_core::name::{AppId, TargetIdentity};
use setpoint_core::snapshot::{Answers, Budget, Elsewhere, FreshRender, Preview, Snapshot, TargetStanding};
use setpoint_core::time::Timestamp;
use setpoint_target::Asker;

use crate::controls::{AppControl, Mode};
use crate::effect::NoteKind;

use super::Machine;
use super::app::App;
use super::queue::Priority;

/// The assumptions of a decision that is only shown. The app is in none of the states that keep it
/// from changes for a while, failed changes are tried again at once, and target and store have given
/// these answers.
#[derive(Debug, Default)]
pub(super) struct Assumptions {
    pub(super) previews: BTreeMap<Key, Preview>,
    pub(super) fresh_render: Option<FreshRender>,
}

impl Machine {
    pub(super) fn decide(&mut self, app: &AppId, keys: &BTreeSet<Key>, observation: &Observation) -> Option<Decision> {
        let bundle = self.bundle_of(app)?;
        let (decision, broken) = self.decide_for(app, &bundle, keys, observation, None)?;
        match broken {
            Some(text) => self.tell(NoteKind::RuleBroken, app.to_string(), text),
            None => self.is_over(NoteKind::RuleBroken, &app.to_string()),
        }
        Some(decision)
    }

    /// Decides for an app that is to be held at this bundle. Also returns the rule that the plan
    /// would have broken. `assumed` marks a decision that is only shown.
    pub(super) fn decide_for(
        &mut self,
        app: &AppId,
        bundle: &Arc<Bundle>,
        keys: &BTreeSet<Key>,
        observation: &Observation,
        assumed: Option<Assumptions>,
    ) -> Option<(Decision, Option<String>)> {
        let mut facts = AppFacts::clone(self.holdings.facts().apps.get(app)?);
        facts.retiring = self.is_retiring(app);
        let budget = self.budget(app, &facts);
        let kept = self.apps.get(app)?;
        let target = self.standing_of(&facts.target);
        let open = |key: &Key| Some((key.clone(), self.holdings.facts().busy(&facts.target, key)?));
        let declared =
            |key: &Key| bundle.resources().get(key).filter(|_| !facts.retiring).map(|declared| declared.digest);
        let rules = kept.control.as_ref().map(|control| control.rules.clone()).unwrap_or_default();
        let rolled_back = |hold: &Hold| matches!(hold.why, HoldReason::RolledBack { .. });
        let unconsidered = self.unconsidered_neighbour(app, bundle);
        let states = self.states_of(app, &facts);
        let states = if assumed.is_some() { as_if_free(states) } else { states };
        let mut backing_off = kept.setbacks.backing_off(self.now, declared);
        if assumed.is_some() {
            // What to do about immutable fields is a reason of its own.
            backing_off.retain(|key, _| kept.answers.immutable.contains_key(key));
        }
        let answers = match assumed {
            Some(Assumptions { previews, fresh_render }) => {
                Cow::Owned(Answers { previews, fresh_render, ..kept.answers.clone() })
            }
            None => Cow::Borrowed(&kept.answers),
        };
        let snapshot = Snapshot {
            app,
            target: &target,
            rules: &rules,
            states,
            bundle,
            retiring: facts.retiring,
            rolling_back: facts.hold.as_ref().is_some_and(rolled_back) && self.held_at(app) == Some(bundle.digest()),
            converged_before: facts.last_good.as_ref().is_some_and(|good| good.bundle == bundle.digest()),
            claims: self.holdings.claims_of(app),
            elsewhere: &self.elsewhere(app, &facts.target, keys),
            baselines: &kept.baselines,
            observation,
            missing_since: &kept.missing_since,
            open_intents: &keys.iter().filter_map(open).collect(),
            backing_off: &backing_off,
            unconsidered: unconsidered.as_ref(),
            waiting_for: &self.waiting_for(app),
            budget: &budget,
            answers: &answers,
            parent: kept.last_plan,
        };
        let mut decision = decide(&snapshot, self.now);
        let broken = check(&decision.plan, &snapshot, self.now).first().map(ToString::to_string);
        if broken.is_some() {
            decision.plan.steps.clear();
            decision.changes.clear();
        }
        Some((decision, broken))
    }

    pub(super) fn standing_of(&self, target: &TargetIdentity) -> TargetStanding {
        TargetStanding {
            identity: target.clone(),
            quarantine_until: self.quarantine_until(),
            fresh_reads: self.controls.targets.get(target).is_some_and(|control| control.fresh_reads),
            breaker_open: self.breakers.get(target).is_some_and(super::breaker::Breaker::is_open),
        }
    }

    /// Returns until when nothing is deleted, because the installation is new.
    pub(super) fn quarantine_until(&self) -> Timestamp {
        let installed = self.holdings.facts().installed_at;
        // If the installation is not recorded yet, the quarantine has not even begun.
        installed.map_or(Timestamp::from_millis(u64::MAX), |at| at + self.settings.quarantine)
    }

    pub(super) fn budget(&mut self, app: &AppId, facts: &AppFacts) -> Budget {
        Budget {
            owned: self.holdings.claims_of(app).len() as u32,
            spent: self.holdings.spent_by(app, self.now),
            fleet_owned: self.holdings.facts().claims.len() as u32,
            fleet_spent: self.spent_by_fleet(),
            allowance: facts.allowance.clone(),
        }
    }

    /// Returns the deletes that count against the fleet's budget: those of the last hour, and those
    /// that plans under way may still make.
    fn spent_by_fleet(&mut self) -> u32 {
        if Mutant::ForgetFleetBudget.is_on() {
            return 0;
        }
        self.holdings.spent_by_fleet(self.now) + self.reserved
    }

    /// Returns those keys that another app claims or declares, with that app.
    pub(super) fn elsewhere(
        &self,
        app: &AppId,
        target: &TargetIdentity,
        keys: &BTreeSet<Key>,
    ) -> BTreeMap<Key, Elsewhere> {
        let interest = |key: &Key| {
            let claim = self.holdings.facts().claims.get(target, key);
            if let Some(claim) = claim.filter(|claim| claim.app != *app) {
                let declares = self.still_declares(&claim.app, key);
                return Some(Elsewhere { app: claim.app.clone(), claim: Some(Arc::clone(claim)), declares });
            }
            let other = self.holdings.declared_by_other(target, key, app)?;
            Some(Elsewhere { app: other.clone(), claim: None, declares: true })
        };
        keys.iter().filter_map(|key| Some((key.clone(), interest(key)?))).collect()
    }

    /// Reports whether the owner of a claim declares its key in the bundle at which it is held
    /// *now*: windows open and close, and controls change, without a new bundle. While the owner's
    /// document is unknown, any bundle that it may be held at counts.
    pub(super) fn still_declares(&self, owner: &AppId, key: &Key) -> bool {
        if self.has_given_up(owner) {
            return false;
        }
        let Some(facts) = self.holdings.facts().apps.get(owner) else { return false };
        let declares =
            |digest: Digest| self.bundles.get(&digest).is_some_and(|bundle| bundle.resources().contains_key(key));
        let known = self.apps.get(owner).is_some_and(|kept| kept.control.is_some());
        if known { self.held_at(owner).is_some_and(declares) } else { facts.bundles().any(declares) }
    }

    /// Reports whether the app is being retired. A document that no longer retires the app counts
    /// at once, not only when that is durable.
    pub(super) fn is_retiring(&self, app: &AppId) -> bool {
        let durable = self.holdings.facts().apps.get(app).is_some_and(|facts| facts.retiring);
        durable && self.apps.get(app).is_some_and(|kept| kept.sent.retiring)
    }

    /// Reports whether an app declares nothing any more: it is being retired, or its document is
    /// gone. Its objects are not touched, but an app that declares them takes them over. That is
    /// how an app is renamed. A document that came back counts at once, as above. A document that
    /// names another system is not gone: an address may be wrong for a while, and no object changes
    /// hands for that.
    pub(super) fn has_given_up(&self, app: &AppId) -> bool {
        let Some(facts) = self.holdings.facts().apps.get(app) else { return true };
        let is_frozen = |kept: &App| facts.frozen && kept.sent.frozen && kept.moved_to.is_none();
        self.is_retiring(app) || self.apps.get(app).is_some_and(|kept| is_frozen(kept))
    }

    /// Returns the user that an app's changes are made as: from its documents, or from its last
    /// ones if they are gone. Missing documents never mean the agent's own user.
    pub(super) fn acting_as(&self, app: &AppId) -> Option<Arc<ActingAs>> {
        let kept = self.apps.get(app)?;
        match &kept.control {
            Some(control) => control.acting_as.clone(),
            None => kept.sent.acting_as.clone(),
        }
    }

    pub(super) fn asker(&self, app: &AppId) -> Asker {
        let priority = self.apps.get(app).map_or_else(Priority::default, |kept| kept.priority);
        Asker { app: Some(app.clone()), acting_as: self.acting_as(app), priority, afresh: false }
    }

    /// Returns an app of the same target and stores that has not considered their heads yet: it may
    /// be about to declare a resource that this app no longer declares. The document that named the
    /// stores may be gone: then it may be any app of the target.
    fn unconsidered_neighbour(&self, app: &AppId, bundle: &Bundle) -> Option<AppId> {
        let (claims, facts) = (self.holdings.claims_of(app), self.holdings.facts().apps.get(app));
        let retiring = facts.is_some_and(|facts| facts.retiring);
        if !retiring && claims.keys().all(|key| bundle.resources().contains_key(key)) {
            return None;
        }
        let this = self.apps.get(app)?;
        let stores = this.control.as_ref().map(|control| &control.stores);
        let shares = |kept: &App| {
            let meets = |control: &Arc<AppControl>| stores.is_none_or(|stores| !control.stores.is_disjoint(stores));
            kept.sent.target == this.sent.target && kept.control.as_ref().is_some_and(meets)
        };
        let apps = self.apps.iter().map(|(other, kept)| (other, &**kept));
        let mut neighbours = apps.filter(|(other, kept)| *other != app && shares(kept));
        let undecided = |(other, kept): &(&AppId, &App)| {
            // Its stores have not responded yet: its current declaration is unknown.
            let unheard = kept.considered.is_none() && !kept.sent.retiring && !kept.is_undecided();
            unheard || self.is_yet_to_consider(other) || self.is_being_accepted(other)
        };
        neighbours.find(undecided).map(|(other, _)| other.clone())
    }

    /// Returns the bundle at which the app is to be held: the pin if there is one; the one a person
    /// let through; the last good one while its window is closed; else the accepted one.
    pub(super) fn held_at(&self, app: &AppId) -> Option<Digest> {
        self.held_by(app, self.holdings.facts().apps.get(app)?)
    }

    /// Returns the same for the given facts.
    pub(super) fn held_by(&self, app: &AppId, facts: &AppFacts) -> Option<Digest> {
        let kept = self.apps.get(app);
        let control = kept.and_then(|kept| kept.control.as_ref());
        // Only if the durable facts and the last sent ones agree, as in `is_retiring`.
        let retiring = facts.retiring && kept.is_none_or(|kept| kept.sent.retiring);
        if facts.hold.is_some() || retiring {
            return facts.held_at();
        }
        let manual = control.is_some_and(|control| control.mode == Mode::Manual);
        let closed = control.is_some_and(|control| self.is_closed(control));
        let last_good = facts.last_good.as_ref().map(|good| good.bundle);
        let last_good = last_good.filter(|_| closed && !Mutant::ForgetLastGood.is_on());
        let kept = if manual { facts.let_through } else { last_good };
        kept.or_else(|| facts.held_at())
    }

    fn is_closed(&self, control: &AppControl) -> bool {
        let closed = control.closed.iter().any(|(from, until)| *from <= self.now && self.now < *until);
        closed && !Mutant::IgnoreWindows.is_on()
    }

    /// Returns the apps that this one depends on and that have not converged.
    pub(super) fn waiting_for(&self, app: &AppId) -> Vec<AppId> {
        let control = self.apps.get(app).and_then(|kept| kept.control.as_ref());
        let depends_on = control.into_iter().flat_map(|control| &control.depends_on);
        depends_on.filter(|other| !self.apps.get(other).is_some_and(|kept| kept.converged)).cloned().collect()
    }

    /// Reports whether an app without a known document may have one all the same: the accepted
    /// documents are not loaded yet, or the target of its document is unknown. Its windows and
    /// rules would be in that document.
    fn may_have_document(&self, app: &AppId) -> bool {
        !self.are_in_force() || self.controls.unreached.contains_key(app)
    }

    pub(super) fn states_of(&self, app: &AppId, facts: &AppFacts) -> States {
        let kept = self.apps.get(app);
        let control = kept.and_then(|kept| kept.control.as_ref());
        let mode = match control.map(|control| control.mode) {
            None if facts.retiring && self.may_have_document(app) => State::TargetUnknown,
            None if facts.retiring => State::Auto,
            None if Mutant::HoldWithoutDocument.is_on() => State::Auto,
            None if kept.is_some_and(|kept| kept.moved_to.is_some()) => State::TargetMoved,
            None if self.controls.unreached.contains_key(app) => State::TargetUnknown,
            None => State::Frozen,
            Some(Mode::Observe) => State::Observe,
            Some(Mode::Manual) if facts.let_through.is_none() => State::Manual,
            Some(Mode::Manual | Mode::Auto) => State::Auto,
        };
        let closed = control.is_some_and(|control| self.is_closed(control));
        // A suspension that is being recorded counts too: one that is extended as it ends leaves no
        // gap.
        let sent = kept.and_then(|kept| kept.sent.suspension.as_ref());
        let suspended = facts.suspension.iter().chain(sent).any(|suspension| self.now < suspension.until);
        let suspended = suspended && !Mutant::ForgetSuspension.is_on();
        let stale = control.is_some_and(|control| control.stores.iter().any(|store| self.is_stale(store)));
        let also = [
            (closed, State::WindowClosed),
            (suspended, State::Suspended),
            (facts.hold.is_some(), State::Held),
            (stale, State::StoreStale),
        ];
        also.into_iter().filter(|(holds, _)| *holds).map(|(_, state)| state).chain([mode]).collect()
    }

    /// Updates the index of declared keys from the app's durable bundle.
    pub(super) fn redeclare(&mut self, app: &AppId) {
        let bundle = self.bundle_of(app).filter(|_| !self.has_given_up(app));
        self.index(app, bundle.as_ref());
    }

    pub(super) fn undeclare(&mut self, app: &AppId) {
        self.index(app, None);
    }

    pub(super) fn index(&mut self, app: &AppId, bundle: Option<&Arc<Bundle>>) {
        let Some(kept) = self.apps.get_mut_unmarked(app) else { return };
        if kept.indexed.as_ref().map(|(digest, _)| *digest) == bundle.map(|bundle| bundle.digest()) {
            return;
        }
        let after = bundle.map(|bundle| (bundle.digest(), bundle.resources().keys().cloned().collect()));
        let before = std::mem::replace(&mut kept.indexed, after);
        let target = kept.sent.target.clone();
        let keys = || before.iter().flat_map(|(_, keys)| keys);
        self.holdings.declares(app, &target, keys(), bundle.iter().flat_map(|bundle| bundle.resources().keys()));
        // Another app may have been waiting for keys that this app no longer declares.
        let waiting: BTreeSet<AppId> =
            keys().filter_map(|key| self.holdings.declared_by_other(&target, key, app).cloned()).collect();
        for other in waiting {
            self.wants_look(&other, Priority::NewBundle);
        }
    }
}

/// Returns the states without those that a person, a window or the mode of the app ends.
fn as_if_free(states: States) -> States {
    let automatic = states.but(State::Observe, State::Auto).but(State::Manual, State::Auto);
    automatic.without(State::Suspended).without(State::Held).without(State::WindowClosed)
}
