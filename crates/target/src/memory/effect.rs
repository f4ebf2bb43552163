//! Carries out a step in the world in memory: in time, in the newest epoch, on the expected object,
//! or not at all.

use std::sync::Arc;

use setpoint_core::intent::{Expect, IntentId, Verb};
use setpoint_core::key::Key;
use setpoint_core::live::{Live, Writer};
use setpoint_core::plan::Step;
use setpoint_core::resource::Resource;
use setpoint_core::time::Timestamp;
use setpoint_core::value::Value;

use super::{MemoryWorld, check_fixed, refusal};
use crate::contract::{Fence, Outcome, Refusal, RefusalClass, Work};

/// The name of our writes. Anyone could use it: it proves nothing.
const OUR_NAME: &str = "setpoint";

impl MemoryWorld {
    /// Carries out one step that leaves at `now`. Never returns [`Outcome::Unknown`]: the caller
    /// simulates lost responses.
    pub fn execute_one(&mut self, work: &Work, fence: Fence, now: Timestamp) -> Outcome {
        match self.admit(&work.step, fence, now).and_then(|()| self.carry_out(work)) {
            Ok(live) => Outcome::Done { live },
            Err(refusal) => Outcome::Refused { refusal },
        }
    }

    fn admit(&mut self, step: &Step, fence: Fence, now: Timestamp) -> Result<(), Refusal> {
        if now > fence.leave_by || now > fence.land_by {
            let late = now.since(fence.leave_by.min(fence.land_by));
            return Err(refusal(
                RefusalClass::Fenced,
                format!("the change is {late} late and was not made: Setpoint reads the object again and retries"),
            ));
        }
        if step.claim.target != self.identity {
            let (found, expected) = (&self.identity, &step.claim.target);
            let detail = format!("the system at this address is `{found}`, not `{expected}`: correct the address");
            return Err(refusal(RefusalClass::Conflict, detail));
        }
        if self.options.checks_epochs && fence.epoch < self.newest_epoch {
            let detail = format!("epoch {} is over, {} has begun: stop acting", fence.epoch, self.newest_epoch);
            return Err(refusal(RefusalClass::Fenced, detail));
        }
        self.newest_epoch = self.newest_epoch.max(fence.epoch);
        Ok(())
    }

    fn carry_out(&mut self, work: &Work) -> Result<Option<Live>, Refusal> {
        let step = &work.step;
        match (step.verb, &step.resource, &step.expect) {
            (Verb::Create, Some(resource), None) if resource.key == step.key => {
                self.create(work.intent, resource).map(Some)
            }
            (Verb::Update, Some(resource), Some(expect)) if resource.key == step.key => {
                self.update(work.intent, resource, expect).map(Some)
            }
            (Verb::Delete, _, Some(expect)) => self.delete(step, expect).map(|()| None),
            (verb, ..) => {
                let detail = format!("the step to {verb} {} names neither content nor object", step.key);
                Err(refusal(RefusalClass::Invalid, detail))
            }
        }
    }

    fn create(&mut self, intent: IntentId, resource: &Resource) -> Result<Live, Refusal> {
        let key = &resource.key;
        if self.options.idempotent_create {
            let standing = self.standing(key);
            if let Some(ours) = standing.iter().find(|object| object.created_by == Some(intent)) {
                return Ok(ours.live.clone());
            }
            if !standing.is_empty() {
                return Err(refusal(RefusalClass::Conflict, format!("{key} exists already: observe again")));
            }
        }
        self.check_denials(key, Verb::Create)?;
        Ok(self.insert(key, declared_value(resource), our_writer(), Some(intent)))
    }

    fn update(&mut self, intent: IntentId, resource: &Resource, expect: &Expect) -> Result<Live, Refusal> {
        let key = &resource.key;
        let place = self.find(key, expect)?;
        self.check_denials(key, Verb::Update)?;
        check_fixed(resource, &self.standing(key)[place].live)?;
        let version = self.note_change(key);
        let object = self.objects.get_mut(key).and_then(|standing| standing.get_mut(place));
        let object = object.expect("it was found a moment ago");
        object.written_by = Some(intent);
        object.live.version = version;
        object.live.value = declared_value(resource);
        object.live.fingerprint = Live::fingerprint_of(&object.live.value);
        object.live.writer = our_writer();
        Ok(object.live.clone())
    }

    fn delete(&mut self, step: &Step, expect: &Expect) -> Result<(), Refusal> {
        let key = &step.key;
        if self.standing(key).is_empty() {
            return Ok(());
        }
        let place = self.find(key, expect)?;
        self.check_denials(key, Verb::Delete)?;
        if self.instances(key) == 1 {
            self.objects.remove(key);
        } else if let Some(standing) = self.objects.get_mut(key) {
            standing.remove(place);
        }
        self.note_change(key);
        Ok(())
    }

    /// Returns the index of the expected object among those of a key.
    fn find(&self, key: &Key, expect: &Expect) -> Result<usize, Refusal> {
        let conflict = |detail| Err(refusal(RefusalClass::Conflict, detail));
        let standing = self.standing(key);
        let Some(place) = standing.iter().position(|object| object.live.uid == expect.uid) else {
            return conflict(format!("{key} is no longer the object `{}`: observe again", expect.uid));
        };
        match &expect.version {
            Some(version) if *version != standing[place].live.version => {
                conflict(format!("{key} was written since version `{version}`: observe again"))
            }
            _ => Ok(place),
        }
    }
}

fn declared_value(resource: &Resource) -> Arc<Value> {
    Arc::clone(&resource.body)
}

fn our_writer() -> Writer {
    Writer::Likely { who: OUR_NAME.to_owned() }
}
