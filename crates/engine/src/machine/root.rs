//! The root app: its resources are the control documents and its target is the engine itself. It is
//! accepted like any other app. Holding it at its bundle means that the controls computed from that
//! bundle are in force.

use std::collections::BTreeMap;
use std::sync::Arc;

use setpoint_core::digest::Digest;
use setpoint_core::facts::AppFacts;
use setpoint_core::live::Health;
use setpoint_core::mutant::Mutant;
use setpoint_core::name::{AppId, TargetIdentity};
use setpoint_core::observed::UnknownReason;
use setpoint_core::time::Span;
use setpoint_ledger::Kind;

use crate::effect::Effect;

use super::timers::Timer;
use super::{Machine, Then};

/// The shortest interval between two computations of the controls.
const SOONEST: Span = Span::seconds(1);

impl Machine {
    pub(super) fn is_root(&self, app: &AppId) -> bool {
        self.controls.root.as_ref() == Some(app)
    }

    fn root_bundle(&self) -> Option<Digest> {
        self.bundle_digest_of(self.controls.root.as_ref()?)
    }

    /// Reports whether controls were computed from the accepted documents, if any are accepted.
    pub(super) fn are_of_what_is_accepted(&self, of: Option<Digest>) -> bool {
        self.root_bundle().is_none_or(|bundle| of == Some(bundle))
    }

    pub(super) fn are_in_force(&self) -> bool {
        self.are_of_what_is_accepted(self.controls.of)
    }

    /// Reports whether no targets are connected yet. A process that has just begun knows the
    /// bootstrap alone, and an observation would only find that out.
    pub(super) fn knows_no_targets_yet(&self) -> bool {
        self.controls.of.is_none() && self.root_bundle().is_some()
    }

    /// Requests the controls of the accepted documents, unless they are in force or requested
    /// already.
    pub(super) fn hold_root(&mut self) {
        if self.are_in_force() && self.controls_asked.is_none() {
            self.root_is_held();
        } else if self.controls_asked != self.root_bundle() {
            self.ask_for_controls();
        }
    }

    /// Requests the controls, again and again until they arrive.
    pub(super) fn ask_for_controls(&mut self) {
        let root = self.controls.root.as_ref();
        let Some(bundle) = root.and_then(|root| self.bundle_of(root)) else { return };
        self.timers.set(Timer::Control, self.now + self.settings.patience);
        self.controls_asked = Some(bundle.digest());
        let known: BTreeMap<AppId, TargetIdentity> =
            self.apps.iter().map(|(app, kept)| (app.clone(), kept.sent.target.clone())).collect();
        self.effects.push(Effect::Control { bundle, known });
    }

    /// Requests the controls again, now or once this process is the writer.
    pub(super) fn settings_changed(&mut self) {
        self.controls.valid_until = Some(self.now);
        if self.tenure.is_holding() {
            self.ask_for_controls();
        }
    }

    /// Handles a failed render. If the loaded documents are not those in force, an answer was lost
    /// or an older request came late: the controls are requested again.
    pub(super) fn doubt_controls(&mut self, reason: &UnknownReason) {
        if *reason == UnknownReason::OtherDocuments && self.are_in_force() && self.controls_asked.is_none() {
            self.ask_for_controls();
        }
    }

    /// Notes that the accepted documents are in force: for the root app this is what convergence is
    /// for others.
    fn root_is_held(&mut self) {
        match self.controls.valid_until {
            Some(until) => self.timers.set(Timer::Control, until.max(self.now + SOONEST)),
            None => self.timers.cancel(&Timer::Control),
        }
        let (Some(root), Some(bundle)) = (self.controls.root.clone(), self.controls.of) else { return };
        let Some(kept) = self.apps.get_mut(&root) else { return };
        kept.converged = true;
        kept.health = Health::Healthy;
        let mut facts = AppFacts::clone(&kept.sent);
        self.deadline_met(&root);
        let good = facts.accepted.clone().filter(|accepted| accepted.bundle == bundle);
        if good.is_some() && good.as_ref().map(|good| good.bundle) != facts.last_good.as_ref().map(|good| good.bundle) {
            facts.last_good = good;
            self.put_app(&root, facts, Kind::AppState, "converged", Then::Nothing);
        }
    }

    /// Reports whether an app must wait for the root app. Apps of the root's own stores wait until
    /// it has considered their heads: a commit that moves an app's directory also changes the
    /// document that names the directory.
    pub(super) fn root_comes_first(&self, app: &AppId) -> bool {
        let Some(root) = self.controls.root.as_ref().filter(|root| *root != app) else { return false };
        let stores = |app: &AppId| self.controls.apps.get(app).map(|control| &control.stores);
        let shared = stores(root).zip(stores(app)).is_some_and(|(roots, apps)| !roots.is_disjoint(apps));
        let first = self.is_yet_to_consider(root) || self.is_being_accepted(root) || !self.are_in_force();
        shared && first && !Mutant::RootNotFirst.is_on()
    }

    /// Reports whether an acceptance is being recorded: until it is durable the bundle accepted
    /// before is in force.
    pub(super) fn is_being_accepted(&self, app: &AppId) -> bool {
        let bundle = |facts: Option<&Arc<AppFacts>>| facts?.accepted.as_ref().map(|accepted| accepted.bundle);
        bundle(self.apps.get(app).map(|kept| &kept.sent)) != bundle(self.holdings.facts().apps.get(app))
    }
}
