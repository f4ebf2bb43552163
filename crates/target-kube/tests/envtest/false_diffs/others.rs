//! Tests the changes that controllers, autoscalers and earlier tools make to our objects.

use serde_json::{Value as Json, json};

use crate::envtest::scene::{Scene, until};
use crate::envtest::sharing::sharing;
use crate::envtest::two_servers::another_cluster;

fn deployment(scene: &Scene, replicas: Option<u32>, image: &str) -> Json {
    let mut object = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": scene.namespace},
        "spec": {
            "selector": {"matchLabels": {"app": "web"}},
            "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "web", "image": image}]}},
        },
    });
    if let Some(replicas) = replicas {
        object["spec"]["replicas"] = json!(replicas);
    }
    object
}

/// Scales an object as an autoscaler does.
fn scale(scene: &Scene, path: &str, replicas: u32) {
    let content = serde_json::to_vec(&json!({"spec": {"replicas": replicas}})).unwrap();
    let path = format!("{path}/scale?fieldManager=autoscaler");
    scene.server.request("PATCH", &path, Some(("application/merge-patch+json", &content))).succeeded();
}

#[tokio::test(flavor = "multi_thread")]
async fn class_12_rules_that_the_cluster_puts_together_are_no_drift() {
    let mut scene = Scene::on(another_cluster(), "aggregated", |options| options.trust_streams = false).await;
    let label = format!("{}.example.com/aggregate", scene.namespace);
    let role = |name: &str, more: Json| {
        let mut role = json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": format!("{}-{name}", scene.namespace)},
        });
        for (field, value) in more.as_object().unwrap() {
            role[field] = value.clone();
        }
        role
    };
    let rules = json!([{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]}]);
    let mut part = role("part", json!({"rules": rules}));
    part["metadata"]["labels"] = json!({&label: "true"});
    let selectors = json!([{"matchLabels": {&label: "true"}}]);
    let whole = role("whole", json!({"aggregationRule": {"clusterRoleSelectors": selectors}, "rules": []}));
    let (part, whole) = (scene.resource(&part), scene.resource(&whole));
    scene.have(&part).await;
    scene.have(&whole).await;
    until("the rules are filled in", async || scene.stored(&whole)["rules"] == rules).await;
    scene.resyncs(&[&part, &whole]).await;
    let selectors = json!([{"matchLabels": {"nobody": "has-it"}}]);
    scene.notices(&whole, &json!({"aggregationRule": {"clusterRoleSelectors": selectors}})).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn class_13_what_the_clusters_own_controllers_write_is_no_drift() {
    let mut scene = Scene::on(another_cluster(), "rolled", |options| options.trust_streams = false).await;
    let declared = scene.resource(&deployment(&scene, Some(0), "web:1"));
    scene.have(&declared).await;
    let done = async || {
        let stored = scene.stored(&declared);
        let revision = &stored["metadata"]["annotations"]["deployment.kubernetes.io/revision"];
        revision == "1"
            && stored["status"]["observedGeneration"] == stored["metadata"]["generation"]
            && stored["status"]["conditions"].as_array().is_some_and(|conditions| conditions.len() == 2)
    };
    until("the controller has spoken", done).await;
    scene.resyncs(&[&declared]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn class_15_replicas_that_an_autoscaler_sets_are_no_drift() {
    let mut scene = Scene::new("scaled").await;
    let declared = scene.resyncs_once_made(&deployment(&scene, Some(3), "web:1")).await;
    let scaler = scene.resource(&json!({
        "apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "web", "namespace": scene.namespace},
        "spec": {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}, "maxReplicas": 9},
    }));
    scene.make(&scaler);
    scale(&scene, &Scene::path(&declared), 7);
    scene.resyncs(&[&declared]).await;
    assert_eq!(scene.stored(&declared)["spec"]["replicas"], 7);
}

#[tokio::test(flavor = "multi_thread")]
async fn class_15_replicas_that_nobody_declares_are_anybodys() {
    let mut scene = Scene::new("undeclared").await;
    let declared = scene.resyncs_once_made(&deployment(&scene, None, "web:1")).await;
    scale(&scene, &Scene::path(&declared), 7);
    scene.resyncs(&[&declared]).await;
    let moved = scene.resource(&deployment(&scene, None, "web:2"));
    scene.done(&scene.steps.update(&moved, &scene.live(&moved).await)).await;
    assert_eq!(scene.stored(&moved)["spec"]["replicas"], 7);
    scene.resyncs(&[&moved]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn class_16_what_earlier_tools_left_on_an_object_is_no_drift() {
    let mut scene = Scene::new("remnants").await;
    let object = deployment(&scene, Some(0), "web:1");
    let manifest = serde_json::to_vec(&object).unwrap();
    let kubeconfig = scene.server.kubeconfig();
    for arguments in [["apply", "-f", "-"].as_slice(), &["apply", "--server-side", "--force-conflicts", "-f", "-"]] {
        let output = scene.server.kubectl_as(&kubeconfig, arguments, &manifest);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    scene.server.kubectl(&["-n", &scene.namespace, "label", "deployment/web", "by-hand=yes"]);
    let declared = scene.resource(&object);
    // The object equals its declaration already: there is nothing to write.
    for _ in 0..10 {
        assert_eq!(scene.differences(&[&declared]).await, [""; 0]);
        scene.restart(|_| {});
        assert_eq!(scene.differences(&[&declared]).await, [""; 0]);
        assert_eq!(scene.written(), 0);
    }
    // Adopted, it is ours as well as theirs.
    let adopted = scene.done(&scene.steps.update(&declared, &scene.live(&declared).await)).await.unwrap();
    assert_eq!(adopted.value, declared.body);
    scene.resyncs(&[&declared]).await;
    let image = json!([{"name": "web", "image": "web:9"}]);
    scene.notices(&declared, &json!({"spec": {"template": {"spec": {"containers": image}}}})).await;
    assert_eq!(scene.stored(&declared)["metadata"]["labels"]["by-hand"], "yes");
}

#[tokio::test(flavor = "multi_thread")]
async fn class_17_what_is_left_to_others_is_not_overwritten_by_the_next_apply() {
    let mut scene = Scene::new("left").await;
    let image = [(r#"spec.template.spec.containers[name="web"].image"#, None)];
    let declare = |replicas: u32, image_declared: &str| {
        sharing(&scene.resource(&deployment(&scene, Some(replicas), image_declared)), &image)
    };
    let (declared, moved) = (declare(0, "web:1"), declare(1, "web:2"));
    scene.have(&declared).await;
    scene.resyncs(&[&declared]).await;
    let containers = json!([{"name": "web", "image": "web:5"}]);
    scene.patch(&declared, "updater", &json!({"spec": {"template": {"spec": {"containers": containers}}}}));
    scene.resyncs(&[&declared]).await;
    scene.done(&scene.steps.update(&moved, &scene.live(&moved).await)).await;
    let stored = scene.stored(&moved);
    assert_eq!(stored["spec"]["replicas"], 1);
    assert_eq!(stored["spec"]["template"]["spec"]["containers"][0]["image"], "web:5");
    scene.resyncs(&[&moved]).await;
}
