//! Tests objects without our label, because we have not applied them: their changes are reported
//! too, however many objects there are.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use setpoint_core::live::Presence;
use setpoint_core::observed::Observed;
use setpoint_core::resource::Resource;
use setpoint_target::{Asker, Target};
use setpoint_testbed::kube::proxy::Seen;
use setpoint_testbed::kube::{Fault, Rule};

use super::scene::{Scene, now, until};

/// Reports whether a request is a stream of all objects of a kind, whatever their labels.
fn is_of_all(seen: &Seen) -> bool {
    seen.is_watch() && !seen.query.contains("Selector=")
}

/// Observes six ConfigMaps that a stranger made, and one that does not exist.
async fn looked_at(scene: &Scene) -> Vec<Arc<Resource>> {
    let resources: Vec<_> = (0..7).map(|n| scene.config_map(&format!("a{n}"), &[("mode", "1")])).collect();
    for resource in &resources[..6] {
        scene.edit(resource, "stranger");
    }
    let wanted = resources.iter().map(|resource| (resource.key.clone(), Some(Arc::clone(resource)))).collect();
    let states = scene.target.observe(wanted, Asker::default(), now()).await.states;
    assert!(states.values().all(Observed::is_known), "{states:?}");
    resources
}

/// Checks that hints arrive after a stranger edits one, removes one and creates one.
async fn are_told_of(scene: &Scene, resources: &[Arc<Resource>]) {
    scene.edit(&scene.config_map("a1", &[("mode", "9")]), "stranger");
    scene.hint_about(&resources[1].key).await;
    assert_ne!(scene.live(&resources[1]).await.value, resources[1].body);
    scene.remove(&resources[2]);
    scene.hint_about(&resources[2].key).await;
    assert!(matches!(scene.observe(&resources[2]).await, Observed::Known { value: Presence::Absent, .. }));
    scene.make(&resources[6]);
    scene.hint_about(&resources[6].key).await;
    scene.live(&resources[6]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_much_is_followed_by_one_stream_of_its_kind() {
    let scene = Scene::with("crowd", |options| options.most_by_name = 3).await;
    let resources = looked_at(&scene).await;
    scene.caught_up().await;
    let watching = scene.target.watching();
    assert_eq!((watching.streams, watching.single, watching.together), (2, 0, 7), "{watching:?}");
    are_told_of(&scene, &resources).await;
    // No change is missed: neither while the stream is cut, nor those that the server has dropped
    // from its history.
    scene.proxy.add(Rule::new("GET", "watch=true", Fault::ResetInsteadOfEvent).times(2));
    scene.proxy.add(Rule::new("GET", "watch=true", Fault::Expire).times(2));
    scene.edit(&scene.config_map("a3", &[("mode", "9")]), "stranger");
    scene.hint_about(&resources[3].key).await;
    let single = scene.proxy.seen().into_iter().filter(|seen| seen.query.contains("fieldSelector=")).count();
    assert_eq!(single, 0);
    until("nothing is told of it any more", async || scene.target.degraded().is_none()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn where_a_kind_may_not_be_watched_everywhere_one_stream_of_its_namespace_follows_it() {
    let rights = json!([{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["*"]}]);
    let scene = Scene::with_rights("corner", &rights, |options| {
        options.trust_streams = true;
        options.most_by_name = 3;
    })
    .await;
    let resources = looked_at(&scene).await;
    let of_namespace =
        |seen: &Seen| is_of_all(seen) && seen.path.contains(&format!("/namespaces/{}/", scene.namespace));
    until("it is followed", async || scene.proxy.seen().iter().any(of_namespace)).await;
    scene.caught_up().await;
    let watching = scene.target.watching();
    assert_eq!((watching.streams, watching.single, watching.together), (2, 0, 7), "{watching:?}");
    are_told_of(&scene, &resources).await;
    assert_eq!(scene.target.degraded(), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_applied_needs_no_stream_of_others_any_more() {
    let scene = Scene::with("uncrowded", |options| options.most_by_name = 3).await;
    let resources = looked_at(&scene).await;
    scene.caught_up().await;
    for resource in &resources[..6] {
        let seen = scene.live(resource).await;
        scene.done(&scene.steps.update(resource, &seen)).await;
    }
    scene.have(&resources[6]).await;
    let watching = scene.target.watching();
    assert_eq!((watching.streams, watching.single, watching.together), (1, 0, 0), "{watching:?}");
    let (edited, other) = (scene.config_map("a1", &[("mode", "9")]), &resources[1]);
    scene.edit(&edited, "stranger");
    scene.hint_about(&other.key).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_about_to_be_made_opens_no_stream_of_others() {
    let scene = Scene::with("transient", |options| options.most_by_name = 3).await;
    let resources: Vec<_> = (0..7).map(|n| scene.config_map(&format!("a{n}"), &[("mode", "1")])).collect();
    for resource in &resources {
        scene.observe(resource).await;
    }
    assert_eq!(scene.target.watching().together, 7);
    for resource in &resources {
        scene.have(resource).await;
    }
    scene.caught_up().await;
    assert!(!scene.proxy.await_seen(is_of_all, 1, Duration::from_secs(12)), "{:?}", scene.proxy.seen());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_there_is_no_stream_left_for_is_listed_with_its_kind() {
    let scene = Scene::with("listed", |options| {
        options.most_by_name = 3;
        options.most_streams = 1;
        options.poll_round = setpoint_core::time::Span::seconds(1);
    })
    .await;
    let resources = looked_at(&scene).await;
    until("it is told", async || scene.target.degraded().is_some()).await;
    are_told_of(&scene, &resources).await;
    assert_eq!(scene.proxy.seen().into_iter().filter(is_of_all).count(), 0);
}
