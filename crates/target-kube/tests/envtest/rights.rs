//! Targets with few rights.

use serde_json::{Value as Json, json};
use setpoint_target_kube::KubeOptions;

use super::scene::{Scene, wire};

impl Scene {
    /// Builds a target with its own user, which has these rights in the scene's namespace, and the
    /// right to read the cluster's identity.
    pub(crate) async fn with_rights(name: &str, rules: &Json, adjust: impl FnOnce(&mut KubeOptions)) -> Self {
        let mut scene = Self::new(name).await;
        let (server, namespace) = (scene.server, scene.namespace.clone());
        let token = server.service_account(&namespace, "tenant");
        let user = format!("system:serviceaccount:{namespace}:tenant");
        server.grant(&user, &scene.role("all", rules), Some(&namespace));
        let who = json!([{"apiGroups": [""], "resources": ["namespaces"], "verbs": ["get"]}]);
        server.grant(&user, &scene.role("who", &who), None);
        let kubeconfig = scene.proxy.kubeconfig(server, &token);
        scene.restart(|options| {
            options.wire = wire(&kubeconfig);
            adjust(options);
        });
        scene
    }

    /// Creates a role that no other test has.
    pub(crate) fn role(&self, part: &str, rules: &Json) -> String {
        let name = format!("{}-{part}", self.namespace);
        let role = json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": name}, "rules": rules,
        });
        self.server.create("/apis/rbac.authorization.k8s.io/v1/clusterroles", &role);
        name
    }
}
