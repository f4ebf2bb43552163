//! Tests connections to a server: client certificates and HTTP/2, few rights, and a server that
//! hangs.

use serde_json::json;
use setpoint_core::live::Presence;
use setpoint_core::observed::{Observed, UnknownReason};
use setpoint_core::time::Span;
use setpoint_target::{Outcome, RefusalClass, Target};
use setpoint_testbed::kube::{ApiServer, Fault, Rule};

use super::scene::{Scene, now, wire};

#[tokio::test(flavor = "multi_thread")]
async fn a_client_certificate_leads_straight_to_the_server() {
    let server = ApiServer::shared();
    let kubeconfig = server.kubeconfig_with_certificate("pilot", Some("system:masters"));
    let scene = Scene::with("certificate", |options| options.wire = wire(&kubeconfig)).await;
    let resources: Vec<_> = (0..40).map(|n| scene.config_map(&format!("a{n}"), &[("mode", "1")])).collect();
    let steps: Vec<_> = resources.iter().map(|resource| scene.steps.create(resource)).collect();
    let outcomes = scene.target.execute(steps, Scene::fence()).await;
    assert!(outcomes.iter().all(|outcome| matches!(outcome, Outcome::Done { live: Some(_) })), "{outcomes:?}");
    scene.observe(&resources[0]).await;
    scene.caught_up().await;
    scene.edit(&scene.config_map("a7", &[("mode", "9")]), "stranger");
    scene.hint_about(&resources[7].key).await;
    assert_ne!(scene.live(&resources[7]).await.value, resources[7].body);
    assert_eq!(scene.live(&resources[8]).await.value, resources[8].body);
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_has_rights_in_one_namespace_watches_that_one() {
    let server = ApiServer::shared();
    let namespace = server.fresh_namespace("tenant");
    let token = server.service_account(&namespace, "tenant");
    let user = format!("system:serviceaccount:{namespace}:tenant");
    let role = |name: &str, rule: serde_json::Value| {
        let name = format!("{namespace}-{name}");
        let role = json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": name}, "rules": [rule],
        });
        server.create("/apis/rbac.authorization.k8s.io/v1/clusterroles", &role);
        name
    };
    let all = json!({"apiGroups": [""], "resources": ["configmaps"], "verbs": ["*"]});
    server.grant(&user, &role("all", all), Some(&namespace));
    // Every user of a part of the cluster may ask for its identity.
    let who = json!({"apiGroups": [""], "resources": ["namespaces"], "verbs": ["get"]});
    server.grant(&user, &role("who", who), None);
    let kubeconfig = server.kubeconfig_with_token(&token);
    let scene = Scene::with("tenant", |options| options.wire = wire(&kubeconfig)).await;
    let object = |namespace: &str| {
        let metadata = json!({"name": "a", "namespace": namespace});
        scene.resource(&json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"mode": "1"}}))
    };
    let (allowed, denied) = (object(&namespace), object("kube-public"));
    scene.have(&allowed).await;
    scene.observe(&allowed).await;
    scene.caught_up().await;
    scene.edit(&scene.resource(&json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": namespace}, "data": {"mode": "9"},
    })), "stranger");
    scene.hint_about(&allowed.key).await;
    let outcome = scene.execute(&scene.steps.create(&denied)).await;
    assert!(matches!(&outcome, Outcome::Refused { refusal } if refusal.class == RefusalClass::Denied), "{outcome:?}");
    let seen = scene.observe(&denied).await;
    assert!(matches!(seen, Observed::Unknown { reason: UnknownReason::Denied { .. } }), "{seen:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_that_hangs_says_soon_that_it_does_not_say_who_it_is() {
    let scene = Scene::new("hangs").await;
    scene.proxy.add(Rule::new("GET", "/namespaces/kube-system", Fault::HangBefore));
    let asked = now();
    let answer = scene.target.identity().await;
    assert!(answer.is_err(), "{answer:?}");
    assert!(now().since(asked) < Span::seconds(10));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_comes_back_is_reached_again() {
    let server = ApiServer::own(setpoint_testbed::kube::Options::default());
    let kubeconfig = server.kubeconfig();
    let scene = Scene::with("back", |options| options.wire = wire(&kubeconfig)).await;
    let declared = scene.resource(&json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "default"}, "data": {"mode": "1"},
    }));
    scene.have(&declared).await;
    server.stop();
    let created = scene.execute(&scene.steps.create(&scene.config_map("b", &[]))).await;
    assert!(!matches!(created, Outcome::Done { .. }), "{created:?}");
    let missing = scene.resource(&json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "other", "namespace": "default"},
    }));
    assert!(matches!(scene.observe(&missing).await, Observed::Unknown { .. }));
    server.start_again();
    assert_eq!(scene.live(&declared).await.value, declared.body);
    assert!(matches!(scene.observe(&missing).await, Observed::Known { value: Presence::Absent, .. }));
}
