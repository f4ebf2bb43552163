//! The environment of one check: a subject, the permission to change it, and common operations.

use std::sync::Arc;

use setpoint_core::key::Key;
use setpoint_core::live::{Live, Observation, Presence};
use setpoint_core::name::TargetIdentity;
use setpoint_core::observed::Observed;
use setpoint_core::resource::Resource;
use setpoint_core::time::Span;

use super::{Form, Steps, Subject, Verdict, ensure};
use crate::contract::{Asker, Fence, Outcome, RefusalClass, Settlement, Target, Work};

/// The number of samples; no check uses more.
const SAMPLES: usize = 8;

pub(super) struct Stage<'a> {
    pub(super) subject: &'a dyn Subject,
    pub(super) identity: TargetIdentity,
    steps: Steps,
}

impl<'a> Stage<'a> {
    pub(super) async fn set(subject: &'a dyn Subject) -> Result<Self, String> {
        let identity = subject.target().identity().await.map_err(|refusal| format!("it has no identity: {refusal}"))?;
        Ok(Self { subject, steps: Steps::new(identity.clone()), identity })
    }

    pub(super) fn target(&self) -> &'a dyn Target {
        self.subject.target()
    }

    pub(super) fn first(&self, number: usize) -> Resource {
        self.subject.sample(number, Form::First)
    }

    pub(super) fn second(&self, number: usize) -> Resource {
        self.subject.sample(number, Form::Second)
    }

    /// Returns a fence with enough time.
    pub(super) fn fence(&self) -> Fence {
        let now = self.subject.now();
        Fence { epoch: Steps::EPOCH, leave_by: now + Span::seconds(60), land_by: now + Span::seconds(120) }
    }

    pub(super) fn create(&self, resource: &Resource) -> Work {
        self.steps.create(resource)
    }

    pub(super) fn update(&self, resource: &Resource, seen: &Live) -> Work {
        self.steps.update(resource, seen)
    }

    pub(super) fn delete(&self, key: &Key, seen: &Live) -> Work {
        self.steps.delete(key, seen)
    }

    /// Settles an effect that can no longer land, by a narrow margin.
    pub(super) async fn settle(&self, work: &Work) -> Settlement {
        self.settle_after(work, Span::millis(1)).await
    }

    /// Settles an effect this long after its deadline.
    pub(super) async fn settle_after(&self, work: &Work, late: Span) -> Settlement {
        let intent = self.steps.intent(work, self.subject.now() - late);
        self.target().settle(&intent, work.step.resource.as_deref()).await
    }

    /// Carries out one step and returns its only outcome.
    pub(super) async fn execute(&self, work: &Work, fence: Fence) -> Result<Outcome, String> {
        let mut outcomes = self.target().execute(vec![work.clone()], fence).await;
        match (outcomes.pop(), outcomes.len()) {
            (Some(outcome), 0) => Ok(outcome),
            (_, more) => Err(format!("one step had {more} outcomes besides the last")),
        }
    }

    /// Carries out one step that must be done.
    pub(super) async fn succeed(&self, work: &Work) -> Result<Option<Live>, String> {
        match self.execute(work, self.fence()).await? {
            Outcome::Done { live } => Ok(live),
            other => Err(format!("to {} {} was not done: {other:?}", work.step.verb, work.step.key)),
        }
    }

    /// Creates a sample and returns it as observed.
    pub(super) async fn have(&self, resource: &Resource) -> Result<Live, String> {
        self.succeed(&self.create(resource)).await?;
        self.live(&resource.key).await
    }

    /// Carries out one step that must be refused for this reason and change nothing.
    pub(super) async fn refused(&self, work: &Work, fence: Fence, class: RefusalClass) -> Verdict {
        let key = &work.step.key;
        let before = self.presence(key).await?;
        match self.execute(work, fence).await? {
            Outcome::Refused { refusal } if refusal.class == class => {}
            other => return Err(format!("to {} {key} was not refused as {class:?}: {other:?}", work.step.verb)),
        }
        let after = self.presence(key).await?;
        ensure(before == after, || format!("a refused step changed {key} from {before:?} to {after:?}"))
    }

    pub(super) async fn observe(&self, keys: impl IntoIterator<Item = &Key>) -> Observation {
        let wanted = keys.into_iter().map(|key| (key.clone(), self.declared(key))).collect();
        self.target().observe(wanted, Asker::default(), self.subject.now()).await
    }

    /// Returns the declaration of the sample with this key.
    fn declared(&self, key: &Key) -> Option<Arc<Resource>> {
        (0..SAMPLES).map(|number| self.first(number)).find(|sample| sample.key == *key).map(Arc::new)
    }

    pub(super) async fn presence(&self, key: &Key) -> Result<Presence, String> {
        match self.observe([key]).await.states.remove(key) {
            Some(Observed::Known { value, .. }) => Ok(value),
            Some(Observed::Unknown { reason }) => Err(format!("{key} could not be observed: {reason}")),
            None => Err(format!("no state for {key}")),
        }
    }

    pub(super) async fn live(&self, key: &Key) -> Result<Live, String> {
        match self.presence(key).await? {
            Presence::Present(live) => Ok(live),
            Presence::Absent => Err(format!("{key} is absent")),
        }
    }

    pub(super) async fn absent(&self, key: &Key) -> Verdict {
        let presence = self.presence(key).await?;
        ensure(presence == Presence::Absent, || format!("{key} exists: {presence:?}"))
    }
}
