//! Others that write to a cluster while the agent does: fights end soon, people are notified, and
//! objects of others are not touched.

mod envtest {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use serde_json::{Value, json};
    use setpoint::doors::Clock;
    use setpoint_api::answer::AppDetail;
    use setpoint_core::modes::Cause;
    use setpoint_core::time::Span;
    use setpoint_testbed::kube::{ApiServer, Options, Proxy, Seen};
    use tokio::task::JoinSet;

    use super::super::cluster::envtest::Scene;
    use super::super::cluster_failures::envtest::{rests, until_gone};
    use super::super::lab::{Agent, is_at, withholds};

    /// A program that observes objects again and again and acts on them, as controllers do, until
    /// it is dropped.
    struct Neighbour {
        over: Arc<AtomicBool>,
        _task: JoinSet<()>,
    }

    impl Neighbour {
        /// Starts it. `act` is called with each ConfigMap of the namespace.
        fn moves_in(scene: &Scene, act: impl Fn(&'static ApiServer, &str, &Value) + Send + 'static) -> Self {
            let over = Arc::new(AtomicBool::new(false));
            let (server, collection) = (scene.server, format!("/api/v1/namespaces/{}/configmaps", scene.namespace));
            let is_over = Arc::clone(&over);
            let mut task = JoinSet::new();
            task.spawn_blocking(move || {
                while !is_over.load(Ordering::Relaxed) {
                    let list = server.request("GET", &collection, None).succeeded().json();
                    for object in list["items"].as_array().expect("a list has items") {
                        act(server, &collection, object);
                    }
                    // Waits for the next change, for a second at most.
                    let version = list["metadata"]["resourceVersion"].as_str().expect("a list has a version");
                    let watch = format!("{collection}?watch=true&resourceVersion={version}&timeoutSeconds=1");
                    server.request("GET", &watch, None);
                }
            });
            Self { over, _task: task }
        }
    }

    impl Drop for Neighbour {
        fn drop(&mut self) {
            self.over.store(true, Ordering::Relaxed);
        }
    }

    fn name_of(object: &Value) -> &str {
        object["metadata"]["name"].as_str().expect("every object has one")
    }

    fn writes_to(seen: &[Seen], end: &str) -> usize {
        let is_write = |seen: &&Seen| seen.method != "GET" && !seen.is_dry_run() && seen.path.ends_with(end);
        seen.iter().filter(is_write).count()
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_controller_that_rewrites_what_we_declare_is_named_and_answered_ever_more_slowly() {
        let (mut scene, proxy) = Scene::through_proxy("rewriter");
        scene.lab.app("shop");
        let head = scene.config("shop", "first", "red").config("shop", "second", "red").lab.commit();
        let mut agent = scene.lab.start().await;
        agent.until_converged("shop", &head).await;
        proxy.take_seen();
        let (clock, began) = (Clock::start(), Clock::start().now());
        let rewriter = Neighbour::moves_in(&scene, |server, collection, object| {
            if name_of(object) == "first" && object["data"]["colour"] == "red" {
                let path = format!("{collection}/first?fieldManager=rewriter");
                let patch = br#"{"data":{"colour":"grey"}}"#;
                server.request("PATCH", &path, Some(("application/merge-patch+json", patch)));
            }
        });
        let heals = async |agent: &Agent| {
            let records = agent.drift("shop").await;
            records.into_iter().filter(|record| record.healed.is_some()).collect::<Vec<_>>()
        };
        // Three at once, then after one, two and four seconds.
        let healed = agent
            .until("it was healed six times", async |agent| {
                let healed = heals(agent).await;
                (healed.len() >= 6).then_some(healed)
            })
            .await;
        assert!(clock.now().since(began) >= Span::seconds(7), "it is healed ever more slowly");
        for record in &healed {
            assert_eq!((record.key.name(), record.cause), ("first", Cause::Drift));
            assert!(record.writer.name().starts_with("rewriter (update"), "{record:?}");
        }
        let told: Vec<_> = agent.said().into_iter().filter(|line| line.contains("keeps being changed")).collect();
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(told[0].contains("last writer: rewriter") && told[0].contains("ever more slowly"), "{told:?}");
        agent
            .until_app("shop", "leaves it alone", |detail| withholds(detail, "another writer keeps changing it"))
            .await;
        // Each heal is sent without force first, and then with it. An object that was not changed
        // is not written.
        let (seen, healed) = (proxy.take_seen(), heals(&agent).await.len());
        assert!(writes_to(&seen, "/first") <= 2 * (healed + 1), "{healed}: {seen:?}");
        assert_eq!(writes_to(&seen, "/second"), 0);

        // If the app leaves the field to the other writer, there is no fight.
        scene.lab.app_with("shop", "sync: { ignore: [{ kind: ConfigMap, name: first, paths: [data.colour] }] }");
        scene.lab.settings.sweep = Span::millis(500);
        agent.stop().await;
        let head = scene.config("shop", "second", "blue").lab.commit();
        let mut agent = scene.lab.start().await;
        agent.until_converged("shop", &head).await;
        let grey = async |_: &Agent| (scene.colour("first").as_deref() == Some("grey")).then_some(());
        agent.until("it is as the other wants it", grey).await;
        rests(&mut agent, &proxy, &["first", "second"]).await;
        drop(rewriter);
        agent.stop().await;
    }

    /// Acts like an operator: creates a child for each object, with all metadata of its parent, and
    /// sets a label on the parent.
    fn operate(server: &'static ApiServer, collection: &str, object: &Value) {
        let name = name_of(object);
        if name.ends_with("-child") {
            return;
        }
        let (labels, annotations) = (&object["metadata"]["labels"], &object["metadata"]["annotations"]);
        let child = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "data": object["data"],
            "metadata": {"name": format!("{name}-child"), "labels": labels, "annotations": annotations},
        });
        server.apply(&format!("{collection}/{name}-child"), "operator", &child);
        if labels["operated"] != "yes" {
            let path = format!("{collection}/{name}?fieldManager=operator");
            let patch = br#"{"metadata":{"labels":{"operated":"yes"}}}"#;
            server.request("PATCH", &path, Some(("application/merge-patch+json", patch)));
        }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn an_operator_that_copies_our_marks_keeps_its_children_whatever_becomes_of_their_parents() {
        let (mut scene, proxy) = Scene::through_proxy("operator");
        scene.lab.app("shop");
        let head = scene.config("shop", "first", "red").config("shop", "second", "red").lab.commit();
        let operator = Neighbour::moves_in(&scene, operate);
        let mut agent = scene.lab.start().await;
        agent.until_converged("shop", &head).await;
        let marked = async |_: &Agent| {
            let marked = ["first-child", "second-child"].iter().all(|name| {
                let labels = scene.live(name).map(|child| child["metadata"]["labels"].clone()).unwrap_or_default();
                labels["setpoint.dev/installation"].is_string() && labels["operated"] == "yes"
            });
            marked.then_some(())
        };
        agent.until("both have children that bear our marks", marked).await;
        let children = ["first-child", "second-child"].map(|name| scene.uid(name));
        let told = |detail: &AppDetail| detail.remarks.len() == 2 && detail.drifts.is_empty();
        agent.until_app("shop", "tells of the label, and leaves it alone", told).await;

        scene.config("shop", "first", "blue").config("shop", "third", "red");
        let head = scene.lab.remove("apps/shop/second.yaml").commit();
        agent.until_converged("shop", &head).await;
        until_gone(&mut agent, &scene, "second").await;
        let followed = async |_: &Agent| (scene.colour("first-child").as_deref() == Some("blue")).then_some(());
        agent.until("the operator has followed", followed).await;
        scene.lab.app_with("shop", "retire: true").commit();
        agent.hint().await;
        until_gone(&mut agent, &scene, "first").await;
        until_gone(&mut agent, &scene, "third").await;
        drop(operator);
        agent.stop().await;
        assert_eq!(["first-child", "second-child"].map(|name| scene.uid(name)), children);
        let seen = proxy.seen();
        let touched: Vec<&Seen> = seen.iter().filter(|seen| seen.path.ends_with("-child")).collect();
        assert!(touched.is_empty(), "{touched:?}");
        // Created, changed once and deleted; created and deleted; and no label led to a write.
        let written = ["/first", "/second", "/third"].map(|end| writes_to(&seen, end));
        assert_eq!(written, [3, 2, 2]);
    }

    fn deployment(image: &str) -> String {
        format!(
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{ name: web }}\nspec:\n  replicas: 1\n  \
             selector: {{ matchLabels: {{ app: web }} }}\n  template:\n    metadata: {{ labels: {{ app: web }} }}\n    \
             spec: {{ containers: [{{ name: web, image: '{image}' }}] }}\n"
        )
    }

    const SCALER: &str = "apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: { name: web-scaler }\nspec:\n  \
                          scaleTargetRef: { apiVersion: apps/v1, kind: Deployment, name: web }\n  minReplicas: 3\n  maxReplicas: 5\n";

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn what_the_clusters_own_autoscaler_scales_is_left_to_it() {
        let server: &'static ApiServer =
            Box::leak(Box::new(ApiServer::own(Options { controllers: true, ..Options::default() })));
        let (mut scene, proxy): (Scene, Proxy) = Scene::through_proxy_to(server, "scaled");
        scene.lab.settings.sweep = Span::millis(500);
        scene.lab.app("shop").write("apps/shop/web.yaml", &deployment("web:1")).write("apps/shop/scaler.yaml", SCALER);
        scene.lab.commit();
        let mut agent = scene.lab.start().await;
        let path = format!("/apis/apps/v1/namespaces/{}/deployments/web", scene.namespace);
        let spec = || server.request("GET", &path, None).json()["spec"].clone();
        let scaled = async |_: &Agent| (spec()["replicas"] == 3).then_some(());
        agent.until("the autoscaler has scaled it", scaled).await;
        rests(&mut agent, &proxy, &["deployments/web", "web-scaler"]).await;
        assert_eq!(spec()["replicas"], 3, "one is declared, and the autoscaler wants three");
        assert!(agent.drift("shop").await.is_empty(), "{:?}", agent.drift("shop").await);

        let head = scene.lab.write("apps/shop/web.yaml", &deployment("web:2")).commit();
        agent.hint().await;
        let moved = |detail: &AppDetail| is_at(detail, &head);
        agent.until_app("shop", "has moved on", moved).await;
        let image = async |_: &Agent| {
            (spec()["template"]["spec"]["containers"][0]["image"] == "web:2").then_some(spec()["replicas"].clone())
        };
        assert_eq!(agent.until("the new image is there", image).await, 3);
        rests(&mut agent, &proxy, &["deployments/web", "web-scaler"]).await;
        agent.stop().await;
    }
}
