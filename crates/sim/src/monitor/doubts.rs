//! Targets that failed too often: after an engine reports that it pauses one, nothing is deleted
//! there until a complete observation.

use std::collections::BTreeMap;

use setpoint_core::intent::Intent;
use setpoint_core::live::Observation;
use setpoint_core::name::TargetIdentity;
use setpoint_core::observed::Observed;
use setpoint_core::time::Timestamp;

use super::Monitor;

/// The report of an instance that it pauses a target, by the instance's own clock.
#[derive(Debug)]
struct Doubt {
    since: Timestamp,
    left_alone_until: Timestamp,
    /// The time of the first complete observation after the pause.
    seen_whole: Option<Timestamp>,
}

/// The last doubt of each instance and target.
#[derive(Debug, Default)]
pub(super) struct Doubts(BTreeMap<(usize, TargetIdentity), Doubt>);

impl Monitor {
    /// Records that an instance pauses a target. A later report that the pause is over is not
    /// believed.
    pub fn leaves_alone(&mut self, instance: usize, target: &TargetIdentity, now: Timestamp, until: Timestamp) {
        let place = (instance, target.clone());
        if self.doubts.0.get(&place).is_none_or(|doubt| doubt.left_alone_until != until) {
            self.left_alone += 1;
            self.doubts.0.insert(place, Doubt { since: now, left_alone_until: until, seen_whole: None });
        }
    }

    /// Records the result of an observation by an instance.
    pub fn looked(&mut self, instance: usize, target: &TargetIdentity, observation: &Observation) {
        let Some(doubt) = self.doubts.0.get_mut(&(instance, target.clone())) else { return };
        let whole = observation.states.values().all(Observed::is_known);
        if whole && observation.at >= doubt.left_alone_until {
            doubt.seen_whole.get_or_insert(observation.at);
        }
    }

    /// Forgets an instance's doubts: its memory of targets ends with its tenure.
    pub(super) fn forget_doubts(&mut self, instance: usize) {
        self.doubts.0.retain(|(of, _), _| *of != instance);
    }

    /// Checks an intended delete of an instance. Intents from before the doubt may continue.
    pub(super) fn delete_undoubted(&mut self, writer: usize, intent: &Intent) {
        let doubt = self.doubts.0.get(&(writer, intent.target.clone()));
        let doubted = doubt.is_some_and(|doubt| {
            intent.at > doubt.since && doubt.seen_whole.is_none_or(|seen_whole| seen_whole > intent.at)
        });
        self.holds("S2", !doubted, || {
            format!(
                "{} is to be deleted from a target that failed too often and was not observed completely since",
                intent.key
            )
        });
    }
}
