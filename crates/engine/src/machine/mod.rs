//! The machine. This file contains its state and its only entry point, [`Machine::step`]. The
//! modules contain the behaviour:
//!
//! | Module | Content |
//! | --- | --- |
//! | [`tenure`] | becoming, being and ceasing to be the one writer |
//! | [`accept`] | from a store's head to a durable bundle |
//! | [`root`] | the app whose resources are the control documents |
//! | [`look`], [`orient`] | observations; the input of a decision |
//! | [`hold`], [`ask`] | the consequences of a decision; its open questions |
//! | [`attribute`] | writers of drift, found later |
//! | [`act`] | intents, effects, results |
//! | [`recording`] | entries sent to the ledger, and the reaction to its response |
//! | [`bundle_cache`] | the bundles, packed while they are unused |
//! | [`settle`] | finding out the outcome of an intent without a result |
//! | [`people`] | orders, deadlines, notes |
//! | [`queue`] | which app is next |
//! | [`apps`], [`changes`] | the apps in memory; marks of what may have become different |
//! | [`breaker`], [`setbacks`] | leaving a target or a resource alone for a while |
//! | [`timers`] | due times |
//! | [`status`], [`what_if`] | queries |

mod accept;
mod act;
mod app;
mod apps;
mod ask;
mod attribute;
mod breaker;
mod bundle_cache;
mod changes;
mod entries;
mod hold;
mod holdings;
mod look;
mod orient;
mod people;
mod queue;
mod recording;
mod root;
mod setbacks;
mod settle;
mod status;
mod tenure;
mod timers;
mod what_if;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use setpoint_core::bundle::Bundle;
use setpoint_core::digest::Digest;
use setpoint_core::intent::IntentId;
use setpoint_core::key::Key;
use setpoint_core::name::{AppId, LiveVersion, Scope, StoreName, TargetIdentity, Uid};
use setpoint_core::time::{Span, Timestamp};
use setpoint_core::version::Revision;
use setpoint_target::{Unwatched, Wanted};

use crate::controls::{Controls, Settings};
use crate::effect::{Declined, Effect, Note, Ticket};
use crate::event::Event;

use accept::{Store, Turns};
use act::Batch;
use apps::Apps;
use attribute::Asked;
use breaker::Breaker;
use changes::{Marks, Moments};
use holdings::Holdings;
use people::Notes;
use queue::{Priority, Queue};
use recording::{Append, Recording, Then};
use settle::Unsettled;
use tenure::Tenure;
use timers::{Timer, Timers};

pub use bundle_cache::BundleCache;
pub use changes::Changes;
pub use status::{AppStatus, Refused, Standing, StoreStatus};
pub use what_if::WhatIf;

/// The engine of one log: accepts versions and holds apps at them.
#[derive(Debug)]
pub struct Machine {
    settings: Settings,
    now: Timestamp,
    controls: Controls,
    /// The root app's bundle whose controls were requested and have not arrived.
    controls_asked: Option<Digest>,
    tenure: Tenure,
    /// Set if this process has been the writer before.
    held_before: bool,
    holdings: Holdings,
    bundles: BundleCache,
    stores: BTreeMap<StoreName, Store>,
    breakers: BTreeMap<TargetIdentity, Breaker>,
    /// Kinds whose changes are not noticed now.
    unwatched: BTreeMap<TargetIdentity, Vec<Unwatched>>,
    apps: Apps,
    /// Apps that are gone once that is durable. Until then no app has their names.
    forgetting: BTreeSet<AppId>,
    recording: Recording,
    unsettled: BTreeMap<IntentId, Unsettled>,
    notes: Notes,
    queue: Queue,
    renders: Turns,
    /// Renders of apps by external programs.
    renders_apart: Turns,
    /// Deletes that plans under way may make.
    reserved: u32,
    /// Apps that wait for an app to converge.
    dependents: BTreeMap<AppId, BTreeSet<AppId>>,
    /// The number of busy apps of each scope.
    busy: BTreeMap<Scope, usize>,
    timers: Timers,
    changed_stores: Marks<StoreName>,
    changed_targets: Marks<TargetIdentity>,
    recorded: Marks<AppId>,
    /// The instants at which a status changes with time alone.
    moments: Moments,
    awaited: BTreeMap<Ticket, Awaited>,
    last_ticket: u64,
    last_intent: u64,
    /// The number of steps that were done, and that were not, since the process began.
    steps_done: u64,
    steps_failed: u64,
    effects: Vec<Effect>,
}

/// A request that awaits its answer.
#[derive(Clone, Debug)]
enum Awaited {
    Append(Box<Append>),
    Poll { store: StoreName, repository: Digest },
    Render { app: AppId, revision: Revision, descends_from: Option<Revision>, apart: bool },
    Afresh { app: AppId, bundle: Digest, asked: Timestamp },
    Look(AppId),
    Preview { app: AppId, key: Key, version: LiveVersion, declared: Digest },
    Replacement { app: AppId, key: Key, uid: Uid, version: LiveVersion, declared: Digest, asked_at: Timestamp },
    Effects { app: AppId },
    Settlement(IntentId),
    Delivery(Note),
    Attribution(Box<Asked>),
}

impl Machine {
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            now: Timestamp::default(),
            controls: Controls::default(),
            controls_asked: None,
            tenure: Tenure::Standby,
            held_before: false,
            holdings: Holdings::default(),
            bundles: BundleCache::default(),
            stores: BTreeMap::new(),
            breakers: BTreeMap::new(),
            unwatched: BTreeMap::new(),
            apps: Apps::default(),
            forgetting: BTreeSet::new(),
            recording: Recording::default(),
            unsettled: BTreeMap::new(),
            notes: Notes::default(),
            queue: Queue::default(),
            renders: Turns::default(),
            renders_apart: Turns::default(),
            reserved: 0,
            dependents: BTreeMap::new(),
            busy: BTreeMap::new(),
            timers: Timers::default(),
            changed_stores: Marks::default(),
            changed_targets: Marks::default(),
            recorded: Marks::default(),
            moments: Moments::default(),
            awaited: BTreeMap::new(),
            last_ticket: 0,
            last_intent: 0,
            steps_done: 0,
            steps_failed: 0,
            effects: Vec::new(),
        }
    }

    /// Handles an event at `now` and returns the effects to carry out. `now` must not run backwards
    /// within a process: the process counts elapsed time, so a clock that is set back cannot make a
    /// lease seem longer than it is.
    pub fn step(&mut self, now: Timestamp, event: Event) -> Vec<Effect> {
        self.now = now.max(self.now);
        self.mark_aged();
        self.handle(event);
        self.fire_timers();
        self.start_work();
        self.wake_at_next_timer();
        std::mem::take(&mut self.effects)
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Started => self.acquire(),
            Event::Woke => {}
            Event::LeaseGranted { epoch, expires } => self.lease_granted(epoch, expires),
            Event::LeaseRefused { until, .. } => self.lease_refused(until),
            Event::LeaseRenewed { epoch, expires } => self.lease_renewed(epoch, expires),
            Event::LeaseNotRenewed { epoch } => self.lease_not_renewed(epoch),
            Event::Loaded { epoch, facts, bundles } => self.loaded(epoch, *facts, bundles),
            Event::LoadFailed { epoch, .. } => self.load_failed(epoch),
            Event::Controls(controls) => self.controlled(controls),
            Event::SettingsChanged => self.settings_changed(),
            Event::Command(command) => self.ordered(&command),
            Event::Statement(statement) => self.stated(statement),
            Event::Hinted { target, hint } => self.hinted(&target, &hint),
            Event::StoreHinted { store } => self.store_hinted(&store),
            Event::Appended { ticket } => self.appended(ticket),
            Event::AppendFailed { ticket, class, .. } => self.append_failed(ticket, class),
            Event::Polled { ticket, head } => self.polled(ticket, head),
            Event::Rendered { ticket, outcome } => self.rendered(ticket, outcome),
            Event::RenderedAfresh { ticket, bundle } => self.rendered_afresh(ticket, bundle),
            Event::Observed { ticket, observation } => self.observed(ticket, observation),
            Event::Previewed { ticket, verdict } => self.previewed(ticket, verdict),
            Event::Executed { ticket, outcomes } => self.executed(ticket, outcomes),
            Event::Settled { ticket, settlement } => self.settled(ticket, settlement),
            Event::Notified { ticket, delivered } => self.notified(ticket, delivered),
            Event::Attributed { ticket, writers } => self.attributed(ticket, writers),
        }
    }

    /// Registers a request that will be answered, or given up after a while.
    fn ask(&mut self, awaited: Awaited, patience: Span) -> Ticket {
        self.last_ticket += 1;
        let ticket = Ticket(self.last_ticket);
        self.mark_awaited(&awaited);
        self.awaited.insert(ticket, awaited);
        self.timers.set(Timer::GiveUp(ticket), self.now + patience);
        ticket
    }

    /// Takes the request of an answer; `None` if the answer is late or from another tenure.
    fn take(&mut self, ticket: Ticket) -> Option<Awaited> {
        self.timers.cancel(&Timer::GiveUp(ticket));
        let awaited = self.awaited.remove(&ticket)?;
        self.mark_awaited(&awaited);
        Some(awaited)
    }

    fn fire_timers(&mut self) {
        while let Some(timer) = self.timers.pop_due(self.now) {
            match timer {
                Timer::Acquire => self.acquire(),
                Timer::Renew => self.renew(),
                Timer::LeaseEnd => self.lease_ended(),
                Timer::ActFrom => self.may_act_now(),
                Timer::GiveUp(ticket) => self.give_up(ticket),
                Timer::Control => self.ask_for_controls(),
                Timer::Poll(store) => self.poll(&store),
                Timer::Stale(store) => self.store_is_stale(&store),
                Timer::Consider(app) => self.consider(&app),
                Timer::Look(app) => self.wants_look(&app, Priority::Drift),
                Timer::Sweep(app) => self.sweep(&app),
                Timer::Deadline(app) => self.deadline_passed(&app),
                Timer::SuspensionEnds(app) => self.suspension_ended(&app),
                Timer::Settle(intent) => self.settle(intent),
                Timer::Breaker(target) => self.breaker_may_close(&target),
                Timer::Deliver(note) => self.deliver(*note),
            }
        }
    }

    /// Gives up a request without an answer. It may still be under way; if its answer comes, it
    /// finds no ticket.
    fn give_up(&mut self, ticket: Ticket) {
        match self.awaited.remove(&ticket) {
            None | Some(Awaited::Attribution(_)) => {}
            Some(Awaited::Append(append)) => {
                self.answer_order(append.order, Err(Declined::NotRecorded));
                self.lose_tenure();
            }
            Some(Awaited::Poll { store, repository }) => {
                self.poll_failed(&store, repository, "there was no response in time");
            }
            Some(Awaited::Render { app, apart, .. }) => {
                self.turns(apart).running -= 1;
                self.render_failed(&app, Some("there was no response in time".to_owned()));
            }
            Some(Awaited::Afresh { app, .. } | Awaited::Preview { app, .. } | Awaited::Replacement { app, .. }) => {
                self.question_failed(&app, ticket);
            }
            Some(Awaited::Look(app)) => self.look_failed(&app),
            Some(Awaited::Effects { app }) => self.effects_unanswered(&app),
            Some(Awaited::Settlement(intent)) => self.settle_later(intent),
            Some(Awaited::Delivery(note)) => self.deliver_later(note),
        }
    }

    fn start_work(&mut self) {
        if !self.tenure.is_holding() {
            return;
        }
        self.start_renders();
        self.start_looks();
    }

    fn wake_at_next_timer(&mut self) {
        if let Some(at) = self.timers.next() {
            self.effects.push(Effect::WakeAt { at });
        }
    }

    /// Returns the app's keys: those of the bundle it is to be held at, and those it owns.
    fn keys_of(&self, app: &AppId) -> BTreeSet<Key> {
        let bundle = self.bundle_of(app);
        let declared = bundle.iter().flat_map(|bundle| bundle.resources().keys().cloned());
        declared.chain(self.holdings.claims_of(app).keys().cloned()).collect()
    }

    /// Returns the keys that the app declares or owns, with their declarations.
    pub fn wanted_of(&self, app: &AppId) -> Wanted {
        let owned = self.holdings.claims_of(app).keys().map(|key| (key.clone(), None));
        let bundle = self.bundle_of(app);
        let declared = bundle.iter().flat_map(|bundle| bundle.resources());
        owned.chain(declared.map(|(key, declared)| (key.clone(), Some(Arc::clone(&declared.resource))))).collect()
    }

    /// Returns the durable bundle at which the app is to be held.
    fn bundle_of(&self, app: &AppId) -> Option<Arc<Bundle>> {
        self.bundles.get(&self.held_at(app)?)
    }

    /// Returns the digest of that bundle.
    fn bundle_digest_of(&self, app: &AppId) -> Option<Digest> {
        self.held_at(app).filter(|digest| self.bundles.has(digest))
    }

    /// Returns the batch of steps that is under way for an app.
    fn batch_of(&mut self, app: &AppId) -> Option<&mut Batch> {
        self.apps.get_mut(app)?.phase.batch()
    }
}
