//! Carrying out effects: each takes a while, reaches the system it is for, and its answer takes a while to come back.

use std::collections::BTreeMap;
use std::sync::Arc;

use setpoint_core::bundle::Bundle;
use setpoint_core::digest::Digest;
use setpoint_core::facts::{Change, Facts};
use setpoint_core::intent::Verb;
use setpoint_core::live::Observation;
use setpoint_core::name::{AppId, StoreName};
use setpoint_core::observed::{Blindness, Observed};
use setpoint_core::version::Revision;
use setpoint_engine::{Effect, Event, RenderOutcome};
use setpoint_ledger::{Batch, Class, Entry, LeaseRequest};
use setpoint_target::{Outcome, Refusal, RefusalClass, Wanted};

use crate::fault::Fault;
use crate::monitor::{Ledgered, Scene};
use crate::store::{self, Folder};
use crate::world::{Happening, Landing, Recipient, World};

impl World {
    /// An effect is on its way.
    pub(crate) fn send(&mut self, from: Recipient, effect: Effect) {
        let delay = 1 + u64::from(self.tape.pick("way", 40));
        let effect = Box::new(effect);
        let happening = match *effect {
            Effect::Execute { .. } => Happening::Leave { from, effect },
            Effect::Append { .. } => {
                // Appends keep their order, on the way and on the way back.
                let at = (self.now + delay).max(self.instances[from.instance].append_lane);
                self.instances[from.instance].append_lane = at;
                return self.at(at, Happening::Arrive { from, effect });
            }
            _ => Happening::Arrive { from, effect },
        };
        self.after(delay, happening);
    }

    fn reply(&mut self, to: Recipient, event: Event) {
        let delay = 1 + u64::from(self.tape.pick("way back", 40));
        self.after(delay, Happening::Deliver { to, event: Box::new(event) });
    }

    pub(crate) fn arrive(&mut self, from: Recipient, effect: Effect) {
        match effect {
            Effect::Acquire { length } => self.acquire(from, length),
            Effect::Renew { epoch, length } => self.renew(from, epoch, length),
            Effect::Load { epoch } => self.load(from, epoch),
            Effect::Append { ticket, epoch, entries, bundles } => {
                let event = match self.append(from, epoch, &entries, bundles) {
                    Ok(()) => Event::Appended { ticket },
                    Err((class, detail)) => Event::AppendFailed { ticket, class, detail },
                };
                let delay = 1 + u64::from(self.tape.pick("way back", 40));
                let at = (self.now + delay).max(self.instances[from.instance].answer_lane);
                self.instances[from.instance].answer_lane = at;
                self.at(at, Happening::Deliver { to: from, event: Box::new(event) });
            }
            Effect::Poll { ticket, store } => {
                let head = self.poll(&store);
                self.reply(from, Event::Polled { ticket, head });
            }
            Effect::Render { ticket, app, revision, accepted, descends_from } => {
                let outcome = self.render(
                    &app,
                    &revision,
                    accepted.as_ref().map(|accepted| &accepted.revision),
                    descends_from.as_ref(),
                );
                self.reply(from, Event::Rendered { ticket, outcome });
            }
            Effect::RenderAfresh { ticket, app } => {
                let bundle = self.render_afresh(&app);
                self.reply(from, Event::RenderedAfresh { ticket, bundle });
            }
            Effect::Observe { ticket, target, wanted } => {
                let target = self.target_index(&target);
                let observation = self.look(from, target, &wanted);
                self.reply(from, Event::Observed { ticket, observation });
            }
            Effect::Preview { ticket, target, resource } => {
                let verdict = self.targets[self.target_index(&target)].preview(&resource);
                self.reply(from, Event::Previewed { ticket, verdict });
            }
            Effect::Settle { ticket, target, intent, declared } => {
                // The machine asks only once the effect can no longer land, by its own reckoning of elapsed time.
                let ever = setpoint_core::time::Timestamp::from_millis(u64::MAX);
                let settlement = self.targets[self.target_index(&target)].settle(&intent, declared.as_deref(), ever);
                self.reply(from, Event::Settled { ticket, settlement });
            }
            Effect::Notify { ticket, .. } => {
                let delivered = !self.strikes(Fault::LostAnswer, "note lost");
                self.reply(from, Event::Notified { ticket, delivered });
            }
            Effect::Control { .. } => unreachable!("no universe has a root app"),
            // Whether the order was recorded shows in the ledger; nobody waits for the answer here.
            Effect::Ordered { .. } => {}
            Effect::Execute { .. } | Effect::WakeAt { .. } => unreachable!("they do not travel this way"),
        }
    }

    fn acquire(&mut self, from: Recipient, length: setpoint_core::time::Span) {
        if !self.is_current(from) {
            return;
        }
        if std::mem::take(&mut self.disk_broken) {
            let anchors = self.ledger.anchors().clone();
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
                self.monitor.tenure_begins(self.now);
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

    fn renew(&mut self, from: Recipient, epoch: u64, length: setpoint_core::time::Span) {
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

    fn load(&mut self, from: Recipient, epoch: u64) {
        let facts = self.ledger.facts(&self.origin).clone();
        let bundles: BTreeMap<_, _> = facts
            .bundles()
            .into_iter()
            .filter_map(|digest| Some((digest, self.bundles.get(&digest)?.clone())))
            .collect();
        self.reply(from, Event::Loaded { epoch, facts: Box::new(facts), bundles });
    }

    /// The one place where anything becomes durable, so the one place where the disk fails.
    fn append(
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
        let (universe, stores, targets) = (&self.universe, &self.stores, &self.targets);
        self.monitor.recording(&Ledgered { now: self.now, universe, stores, targets, facts: &before }, entries);
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

    fn poll(&mut self, store: &StoreName) -> Observed<setpoint_core::name::VersionId> {
        let n = self.store_index(store);
        if let Err(reason) = self.reach(n) {
            return Observed::unknown(reason);
        }
        let stale = self.strikes(Fault::StoreStale, "older head");
        let head = if stale { self.stores[n].older_head() } else { self.stores[n].head() };
        Observed::known(head, setpoint_core::time::Timestamp::from_millis(self.now))
    }

    fn store_index(&self, store: &StoreName) -> usize {
        let found = self.universe.stores.iter().position(|known| known == store);
        found.expect("the engine talks only to stores of the universe")
    }

    fn reach(&mut self, store: usize) -> Result<(), Blindness> {
        if self.strikes(Fault::StoreUnreachable, "store down") {
            let minutes = u64::from(1 + self.tape.pick("store down minutes", 15));
            self.store_down_until[store] = self.now + minutes * 60_000;
        }
        if self.store_down_until[store] > self.now {
            return Err(Blindness::Unreachable { detail: "the store is down".into() });
        }
        Ok(())
    }

    fn render(
        &mut self,
        app: &AppId,
        revision: &Revision,
        accepted: Option<&Revision>,
        descends_from: Option<&Revision>,
    ) -> RenderOutcome {
        let (name, offered) = revision.0.first_key_value().expect("every app reads a store");
        let n = self.store_index(name);
        if let Err(reason) = self.reach(n) {
            return RenderOutcome::Failed { reason };
        }
        let store = &self.stores[n];
        let before = accepted.and_then(|revision| revision.0.get(name));
        let base = descends_from.and_then(|revision| revision.0.get(name));
        let folder = store.folder(offered, app);
        if before.is_some_and(|before| store.folder(before, app) == folder)
            && matches!(folder, Some(Folder::Declares(_)))
        {
            return RenderOutcome::Unchanged;
        }
        match folder {
            Some(Folder::Declares(declared)) => {
                let mut resources = store::resources(declared);
                resources.truncate(self.script.render_keeps.unwrap_or(usize::MAX));
                RenderOutcome::Rendered { resources, ancestry: store.ancestry(base, offered) }
            }
            Some(Folder::Broken) => RenderOutcome::Refused { problems: vec!["app.yaml:3:5: unknown field".into()] },
            // A vanished folder is an error, never an empty app.
            None => RenderOutcome::Refused { problems: vec!["its folder is not there".into()] },
        }
    }

    fn render_afresh(&mut self, app: &AppId) -> Result<Digest, Blindness> {
        let n = self.app_index(app);
        let store = self.universe.store_of(n);
        self.reach(store)?;
        match self.stores[store].head_folder(app) {
            Some(Folder::Declares(declared)) => {
                let target = &self.universe.targets[self.universe.target_of(n)].identity;
                Ok(store::bundle(app, target, declared).digest())
            }
            _ => Err(Blindness::Malformed { detail: "the folder cannot be rendered".into() }),
        }
    }

    fn look(&mut self, from: Recipient, target: usize, wanted: &Wanted) -> Observation {
        let at = self.instances[from.instance].clock(self.now);
        self.script.looks += 1;
        let unreachable = || {
            let reason = Blindness::Unreachable { detail: "no answer".into() };
            wanted.keys().map(|key| (key.clone(), Observed::unknown(reason.clone()))).collect()
        };
        if self.strikes(Fault::TargetUnreachable, "look unanswered") {
            return Observation { at, states: unreachable() };
        }
        let lags = !self.universe.targets[target].fresh_reads;
        let stale =
            self.script.stale_look == Some(self.script.looks) || lags && self.strikes(Fault::StaleRead, "stale look");
        let mut observation = match self.past[target].len() {
            past if stale && lags && past > 0 => {
                let n = self.tape.pick("how stale", past as u32) as usize;
                self.past[target][n].1.observe(wanted.keys(), at)
            }
            _ => self.targets[target].observe(wanted.keys(), at),
        };
        if self.strikes(Fault::PartialList, "partial look") {
            for state in observation.states.values_mut() {
                if self.tape.happens("key unseen", 400) {
                    *state = Observed::unknown(Blindness::Partial { detail: "a page was lost".into() });
                }
            }
        }
        observation
    }

    /// The last moment at which the instance decides: too late means not at all.
    pub(crate) fn leave(&mut self, from: Recipient, effect: Effect) {
        if !self.is_current(from) {
            return;
        }
        let paused_until = self.instances[from.instance].paused_until;
        if paused_until > self.now {
            return self.at(paused_until, Happening::Leave { from, effect: Box::new(effect) });
        }
        let Effect::Execute { ticket, target, work, fence } = effect else { unreachable!("only steps leave") };
        if self.instances[from.instance].clock(self.now) > fence.leave_by {
            let outcomes = work.iter().map(|_| refused(RefusalClass::Fenced, "too late")).collect();
            return self.reply(from, Event::Executed { ticket, outcomes });
        }
        let slow = self.strikes(Fault::SlowEffect, "slow effect");
        let delay = if slow {
            1_000 + u64::from(self.tape.pick("slow", 28_000))
        } else {
            1 + u64::from(self.tape.pick("way", 40))
        };
        // The caller may have given up on it before it lands.
        let answer = !(slow && self.tape.happens("given up early", 500));
        if !answer {
            let outcomes = work.iter().map(|_| Outcome::Unknown { detail: "timed out".into() }).collect();
            self.reply(from, Event::Executed { ticket, outcomes });
        }
        let landing = Landing { ticket, target: self.target_index(&target), work, fence, answer };
        self.after(delay, Happening::Land { from, landing: Box::new(landing) });
    }

    pub(crate) fn land(&mut self, from: Recipient, landing: Landing) {
        let Landing { ticket, target, work, fence, answer } = landing;
        let mut outcomes = Vec::with_capacity(work.len());
        for work in &work {
            outcomes.push(self.land_one(target, work, fence));
        }
        self.hint(target);
        if answer && !self.strikes(Fault::LostAnswer, "answer lost") {
            self.reply(from, Event::Executed { ticket, outcomes });
        }
    }

    fn land_one(&mut self, target: usize, work: &setpoint_target::Work, fence: setpoint_target::Fence) -> Outcome {
        if self.strikes(Fault::TimeoutBefore, "timeout before") {
            return Outcome::Unknown { detail: "timed out".into() };
        }
        if self.strikes(Fault::Unavailable, "unavailable") {
            return refused(RefusalClass::Unavailable, "busy");
        }
        if self.strikes(Fault::Conflict, "conflict") {
            return refused(RefusalClass::Conflict, "someone was faster");
        }
        let (now, universe, stores, bundles) = (self.now, &self.universe, &self.stores, &self.bundles);
        let facts = self.ledger.facts(&self.origin);
        let world = &mut self.targets[target];
        self.monitor.landing(&Scene { now, universe, stores, target: world, facts, bundles }, work);
        // It left in time; how long it was under way is the network's business, and bounded.
        let outcome = world.execute_one(work, fence, fence.leave_by);
        self.monitor.landed(&Scene { now, universe, stores, target: world, facts, bundles }, work, fence, &outcome);
        if self.timeline.is_some() {
            self.remark(&format!("target: {} {:?} {} → {outcome:?}", work.intent, work.step.verb, work.step.key));
        }
        if self.strikes(Fault::TimeoutAfter, "timeout after") {
            return Outcome::Unknown { detail: "timed out".into() };
        }
        outcome
    }
}

/// Of all facts those that entries are about to change, and those of the apps they are about.
fn touched_by(facts: &Facts, entries: &[Entry]) -> Facts {
    let mut touched = Facts::default();
    for change in entries.iter().flat_map(|entry| &entry.changes) {
        let app = match change {
            Change::OpenIntent { intent } if intent.verb == Verb::Delete => &intent.app,
            Change::PutApp { app, .. } => app,
            Change::DropClaim { target, key, app } => {
                let claim = facts.claims.get_key_value(&(target.clone(), key.clone()));
                touched.claims.extend(claim.map(|(place, claim)| (place.clone(), claim.clone())));
                app
            }
            _ => continue,
        };
        touched.apps.extend(facts.apps.get_key_value(app).map(|(app, facts)| (app.clone(), facts.clone())));
    }
    touched
}

fn refused(class: RefusalClass, detail: &str) -> Outcome {
    Outcome::Refused { refusal: Refusal { class, detail: detail.into(), retry_after: None } }
}
