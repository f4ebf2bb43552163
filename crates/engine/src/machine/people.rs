//! People: their orders, notes to them, and deadlines.

use std::collections::BTreeMap;
use std::sync::Arc;

use setpoint_core::claim::{Claim, ClaimOrigin};
use setpoint_core::digest::Digest;
use setpoint_core::facts::{AppFacts, Change, PruneAllowance};
use setpoint_core::hold::{Hold, HoldReason, Suspension};
use setpoint_core::intent::{Intent, IntentEnd};
use setpoint_core::modes::State;
use setpoint_core::mutant::Mutant;
use setpoint_core::name::AppId;
use setpoint_core::report::Why;
use setpoint_core::time::{Span, Timestamp};
use setpoint_ledger::{Entry, Kind};

use crate::controls::OnFailure;
use crate::effect::{Declined, Effect, Note, NoteKind, Ticket};
use crate::event::{Command, Order, OrderId, Statement};

use super::act::MOST_CHANGES;
use super::queue::Priority;
use super::setbacks::FIGHT_WINDOW;
use super::timers::Timer;
use super::{Awaited, Machine, Then};

const FIRST_PAUSE: Span = Span::seconds(5);
const LONGEST_PAUSE: Span = Span::minutes(10);
/// The number of resources named one by one in a record.
const MOST_NAMED: usize = 50;

/// Notes that were sent to people, and those still to be delivered.
#[derive(Debug, Default)]
pub(super) struct Notes {
    told: BTreeMap<(NoteKind, String), SentNote>,
}

#[derive(Debug)]
struct SentNote {
    text: String,
    delivered: bool,
    /// The matter is over, but the note is not delivered yet.
    over: bool,
    at: Timestamp,
    tries: u32,
}

impl Notes {
    /// Ends a matter: if it comes back, it is a new one. A note about a past event is still
    /// delivered.
    fn end(&mut self, kind: NoteKind, subject: &str) {
        let matter = (kind, subject.to_owned());
        let Some(told) = self.told.get_mut(&matter) else { return };
        told.over = true;
        if told.delivered || !kind.is_event() {
            self.told.remove(&matter);
        }
    }

    /// Ends old notes about fights. A fight is reported when it begins, so the next note is about
    /// another one.
    fn end_old_fights(&mut self, now: Timestamp) {
        let is_old = |(matter, told): &(&(NoteKind, String), &SentNote)| {
            matter.0 == NoteKind::Fight && now.since(told.at) > FIGHT_WINDOW
        };
        let old: Vec<_> = self.told.iter().filter(is_old).map(|(matter, _)| matter.clone()).collect();
        old.into_iter().for_each(|(kind, subject)| self.end(kind, &subject));
    }
}

impl Machine {
    /// Notifies people once per matter: the same text about the same subject is not repeated.
    pub(super) fn tell(&mut self, kind: NoteKind, subject: String, text: String) {
        self.notes.end_old_fights(self.now);
        let matter = (kind, subject.clone());
        if self.notes.told.get(&matter).is_some_and(|told| told.text == text && !told.over) {
            return;
        }
        let told = SentNote { text: text.clone(), delivered: false, over: false, at: self.now, tries: 0 };
        self.notes.told.insert(matter, told);
        self.deliver(Note { kind, subject, text });
    }

    pub(super) fn deliver(&mut self, note: Note) {
        let ticket = self.ask(Awaited::Delivery(note.clone()), self.settings.patience);
        self.effects.push(Effect::Notify { ticket, note });
    }

    pub(super) fn deliver_later(&mut self, note: Note) {
        let Some(told) = self.notes.told.get_mut(&(note.kind, note.subject.clone())) else { return };
        told.tries += 1;
        let pause = FIRST_PAUSE.doubled(told.tries - 1, LONGEST_PAUSE);
        self.timers.set(Timer::Deliver(Box::new(note)), self.now + pause);
    }

    /// Delivers in a new tenure the notes that an earlier tenure of this process could not deliver.
    pub(super) fn deliver_undelivered(&mut self) {
        let waiting = self.notes.told.iter().filter(|(_, told)| !told.delivered);
        let note = |((kind, subject), told): (&(NoteKind, String), &SentNote)| Note {
            kind: *kind,
            subject: subject.clone(),
            text: told.text.clone(),
        };
        for note in waiting.map(note).collect::<Vec<_>>() {
            self.deliver(note);
        }
    }

    pub(super) fn notified(&mut self, ticket: Ticket, delivered: bool) {
        let Some(Awaited::Delivery(note)) = self.take(ticket) else { return };
        if !delivered {
            return self.deliver_later(note);
        }
        let entry = self.entry(Kind::NotifySent, note.subject.clone()).with_data("kind", note.kind.to_string());
        let told = self.notes.told.get_mut(&(note.kind, note.subject.clone()));
        if let Some(told) = told.filter(|told| told.text == note.text) {
            told.delivered = true;
            if told.over {
                self.notes.end(note.kind, &note.subject);
            }
        }
        self.append(vec![entry], BTreeMap::new(), Then::Nothing);
    }

    /// Handles the deadline of an app that has not converged.
    pub(super) fn deadline_passed(&mut self, app: &AppId) {
        let Some(facts) = self.holdings.facts().apps.get(app).cloned() else { return };
        let Some(kept) = self.apps.get_mut(app).filter(|kept| !kept.converged) else { return };
        let waits = [
            State::Suspended,
            State::Frozen,
            State::TargetMoved,
            State::TargetUnknown,
            State::Manual,
            State::Observe,
            State::WindowClosed,
        ];
        let control = kept.control.as_ref();
        let (on_failure, deadline) =
            (control.map(|control| control.on_failure), control.map(|control| control.deadline));
        // An app that cannot be observed has not failed: people are notified, nothing is rolled
        // back.
        let blind = kept.look_failures > 0 && !Mutant::RollBackUnobserved.is_on();
        let reasons = kept
            .report
            .iter()
            .take(3)
            .map(|withheld| format!("{}: {}", withheld.key, withheld.why))
            .collect::<Vec<_>>();
        let states = self.states_of(app, &facts);
        let failed = self.held_at(app);
        if waits.into_iter().any(|state| states.contains(state)) {
            // The app waits for a person or a condition: the deadline starts again.
            let again = deadline.map(|deadline| self.now + deadline);
            again.into_iter().for_each(|at| self.timers.set(Timer::Deadline(app.clone()), at));
            return;
        }
        let Some(kept) = self.apps.get_mut(app).filter(|kept| kept.failed != failed) else { return };
        kept.failed = failed;
        let bundle = failed.map(|bundle| bundle.short()).unwrap_or_default();
        let text = format!("{app} did not converge at bundle {bundle} by its deadline. {}", reasons.join("; "));
        self.tell(NoteKind::NotConverged, app.to_string(), text);
        match on_failure.filter(|_| !blind) {
            Some(OnFailure::Rollback) => self.roll_back(app, failed),
            Some(OnFailure::Hold) => self.hold_failed(app, failed),
            Some(OnFailure::Alert) | None => {}
        }
    }

    /// Rolls back to the last good bundle, until a newer one than the failed is accepted.
    fn roll_back(&mut self, app: &AppId, failed: Option<Digest>) {
        let Some(kept) = self.apps.get(app) else { return };
        let mut facts = AppFacts::clone(&kept.sent);
        let (Some(accepted), Some(good), None) = (&facts.accepted, &facts.last_good, &facts.hold) else { return };
        // A bundle that was accepted in the meantime has not failed.
        if accepted.bundle == good.bundle || Some(accepted.bundle) != failed {
            return;
        }
        let why = HoldReason::RolledBack { failed: accepted.sequence };
        let text = format!("{app} is rolled back to {}, because {} did not converge", good.revision, accepted.revision);
        facts.hold = Some(Hold { bundle: Some(good.bundle), why, by: super::entries::engine(), at: self.now });
        self.put_app(
            app,
            facts,
            Kind::AppState,
            "rolled back",
            Then::Accepted { app: app.clone(), priority: Priority::NewBundle },
        );
        self.tell(NoteKind::RolledBack, app.to_string(), text);
    }

    fn hold_failed(&mut self, app: &AppId, failed: Option<Digest>) {
        let Some(kept) = self.apps.get(app) else { return };
        let mut facts = AppFacts::clone(&kept.sent);
        let bundle = self.pin_of(app, &facts);
        if facts.hold.is_none() && bundle == failed {
            let why = HoldReason::Asked { reason: "it did not converge by its deadline".into() };
            facts.hold = Some(Hold { bundle, why, by: super::entries::engine(), at: self.now });
            self.put_app(app, facts, Kind::AppState, "held: not converged", Then::Nothing);
        }
    }

    /// Returns the bundle at which a hold pins the app: the current one, not the one it may move to
    /// once a person or a window lets it.
    pub(super) fn pin_of(&self, app: &AppId, facts: &AppFacts) -> Option<Digest> {
        if Mutant::HoldAtAccepted.is_on() {
            return facts.held_at();
        }
        let frozen = self.apps.get(app).is_some_and(|kept| kept.control.is_none());
        if frozen && facts.hold.is_none() {
            // It is unknown whether the version accepted since would have waited for a person: the
            // app stays where it was.
            let was = facts.last_good.as_ref().map(|good| good.bundle).or(facts.let_through);
            return was.or_else(|| facts.held_at());
        }
        // If the document no longer retires the app, the app goes back to the bundle that was let
        // through.
        self.held_by(app, &AppFacts { retiring: false, ..facts.clone() })
    }

    /// Sets or cancels the timer for the end of a suspension.
    pub(super) fn watch_suspension(&mut self, app: &AppId) {
        let facts = self.holdings.facts().apps.get(app);
        match facts.and_then(|facts| facts.suspension.as_ref()).map(|suspension| suspension.until) {
            Some(until) => self.timers.set(Timer::SuspensionEnds(app.clone()), until),
            None => self.timers.cancel(&Timer::SuspensionEnds(app.clone())),
        }
    }

    pub(super) fn suspension_ended(&mut self, app: &AppId) {
        let Some(kept) = self.apps.get(app) else { return };
        // A suspension that was extended or ended meanwhile is being recorded: the ledger's
        // response sets the timer again.
        if kept.sent.suspension.as_ref().is_none_or(|suspension| suspension.until > self.now) {
            return;
        }
        let mut facts = AppFacts::clone(&kept.sent);
        facts.suspension = None;
        let entry = self.app_entry(Kind::AppState, app).with_data("what", "suspension ended");
        let entry = entry.with_data("skipped", self.skipped(app));
        let then = Then::Look { app: app.clone(), priority: Priority::Person };
        self.put_app_by(app, facts, entry, BTreeMap::new(), then);
    }

    /// Lists the changes that a suspension has prevented.
    fn skipped(&self, app: &AppId) -> String {
        let by_suspension = |why: &Why| matches!(why, Why::State { state: State::Suspended });
        let report = self.apps.get(app).map_or(&[][..], |kept| &kept.report);
        let skipped: Vec<_> = report.iter().filter(|withheld| by_suspension(&withheld.why)).collect();
        let named = skipped.iter().take(MOST_NAMED).map(|withheld| format!("{} ({})", withheld.key, withheld.cause));
        let named = named.collect::<Vec<_>>().join(", ");
        match skipped.len() {
            0 => "nothing".to_owned(),
            some if some > MOST_NAMED => format!("{named} and {} more", some - MOST_NAMED),
            _ => named,
        }
    }

    /// Carries out a person's order by recording it. An order that is not recorded has no effect.
    pub(super) fn ordered(&mut self, command: &Command) {
        let Command { id, app, by, via, reason, order } = command;
        if let Some(problem) = command.problem(self.now) {
            return self.answer_order(Some(*id), Err(Declined::Invalid(problem)));
        }
        let holding = self.tenure.is_holding();
        let Some(kept) = self.apps.get(app).filter(|_| holding) else {
            let declined = if holding { Declined::Refused("there is no such app") } else { Declined::NotRecorded };
            return self.answer_order(Some(*id), Err(declined));
        };
        let mut facts = AppFacts::clone(&kept.sent);
        let mut then = Then::Look { app: app.clone(), priority: Priority::Person };
        let mut changes = Vec::new();
        let kind = match order {
            Order::Sync { allow_prune } => {
                // While the app is held, this is the pinned bundle and not the one accepted since.
                facts.let_through = facts.held_at();
                then = Then::Accepted { app: app.clone(), priority: Priority::Person };
                if let Some(bundle) = facts.held_at().filter(|_| *allow_prune > 0) {
                    facts.allowance =
                        Some(PruneAllowance { left: *allow_prune, bundle, by: by.clone(), reason: reason.clone() });
                }
                Kind::Approval
            }
            Order::Suspend { until } => {
                facts.suspension =
                    Some(Suspension { reason: reason.clone(), by: by.clone(), at: self.now, until: *until });
                Kind::Override
            }
            Order::Resume => {
                facts.suspension = None;
                Kind::Override
            }
            Order::Hold => {
                let why = HoldReason::Asked { reason: reason.clone() };
                facts.hold = Some(Hold { bundle: self.pin_of(app, &facts), why, by: by.clone(), at: self.now });
                Kind::Override
            }
            Order::Settle { intent, done } => {
                // A person is consulted only after an observation could not determine the outcome.
                // Before that the effect may still land.
                let open = self.holdings.facts().intents.get(intent).cloned();
                let of_this_app = |open: &Intent| open.app == *app && self.is_beyond_telling(*intent);
                let Some(open) = open.filter(of_this_app) else {
                    let problem = "the outcome of that change is known, or Setpoint is still finding it out";
                    return self.answer_order(Some(*id), Err(Declined::Refused(problem)));
                };
                let end = if *done { IntentEnd::Done } else { IntentEnd::NotDone { why: reason.clone() } };
                changes.push(Change::CloseIntent { intent: *intent, end });
                changes.extend(if *done { None } else { self.claim_of_not_done(&open) });
                Kind::Override
            }
            Order::Release { accept } => {
                let rewritten = |hold: &Hold| matches!(hold.why, HoldReason::Rewritten { .. });
                if accept.is_none() && facts.hold.as_ref().is_some_and(rewritten) {
                    let problem = "history was rewritten: name the version that is right";
                    return self.answer_order(Some(*id), Err(Declined::Refused(problem)));
                }
                facts.hold = None;
                // The history of another store may have been corrected before.
                facts.blessed = accept.as_ref().map(|accept| match &facts.blessed {
                    Some(earlier) => earlier.overlaid(accept),
                    None => accept.clone(),
                });
                if let Some(kept) = self.apps.get_mut(app) {
                    kept.considered = None;
                }
                changes = self.trusted_again(app);
                then = Then::Accepted { app: app.clone(), priority: Priority::Person };
                Kind::Override
            }
        };
        let mut entry = Entry::new(kind, app.scope.clone(), app.to_string(), by.clone(), self.now)
            .with_data("order", order_name(order))
            .with_data("via", via.as_str())
            .with_data("reason", reason.as_str());
        if *order == Order::Resume {
            entry = entry.with_data("skipped", self.skipped(app));
        }
        // A record has a limit, and an app may have any number of claims.
        let rest = changes.split_off(changes.len().min(MOST_CHANGES));
        let more = rest.chunks(MOST_CHANGES).map(|changes| Entry { changes: changes.to_vec(), ..entry.clone() });
        let mut entries: Vec<Entry> = more.collect();
        entry.changes = changes;
        entries.insert(0, entry);
        self.put_app_for(Some(*id), app, facts, entries, BTreeMap::new(), then);
    }

    /// Records a statement.
    pub(super) fn stated(&mut self, statement: Statement) {
        let Statement { id, entry } = statement;
        if !entry.changes.is_empty() {
            let problem = "a statement changes no facts";
            return self.answer_order(Some(id), Err(Declined::Invalid(problem)));
        }
        if !self.tenure.is_holding() {
            return self.answer_order(Some(id), Err(Declined::NotRecorded));
        }
        let entry = Entry { time: self.now, ..entry };
        self.append_for(Some(id), vec![entry], BTreeMap::new(), Then::Nothing);
    }

    pub(super) fn answer_order(&mut self, order: Option<OrderId>, outcome: Result<(), Declined>) {
        self.effects.extend(order.map(|id| Effect::Ordered { id, outcome }));
    }

    /// Ends a matter: if it comes back, people are notified again.
    pub(super) fn is_over(&mut self, kind: NoteKind, subject: &str) {
        self.notes.end(kind, subject);
    }

    /// Ends every matter of a kind but this one.
    pub(super) fn others_are_over(&mut self, kind: NoteKind, but: Option<&str>) {
        let others = self.notes.told.keys().filter(|(of, subject)| *of == kind && Some(subject.as_str()) != but);
        for (kind, subject) in others.cloned().collect::<Vec<_>>() {
            self.notes.end(kind, &subject);
        }
    }

    /// Forgets the notes about an app that is forgotten.
    pub(super) fn forget_notes(&mut self, app: &AppId) {
        let app = app.to_string();
        let is_of_app =
            |subject: &str| subject.strip_prefix(&app).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '));
        self.notes.told.retain(|(kind, subject), _| !kind.is_of_app() || !is_of_app(subject));
    }

    /// Stops the deadline of an app that is as declared and healthy.
    pub(super) fn deadline_met(&mut self, app: &AppId) {
        self.timers.cancel(&Timer::Deadline(app.clone()));
        if let Some(kept) = self.apps.get_mut_unmarked(app) {
            kept.failed = None;
        }
        self.is_over(NoteKind::NotConverged, &app.to_string());
    }

    /// Starts the deadline of an app that is not as declared, if it does not run already.
    pub(super) fn deadline_runs(&mut self, app: &AppId) {
        let Some(kept) = self.apps.get(app) else { return };
        let told = kept.failed.is_some() && kept.failed == self.held_at(app);
        if let Some(control) = kept.control.as_ref().filter(|_| !told) {
            let at = self.now + control.deadline;
            self.timers.set_no_later(Timer::Deadline(app.clone()), at);
        }
    }

    /// Returns changes that fully restore rebuilt claims, once a person has released the app.
    fn trusted_again(&self, app: &AppId) -> Vec<Change> {
        let recovered = self.holdings.claims_of(app).values().filter(|claim| claim.origin == ClaimOrigin::Recovered);
        recovered
            .map(|claim| Change::PutClaim {
                claim: Arc::new(Claim { origin: ClaimOrigin::Created, ..Claim::clone(claim) }),
                from: None,
            })
            .collect()
    }
}

fn order_name(order: &Order) -> &'static str {
    match order {
        Order::Sync { .. } => "sync",
        Order::Suspend { .. } => "suspend",
        Order::Resume => "resume",
        Order::Hold => "hold",
        Order::Settle { .. } => "settle",
        Order::Release { .. } => "release",
    }
}
