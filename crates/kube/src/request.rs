//! The requests for declared objects, and the marks we put on them.

use std::borrow::Cow;
use std::sync::Arc;

use data_encoding::BASE64;
use setpoint_core::fields::Fields;
use setpoint_core::intent::{Expect, IntentId};
use setpoint_core::key::Key;
use setpoint_core::mutant::Mutant;
use setpoint_core::resource::Resource;
use setpoint_core::value::Value;

use crate::key::group_of;
use crate::object;

/// The label with the installation, on every object we apply. It is a filter for watches, never a
/// proof of ownership, since any client can copy it.
pub const INSTALLATION_LABEL: &str = "setpoint.dev/installation";

/// The annotation with the intent, on every object we apply. With it, an effect whose response was
/// lost is found again.
pub const INTENT_ANNOTATION: &str = "setpoint.dev/intent";

/// The annotation with an intent that can no longer take effect, on an object that was being
/// changed when the sender died. Setting it moves the object to a new version.
pub const FENCED_ANNOTATION: &str = "setpoint.dev/fenced";

/// Returns the field manager under which an installation applies.
pub fn field_manager(installation: &str) -> String {
    format!("setpoint-{installation}")
}

/// Returns the field manager that sets [`FENCED_ANNOTATION`]. It is separate because the fields of
/// the other one are the declared ones.
pub fn fencing_manager(installation: &str) -> String {
    format!("setpoint-{installation}-fence")
}

/// Returns the installation that a field manager names. It proves nothing: any writer may use any
/// name.
pub fn installation_of(manager: &str) -> Option<&str> {
    let name = manager.strip_prefix("setpoint-")?;
    Some(name.strip_suffix("-fence").unwrap_or(name)).filter(|name| !name.is_empty())
}

/// Returns the intent of an object's last apply, according to its annotation.
pub fn intent_of(object: &Value) -> Option<IntentId> {
    object::annotation(object, INTENT_ANNOTATION)?.parse().ok()
}

/// Returns the intent that was last fenced off an object, according to its annotation.
pub fn fenced_on(object: &Value) -> Option<IntentId> {
    object::annotation(object, FENCED_ANNOTATION)?.parse().ok()
}

/// Builds the patch that moves an object to a new version, if it is still the expected one, and
/// that names the intent this ends.
pub fn fence(api_version: &str, kind: &str, key: &Key, expect: &Expect, intent: IntentId) -> Value {
    let mut metadata = Fields::new();
    metadata.insert("name".into(), Value::str(key.name()));
    if !key.namespace().is_empty() {
        metadata.insert("namespace".into(), Value::str(key.namespace()));
    }
    mark(&mut metadata, "annotations", FENCED_ANNOTATION, &intent.to_string());
    expected(&mut metadata, expect);
    let (api_version, kind) = (Value::str(api_version), Value::str(kind));
    Value::map([("apiVersion", api_version), ("kind", kind), ("metadata", Value::Map(metadata))])
}

/// The circumstances of a request.
#[derive(Clone, Copy, Debug)]
pub struct Sending<'a> {
    pub installation: &'a str,
    /// The intent; `None` for a dry-run, which leaves no trace.
    pub intent: Option<IntentId>,
    /// The object that must exist: the server refuses the request if it is another one, or has
    /// another version.
    pub expect: Option<&'a Expect>,
}

/// Reports whether a field of `metadata` is set by the server and has no effect in a request.
pub(crate) fn is_left_out(metadata_field: &str) -> bool {
    matches!(metadata_field, "creationTimestamp" | "generation" | "selfLink")
}

/// Reports whether the cluster fills in a field whatever is declared: the status, and the rules of
/// an aggregated role.
pub(crate) fn is_the_clusters(field: &str, body: &Value) -> bool {
    match field {
        "status" => true,
        "rules" => object::kind(body) == Some("ClusterRole") && body.get("aggregationRule").is_some(),
        _ => false,
    }
}

/// Generators write `creationTimestamp: null` into every template. If we sent it, it would be a
/// field of ours.
fn without_null_times(value: &Value) -> Value {
    match value {
        Value::Map(fields) => {
            let kept = fields.iter().filter(|(name, value)| &***name != "creationTimestamp" || **value != Value::Null);
            Value::Map(kept.map(|(name, value)| (Arc::clone(name), without_null_times(value))).collect())
        }
        Value::Seq(items) => Value::Seq(items.iter().map(without_null_times).collect()),
        other => other.clone(),
    }
}

/// Builds the object to send for a resource that no one shares. Secrets in it are still sealed.
pub fn for_request(resource: &Resource, sending: &Sending<'_>) -> Value {
    let Value::Map(fields) = &*resource.body else { return (*resource.body).clone() };
    let group = group_of(&resource.api_version);
    let is_secret = group.is_empty() && &*resource.kind == "Secret";
    let is_kept = |name: &str| match name {
        "metadata" => false,
        "data" | "stringData" => !is_secret,
        _ => !is_the_clusters(name, &resource.body),
    };
    let kept = fields.iter().filter(|(name, _)| is_kept(name));
    let mut sent: Fields = kept.map(|(name, value)| (Arc::clone(name), without_null_times(value))).collect();
    sent.insert("metadata".into(), metadata(resource, sending));
    if is_secret && let Some(data) = secret_data(fields) {
        sent.insert("data".into(), data);
    }
    Value::Map(sent)
}

fn metadata(resource: &Resource, sending: &Sending<'_>) -> Value {
    let mut metadata = match resource.body.get("metadata") {
        Some(Value::Map(fields)) => fields.iter().filter(|(name, _)| !is_left_out(name)).map(pair).collect(),
        _ => Fields::new(),
    };
    let namespace = resource.key.namespace();
    if namespace.is_empty() {
        metadata.remove("namespace");
    } else {
        metadata.insert("namespace".into(), Value::str(namespace));
    }
    mark(&mut metadata, "labels", INSTALLATION_LABEL, sending.installation);
    if let Some(intent) = sending.intent {
        mark(&mut metadata, "annotations", INTENT_ANNOTATION, &intent.to_string());
    }
    if let Some(expect) = sending.expect {
        expected(&mut metadata, expect);
        if Mutant::ApplyWithoutVersion.is_on() {
            metadata.remove("resourceVersion");
        }
    }
    Value::Map(metadata)
}

fn expected(metadata: &mut Fields, Expect { uid, version }: &Expect) {
    metadata.insert("uid".into(), Value::str(uid.as_str()));
    if let Some(version) = version {
        metadata.insert("resourceVersion".into(), Value::str(version.as_str()));
    }
}

fn pair((name, value): (&Arc<str>, &Value)) -> (Arc<str>, Value) {
    (Arc::clone(name), value.clone())
}

fn mark(metadata: &mut Fields, map: &str, name: &str, value: &str) {
    let mut marks = match metadata.remove(map) {
        Some(Value::Map(marks)) => marks,
        _ => Fields::new(),
    };
    marks.insert(name.into(), Value::str(value));
    metadata.insert(map.into(), Value::Map(marks));
}

/// Merges `stringData` into `data`. `stringData` is write-only: the server folds it into `data` and
/// forgets it, so its fields would have no owner.
fn secret_data(fields: &Fields) -> Option<Value> {
    let (data, texts) = (fields.get("data"), fields.get("stringData"));
    let Some(Value::Map(texts)) = texts else { return data.cloned() };
    let mut folded = match data {
        Some(Value::Map(data)) => data.clone(),
        _ => Fields::new(),
    };
    folded.extend(texts.iter().map(|(name, value)| {
        let encoded = match value {
            Value::Str(text) => Cow::Owned(Value::str(&BASE64.encode(text.as_bytes()))),
            other => Cow::Borrowed(other),
        };
        (Arc::clone(name), encoded.into_owned())
    }));
    Some(Value::Map(folded))
}

#[cfg(test)]
mod tests {
    use setpoint_core::key::Key;
    use setpoint_core::name::{LiveVersion, Uid};

    use super::*;

    fn resource(key: &str, body: &str) -> Resource {
        let body = Arc::new(object::read(body.as_bytes()).unwrap());
        Resource::new(
            key.parse::<Key>().unwrap(),
            object::api_version(&body).unwrap(),
            object::kind(&body).unwrap(),
            Arc::clone(&body),
        )
    }

    fn sent(resource: &Resource, sending: &Sending<'_>) -> String {
        String::from_utf8(object::write(&for_request(resource, sending)).unwrap()).unwrap()
    }

    const PLAIN: Sending<'_> = Sending { installation: "one", intent: None, expect: None };

    #[test]
    fn an_object_is_sent_with_our_marks_its_namespace_and_what_it_must_find() {
        let resource = resource(
            "ConfigMap:web:a",
            r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","creationTimestamp":null,"labels":{"x":"y"}},"data":{"k":"v"},"status":{}}"#,
        );
        let expect = Expect { uid: Uid::new("u1").unwrap(), version: Some(LiveVersion::new("7").unwrap()) };
        let intent = IntentId { epoch: 3, number: 17 };
        let sending = Sending { intent: Some(intent), expect: Some(&expect), ..PLAIN };
        assert_eq!(
            sent(&resource, &sending),
            r#"{"apiVersion":"v1","data":{"k":"v"},"kind":"ConfigMap","metadata":{"annotations":{"setpoint.dev/intent":"3-17"},"labels":{"setpoint.dev/installation":"one","x":"y"},"name":"a","namespace":"web","resourceVersion":"7","uid":"u1"}}"#
        );
        assert_eq!(intent_of(&for_request(&resource, &sending)), Some(intent));
    }

    #[test]
    fn class_20_a_cluster_scoped_object_is_sent_without_a_namespace() {
        let resource = resource(
            "rbac.authorization.k8s.io/ClusterRole::a",
            r#"{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":"a","namespace":"web"}}"#,
        );
        assert!(!sent(&resource, &PLAIN).contains("namespace"));
    }

    #[test]
    fn class_5_text_of_a_secret_is_sent_as_data_and_wins() {
        let resource = resource(
            "Secret:web:s",
            r#"{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s"},"data":{"a":"b2xk","b":"Yg=="},"stringData":{"a":"new"}}"#,
        );
        let sent = sent(&resource, &PLAIN);
        assert!(sent.contains(r#""data":{"a":"bmV3","b":"Yg=="}"#) && !sent.contains("stringData"), "{sent}");
    }

    #[test]
    fn class_12_rules_of_an_aggregated_role_are_not_sent() {
        let body = r#"{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":"a"},"aggregationRule":{},"rules":[]}"#;
        assert!(!sent(&resource("rbac.authorization.k8s.io/ClusterRole::a", body), &PLAIN).contains("rules"));
        let plain = body.replace(r#""aggregationRule":{},"#, "");
        assert!(sent(&resource("rbac.authorization.k8s.io/ClusterRole::a", &plain), &PLAIN).contains(r#""rules":[]"#));
    }

    #[test]
    fn null_times_of_generators_are_not_sent() {
        let body = r#"{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"a"},"spec":{"template":{"metadata":{"creationTimestamp":null}},"x":null}}"#;
        let sent = sent(&resource("apps/Deployment:web:a", body), &PLAIN);
        assert!(sent.contains(r#""spec":{"template":{"metadata":{}},"x":null}"#), "{sent}");
    }

    #[test]
    fn a_kind_of_another_group_that_is_called_secret_is_left_alone() {
        let body =
            r#"{"apiVersion":"example.com/v1","kind":"Secret","metadata":{"name":"s"},"stringData":{"a":"new"}}"#;
        assert!(sent(&resource("example.com/Secret:web:s", body), &PLAIN).contains("stringData"));
    }
}
