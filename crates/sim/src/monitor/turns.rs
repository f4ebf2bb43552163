//! What comes in its turn: something new is begun only after the engine was shown that what has to be well before it is.

use std::collections::{BTreeMap, VecDeque};

use setpoint_core::bundle::{Bundle, Declared};
use setpoint_core::digest::Digest;
use setpoint_core::intent::Intent;
use setpoint_core::key::Key;
use setpoint_core::live::{Health, Live, Observation, Presence};
use setpoint_core::modes::Cause;
use setpoint_core::name::TargetIdentity;
use setpoint_core::observed::Observed;
use setpoint_core::plan::Step;
use setpoint_core::time::{Span, Timestamp};

use super::{Monitor, Scene};

/// A plan is carried out on what was shown before it was begun, and takes no longer than this, whatever is shown to others meanwhile.
const LONGEST_PLAN: Span = Span::minutes(5);
/// Older showings decide nothing any more.
const MOST_SHOWINGS: usize = 16;

/// Since when something was healthy and what it then was, or not well.
type Showing = (Timestamp, Option<Digest>);

/// What engines were shown of each object. Only what is other than before.
#[derive(Debug, Default)]
pub(super) struct Showings(BTreeMap<(TargetIdentity, Key), VecDeque<Showing>>);

impl Showings {
    fn take(&mut self, target: &TargetIdentity, key: &Key, at: Timestamp, well: Option<Digest>) {
        let showings = self.0.entry((target.clone(), key.clone())).or_default();
        if showings.back().map(|(_, last)| *last) != Some(well) {
            showings.push_back((at, well));
            showings.drain(..showings.len().saturating_sub(MOST_SHOWINGS));
        }
    }

    /// Whether something was shown to be this and healthy, and nothing else since for a plan of this instant to go by.
    fn are_well(&self, target: &TargetIdentity, key: &Key, fingerprint: Digest, planned: Timestamp) -> bool {
        let Some(showings) = self.0.get(&(target.clone(), key.clone())) else { return false };
        let is_over = |at: usize| showings.get(at + 1).is_some_and(|(since, _)| *since + LONGEST_PLAN < planned);
        let well = showings.iter().enumerate().filter(|(_, (_, shown))| *shown == Some(fingerprint));
        well.into_iter().any(|(at, _)| !is_over(at))
    }
}

impl Monitor {
    /// An engine was shown this.
    pub fn shown(&mut self, target: &TargetIdentity, observation: &Observation) {
        for (key, state) in &observation.states {
            let Observed::Known { value, .. } = state else { continue };
            let well = match value {
                Presence::Present(live) if live.health == Health::Healthy => Some(live.fingerprint),
                _ => None,
            };
            self.showings.take(target, key, observation.at, well);
        }
    }

    /// Something lands: whatever it must not be begun without was shown to be as declared and healthy.
    pub(super) fn in_its_turn(&mut self, scene: &Scene<'_>, step: &Step, intent: &Intent) {
        let Some(bundle) = scene.bundles.get(&intent.bundle).filter(|bundle| bundle.waits_for_health()) else { return };
        let Some(own) = bundle.resources().get(&step.key) else { return };
        let target = scene.target.identity();
        let shown = |key: &Key, declared: &Declared| {
            let fingerprint = Live::fingerprint_of(&declared.resource.body);
            self.showings.are_well(target, key, fingerprint, intent.at)
        };
        let early = before(bundle, own, step.cause).find(|(key, declared)| !shown(key, declared)).map(|(key, _)| key);
        self.holds("S14", early.is_none(), || {
            format!("{} is begun, and {} was not last shown to be well", step.key, early.expect("it is early"))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_well_counts_until_plans_must_know_that_it_is_not() {
        let target = TargetIdentity::new("here").expect("a valid identity");
        let key: Key = "file::/a".parse().expect("a valid key");
        let at = |minutes| Timestamp::from_millis(0) + Span::minutes(minutes);
        let (one, other) = (Digest::of(b"one"), Digest::of(b"other"));
        let mut showings = Showings::default();
        let well = |showings: &Showings, minutes| showings.are_well(&target, &key, one, at(minutes));
        assert!(!well(&showings, 0), "it was never shown");
        showings.take(&target, &key, at(1), Some(one));
        assert!(well(&showings, 1) && well(&showings, 600));
        for (minutes, shown) in [(10, None), (30, Some(other)), (50, None)] {
            showings.take(&target, &key, at(minutes), shown);
            showings.take(&target, &key, at(minutes + 2), shown);
            assert!(well(&showings, minutes + 5), "a plan that was begun before may go on");
            assert!(!well(&showings, minutes + 6));
            showings.take(&target, &key, at(minutes + 10), Some(one));
            assert!(well(&showings, minutes + 10));
        }
    }
}
