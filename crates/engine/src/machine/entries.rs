//! The ledger entries of the machine.

use std::collections::BTreeMap;
use std::sync::Arc;

use setpoint_core::digest::Digest;
use setpoint_core::facts::{AppFacts, Change};
use setpoint_core::name::{Actor, AppId, Scope};
use setpoint_ledger::{Entry, Kind};

use crate::event::OrderId;

use super::{Machine, Then};

impl Machine {
    /// Builds an entry of the engine itself.
    pub(super) fn entry(&self, kind: Kind, subject: impl Into<String>) -> Entry {
        Entry::new(kind, Scope::default_scope(), subject, engine(), self.now)
    }

    /// Builds an entry of the engine about an app, in the app's scope.
    pub(super) fn app_entry(&self, kind: Kind, app: &AppId) -> Entry {
        Entry::new(kind, app.scope.clone(), app.to_string(), engine(), self.now)
    }

    /// Changes an app's facts durably.
    pub(super) fn put_app(&mut self, app: &AppId, facts: AppFacts, kind: Kind, what: &str, then: Then) {
        let entry = self.app_entry(kind, app).with_data("what", what);
        self.put_app_by(app, facts, entry, BTreeMap::new(), then);
    }

    /// Changes an app's facts durably, with an entry that gives the reason.
    pub(super) fn put_app_by(
        &mut self,
        app: &AppId,
        facts: AppFacts,
        entry: Entry,
        bundles: BTreeMap<Digest, Vec<u8>>,
        then: Then,
    ) {
        self.put_app_for(None, app, facts, vec![entry], bundles, then);
    }

    /// Does the same for a person's order, which may need several entries: the first of them
    /// changes the facts.
    pub(super) fn put_app_for(
        &mut self,
        order: Option<OrderId>,
        app: &AppId,
        facts: AppFacts,
        mut entries: Vec<Entry>,
        bundles: BTreeMap<Digest, Vec<u8>>,
        then: Then,
    ) {
        let Some(kept) = self.apps.get_mut(app) else { return };
        let facts = Arc::new(facts);
        kept.sent = Arc::clone(&facts);
        if let Some(first) = entries.first_mut() {
            first.changes.push(Change::PutApp { app: app.clone(), facts });
        }
        self.append_for(order, entries, bundles, then);
    }
}

/// Returns the engine as an actor.
pub(super) fn engine() -> Actor {
    Actor::new("setpoint").expect("a plain name")
}
