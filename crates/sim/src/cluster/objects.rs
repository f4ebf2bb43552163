//! The objects that apps declare on a cluster, and the comparison of a live object with them.

use serde_json::{Value as Json, json};
use setpoint_core::key::Key;
use setpoint_core::resource::{Resource, SharedField};
use setpoint_core::value::Value;
use setpoint_kube_world::schema::KINDS;
use setpoint_kube_world::{Place, Stored};

use super::MANAGER;

/// The namespace of all namespaced objects.
pub(crate) const NAMESPACE: &str = "sim";
/// The declared number of replicas. Other writers may set another number, and keep it.
const REPLICAS: u32 = 2;
/// The path that co-owners may write.
pub(crate) const CO_OWNED: &str = ".spec.replicas";

/// Returns a key of a cluster. A number that ends in 7 is a namespace, which is deleted only with a
/// person's permission.
pub(crate) fn key(name: &str, n: usize) -> Key {
    let class = match n {
        7 => "Namespace",
        0 | 3 | 8 | 10 => "ConfigMap",
        1 | 6 => "apps/Deployment",
        4 => "Secret",
        _ => "sim.setpoint.dev/Widget",
    };
    let namespace = if n == 7 { "" } else { NAMESPACE };
    Key::new(class, namespace, name).expect("a valid key")
}

/// Reports whether a key is of a cluster, and not of a plain world.
pub(crate) fn is_of_cluster(key: &Key) -> bool {
    key.class() != "thing"
}

pub(crate) fn place(key: &Key) -> Place {
    let (group, kind) = key.class().split_once('/').unwrap_or(("", key.class()));
    let kind =
        KINDS.iter().position(|known| known.group == group && known.kind == kind).expect("a kind that is served");
    Place { kind, namespace: key.namespace().to_owned(), name: key.name().to_owned() }
}

/// Returns the key of the object at a place.
pub(crate) fn key_at(place: &Place) -> Option<Key> {
    let kind = &KINDS[place.kind];
    let class = if kind.group.is_empty() { kind.kind.to_owned() } else { format!("{}/{}", kind.group, kind.kind) };
    Key::new(&class, &place.namespace, &place.name).ok()
}

/// Returns the path of a place on the server.
pub(crate) fn path(place: &Place) -> String {
    format!("{}/{}", collection(place), place.name)
}

pub(crate) fn collection(place: &Place) -> String {
    let kind = &KINDS[place.kind];
    let root = if kind.group.is_empty() { "/api".to_owned() } else { format!("/apis/{}", kind.group) };
    let within = if kind.namespaced { format!("/namespaces/{}", place.namespace) } else { String::new() };
    format!("{root}/{}{within}/{}", kind.version, kind.plural)
}

/// Returns the declared object for a key and a content.
pub(crate) fn json(key: &Key, content: u32) -> Json {
    let place = place(key);
    let kind = &KINDS[place.kind];
    let text = content.to_string();
    let mut object = match kind.kind {
        "ConfigMap" => json!({"data": {"content": text, "twin": text}}),
        "Secret" => json!({"data": {"content": format!("{text:0>8}")}}),
        "Namespace" => json!({}),
        "Deployment" => {
            let containers =
                json!([{"name": "main", "image": format!("app:{text}")}, {"name": "side", "image": "side:1"}]);
            let labels = json!({"app": key.name()});
            json!({"spec": {
                "replicas": REPLICAS, "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": {"containers": containers}},
            }})
        }
        _ => json!({"spec": {"content": content, "parts": [{"name": "one", "count": content}]}}),
    };
    object["apiVersion"] = json!(kind.api_version());
    object["kind"] = json!(kind.kind);
    object["metadata"] = json!({"name": key.name()});
    if kind.namespaced {
        object["metadata"]["namespace"] = json!(place.namespace);
    }
    if kind.kind == "Namespace" {
        object["metadata"]["labels"] = json!({"content": text});
    }
    object
}

pub(crate) fn body(key: &Key, content: u32) -> Value {
    let bytes = json(key, content).to_string().into_bytes();
    setpoint_kube::object::read(&bytes).expect("it was written as JSON")
}

pub(crate) fn resource(key: &Key, content: u32) -> Resource {
    let kind = &KINDS[place(key).kind];
    // Other writers decide on the number of replicas.
    let shared = (kind.kind == "Deployment").then(|| SharedField { path: "spec.replicas".into(), writer: None });
    Resource {
        protected: kind.kind == "Namespace",
        shared: shared.into_iter().collect(),
        ..Resource::new(key.clone(), kind.api_version(), kind.kind, body(key, content))
    }
}

/// Returns the content of an object, if all its declared fields are as in the declaration of that
/// content.
pub(crate) fn content_of(key: &Key, stored: &Stored) -> Option<u32> {
    let object = &stored.body;
    let holds = |object: &Json, entries: usize| object["data"].as_object().is_some_and(|data| data.len() == entries);
    let number = |text: &Json| text.as_str().and_then(|text| text.parse::<u32>().ok());
    match KINDS[place(key).kind].kind {
        // The declaration of these is complete: additions of strangers are removed.
        "ConfigMap" => number(&object["data"]["content"])
            .filter(|_| object["data"]["twin"] == object["data"]["content"] && holds(object, 2)),
        "Secret" => number(&object["data"]["content"]).filter(|_| holds(object, 1)),
        "Namespace" => number(&object["metadata"]["labels"]["content"]),
        "Deployment" => {
            let containers = object["spec"]["template"]["spec"]["containers"].as_array()?;
            let named = |name: &str| containers.iter().find(|container| container["name"] == name);
            let complete = containers.len() == 2 && named("side")?["image"] == "side:1";
            let replicas = object["spec"]["replicas"] == REPLICAS || stored.others_hold(CO_OWNED, MANAGER);
            let image = named("main")?["image"].as_str()?.strip_prefix("app:")?;
            image.parse().ok().filter(|_| complete && replicas)
        }
        _ => {
            let content = u32::try_from(object["spec"]["content"].as_u64()?).ok()?;
            let parts = object["spec"]["parts"].as_array()?;
            let part = parts.iter().find(|part| part["name"] == "one")?;
            Some(content).filter(|content| part["count"] == *content)
        }
    }
}

/// Reports whether another object controls it.
pub(crate) fn is_controlled(stored: &Stored) -> bool {
    let owners = stored.body["metadata"]["ownerReferences"].as_array();
    owners.is_some_and(|owners| owners.iter().any(|owner| owner["controller"] == true))
}
