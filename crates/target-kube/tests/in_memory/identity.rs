//! Tests the identity of the cluster: nothing is believed of another cluster, and nothing is
//! written to it.

use setpoint_core::name::TargetIdentity;
use setpoint_core::observed::UnknownReason;
use setpoint_core::time::Span;
use setpoint_target::conformance::Steps;
use setpoint_target::{Outcome, RefusalClass, Settlement, Target as _};
use setpoint_target_kube::wire::Method;

use super::scene::{Scene, path};

fn is_of_another(reason: &UnknownReason) -> bool {
    matches!(reason, UnknownReason::OtherIdentity { .. })
}

#[tokio::test]
async fn a_connection_that_is_made_while_the_cluster_is_asked_is_asked_too() {
    let scene = Scene::new().await;
    let declared = scene.config_map("a", "1");
    scene.have(&declared).await;
    scene.pass(Span::minutes(1));
    scene.once(Method::Get, "kube-system", |cluster| {
        let answer = cluster.stored("/api/v1/namespaces/kube-system").unwrap();
        Scene::lead_elsewhere(cluster);
        Some(Ok((200, answer.to_string().into_bytes())))
    });
    assert!(is_of_another(&scene.blindness(&declared).await), "the other cluster was believed");
}

#[tokio::test]
async fn a_new_connection_and_an_old_one_after_a_while_are_asked_again() {
    for connections in [0, 1] {
        let scene = Scene::new().await;
        let declared = scene.config_map("a", "1");
        scene.have(&declared).await;
        scene.change(|cluster| {
            let before = cluster.connections;
            Scene::lead_elsewhere(cluster);
            cluster.connections = before + connections;
        });
        if connections == 0 {
            scene.pass(Span::minutes(1));
        }
        assert!(is_of_another(&scene.blindness(&declared).await), "{connections} new connections");
    }
}

#[tokio::test]
async fn what_was_read_of_another_cluster_in_the_middle_of_a_look_counts_for_nothing() {
    let scene = Scene::new().await;
    let declared = scene.config_map("a", "1");
    let live = scene.have(&declared).await;
    scene.once(Method::Get, "configmaps/a", |cluster| {
        Scene::lead_elsewhere(cluster);
        None
    });
    assert!(is_of_another(&scene.blindness(&declared).await));

    let scene = Scene::new().await;
    scene.have(&declared).await;
    scene.once(Method::Get, "configmaps/a", |cluster| {
        Scene::lead_elsewhere(cluster);
        None
    });
    let settled = scene.settle(&scene.steps.delete(&declared.key, &live), None).await;
    assert!(matches!(settled, Settlement::Unknown { .. }), "the absence there was believed: {settled:?}");
}

#[tokio::test]
async fn work_and_intents_of_another_target_are_refused() {
    let scene = Scene::new().await;
    let declared = scene.config_map("a", "1");
    let elsewhere = Steps::new(TargetIdentity::new("kube-elsewhere").unwrap());
    match scene.execute(&elsewhere.create(&declared)).await {
        Outcome::Refused { refusal } => assert_eq!(refusal.class, RefusalClass::Conflict),
        other => panic!("{other:?}"),
    }
    assert_eq!(scene.cluster().changes().len(), 0);
    let live = scene.have(&declared).await;
    let work = elsewhere.update(&declared, &live);
    scene.change(|cluster| cluster.delete(&path(&declared)));
    let intent = elsewhere.intent(&work, scene.now());
    let settled = scene.target.settle(&intent, Some(&declared)).await;
    assert!(matches!(settled, Settlement::Unknown { .. }), "{settled:?}");
}
