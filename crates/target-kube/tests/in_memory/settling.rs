//! Tests settling of intents without a response. An effect that may still land is never taken for
//! over.

use serde_json::json;
use setpoint_core::time::Span;
use setpoint_target::Settlement;
use setpoint_target_kube::wire::Method;

use super::scene::{Scene, path, sent};

const LATE: Option<Span> = Some(Span::seconds(20));

#[tokio::test]
async fn a_create_that_may_still_land_is_unknown_whatever_is_there() {
    let scene = Scene::new().await;
    let declared = scene.config_map("a", "1");
    let work = scene.steps.create(&declared);
    let settled = scene.settle(&work, LATE).await;
    assert!(matches!(settled, Settlement::Unknown { .. }), "nothing is there: {settled:?}");
    scene.change(|cluster| cluster.apply(&path(&declared), "stranger", &json!({"metadata": {"name": "a"}})));
    let settled = scene.settle(&work, LATE).await;
    assert!(matches!(settled, Settlement::Unknown { .. }), "another object is there: {settled:?}");
    assert_eq!(scene.settle(&work, None).await, Settlement::NotDone);
}

#[tokio::test]
async fn an_update_that_may_still_land_is_over_once_the_object_was_moved_on() {
    let scene = Scene::new().await;
    let declared = scene.config_map("a", "1");
    let live = scene.have(&declared).await;
    scene.cluster().sent.clear();
    let work = scene.steps.update(&scene.config_map("a", "2"), &live);
    assert_eq!(scene.settle(&work, LATE).await, Settlement::NotDone);
    let cluster = scene.cluster();
    let [mark] = cluster.changes()[..] else { panic!("it may still land: {:?}", cluster.sent) };
    let named = &sent(mark)["metadata"];
    assert_eq!((&named["uid"], &named["resourceVersion"]), (&json!(live.uid.as_str()), &json!(live.version.as_str())));
}

#[tokio::test]
async fn an_object_that_may_not_be_marked_is_waited_for() {
    let scene = Scene::new().await;
    let declared = scene.config_map("a", "1");
    let live = scene.have(&declared).await;
    scene.before(|request, _| {
        let status = json!({"kind": "Status", "code": 403, "reason": "Forbidden", "message": "no"});
        (request.method == Method::Patch).then(|| Ok((403, status.to_string().into_bytes())))
    });
    let work = scene.steps.update(&scene.config_map("a", "2"), &live);
    let settled = scene.settle(&work, LATE).await;
    assert!(matches!(settled, Settlement::Unknown { .. }), "it may still land: {settled:?}");
}

#[tokio::test]
async fn an_effect_that_lands_while_the_object_is_moved_on_is_found() {
    let scene = Scene::new().await;
    let declared = scene.config_map("a", "1");
    let live = scene.have(&declared).await;
    let changed = scene.config_map("a", "2");
    let work = scene.steps.update(&changed, &live);
    let intent = work.intent.to_string();
    let at = path(&declared);
    scene.once(Method::Patch, "-fence", move |cluster| {
        let metadata = json!({"name": "a", "labels": {"setpoint.dev/installation": "one"}, "annotations": {"setpoint.dev/intent": intent}});
        cluster.apply(&at, "setpoint-one", &json!({"metadata": metadata, "data": {"content": "2"}}));
        None
    });
    let settled = scene.settle(&work, LATE).await;
    assert!(matches!(settled, Settlement::Done { .. }), "it has landed: {settled:?}");
}

#[tokio::test]
async fn an_object_in_the_place_of_ours_with_a_copy_of_our_mark_was_not_written_by_us() {
    let scene = Scene::new().await;
    let declared = scene.config_map("a", "1");
    let live = scene.have(&declared).await;
    let work = scene.steps.update(&scene.config_map("a", "2"), &live);
    let marked = json!({"metadata": {"name": "a", "annotations": {"setpoint.dev/intent": work.intent.to_string()}}});
    scene.change(|cluster| {
        cluster.delete(&path(&declared));
        cluster.apply(&path(&declared), "velero", &marked);
    });
    assert_eq!(scene.settle(&work, LATE).await, Settlement::NotDone);
}

#[tokio::test]
async fn a_delete_of_a_version_that_is_no_more_was_not_done() {
    let scene = Scene::new().await;
    let declared = scene.config_map("a", "1");
    let live = scene.have(&declared).await;
    scene.change(|cluster| cluster.merge(&path(&declared), "stranger", &json!({"data": {"content": "3"}})));
    assert_eq!(scene.settle(&scene.steps.delete(&declared.key, &live), LATE).await, Settlement::NotDone);
}
