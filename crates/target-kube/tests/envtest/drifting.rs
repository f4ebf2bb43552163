//! Tests changes of our objects by others: they are found, reported with their writer, and
//! corrected, as far as the fields are ours.

use std::sync::Arc;

use serde_json::json;
use setpoint_core::diff::diff;
use setpoint_core::live::{Presence, Writer};
use setpoint_core::observed::Observed;
use setpoint_core::resource::Resource;
use setpoint_core::value::Value;
use setpoint_kube::request::field_manager;
use setpoint_target::{Outcome, RefusalClass};
use setpoint_testbed::kube::{Fault, Rule};

use super::scene::{Scene, until};

#[tokio::test(flavor = "multi_thread")]
async fn an_edit_by_another_manager_is_found_with_its_writer_and_healed() {
    let scene = Scene::new("edited").await;
    let declared = scene.config_map("settings", &[("mode", "safe"), ("level", "1")]);
    scene.have(&declared).await;
    scene.edit(&scene.config_map("settings", &[("mode", "fast")]), "kubectl-edit");
    let drifted = scene.live(&declared).await;
    let mode = drifted.value.get("data").and_then(|data| data.get("mode")).and_then(Value::as_str);
    assert_eq!(mode, Some("fast"));
    let Writer::Likely { who } = &drifted.writer else { panic!("nobody is named: {:?}", drifted.writer) };
    assert!(who.contains("kubectl-edit"), "{who}");
    let healed = scene.done(&scene.steps.update(&declared, &drifted)).await.unwrap();
    assert_eq!((&healed.value, &healed.uid), (&declared.body, &drifted.uid));
    assert_eq!(scene.stored(&declared)["data"], json!({"mode": "safe", "level": "1"}));
    assert_eq!(scene.live(&declared).await.value, declared.body);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_stranger_adds_to_data_is_taken_out_again() {
    let scene = Scene::new("added").await;
    let declared = scene.config_map("settings", &[("mode", "safe")]);
    scene.have(&declared).await;
    scene.edit(&scene.config_map("settings", &[("extra", "1"), ("more", "2")]), "stranger");
    let seen = scene.live(&declared).await;
    let extra = seen.value.get("data").and_then(|data| data.get("extra")).and_then(Value::as_str);
    assert_eq!(extra, Some("1"), "{:?}", seen.value);
    let healed = scene.done(&scene.steps.update(&declared, &seen)).await.unwrap();
    assert_eq!(healed.value, declared.body);
    assert_eq!(scene.stored(&declared)["data"], json!({"mode": "safe"}));
}

#[tokio::test(flavor = "multi_thread")]
async fn losing_all_records_finds_the_same_drift_and_writes_nothing() {
    let mut scene = Scene::new("forgotten").await;
    let (drifting, still) = (scene.config_map("a", &[("mode", "safe")]), scene.config_map("b", &[("mode", "safe")]));
    scene.have(&drifting).await;
    scene.have(&still).await;
    scene.edit(&scene.config_map("a", &[("mode", "fast"), ("extra", "1")]), "stranger");
    let before = (scene.live(&drifting).await, scene.live(&still).await);
    scene.restart(|_| {});
    let versions = || [&drifting, &still].map(|resource| scene.stored(resource)["metadata"]["resourceVersion"].clone());
    let stored = versions();
    assert_eq!((scene.live(&drifting).await, scene.live(&still).await), before);
    assert_eq!(versions(), stored);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_left_the_declaration_while_all_records_were_lost_goes() {
    let mut scene = Scene::new("outlived").await;
    let service = |scene: &Scene, more: &serde_json::Value, labels: &serde_json::Value| {
        let mut spec = json!({"selector": {"app": "web"}, "ports": [{"port": 80}]});
        spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        scene.resource(&json!({
            "apiVersion": "v1", "kind": "Service",
            "metadata": {"name": "web", "namespace": scene.namespace, "labels": labels}, "spec": spec,
        }))
    };
    let first = service(&scene, &json!({"type": "NodePort"}), &json!({"team": "one", "old": "1", "both": "1"}));
    scene.have(&first).await;
    let beside = json!({
        "apiVersion": "v1", "kind": "Service",
        "metadata": {"name": "web", "namespace": scene.namespace, "labels": {"both": "1"}},
    });
    scene.edit(&scene.resource(&beside), "stranger");
    scene.restart(|_| {});
    let declared = service(&scene, &json!({}), &json!({"team": "one"}));
    // The second observation finds it again, although it remembers the first.
    for _ in 0..2 {
        let seen = scene.live(&declared).await;
        let found: Vec<String> =
            diff(&declared.body, &seen.value).iter().map(|difference| difference.path.to_string()).collect();
        assert_eq!(found, ["metadata.labels.old", "spec.type"]);
    }
    let healed = scene.done(&scene.steps.update(&declared, &scene.live(&declared).await)).await.unwrap();
    assert_eq!(healed.value, declared.body);
    let stored = scene.stored(&declared);
    assert_eq!((&stored["metadata"]["labels"]["old"], &stored["spec"]["type"]), (&json!(null), &json!("ClusterIP")));
    assert_eq!(stored["metadata"]["labels"]["both"], "1", "somebody else holds it");
    scene.resyncs(&[&declared]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stranger_who_uses_the_name_of_our_manager_is_not_us() {
    let scene = Scene::new("posing").await;
    let (declared, ours) = (scene.config_map("settings", &[("mode", "safe")]), field_manager(&scene.namespace));
    scene.have(&declared).await;
    let by_apply = || scene.edit(&scene.config_map("settings", &[("mode", "fast")]), &ours);
    let by_update = || drop(scene.patch(&declared, &ours, &json!({"data": {"mode": "fast"}})));
    for pose in [&by_apply as &dyn Fn(), &by_update] {
        pose();
        let seen = scene.live(&declared).await;
        assert_ne!(seen.value, declared.body);
        let who = seen.writer.name();
        assert!(who.starts_with(&ours) && who.ends_with("by our name but not by us)"), "{who}");
        let healed = scene.done(&scene.steps.update(&declared, &seen)).await.unwrap();
        assert_eq!(healed.value, declared.body);
        assert_eq!(scene.stored(&declared)["data"], json!({"mode": "safe"}));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn cleared_ownership_is_found_and_taken_back_with_the_same_values() {
    let scene = Scene::new("cleared").await;
    let declared = scene.config_map("settings", &[("mode", "safe")]);
    scene.have(&declared).await;
    let path = format!("/api/v1/namespaces/{}/configmaps/settings", scene.namespace);
    let cleared = serde_json::to_vec(&json!({"metadata": {"managedFields": [{}]}})).unwrap();
    scene.server.request("PATCH", &path, Some(("application/merge-patch+json", &cleared))).succeeded();
    let seen = scene.live(&declared).await;
    assert_ne!(seen.value, declared.body);
    let healed = scene.done(&scene.steps.update(&declared, &seen)).await.unwrap();
    assert_eq!(healed.value, declared.body);
    assert_eq!(scene.live(&declared).await.value, declared.body);
    let stored = scene.stored(&declared);
    assert_eq!(stored["metadata"]["managedFields"][0]["manager"], json!(field_manager(&scene.namespace)));
    // A field that leaves the declaration leaves the object too, because the ownership was taken
    // back.
    let less = scene.config_map("settings", &[]);
    scene.done(&scene.steps.update(&less, &scene.live(&less).await)).await;
    assert_eq!(scene.stored(&declared)["data"], serde_json::Value::Null);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_that_took_the_place_of_ours_is_another() {
    let scene = Scene::new("replaced").await;
    let declared = scene.config_map("settings", &[("mode", "safe")]);
    let ours = scene.have(&declared).await;
    scene.remove(&declared);
    assert!(matches!(scene.observe(&declared).await, Observed::Known { value: Presence::Absent, .. }));
    scene.make(&declared);
    let theirs = scene.live(&declared).await;
    assert_ne!(theirs.uid, ours.uid);
    assert_eq!(theirs.value, declared.body);
    let outcome = scene.execute(&scene.steps.delete(&declared.key, &ours)).await;
    assert!(matches!(&outcome, Outcome::Refused { refusal } if refusal.class == RefusalClass::Conflict), "{outcome:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_that_drifted_shows_no_value() {
    let scene = Scene::new("secret").await;
    let secret = |password: &str| {
        scene.resource(&json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "db", "namespace": scene.namespace},
            "stringData": {"password": password},
        }))
    };
    let declared = secret("correct horse");
    let made = scene.have(&declared).await;
    assert_eq!(made.value, declared.body);
    assert_eq!(scene.live(&declared).await.value, declared.body);
    scene.edit(&secret("battery staple"), "stranger");
    let seen = scene.live(&declared).await;
    assert_ne!(seen.value, declared.body);
    let shown = format!("{seen:?}");
    assert!(!shown.contains("battery") && !shown.contains("YmF0dGVyeSBzdGFwbGU"), "{shown}");
    let healed = scene.done(&scene.steps.update(&declared, &seen)).await.unwrap();
    assert_eq!(healed.value, declared.body);
}

/// Builds a definition of widgets whose parts have the given fields.
fn definition(group: &str, fields: &serde_json::Value) -> serde_json::Value {
    let part = json!({"type": "object", "properties": fields});
    let parts = json!({"type": "array", "items": part});
    let spec = json!({"type": "object", "properties": {"parts": parts}});
    let schema = json!({"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": format!("widgets.{group}")},
        "spec": {
            "group": group, "scope": "Namespaced", "names": {"plural": "widgets", "singular": "widget", "kind": "Widget"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": schema}],
        },
    })
}

impl Scene {
    fn set_definition_of_widgets(&self, fields: &serde_json::Value) {
        let group = self.group();
        let path = format!("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.{group}");
        self.server.apply(&path, "stranger", &definition(&group, fields));
    }

    /// Defines widgets. Until the schema is published, a change of it cannot be detected.
    async fn define_widgets(&self) {
        self.set_definition_of_widgets(&json!({"name": {"type": "string"}}));
        let group = self.group();
        self.server.kubectl(&["wait", "--for=condition=Established", "--timeout=30s", &format!("crd/widgets.{group}")]);
        let schemas = || self.server.request("GET", "/openapi/v3", None).json()["paths"].to_string();
        until("a schema is published", async || schemas().contains(&group)).await;
    }

    fn widget(&self, name: &str) -> Arc<Resource> {
        self.resource(&json!({
            "apiVersion": format!("{}/v1", self.group()), "kind": "Widget",
            "metadata": {"name": name, "namespace": self.namespace}, "spec": {"parts": [{"name": "wheel"}]},
        }))
    }

    /// Gives the parts of widgets a default size, which this widget shows.
    async fn default_sizes(&self, widget: &Resource) {
        let fields = json!({"name": {"type": "string"}, "size": {"type": "integer", "default": 3}});
        self.set_definition_of_widgets(&fields);
        let size = || self.stored(widget)["spec"]["parts"][0]["size"].clone();
        until("the default is shown", async || size() == json!(3)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_default_that_moved_is_no_drift() {
    let scene = Scene::new("defaults").await;
    scene.define_widgets().await;
    let declared = scene.widget("a");
    scene.have(&declared).await;
    assert_eq!(scene.live(&declared).await.value, declared.body);
    scene.default_sizes(&declared).await;
    until("it is no drift", async || scene.live(&declared).await.value == declared.body).await;
    let version = &scene.stored(&declared)["metadata"]["resourceVersion"];
    assert_eq!(scene.live(&declared).await.version.as_str(), version.as_str().unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_default_that_moved_is_no_drift_of_what_was_made_while_schemas_could_not_be_asked_for() {
    let scene = Scene::new("unasked").await;
    scene.define_widgets().await;
    let (before, meanwhile) = (scene.widget("a"), scene.widget("b"));
    scene.have(&before).await;
    let asking = scene.proxy.add(Rule::new("GET", "/openapi/v3", Fault::Status { code: 500, retry_after: None }));
    // Drift is compared with the current schema.
    scene.patch(&before, "stranger", &json!({"spec": {"parts": []}}));
    let is_asked_for = async || {
        assert_ne!(scene.live(&before).await.value, before.body);
        scene.proxy.struck(asking) > 0
    };
    until("the schema is asked for", is_asked_for).await;
    scene.have(&meanwhile).await;
    scene.proxy.mend();
    scene.default_sizes(&meanwhile).await;
    until("it is no drift", async || scene.live(&meanwhile).await.value == meanwhile.body).await;
}
