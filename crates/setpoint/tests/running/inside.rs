//! An agent inside of the Kubernetes cluster that it manages: it uses the service account of its
//! pod, and does not touch the objects it runs from.

mod envtest {
    use std::fs;
    use std::path::PathBuf;

    use serde_json::json;
    use setpoint_api::answer::AppDetail;
    use setpoint_target_kube::OwnCluster;

    use super::super::cluster::envtest::Scene;
    use super::super::lab::Agent;

    impl Scene {
        /// Creates a scene whose agent runs in a pod with an account of the scene's namespace.
        fn inside(name: &str) -> Self {
            let mut scene = Self::new(name);
            let server = scene.server.url();
            let (host, port) = server.strip_prefix("https://").and_then(|at| at.rsplit_once(':')).expect("an address");
            let account = scene.account();
            fs::create_dir(&account).expect("the folder is ours");
            fs::write(account.join("ca.crt"), scene.server.authority()).expect("the folder is ours");
            fs::write(account.join("namespace"), &scene.namespace).expect("the folder is ours");
            scene.lab.own_cluster = Some(OwnCluster { host: host.to_owned(), port: port.to_owned(), account });
            scene.lab.control("machine", "Target", "{ kind: kubernetes }");
            scene
        }

        /// Returns the directory with the pod's account.
        fn account(&self) -> PathBuf {
            self.lab.path().join("account")
        }

        /// Gives the pod this account, with these permissions, from now on.
        fn becomes(&self, account: &str, role: &str) {
            let token = self.server.service_account(&self.namespace, account);
            self.server.grant(&format!("system:serviceaccount:{}:{account}", self.namespace), role, None);
            // As a kubelet renews it: never partially written.
            let next = self.account().join("next");
            fs::write(&next, token).expect("the folder is ours");
            fs::rename(next, self.account().join("token")).expect("the folder is ours");
        }

        /// Returns a role for ConfigMaps and for reading the identity of the cluster.
        fn narrow_role(&self) -> String {
            let name = format!("{}-narrow", self.namespace);
            let rules = json!([{"apiGroups": [""], "resources": ["configmaps", "namespaces"], "verbs": ["*"]}]);
            let role = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": name}, "rules": rules});
            self.server.create("/apis/rbac.authorization.k8s.io/v1/clusterroles", &role);
            name
        }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn it_enters_by_its_account_and_takes_up_a_renewed_token() {
        let mut scene = Scene::inside("inside");
        scene.becomes("narrow", &scene.narrow_role());
        let elsewhere = scene.server.fresh_namespace("elsewhere");
        // Objects without a namespace go to the namespace that Kubernetes would choose, not to that
        // of the agent.
        let unplaced = format!("{}-unplaced", scene.namespace);
        scene.lab.app("shop").write(
            "apps/shop/maps.yaml",
            &format!(
                "apiVersion: v1\nkind: ConfigMap\nmetadata: {{ name: {unplaced} }}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{ name: placed, \
                 namespace: {elsewhere} }}\n"
            ),
        );
        let head = scene.lab.commit();
        let mut agent = scene.lab.start().await;
        agent.until_converged("shop", &head).await;
        for (namespace, name) in [("default", &*unplaced), (&*elsewhere, "placed")] {
            let answer =
                scene.server.request("GET", &format!("/api/v1/namespaces/{namespace}/configmaps/{name}"), None);
            assert_eq!(answer.status, 200, "{namespace}/{name}: {answer:?}");
        }

        let clerk =
            format!("apiVersion: v1\nkind: ServiceAccount\nmetadata: {{ name: clerk, namespace: {elsewhere} }}\n");
        let head = scene.lab.write("apps/shop/clerk.yaml", &clerk).commit();
        agent.hint().await;
        let told = |detail: &AppDetail| {
            detail
                .report
                .iter()
                .any(|withheld| withheld.key.name() == "clerk" && withheld.why.to_string().contains("forbidden"))
        };
        agent.until_app("shop", "may not do more", told).await;
        scene.becomes("wide", "cluster-admin");
        agent.until_converged("shop", &head).await;
        agent.stop().await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn case_45_no_app_may_declare_what_it_runs_from() {
        let mut scene = Scene::inside("protected");
        scene.becomes("agent", "cluster-admin");
        let own = scene.namespace.clone();
        let elsewhere = scene.server.fresh_namespace("elsewhere");
        let map = |namespace: &str| {
            format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{ name: first, namespace: {namespace} }}\n")
        };
        let head = scene.lab.app("shop").write("apps/shop/map.yaml", &map(&elsewhere)).commit();
        let mut agent = scene.lab.start().await;
        agent.until_converged("shop", &head).await;

        let binding = format!(
            "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {{ name: {own} }}\nroleRef: {{ apiGroup: \
             rbac.authorization.k8s.io, kind: ClusterRole, name: view }}\nsubjects: [{{ kind: ServiceAccount, name: agent, namespace: {own} }}]\n"
        );
        scene
            .lab
            .write("apps/shop/map.yaml", &map(&own))
            .write(
                "apps/shop/namespace.yaml",
                &format!("apiVersion: v1\nkind: Namespace\nmetadata: {{ name: {own} }}\n"),
            )
            .write("apps/shop/binding.yaml", &binding)
            .commit();
        agent.hint().await;
        let detail = agent.until_app("shop", "refuses the version", |detail| detail.refused.is_some()).await;
        let problem = detail.refused.expect("it was waited for").problem;
        for part in [
            format!("ConfigMap {own}/first is in the namespace that Setpoint itself runs in"),
            format!("Namespace {own} is the namespace that Setpoint itself runs in"),
            "is a binding of the service accounts of Setpoint's own namespace".to_owned(),
            "set `spec.manageSetpoint: true` in the Scope `default`".to_owned(),
        ] {
            assert!(problem.contains(&part), "{part}: {problem}");
        }
        assert_eq!(scene.live("first"), None, "nothing of it is written");

        scene.lab.control("default", "Scope", "{ manageSetpoint: true }");
        let head = scene.lab.commit();
        let there = async |_: &Agent| scene.live("first").map(drop);
        agent.until("who says so may", there).await;
        agent.until_converged("shop", &head).await;
        agent.stop().await;
    }
}
