//! Records entries in the ledger, and continues with its response.
//!
//! An entry that changes an app's facts carries all of them. So the facts of one app are changed
//! one after the other: an append that changes them waits for the response to the one before. If
//! that one is refused, the waiting ones are derived again from the durable facts. No part of a
//! refused append ever reaches the ledger within another one.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use setpoint_core::digest::Digest;
use setpoint_core::facts::{AppFacts, Change};
use setpoint_core::intent::IntentId;
use setpoint_core::name::AppId;
use setpoint_core::time::Span;
use setpoint_ledger::{Class, Entry, Kind};

use crate::effect::{Declined, Effect, NoteKind, Ticket};
use crate::event::OrderId;

use super::accept::to_descend_from;
use super::queue::Priority;
use super::timers::Timer;
use super::{Awaited, Machine};

/// The pause before the end of a suspension is recorded again if the ledger refused it.
const AGAIN: Span = Span::seconds(1);
/// The pause before documents are loaded again whose record the ledger refused.
const LATER: Span = Span::minutes(1);

/// A batch that is being recorded.
#[derive(Clone, Debug)]
pub(super) struct Append {
    entries: Vec<Entry>,
    pub(super) then: Then,
    /// The person's order that it records.
    pub(super) order: Option<OrderId>,
}

/// The continuation after a batch is durable.
#[derive(Clone, Debug)]
pub(super) enum Then {
    Nothing,
    /// Observe the app.
    Look {
        app: AppId,
        priority: Priority,
    },
    /// A new bundle was accepted, or let through.
    Accepted {
        app: AppId,
        priority: Priority,
    },
    /// Claims that follow from an observation are durable.
    Noted {
        app: AppId,
    },
    /// The intents of a batch of steps, from this one on, are durable: send the effects.
    Leave {
        app: AppId,
        first: IntentId,
    },
    /// The last results of a plan are durable.
    PlanEnded {
        app: AppId,
    },
    /// The app is gone.
    Forgotten {
        app: AppId,
    },
}

impl Then {
    /// Returns the app that the continuation is for.
    pub(super) fn app(&self) -> Option<&AppId> {
        match self {
            Self::Nothing => None,
            Self::Look { app, .. }
            | Self::Accepted { app, .. }
            | Self::Noted { app }
            | Self::Leave { app, .. }
            | Self::PlanEnded { app }
            | Self::Forgotten { app } => Some(app),
        }
    }
}

/// Appends that wait for the ledger's response to an earlier one.
#[derive(Debug, Default)]
pub(super) struct Recording {
    /// Each app whose facts are being changed, with the next appends that change them.
    waiting: BTreeMap<AppId, VecDeque<Waiting>>,
}

#[derive(Debug)]
struct Waiting {
    append: Append,
    bundles: BTreeMap<Digest, Vec<u8>>,
}

impl Recording {
    pub(super) fn waiting(&self) -> impl Iterator<Item = &Append> {
        self.waiting.values().flatten().map(|waiting| &waiting.append)
    }

    /// Forgets everything. Returns the orders that waited.
    pub(super) fn clear(&mut self) -> Vec<OrderId> {
        let waiting = std::mem::take(&mut self.waiting);
        waiting.into_values().flatten().filter_map(|waiting| waiting.append.order).collect()
    }
}

impl Machine {
    /// Records entries and continues with `then` once they are durable.
    pub(super) fn append(&mut self, entries: Vec<Entry>, bundles: BTreeMap<Digest, Vec<u8>>, then: Then) {
        self.append_for(None, entries, bundles, then);
    }

    /// Does the same for a person's order, and answers it once it is durable or cannot be.
    pub(super) fn append_for(
        &mut self,
        order: Option<OrderId>,
        entries: Vec<Entry>,
        bundles: BTreeMap<Digest, Vec<u8>>,
        then: Then,
    ) {
        if self.tenure.epoch().is_none() {
            return;
        }
        let append = Append { entries, then, order };
        if let Some(app) = app_of(&append.entries).cloned() {
            if let Some(waiting) = self.recording.waiting.get_mut(&app) {
                append.then.app().into_iter().for_each(|app| self.apps.marks.mark(app));
                return waiting.push_back(Waiting { append, bundles });
            }
            self.recording.waiting.insert(app, VecDeque::new());
        }
        self.send(append, bundles);
    }

    fn send(&mut self, append: Append, bundles: BTreeMap<Digest, Vec<u8>>) {
        let Some(epoch) = self.tenure.epoch() else { return };
        let entries = append.entries.clone();
        let ticket = self.ask(Awaited::Append(Box::new(append)), self.settings.patience);
        self.effects.push(Effect::Append { ticket, epoch, entries, bundles });
    }

    /// Sends the next change of an app's facts after the response to the one before.
    fn send_next(&mut self, app: &AppId) {
        let next = self.recording.waiting.get_mut(app).and_then(VecDeque::pop_front);
        match next {
            Some(Waiting { append, bundles }) => self.send(append, bundles),
            None => drop(self.recording.waiting.remove(app)),
        }
    }

    pub(super) fn appended(&mut self, ticket: Ticket) {
        let Some(Awaited::Append(append)) = self.take(ticket) else { return };
        let Append { entries, then, order } = *append;
        then.app().into_iter().for_each(|app| self.mark_recorded(app));
        for change in entries.iter().flat_map(|entry| &entry.changes) {
            self.mark_change(change);
            if self.holdings.apply(change, self.now).is_err() {
                // The ledger recorded a change that does not fit our facts: believe the ledger.
                self.lose_tenure();
                break;
            }
            match change {
                Change::Installed { .. } => self.note_quarantine(),
                Change::PutClaim { claim, from } => {
                    self.claim_changed(&claim.target, &claim.key, &claim.app);
                    // The app that gave it away may have nothing left.
                    from.iter().for_each(|giver| self.wants_look(giver, Priority::Sweep));
                }
                Change::DropClaim { target, key, app } => self.claim_changed(target, key, app),
                _ => {}
            }
        }
        self.answer_order(order, Ok(()));
        match then {
            Then::Nothing => {}
            Then::Look { app, priority } => {
                self.watch_suspension(&app);
                self.redeclare(&app);
                self.wants_look(&app, priority);
            }
            Then::Noted { app } => self.noted(&app),
            Then::Accepted { app, priority } => self.accepted(&app, priority),
            Then::Leave { app, first } => self.effects_may_leave(&app, first),
            Then::PlanEnded { app } => self.plan_ended(&app),
            Then::Forgotten { app } => self.forgotten(&app),
        }
        if let Some(app) = app_of(&entries) {
            self.send_next(app);
        }
    }

    pub(super) fn append_failed(&mut self, ticket: Ticket, class: Class) {
        let Some(Awaited::Append(append)) = self.take(ticket) else { return };
        let Append { entries, then, order } = *append;
        let declined = match class {
            Class::Conflict => Declined::Refused("something changed meanwhile, so the order does not count: try again"),
            Class::Input => Declined::Refused("the ledger cannot record the order, so it does not count"),
            _ => Declined::NotRecorded,
        };
        self.answer_order(order, Err(declined));
        if !matches!(class, Class::Conflict | Class::Input) {
            // It is unknown whether the batch is recorded, or we are no longer the writer: start
            // again from the recorded facts.
            return self.lose_tenure();
        }
        // The batch contradicts a change that was recorded in the meantime, or cannot be recorded
        // at all. No part of it is recorded.
        self.restore(&entries);
        let app = app_of(&entries).cloned();
        match then {
            Then::Leave { app, .. } => self.overtaken_acting(&app, entries),
            Then::Noted { app } => self.overtaken(&app),
            Then::Accepted { app, .. } if is_acceptance(&entries) => self.acceptance_refused(&app, &entries),
            Then::Look { app, priority } | Then::Accepted { app, priority } => {
                self.report_unrecorded(order, &entries);
                self.try_again(&entries);
                self.wants_look(&app, priority);
            }
            Then::Nothing => self.report_unrecorded(order, &entries),
            Then::PlanEnded { .. } | Then::Forgotten { .. } => return self.lose_tenure(),
        }
        if let Some(app) = app {
            self.send_next(&app);
        }
    }

    /// Restores an app's facts after a refused change. The waiting changes, and the next ones, are
    /// derived from the durable facts instead; an acceptance only if it would have been judged
    /// alike.
    fn restore(&mut self, entries: &[Entry]) {
        let Some((app, refused)) = facts_of(entries) else { return };
        let durable = self.holdings.facts().apps.get(app).cloned();
        let Some(kept) = self.apps.get_mut(app) else { return };
        let mut onto = durable.unwrap_or_else(|| Arc::new(AppFacts::new(kept.sent.target.clone())));
        let mut base = Arc::clone(refused);
        let mut overtaken = false;
        let mut rebase = |waiting: &mut Waiting| {
            let is_acceptance = is_acceptance(&waiting.append.entries);
            let changes = waiting.append.entries.iter_mut().flat_map(|entry| &mut entry.changes);
            for change in changes {
                let Change::PutApp { facts, .. } = change else { continue };
                if is_acceptance && to_descend_from(&base) != to_descend_from(&onto) {
                    // It was judged by a person's order that was not recorded.
                    base = Arc::clone(facts);
                    overtaken = true;
                    return false;
                }
                onto = Arc::new(facts.rebased(&base, &onto));
                base = std::mem::replace(facts, Arc::clone(&onto));
            }
            true
        };
        if let Some(waiting) = self.recording.waiting.get_mut(app) {
            waiting.retain_mut(&mut rebase);
        }
        // The sent facts are those of the last append, unless the app was given another target
        // since.
        kept.sent = Arc::new(kept.sent.rebased(&base, &onto));
        if overtaken {
            kept.considered = None;
            self.consider(app);
        }
        // A suspension that has ended meanwhile is not tried again at once: a ledger that refuses
        // it would get the request over and over.
        let suspended = self.holdings.facts().apps.get(app).and_then(|facts| facts.suspension.as_ref());
        if let Some(until) = suspended.map(|suspension| suspension.until) {
            self.timers.set(Timer::SuspensionEnds(app.clone()), until.max(self.now + AGAIN));
        }
    }

    /// Prepares another try of records that nothing else makes again: how an open intent ended, and
    /// that the document of an app is in force.
    fn try_again(&mut self, entries: &[Entry]) {
        let again = self.now + AGAIN;
        for change in entries.iter().flat_map(|entry| &entry.changes) {
            let Change::CloseIntent { intent, .. } = change else { continue };
            if self.holdings.facts().intents.contains_key(intent) {
                self.settle_from(*intent, again);
            }
        }
        if entries.iter().any(|entry| entry.kind == Kind::ConfigChanged) {
            self.timers.set_no_later(Timer::Control, self.now + LATER);
        }
    }

    /// Notifies people of changes that were not recorded and belong to no order: there is no one to
    /// respond to, but the shown state was wrong.
    fn report_unrecorded(&mut self, order: Option<OrderId>, entries: &[Entry]) {
        for entry in entries.iter().filter(|_| order.is_none()) {
            let Some((app, _)) = facts_of(std::slice::from_ref(entry)) else { continue };
            let text =
                format!("the ledger refused to record a change of {}, so the change has no effect", entry.subject);
            self.tell(NoteKind::RuleBroken, app.to_string(), text);
        }
    }
}

/// Returns the app whose facts the entries change; there is never more than one.
fn app_of(entries: &[Entry]) -> Option<&AppId> {
    entries.iter().flat_map(|entry| &entry.changes).find_map(|change| match change {
        Change::PutApp { app, .. } | Change::ForgetApp { app } => Some(app),
        _ => None,
    })
}

/// Returns the last facts of an app in the entries.
fn facts_of(entries: &[Entry]) -> Option<(&AppId, &Arc<AppFacts>)> {
    entries.iter().rev().flat_map(|entry| entry.changes.iter().rev()).find_map(|change| match change {
        Change::PutApp { app, facts } => Some((app, facts)),
        _ => None,
    })
}

fn is_acceptance(entries: &[Entry]) -> bool {
    entries.iter().any(|entry| entry.kind == Kind::VersionAccepted)
}
