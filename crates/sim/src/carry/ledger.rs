//! Effects on the ledger: leases, reads, and the only place where anything becomes durable.

use std::collections::BTreeMap;
use std::sync::Arc;

use setpoint_core::bundle::Bundle;
use setpoint_core::digest::Digest;
use setpoint_core::facts::{Change, Facts};
use setpoint_core::intent::Verb;
use setpoint_engine::{BundleCache, Event};
use setpoint_ledger::{Batch, Class, Entry, LeaseRequest};

use crate::fault::Fault;
use crate::monitor::Ledgered;
use crate::world::{Recipient, World};

impl World {
    pub(super) fn acquire(&mut self, from: Recipient, length: setpoint_core::time::Span) {
        if !self.is_current(from) {
            return;
        }
        if std::mem::take(&mut self.disk_broken) {
            let anchors = self.ledger.anchors();
            self.ledger.reopen(&anchors);
        }
        let instance = &self.instances[from.instance];
        let request = LeaseRequest {
            origin: self.origin.clone(),
            holder: instance.name.clone(),
            now: instance.clock(self.now),
            length,
        };
        let event = match self.ledger.acquire(&request) {
            Ok(lease) => {
                self.monitor.tenure_begins(from.instance, self.now);
                let event = Event::LeaseGranted { epoch: lease.epoch, expires: lease.expires };
                self.instances[from.instance].lease = Some(lease);
                event
            }
            Err(error) => {
                let until = match &error {
                    setpoint_ledger::LedgerError::Held { until, .. } => Some(*until),
                    _ => None,
                };
                Event::LeaseRefused { until, detail: error.to_string() }
            }
        };
        self.reply(from, event);
    }

    pub(super) fn renew(&mut self, from: Recipient, epoch: u64, length: setpoint_core::time::Span) {
        let clock = self.instances[from.instance].clock(self.now);
        let lease = self.instances[from.instance].lease.clone().filter(|lease| lease.epoch == epoch);
        let lost = self.strikes(Fault::LeaseLoss, "lease not renewed");
        let renewed = lease.filter(|_| !lost).and_then(|lease| self.ledger.renew(&lease, clock, length).ok());
        let event = match renewed {
            Some(lease) => {
                let event = Event::LeaseRenewed { epoch, expires: lease.expires };
                self.instances[from.instance].lease = Some(lease);
                event
            }
            None => Event::LeaseNotRenewed { epoch },
        };
        self.reply(from, event);
    }

    pub(super) fn load(&mut self, from: Recipient, epoch: u64) {
        if self.strikes(Fault::UnreadableLedger, "ledger unreadable") {
            return self.reply(from, Event::LoadFailed { epoch, detail: "too many open files".into() });
        }
        let facts = self.ledger.facts(&self.origin).clone();
        let bundles = BundleCache::default();
        facts
            .bundles()
            .iter()
            .filter_map(|digest| self.bundles.get(digest))
            .for_each(|bundle| bundles.put(Arc::clone(bundle)));
        self.reply(from, Event::Loaded { epoch, facts: Box::new(facts), bundles });
    }

    /// Appends records. This is the only place where anything becomes durable, and so the only
    /// place where the disk fails.
    pub(super) fn append(
        &mut self,
        from: Recipient,
        epoch: u64,
        entries: &[Entry],
        bundles: BTreeMap<Digest, Vec<u8>>,
    ) -> Result<(), (Class, String)> {
        if self.strikes(Fault::DiskLost, "disk lost") {
            self.break_disk();
        }
        let now = self.instances[from.instance].clock(self.now);
        let before = touched_by(self.ledger.facts(&self.origin), entries);
        let unknown: Vec<_> = bundles.keys().filter(|digest| !self.bundles.contains_key(digest)).copied().collect();
        let batch = Batch { origin: self.origin.clone(), epoch, now, entries: entries.to_vec(), bundles };
        self.ledger.append(batch).map_err(|error| (error.class(), error.to_string()))?;
        let (universe, stores, targets, bundles) = (&self.universe, &self.stores, &self.targets, &self.bundles);
        let (now, writer) = (self.now, from.instance);
        let scene = Ledgered { now, writer, universe, stores, targets, facts: &before, bundles };
        self.monitor.recording(&scene, entries);
        for digest in unknown {
            let bytes = self.ledger.bundle(&digest).expect("it was recorded just now");
            let bundle = Bundle::from_bytes(bytes, digest).expect("the engine stores what it can read back");
            self.keep_bundle(Arc::new(bundle));
        }
        let facts = self.ledger.facts(&self.origin);
        self.monitor.recorded(&self.universe, facts, &self.bundles, self.now, entries);
        if self.strikes(Fault::DiskKept, "disk kept") {
            self.break_disk();
            return Err((Class::NotDurable, "the sync failed".into()));
        }
        Ok(())
    }

    fn break_disk(&mut self) {
        self.disk_broken = true;
        self.ledger.break_disk();
    }
}

/// Returns the facts that entries are about to change, and the facts of their apps.
fn touched_by(facts: &Facts, entries: &[Entry]) -> Facts {
    let mut touched = Facts::default();
    for change in entries.iter().flat_map(|entry| &entry.changes) {
        let app = match change {
            Change::OpenIntent { intent } if intent.verb == Verb::Delete => &intent.app,
            Change::PutApp { app, .. } => app,
            Change::PutClaim { claim, from: Some(app) } => {
                let busy = facts.busy(&claim.target, &claim.key).and_then(|busy| facts.intents.get(&busy));
                let open = busy.map(|intent| Change::OpenIntent { intent: intent.clone() });
                // If a batch contains the key twice, the second one is refused and changes nothing.
                open.iter().for_each(|open| drop(touched.apply(open)));
                app
            }
            Change::DropClaim { target, key, app } => {
                facts.claims.get(target, key).into_iter().for_each(|claim| touched.claims.put(Arc::clone(claim)));
                app
            }
            _ => continue,
        };
        touched.apps.extend(facts.apps.get_key_value(app).map(|(app, facts)| (app.clone(), facts.clone())));
    }
    touched
}
