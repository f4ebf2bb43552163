//! Changes of immutable fields on a Kubernetes cluster: the object is recreated if its app permits
//! that and the server would accept the new one, and stays in all other cases.

mod envtest {
    use super::super::cluster::envtest::Scene;
    use super::super::lab::{Agent, withholds};

    /// Lets the app declare a Deployment with a label selector, which is immutable.
    fn deployment(scene: &mut Scene, label: &str) {
        let text = format!(
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{ name: web }}\nspec:\n  replicas: 0\n  \
             selector: {{ matchLabels: {{ app: {label} }} }}\n  template:\n    metadata: {{ labels: {{ app: {label} }} }}\n    \
             spec: {{ containers: [{{ name: web, image: \"web:1\" }}] }}\n"
        );
        scene.lab.write("apps/shop/web.yaml", &text);
    }

    /// Returns the UID of the existing Deployment, and the label of its selector.
    fn standing(scene: &Scene) -> Option<(String, String)> {
        let path = format!("/apis/apps/v1/namespaces/{}/deployments/web", scene.namespace);
        let answer = scene.server.request("GET", &path, None);
        if answer.status == 404 {
            return None;
        }
        let object = answer.succeeded().json();
        let text = |value: &serde_json::Value| value.as_str().expect("the server sets it").to_owned();
        Some((text(&object["metadata"]["uid"]), text(&object["spec"]["selector"]["matchLabels"]["app"])))
    }

    /// Declares a ConfigMap that is marked as immutable.
    fn frozen(scene: &mut Scene, colour: &str) -> String {
        let text = format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {{ name: frozen }}\nimmutable: true\ndata: {{ colour: {colour} }}\n"
        );
        scene.lab.write("apps/shop/frozen.yaml", &text).commit()
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_selector_is_changed_by_making_the_deployment_anew_once_that_is_allowed() {
        let mut scene = Scene::new("selector");
        scene.lab.app("shop");
        deployment(&mut scene, "one");
        scene.lab.commit();
        let mut agent = scene.lab.start().await;
        let first = agent.until("the deployment is there", async |_: &Agent| standing(&scene)).await;

        deployment(&mut scene, "two");
        scene.lab.commit();
        agent.hint().await;
        agent.until_app("shop", "says how to allow it", |detail| withholds(detail, "`sync.replace`")).await;
        assert_eq!(standing(&scene), Some(first.clone()));

        scene.lab.app_with("shop", "sync: { replace: [{ kind: Deployment, group: apps, name: web }] }").commit();
        agent.hint().await;
        let anew = async |_: &Agent| standing(&scene).filter(|(_, label)| label == "two");
        let (uid, _) = agent.until("it was made anew", anew).await;
        assert_ne!(uid, first.0);
        agent.stop().await;
    }

    /// Sets or removes a finalizer that prevents the deletion of an object.
    fn keep(scene: &Scene, kept: bool) {
        let finalizers = if kept { r#"["example.com/keep"]"# } else { "null" };
        let body = format!(r#"{{"metadata":{{"finalizers":{finalizers}}}}}"#);
        let content = ("application/merge-patch+json", body.as_bytes());
        scene.server.request("PATCH", &scene.path("frozen"), Some(content)).succeeded();
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn what_finalizers_keep_is_waited_for_and_nothing_is_made_beside_it() {
        let mut scene = Scene::new("finalizers");
        scene.lab.app_with("shop", "sync: { replace: [{ kind: ConfigMap, name: frozen }] }");
        let head = frozen(&mut scene, "red");
        let mut agent = scene.lab.start().await;
        agent.until_converged("shop", &head).await;
        let uid = scene.uid("frozen");
        keep(&scene, true);

        let head = frozen(&mut scene, "blue");
        agent.hint().await;
        let waits = "the object remains until its finalizers are removed";
        agent.until_app("shop", "says what it waits for", |detail| withholds(detail, waits)).await;
        assert_eq!((scene.uid("frozen"), scene.colour("frozen").as_deref()), (uid.clone(), Some("red")));

        keep(&scene, false);
        agent.until_converged("shop", &head).await;
        assert_eq!(scene.colour("frozen").as_deref(), Some("blue"));
        assert_ne!(scene.uid("frozen"), uid);
        agent.stop().await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn what_the_server_would_not_take_anew_stays_until_it_does() {
        let mut scene = Scene::new("kept");
        scene.lab.app_with("shop", "sync: { replace: [{ kind: ConfigMap }] }");
        let head = frozen(&mut scene, "red");
        let mut agent = scene.lab.start().await;
        agent.until_converged("shop", &head).await;
        let uid = scene.uid("frozen");

        let forbidden = scene.server.forbid_creates(&scene.namespace);
        let head = frozen(&mut scene, "blue");
        agent.hint().await;
        let refused = "would not accept the new one";
        agent.until_app("shop", "says why it stays", |detail| withholds(detail, refused)).await;
        assert_eq!((scene.uid("frozen"), scene.colour("frozen").as_deref()), (uid.clone(), Some("red")));

        drop(forbidden);
        agent.until_converged("shop", &head).await;
        assert_eq!(scene.colour("frozen").as_deref(), Some("blue"));
        assert_ne!(scene.uid("frozen"), uid);
        agent.stop().await;
    }
}
