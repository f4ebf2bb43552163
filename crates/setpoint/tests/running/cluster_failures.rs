//! Failures that users of other engines report again and again, as far as they concern apps and
//! their objects: the agent on a real Kubernetes API server. Numbers as in docs/false-diffs.md;
//! those that concern single objects are tested with the target.

pub(crate) mod envtest {
    use serde_json::{Value, json};
    use setpoint_api::answer::{AppDetail, AppState};
    use setpoint_core::live::Health;
    use setpoint_core::time::Span;
    use setpoint_testbed::kube::{Proxy, Seen};

    use super::super::cluster::envtest::Scene;
    use super::super::lab::Agent;

    pub(crate) async fn until_gone(agent: &mut Agent, scene: &Scene, name: &str) {
        let gone = async |_: &Agent| scene.live(name).is_none().then_some(());
        agent.until(&format!("{name} is gone"), gone).await;
    }

    /// Returns a lab on the cluster whose apps are observed again all the time.
    fn resyncing(name: &str) -> (Scene, Proxy) {
        let (mut scene, proxy) = Scene::through_proxy(name);
        scene.lab.settings.sweep = Span::millis(500);
        (scene, proxy)
    }

    /// Waits for ten observations of each of these objects, and checks that none is written.
    pub(crate) async fn rests(agent: &mut Agent, proxy: &Proxy, names: &[&str]) {
        proxy.take_seen();
        let looks = |seen: &[Seen], name: &str| {
            let end = format!("/{name}");
            seen.iter().filter(|seen| seen.method == "GET" && seen.path.ends_with(&end)).count()
        };
        let looked_at = async |_: &Agent| {
            let seen = proxy.seen();
            names.iter().all(|name| looks(&seen, name) >= 10).then_some(seen)
        };
        let seen = agent.until("everything is looked at ten times", looked_at).await;
        let written: Vec<&Seen> = seen.iter().filter(|seen| seen.method != "GET" && !seen.is_dry_run()).collect();
        assert!(written.is_empty(), "{written:?}");
    }

    /// Creates a copy of another object with all of its metadata, including Setpoint's marks.
    fn copy(scene: &Scene, from: &str, name: &str) -> Value {
        let mut object = scene.live(from).expect("it is there");
        for field in ["uid", "resourceVersion", "creationTimestamp", "managedFields"] {
            object["metadata"].as_object_mut().expect("every object has it").remove(field);
        }
        object["metadata"]["name"] = json!(name);
        object
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn f02_what_a_sync_made_that_never_succeeded_as_a_whole_is_owned_and_deleted() {
        let (mut scene, proxy) = resyncing("partial");
        scene.lab.app("shop");
        scene.config("shop", "first", "red");
        let wrong = "apiVersion: v1\nkind: Service\nmetadata: { name: wrong }\nspec: { ports: [{ port: 99999 }] }\n";
        scene.lab.write("apps/shop/wrong.yaml", wrong).commit();
        let mut agent = scene.lab.start().await;
        let there = async |_: &Agent| scene.live("first").map(drop);
        agent.until("the good one is there", there).await;
        let refused = |detail: &AppDetail| !detail.report.is_empty() && detail.summary.state != AppState::Converged;
        agent.until_app("shop", "has one refused", refused).await;

        scene.lab.remove("apps/shop/wrong.yaml").remove("apps/shop/first.yaml");
        let head = scene.config("shop", "second", "green").lab.commit();
        agent.until_converged("shop", &head).await;
        until_gone(&mut agent, &scene, "first").await;
        assert_eq!(scene.colour("second").as_deref(), Some("green"));
        rests(&mut agent, &proxy, &["second"]).await;
        agent.stop().await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn f03_what_could_not_be_deleted_stays_ours_until_it_is_gone() {
        let (mut scene, proxy) = resyncing("denied");
        scene.lab.app("shop");
        scene.config("shop", "first", "red").config("shop", "second", "green");
        let head = scene.lab.commit();
        let mut agent = scene.lab.start().await;
        agent.until_converged("shop", &head).await;
        let forbidden = scene.server.forbid_deletes(&scene.namespace);
        let uid = scene.uid("second");
        scene.lab.remove("apps/shop/second.yaml");
        // Others of the same version are not held back.
        scene.config("shop", "third", "blue").lab.commit();
        agent.hint().await;
        let told = |detail: &AppDetail| detail.summary.state != AppState::Converged && !detail.report.is_empty();
        agent.until_app("shop", "tells what it could not delete", told).await;
        let made = async |_: &Agent| scene.colour("third").filter(|colour| colour == "blue");
        agent.until("the third is there", made).await;
        assert_eq!(scene.uid("second"), uid);
        // A restart does not forget it either.
        agent.stop().await;
        let mut agent = scene.lab.start().await;
        drop(forbidden);
        until_gone(&mut agent, &scene, "second").await;
        rests(&mut agent, &proxy, &["first", "third"]).await;
        agent.stop().await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn f05_what_somebody_made_anew_under_our_name_is_not_deleted_when_we_no_longer_declare_it() {
        let (mut scene, proxy) = resyncing("anew");
        scene.lab.app("shop");
        scene.config("shop", "first", "red").config("shop", "second", "green");
        let head = scene.lab.commit();
        let mut agent = scene.lab.start().await;
        agent.until_converged("shop", &head).await;
        agent.stop().await;
        let anew = copy(&scene, "second", "second");
        scene.server.request("DELETE", &scene.path("second"), None).succeeded();
        scene.server.create(scene.path("second").rsplit_once('/').expect("a path").0, &anew);
        let uid = scene.uid("second");
        let head = scene.lab.remove("apps/shop/second.yaml").commit();
        let mut agent = scene.lab.start().await;
        agent.until_converged("shop", &head).await;
        rests(&mut agent, &proxy, &["first"]).await;
        agent.stop().await;
        assert_eq!(scene.uid("second"), uid);
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn case_47_a_copied_mark_is_nobodys_claim() {
        let mut scene = Scene::new("copied");
        scene.lab.app("shop");
        scene.config("shop", "first", "red").config("shop", "second", "green");
        let head = scene.lab.commit();
        let mut agent = scene.lab.start().await;
        agent.until_converged("shop", &head).await;
        let child = copy(&scene, "second", "child");
        scene.server.create(scene.path("child").rsplit_once('/').expect("a path").0, &child);
        let before = scene.live("child");
        let head = scene.lab.remove("apps/shop/second.yaml").commit();
        agent.until_converged("shop", &head).await;
        until_gone(&mut agent, &scene, "second").await;
        scene.lab.app_with("shop", "retire: true").commit();
        agent.hint().await;
        until_gone(&mut agent, &scene, "first").await;
        agent.stop().await;
        assert_eq!(scene.live("child"), before);
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn f06_an_object_that_moves_to_another_app_stays_the_same_object() {
        let (mut scene, proxy) = resyncing("move");
        scene.lab.app("shop").app("store");
        scene.config("shop", "first", "red").config("shop", "moving", "green").config("store", "other", "blue");
        let head = scene.lab.commit();
        let mut agent = scene.lab.start().await;
        for app in ["shop", "store"] {
            agent.until_converged(app, &head).await;
        }
        let before = scene.uid("moving");
        scene.lab.remove("apps/shop/moving.yaml");
        let head = scene.config("store", "moving", "green").lab.commit();
        for app in ["shop", "store"] {
            agent.until_converged(app, &head).await;
        }
        assert_eq!(scene.uid("moving"), before);
        rests(&mut agent, &proxy, &["first", "moving", "other"]).await;
        assert_eq!(scene.uid("moving"), before);
        agent.stop().await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn f07_objects_that_need_each_other_arrive_in_one_commit() {
        let (mut scene, proxy) = resyncing("needy");
        let (namespace, group) = (format!("{}-new", scene.namespace), format!("{}.example.com", scene.namespace));
        scene.lab.app("shop");
        // The names sort in an order that would fail.
        let documents = [
            (
                "a-gadget",
                format!(
                    "apiVersion: {group}/v1\nkind: Gadget\nmetadata: {{ name: a, namespace: {namespace} }}\nspec: {{ size: 3 }}\n"
                ),
            ),
            (
                "b-map",
                format!(
                    "apiVersion: v1\nkind: ConfigMap\nmetadata: {{ name: b, namespace: {namespace} }}\ndata: {{ a: b }}\n"
                ),
            ),
            (
                "c-definition",
                format!(
                    "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {{ name: gadgets.{group} }}\nspec:\n  \
                     group: {group}\n  scope: Namespaced\n  names: {{ plural: gadgets, singular: gadget, kind: Gadget }}\n  versions:\n  \
                     - name: v1\n    served: true\n    storage: true\n    schema: {{ openAPIV3Schema: {{ type: object, properties: \
                     {{ spec: {{ type: object, properties: {{ size: {{ type: integer }} }} }} }} }} }}\n"
                ),
            ),
            ("d-namespace", format!("apiVersion: v1\nkind: Namespace\nmetadata: {{ name: {namespace} }}\n")),
        ];
        for (name, text) in &documents {
            scene.lab.write(&format!("apps/shop/{name}.yaml"), text);
        }
        let head = scene.lab.commit();
        let mut agent = scene.lab.start().await;
        let at_head = |detail: &AppDetail| {
            super::super::lab::is_at(detail, &head)
                && detail.report.is_empty()
                && detail.summary.state != AppState::Degraded
        };
        let gadget = format!("/apis/{group}/v1/namespaces/{namespace}/gadgets/a");
        let made = async |_: &Agent| (scene.server.request("GET", &gadget, None).status == 200).then_some(());
        agent.until("the gadget is there", made).await;
        agent.until_app("shop", "has everything in place", at_head).await;
        let map = format!("/api/v1/namespaces/{namespace}/configmaps/b");
        assert_eq!(scene.server.request("GET", &map, None).status, 200);
        rests(&mut agent, &proxy, &["configmaps/b", "gadgets/a", &namespace]).await;
        // No step was tried too early: the gadget waited until its definition was established.
        let history = scene.lab.told(&["history", "shop"]);
        assert!(!history.contains("refused"), "{history}");
        agent.stop().await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn f10_apps_that_wait_for_health_hold_nobody_up() {
        let (mut scene, proxy) = resyncing("waiting");
        scene.lab.settings.most_busy = 2;
        for n in 0..4 {
            // They never run: there is no controller on this server.
            let text = format!(
                "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{ name: web{n} }}\nspec:\n  selector: {{ matchLabels: {{ app: web{n} }} }}\n  \
                 template:\n    metadata: {{ labels: {{ app: web{n} }} }}\n    spec: {{ containers: [{{ name: web, image: 'web:1' }}] }}\n"
            );
            scene.lab.app(&format!("slow{n}")).write(&format!("apps/slow{n}/web.yaml"), &text);
        }
        scene.lab.commit();
        let mut agent = scene.lab.start().await;
        for n in 0..4 {
            let path = format!("/apis/apps/v1/namespaces/{}/deployments/web{n}", scene.namespace);
            let made = async |_: &Agent| (scene.server.request("GET", &path, None).status == 200).then_some(());
            agent.until(&format!("web{n} is there"), made).await;
        }
        scene.lab.app("quick");
        let head = scene.config("quick", "first", "red").lab.commit();
        agent.until_converged("quick", &head).await;
        for n in 0..4 {
            let detail = agent.detail(&format!("slow{n}")).await.expect("it is declared");
            assert_ne!(detail.summary.health, Health::Healthy);
        }
        rests(&mut agent, &proxy, &["web0", "web1", "web2", "web3", "first"]).await;
        agent.stop().await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn an_app_of_a_kind_that_is_missing_leaves_the_others_their_cluster() {
        let mut scene = Scene::new("missing");
        scene.lab.app("early").app("shop");
        for n in 0..40 {
            let text = format!(
                "apiVersion: {}.example.com/v1\nkind: Gadget\nmetadata: {{ name: a{n}, namespace: {} }}\n",
                scene.namespace, scene.namespace
            );
            scene.lab.write(&format!("apps/early/a{n}.yaml"), &text);
        }
        let head = scene.config("shop", "first", "red").lab.commit();
        let mut agent = scene.lab.start().await;
        agent.until_app("early", "was refused", |detail| !detail.report.is_empty()).await;
        agent.until_converged("shop", &head).await;
        let head = scene.config("shop", "first", "blue").lab.commit();
        agent.until_converged("shop", &head).await;
        assert_eq!(scene.colour("first").as_deref(), Some("blue"));
        let left_alone: Vec<_> = agent.said().into_iter().filter(|line| line.contains("left alone")).collect();
        assert_eq!(left_alone, [""; 0]);
        agent.stop().await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn case_41_a_list_in_a_list_is_taken_apart_and_each_item_is_judged() {
        let mut scene = Scene::new("lists");
        scene.lab.app("shop");
        let map = |name: &str| {
            format!("{{ apiVersion: v1, kind: ConfigMap, metadata: {{ name: {name} }}, data: {{ colour: red }} }}")
        };
        let inner = format!("{{ apiVersion: v1, kind: List, items: [{}, {}] }}", map("first"), map("second"));
        scene
            .lab
            .write("apps/shop/list.yaml", &format!("apiVersion: v1\nkind: List\nitems: [{inner}, {}]\n", map("third")));
        let head = scene.lab.commit();
        let mut agent = scene.lab.start().await;
        agent.until_converged("shop", &head).await;
        for name in ["first", "second", "third"] {
            assert_eq!(scene.colour(name).as_deref(), Some("red"));
        }
        agent.stop().await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn case_41_what_fifty_lists_hide_is_taken_apart_and_judged_by_the_scope() {
        let mut scene = Scene::new("depths");
        let hidden = |object: &str| {
            (0..50).fold(object.to_owned(), |inner, _| format!("{{ apiVersion: v1, kind: List, items: [{inner}] }}"))
        };
        let map = "{ apiVersion: v1, kind: ConfigMap, metadata: { name: first }, data: { colour: red } }";
        let bounds = format!("{{ namespaces: [{}] }}", scene.namespace);
        scene.lab.control("default", "Scope", &bounds).app("shop").write("apps/shop/list.yaml", &hidden(map));
        let head = scene.lab.commit();
        let mut agent = scene.lab.start().await;
        agent.until_converged("shop", &head).await;
        assert_eq!(scene.colour("first").as_deref(), Some("red"));

        let binding = "{ apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: { name: hidden-root }, \
                       roleRef: { apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin }, subjects: [] }";
        scene.lab.write("apps/shop/root.yaml", &hidden(binding)).commit();
        agent.hint().await;
        let refused = |detail: &AppDetail| {
            detail.refused.as_ref().is_some_and(|refused| refused.problem.contains("ClusterRoleBinding"))
        };
        agent.until_app("shop", "refuses what is hidden", refused).await;
        let path = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/hidden-root";
        assert_eq!(scene.server.request("GET", path, None).status, 404);
        agent.stop().await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn case_75_a_bundle_whose_content_was_swapped_after_it_was_accepted_is_not_applied_to_a_cluster() {
        let (mut scene, proxy) = Scene::through_proxy("swapped");
        scene.lab.app("shop");
        let head = scene.config("shop", "first", "what-was-accepted").lab.commit();
        let mut agent = scene.lab.start().await;
        agent.until_converged("shop", &head).await;
        agent.stop().await;

        scene.lab.swap_in_ledger("what-was-accepted", "what-was-smuggled");
        scene.paint("first", "drifted");
        let before = scene.live("first");
        proxy.take_seen();
        let mut agent = scene.lab.start().await;
        let trouble = async |agent: &Agent| agent.overview().await.ledger.trouble;
        let trouble = agent.until("the bundle is not loaded", trouble).await;
        assert!(trouble.contains("bundle") && trouble.contains("setpoint ledger verify"), "{trouble}");
        assert!(!agent.overview().await.ledger.holding);
        agent.stop().await;
        assert!(proxy.seen().iter().all(|seen| seen.method == "GET"), "{:?}", proxy.seen());
        assert_eq!(scene.live("first"), before, "nothing is written on the strength of it");
    }
}
