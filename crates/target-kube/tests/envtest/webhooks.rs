//! Tests webhooks and controllers that change our fields: we compare with the object as the server
//! stored it, and no fight begins.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value as Json, json};
use setpoint_core::live::{Health, Writer};
use setpoint_core::resource::Resource;
use setpoint_kube::health::{Expressions, Rules as HealthRules};
use setpoint_target::{Asker, Outcome, RefusalClass, Settlement, Target};
use setpoint_target_kube::Call;
use setpoint_testbed::kube::{Verdict, Webhook};

use super::definitions::{fields, version};
use super::scene::{Scene, until};

/// Registers a webhook for writes of one resource in the scene's namespace, and waits until the
/// server calls it.
async fn register(scene: &Scene, webhook: &Webhook, kind: &str, resource: &str, operations: &[&str]) -> Arc<Resource> {
    let configuration = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": {"name": format!("{}-{resource}", scene.namespace)},
        "webhooks": [{
            "name": "hook.example.com", "clientConfig": webhook.client_config(), "sideEffects": "None",
            "admissionReviewVersions": ["v1"], "timeoutSeconds": 10, "reinvocationPolicy": "Never",
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": scene.namespace}},
            "rules": [{"apiGroups": ["*"], "apiVersions": ["*"], "operations": operations, "resources": [resource]}],
        }],
    });
    let mut configuration = configuration;
    if kind.starts_with("Validating") {
        configuration["webhooks"][0].as_object_mut().unwrap().remove("reinvocationPolicy");
    }
    let configuration = scene.resource(&configuration);
    scene.make(&configuration);
    configuration
}

/// Builds a webhook that rewrites ConfigMaps, in use. The server calls it for every write of one
/// that has a `mode`.
async fn rewriting(
    scene: &Scene,
    judge: impl Fn(&Json) -> Verdict + Send + Sync + 'static,
) -> (Webhook, Arc<Resource>) {
    let webhook = Webhook::admission(judge);
    let registered =
        register(scene, &webhook, "MutatingWebhookConfiguration", "configmaps", &["CREATE", "UPDATE"]).await;
    let probe = scene.config_map("probe", &[]);
    let path = format!("{}?dryRun=All", Scene::path(&probe).rsplit_once('/').unwrap().0);
    let body = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "probe"}}).to_string();
    let asked = async || {
        scene.server.request("POST", &path, Some(("application/json", body.as_bytes()))).succeeded();
        webhook.asked() > 0
    };
    until("the webhook is asked", asked).await;
    (webhook, registered)
}

fn replace(path: &str, value: &str) -> Json {
    json!({"op": "replace", "path": path, "value": value})
}

#[tokio::test(flavor = "multi_thread")]
async fn class_07_a_webhook_that_rewrites_our_fields_is_not_fought() {
    let mut scene = Scene::new("rewritten").await;
    let upper = |request: &Json| match request["object"]["data"]["mode"].as_str() {
        Some(mode) => Verdict::Patch(vec![replace("/data/mode", &mode.to_uppercase())]),
        None => Verdict::Allow,
    };
    let (webhook, registered) = rewriting(&scene, upper).await;
    let declared = scene.config_map("settings", &[("mode", "safe"), ("level", "1")]);
    let made = scene.have(&declared).await;
    assert_eq!(made.value, declared.body);
    assert_eq!(scene.stored(&declared)["data"]["mode"], "SAFE");
    scene.resyncs(&[&declared]).await;
    // A stranger's write is rewritten too: the stored object counts.
    scene.notices(&declared, &json!({"data": {"mode": "fast"}})).await;
    assert_eq!(scene.stored(&declared)["data"]["mode"], "SAFE");
    let moved = scene.config_map("settings", &[("mode", "slow"), ("level", "1")]);
    let seen = scene.live(&moved).await;
    assert_ne!(seen.value, moved.body);
    assert_eq!(scene.done(&scene.steps.update(&moved, &seen)).await.unwrap().value, moved.body);
    scene.resyncs(&[&moved]).await;
    assert!(webhook.asked() > 3);
    scene.remove(&registered);
}

#[tokio::test(flavor = "multi_thread")]
async fn class_07_a_webhook_that_never_writes_the_same_twice_costs_one_apply_after_each_loss() {
    let mut scene = Scene::new("restless").await;
    let counter = std::sync::atomic::AtomicUsize::new(0);
    let count = move |request: &Json| match request["object"]["data"]["mode"].as_str() {
        Some(_) => {
            let number = counter.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            Verdict::Patch(vec![replace("/data/mode", &number.to_string())])
        }
        None => Verdict::Allow,
    };
    let (_webhook, registered) = rewriting(&scene, count).await;
    let declared = scene.config_map("settings", &[("mode", "safe")]);
    scene.have(&declared).await;
    for _ in 0..10 {
        assert_eq!(scene.differences(&[&declared]).await, [""; 0]);
    }
    // A process without records asks for the result of an apply, and that is another number.
    scene.restart(|_| {});
    let seen = scene.live(&declared).await;
    assert_ne!(seen.value, declared.body);
    scene.done(&scene.steps.update(&declared, &seen)).await;
    for _ in 0..10 {
        assert_eq!(scene.differences(&[&declared]).await, [""; 0]);
    }
    scene.remove(&registered);
}

#[tokio::test(flavor = "multi_thread")]
async fn class_07_a_sidecar_that_a_webhook_puts_in_is_no_drift_and_a_strangers_is() {
    let mut scene = Scene::new("sidecar").await;
    // Like real injectors, it does not repeat what it has already done.
    let inject = |request: &Json| {
        let pod = "/spec/template/spec/containers";
        let containers = request["object"]["spec"]["template"]["spec"]["containers"].as_array().cloned();
        let containers = containers.unwrap_or_default();
        let mut operations = Vec::new();
        for (at, container) in containers.iter().enumerate() {
            let image = container["image"].as_str().unwrap_or_default();
            if container["name"] != "proxy" && !image.starts_with("mirror.") {
                operations.push(replace(&format!("{pod}/{at}/image"), &format!("mirror.example.com/{image}")));
            }
        }
        if !containers.iter().any(|container| container["name"] == "proxy") {
            let sidecar = json!({"name": "proxy", "image": "proxy:1"});
            operations.push(json!({"op": "add", "path": format!("{pod}/0"), "value": sidecar}));
        }
        Verdict::Patch(operations)
    };
    let webhook = Webhook::admission(inject);
    let registered =
        register(&scene, &webhook, "MutatingWebhookConfiguration", "deployments", &["CREATE", "UPDATE"]).await;
    let deployment = |name: &str| {
        json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "namespace": scene.namespace},
            "spec": {
                "replicas": 0, "selector": {"matchLabels": {"app": "web"}},
                "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "web", "image": "web:1"}]}},
            },
        })
    };
    let probe = scene.resource(&deployment("probe"));
    let asked = async || scene.target.preview(&probe, &Asker::default()).await.is_ok() && webhook.asked() > 0;
    until("the webhook is asked", asked).await;
    let declared = scene.resyncs_once_made(&deployment("web")).await;
    let containers = &scene.stored(&declared)["spec"]["template"]["spec"]["containers"];
    let shown = |at: usize| (containers[at]["name"].clone(), containers[at]["image"].clone());
    assert_eq!(shown(0), (json!("proxy"), json!("proxy:1")));
    assert_eq!(shown(1), (json!("web"), json!("mirror.example.com/web:1")));
    let miner = json!({"name": "miner", "image": "miner:1"});
    let mut with_miner = containers.as_array().unwrap().clone();
    with_miner.push(miner);
    scene.notices(&declared, &json!({"spec": {"template": {"spec": {"containers": with_miner}}}})).await;
    let names = scene.stored(&declared)["spec"]["template"]["spec"]["containers"].to_string();
    assert!(!names.contains("miner") && names.contains("proxy"), "{names}");
    scene.resyncs(&[&declared]).await;
    scene.remove(&registered);
}

#[tokio::test(flavor = "multi_thread")]
async fn class_07_a_bundle_that_somebody_injects_is_theirs() {
    let mut scene = Scene::new("bundle").await;
    let name = |name: &str| format!("{name}.example.com");
    let hook = |hook: &str| {
        json!({
            "name": name(hook), "clientConfig": {"url": "https://127.0.0.1:1/"}, "sideEffects": "None", "admissionReviewVersions": ["v1"],
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "nowhere-at-all"}},
        })
    };
    let configuration = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": format!("{}-injected", scene.namespace)}, "webhooks": [hook("b"), hook("a")],
    });
    let declared = scene.resyncs_once_made(&configuration).await;
    let authority = data_encoding::BASE64.encode(scene.server.authority().as_bytes());
    let mut hooks = scene.stored(&declared)["webhooks"].clone();
    for at in 0..2 {
        hooks[at]["clientConfig"]["caBundle"] = json!(authority);
    }
    scene.patch(&declared, "injector", &json!({"webhooks": hooks}));
    scene.resyncs(&[&declared]).await;
    hooks[0]["clientConfig"]["url"] = json!("https://127.0.0.1:2/");
    scene.notices(&declared, &json!({"webhooks": hooks})).await;
    assert_eq!(scene.stored(&declared)["webhooks"][0]["clientConfig"]["caBundle"], json!(authority));
    scene.remove(&declared);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_webhook_that_is_down_refuses_for_now_and_one_that_denies_says_why() {
    let scene = Scene::new("denying").await;
    let deny = |request: &Json| match request["object"]["data"]["mode"].as_str() {
        Some("fast") => Verdict::Deny("speed is not allowed: declare mode safe".to_owned()),
        _ => Verdict::Allow,
    };
    let (webhook, registered) = rewriting(&scene, deny).await;
    let (fast, safe) = (scene.config_map("fast", &[("mode", "fast")]), scene.config_map("safe", &[("mode", "safe")]));
    let steps = vec![scene.steps.create(&fast), scene.steps.create(&safe)];
    let outcomes = scene.target.execute(steps, Scene::fence()).await;
    let Outcome::Refused { refusal } = &outcomes[0] else { panic!("it is denied: {outcomes:?}") };
    assert_eq!(refusal.class, RefusalClass::Denied);
    assert!(refusal.detail.contains("declare mode safe"), "{refusal}");
    assert!(matches!(outcomes[1], Outcome::Done { .. }), "{outcomes:?}");
    drop(webhook);
    let outcome = scene.execute(&scene.steps.create(&scene.config_map("later", &[("mode", "safe")]))).await;
    let Outcome::Refused { refusal } = &outcome else { panic!("nothing was stored: {outcome:?}") };
    assert_eq!(refusal.class, RefusalClass::Unready, "{refusal}");
    // The object is still observed, and still the same.
    assert_eq!(scene.live(&safe).await.value, safe.body);
    scene.remove(&registered);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_controller_that_rewrites_after_admission_is_drift_each_time_and_named() {
    let scene = Scene::with("rewriter", |_| {}).await;
    let declared = scene.config_map("settings", &[("mode", "safe")]);
    scene.have(&declared).await;
    scene.observe(&declared).await;
    scene.caught_up().await;
    for round in 0..3 {
        scene.patch(&declared, "rewriter", &json!({"data": {"mode": format!("{round}")}}));
        scene.hint_about(&declared.key).await;
        let seen = scene.live(&declared).await;
        assert_ne!(seen.value, declared.body);
        assert!(matches!(&seen.writer, Writer::Likely { who } if who.contains("rewriter")), "{:?}", seen.writer);
        let healed = scene.done(&scene.steps.update(&declared, &seen)).await.unwrap();
        assert_eq!(healed.value, declared.body);
        assert_eq!(scene.stored(&declared)["data"]["mode"], "safe");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operator_that_copies_our_marks_makes_nothing_ours() {
    let scene = Scene::with("copied", |_| {}).await;
    let declared = scene.config_map("parent", &[("mode", "safe")]);
    scene.have(&declared).await;
    scene.observe(&declared).await;
    scene.caught_up().await;
    let metadata = &scene.stored(&declared)["metadata"];
    let (labels, annotations) = (metadata["labels"].clone(), metadata["annotations"].clone());
    assert!(labels["setpoint.dev/installation"].is_string() && annotations["setpoint.dev/intent"].is_string());
    let child = scene.config_map("child", &[("mode", "theirs")]);
    let copy = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "data": {"mode": "theirs"},
        "metadata": {"name": "child", "labels": labels, "annotations": annotations},
    });
    scene.server.create(Scene::path(&child).rsplit_once('/').unwrap().0, &copy);
    let before = scene.stored(&child);
    // The stream of its kind reports it, and nothing else follows.
    scene.patch(&declared, "stranger", &json!({"data": {"mode": "fast"}}));
    let hinted = scene.hint_about(&declared.key).await;
    assert!(!hinted.contains(&child.key), "{hinted:?}");
    assert_eq!(scene.target.remembered(), 1);
    // Also, settling a create does not take the copied mark for its own.
    let create = scene.steps.create(&child);
    let outcome = scene.execute(&create).await;
    assert!(matches!(&outcome, Outcome::Refused { refusal } if refusal.class == RefusalClass::Conflict), "{outcome:?}");
    assert_eq!(scene.settle(&create).await, Settlement::NotDone);
    assert_eq!(scene.stored(&child), before);
}

/// Converts between two versions of plans: `size` in v1alpha1 is `extent` in v1.
fn conversion() -> Webhook {
    one_way_conversion(Arc::default())
}

/// Builds the same; while the flag is set, the conversion to the older version fails.
fn one_way_conversion(is_one_way: Arc<AtomicBool>) -> Webhook {
    Webhook::conversion(move |mut object, wanted| {
        if !wanted.ends_with("/v1") && is_one_way.load(Ordering::SeqCst) {
            return object;
        }
        let (from, to) = if wanted.ends_with("/v1") { ("size", "extent") } else { ("extent", "size") };
        if let Some(value) = object["spec"].as_object_mut().and_then(|spec| spec.remove(from)) {
            object["spec"][to] = value;
        }
        object["apiVersion"] = json!(wanted);
        object
    })
}

fn old_plan() -> Json {
    version("v1alpha1", false, &fields(&json!({"size": {"type": "integer"}})))
}

/// Builds a definition with both versions: the newer one is stored, and also has a field with a
/// default.
fn two_versions(scene: &Scene, webhook: &Webhook) -> Json {
    let new = fields(&json!({"extent": {"type": "integer"}, "mode": {"type": "string", "default": "auto"}}));
    let mut definition = scene.definition("Plan", "Namespaced", &json!([old_plan(), version("v1", true, &new)]));
    let client = webhook.client_config();
    definition["spec"]["conversion"] =
        json!({"strategy": "Webhook", "webhook": {"clientConfig": client, "conversionReviewVersions": ["v1"]}});
    definition
}

fn plan(scene: &Scene, version: &str, field: &str, value: u32) -> Json {
    json!({
        "apiVersion": format!("{}/{version}", scene.group()), "kind": "Plan",
        "metadata": {"name": "a", "namespace": scene.namespace}, "spec": {field: value},
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn f11_a_kind_of_two_versions_with_a_conversion_and_a_new_default_is_no_drift() {
    let mut scene = Scene::new("converted").await;
    let webhook = conversion();
    let mut first = old_plan();
    first["storage"] = json!(true);
    scene.define_as(&scene.definition("Plan", "Namespaced", &json!([first]))).await;
    let declared = scene.resyncs_once_made(&plan(&scene, "v1alpha1", "size", 3)).await;
    // The definition gets a second version, which is stored from now on, and a default.
    let definition = two_versions(&scene, &webhook);
    scene.define_as(&definition).await;
    scene.resyncs(&[&declared]).await;
    // A declaration in the new version is equivalent, and its fields are still in managedFields
    // under the old one.
    let newer = scene.resource(&plan(&scene, "v1", "extent", 3));
    assert_eq!(newer.key, declared.key);
    scene.resyncs(&[&newer]).await;
    // The server fills in defaults of the stored version, which is still the old one.
    assert_eq!(scene.stored(&newer)["spec"], json!({"extent": 3}));
    scene.notices(&newer, &json!({"spec": {"extent": 9}})).await;
    assert_eq!(scene.stored(&newer)["spec"], json!({"extent": 3, "mode": "auto"}));
    let moved = scene.resource(&plan(&scene, "v1", "extent", 4));
    let updated = scene.done(&scene.steps.update(&moved, &scene.live(&moved).await)).await.unwrap();
    assert_eq!(updated.value, moved.body);
    assert_eq!(scene.stored(&moved)["spec"], json!({"extent": 4, "mode": "auto"}));
    scene.resyncs(&[&moved]).await;
    assert!(webhook.asked() > 0);
    scene.remove(&scene.resource(&definition));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_whose_answer_cannot_be_converted_is_settled_by_looking() {
    let scene = Scene::new("one-way").await;
    let is_one_way = Arc::new(AtomicBool::new(false));
    let webhook = one_way_conversion(Arc::clone(&is_one_way));
    let definition = two_versions(&scene, &webhook);
    scene.define_as(&definition).await;
    let declared = scene.resource(&plan(&scene, "v1alpha1", "size", 3));
    let create = scene.steps.create(&declared);
    is_one_way.store(true, Ordering::SeqCst);
    let outcome = scene.execute(&create).await;
    let Outcome::Unknown { detail } = &outcome else { panic!("it may have happened: {outcome:?}") };
    assert!(detail.contains("fix the webhook that converts this kind"), "{detail}");
    is_one_way.store(false, Ordering::SeqCst);
    // It was stored before it was converted.
    assert!(matches!(scene.settle(&create).await, Settlement::Done { .. }));
    assert_eq!(scene.live(&declared).await.value, declared.body);
    scene.remove(&scene.resource(&definition));
}

/// Builds a definition, and an object of it that is declared in another version than the stream of
/// its kind uses.
async fn followed_in_another_version(scene: &Scene, webhook: &Webhook) -> (Json, Arc<Resource>) {
    let definition = two_versions(scene, webhook);
    scene.define_as(&definition).await;
    let declared = scene.resource(&plan(scene, "v1alpha1", "size", 3));
    scene.have(&declared).await;
    scene.observe(&declared).await;
    scene.caught_up().await;
    (definition, declared)
}

/// Sets the phase to `done`, as its controller would.
fn is_done(scene: &Scene, declared: &Resource) {
    let path = format!("{}/status?fieldManager=controller", Scene::path(declared));
    let status = serde_json::to_vec(&json!({"status": {"phase": "done"}})).unwrap();
    scene.server.request("PATCH", &path, Some(("application/merge-patch+json", &status))).succeeded();
}

#[tokio::test(flavor = "multi_thread")]
async fn class_11_a_stream_in_another_version_costs_no_look() {
    let scene = Scene::with("streamed", |_| {}).await;
    let webhook = conversion();
    let (definition, declared) = followed_in_another_version(&scene, &webhook).await;
    let before = scene.live(&declared).await;
    let gets = || scene.target.requests().get(&Call::Get).copied();
    let asked = gets();
    // The stream uses the preferred version of the kind, in which our fields have other names.
    is_done(&scene, &declared);
    until("the version moves on", async || scene.live(&declared).await.version != before.version).await;
    assert_eq!(scene.live(&declared).await.value, declared.body);
    assert_eq!(gets(), asked);
    // A change outside the status costs a read.
    scene.patch(&declared, "stranger", &json!({"spec": {"size": 9}}));
    scene.hint_about(&declared.key).await;
    assert_ne!(scene.live(&declared).await.value, declared.body);
    scene.remove(&scene.resource(&definition));
}

#[tokio::test(flavor = "multi_thread")]
async fn class_11_health_is_judged_in_the_declared_version_whatever_a_stream_speaks() {
    let scene = Scene::with("judged", |options| {
        let expressions = Expressions { healthy: "self.spec.size == 3", progressing: None, degraded: None };
        let mut rules = HealthRules::default();
        rules.set(&format!("{}.example.com/Plan", options.installation), expressions).unwrap();
        options.health = Arc::new(rules);
    })
    .await;
    let webhook = conversion();
    let (definition, declared) = followed_in_another_version(&scene, &webhook).await;
    let before = scene.live(&declared).await;
    assert_eq!(before.health, Health::Healthy);
    // In the version of the stream there is no `size`.
    is_done(&scene, &declared);
    scene.hint_about(&declared.key).await;
    let after = scene.live(&declared).await;
    assert_ne!(after.version, before.version);
    assert_eq!((after.health, &after.value), (Health::Healthy, &declared.body));
    scene.remove(&scene.resource(&definition));
}
