//! Targets that failed too often: from when an engine says that it leaves one alone, nothing is
//! deleted there until a full look.

use std::collections::BTreeMap;

use setpoint_core::intent::Intent;
use setpoint_core::live::Observation;
use setpoint_core::name::TargetIdentity;
use setpoint_core::observed::Observed;
use setpoint_core::time::Timestamp;

use super::Monitor;

/// What an instance said of a target, by the instance's own clock.
#[derive(Debug)]
struct Doubt {
    since: Timestamp,
    left_alone_until: Timestamp,
    /// When it was looked at in full, once that time was over.
    seen_whole: Option<Timestamp>,
}

/// Of each instance and target the last one.
#[derive(Debug, Default)]
pub(super) struct Doubts(BTreeMap<(usize, TargetIdentity), Doubt>);

impl Monitor {
    /// An instance says that it leaves a target alone; what it says later about that being over is
    /// not believed.
    pub fn leaves_alone(&mut self, instance: usize, target: &TargetIdentity, now: Timestamp, until: Timestamp) {
        let place = (instance, target.clone());
        if self.doubts.0.get(&place).is_none_or(|doubt| doubt.left_alone_until != until) {
            self.left_alone += 1;
            self.doubts.0.insert(place, Doubt { since: now, left_alone_until: until, seen_whole: None });
        }
    }

    /// A look of an instance was answered.
    pub fn looked(&mut self, instance: usize, target: &TargetIdentity, observation: &Observation) {
        let Some(doubt) = self.doubts.0.get_mut(&(instance, target.clone())) else { return };
        let whole = observation.states.values().all(Observed::is_known);
        if whole && observation.at >= doubt.left_alone_until {
            doubt.seen_whole.get_or_insert(observation.at);
        }
    }

    /// What an instance remembers of targets ends with its tenure.
    pub(super) fn forget_doubts(&mut self, instance: usize) {
        self.doubts.0.retain(|(of, _), _| *of != instance);
    }

    /// A delete was intended by an instance. What it began before it had doubts goes on.
    pub(super) fn delete_undoubted(&mut self, writer: usize, intent: &Intent) {
        let doubt = self.doubts.0.get(&(writer, intent.target.clone()));
        let doubted = doubt.is_some_and(|doubt| {
            intent.at > doubt.since && doubt.seen_whole.is_none_or(|seen_whole| seen_whole > intent.at)
        });
        self.holds("S2", !doubted, || {
            format!(
                "{} is to be deleted from a target that failed too often and was not seen in full since",
                intent.key
            )
        });
    }
}
