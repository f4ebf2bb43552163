//! Builds steps and intents as the engine would, for the suite and for the tests of a target.

use std::cell::Cell;
use std::sync::Arc;

use setpoint_core::claim::{Claim, ClaimOrigin};
use setpoint_core::digest::Digest;
use setpoint_core::intent::{Expect, Intent, IntentId, Verb};
use setpoint_core::key::Key;
use setpoint_core::live::{Holders, Live};
use setpoint_core::modes::Cause;
use setpoint_core::name::{AppId, TargetIdentity};
use setpoint_core::plan::Step;
use setpoint_core::resource::Resource;
use setpoint_core::time::Timestamp;

use crate::contract::{Priority, Work};

/// Builds steps for one target, each under an intent of its own.
#[derive(Debug)]
pub struct Steps {
    target: TargetIdentity,
    next: Cell<u64>,
}

impl Steps {
    /// The epoch of the intents.
    pub const EPOCH: u64 = 7;

    pub fn new(target: TargetIdentity) -> Self {
        Self { target, next: Cell::new(1) }
    }

    pub fn create(&self, resource: &Resource) -> Work {
        self.work(Verb::Create, &resource.key, Some(resource), None)
    }

    pub fn update(&self, resource: &Resource, seen: &Live) -> Work {
        self.work(Verb::Update, &resource.key, Some(resource), Some(seen))
    }

    /// Builds the step by which the former managers of an adopted object release our fields.
    pub fn fold(&self, resource: &Resource, seen: &Live, holders: &Holders) -> Work {
        let mut work = self.update(resource, seen);
        work.step.claim.origin = ClaimOrigin::Adopted;
        work.step.claim.folding = Some(Box::new(holders.clone()));
        work.step.folds = true;
        work
    }

    pub fn delete(&self, key: &Key, seen: &Live) -> Work {
        self.work(Verb::Delete, key, None, Some(seen))
    }

    fn work(&self, verb: Verb, key: &Key, resource: Option<&Resource>, seen: Option<&Live>) -> Work {
        let number = self.next.replace(self.next.get() + 1);
        let claim = Claim {
            tombstone: verb == Verb::Delete,
            ..Claim::new(
                self.target.clone(),
                key.clone(),
                app(),
                seen.map(|live| live.uid.clone()),
                ClaimOrigin::Created,
            )
        };
        let step = Step {
            key: key.clone(),
            verb,
            cause: if verb == Verb::Delete { Cause::Prune } else { Cause::Declared },
            resource: resource.cloned().map(Arc::new),
            expect: seen.map(|live| Expect { uid: live.uid.clone(), version: Some(live.version.clone()) }),
            claim,
            from: None,
            rank: 0,
            differences: Vec::new(),
            folds: false,
        };
        Work { intent: IntentId { epoch: Self::EPOCH, number }, step, acting_as: None, priority: Priority::default() }
    }

    /// Builds the intent of a step that lands by this instant or never.
    pub fn intent(&self, work: &Work, land_by: Timestamp) -> Intent {
        Intent {
            id: work.intent,
            app: app(),
            target: self.target.clone(),
            key: work.step.key.clone(),
            verb: work.step.verb,
            folds: work.step.claim.folding.clone().filter(|_| work.step.folds),
            plan: Digest::of(b"plan"),
            bundle: Digest::of(b"bundle"),
            declared: work.step.resource.as_ref().map(|resource| resource.digest()),
            expect: work.step.expect.clone(),
            acting_as: work.acting_as.clone(),
            at: land_by,
            leave_by: land_by,
            land_by,
        }
    }
}

fn app() -> AppId {
    "suite/samples".parse().expect("a valid app")
}
