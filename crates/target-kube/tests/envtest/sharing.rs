//! Tests fields that others may set: while others set them they are neither compared nor written;
//! otherwise they are held like all other fields.

use std::sync::Arc;

use serde_json::{Value as Json, json};
use setpoint_core::live::{Live, Writer};
use setpoint_core::observed::{Observed, UnknownReason};
use setpoint_core::resource::{Resource, SharedField};
use setpoint_core::value::Value;
use setpoint_target::{Asker, Outcome, RefusalClass, Target};
use setpoint_testbed::kube::{Fault, Rule};

use super::definitions::{fields, version};
use super::scene::{Scene, until};

/// Returns the same declaration, with fields that others may set.
pub(crate) fn sharing(resource: &Resource, fields: &[(&str, Option<&str>)]) -> Arc<Resource> {
    let field =
        |(path, writer): &(&str, Option<&str>)| SharedField { path: (*path).into(), writer: writer.map(Into::into) };
    Arc::new(Resource { shared: fields.iter().map(field).collect(), ..resource.clone() })
}

impl Scene {
    pub(crate) fn deployment(&self, image: &str) -> Arc<Resource> {
        self.resource(&json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": self.namespace},
            "spec": {
                "replicas": 3, "selector": {"matchLabels": {"app": "web"}},
                "template": {
                    "metadata": {"labels": {"app": "web"}},
                    "spec": {"containers": [{"name": "web", "image": image}]},
                },
            },
        }))
    }

    /// Applies a number of replicas as another manager.
    fn set_replicas(&self, replicas: u32, manager: &str) {
        let partly = self.resource(&json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": self.namespace},
            "spec": {"replicas": replicas},
        }));
        self.edit(&partly, manager);
    }

    /// Writes to the scale subresource, as autoscalers and `kubectl scale` do.
    fn scale(&self, replicas: u32, manager: &str) {
        let path = format!("/apis/apps/v1/namespaces/{}/deployments/web/scale?fieldManager={manager}", self.namespace);
        let patch = serde_json::to_vec(&json!({"spec": {"replicas": replicas}})).unwrap();
        self.server.request("PATCH", &path, Some(("application/merge-patch+json", &patch))).succeeded();
    }

    /// Defines the autoscalers of KEDA, as far as the target reads them.
    async fn define_scaled_objects(&self) {
        let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/scaledobjects.keda.sh";
        let aim = json!({"type": "object", "properties": {"name": {"type": "string"}}});
        let version = version("v1alpha1", true, &fields(&json!({"scaleTargetRef": aim})));
        let names = json!({"plural": "scaledobjects", "singular": "scaledobject", "kind": "ScaledObject"});
        let definition = json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "scaledobjects.keda.sh"},
            "spec": {"group": "keda.sh", "scope": "Namespaced", "versions": [version], "names": names},
        });
        self.server.apply(path, "definer", &definition);
        let served = || self.server.request("GET", &self.scaled_objects(), None).status == 200;
        until("it is served", async || served()).await;
        let nobody = self.resource(&json!({
            "apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject",
            "metadata": {"name": "nobody", "namespace": self.namespace},
        }));
        until("it is found", async || self.observe(&nobody).await.is_known()).await;
    }

    fn scaled_objects(&self) -> String {
        format!("/apis/keda.sh/v1alpha1/namespaces/{}/scaledobjects", self.namespace)
    }

    fn autoscalers(&self) -> String {
        format!("/apis/autoscaling/v2/namespaces/{}/horizontalpodautoscalers", self.namespace)
    }

    fn autoscale(&self) {
        let hpa = json!({
            "apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "web"},
            "spec": {
                "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
                "minReplicas": 1, "maxReplicas": 9,
            },
        });
        self.server.create(&self.autoscalers(), &hpa);
    }

    async fn heal(&self, declared: &Arc<Resource>) -> Live {
        let seen = self.live(declared).await;
        assert_ne!(seen.value, declared.body, "there is something to heal");
        let healed = self.done(&self.steps.update(declared, &seen)).await.unwrap();
        assert_eq!(healed.value, declared.body);
        healed
    }

    /// Checks that ten observations find the object in place by the reports of streams, without a
    /// request, and that a stranger's change is noticed by them.
    async fn is_watched_without_asking(&self, declared: &Arc<Resource>) {
        for _ in 0..10 {
            assert_eq!(self.live(declared).await.value, declared.body);
        }
        let asked: Vec<_> = self.proxy.take_seen().into_iter().filter(|seen| !seen.is_watch()).collect();
        assert!(asked.is_empty(), "{asked:?}");
        self.set_replicas(9, "stranger");
        self.hint_about(&declared.key).await;
        self.heal(declared).await;
        assert_eq!(replicas(&self.stored(declared)), Some(3));
    }

    /// Checks that ten observations find the object in place, and that nothing is written.
    async fn rests(&self, declared: &Arc<Resource>) {
        let version = || self.stored(declared)["metadata"]["resourceVersion"].clone();
        let before = version();
        for _ in 0..10 {
            assert_eq!(self.live(declared).await.value, declared.body);
        }
        assert_eq!(version(), before);
    }
}

fn replicas(stored: &Json) -> Option<u64> {
    stored["spec"]["replicas"].as_u64()
}

fn image(stored: &Json) -> &str {
    stored["spec"]["template"]["spec"]["containers"][0]["image"].as_str().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_ignored_field_is_given_at_first_and_then_left_alone_while_others_are_healed() {
    let scene = Scene::new("ignored").await;
    let declare = |size: &str| {
        sharing(&scene.config_map("paint", &[("colour", "red"), ("size", size)]), &[("data.colour", None)])
    };
    let declared = declare("5");
    scene.have(&declared).await;
    assert_eq!(scene.stored(&declared)["data"], json!({"colour": "red", "size": "5"}), "it has a value from the start");
    scene.edit(&scene.config_map("paint", &[("colour", "blue")]), "painter");
    scene.rests(&declared).await;
    scene.edit(&scene.config_map("paint", &[("colour", "blue"), ("size", "9")]), "painter");
    let drifted = scene.live(&declared).await;
    let seen = |field: &str| drifted.value.get("data").and_then(|data| data.get(field)).and_then(Value::as_str);
    assert_eq!((seen("colour"), seen("size")), (Some("red"), Some("9")), "only what is not ignored is shown");
    scene.heal(&declared).await;
    assert_eq!(scene.stored(&declared)["data"], json!({"colour": "blue", "size": "5"}));
    scene.rests(&declared).await;

    // Another client removes the field, and the rest changes.
    let path = format!("/api/v1/namespaces/{}/configmaps/paint", scene.namespace);
    let patch = serde_json::to_vec(&json!({"data": {"colour": null}})).unwrap();
    scene.server.request("PATCH", &path, Some(("application/merge-patch+json", &patch))).succeeded();
    scene.rests(&declared).await;
    let moved = declare("6");
    let forecast = scene.target.forecast(&moved, &Asker::default()).await.unwrap().unwrap();
    let shown: Vec<String> = forecast.iter().map(ToString::to_string).collect();
    assert_eq!(shown, [r#"data.size: "6" → "5""#]);
    scene.heal(&moved).await;
    assert_eq!(scene.stored(&moved)["data"], json!({"size": "6"}));
    scene.rests(&moved).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_ignored_field_that_nobody_touched_is_neither_removed_nor_written_again() {
    let scene = Scene::new("untouched").await;
    let declare = |colour: &str| {
        sharing(&scene.config_map("paint", &[("colour", colour), ("size", "5")]), &[("data.colour", None)])
    };
    let declared = declare("red");
    scene.have(&declared).await;
    scene.edit(&scene.config_map("paint", &[("size", "9")]), "painter");
    scene.heal(&declared).await;
    assert_eq!(scene.stored(&declared)["data"], json!({"colour": "red", "size": "5"}));
    let repainted = declare("green");
    scene.rests(&repainted).await;
    scene.edit(&scene.config_map("paint", &[("size", "9")]), "painter");
    scene.heal(&repainted).await;
    assert_eq!(scene.stored(&repainted)["data"], json!({"colour": "red", "size": "5"}));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_others_add_where_they_may_is_kept_and_what_they_add_beside_it_is_not() {
    let scene = Scene::new("addible").await;
    let plain = scene.config_map("seeds", &[("ours", "1")]);
    let declared = sharing(&plain, &[("data.theirs", None), ("data", Some("operator"))]);
    scene.have(&declared).await;
    scene.edit(&scene.config_map("seeds", &[("theirs", "1")]), "anybody");
    scene.edit(&scene.config_map("seeds", &[("lent", "1")]), "operator");
    scene.rests(&declared).await;
    scene.edit(&scene.config_map("seeds", &[("stray", "1"), ("theirs", "1")]), "anybody");
    scene.heal(&declared).await;
    assert_eq!(scene.stored(&declared)["data"], json!({"ours": "1", "theirs": "1", "lent": "1"}));
    scene.rests(&declared).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_field_is_its_co_owners_while_it_holds_it_and_drift_when_a_stranger_takes_it() {
    let mut scene = Scene::new("lent").await;
    let declare =
        |scene: &Scene, image: &str| sharing(&scene.deployment(image), &[("spec.replicas", Some("operator"))]);
    let declared = declare(&scene, "web:1");
    scene.have(&declared).await;
    scene.set_replicas(9, "stranger");
    let drifted = scene.live(&declared).await;
    assert!(matches!(&drifted.writer, Writer::Likely { who } if who.contains("stranger")), "{:?}", drifted.writer);
    scene.heal(&declared).await;
    assert_eq!(replicas(&scene.stored(&declared)), Some(3));

    scene.set_replicas(7, "operator");
    scene.rests(&declared).await;
    let moved = declare(&scene, "web:2");
    scene.heal(&moved).await;
    let stored = scene.stored(&moved);
    assert_eq!((replicas(&stored), image(&stored)), (Some(7), "web:2"));
    scene.set_replicas(8, "operator");
    scene.rests(&moved).await;

    // The records may be lost: the object itself names the managers of its fields.
    scene.restart(|_| {});
    scene.rests(&moved).await;
    scene.set_replicas(9, "stranger");
    scene.heal(&moved).await;
    assert_eq!(replicas(&scene.stored(&moved)), Some(3));
    scene.rests(&moved).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_person_scales_is_drift_and_what_an_autoscaler_scales_is_not() {
    let scene = Scene::new("scaled").await;
    let declared = scene.deployment("web:1");
    scene.have(&declared).await;
    scene.scale(5, "kubectl");
    let drifted = scene.live(&declared).await;
    assert!(matches!(&drifted.writer, Writer::Likely { who } if who.contains("kubectl (update of scale")));
    scene.heal(&declared).await;
    assert_eq!(replicas(&scene.stored(&declared)), Some(3));

    scene.autoscale();
    scene.scale(7, "kube-controller-manager");
    scene.rests(&declared).await;
    let moved = scene.deployment("web:2");
    scene.heal(&moved).await;
    let stored = scene.stored(&moved);
    assert_eq!((replicas(&stored), image(&stored)), (Some(7), "web:2"));
    scene.rests(&moved).await;
    scene.set_replicas(9, "stranger");
    scene.heal(&moved).await;
    assert_eq!(replicas(&scene.stored(&moved)), Some(3), "an edit is no scaling");

    scene.server.request("DELETE", &format!("{}/web", scene.autoscalers()), None).succeeded();
    scene.scale(4, "kubectl");
    scene.heal(&moved).await;
    assert_eq!(replicas(&scene.stored(&moved)), Some(3));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_keda_scales_is_no_drift() {
    let mut scene = Scene::new("keda").await;
    scene.define_scaled_objects().await;
    let declared = scene.deployment("web:1");
    scene.have(&declared).await;
    let scaled_object = json!({
        "apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject", "metadata": {"name": "web"},
        "spec": {"scaleTargetRef": {"name": "web"}},
    });
    scene.server.create(&scene.scaled_objects(), &scaled_object);
    scene.scale(5, "keda-operator");
    scene.rests(&declared).await;
    let moved = scene.deployment("web:2");
    scene.heal(&moved).await;
    let stored = scene.stored(&moved);
    assert_eq!((replicas(&stored), image(&stored)), (Some(5), "web:2"));

    scene.scale(0, "keda-operator");
    scene.rests(&moved).await;
    let moved = scene.deployment("web:3");
    scene.heal(&moved).await;
    let stored = scene.stored(&moved);
    assert_eq!((replicas(&stored), image(&stored)), (Some(0), "web:3"), "what nobody holds is not ours");
    scene.rests(&moved).await;
    scene.restart(|_| {});
    scene.rests(&moved).await;

    scene.server.request("DELETE", &format!("{}/web", scene.scaled_objects()), None).succeeded();
    scene.heal(&moved).await;
    assert_eq!(replicas(&scene.stored(&moved)), Some(3));
    scene.scale(0, "kubectl");
    scene.heal(&moved).await;
    assert_eq!(replicas(&scene.stored(&moved)), Some(3), "somebody scaled by hand");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_scaled_to_nothing_costs_nothing_at_rest_and_wakes_again() {
    let scene = Scene::with("zero", |_| {}).await;
    let declared = scene.deployment("web:1");
    scene.have(&declared).await;
    scene.autoscale();
    scene.live(&declared).await;
    scene.caught_up().await;
    scene.scale(0, "keda-operator");
    scene.hint_about(&declared.key).await;
    assert_eq!(scene.live(&declared).await.value, declared.body);
    scene.proxy.take_seen();
    // From zero on the server names no manager, whatever the number is.
    scene.scale(4, "keda-operator");
    scene.is_watched_without_asking(&declared).await;
}

impl Scene {
    /// Builds a Deployment that an autoscaler has set to another number, and whose state comes from
    /// the reports of streams.
    async fn autoscaled(name: &str, autoscale: impl AsyncFnOnce(&Self)) -> (Self, Arc<Resource>) {
        let scene = Self::with(name, |_| {}).await;
        let declared = scene.deployment("web:1");
        scene.have(&declared).await;
        autoscale(&scene).await;
        scene.live(&declared).await;
        scene.caught_up().await;
        scene.scale(7, "kube-controller-manager");
        scene.hint_about(&declared.key).await;
        scene.rests(&declared).await;
        assert_eq!(replicas(&scene.stored(&declared)), Some(7));
        (scene, declared)
    }

    fn remove_autoscaler(&self) {
        self.server.request("DELETE", &format!("{}/web", self.autoscalers()), None).succeeded();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_autoscaler_had_set_is_put_back_when_someone_asks_after_it_is_gone() {
    let (scene, declared) = Scene::autoscaled("unscaled", async |scene| scene.autoscale()).await;
    scene.remove_autoscaler();
    let seen = scene.live_for_a_person(&declared).await;
    assert_ne!(seen.value, declared.body, "no stream tells of it");
    scene.done(&scene.steps.update(&declared, &seen)).await.unwrap();
    assert_eq!(replicas(&scene.stored(&declared)), Some(3));
    scene.rests(&declared).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_autoscaler_had_set_is_put_back_by_the_next_process() {
    let (mut scene, declared) = Scene::autoscaled("resumed", async |scene| scene.autoscale()).await;
    scene.remove_autoscaler();
    scene.restart(|_| {});
    scene.heal(&declared).await;
    assert_eq!(replicas(&scene.stored(&declared)), Some(3));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_autoscaler_of_ours_had_set_is_put_back_as_soon_as_it_is_gone() {
    let (scene, declared) = Scene::autoscaled("ours", async |scene| {
        let hpa = scene.resource(&json!({
            "apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler",
            "metadata": {"name": "web", "namespace": scene.namespace},
            "spec": {
                "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
                "minReplicas": 1, "maxReplicas": 9,
            },
        }));
        scene.have(&hpa).await;
        // Its app observes it, and from then on its kind is followed.
        scene.live(&hpa).await;
    })
    .await;
    scene.remove_autoscaler();
    scene.hint_about(&declared.key).await;
    scene.heal(&declared).await;
    assert_eq!(replicas(&scene.stored(&declared)), Some(3));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_an_autoscalers_is_not_taken_by_a_heal_of_something_else_which_names_who_holds_it() {
    let scene = Scene::new("taken").await;
    let declared = scene.deployment("web:1");
    scene.have(&declared).await;
    scene.autoscale();
    scene.scale(7, "kube-controller-manager");
    scene.rests(&declared).await;
    let containers = json!([{"name": "web", "image": "web:9"}]);
    scene.patch(&declared, "stranger", &json!({"spec": {"template": {"spec": {"containers": containers}}}}));
    let drifted = scene.live(&declared).await;
    scene.server.request("DELETE", &format!("{}/web", scene.autoscalers()), None).succeeded();
    let outcome = scene.execute(&scene.steps.update(&declared, &drifted)).await;
    let Outcome::Refused { refusal } = outcome else { panic!("it was decided on less: {outcome:?}") };
    assert_eq!(refusal.class, RefusalClass::Contested);
    assert!(refusal.detail.contains(".spec.replicas of `kube-controller-manager`"), "{refusal}");
    assert!(!refusal.detail.contains("stranger"), "the image is ours to take back: {refusal}");
    let stored = scene.stored(&declared);
    assert_eq!((replicas(&stored), image(&stored)), (Some(7), "web:9"), "nothing was taken");
    // The next observation finds both.
    scene.heal(&declared).await;
    let stored = scene.stored(&declared);
    assert_eq!((replicas(&stored), image(&stored)), (Some(3), "web:1"));
}

#[tokio::test(flavor = "multi_thread")]
async fn autoscalers_that_may_not_be_listed_are_said_and_those_that_cannot_be_now_are_waited_for() {
    let scene = Scene::new("unlisted").await;
    let declared = scene.deployment("web:1");
    scene.have(&declared).await;
    scene.scale(5, "kubectl");
    let list = |code| Rule::new("GET", "/horizontalpodautoscalers", Fault::Status { code, retry_after: None });
    let denied = scene.proxy.add(list(403));
    let drifted = scene.live(&declared).await;
    let Writer::Likely { who } = &drifted.writer else { panic!("{:?}", drifted.writer) };
    assert!(who.contains("kubectl") && who.contains("let the agent list autoscalers"), "{who}");
    assert!(scene.proxy.struck(denied) > 0);
    scene.proxy.mend();
    scene.proxy.add(list(500));
    let blind = scene.observe(&declared).await;
    assert!(matches!(blind, Observed::Unknown { reason: UnknownReason::Unreachable { .. } }), "{blind:?}");
    scene.proxy.mend();
    scene.heal(&declared).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rule_that_is_new_or_gone_takes_effect_without_another_change() {
    let scene = Scene::new("ruled").await;
    let plain = scene.config_map("paint", &[("colour", "red")]);
    scene.have(&plain).await;
    scene.edit(&scene.config_map("paint", &[("colour", "blue")]), "painter");
    assert_ne!(scene.live(&plain).await.value, plain.body);
    let ignoring = sharing(&plain, &[("data.colour", None)]);
    scene.rests(&ignoring).await;
    scene.heal(&plain).await;
    assert_eq!(scene.stored(&plain)["data"], json!({"colour": "red"}));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_lent_is_watched_and_costs_nothing_at_rest() {
    let scene = Scene::with("watched", |_| {}).await;
    let declared = sharing(&scene.deployment("web:1"), &[("spec.replicas", Some("operator"))]);
    scene.have(&declared).await;
    scene.live(&declared).await;
    scene.caught_up().await;
    scene.set_replicas(7, "operator");
    scene.hint_about(&declared.key).await;
    assert_eq!(scene.live(&declared).await.value, declared.body);
    scene.proxy.take_seen();
    scene.is_watched_without_asking(&declared).await;
}
