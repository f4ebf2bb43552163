//! What happens on the way to the targets: looks that show too little or too old a state, steps that land late, twice or not at all.

use setpoint_core::live::Observation;
use setpoint_core::observed::{Blindness, Observed};
use setpoint_engine::{Effect, Event};
use setpoint_target::{Outcome, Refusal, RefusalClass, Wanted};

use crate::fault::Fault;
use crate::monitor::Scene;
use crate::world::{Happening, Landing, Recipient, World};

impl World {
    pub(super) fn look(&mut self, from: Recipient, target: usize, wanted: &Wanted) -> Observation {
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

fn refused(class: RefusalClass, detail: &str) -> Outcome {
    Outcome::Refused { refusal: Refusal { class, detail: detail.into(), retry_after: None } }
}
