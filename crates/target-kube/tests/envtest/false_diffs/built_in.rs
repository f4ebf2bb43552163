//! Tests the server's changes to objects of its own kinds.

use serde_json::{Value as Json, json};
use setpoint_kube::object;
use setpoint_target::{Asker, Target};

use crate::envtest::scene::Scene;

/// Builds a Deployment with more fields of its spec, of its pods' and of its container.
fn deployment(scene: &Scene, name: &str, spec: &Json, pod: &Json, container: &Json) -> Json {
    let mut object = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "namespace": scene.namespace},
        "spec": {
            "replicas": 0, "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}}, "spec": {"containers": [{"name": "web", "image": "web:1"}]},
            },
        },
    });
    let add = |into: &mut Json, more: &Json| {
        for (field, value) in more.as_object().unwrap() {
            into[field] = value.clone();
        }
    };
    add(&mut object["spec"], spec);
    add(&mut object["spec"]["template"]["spec"], pod);
    add(&mut object["spec"]["template"]["spec"]["containers"][0], container);
    object
}

fn nothing() -> Json {
    json!({})
}

#[tokio::test(flavor = "multi_thread")]
async fn class_02_a_default_that_is_written_out_and_dropped_by_the_server_is_no_drift() {
    let mut scene = Scene::new("explicit").await;
    let spec = json!({"paused": false, "minReadySeconds": 0, "revisionHistoryLimit": 10});
    let pod = json!({"hostNetwork": false, "hostPID": false, "restartPolicy": "Always"});
    let container = json!({"stdin": false, "tty": false, "imagePullPolicy": "IfNotPresent"});
    let declared = scene.resyncs_once_made(&deployment(&scene, "web", &spec, &pod, &container)).await;
    assert_eq!(scene.stored(&declared)["spec"]["paused"], Json::Null);
    scene.notices(&declared, &json!({"spec": {"paused": true}})).await;
    let mut definition = scene.definition(
        "Relic",
        "Namespaced",
        &json!([super::super::definitions::version("v1", true, &json!({"type": "object"}))]),
    );
    definition["spec"]["preserveUnknownFields"] = json!(false);
    scene.resyncs_once_made(&definition).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn class_03_null_and_empty_and_missing_are_one() {
    let mut scene = Scene::new("empty").await;
    let spec = json!({"strategy": {}});
    let pod = json!({"securityContext": {}, "nodeSelector": {}, "tolerations": [], "volumes": null, "affinity": null});
    let container = json!({"resources": {}, "env": [], "args": null, "volumeMounts": []});
    let mut object = deployment(&scene, "web", &spec, &pod, &container);
    object["metadata"]["annotations"] = json!({});
    object["metadata"]["creationTimestamp"] = Json::Null;
    object["spec"]["template"]["metadata"]["creationTimestamp"] = Json::Null;
    object["status"] = json!({});
    let declared = scene.resyncs_once_made(&object).await;
    scene.notices(&declared, &json!({"spec": {"replicas": 2}})).await;
    let mut definition = scene.definition(
        "Hollow",
        "Namespaced",
        &json!([super::super::definitions::version("v1", true, &json!({"type": "object"}))]),
    );
    definition["spec"]["names"]["shortNames"] = json!([]);
    definition["spec"]["names"]["categories"] = Json::Null;
    scene.resyncs_once_made(&definition).await;
    let role = |rules: Json| {
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role",
            "metadata": {"name": "none", "namespace": scene.namespace}, "rules": rules,
        })
    };
    let (role, rights) = (role(json!([])), json!([{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}]));
    let declared = scene.resyncs_once_made(&role).await;
    // Empty rules have a meaning: no rights.
    scene.notices(&declared, &json!({"rules": rights})).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn class_04_quantities_in_other_words_are_no_drift() {
    let mut scene = Scene::new("quantities").await;
    let spec = json!({"strategy": {"rollingUpdate": {"maxSurge": "25%", "maxUnavailable": 0}}});
    let resources = json!({
        "requests": {"cpu": 0.1, "memory": "1024Mi", "ephemeral-storage": "1e3"},
        "limits": {"cpu": "1000m", "memory": 2_147_483_648_u64},
    });
    let container = json!({"resources": resources});
    let declared = scene.resyncs_once_made(&deployment(&scene, "web", &spec, &nothing(), &container)).await;
    let stored = scene.stored(&declared);
    assert_eq!(stored["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"]["cpu"], "100m");
    let quota = json!({
        "apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "most", "namespace": scene.namespace},
        "spec": {"hard": {"requests.cpu": "2000m", "requests.memory": "2048Mi", "pods": 10}},
    });
    let declared = scene.resyncs_once_made(&quota).await;
    scene.notices(&declared, &json!({"spec": {"hard": {"pods": "11"}}})).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn class_05_a_secret_as_text_as_bytes_and_as_null_is_no_drift() {
    let mut scene = Scene::new("secrets").await;
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "words", "namespace": scene.namespace},
        "stringData": {"text": "correct horse", "empty": ""}, "data": {"bytes": "AAEC", "nothing": null},
    });
    let declared = scene.resyncs_once_made(&secret).await;
    scene.notices(&declared, &json!({"data": {"bytes": "AAED"}})).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn class_06_what_others_put_between_ours_is_no_other_order() {
    let mut scene = Scene::new("order").await;
    let service = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": "web", "namespace": scene.namespace, "finalizers": ["example.com/b", "example.com/a"]},
        "spec": {"selector": {"app": "web"}, "ports": [{"name": "b", "port": 81}, {"name": "a", "port": 80}]},
    });
    let declared = scene.resyncs_once_made(&service).await;
    let theirs = json!({"name": "theirs", "port": 79, "protocol": "TCP", "targetPort": 79});
    let mut ports = scene.stored(&declared)["spec"]["ports"].as_array().unwrap().clone();
    ports.insert(1, theirs);
    let between = json!({"spec": {"ports": ports}, "metadata": {"finalizers": ["example.com/a", "example.com/c", "example.com/b"]}});
    scene.patch(&declared, "stranger", &between);
    scene.resyncs(&[&declared]).await;
    scene.notices(&declared, &json!({"spec": {"ports": [ports[0].clone()]}})).await;
    let metric = |name: &str| json!({"type": "Resource", "resource": {"name": name, "target": {"type": "Utilization", "averageUtilization": 70}}});
    let scaler = json!({
        "apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "web", "namespace": scene.namespace},
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}, "maxReplicas": 3,
            "metrics": [metric("memory"), metric("cpu")],
        },
    });
    scene.resyncs_once_made(&scaler).await;
    let slice = json!({
        "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "metadata": {"name": "web", "namespace": scene.namespace},
        "addressType": "IPv4", "endpoints": [{"addresses": ["10.1.0.2"]}, {"addresses": ["10.1.0.1"]}], "ports": [],
    });
    scene.resyncs_once_made(&slice).await;
    scene.patch(&declared, "stranger", &json!({"metadata": {"finalizers": null}}));
}

#[tokio::test(flavor = "multi_thread")]
async fn class_08_templates_of_claims_are_no_drift() {
    let mut scene = Scene::new("claims").await;
    let template = json!({
        "metadata": {"name": "data"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1024Mi"}}},
    });
    let set = json!({
        "apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "db", "namespace": scene.namespace},
        "spec": {
            "replicas": 0, "serviceName": "db", "selector": {"matchLabels": {"app": "db"}},
            "template": {"metadata": {"labels": {"app": "db"}}, "spec": {"containers": [{"name": "db", "image": "db:1"}]}},
            "volumeClaimTemplates": [template],
        },
    });
    let declared = scene.resyncs_once_made(&set).await;
    assert_eq!(scene.stored(&declared)["spec"]["volumeClaimTemplates"][0]["spec"]["volumeMode"], "Filesystem");
    scene.notices(&declared, &json!({"spec": {"replicas": 1}})).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn class_09_one_port_of_two_protocols_is_two_items() {
    let mut scene = Scene::new("ports").await;
    let service = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": "dns", "namespace": scene.namespace},
        "spec": {"ports": [{"name": "udp", "port": 53, "protocol": "UDP"}, {"name": "tcp", "port": 53}]},
    });
    let declared = scene.resyncs_once_made(&service).await;
    let mut ports = scene.stored(&declared)["spec"]["ports"].clone();
    ports[1]["targetPort"] = json!(54);
    scene.patch(&declared, "stranger", &json!({"spec": {"ports": ports}}));
    // The target of a port was not declared.
    scene.resyncs(&[&declared]).await;
    ports[1]["name"] = json!("other");
    scene.notices(&declared, &json!({"spec": {"ports": ports}})).await;
    let container = json!({"ports": [{"containerPort": 53, "protocol": "UDP"}, {"containerPort": 53}]});
    scene.resyncs_once_made(&deployment(&scene, "dns", &nothing(), &nothing(), &container)).await;
    // With duplicates, a later change could not be assigned to one of them.
    let twice = json!({"env": [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]});
    let twice = scene.resource(&deployment(&scene, "twice", &nothing(), &nothing(), &twice));
    let refusal = scene.target.preview(&twice, &Asker::default()).await.unwrap_err();
    assert!(refusal.detail.contains("duplicate"), "{refusal}");
}

#[tokio::test(flavor = "multi_thread")]
async fn class_10_a_field_that_no_client_knows_is_held_like_any_other() {
    let mut scene = Scene::new("newer").await;
    let job = json!({
        "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "once", "namespace": scene.namespace},
        "spec": {
            "suspend": true, "podReplacementPolicy": "Failed", "managedBy": "example.com/runner",
            "template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "run", "image": "run:1"}]}},
        },
    });
    let declared = scene.resyncs_once_made(&job).await;
    assert_eq!(scene.stored(&declared)["spec"]["podReplacementPolicy"], "Failed");
    scene.notices(&declared, &json!({"spec": {"suspend": false}})).await;
}

fn scaler(scene: &Scene, api_version: &str, more: &Json) -> Json {
    let mut object = json!({
        "apiVersion": api_version, "kind": "HorizontalPodAutoscaler", "metadata": {"name": "web", "namespace": scene.namespace},
        "spec": {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}, "maxReplicas": 3},
    });
    for (field, value) in more.as_object().unwrap() {
        object["spec"][field] = value.clone();
    }
    object
}

#[tokio::test(flavor = "multi_thread")]
async fn class_11_another_version_of_an_api_is_the_same_object() {
    let mut scene = Scene::new("versions").await;
    let old = json!({"targetCPUUtilizationPercentage": 70});
    let declared = scene.resyncs_once_made(&scaler(&scene, "autoscaling/v1", &old)).await;
    scene.notices(&declared, &json!({"spec": {"targetCPUUtilizationPercentage": 90}})).await;
    // Declared in another version it is equivalent: there is nothing to write.
    let metrics = json!([{"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 70}}}]);
    let newer = scene.resource(&scaler(&scene, "autoscaling/v2", &json!({"metrics": metrics})));
    assert_eq!(newer.key, declared.key);
    scene.resyncs(&[&newer]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn class_13_a_status_in_the_document_is_no_drift() {
    let mut scene = Scene::new("statuses").await;
    let mut object = deployment(&scene, "web", &nothing(), &nothing(), &nothing());
    object["status"] = json!({"replicas": 3, "observedGeneration": 7});
    let declared = scene.resyncs_once_made(&object).await;
    let path = format!("{}/status", Scene::path(&declared));
    let status = serde_json::to_vec(&json!({"status": {"replicas": 0, "observedGeneration": 1}})).unwrap();
    scene.server.request("PATCH", &path, Some(("application/merge-patch+json", &status))).succeeded();
    scene.resyncs(&[&declared]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn class_18_a_field_that_does_not_exist_is_refused_by_name_and_never_dropped() {
    let mut scene = Scene::new("unknown").await;
    let misspelt = deployment(&scene, "web", &nothing(), &json!({"hostnetwork": true}), &json!({"imagee": "web:2"}));
    let misspelt = scene.resource(&misspelt);
    let refusal = scene.target.preview(&misspelt, &Asker::default()).await.unwrap_err();
    assert!(refusal.detail.contains("hostnetwork") || refusal.detail.contains("imagee"), "{refusal}");
    let declared = scene.resource(&deployment(&scene, "web", &nothing(), &nothing(), &nothing()));
    scene.have(&declared).await;
    let before = scene.stored(&declared);
    let seen = scene.live(&misspelt).await;
    let outcome = scene.execute(&scene.steps.update(&misspelt, &seen)).await;
    assert!(matches!(outcome, setpoint_target::Outcome::Refused { .. }), "{outcome:?}");
    // A refused change also leaves nothing behind that would be taken for drift.
    scene.resyncs(&[&declared]).await;
    assert_eq!(scene.stored(&declared), before);
    scene.notices(&declared, &json!({"spec": {"replicas": 2}})).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn class_19_a_secret_without_a_difference_is_in_place_however_it_is_written() {
    let mut scene = Scene::new("same").await;
    let secret = |field: &str, data: Json| {
        let mut object = json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "word", "namespace": scene.namespace}, "type": "Opaque",
        });
        object[field] = data;
        object
    };
    let (text, bytes) = (secret("stringData", json!({"a": "hi\n"})), secret("data", json!({"a": "aGkK"})));
    let declared = scene.resyncs_once_made(&text).await;
    let rewritten = scene.resource(&bytes);
    scene.resyncs(&[&rewritten]).await;
    let cut = scene.resource(&secret_with(&scene, "aGk\nK"));
    scene.resyncs(&[&cut]).await;
    scene.notices(&declared, &json!({"data": {"a": "aGk="}})).await;
}

/// Builds a Secret whose base64 is broken into lines, as `base64` prints it.
fn secret_with(scene: &Scene, data: &str) -> Json {
    json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "word", "namespace": scene.namespace}, "type": "Opaque",
        "data": {"a": data},
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn class_20_a_namespace_that_is_missing_explicit_or_senseless_makes_no_other_object() {
    let mut scene = Scene::new("places").await;
    let namespace = scene.namespace.clone();
    scene.restart(|options| options.namespace = namespace.as_str().into());
    let bare = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"mode": "1"}});
    let declared = scene.resyncs_once_made(&bare).await;
    let explicit = scene.config_map("a", &[("mode", "1")]);
    assert_eq!(explicit.key, declared.key);
    scene.resyncs(&[&explicit]).await;
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
        "metadata": {"name": format!("{}-reader", scene.namespace), "namespace": scene.namespace},
        "rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]}],
    });
    let declared = scene.resyncs_once_made(&role).await;
    assert_eq!(object::namespace(&declared.body), Some(&*scene.namespace));
    assert_eq!(declared.key.namespace(), "");
    scene.remove(&declared);
}
