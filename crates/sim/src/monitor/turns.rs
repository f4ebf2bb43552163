//! The order of changes: a new change begins only after the engine has observed its prerequisites
//! as healthy.

use std::collections::BTreeMap;

use setpoint_core::bundle::{Bundle, Declared};
use setpoint_core::digest::Digest;
use setpoint_core::facts::AppFacts;
use setpoint_core::intent::Intent;
use setpoint_core::key::Key;
use setpoint_core::live::{Health, Live, Observation, Presence};
use setpoint_core::modes::Cause;
use setpoint_core::name::{AppId, TargetIdentity};
use setpoint_core::observed::Observed;
use setpoint_core::plan::Step;

use super::{Ledgered, MINUTE, Monitor, Scene};
use crate::repository::root;

/// The objects that an engine ever observed as healthy, with their values and the time of the last
/// observation.
#[derive(Debug, Default)]
pub(super) struct ShownWell(BTreeMap<(TargetIdentity, Key, Digest), u64>);

/// The maximum time between the read that shows a bundle as good and the record of it.
const RECORDED_WITHIN: u64 = 3 * MINUTE;

impl Monitor {
    /// Records an observation of an engine.
    pub fn shown(&mut self, target: &TargetIdentity, observation: &Observation) {
        for (key, state) in &observation.states {
            if let Observed::Known { value: Presence::Present(live), .. } = state
                && live.health == Health::Healthy
            {
                self.shown_well.0.insert((target.clone(), key.clone(), live.fingerprint), self.now);
            }
        }
    }

    /// Checks that the prerequisites of a landing step were observed as declared and healthy.
    pub(super) fn in_its_turn(&mut self, scene: &Scene<'_>, step: &Step, intent: &Intent) {
        let Some(bundle) = scene.bundles.get(&intent.bundle).filter(|bundle| bundle.waits_for_health()) else { return };
        let Some(own) = bundle.resources().get(&step.key) else { return };
        let target = scene.target.identity();
        let shown = |key: &Key, declared: &Declared| {
            let fingerprint = Live::fingerprint_of(&declared.resource.body);
            self.shown_well.0.contains_key(&(target.clone(), key.clone(), fingerprint))
        };
        let early = before(bundle, own, step.cause).find(|(key, declared)| !shown(key, declared)).map(|(key, _)| key);
        self.holds("S14", early.is_none(), || {
            format!("{} is begun, and {} was never observed as healthy", step.key, early.expect("it is early"))
        });
    }
}

impl Monitor {
    /// Checks a bundle that becomes the last good one: all of it was observed as declared and
    /// healthy just before.
    pub(super) fn good_was_healthy(&mut self, scene: &Ledgered<'_>, app: &AppId, facts: &AppFacts) {
        let good = |facts: &AppFacts| facts.last_good.as_ref().map(|good| good.bundle);
        let before = scene.facts.apps.get(app).and_then(|facts| good(facts));
        let Some(bundle) = good(facts).filter(|new| Some(*new) != before && *app != root()) else { return };
        let Some(bundle) = scene.bundles.get(&bundle) else { return };
        let shown = |key: &Key, declared: &Declared| {
            let place = (facts.target.clone(), key.clone(), Live::fingerprint_of(&declared.resource.body));
            self.shown_well.0.get(&place).is_some_and(|at| scene.now <= at + RECORDED_WITHIN)
        };
        let not = bundle.resources().iter().find(|(key, declared)| !shown(key, declared)).map(|(key, _)| key.clone());
        self.holds("S14", not.is_none(), || {
            format!("{app} is recorded as converged, and {not:?} is not known to be healthy")
        });
    }
}

/// Returns the prerequisites of a new change: the awaited resources before it, and all earlier
/// waves. A correction of drift waits for no object's health.
fn before<'b>(bundle: &'b Bundle, own: &'b Declared, cause: Cause) -> impl Iterator<Item = (&'b Key, &'b Declared)> {
    let new = !matches!(cause, Cause::Drift | Cause::Addition);
    bundle.resources().iter().filter(move |(key, declared)| {
        new && (declared.resource.awaited && own.resource.after.contains(key) || declared.wave < own.wave)
    })
}
