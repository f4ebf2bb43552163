//! Settles intents without a result: by observing, never by repeating.

use std::collections::BTreeMap;
use std::sync::Arc;

use setpoint_core::claim::Claim;
use setpoint_core::facts::Change;
use setpoint_core::intent::{Intent, IntentEnd, IntentId, Verb};
use setpoint_core::live::Live;
use setpoint_core::time::{Span, Timestamp};
use setpoint_ledger::{Entry, Kind};
use setpoint_target::Settlement;

use crate::effect::{Effect, NoteKind, Ticket};

use super::queue::Priority;
use super::timers::Timer;
use super::{Awaited, Machine, Then};

const FIRST_PAUSE: Span = Span::seconds(5);
const LONGEST_PAUSE: Span = Span::minutes(5);

/// An intent whose end is unknown.
#[derive(Debug, Default)]
pub(super) struct Unsettled {
    tries: u32,
}

impl Machine {
    /// Settles the intent from `at` on: before, its effect may still land.
    pub(super) fn settle_from(&mut self, intent: IntentId, at: Timestamp) {
        self.unsettled.entry(intent).or_default();
        self.mark_intent(intent);
        self.timers.set(Timer::Settle(intent), at);
    }

    pub(super) fn settle(&mut self, id: IntentId) {
        let Some(intent) = self.holdings.facts().intents.get(&id).cloned() else {
            self.unsettled.remove(&id);
            return self.is_over(NoteKind::Unsettled, &id.to_string());
        };
        let bundle = self.bundles.get(&intent.bundle);
        let declared = bundle.as_ref().and_then(|bundle| bundle.resources().get(&intent.key));
        let declared = declared.map(|declared| declared.resource.clone());
        let ticket = self.ask(Awaited::Settlement(id), self.settings.patience);
        let target = intent.target.clone();
        self.effects.push(Effect::Settle { ticket, target, intent: Box::new(intent), declared });
    }

    pub(super) fn settled(&mut self, ticket: Ticket, settlement: Settlement) {
        let Some(Awaited::Settlement(id)) = self.take(ticket) else { return };
        let Some(intent) = self.holdings.facts().intents.get(&id).cloned() else { return };
        let (end, live) = match settlement {
            Settlement::Done { live } => (IntentEnd::Done, live),
            Settlement::NotDone => (IntentEnd::NotDone { why: "found not done".into() }, None),
            Settlement::Superseded { detail } => (IntentEnd::Superseded { why: detail }, None),
            Settlement::Unknown { detail } => {
                let text =
                    format!("outcome of {} {} is unknown ({detail}); run `setpoint settle`", intent.verb, intent.key);
                self.tell(NoteKind::Unsettled, id.to_string(), text);
                return self.settle_later(id);
            }
        };
        self.mark_intent(id);
        self.unsettled.remove(&id);
        self.is_over(NoteKind::Unsettled, &id.to_string());
        if let Some(kept) = self.apps.get_mut(&intent.app) {
            kept.missing_since.remove(&intent.key);
        }
        let subject = format!("{} {}", intent.app, intent.key);
        let mut entry =
            Entry::new(Kind::EffectResult, intent.app.scope.clone(), subject, super::entries::engine(), self.now)
                .with_data("outcome", found(&end))
                .with_change(Change::CloseIntent { intent: id, end: end.clone() });
        if let IntentEnd::Superseded { why } = &end {
            entry = entry.with_data("why", why.as_str());
        }
        // A heal that may have happened counts too: otherwise a fight across crashes would never
        // slow us down.
        if !matches!(end, IntentEnd::NotDone { .. }) && self.was_heal(&intent) {
            self.note_heal(&intent.app, &intent.key, intent.declared);
        }
        let claim = match end {
            IntentEnd::Done => self.claim_of_done(&intent, live.as_ref()),
            // Nothing proves that the live object is the one we created.
            IntentEnd::NotDone { .. } | IntentEnd::Superseded { .. } => self.claim_of_not_done(&intent),
        };
        entry.changes.extend(claim);
        self.append(vec![entry], BTreeMap::new(), Then::Look { app: intent.app, priority: Priority::Drift });
    }

    /// Reports whether the intent was a heal: the declaration was observed in place before, or the
    /// app had converged at this very bundle, so only drift can have caused it. Heals without a
    /// result count like others, or a fight on a target that responds badly would never slow us
    /// down.
    fn was_heal(&self, intent: &Intent) -> bool {
        let facts = self.holdings.facts().apps.get(&intent.app);
        let good = facts.and_then(|facts| facts.last_good.as_ref()).map(|good| good.bundle);
        let baseline = self.apps.get(&intent.app).and_then(|kept| kept.baselines.get(&intent.key));
        let unmoved = match baseline {
            Some(baseline) => Some(baseline.declared) == intent.declared,
            None => good == Some(intent.bundle),
        };
        intent.verb != Verb::Delete && intent.folds.is_none() && unmoved
    }

    /// Reports whether the intent was checked in due time without a result.
    pub(super) fn is_beyond_telling(&self, id: IntentId) -> bool {
        self.unsettled.get(&id).is_some_and(|unsettled| unsettled.tries > 0)
    }

    pub(super) fn settle_later(&mut self, id: IntentId) {
        let Some(unsettled) = self.unsettled.get_mut(&id) else { return };
        unsettled.tries += 1;
        let pause = FIRST_PAUSE.doubled(unsettled.tries - 1, LONGEST_PAUSE);
        self.timers.set(Timer::Settle(id), self.now + pause);
    }

    /// Returns the claim of a change that is found done: a created object gets its UID now; one
    /// that is gone again by now is not owned.
    fn claim_of_done(&self, intent: &Intent, live: Option<&Live>) -> Option<Change> {
        let Some(live) = live else { return self.claim_of_not_done(intent) };
        let claim = self.holdings.facts().claims.get(&intent.target, &intent.key)?;
        let mut done = Claim { uid: Some(live.uid.clone()), ..Claim::clone(claim) };
        let bundle = self.bundles.get(&intent.bundle);
        let declared = bundle.as_ref().and_then(|bundle| bundle.resources().get(&intent.key));
        if let Some(declared) = declared.filter(|declared| declared.resource.once) {
            done.made = Some(Box::new(declared.digest));
        }
        if intent.folds.is_some() {
            done.folding = None;
        }
        (claim.app == intent.app && done != **claim).then(|| Change::PutClaim { claim: Arc::new(done), from: None })
    }

    /// Returns the change that drops the claim of a create that did not happen.
    pub(super) fn claim_of_not_done(&self, intent: &Intent) -> Option<Change> {
        let (target, key, app) = (intent.target.clone(), intent.key.clone(), intent.app.clone());
        let claim = self.holdings.facts().claims.get(&target, &key)?;
        let made_nothing = intent.verb == Verb::Create && claim.app == app && claim.uid.is_none();
        made_nothing.then_some(Change::DropClaim { target, key, app })
    }
}

fn found(end: &IntentEnd) -> &'static str {
    match end {
        IntentEnd::Done => "found done",
        IntentEnd::NotDone { .. } => "found not done",
        IntentEnd::Superseded { .. } => "found overwritten",
    }
}
