//! Tests changes that impersonate a scope's own user: a change that this user may not make is
//! refused, whatever the agent itself may do.

use std::sync::Arc;

use serde_json::{Value as Json, json};
use setpoint_core::acting::ActingAs;
use setpoint_core::live::Writer;
use setpoint_target::{Asker, Outcome, Refusal, RefusalClass, Settlement, Target, Work};

use super::auditing::{audited, jane, proven, run_as, server};
use super::scene::Scene;

fn acting_as(user: &str, groups: &[&str]) -> Option<Arc<ActingAs>> {
    Some(Arc::new(ActingAs { user: user.into(), groups: groups.iter().map(|&group| group.into()).collect() }))
}

fn asker(acting_as: &Option<Arc<ActingAs>>) -> Asker {
    Asker { acting_as: acting_as.clone(), ..Asker::default() }
}

fn of(work: Work, acting_as: &Option<Arc<ActingAs>>) -> Work {
    Work { acting_as: acting_as.clone(), ..work }
}

/// Returns all rights on ConfigMaps.
fn everything() -> Json {
    json!([{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["create", "get", "patch", "delete"]}])
}

fn refusal(outcome: Outcome) -> Refusal {
    match outcome {
        Outcome::Refused { refusal } => refusal,
        other => panic!("it was not refused: {other:?}"),
    }
}

impl Scene {
    /// Creates a service account that may write in one namespace only.
    fn deployer(&self, name: &str, namespace: &str) -> Option<Arc<ActingAs>> {
        self.server.service_account(&self.namespace, name);
        let user = format!("system:serviceaccount:{}:{name}", self.namespace);
        self.server.grant(&user, &self.role(name, &everything()), Some(namespace));
        acting_as(&user, &[])
    }

    fn config_in(&self, namespace: &str, name: &str, mode: &str) -> Arc<setpoint_core::resource::Resource> {
        self.resource(&json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": name, "namespace": namespace}, "data": {"mode": mode},
        }))
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_scopes_on_one_cluster_write_each_where_its_own_user_may() {
    let scene = Scene::new("names").await;
    let (here, there) = (scene.namespace.clone(), scene.server.fresh_namespace("there"));
    let (web, pay) = (scene.deployer("web", &here), scene.deployer("pay", &there));
    for (own, other, namespace) in [(&web, &pay, &here), (&pay, &web, &there)] {
        let declared = scene.config_in(namespace, "settings", "safe");
        let refused = refusal(scene.execute(&of(scene.steps.create(&declared), other)).await);
        let user = &other.as_ref().unwrap().user;
        assert_eq!(refused.class, RefusalClass::Denied);
        assert!(refused.detail.contains(&format!("User \"{user}\" cannot patch")), "{refused}");
        assert!(refused.detail.ends_with("grant this permission to the user"), "{refused}");
        assert_eq!(scene.server.request("GET", &Scene::path(&declared), None).status, 404, "nothing was made");

        let made = scene.done(&of(scene.steps.create(&declared), own)).await.unwrap();
        let changed = scene.config_in(namespace, "settings", "fast");
        let denied = scene.target.forecast(&changed, &asker(other)).await.unwrap_err();
        assert_eq!(denied.class, RefusalClass::Denied, "{denied}");
        let forecast = scene.target.forecast(&changed, &asker(own)).await.unwrap().unwrap();
        assert_eq!(forecast.len(), 1, "{forecast:?}");
        let refused = refusal(scene.execute(&of(scene.steps.update(&changed, &made), other)).await);
        assert_eq!(refused.class, RefusalClass::Denied, "{refused}");
        let changed_live = scene.done(&of(scene.steps.update(&changed, &made), own)).await.unwrap();
        let refused = refusal(scene.execute(&of(scene.steps.delete(&changed.key, &changed_live), other)).await);
        assert_eq!(refused.class, RefusalClass::Denied, "{refused}");
        scene.done(&of(scene.steps.delete(&changed.key, &changed_live), own)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_is_named_with_its_groups() {
    let scene = Scene::new("groups").await;
    let group = format!("{}-deployers", scene.namespace);
    scene.server.grant_to_group(&group, &scene.role("group", &everything()), Some(&scene.namespace));
    let declared = scene.config_map("settings", &[("mode", "safe")]);
    let alone = of(scene.steps.create(&declared), &acting_as("web", &[]));
    assert_eq!(refusal(scene.execute(&alone).await).class, RefusalClass::Denied);
    scene.done(&of(scene.steps.create(&declared), &acting_as("web", &["others", &group]))).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_may_not_impersonate_is_told_so_apart_from_what_the_user_may() {
    let scene = Scene::with_rights("unnamed", &everything(), |options| options.trust_streams = false).await;
    let declared = scene.config_map("settings", &[("mode", "safe")]);
    let user = scene.deployer("web", &scene.namespace);
    for who in [user, acting_as("web", &[])] {
        let refused = refusal(scene.execute(&of(scene.steps.create(&declared), &who)).await);
        assert_eq!(refused.class, RefusalClass::Denied);
        assert!(refused.detail.contains("cannot impersonate"), "{refused}");
        assert!(refused.detail.contains("grant the agent the verb `impersonate`"), "{refused}");
    }
    let made = scene.have(&declared).await;
    assert_eq!(scene.live(&declared).await.version, made.version, "in its own name it may");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_may_only_read_and_impersonate_holds_what_a_scope_declares() {
    let rules = json!([
        {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list", "watch"]},
        {"apiGroups": [""], "resources": ["serviceaccounts"], "verbs": ["impersonate"]},
    ]);
    let scene = Scene::with_rights("reader", &rules, |options| options.trust_streams = false).await;
    let web = scene.deployer("web", &scene.namespace);
    let declared = scene.config_map("settings", &[("mode", "safe")]);
    assert_eq!(refusal(scene.execute(&scene.steps.create(&declared)).await).class, RefusalClass::Denied);
    let made = scene.done(&of(scene.steps.create(&declared), &web)).await.unwrap();
    scene.patch(&declared, "stranger", &json!({"data": {"mode": "fast"}}));
    let drifted = scene.live(&declared).await;
    assert_ne!(drifted.value, made.value);
    let healed = scene.done(&of(scene.steps.update(&declared, &drifted), &web)).await.unwrap();
    assert_eq!(healed.value, made.value);

    // An effect that may still be in flight is ended as the same user.
    let changed = scene.config_map("settings", &[("mode", "slow")]);
    let lost = of(scene.steps.update(&changed, &healed), &web);
    assert_eq!(scene.settle_early(&lost).await, Settlement::NotDone);
    let late = refusal(scene.execute(&lost).await);
    assert_eq!(late.class, RefusalClass::Conflict, "{late}");
}

#[tokio::test(flavor = "multi_thread")]
async fn our_own_writes_in_another_name_are_known_for_ours_by_the_audit_trail() {
    let scene = audited("ours").await;
    let web = scene.deployer("web", &scene.namespace);
    let user = &web.as_ref().unwrap().user;
    let declared = scene.config_map("settings", &[("mode", "safe"), ("level", "1")]);
    scene.done(&of(scene.steps.create(&declared), &web)).await;
    for round in 0..2 {
        // A removed field names no manager: every writer since our own last write may have done it.
        let patch = r#"[{"op":"remove","path":"/data/mode"}]"#;
        run_as(&jane(), &["patch", "configmap", "settings", "-n", &scene.namespace, "--type=json", "-p", patch], "");
        let drifted = scene.live(&declared).await;
        let proof = proven(&scene, &declared, Some(&drifted)).await;
        assert_eq!((proof.who.as_str(), proof.acting_as), ("jane", None), "round {round}");
        scene.done(&of(scene.steps.update(&declared, &drifted), &web)).await;
    }
    let log = std::fs::read_to_string(server().audit_log()).unwrap();
    let events = log.lines().filter_map(|line| serde_json::from_str::<Json>(line).ok());
    let ours = |event: &Json| {
        event["auditID"].as_str().is_some_and(|id| id.starts_with("setpoint-"))
            && event["objectRef"]["namespace"] == *scene.namespace
    };
    let ours: Vec<Json> = events.filter(ours).collect();
    assert!(ours.len() >= 3, "{ours:?}");
    for event in ours {
        assert_eq!(
            (&event["user"]["username"], &event["impersonatedUser"]["username"]),
            (&json!("admin"), &json!(**user))
        );
    }

    // Another client that impersonates the scope's user is not the scope.
    let patch = r#"{"data":{"mode":"fast"}}"#;
    let name = format!("--as={user}");
    run_as(&jane(), &["patch", "configmap", "settings", "-n", &scene.namespace, "-p", patch, &name], "");
    let drifted = scene.live(&declared).await;
    assert!(matches!(drifted.writer, Writer::Likely { .. }), "{:?}", drifted.writer);
    let proof = proven(&scene, &declared, Some(&drifted)).await;
    assert_eq!((proof.who.as_str(), proof.acting_as.as_deref()), ("jane", Some(&**user)));
}
