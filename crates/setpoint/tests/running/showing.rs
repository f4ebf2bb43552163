//! The views of a real cluster for people: the tree of an app, its logs, the reasons why it is not
//! healthy, and the requests to the server. Also the rules by which users define health.

use setpoint_core::live::Health;

use super::lab::{Lab, withholds};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_tree_of_an_app_on_a_host_is_what_it_declares_and_owns() {
    let mut lab = Lab::new();
    lab.app_with("hello", "sync: { mode: manual }")
        .file("hello", "greeting", "Hello\n")
        .file("hello", "farewell", "Bye\n");
    let head = lab.commit();
    let mut agent = lab.start().await;
    // The acceptance of a version is visible a moment before it is recorded; its resources are
    // visible only then.
    agent.until_app("hello", "waits for a person", |detail| withholds(detail, "setpoint sync")).await;
    let tree = agent.client().tree(super::lab::app("hello")).await.expect("it answers");
    assert_eq!(tree.objects.iter().map(|object| object.present).collect::<Vec<_>>(), [false, false], "{tree:#?}");

    let missing = lab.told(&["tree", "hello"]);
    assert!(missing.contains("file /greeting") && missing.contains("it is not there"), "{missing}");
    lab.told(&["sync", "hello"]);
    agent.until_converged("hello", &head).await;
    let tree = agent.client().tree(super::lab::app("hello")).await.expect("it answers");
    let shown: Vec<_> = tree.objects.iter().map(|object| (object.key.name(), object.health, object.owned)).collect();
    assert_eq!(shown, [("/farewell", Health::Healthy, true), ("/greeting", Health::Healthy, true)]);
    let logs = lab.command(&["logs", "hello"]);
    assert_eq!((logs.code, logs.output.as_str()), (Some(1), ""), "{logs:?}");
    assert!(logs.complaints.contains("has no logs"), "{logs:?}");
    agent.stop().await;
}

mod envtest {
    use std::ops::ControlFlow;

    use serde_json::{Value, json};
    use setpoint_api::answer::{AppDetail, AppState, AppTree, LogPart, Overview, TreeObject};
    use setpoint_api::question::LogQuestion;
    use setpoint_core::live::Health;
    use setpoint_testbed::kube::{ApiServer, Kubelet};

    use super::super::cluster::envtest::{Scene, healed};
    use super::super::lab::{Agent, Lab, app};

    const DEPLOYMENT: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata: { name: front }
spec:
  selector: { matchLabels: { app: front } }
  template:
    metadata: { labels: { app: front } }
    spec: { containers: [{ name: web, image: \"shop:1\" }] }
";

    /// Returns a scene whose app has a Deployment and a ConfigMap, with an agent that has created
    /// them. No controller is running: the test creates the child objects and writes their status.
    async fn with_a_deployment(name: &str) -> (Scene, Agent) {
        let mut scene = Scene::new(name);
        scene.lab.app("shop");
        scene.config("shop", "settings", "red");
        scene.lab.write("apps/shop/front.yaml", DEPLOYMENT).commit();
        let mut agent = scene.lab.start().await;
        let places = ["deployments/front", "configmaps/settings"].map(|place| scene.objects(place));
        until_there(&mut agent, scene.server, &places).await;
        (scene, agent)
    }

    async fn until_there(agent: &mut Agent, server: &ApiServer, places: &[String]) {
        let is_there = |place: &String| server.request("GET", place, None).status == 200;
        let look = async |_: &Agent| places.iter().all(is_there).then_some(());
        agent.until("the objects are there", look).await;
    }

    impl Scene {
        pub(in super::super) fn objects(&self, resource: &str) -> String {
            let core = resource.starts_with("pods") || resource.starts_with("configmaps");
            let group = if core { "/api/v1" } else { "/apis/apps/v1" };
            format!("{group}/namespaces/{}/{resource}", self.namespace)
        }

        /// Creates a child of an object, as a controller does.
        fn child(&self, resource: &str, owner: &Value, mut object: Value) -> Value {
            let text = |field: &str| owner[field].as_str().expect("the server says so").to_owned();
            object["metadata"]["ownerReferences"] = json!([{
                "apiVersion": text("apiVersion"), "kind": text("kind"), "name": owner["metadata"]["name"],
                "uid": owner["metadata"]["uid"], "controller": true,
            }]);
            self.server.create(&self.objects(resource), &object)
        }

        fn replica_set(&self) -> Value {
            let path = format!("{}/front", self.objects("deployments"));
            let deployment = self.server.request("GET", &path, None).succeeded().json();
            let mut spec = deployment["spec"].clone();
            for field in ["strategy", "revisionHistoryLimit", "progressDeadlineSeconds"] {
                spec.as_object_mut().expect("it is one").remove(field);
            }
            let metadata = json!({"name": "front-77b0", "labels": {"app": "front"}});
            let set = json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": metadata, "spec": spec});
            self.child("replicasets", &deployment, set)
        }

        /// Creates a pod of the ReplicaSet, on a node if one is given.
        fn pod(&self, set: &Value, name: &str, node: Option<&str>) {
            let containers = json!([{"name": "web", "image": "shop:1"}, {"name": "side", "image": "proxy:1"}]);
            let spec = json!({"containers": containers, "nodeName": node});
            let metadata = json!({"name": name, "labels": {"app": "front"}});
            self.child("pods", set, json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}));
        }

        /// Writes the status of an object in the place of its controller.
        pub(in super::super) fn report(&self, path: &str, status: &Value) {
            let body = json!({"status": status}).to_string();
            let content = ("application/merge-patch+json", body.as_bytes());
            self.server.request("PATCH", &format!("{path}/status"), Some(content)).succeeded();
        }

        fn refuse_its_pods(&self) {
            let condition = json!({
                "type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": "exceeded quota: pods=10",
            });
            let status = json!({"observedGeneration": 1, "conditions": [condition]});
            self.report(&format!("{}/front", self.objects("deployments")), &status);
        }

        fn tree(&self) -> AppTree {
            serde_json::from_str(&self.lab.told(&["tree", "shop", "--output", "json"])).expect("it is a tree")
        }
    }

    fn find<'t>(tree: &'t AppTree, name: &str) -> &'t TreeObject {
        let found = tree.objects.iter().find(|object| object.key.name() == name);
        found.unwrap_or_else(|| panic!("no {name} in {tree:#?}"))
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_tree_shows_what_has_come_of_an_apps_objects_and_why_it_is_not_well() {
        let (scene, agent) = with_a_deployment("tree").await;
        let set = scene.replica_set();
        scene.pod(&set, "front-77b0-q8", None);
        let waiting = json!({"reason": "ImagePullBackOff", "message": "Back-off pulling image \"shop:1\""});
        let status = json!({"phase": "Pending", "containerStatuses": [{
            "name": "web", "image": "shop:1", "imageID": "", "ready": false, "restartCount": 0, "state": {"waiting": waiting},
        }]});
        scene.report(&format!("{}/front-77b0-q8", scene.objects("pods")), &status);
        let stranger = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "stranger"},
            "spec": {"containers": [{"name": "web", "image": "shop:1"}]}});
        scene.server.create(&scene.objects("pods"), &stranger);

        let tree = scene.tree();
        let shown: Vec<_> = tree.objects.iter().map(|object| (object.depth, object.key.name())).collect();
        assert_eq!(shown, [(0, "settings"), (0, "front"), (1, "front-77b0"), (2, "front-77b0-q8")], "{tree:#?}");
        assert!(tree.unseen.is_empty(), "{tree:#?}");
        assert_eq!(find(&tree, "settings").health, Health::Healthy);
        assert!(find(&tree, "settings").created.is_some() && find(&tree, "settings").owned);
        let pod = find(&tree, "front-77b0-q8");
        assert_eq!((pod.health, pod.owned), (Health::Degraded, false));
        assert!(pod.reason.as_ref().is_some_and(|reason| reason.contains("ImagePullBackOff")), "{pod:?}");
        assert_eq!(pod.owner.as_ref(), Some(&find(&tree, "front-77b0").key));

        let text = scene.lab.told(&["tree", "shop"]);
        assert!(text.contains("\n  ReplicaSet/front-77b0 ") && text.contains("\n    Pod/front-77b0-q8 "), "{text}");
        assert!(text.contains("Back-off pulling image"), "{text}");
        agent.stop().await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn what_may_not_be_listed_is_said_and_not_taken_for_nothing() {
        let mut scene = Scene::new("unlisted");
        let role = format!("{}-role", scene.namespace);
        let rule =
            |groups: &[&str], resources: &[&str]| json!({"apiGroups": groups, "resources": resources, "verbs": ["*"]});
        let rules = [rule(&["apps"], &["deployments"]), rule(&[""], &["configmaps", "namespaces"])];
        let object = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": role}, "rules": rules});
        scene.server.create("/apis/rbac.authorization.k8s.io/v1/clusterroles", &object);
        let token = scene.server.service_account(&scene.namespace, "keeper");
        let user = format!("system:serviceaccount:{}:keeper", scene.namespace);
        scene.server.grant(&user, &role, None);
        let kubeconfig = scene.server.kubeconfig_with_token(&token);
        let target =
            format!("{{ kind: kubernetes, kubeconfig: {}, namespace: {} }}", kubeconfig.display(), scene.namespace);
        scene.lab.control("machine", "Target", &target).app("shop").write("apps/shop/front.yaml", DEPLOYMENT).commit();
        let mut agent = scene.lab.start().await;
        until_there(&mut agent, scene.server, &[scene.objects("deployments/front")]).await;
        let set = scene.replica_set();
        scene.pod(&set, "front-77b0-q8", None);

        let tree = scene.tree();
        assert_eq!(tree.objects.len(), 1, "{tree:#?}");
        for kind in ["ReplicaSet", "Pod"] {
            let said = tree.unseen.iter().any(|line| line.starts_with(kind) && line.contains("may not be listed"));
            assert!(said, "{kind}: {tree:#?}");
        }
        let text = scene.lab.told(&["tree", "shop"]);
        assert!(text.contains("Not observed"), "{text}");
        let logs = scene.lab.command(&["logs", "shop"]);
        assert_eq!(logs.code, Some(1), "{logs:?}");
        assert!(logs.complaints.contains("not everything could be read"), "{logs:?}");
        agent.stop().await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn logs_are_read_followed_and_let_go() {
        let (scene, agent) = with_a_deployment("logs").await;
        let kubelet = Kubelet::start(scene.server);
        let set = scene.replica_set();
        for pod in ["front-77b0-a", "front-77b0-b"] {
            scene.pod(&set, pod, Some(kubelet.node()));
        }
        kubelet.log("front-77b0-a", "web", "one");
        kubelet.log("front-77b0-a", "web", "two");
        kubelet.log("front-77b0-a", "side", "beside");
        kubelet.log_before("front-77b0-a", "web", "oh no");

        let all = scene.lab.command(&["logs", "shop"]);
        assert_eq!(all.output, "front-77b0-a/web one\nfront-77b0-a/web two\nfront-77b0-a/side beside\n", "{all:?}");
        assert_eq!(all.code, Some(0));
        assert_eq!(all.complaints.matches("its log cannot be read").count(), 2, "{all:?}");
        assert!(all.complaints.contains("is waiting to start"), "{all:?}");
        let one = ["logs", "shop/deployment/front", "--container", "side", "--tail", "5", "--since", "10m"];
        let one = scene.lab.command(&one);
        assert_eq!(one.output, "front-77b0-a/side beside\n", "{one:?}");
        let asked = kubelet.asked();
        assert!(
            asked.last().is_some_and(|path| path.contains("tailLines=5") && path.contains("sinceSeconds=600")),
            "{asked:?}"
        );
        let last = scene.lab.told(&["logs", "shop/Pod/front-77b0-a", "--container", "web", "--tail", "1"]);
        assert_eq!(last, "two\n", "one container alone needs no name");
        let before = ["logs", "shop/Pod/front-77b0-a", "--container", "web", "--previous", "--output", "json"];
        assert_eq!(scene.lab.told(&before), "{\"source\":\"front-77b0-a/web\",\"text\":\"oh no\"}\n");
        for (wrong, complaint) in [
            ("shop/Pod/nobody", "the app has no Pod `nobody`"),
            ("shop/ConfigMap/settings", "there is no pod"),
            ("shop/Pod/front-77b0-b", "its log cannot be read"),
        ] {
            let run = scene.lab.command(&["logs", wrong]);
            assert!(run.code != Some(0) && run.complaints.contains(complaint), "{wrong}: {run:?}");
        }

        let question = LogQuestion {
            app: app("shop"),
            object: None,
            follow: true,
            since: None,
            tail: Some(1),
            container: Some("web".to_owned()),
            previous: false,
        };
        let mut heard = Vec::new();
        let follow = agent.client().logs(&question, |part| {
            if let LogPart::Line { text, .. } = part {
                if text == "two" {
                    kubelet.log("front-77b0-a", "web", "three");
                }
                heard.push(text);
            }
            if heard.len() == 2 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        follow.await.expect("it is followed");
        assert_eq!(heard, ["two", "three"]);
        // A client that disconnects also ends the stream from the node.
        kubelet.until_followed_by(0).await;
        agent.stop().await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn what_starts_later_is_followed_too() {
        let (scene, agent) = with_a_deployment("later").await;
        let kubelet = Kubelet::start(scene.server);
        let set = scene.replica_set();
        let question = LogQuestion {
            app: app("shop"),
            object: None,
            follow: true,
            since: None,
            tail: Some(0),
            container: Some("web".to_owned()),
            previous: false,
        };
        let (mut heard, mut sources, mut notes) = (Vec::new(), Vec::new(), Vec::new());
        let follow = agent.client().logs(&question, |part| {
            match part {
                // At first there is no pod; then one whose container has not started.
                LogPart::Note { text } if text.contains("there is no pod yet") => {
                    scene.pod(&set, "front-77b0-a", Some(kubelet.node()));
                    notes.push(text);
                }
                LogPart::Note { text } => {
                    kubelet.log("front-77b0-a", "web", "first");
                    notes.push(text);
                }
                LogPart::Sources { names } => sources.push(names),
                LogPart::Line { source, text } => {
                    match text.as_str() {
                        "first" => {
                            kubelet.log("front-77b0-b", "web", "second");
                            scene.pod(&set, "front-77b0-b", Some(kubelet.node()));
                        }
                        // The log of a restarted container is read from its beginning.
                        "second" => {
                            kubelet.restart("front-77b0-a", "web");
                            kubelet.log("front-77b0-a", "web", "again");
                            let status =
                                json!({"name": "web", "restartCount": 1, "image": "", "imageID": "", "ready": true});
                            scene.report(&scene.objects("pods/front-77b0-a"), &json!({"containerStatuses": [status]}));
                        }
                        _ => {}
                    }
                    heard.push(format!("{source} {text}"));
                }
            }
            if heard.len() == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        follow.await.expect("it is followed");
        assert_eq!(heard, ["front-77b0-a/web first", "front-77b0-b/web second", "front-77b0-a/web again"]);
        let waiting = notes.iter().filter(|note| note.contains("is waiting to start")).count();
        assert_eq!((notes.len(), waiting), (2, 1), "each is said once: {notes:?}");
        assert_eq!(
            sources.last().map(Vec::as_slice),
            Some(["front-77b0-a/web", "front-77b0-b/web"].map(str::to_owned).as_slice())
        );
        kubelet.until_followed_by(0).await;
        agent.stop().await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn why_names_the_object_that_is_not_healthy_and_the_reason() {
        let (scene, mut agent) = with_a_deployment("why").await;
        scene.refuse_its_pods();
        let told = |detail: &AppDetail| detail.unhealthy.iter().any(|unhealthy| unhealthy.health == Health::Degraded);
        let detail = agent.until_app("shop", "is degraded", told).await;
        let [unhealthy] = detail.unhealthy.as_slice() else { panic!("{:#?}", detail.unhealthy) };
        assert_eq!(unhealthy.key.name(), "front");
        assert!(unhealthy.reason.contains("exceeded quota: pods=10"), "{unhealthy:?}");
        let text = scene.lab.told(&["why", "shop"]);
        let key = format!("apps/Deployment {}/front", scene.namespace);
        assert!(text.contains(&key) && text.contains("exceeded quota: pods=10"), "{text}");
        assert!(!text.contains("settings"), "{text}");
        agent.stop().await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn status_counts_what_was_asked_of_the_server_and_for_whom() {
        let mut scene = Scene::new("counts");
        scene.lab.app("shop").app("store");
        scene.config("shop", "first", "red").config("shop", "second", "green").config("store", "third", "blue");
        let head = scene.lab.commit();
        let mut agent = scene.lab.start().await;
        for app in ["shop", "store"] {
            agent.until_converged(app, &head).await;
        }
        let overview: Overview =
            serde_json::from_str(&scene.lab.told(&["status", "--output", "json"])).expect("it is an overview");
        let [target] = overview.targets.as_slice() else { panic!("{:#?}", overview.targets) };
        assert_eq!(target.requests.get("apply"), Some(&3), "{:?}", target.requests);
        for call in ["get", "watch", "discovery"] {
            assert!(target.requests.get(call).is_some_and(|count| *count > 0), "{call}: {:?}", target.requests);
        }
        let of = |name: &str| {
            let summary = overview.apps.iter().find(|summary| summary.app == app(name)).expect("it is there");
            summary.requests.get("apply").copied()
        };
        assert_eq!((of("shop"), of("store")), (Some(2), Some(1)));
        let text = scene.lab.told(&["status"]);
        assert!(text.contains("Requests") && text.contains("3 apply"), "{text}");
        agent.stop().await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn drift_names_the_manager_the_operation_the_time_and_the_field() {
        let mut scene = Scene::new("drift");
        scene.lab.app("shop");
        let head = scene.config("shop", "first", "red").lab.commit();
        let mut agent = scene.lab.start().await;
        agent.until_converged("shop", &head).await;
        scene.paint("first", "black");
        healed(&mut agent, "shop", "first").await;

        let text = scene.lab.told(&["drift", "shop"]);
        for part in ["likely by painter (apply, 20", "data.colour: \"red\" → \"black\"", "healed after"] {
            assert!(text.contains(part), "no `{part}` in {text}");
        }
        let records: Value =
            serde_json::from_str(&scene.lab.told(&["drift", "shop", "--output", "json"])).expect("it is JSON");
        let record = &records[0];
        assert_eq!(record["writer"]["certainty"], "likely", "{record}");
        let who = record["writer"]["who"].as_str().expect("somebody is named");
        assert!(who.starts_with("painter (apply, 20") && who.ends_with("Z)"), "{who}");
        assert_eq!(record["differences"][0]["path"], json!(["data", "colour"]), "{record}");
        agent.stop().await;
    }

    /// Returns a scene with a custom kind that reports health in its own way, and an app that
    /// declares an object of it.
    fn with_a_kind_of_its_own(name: &str) -> Scene {
        let mut scene = Scene::new(name);
        let group = format!("{}.example.com", scene.namespace);
        let schema = json!({"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}});
        let version =
            json!({"name": "v1", "served": true, "storage": true, "schema": schema, "subresources": {"status": {}}});
        let definition = json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": format!("widgets.{group}")},
            "spec": {"group": group, "scope": "Namespaced", "versions": [version],
                "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"}},
        });
        scene.server.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", &definition);
        let widget = format!(
            "apiVersion: {group}/v1\nkind: Widget\nmetadata: {{ name: first, namespace: {} }}\n",
            scene.namespace
        );
        scene.lab.app("shop").write("apps/shop/first.yaml", &widget);
        scene
    }

    /// Declares the rule of health for it.
    fn judge(lab: &mut Lab, server: &ApiServer, namespace: &str, rule: &str) {
        let target = format!(
            "\n  kind: kubernetes\n  kubeconfig: {}\n  namespace: {namespace}\n  health:\n    - kind: {namespace}.example.com/Widget\n      {rule}",
            server.kubeconfig().display()
        );
        lab.control("machine", "Target", &target);
    }

    impl Scene {
        fn judge(&mut self, rule: &str) {
            judge(&mut self.lab, self.server, &self.namespace, rule);
        }

        fn widget_says(&self, status: &Value) {
            let (group, namespace) = (format!("{}.example.com", self.namespace), &self.namespace);
            self.report(&format!("/apis/{group}/v1/namespaces/{namespace}/widgets/first"), status);
        }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_rule_of_the_target_says_what_healthy_means_and_a_new_rule_judges_anew() {
        let mut scene = with_a_kind_of_its_own("rules");
        scene.judge("healthy: self.status.mood == 'good'");
        let head = scene.lab.commit();
        let mut agent = scene.lab.start().await;
        // Without a status, the rule cannot be evaluated, and that is not healthy.
        let unknown = |detail: &AppDetail| {
            detail.unhealthy.iter().any(|it| it.health == Health::Unknown && it.reason.contains("cannot be evaluated"))
        };
        agent.until_app("shop", "is unknown", unknown).await;
        scene.widget_says(&json!({"mood": "bad"}));
        let progressing = |detail: &AppDetail| detail.unhealthy.iter().any(|it| it.health == Health::Progressing);
        agent.until_app("shop", "is progressing", progressing).await;
        scene.widget_says(&json!({"mood": "good"}));
        agent.until_converged("shop", &head).await;

        scene.judge("healthy: self.status.mood == 'splendid'\n      degraded: self.status.mood == 'good'");
        scene.lab.commit();
        agent.hint().await;
        let degraded = |detail: &AppDetail| detail.summary.state == AppState::Degraded;
        agent.until_app("shop", "is degraded by the new rule", degraded).await;
        agent.stop().await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_rule_that_is_none_is_refused_where_it_is_written() {
        let mut scene = with_a_kind_of_its_own("norules");
        scene.judge("healthy: self.status.mood == 'good'");
        scene.lab.commit();
        let mut agent = scene.lab.start().await;
        scene.judge("healthy: self.status.mood ==");
        scene.lab.commit();
        agent.hint().await;
        let look = async |agent: &Agent| {
            let overview = agent.overview().await;
            overview.apps.into_iter().find_map(|app| app.note.filter(|note| note.contains("is refused")))
        };
        let note = agent.until("the documents are refused", look).await;
        for part in ["setpoint/machine.yaml:10:", "`spec.health[0].healthy`", "it is not CEL"] {
            assert!(note.contains(part), "no `{part}` in {note}");
        }
        agent.stop().await;
    }
}
