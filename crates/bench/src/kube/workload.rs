//! The managed objects: the same for us, for the bare client and for kubectl.

use serde_json::{Value, json};

/// One object, and its path.
#[derive(Debug, Clone)]
pub(super) struct Object {
    group: &'static str,
    resource: &'static str,
    name: String,
    pub(super) body: Value,
}

impl Object {
    fn new(group: &'static str, resource: &'static str, kind: &str, name: String, rest: Value) -> Self {
        let version = group.trim_start_matches("/apis/").trim_start_matches("/api/");
        let mut body = json!({"apiVersion": version, "kind": kind, "metadata": {"name": name}});
        if let (Value::Object(body), Value::Object(rest)) = (&mut body, rest) {
            body.extend(rest);
        }
        Self { group, resource, name, body }
    }

    /// Returns its path on the server.
    pub(super) fn path(&self, namespace: &str) -> String {
        format!("{}/namespaces/{namespace}/{}/{}", self.group, self.resource, self.name)
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn is(&self, resource: &str) -> bool {
        self.resource == resource
    }
}

/// Returns an app of Flux's own benchmark: podinfo without pods. Its upgrade changes `millicores`.
pub(super) fn flux(number: usize, millicores: usize) -> [Object; 4] {
    let name = format!("podinfo-{number:05}");
    let labels = json!({"app.kubernetes.io/name": name});
    let account = Object::new("/api/v1", "serviceaccounts", "ServiceAccount", name.clone(), json!({}));
    let ports = json!([
        {"name": "http", "port": 9898, "protocol": "TCP", "targetPort": "http"},
        {"name": "grpc", "port": 9999, "protocol": "TCP", "targetPort": "grpc"},
    ]);
    let service = json!({"spec": {"type": "ClusterIP", "selector": labels, "ports": ports}});
    let service = Object::new("/api/v1", "services", "Service", name.clone(), service);
    let container = json!({
        "name": "podinfo",
        "image": "ghcr.io/stefanprodan/podinfo:6.5.3",
        "imagePullPolicy": "IfNotPresent",
        "command": ["./podinfo", "--port=9898", "--grpc-port=9999", "--level=info"],
        "env": [{"name": "PODINFO_UI_COLOR", "value": "#34577c"}],
        "ports": [
            {"name": "http", "containerPort": 9898, "protocol": "TCP"},
            {"name": "grpc", "containerPort": 9999, "protocol": "TCP"},
        ],
        "livenessProbe": {"exec": {"command": ["podcli", "check", "http", "localhost:9898/healthz"]}, "initialDelaySeconds": 5, "timeoutSeconds": 5},
        "readinessProbe": {"exec": {"command": ["podcli", "check", "http", "localhost:9898/readyz"]}, "initialDelaySeconds": 5, "timeoutSeconds": 5},
        "resources": {"limits": {"memory": "64Mi"}, "requests": {"cpu": format!("{millicores}m"), "memory": "16Mi"}},
    });
    let template =
        json!({"metadata": {"labels": labels}, "spec": {"serviceAccountName": name, "containers": [container]}});
    let deployment = json!({"spec": {
        "replicas": 0,
        "minReadySeconds": 3,
        "revisionHistoryLimit": 5,
        "progressDeadlineSeconds": 60,
        "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 0}},
        "selector": {"matchLabels": labels},
        "template": template,
    }});
    let deployment = Object::new("/apis/apps/v1", "deployments", "Deployment", name.clone(), deployment);
    let backend = json!({"service": {"name": name, "port": {"number": 9898}}});
    let paths = json!([{"path": "/", "pathType": "Prefix", "backend": backend}]);
    let ingress = json!({"spec": {
        "ingressClassName": "nginx",
        "rules": [{"host": format!("{name}.example.com"), "http": {"paths": paths}}],
    }});
    let ingress = Object::new("/apis/networking.k8s.io/v1", "ingresses", "Ingress", name, ingress);
    [account, service, deployment, ingress]
}

/// Returns a Deployment without pods, which its controller counts as available.
pub(super) fn deployment(name: String) -> Object {
    let labels = json!({"app": name});
    let containers = json!([{"name": "main", "image": "example.com/main:1"}]);
    let template = json!({"metadata": {"labels": labels}, "spec": {"containers": containers}});
    let spec = json!({"replicas": 0, "selector": {"matchLabels": labels}, "template": template});
    Object::new("/apis/apps/v1", "deployments", "Deployment", name, json!({"spec": spec}))
}

/// Returns a ConfigMap of about this many bytes.
pub(super) fn config_map(name: String, bytes: usize) -> Object {
    let data = json!({"data": {"number": name, "filler": "x".repeat(bytes)}});
    Object::new("/api/v1", "configmaps", "ConfigMap", name, data)
}

/// Returns an app of ten objects that need no controller to be healthy: eight ConfigMaps, an
/// account and a Service.
pub(super) fn resting(number: usize) -> Vec<Object> {
    let name = format!("app-{number:05}");
    let mut objects: Vec<Object> = (0..8).map(|part| config_map(format!("{name}-{part}"), 200)).collect();
    objects.push(Object::new("/api/v1", "serviceaccounts", "ServiceAccount", name.clone(), json!({})));
    let service = json!({"spec": {"selector": {"app": name}, "ports": [{"name": "http", "port": 80}]}});
    objects.push(Object::new("/api/v1", "services", "Service", name, service));
    objects
}

/// Returns one text that declares the objects. Every JSON document is a YAML document.
pub(super) fn documents(objects: &[Object]) -> String {
    let texts: Vec<String> = objects.iter().map(|object| format!("{}\n", object.body)).collect();
    texts.join("---\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_upgrade_touches_the_deployment_alone() {
        let (before, after) = (flux(7, 1), flux(7, 2));
        let changed: Vec<String> = before
            .iter()
            .zip(&after)
            .filter(|(before, after)| before.body != after.body)
            .map(|(before, _)| before.path("n"))
            .collect();
        assert_eq!(changed, ["/apis/apps/v1/namespaces/n/deployments/podinfo-00007"]);
    }

    #[test]
    fn a_resting_app_has_ten_objects_with_places_of_their_own() {
        let objects = resting(3);
        let paths: std::collections::BTreeSet<String> = objects.iter().map(|object| object.path("n")).collect();
        assert_eq!((objects.len(), paths.len()), (10, 10));
        assert_eq!(documents(&objects).matches("apiVersion").count(), 10);
        assert_eq!(objects[8].body["apiVersion"], "v1");
    }
}
