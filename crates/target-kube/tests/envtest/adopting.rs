//! Tests the adoption of other tools' objects: once we apply them, those tools lose the fields that
//! are ours, and no others.

use std::sync::Arc;

use serde_json::{Value as Json, json};
use setpoint_core::live::{Holders, Live};
use setpoint_core::resource::Resource;
use setpoint_target::{Outcome, RefusalClass, Settlement};
use setpoint_testbed::kube::{Fault, Rule};

use super::scene::Scene;
use super::sharing::sharing;

/// The annotation by which client-side `kubectl apply` goes.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

impl Scene {
    /// Applies an object with `kubectl`, in its default way.
    fn kubectl_apply(&self, name: &str, fields: &[&str]) {
        let data: Json = fields.iter().map(|field| ((*field).to_owned(), json!(field))).collect();
        self.kubectl_apply_object(&json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": name, "namespace": self.namespace, "labels": {"theirs": "yes"}}, "data": data,
        }));
    }

    fn kubectl_apply_object(&self, object: &Json) {
        let run =
            self.server.kubectl_as(&self.server.kubeconfig(), &["apply", "-f", "-"], object.to_string().as_bytes());
        assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    }

    fn of_fields(&self, name: &str, fields: &[&str]) -> Arc<Resource> {
        let data: Vec<(&str, &str)> = fields.iter().map(|field| (*field, *field)).collect();
        self.config_map(name, &data)
    }

    /// Returns the data fields that each manager of an object holds, without the managers that hold
    /// none.
    fn held(&self, resource: &Resource) -> Vec<(String, Vec<String>)> {
        let stored = self.stored(resource);
        let of_data = |entry: &Json| {
            let data = entry["fieldsV1"]["f:data"].as_object()?;
            let fields = data.keys().filter_map(|field| field.strip_prefix("f:")).map(str::to_owned).collect();
            Some((entry["manager"].as_str()?.to_owned(), fields))
        };
        let mut held: Vec<_> =
            stored["metadata"]["managedFields"].as_array().unwrap().iter().filter_map(of_data).collect();
        held.sort();
        held
    }

    /// Applies a declaration over an object of other tools. Returns its new state, and the managers
    /// it was adopted from.
    async fn adopt(&self, declared: &Arc<Resource>) -> (Live, Holders) {
        let seen = self.live(declared).await;
        let holders = *seen.holders.clone().expect("we have not written it");
        let live = self.done(&self.steps.update(declared, &seen)).await.unwrap();
        assert_eq!(live.holders, None, "now we have");
        (live, holders)
    }

    fn ours(&self, fields: &[&str]) -> (String, Vec<String>) {
        by(&format!("setpoint-{}", self.namespace), fields)
    }
}

fn by(manager: &str, fields: &[&str]) -> (String, Vec<String>) {
    (manager.to_owned(), fields.iter().map(|field| (*field).to_owned()).collect())
}

#[tokio::test(flavor = "multi_thread")]
async fn tools_let_go_of_what_is_ours_and_nobody_else_lets_go_of_anything() {
    let scene = Scene::new("folded").await;
    scene.kubectl_apply("a", &["first", "lent", "second", "undone"]);
    for (manager, fields) in [
        ("kube-controller-manager", &["first", "second"][..]),
        ("kustomize-controller", &["lent", "second"]),
        ("setpoint-elsewhere", &["first"]),
    ] {
        scene.edit(&scene.of_fields("a", fields), manager);
    }
    let lend = |resource: &Resource| sharing(resource, &[("data.lent", Some("kustomize-controller"))]);
    let declared = lend(&scene.of_fields("a", &["first", "lent", "second"]));
    let (live, holders) = scene.adopt(&declared).await;
    assert_eq!(holders.names().join(" "), "kubectl-client-side-apply kustomize-controller");
    assert_eq!(holders.0[0].kept.join(" "), "data.lent metadata.labels.theirs");

    let data = scene.stored(&declared)["data"].clone();
    let folded = scene.done(&scene.steps.fold(&declared, &live, &holders)).await.unwrap();
    assert_eq!((&folded.value, &scene.stored(&declared)["data"]), (&declared.body, &data), "no value changed");
    assert_eq!(scene.stored(&declared)["metadata"]["labels"]["theirs"], "yes");
    let annotations = &scene.stored(&declared)["metadata"]["annotations"];
    assert_eq!(annotations.get(LAST_APPLIED), None, "by it kubectl would delete what is ours now: {annotations}");
    assert_eq!(
        scene.held(&declared),
        [
            by("kube-controller-manager", &["first", "second"]),
            by("kubectl-client-side-apply", &["lent"]),
            by("kustomize-controller", &["lent"]),
            by("setpoint-elsewhere", &["first"]),
            scene.ours(&["first", "second"]),
        ]
    );
    let again = scene.done(&scene.steps.fold(&declared, &folded, &holders)).await.unwrap();
    assert_eq!(again.version, folded.version, "what is done is not done again");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_field_that_was_adopted_goes_with_its_declaration() {
    let scene = Scene::new("folded-gone").await;
    scene.kubectl_apply("a", &["first", "second"]);
    let (live, holders) = scene.adopt(&scene.of_fields("a", &["first", "second"])).await;
    scene.done(&scene.steps.fold(&scene.of_fields("a", &["first", "second"]), &live, &holders)).await;
    let declared = scene.of_fields("a", &["first"]);
    scene.done(&scene.steps.update(&declared, &scene.live(&declared).await)).await;
    assert_eq!(scene.stored(&declared)["data"], json!({"first": "first"}));
    // `kubectl` warns its next user, and deletes none of our fields.
    scene.kubectl_apply("a", &["third"]);
    assert_eq!(scene.stored(&declared)["data"], json!({"first": "first", "third": "third"}));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_item_goes_with_its_declaration_though_a_tool_holds_what_the_server_filled_in() {
    let scene = Scene::new("folded-item").await;
    let deployment = |containers: &[&str]| {
        let container = |name: &&str| json!({"name": name, "image": "registry.example/one"});
        let containers: Vec<Json> = containers.iter().map(container).collect();
        json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": scene.namespace},
            "spec": {
                "replicas": 0, "selector": {"matchLabels": {"app": "web"}},
                "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": containers}},
            },
        })
    };
    scene.kubectl_apply_object(&deployment(&["one", "two"]));
    let declared = scene.resource(&deployment(&["one", "two"]));
    let (live, holders) = scene.adopt(&declared).await;
    scene.done(&scene.steps.fold(&declared, &live, &holders)).await;
    let declared = scene.resource(&deployment(&["one"]));
    scene.done(&scene.steps.update(&declared, &scene.live(&declared).await)).await;
    let containers = scene.stored(&declared)["spec"]["template"]["spec"]["containers"].clone();
    assert_eq!(containers.as_array().map(Vec::len), Some(1), "{containers}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_nobody_was_named_for_is_ours_alone_too() {
    let scene = Scene::new("folded-unnamed").await;
    let declared = scene.of_fields("a", &["first", "second"]);
    scene.kubectl_apply("a", &["first", "second"]);
    scene.patch(&declared, "somebody", &json!({"metadata": {"managedFields": [{}]}}));
    let (live, holders) = scene.adopt(&declared).await;
    assert_eq!(holders.names().join(" "), "before-first-apply");
    scene.done(&scene.steps.fold(&declared, &live, &holders)).await;
    assert_eq!(scene.held(&declared), [scene.ours(&["first", "second"])]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fold_whose_answer_was_lost_is_settled_by_who_holds_what() {
    let scene = Scene::new("folded-lost").await;
    let declared = scene.of_fields("a", &["first", "second"]);
    scene.kubectl_apply("a", &["first", "second"]);
    let (live, holders) = scene.adopt(&declared).await;
    let fold = scene.steps.fold(&declared, &live, &holders);
    scene.proxy.add(Rule::new("PATCH", "/configmaps/a", Fault::ResetBefore).times(1));
    let outcome = scene.execute(&fold).await;
    assert!(!matches!(outcome, Outcome::Done { .. }), "{outcome:?}");
    assert_eq!(scene.settle_early(&fold).await, Settlement::NotDone);
    let outcome = scene.execute(&fold).await;
    assert!(matches!(outcome, Outcome::Refused { .. }), "it can no longer land: {outcome:?}");

    let fold = scene.steps.fold(&declared, &scene.live(&declared).await, &holders);
    scene.proxy.add(Rule::new("PATCH", "/configmaps/a", Fault::ResetAfter).times(1));
    let outcome = scene.execute(&fold).await;
    assert!(matches!(outcome, Outcome::Unknown { .. }), "{outcome:?}");
    let settled = scene.settle(&fold).await;
    assert!(matches!(&settled, Settlement::Done { live: Some(live) } if live.value == declared.body), "{settled:?}");
    assert_eq!(scene.held(&declared), [scene.ours(&["first", "second"])]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_written_since_is_not_folded_blindly() {
    let scene = Scene::new("folded-since").await;
    let declared = scene.of_fields("a", &["first", "second"]);
    scene.kubectl_apply("a", &["first", "second"]);
    let (live, holders) = scene.adopt(&declared).await;
    scene.patch(&declared, "somebody", &json!({"metadata": {"labels": {"team": "blue"}}}));
    let outcome = scene.execute(&scene.steps.fold(&declared, &live, &holders)).await;
    let conflict = |refusal: &RefusalClass| *refusal == RefusalClass::Conflict;
    assert!(matches!(&outcome, Outcome::Refused { refusal } if conflict(&refusal.class)), "{outcome:?}");
    scene.done(&scene.steps.fold(&declared, &scene.live(&declared).await, &holders)).await;
    assert_eq!(scene.held(&declared), [scene.ours(&["first", "second"])]);
}
