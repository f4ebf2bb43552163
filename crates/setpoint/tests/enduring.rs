//! The interpreter when its environment fails: a hanging store, a disk that fails once, a late
//! effect, a crash.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use setpoint::doors::Clock;
use setpoint_core::intent::Intent;
use setpoint_core::key::Key;
use setpoint_core::live::Observation;
use setpoint_core::name::TargetIdentity;
use setpoint_core::observed::UnknownReason;
use setpoint_core::resource::Resource;
use setpoint_core::time::{Span, Timestamp};
use setpoint_core::value::Value;
use setpoint_target::memory::Fault;
use setpoint_target::{
    Answer, Asker, Capabilities, Fence, Hint, MemoryTarget, Outcome, Refusal, Settlement, Target, Unidentifiable,
    Wanted, Work,
};

use crate::scene::{Scene, app, body, controls, key, resources, until, until_converged};

#[tokio::test(start_paused = true)]
async fn a_store_that_hangs_keeps_no_other_app_waiting_for_good() {
    let (mut scene, hung, shop) = (Scene::new(), app("hung"), app("shop"));
    // With a single slot for all stores, the hanging one delays every app: its call must end.
    (scene.limits.fetches, scene.limits.renders) = (1, 1);
    scene.shelf.publish(&hung, resources(&hung, 3, 1));
    scene.shelf.publish(&shop, resources(&shop, 20, 1));
    scene.shelf.hang(&hung);
    let started = scene.clock.now();
    let mut handle = scene.start(&[&hung, &shop]).await;
    until_converged(&mut handle, &shop).await;
    assert_eq!(scene.standing().len(), 20);
    let took = scene.clock.now().since(started);
    assert!(took <= Span::minutes(3), "it took {took}");
    handle.stop().await.expect("a hung store does not hinder the stop");
}

#[tokio::test(start_paused = true)]
async fn a_disk_that_fails_once_is_opened_again_and_the_work_goes_on() {
    let (scene, shop) = (Scene::new(), app("shop"));
    scene.shelf.publish(&shop, resources(&shop, 20, 1));
    let mut handle = scene.start(&[&shop]).await;
    until_converged(&mut handle, &shop).await;
    let epoch = scene.ledger.log().head(&crate::scene::origin()).epoch;
    scene.ledger.log().break_disk();
    scene.target.with_world(|world| world.edit(&key(&shop, 3), &Arc::new(body(&shop, 3, 666)), "mallory"));
    until(&mut handle, &shop, |status| {
        status.converged && scene.standing()[&key(&shop, 3).to_string()] == body(&shop, 3, 1)
    })
    .await;
    assert_eq!(scene.openings.load(Ordering::Relaxed), 2);
    assert!(scene.ledger.log().head(&crate::scene::origin()).epoch > epoch);
    assert_eq!(scene.facts().intents.len(), 0);
}

#[tokio::test(start_paused = true)]
async fn after_a_crash_open_intents_are_settled_and_nothing_is_made_twice() {
    let (scene, shop) = (Scene::new(), app("shop"));
    scene.shelf.publish(&shop, resources(&shop, 20, 1));
    // The first object is created, but the response is lost.
    scene.target.fail_next_execute(Fault::TimeoutAfter);
    let mut handle = scene.start(&[&shop]).await;
    until(&mut handle, &shop, |_| scene.standing().len() == 1).await;
    drop(handle);
    assert_eq!(scene.facts().intents.len(), 1);

    let restarted = scene.clock.now();
    let mut handle = scene.start(&[&shop]).await;
    until_converged(&mut handle, &shop).await;
    assert_eq!(scene.facts().intents.len(), 0);
    assert_eq!(scene.standing().len(), 20);
    assert!(scene.records().contains("found done"), "{}", scene.records());
    let waited = scene.clock.now().since(restarted);
    assert!(waited >= Span::seconds(40), "what was under way could still have landed after {waited}");
}

/// Returns how long a healthy app takes to converge next to apps that cannot be observed for this
/// reason.
async fn beside_blind_apps(reason: &UnknownReason) -> Span {
    let (scene, shop) = (Scene::new(), app("shop"));
    let blind: Vec<_> = (0..40).map(|n| app(&format!("blind-{n}"))).collect();
    for app in &blind {
        scene.shelf.publish(app, resources(app, 1, 1));
        scene.target.hide(&key(app, 0), reason.clone());
    }
    scene.shelf.publish(&shop, resources(&shop, 2, 1));
    let mut handle = scene.start(&blind.iter().collect::<Vec<_>>()).await;
    for app in &blind {
        until(&mut handle, app, |status| !status.report.is_empty()).await;
    }
    let began = scene.clock.now();
    handle.control(controls(&blind.iter().chain([&shop]).collect::<Vec<_>>())).await.expect("it runs");
    until_converged(&mut handle, &shop).await;
    scene.clock.now().since(began)
}

#[tokio::test(start_paused = true)]
async fn apps_that_lack_rights_do_not_keep_the_others_of_their_target_waiting() {
    let took = beside_blind_apps(&UnknownReason::Denied { detail: "forbidden".to_owned() }).await;
    assert!(took <= Span::seconds(5), "it took {took}");
}

#[tokio::test(start_paused = true)]
async fn a_target_that_knows_nobody_is_left_alone_for_a_while() {
    let took = beside_blind_apps(&UnknownReason::Unauthenticated { detail: "who are you".to_owned() }).await;
    assert!(took >= Span::seconds(20), "it took {took}");
}

/// A target whose observations of one app never end, and that records when effects are sent.
#[derive(Debug)]
struct Blocked {
    inner: MemoryTarget,
    clock: Clock,
    /// An observation of this key hangs.
    hung: Key,
    left: Mutex<Vec<(Timestamp, Fence)>>,
}

impl Target for Blocked {
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
        if wanted.contains_key(&self.hung) {
            Box::pin(std::future::pending())
        } else {
            self.inner.observe(wanted, asker, now)
        }
    }

    fn preview<'a>(&'a self, resource: &'a Resource, asker: &'a Asker) -> Answer<'a, Result<(), Refusal>> {
        self.inner.preview(resource, asker)
    }

    fn execute(&self, work: Vec<Work>, fence: Fence) -> Answer<'_, Vec<Outcome>> {
        self.left.lock().expect("no test panics in here").push((self.clock.now(), fence));
        self.inner.execute(work, fence)
    }

    fn settle<'a>(&'a self, intent: &'a Intent, declared: Option<&'a Resource>) -> Answer<'a, Settlement> {
        self.inner.settle(intent, declared)
    }

    fn hints(&self) -> Answer<'_, Hint> {
        self.inner.hints()
    }
}

#[tokio::test(start_paused = true)]
async fn an_effect_that_is_late_does_not_leave_and_its_intent_is_closed() {
    let (mut scene, shop, zoo) = (Scene::new(), app("shop"), app("zoo"));
    // A single slot at the target, which a hanging observation occupies before the effect can get
    // it.
    scene.limits.calls_per_target = 1;
    scene.shelf.publish(&shop, resources(&shop, 1, 1));
    scene.shelf.publish(&zoo, resources(&zoo, 1, 1));
    let (inner, clock, hung) = (scene.target.clone(), scene.clock, key(&zoo, 0));
    let target = Arc::new(Blocked { inner, clock, hung, left: Mutex::default() });
    let started = scene.clock.now();
    let mut handle = scene.start_on(Arc::<Blocked>::clone(&target), &[&shop, &zoo]).await;
    until(&mut handle, &shop, |_| scene.records().contains("could not be sent in time")).await;
    let waited = scene.clock.now().since(started);
    assert!(waited >= Span::seconds(5) && waited <= Span::seconds(6), "it waited {waited} for its turn");
    assert_eq!(target.left.lock().expect("no test panics in here").len(), 0);
    assert_eq!(scene.facts().intents.len(), 0);

    // Slots at the target are granted fairly, so the effect eventually gets one in time.
    until(&mut handle, &shop, |_| scene.standing().len() == 1).await;
    let left = target.left.lock().expect("no test panics in here").clone();
    assert!(left.iter().all(|(at, fence)| *at <= fence.leave_by), "{left:?}");
}
