//! The graceful stop: effects under way are awaited and recorded, no new ones start, and the next
//! writer need not wait.

use std::future::pending;
use std::sync::Arc;

use setpoint_core::intent::Intent;
use setpoint_core::key::Key;
use setpoint_core::live::Observation;
use setpoint_core::name::TargetIdentity;
use setpoint_core::resource::Resource;
use setpoint_core::time::{Span, Timestamp};
use setpoint_core::value::Value;
use setpoint_ledger::{LeaseRequest, Ledger};
use setpoint_target::{
    Answer, Asker, Capabilities, Fence, Hint, MemoryTarget, Outcome, Refusal, Settlement, Target, Unidentifiable,
    Wanted, Work,
};
use tokio::sync::Semaphore;

use crate::scene::{Scene, app, origin, resources, until, until_converged};

/// A target that responds to an effect only when it is permitted to.
#[derive(Debug)]
struct Slow {
    inner: MemoryTarget,
    /// Calls of `execute` that have arrived.
    arrived: Semaphore,
    /// Calls of `execute` that may respond.
    answers: Semaphore,
}

impl Slow {
    fn new(inner: MemoryTarget) -> Arc<Self> {
        Arc::new(Self { inner, arrived: Semaphore::new(0), answers: Semaphore::new(0) })
    }
}

impl Target for Slow {
    fn identity(&self) -> Answer<'_, Result<TargetIdentity, Refusal>> {
        self.inner.identity()
    }

    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    fn key(&self, api_version: &str, kind: &str, body: &Value) -> Result<Key, Unidentifiable> {
        self.inner.key(api_version, kind, body)
    }

    fn observe(&self, wanted: Wanted, asker: Asker, now: Timestamp) -> Answer<'_, Observation> {
        self.inner.observe(wanted, asker, now)
    }

    fn preview<'a>(&'a self, resource: &'a Resource, asker: &'a Asker) -> Answer<'a, Result<(), Refusal>> {
        self.inner.preview(resource, asker)
    }

    fn execute(&self, work: Vec<Work>, fence: Fence) -> Answer<'_, Vec<Outcome>> {
        Box::pin(async move {
            self.arrived.add_permits(1);
            let outcomes = self.inner.execute(work, fence).await;
            self.answers.acquire().await.expect("never closed").forget();
            outcomes
        })
    }

    fn settle<'a>(&'a self, intent: &'a Intent, declared: Option<&'a Resource>) -> Answer<'a, Settlement> {
        self.inner.settle(intent, declared)
    }

    fn hints(&self) -> Answer<'_, Hint> {
        Box::pin(pending())
    }
}

#[tokio::test(start_paused = true)]
async fn what_has_left_is_recorded_and_nothing_new_leaves() {
    let (scene, shop) = (Scene::new(), app("shop"));
    scene.shelf.publish(&shop, resources(&shop, 20, 1));
    let target = Slow::new(scene.target.clone());
    let handle = scene.start_on(Arc::<Slow>::clone(&target), &[&shop]).await;
    // The first object is being created; nineteen come after it.
    target.arrived.acquire().await.expect("never closed").forget();
    let (stopped, ()) = tokio::join!(handle.stop(), async {
        tokio::task::yield_now().await;
        target.answers.add_permits(1);
    });
    stopped.expect("it stops");
    assert_eq!(scene.standing().len(), 1);
    assert_eq!(target.arrived.available_permits(), 0, "nothing left after the stop");
    assert_eq!(scene.facts().intents.len(), 0, "every intent has its end");
    assert!(scene.records().contains("the engine is stopping"), "{}", scene.records());
}

#[tokio::test(start_paused = true)]
async fn the_lease_is_given_back_and_the_ledger_signed_and_closed() {
    let (scene, shop) = (Scene::new(), app("shop"));
    scene.shelf.publish(&shop, resources(&shop, 3, 1));
    let mut handle = scene.start(&[&shop]).await;
    until_converged(&mut handle, &shop).await;
    handle.stop().await.expect("it stops");
    let head = scene.ledger.log().head(&origin());
    assert_eq!(head.checkpointed, head.size);
    let (now, length) = (scene.clock.now(), Span::seconds(1));
    let request = LeaseRequest { origin: origin(), holder: "another".to_owned(), now, length };
    assert!(scene.ledger.acquire(request.clone()).await.is_err(), "it is closed");
    let anchors = scene.ledger.log().anchors().clone();
    scene.ledger.log().reopen(&anchors);
    scene.ledger.acquire(request).await.expect("nobody holds it");
}

#[tokio::test(start_paused = true)]
async fn a_target_that_never_answers_is_waited_for_until_the_effect_can_no_longer_land() {
    let (scene, shop) = (Scene::new(), app("shop"));
    scene.shelf.publish(&shop, resources(&shop, 20, 1));
    let target = Slow::new(scene.target.clone());
    let handle = scene.start_on(Arc::<Slow>::clone(&target), &[&shop]).await;
    target.arrived.acquire().await.expect("never closed").forget();
    let asked = scene.clock.now();
    handle.stop().await.expect("it stops");
    let waited = scene.clock.now().since(asked);
    assert!(waited >= Span::seconds(30) && waited <= Span::seconds(40), "it waited {waited}");
    assert_eq!(scene.facts().intents.len(), 1, "its end is not known");

    let mut handle = scene.start(&[&shop]).await;
    until_converged(&mut handle, &shop).await;
    assert_eq!((scene.standing().len(), scene.facts().intents.len()), (20, 0));
}

#[tokio::test(start_paused = true)]
async fn records_are_signed_while_nothing_happens() {
    let (scene, shop) = (Scene::new(), app("shop"));
    scene.shelf.publish(&shop, resources(&shop, 3, 1));
    let mut handle = scene.start(&[&shop]).await;
    until_converged(&mut handle, &shop).await;
    let signed = || {
        let head = scene.ledger.log().head(&origin());
        head.checkpointed == head.size
    };
    assert!(!signed());
    let converged = scene.clock.now();
    until(&mut handle, &shop, |_| signed()).await;
    assert!(scene.clock.now().since(converged) <= Span::seconds(91), "the steps after a minute must find them signed");
}
