//! Tests that an error, or a response with less than it seems, is never read as absence.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value as Json, json};
use setpoint_core::live::Presence;
use setpoint_core::observed::Observed;
use setpoint_core::resource::Resource;
use setpoint_core::time::Span;
use setpoint_target::{Asker, Target as _, Wanted};
use setpoint_target_kube::wire::Method;

use super::scene::{Answer, Scene, path};

/// Enough objects of a kind to be sought by a list.
const MANY: usize = 9;

fn answered(code: u16, body: &Json) -> Answer {
    Some(Ok((code, body.to_string().into_bytes())))
}

fn forbidden() -> Answer {
    let status = json!({"kind": "Status", "code": 403, "reason": "Forbidden", "message": "you may not list"});
    answered(403, &status)
}

/// Observes many objects that a stranger has made, with this response to lists. Returns how many
/// are absent.
async fn absent_by(list: impl Fn() -> Answer + Send + 'static) -> usize {
    let scene = Scene::new().await;
    let all: Vec<_> = (0..MANY).map(|n| scene.config_map(&format!("a{n}"), "1")).collect();
    for one in &all {
        let body = json!({"metadata": {"name": one.key.name()}, "data": {"content": "1"}});
        scene.change(|cluster| cluster.apply(&path(one), "stranger", &body));
    }
    scene.before(move |request, _| request.path.contains("configmaps?limit").then(&list).flatten());
    let wanted: Wanted = all.iter().map(|one| (one.key.clone(), Some(one.clone()))).collect();
    let states = scene.target.observe(wanted, Asker::default(), scene.now()).await.states;
    let lists = scene.cluster().sent.iter().filter(|request| request.path.contains("configmaps?limit")).count();
    assert!(lists > 0, "this is about lists");
    states.values().filter(|state| matches!(state, Observed::Known { value: Presence::Absent, .. })).count()
}

#[tokio::test]
async fn a_list_that_does_not_say_everything_says_nothing_about_absence() {
    let list = |metadata: Json, items: Json| json!({"kind": "ConfigMapList", "metadata": metadata, "items": items});
    assert_eq!(absent_by(forbidden).await, 0, "it may not be read");
    let more = list(json!({"resourceVersion": "9", "continue": "more"}), json!([]));
    assert_eq!(absent_by(move || answered(200, &more)).await, 0, "it goes on");
    let nameless = list(json!({"resourceVersion": "9"}), json!([{"metadata": {}}]));
    assert_eq!(absent_by(move || answered(200, &nameless)).await, 0, "an object in it may be any");
    assert_eq!(absent_by(|| Some(Ok((200, b"{\"items\":[".to_vec())))).await, 0, "it breaks off");
    let empty = list(json!({"resourceVersion": "9"}), json!([]));
    assert_eq!(absent_by(move || answered(200, &empty)).await, MANY, "this one does say it");
}

fn is_definitions(path: &str) -> bool {
    path.contains("/customresourcedefinitions")
}

async fn is_known(scene: &Scene, declared: &Arc<Resource>, claimed: bool) -> bool {
    // The served kinds are read again after a while.
    scene.pass(Span::minutes(1));
    match claimed {
        true => scene.look(&declared.key, None).await.is_known(),
        false => scene.observe(declared).await.is_known(),
    }
}

#[tokio::test]
async fn an_object_whose_kind_went_is_absent_only_where_definitions_say_so() {
    let scene = Scene::new().await;
    let declared = scene.widget("w");
    scene.have(&declared).await;
    scene.change(|cluster| cluster.server.undefine());
    let mut may_list = false;
    let allowed = Arc::new(AtomicBool::new(false));
    let hook = Arc::clone(&allowed);
    scene.before(move |request, _| {
        let is_refused = is_definitions(&request.path) && !hook.load(Ordering::Relaxed);
        is_refused.then(forbidden).flatten()
    });
    for _ in 0..2 {
        assert_eq!(is_known(&scene, &declared, true).await, may_list);
        assert_eq!(is_known(&scene, &declared, false).await, may_list);
        may_list = true;
        allowed.store(true, Ordering::Relaxed);
    }
}

#[tokio::test]
async fn an_object_of_a_kind_that_no_definition_was_seen_of_is_not_absent() {
    let scene = Scene::new().await;
    let declared = scene.widget("w");
    // Another server may serve the kind: no definition of it is found.
    scene.before(|request, _| {
        let none = json!({"kind": "List", "metadata": {"resourceVersion": "9"}, "items": []});
        is_definitions(&request.path).then(|| answered(200, &none)).flatten()
    });
    scene.have(&declared).await;
    scene.change(|cluster| cluster.server.undefine());
    assert!(!is_known(&scene, &declared, true).await);
    assert!(!is_known(&scene, &declared, false).await);
}

#[tokio::test]
async fn what_is_claimed_of_a_kind_that_was_never_served_is_not_absent() {
    let scene = Scene::new().await;
    let declared = scene.widget("w");
    scene.change(|cluster| cluster.server.undefine());
    assert!(!is_known(&scene, &declared, true).await, "it is claimed, so it was there once");
    assert!(is_known(&scene, &declared, false).await, "what is only declared can be made once it is defined");
}

#[tokio::test]
async fn an_object_of_a_group_whose_own_server_is_down_is_not_absent() {
    let scene = Scene::new().await;
    let declared = scene.resource("metrics.example/v1", "Meter", "default", "m", json!({}));
    scene.before(|request, _| {
        let version = json!({"version": "v1", "freshness": "Stale", "resources": []});
        let group = json!({"metadata": {"name": "metrics.example"}, "versions": [version]});
        let all = json!({"kind": "APIGroupDiscoveryList", "items": [group]});
        (request.method == Method::Get && request.path == "/apis").then(|| answered(200, &all)).flatten()
    });
    assert!(!scene.observe(&declared).await.is_known());
}
