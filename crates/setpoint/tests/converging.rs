//! The interpreter manages apps: it creates, heals and deletes objects as the machine decides.

use std::sync::Arc;

use setpoint_core::name::AppId;

use crate::scene::{Scene, app, body, key, resources, until, until_converged};

/// Reports whether exactly these objects of the app exist, all with this content.
fn stands(scene: &Scene, app: &AppId, count: u32, content: i64) -> bool {
    let wanted = (0..count).map(|n| (key(app, n).to_string(), body(app, n, content)));
    scene.standing() == wanted.collect()
}

#[tokio::test(start_paused = true)]
async fn an_app_of_twenty_resources_converges() {
    let (scene, shop) = (Scene::new(), app("shop"));
    scene.shelf.publish(&shop, resources(&shop, 20, 1));
    let mut handle = scene.start(&[&shop]).await;
    let status = until_converged(&mut handle, &shop).await;
    assert_eq!(status.report, []);
    assert!(stands(&scene, &shop, 20, 1), "{:?}", scene.standing());
    assert_eq!(scene.facts().claims.len(), 20);
    assert_eq!(scene.facts().intents.len(), 0);
    handle.stop().await.expect("it stops");
}

#[tokio::test(start_paused = true)]
async fn a_new_version_is_followed() {
    let (scene, shop) = (Scene::new(), app("shop"));
    scene.shelf.publish(&shop, resources(&shop, 20, 1));
    let mut handle = scene.start(&[&shop]).await;
    until_converged(&mut handle, &shop).await;
    scene.shelf.publish(&shop, resources(&shop, 20, 2));
    until(&mut handle, &shop, |status| {
        status.converged && status.facts.accepted.as_ref().is_some_and(|accepted| accepted.sequence == 2)
    })
    .await;
    assert!(stands(&scene, &shop, 20, 2), "{:?}", scene.standing());
}

#[tokio::test(start_paused = true)]
async fn a_foreign_edit_is_healed_because_the_target_hints_at_it() {
    let (scene, shop) = (Scene::new(), app("shop"));
    scene.shelf.publish(&shop, resources(&shop, 20, 1));
    let mut handle = scene.start(&[&shop]).await;
    until_converged(&mut handle, &shop).await;
    let before = scene.clock.now();
    let edited = scene.target.with_world(|world| world.edit(&key(&shop, 7), &Arc::new(body(&shop, 7, 666)), "mallory"));
    assert!(edited && !stands(&scene, &shop, 20, 1));
    until(&mut handle, &shop, |status| status.converged && stands(&scene, &shop, 20, 1)).await;
    let took = scene.clock.now().since(before);
    assert!(took.as_millis() < 1_000, "a hint, not a sweep, must have shown it: it took {took}");
}

#[tokio::test(start_paused = true)]
async fn what_is_no_longer_declared_is_deleted_after_the_quarantine() {
    let (scene, shop) = (Scene::new(), app("shop"));
    scene.shelf.publish(&shop, resources(&shop, 20, 1));
    let mut handle = scene.start(&[&shop]).await;
    until_converged(&mut handle, &shop).await;
    scene.shelf.publish(&shop, resources(&shop, 19, 1));
    let started = scene.facts().installed_at.expect("it was installed");
    until(&mut handle, &shop, |_| scene.standing().len() == 19).await;
    assert!(stands(&scene, &shop, 19, 1), "{:?}", scene.standing());
    let waited = scene.clock.now().since(started);
    assert!(waited.as_millis() >= 15 * 60_000, "it was deleted after {waited} only");
}
