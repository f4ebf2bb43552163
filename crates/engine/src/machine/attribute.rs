//! Attribution of drift by a target's audit trail. The trail comes later than the drift, and
//! nothing waits for it: a result becomes a record of its own that names the record it completes.

use std::collections::BTreeMap;

use setpoint_core::canonical;
use setpoint_core::decide::Drift;
use setpoint_core::key::Key;
use setpoint_core::live::{Observation, Presence, Writer};
use setpoint_core::modes::Cause;
use setpoint_core::name::AppId;
use setpoint_core::observed::Observed;
use setpoint_core::time::{Span, Timestamp};
use setpoint_ledger::{Entry, Kind};
use setpoint_target::Sightings;

use super::app::App;
use super::{Awaited, Machine, Then};
use crate::effect::{Effect, Ticket};

/// The time to wait for writers: servers send their audit trails in batches, half a minute apart.
const PATIENCE: Span = Span::minutes(2);
/// The additional time that the last answer may take.
const GRACE: Span = Span::seconds(10);

/// A request for the writers of one record of drift.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    pub(super) app: AppId,
    /// The name of the record.
    pub(super) of: String,
    pub(super) seen: Sightings,
    pub(super) until: Timestamp,
}

impl Machine {
    /// Returns a name for the record of the drift that this observation of the app has found.
    /// Tickets are never used twice in an epoch, and an observation has one.
    pub(super) fn name_of_drift(&self) -> String {
        format!("{}-{}", self.tenure.epoch().unwrap_or_default(), self.last_ticket)
    }

    /// Requests the writers of new drift, if the target has an audit trail.
    pub(super) fn ask_who(&mut self, app: &AppId, of: String, new: &[&Drift], observation: &Observation) {
        let Some(target) = self.apps.get(app).map(|kept| &kept.sent.target) else { return };
        if new.is_empty() || !self.controls.targets.get(target).is_some_and(|control| control.attributes) {
            return;
        }
        let sighting = |drift: &&Drift| match observation.states.get(&drift.key)? {
            Observed::Known { value: Presence::Present(live), .. } => {
                Some((drift.key.clone(), Some(live.version.clone())))
            }
            Observed::Known { value: Presence::Absent, .. } => Some((drift.key.clone(), None)),
            Observed::Unknown { .. } => None,
        };
        // A trail explains one version of an object. If several writers each added something to it,
        // the trail would name one for all of them; and a leftover has no writer.
        let is_one = |drift: &&&Drift| new.iter().filter(|other| other.key == drift.key).count() == 1;
        let explicable = new.iter().filter(|drift| drift.cause != Cause::Leftover).filter(is_one);
        let seen: Sightings = explicable.filter_map(sighting).collect();
        self.ask_about(Asked { app: app.clone(), of, seen, until: self.now + PATIENCE });
    }

    fn ask_about(&mut self, asked: Asked) {
        let Some(target) = self.apps.get(&asked.app).map(|kept| kept.sent.target.clone()) else { return };
        if asked.seen.is_empty() || self.now >= asked.until {
            return;
        }
        let seen = asked.seen.clone();
        let patience = asked.until.since(self.now) + GRACE;
        let ticket = self.ask(Awaited::Attribution(Box::new(asked)), patience);
        self.effects.push(Effect::Attribute { ticket, target, seen });
    }

    /// Records the writers that the trail names. The rest is requested again, until no more results
    /// can be expected.
    pub(super) fn attributed(&mut self, ticket: Ticket, writers: BTreeMap<Key, Writer>) {
        let Some(Awaited::Attribution(mut asked)) = self.take(ticket) else { return };
        let found: BTreeMap<Key, Writer> =
            writers.into_iter().filter(|(key, _)| asked.seen.remove(key).is_some()).collect();
        if found.is_empty() {
            return;
        }
        let entry = self.entry_of_writers(&asked, &found);
        self.append(vec![entry], BTreeMap::new(), Then::Nothing);
        if let Some(kept) = self.apps.get_mut(&asked.app) {
            kept.learn(found);
        }
        self.ask_about(*asked);
    }

    /// Builds the entry about writers. A writer's identity may be personal: it is in the body,
    /// which can be erased.
    fn entry_of_writers(&self, asked: &Asked, found: &BTreeMap<Key, Writer>) -> Entry {
        let entry = self.app_entry(Kind::DriftAttributed, &asked.app);
        let entry = entry.with_data("of", asked.of.clone()).with_data("count", found.len());
        entry.with_body(canonical::to_bytes(&found.iter().collect::<Vec<_>>()))
    }
}

impl App {
    /// Stores the drift of a new observation, and forgets the writers of drift that is no longer
    /// the same.
    pub(super) fn take_drifts(&mut self, drifts: Vec<Drift>) -> Vec<Drift> {
        let before = std::mem::replace(&mut self.drifts, drifts);
        let stays = |key: &Key| before.iter().any(|drift| drift.key == *key && self.drifts.contains(drift));
        self.writers.retain(|key, _| stays(key));
        before
    }

    fn learn(&mut self, found: BTreeMap<Key, Writer>) {
        let drifts = &self.drifts;
        let known = found.into_iter().filter(|(key, _)| drifts.iter().any(|drift| drift.key == *key));
        self.writers.extend(known);
    }

    /// Returns the known writer of a drift.
    pub(super) fn writer_of<'a>(&'a self, drift: &'a Drift) -> &'a Writer {
        self.writers.get(&drift.key).unwrap_or(&drift.writer)
    }

    /// Returns the drift of the last observation, with the writers found since.
    pub(super) fn told_drifts(&self) -> Vec<Drift> {
        self.drifts.iter().map(|drift| Drift { writer: self.writer_of(drift).clone(), ..drift.clone() }).collect()
    }
}
