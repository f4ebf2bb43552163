//! Tests the server's changes to objects of custom kinds.

use serde_json::json;

use crate::envtest::definitions::fields;
use crate::envtest::scene::Scene;

#[tokio::test(flavor = "multi_thread")]
async fn class_01_defaults_of_a_definition_are_no_drift() {
    let mut scene = Scene::new("defaulted").await;
    let mut part = fields(&json!({"name": {"type": "string"}, "count": {"type": "integer", "default": 1}}));
    part["required"] = json!(["name"]);
    let mode = json!({"type": "object", "default": {}, "properties": {"mode": {"type": "string", "default": "auto"}}});
    let spec = fields(&json!({
        "size": {"type": "integer", "default": 3}, "style": mode,
        "parts": {"type": "array", "items": part, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]},
        "loose": {"type": "array", "items": part},
    }));
    let api_version = scene.define("Gadget", &spec).await;
    let gadget = json!({
        "apiVersion": api_version, "kind": "Gadget", "metadata": {"name": "a", "namespace": scene.namespace},
        "spec": {"parts": [{"name": "wheel"}, {"name": "axle"}], "loose": [{"name": "bolt"}]},
    });
    let declared = scene.resyncs_once_made(&gadget).await;
    let stored = scene.stored(&declared);
    assert_eq!((&stored["spec"]["size"], &stored["spec"]["parts"][0]["count"]), (&json!(3), &json!(1)));
    scene.notices(&declared, &json!({"spec": {"loose": [{"name": "bolt", "count": 2}]}})).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn class_04_what_a_definition_takes_for_a_quantity_or_a_port_is_kept_as_it_is_written() {
    let mut scene = Scene::new("forms").await;
    let either = json!({"x-kubernetes-int-or-string": true, "anyOf": [{"type": "integer"}, {"type": "string"}]});
    let spec = fields(&json!({"cpu": either, "port": either, "after": {"type": "string"}}));
    let api_version = scene.define("Form", &spec).await;
    let form = json!({
        "apiVersion": api_version, "kind": "Form", "metadata": {"name": "a", "namespace": scene.namespace},
        "spec": {"cpu": "0.1", "port": 8080, "after": "60s"},
    });
    let declared = scene.resyncs_once_made(&form).await;
    assert_eq!(scene.stored(&declared)["spec"], form["spec"]);
    // A controller that writes an equivalent value changes a field of ours: that is reported, and
    // corrected.
    scene.notices(&declared, &json!({"spec": {"after": "1m0s"}})).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn class_06_members_of_a_set_have_no_order() {
    let mut scene = Scene::new("sets").await;
    let set = json!({"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"});
    let api_version = scene.define("Bag", &fields(&json!({"members": set}))).await;
    let bag = json!({
        "apiVersion": api_version, "kind": "Bag", "metadata": {"name": "a", "namespace": scene.namespace},
        "spec": {"members": ["b", "a"]},
    });
    let declared = scene.resyncs_once_made(&bag).await;
    scene.patch(&declared, "stranger", &json!({"spec": {"members": ["a", "c", "b"]}}));
    scene.resyncs(&[&declared]).await;
    scene.notices(&declared, &json!({"spec": {"members": ["a", "c"]}})).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn class_13_a_status_that_a_controller_writes_is_no_drift() {
    let mut scene = Scene::new("spoken").await;
    let api_version = scene.define("Wish", &fields(&json!({"size": {"type": "integer"}}))).await;
    let wish = json!({
        "apiVersion": api_version, "kind": "Wish", "metadata": {"name": "a", "namespace": scene.namespace},
        "spec": {"size": 1}, "status": {"phase": "declared"},
    });
    let declared = scene.resyncs_once_made(&wish).await;
    let path = format!("{}/status", Scene::path(&declared));
    let status = serde_json::to_vec(&json!({"status": {"phase": "granted"}})).unwrap();
    scene.server.request("PATCH", &path, Some(("application/merge-patch+json", &status))).succeeded();
    scene.resyncs(&[&declared]).await;
    scene.notices(&declared, &json!({"spec": {"size": 2}})).await;
    assert_eq!(scene.stored(&declared)["status"]["phase"], "granted");
}

#[tokio::test(flavor = "multi_thread")]
async fn class_21_below_what_has_no_schema_only_the_declared_is_compared() {
    let mut scene = Scene::new("free").await;
    let free = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let embedded =
        json!({"type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true});
    let known = json!({
        "type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {"size": {"type": "integer", "default": 3}},
    });
    let api_version = scene.define("Free", &fields(&json!({"free": free, "embedded": embedded, "known": known}))).await;
    let object = json!({
        "apiVersion": api_version, "kind": "Free", "metadata": {"name": "a", "namespace": scene.namespace},
        "spec": {
            "free": {"a": {"b": [1, {"c": null}], "empty": {}, "none": []}},
            "embedded": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "inner"}, "data": {"k": "v"}},
            "known": {"other": true},
        },
    });
    let declared = scene.resyncs_once_made(&object).await;
    scene.patch(&declared, "stranger", &json!({"spec": {"free": {"theirs": 1}}}));
    scene.resyncs(&[&declared]).await;
    scene.notices(&declared, &json!({"spec": {"free": {"a": {"b": [2]}}}})).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn class_22_large_and_fractional_numbers_are_no_drift() {
    let mut scene = Scene::new("numbers").await;
    let number = json!({"type": "number"});
    let spec = fields(&json!({
        "large": {"type": "integer", "format": "int64"}, "small": {"type": "integer", "format": "int64"},
        "fraction": number, "whole": number, "power": number, "tiny": number, "port": {"type": "integer"},
    }));
    let api_version = scene.define("Sum", &spec).await;
    let text = format!(
        r#"{{"apiVersion":"{api_version}","kind":"Sum","metadata":{{"name":"a","namespace":"{}"}},
        "spec":{{"large":9007199254740993,"small":-9223372036854775808,"fraction":0.1,"whole":1.0,"power":1e21,"tiny":1e-7,"port":80}}}}"#,
        scene.namespace
    );
    let declared = scene.resource_of(&text);
    let made = scene.have(&declared).await;
    assert_eq!(made.value, declared.body);
    scene.resyncs(&[&declared]).await;
    let stored = scene.server.request("GET", &Scene::path(&declared), None).body;
    assert!(stored.contains("9007199254740993") && stored.contains("-9223372036854775808"), "{stored}");
    scene.notices(&declared, &json!({"spec": {"large": 9_007_199_254_740_992_u64}})).await;
}
