//! Recovery after the data directory was lost: claims are restored, and nothing is deleted until a
//! person requests it.

use std::collections::BTreeMap;
use std::sync::Arc;

use setpoint::doors::Clock;
use setpoint::recover::{RecoverError, Recovery, Targets, recover, recovered_claims};
use setpoint_core::bundle::Bundle;
use setpoint_core::claim::ClaimOrigin;
use setpoint_core::name::{Actor, AppId};
use setpoint_core::observed::UnknownReason;
use setpoint_core::report::{RetentionReason, Why};
use setpoint_core::time::Span;
use setpoint_engine::{Command, Order, OrderId};
use setpoint_target::{Asker, Target};

use crate::scene::{Scene, app, bundle, identity, key, origin, resources, until, until_converged};

fn actor() -> Actor {
    Actor::new("erika").expect("a valid actor")
}

fn recovery(bundles: Vec<Bundle>) -> Recovery {
    let reason = "the disk is gone".to_owned();
    let holder = "test".to_owned();
    Recovery { origin: origin(), holder, actor: actor(), reason, bundles, anchor: None, lost: None }
}

fn targets(scene: &Scene) -> Targets {
    let target: Arc<dyn Target> = Arc::new(scene.target.clone());
    BTreeMap::from([(identity(), target)])
}

/// Returns a world in which an engine has created twenty objects and then lost its ledger.
async fn bereft(shop: &AppId) -> Scene {
    let scene = Scene::new();
    scene.shelf.publish(shop, resources(shop, 20, 1));
    let mut handle = scene.start(&[shop]).await;
    until_converged(&mut handle, shop).await;
    handle.stop().await.expect("it stops");
    Scene { target: scene.target, shelf: scene.shelf, clock: scene.clock, ..Scene::new() }
}

#[tokio::test(start_paused = true)]
async fn nothing_is_deleted_after_a_recovery_until_a_person_releases_the_app() {
    let shop = app("shop");
    let scene = bereft(&shop).await;
    let recovery = recovery(vec![bundle(&shop, resources(&shop, 20, 1))]);
    let recovered = recover(&recovery, &scene.ledger, &targets(&scene), scene.clock).await;
    assert_eq!(recovered.expect("all can be seen").claims, 20);
    assert!(scene.facts().claims.iter().all(|claim| claim.origin == ClaimOrigin::Recovered && claim.uid.is_some()));

    // The store has a new version: one of the twenty is no longer declared.
    scene.shelf.publish(&shop, resources(&shop, 19, 2));
    let mut handle = scene.start(&[&shop]).await;
    let kept = |status: &setpoint_engine::machine::AppStatus| {
        status.report.iter().any(|withheld| {
            withheld.key == key(&shop, 19) && withheld.why == Why::RetentionReason(RetentionReason::Recovered)
        })
    };
    until(&mut handle, &shop, kept).await;
    // A day of observations changes nothing about it.
    let day_after = scene.clock.now() + Span::hours(20);
    until(&mut handle, &shop, |_| scene.clock.now() >= day_after).await;
    assert_eq!(scene.standing().len(), 20);

    let order = Order::Release { accept: None };
    let (via, reason) = ("password".to_owned(), "I looked at all of it".to_owned());
    let command = Command { id: OrderId(1), app: shop.clone(), by: actor(), via, reason, order };
    assert_eq!(handle.order(command).await.expect("it runs"), Ok(()));
    until(&mut handle, &shop, |_| scene.standing().len() == 19).await;
    assert!(!scene.standing().contains_key(&key(&shop, 19).to_string()));
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_seen_stops_the_recovery_and_nothing_is_recorded() {
    let shop = app("shop");
    let scene = bereft(&shop).await;
    scene.target.hide(&key(&shop, 4), UnknownReason::Denied { detail: "forbidden".to_owned() });
    let recovery = recovery(vec![bundle(&shop, resources(&shop, 20, 1))]);
    let error = recover(&recovery, &scene.ledger, &targets(&scene), scene.clock).await.expect_err("one is hidden");
    assert!(
        matches!(&error, RecoverError::Unseen { key: unseen, others: 0, .. } if *unseen == key(&shop, 4)),
        "{error}"
    );
    assert_eq!(scene.ledger.log().head(&origin()).size, 0);
}

#[tokio::test(start_paused = true)]
async fn a_log_that_knows_something_is_not_recovered_over() {
    let shop = app("shop");
    let scene = bereft(&shop).await;
    let recovery = recovery(vec![bundle(&shop, resources(&shop, 20, 1))]);
    recover(&recovery, &scene.ledger, &targets(&scene), scene.clock).await.expect("the log is empty");
    let again = recover(&recovery, &scene.ledger, &targets(&scene), scene.clock).await;
    assert!(matches!(again, Err(RecoverError::NotEmpty { claims: 20, apps: 0, .. })), "{again:?}");
}

#[tokio::test(start_paused = true)]
async fn another_system_at_the_address_is_refused() {
    let shop = app("shop");
    let scene = bereft(&shop).await;
    scene.target.with_world(|world| world.become_another("machine-2".parse().expect("a valid identity")));
    let recovery = recovery(vec![bundle(&shop, resources(&shop, 20, 1))]);
    let refused = recover(&recovery, &scene.ledger, &targets(&scene), scene.clock).await;
    assert!(matches!(refused, Err(RecoverError::OtherTarget { .. })), "{refused:?}");
}

#[tokio::test(start_paused = true)]
async fn only_what_is_declared_and_there_is_claimed() {
    let shop = app("shop");
    let scene = bereft(&shop).await;
    scene.target.with_world(|world| world.remove(&key(&shop, 0)));
    let declared = bundle(&shop, resources(&shop, 2, 1));
    let wanted = declared.resources().keys().map(|key| (key.clone(), None)).collect();
    let seen = scene.target.observe(wanted, Asker::default(), Clock::start().now()).await;
    let observations = BTreeMap::from([(identity(), seen)]);
    let claims = recovered_claims(std::slice::from_ref(&declared), &observations).expect("both can be seen");
    let keys: Vec<_> = claims.iter().map(|claim| claim.key.clone()).collect();
    assert_eq!(keys, [key(&shop, 1)]);
    let twice = recovered_claims(&[declared, bundle(&app("zoo"), resources(&shop, 2, 1))], &observations);
    assert!(matches!(twice, Err(RecoverError::DeclaredTwice { .. })), "{twice:?}");
}
