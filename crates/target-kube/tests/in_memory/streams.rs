//! Tests trust in streams: a record counts while no event contradicts it.

use std::sync::Arc;

use serde_json::{Value as Json, json};
use setpoint_core::live::{Live, Presence};
use setpoint_core::observed::Observed;
use setpoint_core::resource::Resource;
use setpoint_core::value::Value;
use setpoint_target::ProcessCache;
use setpoint_target::{Asker, Target as _, Wanted};
use setpoint_target_kube::wire::Method;

use super::scene::{Scene, path};

/// Builds a target that knows this object to be in place by its record, without a request.
async fn at_rest() -> (Scene, Arc<Resource>) {
    let scene = Scene::streaming(|options| options.memory = Arc::new(ProcessCache::default())).await;
    let declared = scene.config_map("a", "1");
    scene.live_after_making(&declared).await;
    (scene, declared)
}

impl Scene {
    async fn live_after_making(&self, declared: &Arc<Resource>) -> Live {
        self.observe(declared).await;
        self.settled().await;
        self.have(declared).await;
        self.settled().await;
        self.live(declared).await;
        self.settled().await;
        self.cluster().sent.clear();
        let live = self.live(declared).await;
        assert_eq!(self.cluster().sent.len(), 0, "it is remembered: {:?}", self.target.watching());
        live
    }

    /// Returns the observed value of `data.content`.
    async fn content(&self, declared: &Arc<Resource>) -> Option<String> {
        let live = self.live(declared).await;
        live.value.get("data").and_then(|data| data.get("content")).and_then(Value::as_str).map(str::to_owned)
    }
}

fn edit() -> Json {
    json!({"data": {"content": "edited"}})
}

#[tokio::test]
async fn an_edit_that_a_stream_tells_during_our_own_write_is_seen() {
    let (scene, declared) = at_rest().await;
    let changed = scene.config_map("a", "2");
    let live = scene.live(&declared).await;
    let at = path(&declared);
    // Our write lands, then a stranger edits the object, and only then the response arrives.
    scene.answered_late(Method::Patch, "configmaps/a", move |cluster| drop(cluster.merge(&at, "stranger", &edit())));
    scene.execute(&scene.steps.update(&changed, &live)).await;
    scene.settled().await;
    assert_eq!(scene.content(&changed).await.as_deref(), Some("edited"));
}

#[tokio::test]
async fn an_edit_that_a_stream_tells_during_a_look_is_seen_by_the_next() {
    let (scene, declared) = at_rest().await;
    // Another change makes it suspect, so that it is read.
    scene.change(|cluster| cluster.merge(&path(&declared), "stranger", &json!({"metadata": {"labels": {"x": "y"}}})));
    scene.settled().await;
    let at = path(&declared);
    scene.answered_late(Method::Get, "configmaps/a", move |cluster| drop(cluster.merge(&at, "stranger", &edit())));
    scene.observe(&declared).await;
    scene.settled().await;
    assert_eq!(scene.content(&declared).await.as_deref(), Some("edited"));
}

#[tokio::test]
async fn an_edit_that_a_stream_tells_during_the_first_look_is_seen_by_the_next() {
    let (scene, _) = at_rest().await;
    let other = scene.config_map("b", "1");
    let body =
        json!({"metadata": {"name": "b", "labels": {"setpoint.dev/installation": "one"}}, "data": {"content": "1"}});
    scene.change(|cluster| cluster.apply(&path(&other), "setpoint-one", &body));
    scene.settled().await;
    let at = path(&other);
    scene.answered_late(Method::Patch, "dryRun=All", move |cluster| drop(cluster.merge(&at, "stranger", &edit())));
    scene.observe(&other).await;
    scene.settled().await;
    assert_eq!(scene.content(&other).await.as_deref(), Some("edited"));
}

#[tokio::test]
async fn what_was_suspect_is_suspect_for_the_next_process_too() {
    let (mut scene, declared) = at_rest().await;
    let other = scene.config_map("b", "1");
    let body =
        json!({"metadata": {"name": "b", "labels": {"setpoint.dev/installation": "one"}}, "data": {"content": "3"}});
    scene.change(|cluster| cluster.apply(&path(&other), "setpoint-one", &body));
    scene.settled().await;
    assert_eq!(scene.content(&other).await.as_deref(), Some("3"));
    scene.restart().await;
    scene.live(&declared).await;
    scene.settled().await;
    assert_eq!(scene.content(&other).await.as_deref(), Some("3"), "it was never as declared");
}

#[tokio::test]
async fn what_a_sweep_found_though_no_stream_told_is_not_forgotten() {
    let (scene, declared) = at_rest().await;
    scene.cluster().lose_events = true;
    scene.change(|cluster| cluster.merge(&path(&declared), "stranger", &edit()));
    scene.settled().await;
    assert_eq!(scene.content(&declared).await.as_deref(), Some("1"), "the event was lost");
    let wanted: Wanted = [(declared.key.clone(), Some(Arc::clone(&declared)))].into();
    let sweep = Asker { afresh: true, ..Asker::default() };
    scene.target.observe(wanted, sweep, scene.now()).await;
    assert_eq!(scene.content(&declared).await.as_deref(), Some("edited"));
}

#[tokio::test]
async fn what_went_while_no_stream_told_is_seen_to_be_gone() {
    let (scene, declared) = at_rest().await;
    scene.change(|cluster| {
        Scene::cut(cluster);
        cluster.delete(&path(&declared));
        cluster.server.compact();
    });
    scene.settled().await;
    let seen = scene.observe(&declared).await;
    assert!(matches!(seen, Observed::Known { value: Presence::Absent, .. }), "{seen:?}");
}

#[tokio::test]
async fn an_object_that_took_the_place_of_ours_while_no_stream_told_is_another() {
    let scene = Scene::streaming(|_| {}).await;
    let spec = json!({"spec": {"replicas": 1, "selector": {"matchLabels": {"a": "b"}}}});
    let declared = scene.resource("apps/v1", "Deployment", "default", "web", spec.clone());
    let before = scene.live_after_making(&declared).await;
    scene.change(|cluster| {
        // A copy of what we sent, under our name.
        let stored = cluster.stored(&path(&declared)).unwrap();
        let (labels, annotations) = (&stored["metadata"]["labels"], &stored["metadata"]["annotations"]);
        let metadata = json!({"name": "web", "labels": labels, "annotations": annotations});
        let mut copy = spec;
        copy["metadata"] = metadata;
        Scene::cut(cluster);
        cluster.delete(&path(&declared));
        cluster.apply(&path(&declared), "setpoint-one", &copy);
        cluster.server.compact();
    });
    scene.settled().await;
    assert_ne!(scene.live(&declared).await.uid, before.uid);
}

#[tokio::test]
async fn nothing_that_is_remembered_is_believed_while_another_cluster_answers() {
    let (scene, declared) = at_rest().await;
    let other = scene.config_map("b", "1");
    scene.change(Scene::lead_elsewhere);
    let wanted: Wanted = [&declared, &other].map(|one| (one.key.clone(), Some(Arc::clone(one)))).into();
    let states = scene.target.observe(wanted, Asker::default(), scene.now()).await.states;
    assert!(states.values().all(|state| !state.is_known()), "{states:?}");

    let (scene, declared) = at_rest().await;
    scene.change(|cluster| {
        Scene::lead_elsewhere(cluster);
        Scene::cut(cluster);
    });
    scene.settled().await;
    scene.change(|_| ());
    scene.settled().await;
    assert!(!scene.observe(&declared).await.is_known(), "a stream of another cluster was trusted");
}
