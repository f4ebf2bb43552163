//! Tests two installations of Setpoint that declare the same object: each names the other.

use setpoint_core::live::{Live, Writer};
use setpoint_core::value::Value;
use setpoint_target::{Outcome, Target as _};
use setpoint_target_kube::{KubeOptions, KubeTarget};

use super::scene::{Scene, path};

/// Builds another installation for the same cluster.
fn another(scene: &Scene) -> KubeTarget {
    KubeTarget::new(KubeOptions { installation: "two".into(), ..scene.options.clone() })
}

fn content(live: &Live) -> Option<&str> {
    live.value.get("data").and_then(|data| data.get("content")).and_then(Value::as_str)
}

#[tokio::test]
async fn an_installation_that_takes_an_object_over_is_named_with_what_it_wrote_and_its_intent() {
    let scene = Scene::new().await;
    let (ours, theirs) = (scene.config_map("a", "1"), scene.config_map("a", "2"));
    scene.have(&ours).await;
    let other = another(&scene);
    let seen = scene.live(&ours).await;
    let work = scene.steps.update(&theirs, &seen);
    let outcome = other.execute(vec![work.clone()], scene.fence()).await.pop().unwrap();
    assert!(matches!(outcome, Outcome::Done { .. }), "it adopts what it declares: {outcome:?}");

    let drifted = scene.live(&ours).await;
    assert_eq!(content(&drifted), Some("2"), "what differs is shown: {:?}", drifted.value);
    let Writer::Likely { who } = &drifted.writer else { panic!("no one is named: {:?}", drifted.writer) };
    assert!(who.starts_with("the Setpoint installation `two` (apply"), "{who}");
    assert!(who.ends_with(&format!(", intent {}", work.intent)), "{who}");
}

#[tokio::test]
async fn an_object_of_which_the_owner_was_cleared_says_so() {
    let scene = Scene::new().await;
    let declared = scene.config_map("a", "1");
    scene.have(&declared).await;
    let cleared = serde_json::json!({"metadata": {"managedFields": [{}]}});
    scene.change(|cluster| cluster.merge(&path(&declared), "stranger", &cleared));
    let seen = scene.live(&declared).await;
    let shown = seen.value.get("metadata").and_then(|metadata| metadata.get("managedFields")).and_then(Value::as_str);
    assert_eq!(shown, Some("somebody cleared who owns which field"));
    assert_eq!(seen.writer, Writer::Unknown);
}
