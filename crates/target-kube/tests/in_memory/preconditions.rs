//! Tests the preconditions of each change, by which the server refuses it once they no longer hold;
//! its impersonated user, and its deadline.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::json;
use setpoint_core::resource::{Resource, SharedField};
use setpoint_core::time::Span;
use setpoint_target::{Asker, Fence, Outcome, RefusalClass, Target as _};
use setpoint_target_kube::wire::{Method, WireError};

use super::scene::{Scene, acting, path, sent};

#[tokio::test]
async fn a_create_names_a_version_that_no_object_has() {
    let scene = Scene::new().await;
    let declared = scene.config_map("a", "1");
    scene.have(&declared).await;
    let cluster = scene.cluster();
    let [create] = cluster.changes()[..] else { panic!("{:?}", cluster.sent) };
    assert_eq!(sent(create)["metadata"]["resourceVersion"], "1");
    assert!(create.path.contains("force=false") && create.path.contains("timeout=30s"), "{}", create.path);
}

#[tokio::test]
async fn a_create_that_changed_something_is_not_done() {
    let scene = Scene::new().await;
    let declared = scene.config_map("a", "1");
    scene.once(Method::Patch, "configmaps/a", |cluster| {
        let body = json!({"metadata": {"name": "a"}, "data": {"content": "1"}});
        let answer = cluster.apply("/api/v1/namespaces/default/configmaps/a", "stranger", &body);
        Some(Ok((200, answer.to_string().into_bytes())))
    });
    let outcome = scene.execute(&scene.steps.create(&declared)).await;
    assert!(matches!(outcome, Outcome::Unknown { .. }), "{outcome:?}");
}

#[tokio::test]
async fn an_update_and_a_delete_name_the_object_and_the_version_that_was_seen() {
    let scene = Scene::new().await;
    let live = scene.have(&scene.config_map("a", "1")).await;
    let declared = scene.config_map("a", "2");
    scene.cluster().sent.clear();
    scene.execute(&scene.steps.update(&declared, &live)).await;
    let after = scene.live(&declared).await;
    scene.execute(&scene.steps.delete(&declared.key, &after)).await;
    let cluster = scene.cluster();
    let [update, delete] = cluster.changes()[..] else { panic!("{:?}", cluster.sent) };
    let named = &sent(update)["metadata"];
    assert_eq!((&named["uid"], &named["resourceVersion"]), (&json!(live.uid.as_str()), &json!(live.version.as_str())));
    let named = &sent(delete)["preconditions"];
    assert_eq!(*named, json!({"uid": after.uid.as_str(), "resourceVersion": after.version.as_str()}));
}

fn shared(resource: &Resource) -> Arc<Resource> {
    let field = SharedField { path: "data.theirs".into(), writer: Some("stranger".into()) };
    Arc::new(Resource { shared: [field].into(), ..resource.clone() })
}

#[tokio::test]
async fn what_others_may_set_is_read_first_and_an_object_that_has_moved_on_is_left_alone() {
    let scene = Scene::new().await;
    let declared = shared(&scene.config_map("a", "1"));
    let live = scene.have(&declared).await;
    let later = json!({"data": {"content": "edited after it was decided"}});
    scene.change(|cluster| cluster.merge(&path(&declared), "stranger", &later));
    match scene.execute(&scene.steps.update(&declared, &live)).await {
        Outcome::Refused { refusal } => assert_eq!(refusal.class, RefusalClass::Conflict, "{refusal}"),
        other => panic!("it was written over: {other:?}"),
    }
}

#[tokio::test]
async fn a_fold_holds_only_for_the_version_it_was_worked_out_from() {
    let scene = Scene::new().await;
    let declared = scene.config_map("a", "1");
    let body = json!({"metadata": {"name": "a"}, "data": {"content": "1"}});
    scene.change(|cluster| cluster.apply(&path(&declared), "kubectl", &body));
    let seen = scene.live(&declared).await;
    let holders = seen.holders.clone().expect("kubectl made it");
    scene.execute(&scene.steps.update(&declared, &seen)).await;
    let live = scene.live(&declared).await;
    scene.cluster().sent.clear();
    scene.execute(&scene.steps.fold(&declared, &live, &holders)).await;
    let cluster = scene.cluster();
    let [fold] = cluster.changes()[..] else { panic!("{:?}", cluster.sent) };
    let held = json!({"op": "replace", "path": "/metadata/resourceVersion", "value": live.version.as_str()});
    assert_eq!(sent(fold)[0], held);
}

#[tokio::test]
async fn everything_that_may_change_something_is_asked_in_the_name_of_the_scope() {
    let scene = Scene::new().await;
    let declared = scene.config_map("a", "1");
    let kubectl = json!({"metadata": {"name": "b"}, "data": {"content": "1", "more": "1"}});
    let adopted = scene.config_map("b", "1");
    scene.change(|cluster| cluster.apply(&path(&adopted), "kubectl", &kubectl));
    scene.execute(&acting(scene.steps.create(&declared))).await;
    // A stranger adds a field that has to be removed again.
    scene.change(|cluster| cluster.merge(&path(&declared), "stranger", &json!({"data": {"added": "1"}})));
    let live = scene.live(&declared).await;
    scene.execute(&acting(scene.steps.update(&declared, &live))).await;
    // An effect that may be in flight is prevented from landing.
    let live = scene.live(&declared).await;
    let late = acting(scene.steps.update(&declared, &live));
    let intent = scene.steps.intent(&late, scene.now() + Span::seconds(20));
    scene.target.settle(&intent, Some(&declared)).await;
    let live = scene.live(&declared).await;
    let asker = Asker { acting_as: late.acting_as.clone(), ..Asker::default() };
    scene.target.preview(&scene.config_map("a", "2"), &asker).await.unwrap();
    scene.target.preview_replacement(&scene.config_map("a", "2"), &asker).await.unwrap();
    scene.execute(&acting(scene.steps.delete(&declared.key, &live))).await;
    let seen = scene.live(&adopted).await;
    let holders = seen.holders.clone().expect("kubectl made it");
    scene.cluster().sent.retain(|request| !request.path.contains("configmaps/b"));
    scene.execute(&acting(scene.steps.update(&adopted, &seen))).await;
    let live = scene.live(&adopted).await;
    scene.execute(&acting(scene.steps.fold(&adopted, &live, &holders))).await;

    let cluster = scene.cluster();
    let mut kinds = BTreeSet::new();
    for request in cluster.changes() {
        let by = request.impersonate.as_ref().map(|who| who.user.to_string());
        let how = request.content.as_ref().map_or("", |(how, _)| how);
        assert_eq!(by.as_deref(), Some("deployer"), "{:?} {} ({how})", request.method, request.path);
        kinds.insert(how);
    }
    assert_eq!(kinds.len(), 3, "applies, patches and a delete: {kinds:?}");
}

#[tokio::test]
async fn an_effect_that_is_late_is_not_sent() {
    let scene = Scene::new().await;
    let now = scene.now();
    let declared = scene.config_map("a", "1");
    // After its time to leave; and with no time in which it could land.
    for (leave_by, land_by) in [(now - Span::seconds(1), now + Span::seconds(30)), (now, now + Span::millis(900))] {
        let fence = Fence { epoch: 7, leave_by, land_by };
        let outcome = scene.target.execute(vec![scene.steps.create(&declared)], fence).await.pop().unwrap();
        match outcome {
            Outcome::Refused { refusal } => assert_eq!(refusal.class, RefusalClass::Fenced),
            other => panic!("{other:?}"),
        }
        assert_eq!(scene.cluster().changes().len(), 0);
    }
}

#[tokio::test]
async fn a_change_without_an_answer_that_can_be_read_may_have_happened() {
    for answer in [
        Err(WireError::Unanswered { detail: "it was cut".to_owned() }),
        Ok((200, b"{\"kind\":".to_vec())),
        Ok((500, b"{\"kind\":\"Status\",\"message\":\"etcdserver: request timed out\",\"code\":500}".to_vec())),
        Ok((504, Vec::new())),
    ] {
        let scene = Scene::new().await;
        let declared = scene.config_map("a", "1");
        let given = answer.clone();
        scene.once(Method::Patch, "configmaps/a", move |_| Some(given));
        let outcome = scene.execute(&scene.steps.create(&declared)).await;
        assert!(matches!(outcome, Outcome::Unknown { .. }), "{answer:?}: {outcome:?}");
    }
}
