//! Tests objects that remain after their delete was accepted, because finalizers hold them.

use serde_json::json;
use setpoint_core::live::{Live, Presence};
use setpoint_core::observed::Observed;

use super::scene::Scene;

/// Returns the finalizers that an undeclared object waits for; `None` once it is gone.
async fn waits_for(scene: &Scene, key: &setpoint_core::key::Key) -> Option<Vec<String>> {
    match scene.observe_undeclared(key).await {
        Observed::Known { value: Presence::Present(Live { deleting, .. }), .. } => {
            let finalizers = deleting.expect("its delete was accepted");
            Some(finalizers.iter().map(ToString::to_string).collect())
        }
        Observed::Known { value: Presence::Absent, .. } => None,
        other => panic!("it can be seen: {other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_stream_tells_what_a_deleted_object_waits_for_and_when_it_is_gone() {
    let scene = Scene::with("finalized", |_| {}).await;
    let declared = scene.config_map("a", &[("mode", "1")]);
    scene.have(&declared).await;
    let held = json!({"metadata": {"finalizers": ["example.com/one", "example.com/two"]}});
    scene.patch(&declared, "holder", &held);
    let live = scene.live(&declared).await;
    assert_eq!(live.deleting, None);
    scene.caught_up().await;
    assert_eq!(scene.done(&scene.steps.delete(&declared.key, &live)).await, None);
    let both = ["example.com/one".to_owned(), "example.com/two".to_owned()];
    assert_eq!(waits_for(&scene, &declared.key).await, Some(both.to_vec()));
    // A finalizer less is news, and so is the end of the object. Both arrive without a request.
    scene.patch(&declared, "holder", &json!({"metadata": {"finalizers": ["example.com/two"]}}));
    scene.hint_about(&declared.key).await;
    assert_eq!(waits_for(&scene, &declared.key).await, Some(both[1..].to_vec()));
    scene.patch(&declared, "holder", &json!({"metadata": {"finalizers": null}}));
    scene.hint_about(&declared.key).await;
    assert_eq!(waits_for(&scene, &declared.key).await, None);
    let deletes = scene.proxy.seen().iter().filter(|seen| seen.method == "DELETE").count();
    assert_eq!(deletes, 1);
}
