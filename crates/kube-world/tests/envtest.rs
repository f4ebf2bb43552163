//! Sends the same requests, drawn from seeds, to the in-memory server and to the real one. Both
//! must respond alike, code by code, field by field, manager by manager.

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};
use setpoint_kube_world::{Method, Reply, Request, Server};
use setpoint_testbed::kube::ApiServer;

const SEEDS: u64 = 30;
const REQUESTS: usize = 40;

/// The SplitMix64 generator.
struct Draw(u64);

impl Draw {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 33) % n
    }

    fn of<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len() as u64) as usize]
    }

    fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}

/// The body of a request: its type and its bytes.
type Content<'c> = Option<(&'c str, &'c [u8])>;

/// Sends a request and returns the code and body of the response.
type Send<'s> = dyn FnMut(&str, &str, Content<'_>) -> (u16, Json) + 's;

/// One server, and the last version it returned of each object.
struct Side<'s> {
    send: Box<Send<'s>>,
    /// The UID and version by path.
    seen: BTreeMap<String, (String, String)>,
}

impl Side<'_> {
    /// Sends a drawn request with this server's own UID and version of the object, and returns the
    /// comparable part of the response.
    fn ask(&mut self, drawn: &Drawn) -> Json {
        let (uid, version) = self.seen.get(&drawn.path).cloned().unwrap_or(("none".into(), "1".into()));
        let real = |text: &str| text.replace("THE-UID", &uid).replace("THE-VERSION", &version);
        let content = drawn.content.as_ref().map(|(how, body)| (*how, real(&body.to_string()).into_bytes()));
        let content = content.as_ref().map(|(how, bytes)| (*how, bytes.as_slice()));
        let (code, body) = (self.send)(drawn.method, &format!("{}{}", drawn.path, drawn.query), content);
        let mut moved = false;
        if let Some(found) = body["metadata"]["uid"].as_str().filter(|_| !drawn.query.contains("dryRun")) {
            let now = (found.to_owned(), body["metadata"]["resourceVersion"].as_str().unwrap_or_default().to_owned());
            moved = self.seen.insert(drawn.path.clone(), now.clone()) != Some(now);
        }
        json!({"code": code, "moved": moved, "body": plain(&body, code)})
    }
}

/// Returns the part of a response that does not depend on the server.
fn plain(body: &Json, code: u16) -> Json {
    if code >= 400 || body["kind"] == "Status" {
        let mut causes: Vec<String> = body["details"]["causes"].as_array().into_iter().flatten().map(cause).collect();
        causes.sort();
        // For a mismatched UID the real server reports the cause twice.
        causes.dedup();
        return json!({"reason": body["reason"], "causes": causes});
    }
    let mut object = without_nulls(body);
    let mut holders: Vec<Json> = object["metadata"]["managedFields"].as_array().cloned().unwrap_or_default();
    for holder in &mut holders {
        holder.as_object_mut().expect("an entry is an object").remove("time");
    }
    holders.sort_by_key(|holder| format!("{}{}{}", holder["manager"], holder["operation"], holder["subresource"]));
    let metadata = object["metadata"].as_object_mut().expect("every object has metadata");
    let leaving = metadata.contains_key("deletionTimestamp");
    for field in ["uid", "resourceVersion", "creationTimestamp", "deletionTimestamp", "managedFields", "namespace"] {
        metadata.remove(field);
    }
    json!({"object": object, "holders": holders, "leaving": leaving})
}

/// Keeps conflicts of fields exactly, and of other refusals only the reason and the field.
fn cause(cause: &Json) -> String {
    let field = cause["field"].as_str().unwrap_or_default();
    match cause["reason"].as_str() {
        Some("FieldManagerConflict") => format!("{}: {field}", cause["message"].as_str().unwrap_or_default()),
        reason => format!("{reason:?}: {field}"),
    }
}

fn without_nulls(value: &Json) -> Json {
    match value {
        Json::Object(fields) => {
            let kept = fields.iter().filter(|(_, value)| !value.is_null());
            Json::Object(kept.map(|(name, value)| (name.clone(), without_nulls(value))).collect())
        }
        Json::Array(items) => Json::Array(items.iter().map(without_nulls).collect()),
        other => other.clone(),
    }
}

/// A request, with `THE-UID` and `THE-VERSION` in place of the values that the object has on the
/// server.
#[derive(Debug)]
struct Drawn {
    method: &'static str,
    path: String,
    query: String,
    content: Option<(&'static str, Json)>,
}

const APPLY: &str = "application/apply-patch+yaml";
const MERGE: &str = "application/merge-patch+json";
const JSON_PATCH: &str = "application/json-patch+json";

fn draw(draw: &mut Draw, namespace: &str) -> Drawn {
    let (kind, name) = *draw.of(&[("ConfigMap", "a"), ("ConfigMap", "b"), ("Deployment", "d"), ("Widget", "w")]);
    let collection = match kind {
        "ConfigMap" => format!("/api/v1/namespaces/{namespace}/configmaps"),
        "Deployment" => format!("/apis/apps/v1/namespaces/{namespace}/deployments"),
        _ => format!("/apis/sim.setpoint.dev/v1/namespaces/{namespace}/widgets"),
    };
    let path = format!("{collection}/{name}");
    let manager = *draw.of(&["ours", "flux", "ada"]);
    match draw.below(20) {
        0..=8 => {
            let mut body = object(draw, kind, name);
            if draw.chance(30) {
                body["metadata"]["resourceVersion"] = json!(*draw.of(&["THE-VERSION", "THE-VERSION", "1"]));
            }
            if draw.chance(30) {
                body["metadata"]["uid"] = json!(*draw.of(&["THE-UID", "THE-UID", "other"]));
            }
            let force = draw.chance(40);
            let dry = if draw.chance(15) { "&dryRun=All" } else { "" };
            let query = format!("?fieldManager={manager}&fieldValidation=Strict&force={force}{dry}");
            Drawn { method: "PATCH", path, query, content: Some((APPLY, body)) }
        }
        9..=12 => {
            let query = format!("?fieldManager={}", draw.of(&["kubectl-edit", "ours", "hpa"]));
            Drawn { method: "PATCH", path, query, content: Some((MERGE, edit(draw, kind))) }
        }
        13 => {
            let pointer = match kind {
                "ConfigMap" => *draw.of(&["/data/x", "/metadata/labels/l"]),
                "Deployment" => *draw.of(&["/spec/template/spec/containers/1", "/metadata/labels/l"]),
                _ => *draw.of(&["/spec/parts/0", "/spec/size"]),
            };
            let held =
                json!({"op": "replace", "path": "/metadata/resourceVersion", "value": draw.of(&["THE-VERSION", "1"])});
            let patch = json!([held, {"op": "remove", "path": pointer}]);
            Drawn {
                method: "PATCH",
                path,
                query: format!("?fieldManager={manager}"),
                content: Some((JSON_PATCH, patch)),
            }
        }
        14 => {
            let body = object(draw, kind, name);
            Drawn {
                method: "POST",
                path: collection,
                query: format!("?fieldManager={manager}"),
                content: Some((JSON, body)),
            }
        }
        15 => {
            let cleared = json!({"metadata": {"managedFields": [{}]}});
            Drawn { method: "PATCH", path, query: "?fieldManager=x".into(), content: Some((MERGE, cleared)) }
        }
        16 => {
            let finalizers = if draw.chance(70) { json!(null) } else { json!(["sim.setpoint.dev/hold"]) };
            let patch = json!({"metadata": {"finalizers": finalizers}});
            Drawn { method: "PATCH", path, query: "?fieldManager=holder".into(), content: Some((MERGE, patch)) }
        }
        17 => {
            let mut held = json!({"uid": draw.of(&["THE-UID", "THE-UID", "other"])});
            if draw.chance(50) {
                held["resourceVersion"] = json!(draw.of(&["THE-VERSION", "1"]));
            }
            let options = json!({"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": held,
                "propagationPolicy": "Background"});
            Drawn { method: "DELETE", path, query: String::new(), content: Some((JSON, options)) }
        }
        18 if kind == "Widget" => {
            let status = json!({"status": {"phase": draw.of(&["Ready", "Failed"])}, "spec": {"content": 99}});
            Drawn {
                method: "PATCH",
                path: format!("{path}/status"),
                query: "?fieldManager=controller".into(),
                content: Some((MERGE, status)),
            }
        }
        _ => Drawn { method: "GET", path, query: String::new(), content: None },
    }
}

const JSON: &str = "application/json";

/// Draws an object to apply or create: some of the fields, with few values, so that writers
/// collide.
fn object(draw: &mut Draw, kind: &str, name: &str) -> Json {
    let mut object = match kind {
        "ConfigMap" => {
            let mut data = json!({});
            for field in ["x", "y", "z"] {
                if draw.chance(60) {
                    data[field] = json!(*draw.of(&["1", "2"]));
                }
            }
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data})
        }
        "Deployment" => deployment(draw, name),
        _ => {
            let mut spec = json!({"content": draw.below(2)});
            if draw.chance(40) {
                spec["size"] = json!(1 + draw.below(3));
            }
            if draw.chance(60) {
                let parts = ["p", "q", "r"].iter().filter(|_| draw.chance(60));
                spec["parts"] = parts.map(|name| json!({"name": name, "count": 1})).collect();
            }
            json!({"apiVersion": "sim.setpoint.dev/v1", "kind": "Widget", "metadata": {"name": name}, "spec": spec})
        }
    };
    if draw.chance(50) {
        object["metadata"]["labels"] = json!({"l": draw.of(&["1", "2"])});
    }
    if draw.chance(30) {
        object["metadata"]["annotations"] = json!({"note.example/n": draw.of(&["1", "2"])});
    }
    object
}

fn deployment(draw: &mut Draw, name: &str) -> Json {
    let mut containers = vec![json!({"name": "main", "image": draw.of(&["app:1", "app:2"])})];
    if draw.chance(40) {
        containers.push(json!({"name": "side", "image": "side:1", "args": ["-v"]}));
    }
    if draw.chance(40) {
        containers[0]["env"] = json!([{"name": "A", "value": draw.of(&["1", "2"])}]);
    }
    let mut spec = json!({
        "selector": {"matchLabels": {"app": "d"}},
        "template": {"metadata": {"labels": {"app": "d"}}, "spec": {"containers": containers}},
    });
    if draw.chance(50) {
        spec["replicas"] = json!(1 + draw.below(2));
    }
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": spec})
}

/// Draws a manual edit.
fn edit(draw: &mut Draw, kind: &str) -> Json {
    if draw.chance(25) {
        return json!({"metadata": {"labels": {"l": draw.of(&[json!("1"), json!("3"), Json::Null])}}});
    }
    match kind {
        "ConfigMap" => {
            let field = *draw.of(&["x", "y", "z"]);
            json!({"data": {field: draw.of(&[json!("1"), json!("3"), Json::Null])}})
        }
        "Deployment" => json!({"spec": {"replicas": 1 + draw.below(3)}}),
        _ => match draw.below(3) {
            0 => json!({"spec": {"content": draw.below(3)}}),
            1 => json!({"spec": {"size": draw.of(&[json!(7), Json::Null])}}),
            _ => json!({"spec": {"parts": [{"name": "q", "count": 2}, {"name": "s", "count": 1}]}}),
        },
    }
}

fn definition() -> Json {
    let part = json!({"type": "object", "required": ["name"],
        "properties": {"name": {"type": "string"}, "count": {"type": "integer"}}});
    let spec = json!({"type": "object", "properties": {
        "content": {"type": "integer"}, "size": {"type": "integer", "default": 3},
        "parts": {"type": "array", "items": part, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]},
    }});
    let condition = json!({"type": "object", "required": ["type"],
        "properties": {"type": {"type": "string"}, "status": {"type": "string"}, "reason": {"type": "string"}}});
    let conditions = json!({"type": "array", "items": condition,
        "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]});
    let status = json!({"type": "object", "properties": {"phase": {"type": "string"}, "conditions": conditions}});
    let schema = json!({"openAPIV3Schema": {"type": "object", "properties": {"spec": spec, "status": status}}});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.sim.setpoint.dev"},
        "spec": {
            "group": "sim.setpoint.dev", "scope": "Namespaced",
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": schema, "subresources": {"status": {}}}],
        },
    })
}

fn define(server: &ApiServer, namespace: &str) {
    let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.sim.setpoint.dev";
    server.apply(path, "test", &definition());
    let widgets = format!("/apis/sim.setpoint.dev/v1/namespaces/{namespace}/widgets/none?fieldManager=x&dryRun=All");
    let probe = json!({"apiVersion": "sim.setpoint.dev/v1", "kind": "Widget", "metadata": {"name": "none"},
        "spec": {"content": 1}})
    .to_string();
    // The defaults show whether its schema is known too.
    let is_served = |_| server.request("PATCH", &widgets, Some((APPLY, probe.as_bytes()))).body.contains("\"size\":3");
    assert!((0..5_000).any(is_served), "the definition is not served");
}

#[test]
fn the_same_requests_have_the_same_answers_as_of_the_real_server() {
    let server = ApiServer::shared();
    let first = server.fresh_namespace("kube-world");
    define(server, &first);
    let mut differences = Vec::new();
    for seed in 0..SEEDS {
        let namespace = server.fresh_namespace("kube-world");
        let mut memory = Server::new("memory");
        let place = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
        let content = (JSON.to_owned(), place.to_string().into_bytes());
        memory.answer(&Request::new(Method::Post, "/api/v1/namespaces", JSON, Some(content)));
        let mut sides = [
            Side {
                send: Box::new(|method, path, content| in_memory(&mut memory, method, path, content)),
                seen: BTreeMap::new(),
            },
            Side {
                send: Box::new(|method, path, content| on_server(server, method, path, content)),
                seen: BTreeMap::new(),
            },
        ];
        let mut source = Draw(seed);
        for n in 0..REQUESTS {
            let drawn = draw(&mut source, &namespace);
            let [ours, theirs] = [0, 1].map(|side| sides[side].ask(&drawn));
            if ours != theirs {
                differences.push(format!("request {n} of seed {seed}: {drawn:?}\nin memory {ours:#}\nreal {theirs:#}"));
                break;
            }
        }
    }
    assert!(differences.is_empty(), "{} of {SEEDS} differ:\n{}", differences.len(), differences.join("\n\n"));
}

fn in_memory(server: &mut Server, method: &str, path: &str, content: Content<'_>) -> (u16, Json) {
    let method = match method {
        "GET" => Method::Get,
        "POST" => Method::Post,
        "PATCH" => Method::Patch,
        _ => Method::Delete,
    };
    let content = content.map(|(how, bytes)| (how.to_owned(), bytes.to_vec()));
    match server.answer(&Request::new(method, path, JSON, content)) {
        Reply::Answer { code, bytes } => (code, serde_json::from_slice(&bytes).unwrap_or(Json::Null)),
        Reply::Stream(_) => panic!("nobody asked for a stream"),
    }
}

fn on_server(server: &ApiServer, method: &str, path: &str, content: Content<'_>) -> (u16, Json) {
    let answer = server.request(method, path, content);
    (answer.status, serde_json::from_str(&answer.body).unwrap_or(Json::Null))
}
