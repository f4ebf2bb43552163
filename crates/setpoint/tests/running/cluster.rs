//! The agent on a real Kubernetes API server: the objects that it creates, heals, hands over and
//! deletes there, and those that it does not touch.

pub(crate) mod envtest {
    use std::collections::BTreeSet;
    use std::path::Path;

    use serde_json::{Value, json};
    use setpoint_api::answer::{AppDetail, AppState, DriftRecord};
    use setpoint_core::modes::Cause;
    use setpoint_core::time::Span;
    use setpoint_testbed::kube::{ApiServer, Options, Proxy};

    use super::super::lab::{Agent, Lab, is_at, withholds};

    /// A lab whose target is the cluster, with a namespace of its own there.
    pub(crate) struct Scene {
        pub(crate) lab: Lab,
        pub(crate) server: &'static ApiServer,
        pub(crate) namespace: String,
    }

    impl Scene {
        pub(crate) fn new(name: &str) -> Self {
            Self::on(ApiServer::shared(), name)
        }

        /// Creates a scene on a server that is not shared with other tests.
        pub(crate) fn on(server: &'static ApiServer, name: &str) -> Self {
            Self::by(&server.kubeconfig(), server, name)
        }

        /// Creates a scene that reaches the server through a proxy. The proxy counts requests and
        /// injects faults.
        pub(crate) fn through_proxy(name: &str) -> (Self, Proxy) {
            Self::through_proxy_to(ApiServer::shared(), name)
        }

        pub(crate) fn through_proxy_to(server: &'static ApiServer, name: &str) -> (Self, Proxy) {
            let proxy = Proxy::before(server);
            (Self::by(&proxy.kubeconfig(server, server.admin_token()), server, name), proxy)
        }

        fn by(kubeconfig: &Path, server: &'static ApiServer, name: &str) -> Self {
            let namespace = server.fresh_namespace(name);
            let mut lab = Lab::new();
            let target =
                format!("{{ kind: kubernetes, kubeconfig: {}, namespace: {namespace} }}", kubeconfig.display());
            lab.control("machine", "Target", &target);
            Self { lab, server, namespace }
        }

        /// Lets an app declare a ConfigMap.
        pub(crate) fn config(&mut self, app: &str, name: &str, colour: &str) -> &mut Self {
            let text = format!(
                "apiVersion: v1\nkind: ConfigMap\nmetadata: {{ name: {name} }}\ndata: {{ colour: {colour}, size: \"5\" }}\n"
            );
            self.lab.write(&format!("apps/{app}/{name}.yaml"), &text);
            self
        }

        pub(crate) fn path(&self, name: &str) -> String {
            format!("/api/v1/namespaces/{}/configmaps/{name}", self.namespace)
        }

        /// Returns the object on the server; `None` if it does not exist.
        pub(crate) fn live(&self, name: &str) -> Option<Value> {
            let answer = self.server.request("GET", &self.path(name), None);
            if answer.status == 404 { None } else { Some(answer.succeeded().json()) }
        }

        pub(crate) fn colour(&self, name: &str) -> Option<String> {
            self.live(name)?["data"]["colour"].as_str().map(str::to_owned)
        }

        pub(crate) fn uid(&self, name: &str) -> String {
            self.live(name).expect("it is there")["metadata"]["uid"].as_str().expect("every object has one").to_owned()
        }

        /// Edits an object as another field manager.
        pub(in super::super) fn paint(&self, name: &str, colour: &str) {
            let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"colour": colour}});
            self.server.apply(&self.path(name), "painter", &object);
        }
    }

    pub(in super::super) async fn healed(agent: &mut Agent, app: &str, name: &str) -> DriftRecord {
        let name = name.to_owned();
        agent
            .until(&format!("drift of {name} is healed"), async |agent| {
                let records = agent.drift(app).await;
                records.into_iter().find(|record| record.key.name() == name && record.healed.is_some())
            })
            .await
    }

    /// A role, its binding, and settings whose name contains a hash of their content.
    const OVERLAY: [(&str, &str); 4] = [
        ("base/kustomization.yaml", "resources: [role.yaml, binding.yaml]\n"),
        (
            "base/role.yaml",
            "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: { name: reader }\nrules: [{ apiGroups: [\"\"], resources: [configmaps], verbs: [get] }]\n",
        ),
        (
            "base/binding.yaml",
            "apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: { name: readers }\nroleRef: { apiGroup: rbac.authorization.k8s.io, kind: Role, name: reader }\nsubjects: [{ kind: ServiceAccount, name: clerk }]\n",
        ),
        (
            "apps/shop/kustomization.yaml",
            "resources: [../../base]\nnamePrefix: prod-\nlabels: [{ pairs: { team: red } }]\nconfigMapGenerator: [{ name: settings, literals: [colour=red] }]\n",
        ),
    ];

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_kustomization_converges_is_healed_and_follows_a_commit() {
        let mut scene = Scene::new("kustomized");
        scene.lab.app("shop");
        for (path, text) in OVERLAY {
            scene.lab.write(path, text);
        }
        let head = scene.lab.commit();
        let mut agent = scene.lab.start().await;
        agent.until_converged("shop", &head).await;
        let path =
            format!("/apis/rbac.authorization.k8s.io/v1/namespaces/{}/rolebindings/prod-readers", scene.namespace);
        let binding = scene.server.request("GET", &path, None).succeeded().json();
        assert_eq!(
            (&binding["roleRef"]["name"], &binding["metadata"]["labels"]["team"]),
            (&json!("prod-reader"), &json!("red"))
        );
        let (server, labelled) = (scene.server, format!("{}?labelSelector=team%3Dred", scene.path("")));
        let settings = |colour: &str| {
            let all = server.request("GET", &labelled, None).succeeded().json();
            let found = all["items"].as_array().expect("a list").iter().find(|item| item["data"]["colour"] == colour);
            found.map(|item| item["metadata"]["name"].as_str().expect("every object has one").to_owned())
        };
        let red = settings("red").expect("they are there");
        assert!(red.starts_with("prod-settings-"), "{red}");

        scene.server.request("DELETE", &scene.path(&red), None).succeeded();
        healed(&mut agent, "shop", &red).await;
        assert_eq!(settings("red").as_ref(), Some(&red));

        let blue = OVERLAY[3].1.replace("colour=red", "colour=blue");
        scene.lab.write("apps/shop/kustomization.yaml", &blue);
        let head = scene.lab.commit();
        agent.until_app("shop", "has accepted the commit", |detail| is_at(detail, &head)).await;
        agent.until("the new settings are there", async |_| settings("blue")).await;
        agent.stop().await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn manifests_converge_and_follow_a_commit() {
        let mut scene = Scene::new("follow");
        scene.lab.app("shop");
        scene.config("shop", "first", "red").config("shop", "second", "green");
        scene.lab.write("apps/shop/account.yaml", "apiVersion: v1\nkind: ServiceAccount\nmetadata: { name: clerk }\n");
        let head = scene.lab.commit();
        let mut agent = scene.lab.start().await;
        agent.until_converged("shop", &head).await;
        assert_eq!((scene.colour("first").as_deref(), scene.colour("second").as_deref()), (Some("red"), Some("green")));

        let before = scene.uid("first");
        scene.config("shop", "first", "blue");
        let head = scene.lab.commit();
        agent.until_converged("shop", &head).await;
        assert_eq!(scene.colour("first").as_deref(), Some("blue"));
        assert_eq!(scene.uid("first"), before);
        agent.stop().await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn an_edit_and_a_delete_are_healed_and_the_writer_is_named() {
        let mut scene = Scene::new("heal");
        scene.lab.app("shop");
        scene.config("shop", "first", "red").config("shop", "second", "green");
        let head = scene.lab.commit();
        let mut agent = scene.lab.start().await;
        agent.until_converged("shop", &head).await;

        scene.paint("first", "black");
        let record = healed(&mut agent, "shop", "first").await;
        assert_eq!(scene.colour("first").as_deref(), Some("red"));
        assert_eq!(record.cause, Cause::Drift);
        assert!(record.writer.name().contains("painter"), "{record:?}");
        let paths: Vec<_> = record.differences.iter().map(|difference| difference.path.to_string()).collect();
        assert_eq!(paths, ["data.colour"]);

        scene.server.request("DELETE", &scene.path("second"), None).succeeded();
        healed(&mut agent, "shop", "second").await;
        assert_eq!(scene.colour("second").as_deref(), Some("green"));
        agent.stop().await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn what_others_add_is_told_once_and_over_when_it_is_gone() {
        let mut scene = Scene::new("beside");
        scene.lab.app("shop");
        scene.config("shop", "first", "red");
        let head = scene.lab.commit();
        let mut agent = scene.lab.start().await;
        agent.until_converged("shop", &head).await;
        let label = |team: Value| {
            let patch = serde_json::to_vec(&json!({"metadata": {"labels": {"team": team}}})).unwrap();
            let path = format!("{}?fieldManager=tailor", scene.path("first"));
            scene.server.request("PATCH", &path, Some(("application/merge-patch+json", &patch))).succeeded();
        };
        let told = async |agent: &mut Agent, over: bool| {
            let found = async |agent: &Agent| {
                let records = agent.drift("shop").await;
                records.into_iter().find(|record| !record.beside.is_empty() && record.healed.is_some() == over)
            };
            agent.until("the label is told", found).await
        };
        label(json!("blue"));
        let record = told(&mut agent, false).await;
        assert_eq!(
            (record.cause, &*record.beside[0], record.beside.len()),
            (Cause::Addition, "metadata.labels.team", 1)
        );
        assert!(record.writer.name().starts_with("tailor (update, "), "{record:?}");
        let detail = agent.until_converged("shop", &head).await;
        assert_eq!((detail.summary.drifts, detail.summary.remarks, detail.report.len()), (0, 1, 0));
        for (command, words) in
            [("drift", "left alone"), ("get", "Left alone: 1"), ("tree", "Left alone: 1"), ("status", "0 +1")]
        {
            let arguments: &[&str] = if command == "status" { &["status"] } else { &[command, "shop"] };
            let shown = scene.lab.told(arguments);
            assert!(shown.contains(words), "{command}: {shown}");
        }
        // A restart, or another value by the same manager, is not reported again.
        agent.stop().await;
        let mut agent = scene.lab.start().await;
        agent.until_converged("shop", &head).await;
        label(json!("green"));
        scene.paint("first", "black");
        healed(&mut agent, "shop", "first").await;
        let records = agent.drift("shop").await;
        assert_eq!(records.iter().filter(|record| !record.beside.is_empty()).count(), 1, "{records:?}");
        label(Value::Null);
        let over = told(&mut agent, true).await;
        assert_eq!(over.seq, record.seq);
        agent.until_app("shop", "nothing is left alone", |detail| detail.remarks.is_empty()).await;
        agent.stop().await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn an_ignored_field_stays_as_somebody_left_it_until_the_rule_is_gone() {
        let mut scene = Scene::new("ignore");
        scene.lab.app_with("shop", "sync: { ignore: [{ kind: ConfigMap, name: first, paths: [data.colour] }] }");
        scene.config("shop", "first", "red").config("shop", "second", "green");
        let head = scene.lab.commit();
        let mut agent = scene.lab.start().await;
        agent.until_converged("shop", &head).await;
        assert_eq!(scene.colour("first").as_deref(), Some("red"), "it is given at first");

        scene.paint("first", "black");
        scene.paint("second", "black");
        healed(&mut agent, "shop", "second").await;
        let size =
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "first"}, "data": {"size": "9"}});
        scene.server.apply(&scene.path("first"), "tailor", &size);
        let record = healed(&mut agent, "shop", "first").await;
        let paths: Vec<_> = record.differences.iter().map(|difference| difference.path.to_string()).collect();
        assert_eq!(paths, ["data.size"]);
        let stored = scene.live("first").expect("it is there");
        assert_eq!(stored["data"], json!({"colour": "black", "size": "5"}));
        let plan = scene.lab.command(&["plan", "shop"]);
        assert_eq!(plan.code, Some(0), "{}{}", plan.output, plan.complaints);

        scene.lab.app("shop").commit();
        agent.hint().await;
        let red = async |_: &Agent| (scene.colour("first").as_deref() == Some("red")).then_some(());
        agent.until("the colour is held again", red).await;
        agent.stop().await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_co_owners_value_stands_and_is_kept_by_a_commit_while_a_strangers_is_put_back() {
        let mut scene = Scene::new("coowner");
        let rules = "[{ writer: painter, kind: ConfigMap, name: first, paths: [data.colour] }]";
        scene.lab.app_with("shop", &format!("sync: {{ coOwners: {rules} }}"));
        scene.config("shop", "first", "red").config("shop", "second", "green");
        let head = scene.lab.commit();
        let mut agent = scene.lab.start().await;
        agent.until_converged("shop", &head).await;

        // The rule names one object: a change by the same writer to another object is drift.
        scene.paint("first", "black");
        scene.paint("second", "black");
        let record = healed(&mut agent, "shop", "second").await;
        assert!(record.writer.name().contains("painter"), "{record:?}");
        let plan = scene.lab.command(&["plan", "shop"]);
        assert_eq!(plan.code, Some(0), "{}{}", plan.output, plan.complaints);
        let text = "apiVersion: v1\nkind: ConfigMap\nmetadata: { name: first }\ndata: { colour: blue, size: \"7\" }\n";
        let head = scene.lab.write("apps/shop/first.yaml", text).commit();
        agent.until_converged("shop", &head).await;
        assert_eq!(scene.live("first").expect("it is there")["data"], json!({"colour": "black", "size": "7"}));
        assert!(agent.drift("shop").await.iter().all(|record| record.key.name() == "second"));

        let colour = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "first"}, "data": {"colour": "white"}});
        scene.server.apply(&scene.path("first"), "stranger", &colour);
        let record = healed(&mut agent, "shop", "first").await;
        assert!(record.writer.name().contains("stranger"), "{record:?}");
        assert_eq!(scene.colour("first").as_deref(), Some("blue"), "what is declared, not what the co-owner had set");
        agent.stop().await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn drift_is_healed_as_before_once_the_target_was_connected_anew() {
        let mut scene = Scene::new("anew");
        scene.lab.app("shop");
        let head = scene.config("shop", "first", "red").lab.commit();
        let mut agent = scene.lab.start().await;
        agent.until_converged("shop", &head).await;
        let kubeconfig = scene.server.kubeconfig();
        let rule = "[{ kind: example.com/Nothing, healthy: 'true' }]";
        let target = format!(
            "{{ kind: kubernetes, kubeconfig: {}, namespace: {}, health: {rule} }}",
            kubeconfig.display(),
            scene.namespace
        );
        scene.lab.control("machine", "Target", &target).commit();
        agent.hint().await;
        // A new connection has only requested the identity of the cluster.
        let renewed = async |agent: &Agent| {
            let overview = agent.overview().await;
            overview.targets.first().is_some_and(|target| !target.requests.contains_key("apply")).then_some(())
        };
        agent.until("the target is connected anew", renewed).await;
        scene.paint("first", "black");
        healed(&mut agent, "shop", "first").await;
        assert_eq!(scene.colour("first").as_deref(), Some("red"));
        agent.stop().await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn what_is_no_longer_declared_is_deleted_and_what_others_made_is_not() {
        let mut scene = Scene::new("prune");
        scene.lab.app("shop");
        scene.config("shop", "first", "red").config("shop", "second", "green");
        let head = scene.lab.commit();
        let stranger = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "stranger"}});
        scene.server.create(&format!("/api/v1/namespaces/{}/configmaps", scene.namespace), &stranger);
        let mut agent = scene.lab.start().await;
        agent.until_converged("shop", &head).await;

        let head = scene.lab.remove("apps/shop/second.yaml").commit();
        agent.until_converged("shop", &head).await;
        let gone = async |_: &Agent| scene.live("second").is_none().then_some(());
        agent.until("the second is gone", gone).await;
        assert!(scene.live("first").is_some() && scene.live("stranger").is_some());
        agent.stop().await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_retired_app_takes_its_objects_with_it_and_leaves_a_namespace_standing() {
        let mut scene = Scene::new("retire");
        let kept = format!("{}-kept", scene.namespace);
        scene.lab.app("shop");
        scene.config("shop", "first", "red");
        let namespace = format!("apiVersion: v1\nkind: Namespace\nmetadata: {{ name: {kept} }}\n");
        scene.lab.write("apps/shop/kept.yaml", &namespace);
        let head = scene.lab.commit();
        let mut agent = scene.lab.start().await;
        agent.until_converged("shop", &head).await;

        scene.lab.app_with("shop", "retire: true").commit();
        agent.hint().await;
        let gone = async |_: &Agent| scene.live("first").is_none().then_some(());
        agent.until("the objects are gone", gone).await;
        agent.until_app("shop", "keeps its namespace", |detail| withholds(detail, "protected")).await;
        let answer = scene.server.request("GET", &format!("/api/v1/namespaces/{kept}"), None);
        assert_eq!(answer.status, 200);
        agent.stop().await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_restart_writes_nothing_and_neither_does_the_loss_of_what_was_remembered() {
        let mut scene = Scene::new("restart");
        scene.lab.app("shop");
        scene.config("shop", "first", "red").config("shop", "second", "green");
        let head = scene.lab.commit();
        let mut agent = scene.lab.start().await;
        agent.until_converged("shop", &head).await;
        let versions = |scene: &Scene| -> BTreeSet<String> {
            ["first", "second"]
                .map(|name| scene.live(name).expect("it is there")["metadata"]["resourceVersion"].to_string())
                .into()
        };
        let before = versions(&scene);
        agent.stop().await;
        for wiped in [false, true] {
            if wiped {
                std::fs::remove_file(scene.lab.data().join("state.db")).expect("it is there");
            }
            let mut agent = scene.lab.start().await;
            agent.until_converged("shop", &head).await;
            let requests = agent.overview().await.targets.remove(0).requests;
            let looks = ["get", "dry-run"].map(|call| requests.contains_key(call));
            assert_eq!(looks, [wiped; 2], "what is remembered is not looked at: {requests:?}");
            agent.stop().await;
            assert_eq!(versions(&scene), before, "wiped: {wiped}");
        }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_kubeconfig_that_leads_to_another_cluster_is_not_followed_until_it_is_right_again() {
        let mut scene = Scene::new("elsewhere");
        let way = scene.lab.path().join("kubeconfig");
        let server = scene.server;
        let lead_to = |server: &ApiServer| {
            let text = std::fs::read_to_string(server.kubeconfig()).expect("the server wrote it");
            std::fs::write(&way, text).expect("the folder is ours");
        };
        lead_to(scene.server);
        let target = format!("{{ kind: kubernetes, kubeconfig: {}, namespace: {} }}", way.display(), scene.namespace);
        scene.lab.control("machine", "Target", &target).app("shop");
        let head = scene.config("shop", "first", "red").lab.commit();
        let mut agent = scene.lab.start().await;
        agent.until_converged("shop", &head).await;
        agent.stop().await;

        let other = ApiServer::own(Options::default());
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": scene.namespace}});
        other.create("/api/v1/namespaces", &namespace);
        lead_to(&other);
        let mut agent = scene.lab.start().await;
        let frozen = |detail: &AppDetail| detail.summary.state == AppState::Frozen;
        agent.until_app("shop", "is frozen", frozen).await;
        let why = scene.lab.told(&["why", "shop"]);
        let said = format!("its target is now {}, but what it owns is on {}", identity_of(&other), identity_of(server));
        assert!(why.contains(&said) && !why.contains("gone from the store"), "{why}");
        assert_eq!(other.request("GET", &scene.path("first"), None).status, 404);

        // The agent reads the kubeconfig again within 30 seconds, and whenever control documents
        // change.
        lead_to(server);
        scene.paint("first", "blue");
        scene.lab.control("other", "Target", "{ kind: host, root: /nonexistent }").commit();
        agent.hint().await;
        agent.until_app("shop", "goes on", |detail| detail.summary.state == AppState::Converged).await;
        assert_eq!(scene.colour("first").as_deref(), Some("red"));
        agent.stop().await;
        assert_eq!(other.request("GET", &scene.path("first"), None).status, 404);
    }

    fn identity_of(server: &ApiServer) -> String {
        let namespace = server.request("GET", "/api/v1/namespaces/kube-system", None).succeeded().json();
        format!("kube-{}", namespace["metadata"]["uid"].as_str().expect("every object has one"))
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn what_names_no_namespace_follows_a_kubeconfig_that_names_another() {
        let mut scene = Scene::new("before");
        let way = scene.lab.path().join("kubeconfig");
        std::fs::copy(scene.server.kubeconfig(), &way).expect("the server wrote it");
        let lead_to = |namespace: &str| {
            let arguments = ["config", "set-context", "--current", "--namespace", namespace];
            let output = ApiServer::shared().kubectl_as(&way, &arguments, b"");
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        };
        lead_to(&scene.namespace);
        let target = format!("{{ kind: kubernetes, kubeconfig: {} }}", way.display());
        scene.lab.control("machine", "Target", &target).app("shop");
        let head = scene.config("shop", "first", "red").lab.commit();
        let mut agent = scene.lab.start().await;
        agent.until_converged("shop", &head).await;
        assert_eq!(scene.colour("first").as_deref(), Some("red"));
        agent.stop().await;

        let before = std::mem::replace(&mut scene.namespace, scene.server.fresh_namespace("after"));
        lead_to(&scene.namespace);
        let mut agent = scene.lab.start().await;
        let moved = async |_: &Agent| (scene.colour("first").as_deref() == Some("red")).then_some(());
        agent.until("it is where the kubeconfig leads", moved).await;
        let left = format!("/api/v1/namespaces/{before}/configmaps/first");
        let gone = async |_: &Agent| (scene.server.request("GET", &left, None).status == 404).then_some(());
        agent.until("what was there before is gone", gone).await;
        agent.stop().await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_plan_is_the_servers_own_answer_and_shows_no_secret() {
        let mut scene = Scene::new("plan");
        scene.lab.app("shop");
        let declare = |scene: &mut Scene, port: u32, word: &str| {
            let service = format!(
                "apiVersion: v1\nkind: Service\nmetadata: {{ name: front }}\nspec: {{ ports: [{{ port: {port} }}] }}\n"
            );
            let secret =
                format!("apiVersion: v1\nkind: Secret\nmetadata: {{ name: word }}\nstringData: {{ word: {word} }}\n");
            scene.lab.write("apps/shop/front.yaml", &service).write("apps/shop/word.yaml", &secret).commit()
        };
        let first = declare(&mut scene, 80, "swordfish");
        let mut agent = scene.lab.start().await;
        agent.until_converged("shop", &first).await;
        let second = declare(&mut scene, 81, "salmon");
        agent.until_converged("shop", &second).await;

        let plan = scene.lab.command(&["plan", "shop", "--rev", &first]);
        assert_eq!(plan.code, Some(2), "{}{}", plan.output, plan.complaints);
        // The port that the pods listen on is not declared: the server sets it.
        for part in ["spec.ports[0].port", "spec.ports[0].targetPort", "data.word: secret:"] {
            assert!(plan.output.contains(part), "{part}: {}", plan.output);
        }
        for word in ["swordfish", "salmon", "c3dvcmRmaXNo", "c2FsbW9u"] {
            assert!(!plan.output.contains(word), "{}", plan.output);
        }
        agent.stop().await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn one_object_that_the_cluster_refuses_keeps_no_other_back() {
        let mut scene = Scene::new("refused");
        scene.lab.settings.quarantine = Span::ZERO;
        scene.lab.app("shop");
        scene.config("shop", "first", "red");
        let wrong = "apiVersion: v1\nkind: Service\nmetadata: { name: wrong }\nspec: { ports: [{ port: 99999 }] }\n";
        scene.lab.write("apps/shop/wrong.yaml", wrong);
        let missing = "apiVersion: example.com/v1\nkind: Gadget\nmetadata: { name: missing, namespace: default }\n";
        scene.lab.write("apps/shop/missing.yaml", missing);
        scene.lab.commit();
        let mut agent = scene.lab.start().await;
        let there = async |_: &Agent| (scene.colour("first").as_deref() == Some("red")).then_some(());
        agent.until("the good one is there", there).await;
        let detail = agent.until_app("shop", "is not converged", |detail| !detail.report.is_empty()).await;
        assert_ne!(detail.summary.state, AppState::Converged);
        agent.stop().await;
    }

    /// Returns a Job without pods to wait for, or with a pod that no node ever runs.
    fn job(name: &str, completions: u32, note: &str) -> String {
        format!(
            "apiVersion: batch/v1\nkind: Job\nmetadata: {{ name: {name} }}\nspec:\n  completions: {completions}\n  parallelism: 1\n  \
             ttlSecondsAfterFinished: 15\n  template:\n    metadata: {{ annotations: {{ note: {note} }} }}\n    spec:\n      restartPolicy: Never\n      \
             containers: [{{ name: a, image: example.invalid/a }}]\n"
        )
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_job_with_a_time_to_live_runs_once_for_each_declaration() {
        let server = ApiServer::own(Options { controllers: true, ..Options::default() });
        let mut lab = Lab::new();
        let namespace = server.fresh_namespace("jobs");
        let kubeconfig = server.kubeconfig();
        let target = format!("{{ kind: kubernetes, kubeconfig: {}, namespace: {namespace} }}", kubeconfig.display());
        lab.control("machine", "Target", &target);
        let uid = |name: &str| {
            let path = format!("/apis/batch/v1/namespaces/{namespace}/jobs/{name}");
            let answer = server.request("GET", &path, None);
            let gone = answer.status == 404;
            (!gone).then(|| answer.succeeded().json()["metadata"]["uid"].as_str().expect("a UID").to_owned())
        };
        lab.app("migrate").app("slow");
        lab.write("apps/migrate/job.yaml", &job("migrate", 0, "one"))
            .write("apps/slow/job.yaml", &job("slow", 1, "one"));
        let head = lab.commit();
        let mut agent = lab.start().await;
        agent.until_converged("migrate", &head).await;
        let first = uid("migrate");
        agent.until("the Job is removed", async |_| uid("migrate").is_none().then_some(())).await;
        assert!(first.is_some(), "it was there when it had run");

        // A Job that disappeared while it was not watched may have run: it is not created again,
        // and the report says that its end was not observed.
        assert!(uid("slow").is_some(), "it is there");
        agent.stop().await;
        let path = format!("/apis/batch/v1/namespaces/{namespace}/jobs/slow?propagationPolicy=Background");
        server.request("DELETE", &path, None).succeeded();
        std::fs::remove_file(lab.data().join("state.db")).expect("what may be lost is lost");

        let mut agent = lab.start().await;
        agent.until_converged("migrate", &head).await;
        let detail = agent.until_app("slow", "it counts as ended", |detail| withholds(detail, "counts as ended")).await;
        assert_eq!(detail.report.len(), 1);
        agent.until_converged("slow", &head).await;
        assert_eq!((uid("migrate"), uid("slow")), (None, None), "they have run already");
        assert!(agent.drift("migrate").await.is_empty() && agent.drift("slow").await.is_empty());

        lab.write("apps/migrate/job.yaml", &job("migrate", 0, "two"));
        let head = lab.commit();
        agent
            .until("it runs again", async |agent| {
                agent.hint().await;
                uid("migrate")
            })
            .await;
        agent.until_converged("migrate", &head).await;
        agent.stop().await;
    }
}
