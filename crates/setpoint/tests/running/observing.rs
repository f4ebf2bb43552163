//! An app that is only observed on a Kubernetes cluster: differences are reported with their fields
//! and writers, and nothing is ever written.

mod envtest {
    use std::collections::BTreeMap;

    use serde_json::{Value, json};
    use setpoint_api::answer::{AppDetail, AppState, DriftRecord, Tally};

    use super::super::cluster::envtest::Scene;
    use super::super::lab::Agent;

    const OBSERVE: &str = "sync: { mode: observe }";

    impl Scene {
        /// Creates a ConfigMap with `kubectl`, in the form that `config` declares.
        fn by_kubectl(&self, name: &str, colour: &str) {
            self.kubectl_apply(&painted(name, colour), &[]);
        }

        /// Returns the objects in the namespace with their versions.
        fn versions(&self) -> BTreeMap<String, String> {
            let list = self.server.request("GET", &self.path(""), None).succeeded().json();
            let items = list["items"].as_array().expect("it is a list").iter();
            let text = |value: &Value| value.as_str().expect("the server says so").to_owned();
            let version = |item: &Value| {
                let metadata = &item["metadata"];
                (text(&metadata["name"]), text(&metadata["resourceVersion"]))
            };
            items.map(version).collect()
        }
    }

    fn painted(name: &str, colour: &str) -> Value {
        let data = json!({"colour": colour, "size": "5"});
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data})
    }

    async fn requests(agent: &Agent) -> Tally {
        agent.overview().await.targets.remove(0).requests
    }

    async fn until_record(agent: &mut Agent, name: &str, is: impl Fn(&DriftRecord) -> bool) -> DriftRecord {
        let found = async |agent: &Agent| {
            agent.drift("shop").await.into_iter().find(|record| record.key.name() == name && is(record))
        };
        agent.until(&format!("the drift of {name} is recorded"), found).await
    }

    fn fields(record: &DriftRecord) -> Vec<String> {
        record.differences.iter().map(ToString::to_string).collect()
    }

    /// Returns a scene with one object as declared, one that differs, and one that is missing.
    async fn observed(name: &str) -> (Scene, Agent) {
        let mut scene = Scene::new(name);
        scene.lab.app_with("shop", OBSERVE);
        scene.config("shop", "same", "red").config("shop", "other", "green").config("shop", "missing", "blue");
        scene.by_kubectl("same", "red");
        scene.by_kubectl("other", "black");
        scene.lab.commit();
        let mut agent = scene.lab.start().await;
        agent.until_app("shop", "tells what differs", |detail| detail.drifts.len() == 2).await;
        (scene, agent)
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn what_differs_is_told_with_its_writer_and_nothing_is_ever_written() {
        let (scene, mut agent) = observed("observed").await;
        let before = scene.versions();
        let other = until_record(&mut agent, "other", |_| true).await;
        assert_eq!(fields(&other), ["data.colour: \"green\" → \"black\""]);
        assert!(other.writer.name().starts_with("kubectl-client-side-apply (update, 20"), "{other:?}");
        let detail = agent.detail("shop").await.expect("it is declared");
        assert_eq!((detail.summary.state, detail.report.len()), (AppState::OutOfSync, 2), "{detail:#?}");

        let drift = scene.lab.told(&["drift", "shop"]);
        for part in ["likely by kubectl-client-side-apply (update, ", "not healed", "it is not there"] {
            assert!(drift.contains(part), "{part}: {drift}");
        }
        let why = scene.lab.told(&["why", "shop"]);
        for part in ["observing only", "data.colour: \"green\" → \"black\"", "it is not there"] {
            assert!(why.contains(part), "{part}: {why}");
        }
        let status = scene.lab.told(&["status"]);
        assert!(status.lines().any(|line| line.contains("shop") && line.contains("out-of-sync")), "{status}");

        for _ in 0..10 {
            let looks = requests(&agent).await["get"];
            scene.lab.told(&["sync", "shop"]);
            agent
                .until("it is looked at again", async |agent| (requests(agent).await["get"] > looks).then_some(()))
                .await;
        }
        assert_eq!(scene.versions(), before);
        let asked = requests(&agent).await;
        assert!(["apply", "patch", "delete"].iter().all(|call| !asked.contains_key(*call)), "{asked:?}");
        assert_eq!(agent.drift("shop").await.len(), 2, "each is told once");
        agent.stop().await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_plan_shows_what_would_be_done_field_by_field() {
        let (scene, agent) = observed("supposed").await;
        let before = scene.versions();
        let plan = scene.lab.command(&["plan", "shop"]);
        assert_eq!(plan.code, Some(2), "{}{}", plan.output, plan.complaints);
        for part in ["only observed", "~ update", "data.colour: \"black\" → \"green\"", "+ create", "missing"] {
            assert!(plan.output.contains(part), "{part}: {}", plan.output);
        }
        assert!(!plan.output.contains("same"), "what is as declared is not news: {}", plan.output);
        assert!(plan.output.contains("1 to create, 1 to update, 0 to delete; 2 only observed"), "{}", plan.output);
        assert_eq!(scene.versions(), before);
        agent.stop().await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn drift_that_others_put_right_is_over() {
        let (scene, mut agent) = observed("righted").await;
        scene.paint("same", "black");
        let same = until_record(&mut agent, "same", |_| true).await;
        assert!(same.writer.name().starts_with("painter (apply, 20"), "{same:?}");
        assert_eq!(same.healed, None);
        scene.paint("same", "red");
        until_record(&mut agent, "same", |record| record.healed.is_some()).await;
        scene.by_kubectl("missing", "blue");
        scene.by_kubectl("other", "green");
        for name in ["missing", "other"] {
            until_record(&mut agent, name, |record| record.healed.is_some()).await;
        }
        let detail =
            agent.until_app("shop", "is as declared", |detail| detail.summary.state == AppState::Converged).await;
        assert!(detail.report.is_empty() && detail.drifts.is_empty(), "{detail:#?}");
        let plan = scene.lab.command(&["plan", "shop"]);
        assert_eq!(plan.code, Some(0), "{}{}", plan.output, plan.complaints);
        assert!(scene.lab.told(&["drift", "shop"]).contains("healed after"));
        agent.stop().await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn drift_of_many_objects_that_nobody_applied_is_seen_without_polling() {
        let mut scene = Scene::new("many");
        scene.lab.app_with("shop", OBSERVE);
        let names: Vec<String> = (0..120).map(|n| format!("a{n:03}")).collect();
        for name in &names {
            scene.config("shop", name, "red");
        }
        let items: Vec<Value> = names.iter().map(|name| painted(name, "red")).collect();
        scene.kubectl_apply(&json!({"apiVersion": "v1", "kind": "List", "items": items}), &["--server-side"]);
        let head = scene.lab.commit();
        let mut agent = scene.lab.start().await;
        agent.until_converged("shop", &head).await;
        for name in ["a007", "a115"] {
            scene.paint(name, "black");
            until_record(&mut agent, name, |_| true).await;
        }
        let asked = requests(&agent).await;
        assert!(asked["watch"] < 10, "not one by one: {asked:?}");
        assert!(!scene.lab.told(&["status"]).contains("Degraded"));
        agent.stop().await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn an_agent_that_may_only_read_tells_what_differs_and_who_did_it() {
        let mut scene = Scene::new("reading");
        let role = format!("{}-role", scene.namespace);
        let verbs = ["get", "list", "watch"];
        let rules = json!([{"apiGroups": [""], "resources": ["configmaps", "namespaces"], "verbs": verbs}]);
        let object = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": role}, "rules": rules});
        scene.server.create("/apis/rbac.authorization.k8s.io/v1/clusterroles", &object);
        let token = scene.server.service_account(&scene.namespace, "reader");
        scene.server.grant(&format!("system:serviceaccount:{}:reader", scene.namespace), &role, None);
        let kubeconfig = scene.server.kubeconfig_with_token(&token);
        let target =
            format!("{{ kind: kubernetes, kubeconfig: {}, namespace: {} }}", kubeconfig.display(), scene.namespace);
        scene.lab.control("machine", "Target", &target).app_with("shop", OBSERVE);
        scene.config("shop", "same", "red").config("shop", "other", "green");
        scene.by_kubectl("same", "red");
        scene.by_kubectl("other", "black");
        scene.lab.commit();
        let mut agent = scene.lab.start().await;
        let told = |detail: &AppDetail| detail.drifts.len() == 1;
        agent.until_app("shop", "tells what differs", told).await;
        let other = until_record(&mut agent, "other", |_| true).await;
        assert_eq!(fields(&other), ["data.colour: \"green\" → \"black\""]);
        assert!(other.writer.name().starts_with("kubectl-client-side-apply (update, 20"), "{other:?}");
        let plan = scene.lab.command(&["plan", "shop"]);
        assert_eq!(plan.code, Some(4), "{}{}", plan.output, plan.complaints);
        assert!(plan.output.contains("data.colour") && plan.output.contains("cannot patch"), "{}", plan.output);
        scene.by_kubectl("other", "green");
        until_record(&mut agent, "other", |record| record.healed.is_some()).await;
        agent.stop().await;
    }
}
