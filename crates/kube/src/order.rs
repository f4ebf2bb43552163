//! The prerequisites of an object: its namespace, its definition, the objects it refers to, and the
//! workloads behind the webhooks and APIs that the server calls; and the wave that an object sets
//! for itself.

use std::collections::{BTreeMap, BTreeSet};
use std::num::ParseIntError;

use setpoint_core::key::Key;
use setpoint_core::value::Value;

use crate::key::{class, group_and_kind, group_of};
use crate::kinds::{level, pod_spec};
use crate::object;

/// Returns the prerequisites that the key implies: the namespace.
pub fn implied(key: &Key) -> Vec<Key> {
    if key.namespace().is_empty() {
        return Vec::new();
    }
    Key::new("Namespace", "", key.namespace()).into_iter().collect()
}

/// Returns group and kind that a CustomResourceDefinition defines.
pub fn defines(body: &Value) -> Option<(&str, &str)> {
    let is_definition = object::kind(body) == Some("CustomResourceDefinition")
        && object::api_version(body).map(group_of) == Some("apiextensions.k8s.io");
    let text = |fields: &[&str]| object::at(body, fields)?.as_str();
    is_definition.then_some((text(&["spec", "group"])?, text(&["spec", "names", "kind"])?))
}

/// Returns for each resource of an app the others that must exist before it.
///
/// Every edge leads to a lower [`level`], so no two objects can wait for each other, whatever they
/// refer to.
pub fn after(resources: &[(Key, &Value)]) -> BTreeMap<Key, BTreeSet<Key>> {
    let declared: BTreeSet<&Key> = resources.iter().map(|(key, _)| key).collect();
    let definitions: BTreeMap<String, &Key> = resources
        .iter()
        .filter_map(|(key, body)| defines(body).map(|(group, kind)| (class(group, kind), key)))
        .collect();
    let level_of = |key: &Key| {
        let (group, kind) = group_and_kind(key.class());
        level(group, kind)
    };
    let backends = backends(resources);
    let before = |(key, body): &(Key, &Value)| {
        let definition = definitions.get(key.class()).map(|key| (*key).clone());
        let needed = references(key, body);
        let called = needed.iter().filter(|_| is_called_by_the_server(key));
        let behind: Vec<Key> = called.filter_map(|key| backends.get(key)).flatten().copied().cloned().collect();
        let all = needed.into_iter().chain(behind).chain(definition);
        all.filter(|other| declared.contains(other) && level_of(other) < level_of(key)).collect()
    };
    resources.iter().map(|resource| (resource.0.clone(), before(resource))).collect()
}

/// Reports whether the server itself calls this object's workload: webhooks and other APIs. They
/// come after the workloads behind them: otherwise every request that the server passes to them
/// would fail.
fn is_called_by_the_server(key: &Key) -> bool {
    matches!(group_and_kind(key.class()).0, "admissionregistration.k8s.io" | "apiregistration.k8s.io")
}

/// Returns the workloads behind each Service of the app.
fn backends<'r>(resources: &'r [(Key, &Value)]) -> BTreeMap<&'r Key, Vec<&'r Key>> {
    let services = resources.iter().filter(|(key, _)| key.class() == "Service");
    let behind = |(key, service): &'r (Key, &Value)| {
        let Some(Value::Map(selector)) = object::at(service, &["spec", "selector"]) else { return (key, Vec::new()) };
        let selects = |labels: &Value| selector.iter().all(|(name, value)| labels.get(name) == Some(value));
        let workloads = resources.iter().filter(|(other, body)| {
            other.namespace() == key.namespace() && !selector.is_empty() && pod_labels(other, body).is_some_and(selects)
        });
        (key, workloads.map(|(key, _)| key).collect())
    };
    services.map(behind).collect()
}

fn pod_labels<'v>(key: &Key, body: &'v Value) -> Option<&'v Value> {
    let (group, kind) = group_and_kind(key.class());
    let (_, pod) = pod_spec(group, kind)?.split_last()?;
    object::at(object::at(body, pod)?, &["metadata", "labels"])
}

/// The annotation with which an object sets its wave.
pub const WAVE_ANNOTATION: &str = "setpoint.dev/wave";

/// Returns the wave that an object sets; `None` if it sets none.
pub fn wave(body: &Value) -> Result<Option<i32>, ParseIntError> {
    object::annotation(body, WAVE_ANNOTATION).map(str::parse).transpose()
}

/// Returns all prerequisites of an object: its namespace, and the objects that its body refers to.
pub fn references(key: &Key, body: &Value) -> Vec<Key> {
    let (group, kind) = group_and_kind(key.class());
    let mut found = References { namespace: key.namespace(), keys: implied(key) };
    if let Some(pod) = pod_spec(group, kind).and_then(|fields| object::at(body, fields)) {
        found.pod(pod);
    }
    let spec = body.get("spec");
    match (group, kind) {
        ("", "PersistentVolumeClaim") => found.claim(spec),
        ("", "Secret") => {
            found.here("ServiceAccount", object::annotation(body, "kubernetes.io/service-account.name"));
        }
        ("apps", "StatefulSet") => {
            found.here("Service", text(spec, "serviceName"));
            for template in items(spec, "volumeClaimTemplates") {
                found.claim(template.get("spec"));
            }
        }
        ("rbac.authorization.k8s.io", "RoleBinding" | "ClusterRoleBinding") => found.binding(body),
        ("networking.k8s.io", "Ingress") => found.ingress(spec),
        ("autoscaling", "HorizontalPodAutoscaler") => found.scaled(spec.and_then(|spec| spec.get("scaleTargetRef"))),
        ("apiregistration.k8s.io", "APIService") => found.service(spec.and_then(|spec| spec.get("service"))),
        ("admissionregistration.k8s.io", _) => {
            for webhook in items(Some(body), "webhooks") {
                found.service(object::at(webhook, &["clientConfig", "service"]));
            }
        }
        _ => {}
    }
    found.keys
}

fn text<'v>(value: Option<&'v Value>, field: &str) -> Option<&'v str> {
    value?.get(field)?.as_str()
}

fn items<'v>(value: Option<&'v Value>, field: &str) -> &'v [Value] {
    match value.and_then(|value| value.get(field)) {
        Some(Value::Seq(items)) => items,
        _ => &[],
    }
}

struct References<'k> {
    namespace: &'k str,
    keys: Vec<Key>,
}

impl References<'_> {
    /// A name that no object can have refers to nothing: the server decides whether that is an
    /// error.
    fn add(&mut self, class: &str, namespace: &str, name: Option<&str>) {
        self.keys.extend(name.and_then(|name| Key::new(class, namespace, name).ok()));
    }

    fn here(&mut self, class: &str, name: Option<&str>) {
        let namespace = self.namespace.to_owned();
        self.add(class, &namespace, name);
    }

    fn pod(&mut self, pod: &Value) {
        let spec = Some(pod);
        self.here("ServiceAccount", text(spec, "serviceAccountName"));
        self.add("scheduling.k8s.io/PriorityClass", "", text(spec, "priorityClassName"));
        self.add("node.k8s.io/RuntimeClass", "", text(spec, "runtimeClassName"));
        for secret in items(spec, "imagePullSecrets") {
            self.here("Secret", text(Some(secret), "name"));
        }
        for volume in items(spec, "volumes") {
            self.here("Secret", text(volume.get("secret"), "secretName"));
            self.here("PersistentVolumeClaim", text(volume.get("persistentVolumeClaim"), "claimName"));
            self.source(volume);
            for source in items(volume.get("projected"), "sources") {
                self.source(source);
            }
        }
        for list in ["initContainers", "containers"] {
            for container in items(spec, list) {
                self.container(container);
            }
        }
    }

    fn source(&mut self, source: &Value) {
        self.here("ConfigMap", text(source.get("configMap"), "name"));
        self.here("Secret", text(source.get("secret"), "name"));
    }

    fn container(&mut self, container: &Value) {
        for variable in items(Some(container), "env") {
            let from = variable.get("valueFrom");
            self.here("ConfigMap", text(from.and_then(|from| from.get("configMapKeyRef")), "name"));
            self.here("Secret", text(from.and_then(|from| from.get("secretKeyRef")), "name"));
        }
        for from in items(Some(container), "envFrom") {
            self.here("ConfigMap", text(from.get("configMapRef"), "name"));
            self.here("Secret", text(from.get("secretRef"), "name"));
        }
    }

    fn claim(&mut self, spec: Option<&Value>) {
        self.add("storage.k8s.io/StorageClass", "", text(spec, "storageClassName"));
        self.add("PersistentVolume", "", text(spec, "volumeName"));
    }

    fn binding(&mut self, body: &Value) {
        let role = body.get("roleRef");
        match text(role, "kind") {
            Some("ClusterRole") => self.add("rbac.authorization.k8s.io/ClusterRole", "", text(role, "name")),
            Some("Role") => self.here("rbac.authorization.k8s.io/Role", text(role, "name")),
            _ => {}
        }
        for subject in items(Some(body), "subjects") {
            if text(Some(subject), "kind") == Some("ServiceAccount") {
                let namespace = text(Some(subject), "namespace").unwrap_or_default();
                self.add("ServiceAccount", namespace, text(Some(subject), "name"));
            }
        }
    }

    fn ingress(&mut self, spec: Option<&Value>) {
        self.add("networking.k8s.io/IngressClass", "", text(spec, "ingressClassName"));
        for tls in items(spec, "tls") {
            self.here("Secret", text(Some(tls), "secretName"));
        }
        let backend = |value: Option<&Value>| value.and_then(|value| value.get("service")).cloned();
        self.here("Service", text(backend(spec.and_then(|spec| spec.get("defaultBackend"))).as_ref(), "name"));
        for rule in items(spec, "rules") {
            for path in items(rule.get("http"), "paths") {
                self.here("Service", text(backend(path.get("backend")).as_ref(), "name"));
            }
        }
    }

    fn scaled(&mut self, target: Option<&Value>) {
        if let Some(kind) = text(target, "kind") {
            let group = text(target, "apiVersion").map_or("", group_of);
            self.here(&class(group, kind), text(target, "name"));
        }
    }

    fn service(&mut self, service: Option<&Value>) {
        let namespace = text(service, "namespace").unwrap_or_default();
        self.add("Service", namespace, text(service, "name"));
    }
}

#[cfg(test)]
mod tests {
    use setpoint_core::graph;

    use super::*;
    use crate::samples::{key_of, read};

    fn app(objects: &[&str]) -> BTreeMap<String, Vec<String>> {
        let objects: Vec<Value> = objects.iter().map(|text| read(text)).collect();
        let resources: Vec<(Key, &Value)> = objects.iter().map(|object| (key_of(object), object)).collect();
        let after = after(&resources);
        assert!(graph::ranks(&after).is_ok(), "nothing waits for itself");
        after.into_iter().map(|(key, before)| (key.to_text(), before.iter().map(Key::to_text).collect())).collect()
    }

    #[test]
    fn a_workload_comes_after_all_that_its_pods_refer_to() {
        let after = app(&[
            r#"{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"web"}}"#,
            r#"{"apiVersion":"v1","kind":"ServiceAccount","metadata":{"name":"shop","namespace":"web"}}"#,
            r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"settings","namespace":"web"}}"#,
            r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"unrelated","namespace":"web"}}"#,
            r#"{"apiVersion":"v1","kind":"Secret","metadata":{"name":"tls","namespace":"web"}}"#,
            r#"{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"shop","namespace":"web"},"spec":{"template":{"spec":{
              "serviceAccountName":"shop","volumes":[{"projected":{"sources":[{"secret":{"name":"tls"}}]}}],
              "containers":[{"env":[{"valueFrom":{"configMapKeyRef":{"name":"settings"}}},{"valueFrom":{"secretKeyRef":{"name":"elsewhere"}}}]}]}}}}"#,
        ]);
        assert_eq!(
            after["apps/Deployment:web:shop"],
            ["ConfigMap:web:settings", "Namespace::web", "Secret:web:tls", "ServiceAccount:web:shop"]
        );
        assert_eq!(after["ConfigMap:web:unrelated"], ["Namespace::web"]);
    }

    #[test]
    fn a_custom_resource_comes_after_its_definition() {
        let after = app(&[
            r#"{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"things.example.com"},
              "spec":{"group":"example.com","names":{"kind":"Thing","plural":"things"}}}"#,
            r#"{"apiVersion":"example.com/v1alpha1","kind":"Thing","metadata":{"name":"a"}}"#,
            r#"{"apiVersion":"other.com/v1","kind":"Thing","metadata":{"name":"a"}}"#,
        ]);
        let definition = ["apiextensions.k8s.io/CustomResourceDefinition::things.example.com"];
        assert_eq!(after["example.com/Thing::a"], definition);
        assert_eq!(after["other.com/Thing::a"], [] as [&str; 0]);
    }

    #[test]
    fn bindings_claims_routes_and_scalers_come_after_what_they_name() {
        let after = app(&[
            r#"{"apiVersion":"v1","kind":"ServiceAccount","metadata":{"name":"s","namespace":"a"}}"#,
            r#"{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":"r"}}"#,
            r#"{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"RoleBinding","metadata":{"name":"b","namespace":"n"},
              "roleRef":{"kind":"ClusterRole","name":"r"},"subjects":[{"kind":"ServiceAccount","name":"s","namespace":"a"},{"kind":"User","name":"u"}]}"#,
            r#"{"apiVersion":"storage.k8s.io/v1","kind":"StorageClass","metadata":{"name":"fast"}}"#,
            r#"{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"p","namespace":"n"},"spec":{"storageClassName":"fast"}}"#,
            r#"{"apiVersion":"v1","kind":"Service","metadata":{"name":"svc","namespace":"n"}}"#,
            r#"{"apiVersion":"networking.k8s.io/v1","kind":"Ingress","metadata":{"name":"i","namespace":"n"},
              "spec":{"rules":[{"http":{"paths":[{"backend":{"service":{"name":"svc"}}}]}}]}}"#,
            r#"{"apiVersion":"apps/v1","kind":"StatefulSet","metadata":{"name":"db","namespace":"n"},"spec":{"serviceName":"svc"}}"#,
            r#"{"apiVersion":"autoscaling/v2","kind":"HorizontalPodAutoscaler","metadata":{"name":"h","namespace":"n"},
              "spec":{"scaleTargetRef":{"apiVersion":"apps/v1","kind":"StatefulSet","name":"db"}}}"#,
            r#"{"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingWebhookConfiguration","metadata":{"name":"w"},
              "webhooks":[{"clientConfig":{"service":{"name":"svc","namespace":"n"}}}]}"#,
        ]);
        assert_eq!(
            after["rbac.authorization.k8s.io/RoleBinding:n:b"],
            ["ServiceAccount:a:s", "rbac.authorization.k8s.io/ClusterRole::r"]
        );
        assert_eq!(after["PersistentVolumeClaim:n:p"], ["storage.k8s.io/StorageClass::fast"]);
        assert_eq!(after["networking.k8s.io/Ingress:n:i"], ["Service:n:svc"]);
        assert_eq!(after["apps/StatefulSet:n:db"], ["Service:n:svc"]);
        assert_eq!(after["autoscaling/HorizontalPodAutoscaler:n:h"], ["apps/StatefulSet:n:db"]);
        assert_eq!(after["admissionregistration.k8s.io/ValidatingWebhookConfiguration::w"], ["Service:n:svc"]);
    }

    #[test]
    fn what_the_server_calls_comes_after_the_workloads_behind_it() {
        let workload = |name: &str, labels: &str| {
            format!(
                r#"{{"apiVersion":"apps/v1","kind":"Deployment","metadata":{{"name":"{name}","namespace":"n"}},"spec":{{"template":{{
                "metadata":{{"labels":{labels}}},"spec":{{}}}}}}}}"#
            )
        };
        let after = app(&[
            &workload("judge", r#"{"app":"judge","tier":"back"}"#),
            &workload("other", r#"{"app":"other"}"#),
            r#"{"apiVersion":"v1","kind":"Service","metadata":{"name":"svc","namespace":"n"},"spec":{"selector":{"app":"judge"}}}"#,
            r#"{"apiVersion":"v1","kind":"Service","metadata":{"name":"headless","namespace":"n"},"spec":{"selector":{}}}"#,
            r#"{"apiVersion":"networking.k8s.io/v1","kind":"Ingress","metadata":{"name":"i","namespace":"n"},
              "spec":{"defaultBackend":{"service":{"name":"svc"}}}}"#,
            r#"{"apiVersion":"apiregistration.k8s.io/v1","kind":"APIService","metadata":{"name":"v1.x"},
              "spec":{"service":{"name":"headless","namespace":"n"}}}"#,
            r#"{"apiVersion":"admissionregistration.k8s.io/v1","kind":"MutatingWebhookConfiguration","metadata":{"name":"w"},
              "webhooks":[{"clientConfig":{"service":{"name":"svc","namespace":"n"}}}]}"#,
        ]);
        let webhook = &after["admissionregistration.k8s.io/MutatingWebhookConfiguration::w"];
        assert_eq!(*webhook, ["Service:n:svc", "apps/Deployment:n:judge"]);
        assert_eq!(after["networking.k8s.io/Ingress:n:i"], ["Service:n:svc"], "an Ingress may wait for pods by itself");
        assert_eq!(after["apiregistration.k8s.io/APIService::v1.x"], ["Service:n:headless"], "it selects nothing");
    }

    #[test]
    fn an_object_says_in_which_wave_it_comes() {
        let object = |annotations: &str| {
            let metadata = format!(r#""metadata":{{"name":"a","annotations":{{{annotations}}}}}"#);
            read(&format!(r#"{{"apiVersion":"v1","kind":"ConfigMap",{metadata}}}"#))
        };
        assert_eq!(wave(&object(r#""setpoint.dev/wave":"-3""#)), Ok(Some(-3)));
        assert_eq!(wave(&object(r#""x":"1""#)), Ok(None));
        assert!(wave(&object(r#""setpoint.dev/wave":"last""#)).is_err());
    }

    #[test]
    fn a_reference_that_would_make_a_circle_is_no_order() {
        let after = app(&[
            r#"{"apiVersion":"v1","kind":"ServiceAccount","metadata":{"name":"s","namespace":"n"}}"#,
            r#"{"apiVersion":"v1","kind":"Secret","metadata":{"name":"t","namespace":"n","annotations":{"kubernetes.io/service-account.name":"s"}}}"#,
            r#"{"apiVersion":"autoscaling/v2","kind":"HorizontalPodAutoscaler","metadata":{"name":"h","namespace":"n"},
              "spec":{"scaleTargetRef":{"apiVersion":"autoscaling/v2","kind":"HorizontalPodAutoscaler","name":"h"}}}"#,
        ]);
        assert_eq!(after["Secret:n:t"], ["ServiceAccount:n:s"]);
        assert_eq!(after["autoscaling/HorizontalPodAutoscaler:n:h"], [] as [&str; 0]);
    }
}
