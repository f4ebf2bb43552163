//! Effects on their way to the targets: observations of too little or too old a state, and steps
//! that land late, twice or not at all.

use setpoint_core::intent::Verb;
use setpoint_core::live::Observation;
use setpoint_core::observed::{Observed, UnknownReason};
use setpoint_core::time::Span;
use setpoint_engine::{Effect, Event};
use setpoint_target::{Outcome, Refusal, RefusalClass, Wanted, Work};

use crate::fault::Fault;
use crate::monitor::Scene;
use crate::world::{Happening, Landing, Recipient, World};

impl World {
    pub(super) fn look(&mut self, from: Recipient, target: usize, wanted: &Wanted) -> Observation {
        let at = self.instances[from.instance].clock(self.now);
        self.script.looks += 1;
        let unreachable = || {
            let reason = UnknownReason::Unreachable { detail: "no answer".into() };
            wanted.keys().map(|key| (key.clone(), Observed::unknown(reason.clone()))).collect()
        };
        self.break_off(target);
        if self.outage(target).is_some() || self.strikes(Fault::TargetUnreachable, "look unanswered") {
            return Observation { at, states: unreachable() };
        }
        let lags = !self.universe.targets[target].fresh_reads;
        let stale =
            self.script.stale_look == Some(self.script.looks) || lags && self.strikes(Fault::StaleRead, "stale look");
        self.forget_past(target);
        let mut observation = match self.past[target].len() {
            past if stale && lags && past > 0 => {
                let n = self.tape.pick("how stale", past as u32) as usize;
                self.past[target][n].1.observe(wanted.keys(), at)
            }
            _ => self.targets[target].observe(wanted.keys(), at),
        };
        let partial = self.strikes(Fault::PartialList, "partial look");
        for (key, state) in &mut observation.states {
            if self.script.hidden.contains(key) || partial && self.tape.happens("key unseen", 400) {
                *state = Observed::unknown(UnknownReason::Partial { detail: "a page was lost".into() });
            }
        }
        observation
    }

    /// Sends steps, unless it is too late. This is the last moment at which the instance decides.
    pub(crate) fn leave(&mut self, from: Recipient, effect: Effect) {
        if !self.is_current(from) {
            return;
        }
        let paused_until = self.instances[from.instance].paused_until;
        if paused_until > self.now {
            return self.at(paused_until, Happening::Leave { from, effect: Box::new(effect) });
        }
        let Some(effect) = self.ask_cluster(from, effect) else { return };
        let Effect::Execute { ticket, target, work, fence } = effect else { unreachable!("only steps leave") };
        if self.instances[from.instance].clock(self.now) > fence.leave_by {
            let outcomes = work.iter().map(|_| refused(RefusalClass::Fenced, "too late")).collect();
            return self.reply(from, Event::Executed { ticket, outcomes });
        }
        let slow = self.strikes(Fault::SlowEffect, "slow effect");
        let delay = if slow {
            // Timeouts are measured by the caller's clock.
            1_000 + self.instances[from.instance].lasts(u64::from(self.tape.pick("slow", 28_000)))
        } else {
            1 + u64::from(self.tape.pick("way", 40))
        };
        // The caller may have given up before it lands.
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

    /// Makes a target unavailable for a while: unreachable, refusing the credentials, or without a
    /// kind.
    pub(crate) fn break_off(&mut self, target: usize) {
        let labels = [
            (Fault::Partition, "cut off"),
            (Fault::Revoked, "let nobody in"),
            (Fault::KindMissing, "kind goes missing"),
        ];
        for (fault, label) in labels {
            if self.outages[target].is_none_or(|(_, until)| until <= self.now) && self.strikes(fault, label) {
                let minutes = u64::from(1 + self.tape.pick("outage minutes", 8));
                self.outages[target] = Some((fault, self.now + minutes * 60_000));
            }
        }
    }

    /// Returns the reason why a target presently returns no observation.
    pub(super) fn outage(&self, target: usize) -> Option<Fault> {
        let (fault, until) = self.outages[target]?;
        (until > self.now && fault != Fault::KindMissing).then_some(fault)
    }

    /// Returns the outcome of a step that an outage keeps from landing.
    fn keep_out(&mut self, target: usize, work: &Work) -> Option<Outcome> {
        let timed_out = Outcome::Unknown { detail: "timed out".into() };
        match self.outages[target].filter(|(_, until)| *until > self.now) {
            Some((Fault::Partition, _)) => return Some(timed_out),
            Some((Fault::Revoked, _)) => return Some(refused(RefusalClass::Denied, "the client is unknown")),
            Some((Fault::KindMissing, _)) if work.step.verb == Verb::Create => {
                return Some(refused(RefusalClass::Invalid, "there is no such kind"));
            }
            _ => {}
        }
        if self.strikes(Fault::TimeoutBefore, "timeout before") {
            return Some(timed_out);
        }
        if self.strikes(Fault::Unavailable, "unavailable") {
            let retry_after = self.tape.happens("says when", 500).then_some(Span::seconds(20));
            let refusal = Refusal { retry_after, ..unavailable("busy") };
            return Some(Outcome::Refused { refusal });
        }
        self.strikes(Fault::Conflict, "conflict").then(|| refused(RefusalClass::Conflict, "someone was faster"))
    }

    fn land_one(&mut self, target: usize, work: &Work, fence: setpoint_target::Fence) -> Outcome {
        if let Some(outcome) = self.keep_out(target, work) {
            return outcome;
        }
        let (now, universe, stores, bundles) = (self.now, &self.universe, &self.stores, &self.bundles);
        let facts = self.ledger.facts(&self.origin);
        let world = &mut self.targets[target];
        self.monitor.landing(&Scene { now, universe, stores, target: world, facts, bundles }, work);
        // It was sent in time; the network decides how long it travels, within limits.
        let outcome = world.execute_one(work, fence, fence.leave_by);
        self.monitor.landed(&Scene { now, universe, stores, target: world, facts, bundles }, work, fence, &outcome);
        if matches!(outcome, Outcome::Done { .. }) && self.strikes(Fault::Mutated, "rewritten") {
            self.edit(target, &work.step.key, 667, "admission");
        }
        if self.timeline.is_some() {
            self.remark(&format!("target: {} {:?} {} → {outcome:?}", work.intent, work.step.verb, work.step.key));
        }
        if self.strikes(Fault::TimeoutAfter, "timeout after") {
            return Outcome::Unknown { detail: "timed out".into() };
        }
        outcome
    }
}

pub(super) fn unavailable(detail: &str) -> Refusal {
    Refusal { class: RefusalClass::Unavailable, detail: detail.into(), retry_after: None }
}

fn refused(class: RefusalClass, detail: &str) -> Outcome {
    Outcome::Refused { refusal: Refusal { class, detail: detail.into(), retry_after: None } }
}
