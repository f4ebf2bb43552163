//! What comes in its turn: something new is begun only after the engine was shown that what has to be well before it is.

use std::collections::BTreeSet;

use setpoint_core::bundle::{Bundle, Declared};
use setpoint_core::digest::Digest;
use setpoint_core::intent::Intent;
use setpoint_core::key::Key;
use setpoint_core::live::{Health, Live, Observation, Presence};
use setpoint_core::modes::Cause;
use setpoint_core::name::TargetIdentity;
use setpoint_core::observed::Observed;
use setpoint_core::plan::Step;

use super::{Monitor, Scene};

/// What any engine was ever shown to be healthy, with what it then was.
#[derive(Debug, Default)]
pub(super) struct ShownWell(BTreeSet<(TargetIdentity, Key, Digest)>);

impl Monitor {
    /// An engine was shown this.
    pub fn shown(&mut self, target: &TargetIdentity, observation: &Observation) {
        for (key, state) in &observation.states {
            if let Observed::Known { value: Presence::Present(live), .. } = state
                && live.health == Health::Healthy
            {
                self.shown_well.0.insert((target.clone(), key.clone(), live.fingerprint));
            }
        }
    }

    /// Something lands: whatever it must not be begun without was shown to be as declared and healthy.
    pub(super) fn in_its_turn(&mut self, scene: &Scene<'_>, step: &Step, intent: &Intent) {
        let Some(bundle) = scene.bundles.get(&intent.bundle).filter(|bundle| bundle.waits_for_health()) else { return };
        let Some(own) = bundle.resources().get(&step.key) else { return };
        let target = scene.target.identity();
        let shown = |key: &Key, declared: &Declared| {
            let fingerprint = Live::fingerprint_of(&declared.resource.body);
            self.shown_well.0.contains(&(target.clone(), key.clone(), fingerprint))
        };
        let early = before(bundle, own, step.cause).find(|(key, declared)| !shown(key, declared)).map(|(key, _)| key);
        self.holds("S14", early.is_none(), || {
            format!("{} is begun, and {} was never shown to be well", step.key, early.expect("it is early"))
        });
    }
}

/// What has to be well before something new: what is awaited and it comes after, and all of the earlier waves. What is put right waits for nobody's
/// health.
fn before<'b>(bundle: &'b Bundle, own: &'b Declared, cause: Cause) -> impl Iterator<Item = (&'b Key, &'b Declared)> {
    let new = !matches!(cause, Cause::Drift | Cause::Addition);
    bundle.resources().iter().filter(move |(key, declared)| {
        new && (declared.resource.awaited && own.resource.after.contains(key) || declared.wave < own.wave)
    })
}
