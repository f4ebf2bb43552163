//! Custom kinds of the tests.

use serde_json::{Value as Json, json};

use super::scene::{Scene, until};

impl Scene {
    /// Returns the group of the kinds that only this scene has.
    pub(crate) fn group(&self) -> String {
        format!("{}.example.com", self.namespace)
    }

    /// Defines a namespaced kind with this schema of its `spec`, and waits until it is served.
    /// Returns its apiVersion.
    pub(crate) async fn define(&self, kind: &str, spec: &Json) -> String {
        let version = version("v1", true, spec);
        self.define_as(&self.definition(kind, "Namespaced", &json!([version]))).await;
        format!("{}/v1", self.group())
    }

    /// Builds a definition, as an app would declare it.
    pub(crate) fn definition(&self, kind: &str, scope: &str, versions: &Json) -> Json {
        let (group, singular) = (self.group(), kind.to_lowercase());
        json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": format!("{singular}s.{group}")},
            "spec": {
                "group": group, "scope": scope, "versions": versions,
                "names": {"plural": format!("{singular}s"), "singular": singular, "kind": kind},
            },
        })
    }

    /// Applies a definition as another manager, and waits until this target can observe objects of
    /// the kind.
    pub(crate) async fn define_as(&self, definition: &Json) {
        self.server.apply(&Self::path(&self.resource(definition)), "definer", definition);
        let spec = &definition["spec"];
        let version = spec["versions"].as_array().unwrap().last().unwrap();
        let mut object = json!({
            "apiVersion": format!("{}/{}", self.group(), version["name"].as_str().unwrap()), "kind": spec["names"]["kind"],
            "metadata": {"name": "nobody"},
        });
        if spec["scope"] == "Namespaced" {
            object["metadata"]["namespace"] = json!(self.namespace);
        }
        let nobody = self.resource(&object);
        let path = Self::path(&nobody);
        let served = async || self.server.request("GET", &path, None).body.contains("\\\"nobody\\\" not found");
        until("the kind is served", served).await;
        until("the kind is found", async || self.observe(&nobody).await.is_known()).await;
    }
}

/// Builds one version of a definition, with this schema of its `spec` and any status.
pub(crate) fn version(name: &str, stored: bool, spec: &Json) -> Json {
    let status = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let properties = json!({"spec": spec, "status": status});
    json!({
        "name": name, "served": true, "storage": stored, "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": {"type": "object", "properties": properties}},
    })
}

/// Builds the schema of a map with these fields.
pub(crate) fn fields(properties: &Json) -> Json {
    json!({"type": "object", "properties": properties})
}
