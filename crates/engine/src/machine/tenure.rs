//! Becoming, being and ceasing to be the one writer of the log.
//!
//! Safety does not depend on clocks: an old holder cannot append once a new epoch was assigned, and
//! each of its effects that may still be under way has an open intent in the log. The new holder
//! waits until those can no longer land, settles them, then acts.

use std::collections::BTreeMap;
use std::sync::Arc;

use setpoint_core::digest::Digest;
use setpoint_core::facts::{AppFacts, Change, Facts};
use setpoint_core::graph;
use setpoint_core::intent::Intent;
use setpoint_core::mutant::Mutant;
use setpoint_core::name::{AppId, TargetIdentity};
use setpoint_core::time::{Span, Timestamp};
use setpoint_ledger::Kind;
use setpoint_target::Effects;

use crate::controls::{AppControl, Controls};
use crate::effect::{Declined, Effect, NoteKind};

use super::accept::Turns;
use super::app::App;
use super::bundle_cache::BundleCache;
use super::holdings::Holdings;
use super::queue::Priority;
use super::timers::Timer;
use super::{Awaited, Machine, Then};

const RETRY: Span = Span::seconds(2);

/// The state of the machine towards its log.
#[derive(Debug)]
pub(super) enum Tenure {
    /// Not the writer; will request the lease.
    Standby,
    Asking,
    Loading {
        epoch: u64,
        expires: Timestamp,
    },
    Holding {
        epoch: u64,
        expires: Timestamp,
        act_from: Timestamp,
    },
}

impl Tenure {
    pub(super) fn epoch(&self) -> Option<u64> {
        match self {
            Self::Holding { epoch, .. } => Some(*epoch),
            _ => None,
        }
    }

    pub(super) fn is_holding(&self) -> bool {
        self.epoch().is_some()
    }
}

impl Machine {
    pub(super) fn acquire(&mut self) {
        if matches!(self.tenure, Tenure::Standby) {
            self.tenure = Tenure::Asking;
            self.timers.set(Timer::Acquire, self.now + self.settings.patience);
            self.effects.push(Effect::Acquire { length: self.settings.lease });
        } else if matches!(self.tenure, Tenure::Asking | Tenure::Loading { .. }) {
            // Neither the lease nor the facts arrived in time.
            self.lose_tenure();
        }
    }

    pub(super) fn lease_granted(&mut self, epoch: u64, expires: Timestamp) {
        if matches!(self.tenure, Tenure::Asking) {
            self.tenure = Tenure::Loading { epoch, expires };
            // Loading may take longer than the lease.
            self.timers.set(Timer::Renew, self.half_way_to(expires));
            self.effects.push(Effect::Load { epoch });
        }
    }

    pub(super) fn lease_refused(&mut self, until: Option<Timestamp>) {
        if matches!(self.tenure, Tenure::Asking) {
            self.tenure = Tenure::Standby;
            let soon = self.now + RETRY;
            // The clock of the other holder may be ahead of ours: do not wait for an instant that
            // may be far away.
            let latest = self.now + self.settings.lease;
            self.timers.set(Timer::Acquire, until.unwrap_or(soon).clamp(soon, latest));
        }
    }

    pub(super) fn load_failed(&mut self, epoch: u64) {
        if matches!(self.tenure, Tenure::Loading { epoch: current, .. } if current == epoch) {
            self.lose_tenure();
        }
    }

    pub(super) fn loaded(&mut self, epoch: u64, facts: Facts, bundles: BundleCache) {
        let Tenure::Loading { epoch: current, expires } = self.tenure else { return };
        if current != epoch {
            return;
        }
        self.timers.cancel(&Timer::Acquire);
        // Effects that this very process had under way before it lost its lease did not end with
        // another process.
        let first = !std::mem::replace(&mut self.held_before, true);
        let may_land = |target: &&TargetIdentity| {
            let effects = self.effects_on(target);
            !(effects.fences || first && effects.ends_with_agent)
        };
        let under_way = facts.intents.values().map(|intent| &intent.target).filter(may_land);
        let landed = under_way.map(|target| self.landed_from(target)).max();
        let act_from = landed.filter(|_| !Mutant::ActBeforeTakeoverWait.is_on()).unwrap_or(self.now);
        self.tenure = Tenure::Holding { epoch, expires, act_from };
        self.timers.set(Timer::LeaseEnd, expires);
        self.timers.set(Timer::Renew, self.half_way_to(expires));
        self.timers.set(Timer::ActFrom, act_from);
        self.last_intent = 0;
        self.take_up(facts, bundles);
    }

    /// Returns the instant from which no effect of a former holder on a target can land any more.
    fn landed_from(&self, target: &TargetIdentity) -> Timestamp {
        let under_way = self.settings.leave_within + self.lands_within(target);
        // Our clock may run up to twice as fast as the one that measured those limits.
        self.now + under_way + under_way + self.settings.skew
    }

    /// Returns the time within which an effect on a target has landed, or never will.
    pub(super) fn lands_within(&self, target: &TargetIdentity) -> Span {
        self.effects_on(target).lands_within.unwrap_or(self.settings.land_within)
    }

    /// Returns how changes of a target end. The target may not be connected yet, so this is known by
    /// its identity alone.
    fn effects_on(&self, target: &TargetIdentity) -> Effects {
        self.settings.effects.get(target.family()).copied().unwrap_or_default()
    }

    /// Returns when to find out how a former holder's change ended. On a fencing target, a change
    /// that names a version can no longer land once it is settled. A create names none: it alone
    /// has to wait.
    fn settles_former_from(&self, intent: &Intent) -> Timestamp {
        let names_version = intent.expect.as_ref().is_some_and(|expect| expect.version.is_some());
        let waits = self.effects_on(&intent.target).fences && !names_version;
        if waits { self.landed_from(&intent.target) } else { self.act_from() }
    }

    /// Builds the memory from durable facts.
    fn take_up(&mut self, facts: Facts, bundles: BundleCache) {
        self.bundles = bundles;
        self.apps.replace(facts.apps.iter().map(|(app, row)| (app.clone(), App::new(Arc::clone(row)))));
        let open: Vec<_> = facts.intents.iter().map(|(id, intent)| (*id, self.settles_former_from(intent))).collect();
        let first_time = facts.installed_at.is_none();
        self.holdings = Holdings::new(facts);
        self.mark_all();
        self.note_quarantine();
        if first_time {
            let entry = self.entry(Kind::AppState, "installation").with_change(Change::Installed { at: self.now });
            self.append(vec![entry], BTreeMap::new(), Then::Nothing);
        }
        for (intent, from) in open {
            self.settle_from(intent, from);
        }
        let apps: Vec<_> = self.apps.keys().cloned().collect();
        for app in &apps {
            self.redeclare(app);
            if !Mutant::ForgetSuspensionEnd.is_on() {
                self.watch_suspension(app);
            }
        }
        self.take_up_controls();
        self.deliver_undelivered();
        for app in &apps {
            self.wants_look(app, Priority::Drift);
        }
    }

    pub(super) fn lease_renewed(&mut self, epoch: u64, until: Timestamp) {
        match &mut self.tenure {
            Tenure::Loading { epoch: current, expires } if *current == epoch => *expires = until,
            Tenure::Holding { epoch: current, expires, .. } if *current == epoch => {
                *expires = until;
                self.timers.set(Timer::LeaseEnd, until);
            }
            _ => return,
        }
        self.timers.set(Timer::Renew, self.half_way_to(until));
    }

    /// Tries again while the lease still runs.
    pub(super) fn lease_not_renewed(&mut self, epoch: u64) {
        match self.tenure {
            Tenure::Loading { epoch: current, expires } | Tenure::Holding { epoch: current, expires, .. }
                if current == epoch =>
            {
                self.timers.set(Timer::Renew, self.half_way_to(expires));
            }
            _ => {}
        }
    }

    pub(super) fn renew(&mut self) {
        if let Tenure::Loading { epoch, .. } | Tenure::Holding { epoch, .. } = self.tenure {
            self.effects.push(Effect::Renew { epoch, length: self.settings.lease });
        }
    }

    fn half_way_to(&self, expires: Timestamp) -> Timestamp {
        let half = Span::millis(expires.since(self.now).as_millis() / 2);
        self.now + half.max(Span::millis(100))
    }

    pub(super) fn lease_ended(&mut self) {
        self.lose_tenure();
    }

    /// Ends the tenure. From here on only the facts that a new tenure loads count. Effects under
    /// way have their intents in the log.
    pub(super) fn lose_tenure(&mut self) {
        self.tenure = Tenure::Standby;
        self.holdings = Holdings::default();
        self.bundles = BundleCache::default();
        self.apps.replace(std::iter::empty());
        self.mark_all();
        self.forget_moments();
        self.forgetting.clear();
        self.stores.clear();
        self.breakers.clear();
        self.unsettled.clear();
        self.queue.clear();
        self.renders = Turns::default();
        self.renders_apart = Turns::default();
        self.reserved = 0;
        self.busy.clear();
        self.controls_asked = None;
        for awaited in std::mem::take(&mut self.awaited).into_values() {
            if let Awaited::Append(append) = awaited {
                self.answer_order(append.order, Err(Declined::NotRecorded));
            }
        }
        for order in self.recording.clear() {
            self.answer_order(Some(order), Err(Declined::NotRecorded));
        }
        self.timers.clear();
        self.timers.set(Timer::Acquire, self.now + RETRY);
    }

    /// Returns the instant from which effects may be sent.
    pub(super) fn act_from(&self) -> Timestamp {
        match self.tenure {
            Tenure::Holding { act_from, .. } => act_from,
            _ => Timestamp::from_millis(u64::MAX),
        }
    }

    /// Reports whether effects may be sent now.
    pub(super) fn may_act(&self) -> bool {
        match self.tenure {
            Tenure::Holding { expires, act_from, .. } => self.now >= act_from && self.now < expires,
            _ => false,
        }
    }

    pub(super) fn may_act_now(&mut self) {
        let apps: Vec<_> = self.apps.keys().cloned().collect();
        for app in apps {
            self.wants_look(&app, Priority::Drift);
        }
    }

    /// Receives the controls computed from the accepted control documents.
    pub(super) fn controlled(&mut self, controls: Controls) {
        if self.tenure.is_holding() && self.are_in_force() && !self.are_of_what_is_accepted(controls.of) {
            // Computed from documents that are no longer, or not yet, the accepted ones.
            return;
        }
        self.controls_asked = None;
        let before = self.watched_stores();
        self.controls = controls;
        if self.tenure.is_holding() {
            self.take_up_controls();
        }
        self.mark_other_stores(&before);
    }

    /// Loads the accepted control documents. An app whose document is gone freezes; its objects are
    /// not touched.
    fn take_up_controls(&mut self) {
        self.take_up_stores();
        if !self.are_in_force() && !Mutant::TakeDocumentsForGone.is_on() {
            return self.take_up_root_alone();
        }
        self.tell_cycles();
        self.dependents = BTreeMap::new();
        for (app, control) in &self.controls.apps {
            for other in &control.depends_on {
                self.dependents.entry(other.clone()).or_default().insert(app.clone());
            }
        }
        self.hold_root();
        let wanted: Vec<_> = self.controls.apps.iter().map(|(app, control)| (app.clone(), control.clone())).collect();
        for (app, control) in wanted {
            self.take_up_declared(&app, control);
        }
        let gone: Vec<_> = self.apps.keys().filter(|app| !self.controls.apps.contains_key(app)).cloned().collect();
        for app in gone {
            match self.controls.unreached.get(&app).copied() {
                Some(document) => self.wait_for_target(&app, document),
                None => self.take_up_app(&app, None),
            }
        }
    }

    fn take_up_declared(&mut self, app: &AppId, control: Arc<AppControl>) {
        // The app is retired and forgotten already, or never existed: there is nothing to retire.
        let nothing_left = control.retire && !self.apps.contains_key(app);
        if nothing_left || self.forgetting.contains(app) {
            return;
        }
        if !self.apps.contains_key(app) {
            self.apps.insert(app.clone(), App::new(Arc::new(AppFacts::new(control.target.clone()))));
        }
        self.take_up_app(app, Some(control));
    }

    /// Completes the removal of a forgotten app. A document that came back in the meantime belongs
    /// to a new app.
    pub(super) fn forgotten(&mut self, app: &AppId) {
        self.forgetting.remove(app);
        if let Some(control) = self.controls.apps.get(app).filter(|_| self.are_in_force()).cloned() {
            self.take_up_declared(app, control);
        }
    }

    /// Handles an app with a document whose target is unknown. As long as the document is the one
    /// it is held by, the app stays held where it is; with another document it waits.
    fn wait_for_target(&mut self, app: &AppId, document: Digest) {
        let Some(kept) = self.apps.get(app) else { return };
        let is_other = kept.control.as_ref().is_some_and(|control| control.document != document);
        if is_other && let Some(kept) = self.apps.get_mut(app) {
            kept.control = None;
            kept.considered = None;
        }
    }

    /// Loads the root app alone, while the controls of the accepted documents are not computed yet.
    /// Until then no document of another app counts as gone.
    fn take_up_root_alone(&mut self) {
        let Some(root) = self.controls.root.clone() else { return };
        let control = self.controls.apps.get(&root).cloned();
        self.take_up_app(&root, control);
        self.hold_root();
    }

    /// Notifies people of apps that wait for each other: they would wait for ever.
    fn tell_cycles(&mut self) {
        let depends_on = self.controls.apps.iter().map(|(app, control)| (app, &control.depends_on));
        let Err(cycle) = graph::ranks(depends_on) else {
            return self.others_are_over(NoteKind::DependencyCycle, None);
        };
        let subject = cycle.path.first().map(ToString::to_string).unwrap_or_default();
        let text = format!("{cycle}. Their declared changes wait until one of the `dependsOn` is removed");
        self.others_are_over(NoteKind::DependencyCycle, Some(&subject));
        self.tell(NoteKind::DependencyCycle, subject, text);
    }

    fn take_up_app(&mut self, app: &AppId, control: Option<Arc<AppControl>>) {
        let (control, moved_to) = self.on_its_target(app, control);
        if moved_to.is_none() {
            self.is_over(NoteKind::TargetMoved, &app.to_string());
        }
        let Some(kept) = self.apps.get(app) else { return };
        let changed = kept.control != control;
        if changed || kept.moved_to != moved_to {
            self.apps.marks.mark(app);
        }
        let Some(kept) = self.apps.get_mut_unmarked(app) else { return };
        kept.moved_to = moved_to;
        if changed {
            // Parameters and inputs are in the document: the same heads may give another result
            // now.
            kept.considered = None;
        }
        let known = self.holdings.facts().apps.contains_key(app);
        let mut facts = AppFacts::clone(&kept.sent);
        // An app that is being retired continues to be when its document is removed: that is how
        // people do it.
        facts.retiring = control.as_ref().map_or(facts.retiring, |control| control.retire);
        facts.frozen = control.is_none() && !facts.retiring;
        if let Some(control) = &control {
            facts.acting_as.clone_from(&control.acting_as);
        }
        // It waited until it was certain that it has no document.
        let may_leave = control.is_none() && facts.retiring;
        kept.control = control;
        self.note_window(app);
        // In another mode, or with other windows, it may be held at another bundle.
        self.redeclare(app);
        let Some(kept) = self.apps.get(app) else { return };
        if facts != *kept.sent || !known {
            self.put_app(
                app,
                facts,
                Kind::ConfigChanged,
                "document",
                Then::Look { app: app.clone(), priority: Priority::NewBundle },
            );
        } else if changed || may_leave {
            self.wants_look(app, Priority::NewBundle);
        }
        self.consider(app);
        if !self.apps.get(app).is_some_and(|kept| kept.converged) {
            self.deadline_runs(app);
        }
    }

    /// Decides whether a document's target may be followed. An app does not move between targets
    /// while it owns objects: those on the old target would have no owner. Such a document is not
    /// followed, as if it were gone. Returns the control to follow, and the other target if it is
    /// not followed.
    fn on_its_target(
        &mut self,
        app: &AppId,
        control: Option<Arc<AppControl>>,
    ) -> (Option<Arc<AppControl>>, Option<TargetIdentity>) {
        let (Some(control), Some(kept)) = (control, self.apps.get(app)) else { return (None, None) };
        if kept.sent.target == control.target {
            return (Some(control), None);
        }
        if self.holdings.claims_of(app).is_empty() {
            let Some(kept) = self.apps.get_mut(app) else { return (None, None) };
            kept.sent = Arc::new(AppFacts::new(control.target.clone()));
            kept.considered = None;
            return (Some(control), None);
        }
        let (from, to) = (kept.sent.target.clone(), control.target.clone());
        let text = format!(
            "the target of {app} is now {to}, but its objects are on {from}: the app is frozen. Correct the Target \
             document or the files that it names, or name its former target again; to move it, retire it first or give it another name"
        );
        self.tell(NoteKind::TargetMoved, app.to_string(), text);
        (None, Some(to))
    }

    /// Returns the apps held on a target.
    pub(super) fn apps_on(&self, target: &TargetIdentity) -> Vec<AppId> {
        self.apps.iter().filter(|(_, kept)| kept.sent.target == *target).map(|(app, _)| app.clone()).collect()
    }
}
