//! The boundaries of apps: they write only within their scope, and never to the files of Setpoint
//! itself.

use std::fs;

use super::lab::Lab;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_app_may_declare_the_data_folder_the_bootstrap_document_or_the_anchor() {
    let mut lab = Lab::new();
    lab.anchor_at(lab.path().join("anchor"));
    // All files of the lab are within the target.
    let root = lab.path().display().to_string();
    lab.control("machine", "Target", &format!("{{ kind: host, root: {root} }}"));
    lab.app("hello").file("hello", "greeting", "hello");
    let head = lab.commit();
    let mut agent = lab.start().await;
    agent.until_converged("hello", &head).await;
    let bootstrap = fs::read_to_string(lab.bootstrap()).expect("it is there");

    lab.file("hello", "data/ledger.db", "mine").file("hello", "bootstrap.yaml", "mine").file("hello", "anchor", "mine");
    lab.commit();
    agent.hint().await;
    let detail = agent.until_app("hello", "refuses the version", |detail| detail.refused.is_some()).await;
    let problem = detail.refused.expect("it was waited for").problem;
    for file in ["apps/hello/data-ledger.db.yaml:", "apps/hello/bootstrap.yaml.yaml:", "apps/hello/anchor.yaml:"] {
        assert!(problem.contains(file), "{problem}");
    }
    assert!(problem.contains("the path belongs to Setpoint itself"), "{problem}");
    assert_eq!(fs::read_to_string(lab.path().join("bootstrap.yaml")).expect("it is there"), bootstrap);
    agent.stop().await;
}

mod envtest {
    use serde_json::json;
    use setpoint_api::answer::AppDetail;

    use super::super::cluster::envtest::Scene;
    use super::super::lab::{Agent, withholds};

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn case_44_nothing_is_written_outside_of_the_scope() {
        let mut scene = Scene::new("bounded");
        let elsewhere = scene.server.fresh_namespace("elsewhere");
        let scope = |namespace: &str| format!("{{ namespaces: [{namespace}] }}");
        scene.lab.control("default", "Scope", &scope(&scene.namespace));
        scene.lab.app("shop");
        scene.config("shop", "first", "red");
        let head = scene.lab.commit();
        let mut agent = scene.lab.start().await;
        agent.until_converged("shop", &head).await;

        let outside = format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{ name: stray, namespace: {elsewhere} }}\n");
        scene.lab.write("apps/shop/stray.yaml", &outside);
        scene.config("shop", "first", "blue");
        scene.lab.commit();
        agent.hint().await;
        let detail = agent.until_app("shop", "refuses the version", |detail| detail.refused.is_some()).await;
        let problem = detail.refused.expect("it was waited for").problem;
        assert!(problem.contains("apps/shop/stray.yaml:"), "{problem}");
        assert!(
            problem.contains(&format!("list `{elsewhere}` in `spec.namespaces` of the Scope `default`")),
            "{problem}"
        );
        assert_eq!(scene.colour("first").as_deref(), Some("red"), "what was accepted stays");

        // A boundary that is added later also applies to versions accepted before.
        scene.lab.remove("apps/shop/stray.yaml");
        scene.lab.control("default", "Scope", &scope(&elsewhere));
        scene.lab.commit();
        agent.hint().await;
        let drawn =
            |detail: &AppDetail| detail.refused.as_ref().is_some_and(|refused| refused.problem.contains("first.yaml:"));
        agent.until_app("shop", "is bounded anew", drawn).await;
        scene.paint("first", "black");
        let bounded = |detail: &AppDetail| withholds(detail, "the app's scope may not write it");
        agent.until_app("shop", "leaves what is outside", bounded).await;
        assert_eq!(scene.colour("first").as_deref(), Some("black"));

        scene.lab.control("default", "Scope", &scope("'*'"));
        let head = scene.lab.commit();
        agent.until_converged("shop", &head).await;
        assert_eq!(scene.colour("first").as_deref(), Some("blue"));
        let stray = scene.server.request("GET", &format!("/api/v1/namespaces/{elsewhere}/configmaps/stray"), None);
        assert_eq!(stray.status, 404, "{stray:?}");
        agent.stop().await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn apps_write_in_the_name_of_their_scope_though_the_agent_may_do_everything() {
        let mut scene = Scene::new("named");
        let (server, namespace) = (scene.server, scene.namespace.clone());
        let elsewhere = server.fresh_namespace("elsewhere");
        let user = format!("system:serviceaccount:{namespace}:deployer");
        server.service_account(&namespace, "deployer");
        let role = json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": namespace},
            "rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["create", "get", "patch", "delete"]}],
        });
        server.create("/apis/rbac.authorization.k8s.io/v1/clusterroles", &role);
        server.grant(&user, &namespace, Some(&namespace));
        let stray = |name: &str| {
            format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{ name: {name}, namespace: {elsewhere} }}\n")
        };
        scene.lab.control("default", "Scope", &format!("{{ actAs: {{ user: '{user}' }} }}"));
        scene.lab.app("shop").write("apps/shop/stray.yaml", &stray("stray"));
        scene.config("shop", "first", "red");
        let head = scene.lab.commit();
        let mut agent = scene.lab.start().await;
        let there = async |_: &Agent| (scene.colour("first").as_deref() == Some("red")).then_some(());
        agent.until("what may be written is there", there).await;
        let refused = format!("User \"{user}\" cannot patch resource");
        let told = async |_: &Agent| scene.lab.told(&["history", "shop"]).contains(&refused).then_some(());
        agent.until("the refusal is told", told).await;
        let answer = server.request("GET", &format!("/api/v1/namespaces/{elsewhere}/configmaps/stray"), None);
        assert_eq!(answer.status, 404, "{answer:?}");

        server.grant(&user, &namespace, Some(&elsewhere));
        agent.until_converged("shop", &head).await;
        agent.stop().await;
    }
}
