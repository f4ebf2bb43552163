//! Tests undeclared fields of others: they are reported with their manager and left alone, or
//! treated as a rule requires.

use std::sync::Arc;

use serde_json::{Value as Json, json};
use setpoint_core::live::{Live, Remark, Writer};
use setpoint_core::modes::Cause;
use setpoint_core::resource::{AdditionRule, Resource, Treat};
use setpoint_kube::object;
use setpoint_target_kube::Call;

use super::scene::{Scene, until};
use super::two_servers::another_cluster;

/// Returns the same declaration, with rules about the additions of others.
fn ruled(resource: &Resource, rules: &[(&str, Treat)]) -> Arc<Resource> {
    let rule = |(path, then): &(&str, Treat)| AdditionRule { path: (*path).into(), then: *then };
    Arc::new(Resource { additions: rules.iter().map(rule).collect(), ..resource.clone() })
}

fn deployment(scene: &Scene) -> Arc<Resource> {
    scene.resource(&json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": scene.namespace},
        "spec": {
            "replicas": 0, "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "web", "image": "web:1"}]},
            },
        },
    }))
}

fn json_of(resource: &Resource) -> Json {
    serde_json::from_slice(&object::write(&resource.body).unwrap()).unwrap()
}

/// Returns the remarks on an object that is in place.
fn told(declared: &Resource, live: &Live) -> Vec<(Cause, String, String)> {
    assert_eq!(live.value, declared.body, "it is in place");
    let remarks = live.remarks.as_deref().expect("somebody looked");
    let shown = |remark: &Remark| (remark.cause, remark.path.to_string(), remark.holder.to_string());
    remarks.iter().map(shown).collect()
}

fn added(path: &str, holder: &str) -> (Cause, String, String) {
    (Cause::Addition, path.to_owned(), holder.to_owned())
}

fn labelled(team: &str) -> Json {
    json!({"metadata": {"labels": {"team": team}}})
}

const SIDECAR: &str = r#"spec.template.spec.containers[name="side"]"#;

/// Adds a label, a node selector and a container as other managers.
fn meddle(scene: &Scene, declared: &Resource) {
    scene.patch(declared, "kubectl-label", &labelled("blue"));
    let pod = json!({"nodeSelector": {"disk": "ssd"}});
    scene.patch(declared, "operator", &json!({"spec": {"template": {"spec": pod}}}));
    let with_sidecar = scene.resource(&json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": scene.namespace},
        "spec": {"template": {"spec": {"containers": [{"name": "side", "image": "side:1"}]}}},
    }));
    scene.edit(&with_sidecar, "injector");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_others_add_is_told_with_who_holds_it_and_is_over_when_it_is_gone() {
    let scene = Scene::new("remarked").await;
    let declared = deployment(&scene);
    assert_eq!(told(&declared, &scene.have(&declared).await), []);
    scene.patch(&declared, "kubectl-label", &labelled("blue"));
    scene.patch(&declared, "operator", &json!({"spec": {"template": {"spec": {"nodeSelector": {"disk": "ssd"}}}}}));
    let version = scene.stored(&declared)["metadata"]["resourceVersion"].clone();
    let seen = scene.live(&declared).await;
    let label = added("metadata.labels.team", "kubectl-label");
    let selector = added("spec.template.spec.nodeSelector", "operator");
    assert_eq!(told(&declared, &seen), [label.clone(), selector.clone()]);
    let Some(Writer::Likely { who }) = seen.remarks.as_deref().map(|remarks| &remarks[0].writer) else { panic!() };
    assert!(who.starts_with("kubectl-label (update, 20"), "{who}");
    assert_eq!(scene.stored(&declared)["metadata"]["resourceVersion"], version, "nothing is written");
    // Changes of the declaration are written, and the remarks on other fields remain.
    let mut body = json_of(&declared);
    body["spec"]["replicas"] = json!(1);
    let moved = scene.resource(&body);
    let live = scene.done(&scene.steps.update(&moved, &scene.live(&moved).await)).await.unwrap();
    assert_eq!(told(&moved, &live), [label.clone(), selector.clone()]);
    scene.patch(&moved, "operator", &json!({"spec": {"template": {"spec": {"nodeSelector": null}}}}));
    assert_eq!(told(&moved, &scene.live(&moved).await), [label]);
    scene.patch(&moved, "kubectl-label", &json!({"metadata": {"labels": {"team": null}}}));
    assert_eq!(told(&moved, &scene.live(&moved).await), []);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_stream_tells_of_is_looked_at_once() {
    let scene = Scene::with("remarked-once", |_| {}).await;
    let declared = deployment(&scene);
    scene.have(&declared).await;
    scene.live(&declared).await;
    scene.caught_up().await;
    scene.live(&declared).await;
    scene.patch(&declared, "operator", &labelled("blue"));
    scene.hint_about(&declared.key).await;
    let label = [added("metadata.labels.team", "operator")];
    assert_eq!(told(&declared, &scene.live(&declared).await), label);
    let gets = || scene.target.requests().get(&Call::Get).copied();
    let looked = gets();
    // The same manager writes the field again and again: that is no news and costs no read.
    for team in ["green", "red"] {
        let version = scene.patch(&declared, "operator", &labelled(team))["metadata"]["resourceVersion"].clone();
        until("the stream has told", async || scene.live(&declared).await.version.as_str() == version).await;
        assert_eq!(told(&declared, &scene.live(&declared).await), label);
    }
    assert_eq!(gets(), looked);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_remembers_nothing_finds_the_same() {
    let mut scene = Scene::new("remarked-anew").await;
    let declared = deployment(&scene);
    scene.have(&declared).await;
    scene.patch(&declared, "operator", &labelled("blue"));
    let before = scene.live(&declared).await;
    assert_eq!(told(&declared, &before), [added("metadata.labels.team", "operator")]);
    scene.restart(|_| {});
    assert_eq!(scene.live(&declared).await, before);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_there_before_us_is_no_addition() {
    let scene = Scene::new("remarked-adopted").await;
    let declared = deployment(&scene);
    scene.make(&declared);
    scene.patch(&declared, "helm", &labelled("blue"));
    let found = scene.live(&declared).await;
    assert_eq!(told(&declared, &found), []);
    scene.done(&scene.steps.update(&declared, &found)).await;
    assert_eq!(told(&declared, &scene.live(&declared).await), []);
    scene.patch(&declared, "helm", &json!({"metadata": {"labels": {"tier": "front"}}}));
    assert_eq!(told(&declared, &scene.live(&declared).await), [added("metadata.labels.tier", "helm")]);
}

#[tokio::test(flavor = "multi_thread")]
async fn rules_heal_report_and_ignore_what_others_add() {
    let scene = Scene::new("ruled").await;
    let declared = deployment(&scene);
    scene.have(&declared).await;
    meddle(&scene, &declared);
    // Without rules only the container has to go.
    let seen = scene.live(&declared).await;
    assert_ne!(seen.value, declared.body);
    let gentle =
        ruled(&declared, &[("spec.template.spec.containers", Treat::Report), ("metadata.labels[team]", Treat::Ignore)]);
    let selector = "spec.template.spec.nodeSelector";
    assert_eq!(told(&gentle, &scene.live(&gentle).await), [added(SIDECAR, "injector"), added(selector, "operator")]);
    let pod = |stored: &Json| stored["spec"]["template"]["spec"].clone();
    scene.done(&scene.steps.update(&gentle, &scene.live(&gentle).await)).await;
    assert_eq!(pod(&scene.stored(&gentle))["containers"].as_array().map(Vec::len), Some(2), "it is left alone");
    let strict = ruled(&declared, &[("metadata.labels", Treat::Heal), ("spec.template.spec", Treat::Heal)]);
    let seen = scene.live(&strict).await;
    assert_ne!(seen.value, strict.body);
    let healed = scene.done(&scene.steps.update(&strict, &seen)).await.unwrap();
    assert_eq!(told(&strict, &healed), []);
    let stored = scene.stored(&strict);
    assert_eq!(pod(&stored)["containers"].as_array().map(Vec::len), Some(1));
    assert_eq!((&pod(&stored)["nodeSelector"], &stored["metadata"]["labels"]["team"]), (&Json::Null, &Json::Null));
}

#[tokio::test(flavor = "multi_thread")]
async fn of_what_the_clusters_own_controllers_write_nothing_is_told_or_healed() {
    let mut scene = Scene::on(another_cluster(), "unremarked", |options| options.trust_streams = false).await;
    let declared = ruled(&deployment(&scene), &[("metadata.annotations", Treat::Heal)]);
    scene.have(&declared).await;
    let revision = "deployment.kubernetes.io/revision";
    until("the controller has spoken", async || {
        let stored = scene.stored(&declared);
        stored["metadata"]["annotations"][revision] == "1"
            && stored["status"]["observedGeneration"] == stored["metadata"]["generation"]
            && stored["status"]["conditions"].as_array().is_some_and(|conditions| conditions.len() == 2)
    })
    .await;
    scene.resyncs(&[&declared]).await;
    scene.patch(&declared, "operator", &json!({"metadata": {"annotations": {"example.com/x": "1"}}}));
    assert_ne!(scene.live(&declared).await.value, declared.body, "what is not the cluster's has to go");
    // The controller writes whenever we do, so a removal may come too late: then the next decision
    // repeats it.
    until("it is taken out", async || {
        let seen = scene.live(&declared).await;
        let healed = seen.value == declared.body;
        if !healed {
            scene.execute(&scene.steps.update(&declared, &seen)).await;
        }
        healed
    })
    .await;
    let annotations = &scene.stored(&declared)["metadata"]["annotations"];
    assert_eq!((&annotations["example.com/x"], &annotations[revision]), (&Json::Null, &json!("1")));
    // A restart by a person is that person's change.
    scene.server.kubectl(&["-n", &scene.namespace, "rollout", "restart", "deployment/web"]);
    let restarted = r#"spec.template.metadata.annotations["kubectl.kubernetes.io/restartedAt"]"#;
    assert_eq!(told(&declared, &scene.live(&declared).await), [added(restarted, "kubectl-rollout")]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_leaves_the_declaration_and_others_hold_is_left_over_until_they_let_go() {
    let scene = Scene::new("left-over").await;
    let with = |paused: bool| {
        let mut body = json_of(&deployment(&scene));
        if paused {
            body["spec"]["paused"] = json!(true);
            body["metadata"]["labels"] = json!({"tier": "front", "team": "blue"});
        }
        scene.resource(&body)
    };
    let more = with(true);
    scene.have(&more).await;
    // Another manager applies the same values, and so holds them too.
    let theirs = scene.resource(&json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "web", "namespace": scene.namespace, "labels": {"tier": "front"}}, "spec": {"paused": true},
    }));
    scene.edit(&theirs, "operator");
    assert_eq!(told(&more, &scene.live(&more).await), []);
    let less = with(false);
    let live = scene.done(&scene.steps.update(&less, &scene.live(&less).await)).await.unwrap();
    let left = |path: &str| (Cause::Leftover, path.to_owned(), "operator".to_owned());
    assert_eq!(told(&less, &live), [left("metadata.labels.tier"), left("spec.paused")], "`team` went with us");
    assert_eq!(told(&less, &scene.live(&less).await), told(&less, &live));
    let without = scene.resource(&json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "web", "namespace": scene.namespace, "labels": {"tier": "front"}},
    }));
    scene.edit(&without, "operator");
    assert_eq!(told(&less, &scene.live(&less).await), [left("metadata.labels.tier")]);
    assert_eq!(scene.stored(&less)["spec"]["paused"], Json::Null);
}
