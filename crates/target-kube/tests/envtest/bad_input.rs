//! Tests input that a cluster refuses, and clusters that are themselves bad input. Numbers are
//! those of the project's list of cases. One bad object never holds the others back, and every
//! refusal shows the remedy.

use std::sync::Arc;

use serde_json::{Value as Json, json};
use setpoint_core::live::Presence;
use setpoint_core::observed::{Observed, UnknownReason};
use setpoint_core::resource::Resource;
use setpoint_target::ProcessCache;
use setpoint_target::{Asker, Outcome, Refusal, RefusalClass, Settlement, Target};
use setpoint_testbed::kube::{Extension, Fault, Rule};

use super::definitions::{fields, version};
use super::scene::{Scene, now, until};

/// Creates a bad object between two good ones. The good ones are created; returns the refusal of
/// the bad one.
async fn refusal_among_good_ones(scene: &Scene, bad: &Arc<Resource>) -> Refusal {
    let good = [scene.config_map("good-1", &[("mode", "1")]), scene.config_map("good-2", &[("mode", "1")])];
    let steps = vec![scene.steps.create(&good[0]), scene.steps.create(bad), scene.steps.create(&good[1])];
    let outcomes = scene.target.execute(steps, Scene::fence()).await;
    for at in [0, 2] {
        assert!(matches!(outcomes[at], Outcome::Done { live: Some(_) }), "{outcomes:?}");
    }
    for resource in &good {
        let made = scene.live(resource).await;
        assert_eq!(made.value, resource.body);
        scene.done(&scene.steps.delete(&resource.key, &made)).await;
    }
    match &outcomes[1] {
        Outcome::Refused { refusal } => refusal.clone(),
        other => panic!("it was not refused: {other:?}"),
    }
}

fn refused(outcome: &Outcome) -> &Refusal {
    match outcome {
        Outcome::Refused { refusal } => refusal,
        other => panic!("it was not refused: {other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kind_that_nobody_defined_is_refused_for_now_and_taken_once_it_is_defined() {
    let mut scene = Scene::with("undefined", |options| {
        options.trust_streams = false;
        options.memory = Arc::new(ProcessCache::default());
    })
    .await;
    let api_version = format!("{}/v1", scene.group());
    let late = scene.resource(&json!({
        "apiVersion": api_version, "kind": "Late", "metadata": {"name": "a", "namespace": scene.namespace}, "spec": {"size": 1},
    }));
    let refusal = refusal_among_good_ones(&scene, &late).await;
    assert_eq!(refusal.class, RefusalClass::Unready);
    assert!(refusal.detail.ends_with("install its definition"), "{refusal}");
    scene.define("Late", &fields(&json!({"size": {"type": "integer"}}))).await;
    let made = scene.have(&late).await;
    assert_eq!(made.value, late.body);
    // The definition goes, and with it every object of its kind: only then is the object absent.
    let definition = scene.resource(&scene.definition("Late", "Namespaced", &json!([])));
    scene.remove(&definition);
    let gone = async || match scene.observe(&late).await {
        Observed::Known { value: Presence::Absent, .. } => true,
        Observed::Known { value: Presence::Present(live), .. } => {
            assert_eq!(live.uid, made.uid);
            false
        }
        Observed::Unknown { .. } => false,
    };
    until("it is gone with its kind", gone).await;
    assert_eq!(scene.server.request("GET", &Scene::path(&late), None).status, 404);
    // The next process knows that too, though the kind is not served to it.
    scene.target.remember().await;
    scene.restart(|_| {});
    let seen = scene.observe_undeclared(&late.key).await;
    assert!(matches!(seen, Observed::Known { value: Presence::Absent, .. }), "{seen:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_server_of_its_own_keeps_is_not_gone_when_nobody_names_that_server() {
    let mut scene = Scene::with("extended", |options| {
        options.trust_streams = false;
        options.memory = Arc::new(ProcessCache::default());
    })
    .await;
    let group = scene.group();
    let extension = Extension::start(&group, "Remote");
    let service = scene.resource(&extension.api_service(scene.server, &scene.namespace));
    let declared = scene.resource(&json!({
        "apiVersion": format!("{group}/v1"), "kind": "Remote", "metadata": {"name": "a", "namespace": scene.namespace},
        "spec": {"size": 1},
    }));
    scene.make(&service);
    let served = async || scene.server.request("GET", &format!("/apis/{group}/v1"), None).status == 200;
    until("the other server is asked", served).await;
    let placed = async || matches!(scene.observe_undeclared(&declared.key).await, Observed::Known { .. });
    until("the kind is found", placed).await;
    let made = scene.have(&declared).await;
    // A person removes its APIService. Neither this process nor the next one takes that as
    // information about the object.
    scene.remove(&service);
    let told = |seen: &Observed<Presence>| match seen {
        Observed::Known { value: Presence::Present(_), .. } => false,
        Observed::Unknown { reason: UnknownReason::Partial { detail } } => detail.contains("APIService again"),
        Observed::Unknown { .. } => false,
        Observed::Known { value: Presence::Absent, .. } => panic!("it is there, and only not served"),
    };
    for _ in 0..2 {
        let unknown =
            async || told(&scene.observe(&declared).await) && told(&scene.observe_undeclared(&declared.key).await);
        until("nothing is known of it", unknown).await;
        let delete = scene.settle(&scene.steps.delete(&declared.key, &made)).await;
        assert!(matches!(delete, Settlement::Unknown { .. }), "{delete:?}");
        scene.target.remember().await;
        scene.restart(|_| {});
    }
    // A process without records knows from the claim that the object existed.
    scene.restart(|options| options.memory = Arc::new(ProcessCache::default()));
    until("nothing is known of it", async || told(&scene.observe_undeclared(&declared.key).await)).await;
    scene.make(&service);
    let back = async || match scene.observe_undeclared(&declared.key).await {
        Observed::Known { value: Presence::Present(live), .. } => live.uid == made.uid,
        Observed::Known { value: Presence::Absent, .. } => panic!("it is there"),
        Observed::Unknown { .. } => false,
    };
    until("it is the same as before", back).await;
    scene.remove(&service);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_custom_object_in_the_wrong_place_is_refused_with_the_field() {
    let scene = Scene::new("misplaced").await;
    let spec = fields(&json!({"size": {"type": "integer"}}));
    let versions = json!([version("v1", true, &spec)]);
    scene.define_as(&scene.definition("Wide", "Cluster", &versions)).await;
    scene.define_as(&scene.definition("Narrow", "Namespaced", &versions)).await;
    let of = |kind: &str, namespace: Option<&str>| {
        let mut object = json!({
            "apiVersion": format!("{}/v1", scene.group()), "kind": kind, "metadata": {"name": "a"}, "spec": {"size": 1},
        });
        if let Some(namespace) = namespace {
            object["metadata"]["namespace"] = json!(namespace);
        }
        scene.resource(&object)
    };
    for (misplaced, advice) in [
        (of("Wide", Some(&scene.namespace)), "remove `metadata.namespace`"),
        (of("Narrow", None), "declare `metadata.namespace`"),
    ] {
        let refusal = refusal_among_good_ones(&scene, &misplaced).await;
        assert_eq!(refusal.class, RefusalClass::Invalid);
        assert!(refusal.detail.contains(advice), "{refusal}");
        assert!(matches!(scene.observe(&misplaced).await, Observed::Unknown { .. }));
    }
    scene.have(&of("Wide", None)).await;
    scene.have(&of("Narrow", Some(&scene.namespace))).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn case_44_a_verb_that_is_forbidden_is_denied_with_what_to_grant() {
    let rules = json!([{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list", "watch", "create", "patch", "delete"]}]);
    let scene = Scene::with_rights("forbidden", &rules, |_| {}).await;
    let elsewhere = scene.resource(&json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "kube-public"}, "data": {"mode": "1"},
    }));
    let cluster_wide = scene.resource(&json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": format!("{}-root", scene.namespace)},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{"kind": "ServiceAccount", "name": "tenant", "namespace": scene.namespace}],
    }));
    let secret = scene.resource(&json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a", "namespace": scene.namespace}, "stringData": {"word": "swordfish"},
    }));
    for denied in [elsewhere, cluster_wide, secret] {
        let refusal = refusal_among_good_ones(&scene, &denied).await;
        assert_eq!(refusal.class, RefusalClass::Denied, "{refusal}");
        assert!(refusal.detail.ends_with("grant this permission to the user"), "{refusal}");
        assert!(!refusal.detail.contains("swordfish"), "{refusal}");
        let seen = scene.observe(&denied).await;
        assert!(matches!(&seen, Observed::Unknown { reason: UnknownReason::Denied { .. } }), "{seen:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_delete_that_is_forbidden_by_rights_leaves_the_object() {
    let rules =
        json!([{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list", "watch", "create", "patch"]}]);
    let scene = Scene::with_rights("undeletable", &rules, |_| {}).await;
    let declared = scene.config_map("kept", &[("mode", "1")]);
    let made = scene.have(&declared).await;
    let outcome = scene.execute(&scene.steps.delete(&declared.key, &made)).await;
    assert_eq!(refused(&outcome).class, RefusalClass::Denied);
    assert_eq!(scene.live(&declared).await.uid, made.uid);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_admission_denies_on_delete_only_stays_and_is_told() {
    let scene = Scene::new("kept").await;
    let declared = scene.config_map("kept", &[("mode", "1")]);
    let made = scene.have(&declared).await;
    let forbidden = scene.server.forbid_deletes(&scene.namespace);
    let outcome = scene.execute(&scene.steps.delete(&declared.key, &made)).await;
    let refusal = refused(&outcome);
    assert_eq!(refusal.class, RefusalClass::Denied, "{refusal}");
    assert!(refusal.detail.contains("nothing is deleted here"), "{refusal}");
    assert!(refusal.detail.ends_with("change the declaration, or the policy"), "{refusal}");
    // It can still be changed and observed.
    let moved = scene.config_map("kept", &[("mode", "2")]);
    let updated = scene.done(&scene.steps.update(&moved, &made)).await.unwrap();
    drop(forbidden);
    let deleted = async || {
        let outcome = scene.execute(&scene.steps.delete(&declared.key, &updated)).await;
        matches!(outcome, Outcome::Done { live: None })
    };
    until("it may be deleted", deleted).await;
    assert!(matches!(scene.observe(&moved).await, Observed::Known { value: Presence::Absent, .. }));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_beyond_the_quota_waits_and_is_made_when_there_is_room() {
    let scene = Scene::new("quota").await;
    let quota = scene.resource(&json!({
        "apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "few", "namespace": scene.namespace},
        "spec": {"hard": {"count/secrets": "0"}},
    }));
    scene.make(&quota);
    // A controller would write the used amount; without one, nothing is known to be used.
    let status = json!({"status": {"hard": {"count/secrets": "0"}, "used": {"count/secrets": "0"}}});
    let status = serde_json::to_vec(&status).unwrap();
    let path = format!("{}/status", Scene::path(&quota));
    scene.server.request("PATCH", &path, Some(("application/merge-patch+json", &status))).succeeded();
    let secret = scene.resource(&json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "one", "namespace": scene.namespace}, "stringData": {"a": "b"},
    }));
    until("the quota is known", async || scene.target.preview(&secret, &Asker::default()).await.is_err()).await;
    let refusal = refusal_among_good_ones(&scene, &secret).await;
    assert_eq!(refusal.class, RefusalClass::Unready, "{refusal}");
    assert!(refusal.detail.contains("count/secrets") && refusal.detail.ends_with("or raise the quota"), "{refusal}");
    scene.remove(&quota);
    let made = async || matches!(scene.execute(&scene.steps.create(&secret)).await, Outcome::Done { .. });
    until("there is room", made).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn case_48_an_object_that_is_too_large_is_refused_as_such_wherever_it_is_noticed() {
    let scene = Scene::new("large").await;
    let api_version = scene.define("Blob", &fields(&json!({"text": {"type": "string"}}))).await;
    let blob = |size: usize| {
        scene.resource(&json!({
            "apiVersion": api_version, "kind": "Blob", "metadata": {"name": "large", "namespace": scene.namespace},
            "spec": {"text": "x".repeat(size)},
        }))
    };
    let largest = blob(1_400_000);
    let made = scene.have(&largest).await;
    assert_eq!(scene.live(&largest).await.value, largest.body);
    scene.done(&scene.steps.delete(&largest.key, &made)).await;
    // The storage refuses the first, its client the second, and the server the third.
    for size in [1_600_000, 2_500_000, 3_500_000] {
        let refusal = refusal_among_good_ones(&scene, &blob(size)).await;
        assert_eq!(refusal.class, RefusalClass::Invalid, "{size}: {refusal}");
        assert!(refusal.detail.ends_with("split it, or keep its content elsewhere"), "{size}: {refusal}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_namespace_on_its_way_out_takes_nothing_for_now() {
    let scene = Scene::new("leaving").await;
    let leaving = scene.server.fresh_namespace("leaving-too");
    let object = scene.resource(&json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": leaving}, "data": {"mode": "1"},
    }));
    let made = scene.have(&object).await;
    // No controller for namespaces runs on this server, so the deletion never completes.
    scene.server.request("DELETE", &format!("/api/v1/namespaces/{leaving}"), None).succeeded();
    let late = scene.resource(&json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "b", "namespace": leaving}, "data": {"mode": "1"},
    }));
    let refusal = refusal_among_good_ones(&scene, &late).await;
    assert_eq!(refusal.class, RefusalClass::Unready, "{refusal}");
    assert!(refusal.detail.contains("being terminated"), "{refusal}");
    assert!(refusal.detail.ends_with("once the old namespace is gone"), "{refusal}");
    // The namespace's content exists until the namespace is gone.
    assert_eq!(scene.live(&object).await.uid, made.uid);
    let namespace = scene.resource(&json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": leaving}}));
    assert!(matches!(scene.observe(&namespace).await, Observed::Known { value: Presence::Present(_), .. }));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_group_whose_own_server_is_down_keeps_no_other_back() {
    let scene = Scene::new("silent").await;
    let group = scene.group();
    let service = json!({
        "apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": {"name": format!("v1.{group}")},
        "spec": {
            "group": group, "version": "v1", "groupPriorityMinimum": 10, "versionPriority": 10, "insecureSkipTLSVerify": true,
            "service": {"name": "nobody", "namespace": scene.namespace, "port": 443},
        },
    });
    let service = scene.resource(&service);
    scene.make(&service);
    let remote = scene.resource(&json!({
        "apiVersion": format!("{group}/v1"), "kind": "Remote", "metadata": {"name": "a", "namespace": scene.namespace},
    }));
    // The existence of such objects is unknown: they are never taken for absent.
    let told = async || {
        let seen = scene.observe(&remote).await;
        assert!(!seen.is_known() || !scene.server.request("GET", "/apis", None).body.contains(&group), "{seen:?}");
        matches!(&seen, Observed::Unknown { reason: UnknownReason::Partial { detail } } if detail.contains("APIService"))
    };
    until("the group is known to be silent", told).await;
    let refusal = refusal_among_good_ones(&scene, &remote).await;
    assert_eq!(refusal.class, RefusalClass::Unready);
    assert!(refusal.detail.contains(&group) && refusal.detail.contains("APIService"), "{refusal}");
    scene.remove(&service);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_tells_its_groups_one_by_one_may_fail_for_one_of_them() {
    let scene = Scene::new("halved").await;
    // Old servers have no response that contains every group.
    for (path, kind) in [("/apis", "APIGroupList"), ("/api", "APIVersions")] {
        let answer = scene.server.request("GET", path, None).json();
        assert_eq!(answer["kind"], kind);
        let fault = Fault::Answer { code: 200, body: answer.to_string() };
        scene.proxy.add(Rule::new("GET", "/apis/policy/v1", Fault::Status { code: 503, retry_after: None }));
        scene.break_only(path, fault);
    }
    let budget = scene.resource(&json!({
        "apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "a", "namespace": scene.namespace},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "a"}}},
    }));
    let refusal = refusal_among_good_ones(&scene, &budget).await;
    assert_eq!(refusal.class, RefusalClass::Unready, "{refusal}");
    assert!(!scene.observe(&budget).await.is_known());
    scene.proxy.mend();
    until("the group is back", async || scene.observe(&budget).await.is_known()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn case_46_and_47_what_a_stranger_writes_in_our_name_proves_nothing() {
    let scene = Scene::new("forged").await;
    let theirs = scene.config_map("theirs", &[("mode", "theirs")]);
    let object = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "data": {"mode": "theirs"},
        "metadata": {
            "name": "theirs", "labels": {"setpoint.dev/installation": scene.namespace}, "annotations": {"setpoint.dev/intent": "7-1"},
        },
    });
    scene.server.create(Scene::path(&theirs).rsplit_once('/').unwrap().0, &object);
    let before = scene.stored(&theirs);
    let ours = scene.config_map("theirs", &[("mode", "ours")]);
    let outcome = scene.execute(&scene.steps.create(&ours)).await;
    assert_eq!(refused(&outcome).class, RefusalClass::Conflict);
    assert_eq!(scene.stored(&theirs), before);
}

#[tokio::test(flavor = "multi_thread")]
async fn case_71_a_cluster_that_sends_without_end_is_given_up_and_others_are_served() {
    let (mut bad, good) = (Scene::with("endless", |_| {}).await, Scene::new("beside").await);
    let declared = bad.config_map("a", &[("mode", "1")]);
    bad.have(&declared).await;
    for part in ["/openapi/v3", "watch=true", "limit="] {
        bad.proxy.add(Rule::new("GET", part, Fault::Endless));
    }
    bad.restart_streams().await;
    let asked = now();
    let beside = good.config_map("a", &[("mode", "1")]);
    good.have(&beside).await;
    // Its streams are never caught up, so nothing is believed that was not just read.
    bad.proxy.take_seen();
    assert_eq!(bad.live(&declared).await.value, declared.body);
    assert!(bad.proxy.seen().iter().any(|seen| seen.verb() == "get" && seen.path.ends_with("/configmaps/a")));
    assert_eq!(bad.target.watching().caught_up, 0);
    assert!(now().since(asked) < setpoint_core::time::Span::seconds(20));
    let told = async || bad.target.degraded().is_some_and(|told| told.contains("1 of 1 streams broke off"));
    until("the trouble is told", told).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn case_71_schemas_that_make_no_sense_cost_nothing_but_themselves() {
    let mut scene = Scene::new("senseless").await;
    scene.proxy.add(Rule::new("GET", "/openapi/v3", Fault::Answer { code: 200, body: r#"{"paths":[7]}"#.to_owned() }));
    let object = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": scene.namespace}, "data": {"mode": "1"},
    });
    let declared = scene.resyncs_once_made(&object).await;
    scene.notices(&declared, &json!({"data": {"mode": "9"}})).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_storm_of_410_is_slowed_down_and_ends_with_everything_told() {
    let scene = Scene::with("storm", |_| {}).await;
    let declared = scene.config_map("a", &[("mode", "1")]);
    scene.have(&declared).await;
    scene.observe(&declared).await;
    scene.caught_up().await;
    let storm = scene.proxy.add(Rule::new("GET", "watch=true", Fault::Expire));
    scene.proxy.add(Rule::new("GET", "watch=true", Fault::ResetInsteadOfEvent).times(1));
    scene.edit(&scene.config_map("a", &[("mode", "8")]), "stranger");
    let asked = now();
    until("it storms", async || scene.proxy.struck(storm) >= 3).await;
    // The pause grows each time: half a second, one, two, each by at least its half.
    assert!(now().since(asked) >= setpoint_core::time::Span::millis(700));
    // Meanwhile nothing is believed from a stream.
    assert_ne!(scene.live(&declared).await.value, declared.body);
    scene.proxy.remove(storm);
    scene.caught_up().await;
    scene.hint_about(&declared.key).await;
    let seen = scene.live(&declared).await;
    scene.done(&scene.steps.update(&declared, &seen)).await;
    scene.edit(&scene.config_map("a", &[("mode", "9")]), "stranger");
    scene.hint_about(&declared.key).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn case_72_a_cluster_that_says_it_is_another_is_neither_believed_nor_written_to() {
    let scene = Scene::with("posing", |options| {
        options.trust_streams = false;
        options.identity_holds = setpoint_core::time::Span::ZERO;
    })
    .await;
    let declared = scene.config_map("a", &[("mode", "1")]);
    let made = scene.have(&declared).await;
    let other: Json = json!({
        "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": {"name": "kube-system", "uid": "another"},
    });
    let fault = Fault::Answer { code: 200, body: other.to_string() };
    scene.proxy.add(Rule::new("GET", "/namespaces/kube-system", fault));
    scene.proxy.take_seen();
    let seen = scene.observe(&declared).await;
    assert!(matches!(&seen, Observed::Unknown { reason: UnknownReason::OtherIdentity { .. } }), "{seen:?}");
    for step in [scene.steps.update(&declared, &made), scene.steps.delete(&declared.key, &made)] {
        assert_eq!(refused(&scene.execute(&step).await).class, RefusalClass::Conflict);
    }
    assert!(scene.proxy.take_seen().iter().all(|seen| seen.path.ends_with("/kube-system")));
}
