//! Tests the failures that users of another engine report again and again (F1 to F16 of
//! docs/false-diffs.md), as invariants of a target on a real server. The failures of apps and their
//! claims are in `crates/setpoint/tests/running/cluster_failures.rs`; F11 is in `webhooks.rs`.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use setpoint_core::live::{Health, Presence};
use setpoint_core::observed::{Observed, UnknownReason};
use setpoint_core::resource::Resource;
use setpoint_kube::object;
use setpoint_target::ProcessCache;
use setpoint_target::{Asker, Outcome, RefusalClass, Settlement, Target};
use setpoint_target_kube::Call;
use setpoint_testbed::kube::{Fault, Rule};

use super::definitions::{fields, version};
use super::scene::{Scene, until};
use super::two_servers::another_cluster;

fn class_of(outcome: &Outcome) -> RefusalClass {
    match outcome {
        Outcome::Refused { refusal } => refusal.class,
        other => panic!("it was not refused: {other:?}"),
    }
}

fn deletes(scene: &Scene) -> u64 {
    scene.target.requests().get(&Call::Delete).copied().unwrap_or_default()
}

/// Returns pairs of a declaration and another one into which it cannot be changed.
fn immutable(scene: &Scene) -> Vec<(Arc<Resource>, Arc<Resource>)> {
    let job = |image: &str| {
        json!({
            "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "once", "namespace": scene.namespace},
            "spec": {
                "suspend": true,
                "template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "run", "image": image}]}},
            },
        })
    };
    let deployment = |label: &str| {
        json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": scene.namespace},
            "spec": {
                "replicas": 0, "selector": {"matchLabels": {"app": label}},
                "template": {"metadata": {"labels": {"app": label}}, "spec": {"containers": [{"name": "web", "image": "web:1"}]}},
            },
        })
    };
    let frozen = |mode: &str| {
        json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "frozen", "namespace": scene.namespace},
            "immutable": true, "data": {"mode": mode},
        })
    };
    let service = |address: &str| {
        json!({
            "apiVersion": "v1", "kind": "Service", "metadata": {"name": "web", "namespace": scene.namespace},
            "spec": {"clusterIP": address, "ports": [{"port": 80}]},
        })
    };
    let binding = |role: &str| {
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": "all", "namespace": scene.namespace},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": role}, "subjects": [],
        })
    };
    let sealed = |token: &str| {
        json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "sealed", "namespace": scene.namespace},
            "immutable": true, "stringData": {"token": token},
        })
    };
    let stateful = |label: &str| {
        json!({
            "apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "store", "namespace": scene.namespace},
            "spec": {
                "replicas": 0, "serviceName": label, "selector": {"matchLabels": {"app": "store"}},
                "template": {"metadata": {"labels": {"app": "store"}}, "spec": {"containers": [{"name": "store", "image": "store:1"}]}},
            },
        })
    };
    let volume = |class: &str| {
        json!({
            "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data", "namespace": scene.namespace},
            "spec": {"storageClassName": class, "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
        })
    };
    let pod = |account: &str| {
        json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "lone", "namespace": scene.namespace},
            "spec": {"nodeName": "nowhere", "hostname": account, "containers": [{"name": "lone", "image": "lone:1"}]},
        })
    };
    let fixed = |colour: &str| {
        json!({
            "apiVersion": format!("{}/v1", scene.group()), "kind": "Fixed", "metadata": {"name": "a", "namespace": scene.namespace},
            "spec": {"colour": colour},
        })
    };
    let pairs = [
        (job("run:1"), job("run:2")),
        (sealed("1"), sealed("2")),
        (stateful("one"), stateful("two")),
        (volume("one"), volume("two")),
        (pod("one"), pod("two")),
        (fixed("red"), fixed("blue")),
        (deployment("one"), deployment("two")),
        (frozen("1"), frozen("2")),
        (service("10.0.250.8"), service("10.0.250.9")),
        (binding("one"), binding("two")),
    ];
    pairs.iter().map(|(one, other)| (scene.resource(one), scene.resource(other))).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn f01_nothing_is_deleted_because_a_change_was_refused() {
    let mut scene = Scene::new("immutable").await;
    let colour = json!({"type": "string", "x-kubernetes-validations": [{"rule": "self == oldSelf"}]});
    scene.define("Fixed", &fields(&json!({"colour": colour}))).await;
    let pairs = immutable(&scene);
    for (declared, changed) in &pairs {
        let made = scene.have(declared).await;
        let before = scene.stored(declared);
        let seen = scene.live(changed).await;
        assert_ne!(seen.value, changed.body, "{}", declared.key);
        let outcome = scene.execute(&scene.steps.update(changed, &seen)).await;
        assert_eq!(class_of(&outcome), RefusalClass::Immutable, "{outcome:?}");
        let Outcome::Refused { refusal } = outcome else { unreachable!("it was just found to be so") };
        assert!(
            refusal
                .detail
                .ends_with("declare its former values, or another name; or delete it by hand, and it is created again"),
            "{refusal}"
        );
        // Nor by the preview of a replacement, which the server would accept for all of these.
        assert_eq!(scene.target.preview_replacement(changed, &Asker::default()).await, Ok(()), "{}", declared.key);
        assert_eq!(scene.stored(declared), before);
        assert_eq!(scene.live(declared).await.uid, made.uid);
    }
    // Nor if the change only lost a race.
    let declared = scene.config_map("raced", &[("mode", "1")]);
    let made = scene.have(&declared).await;
    scene.edit(&scene.config_map("raced", &[("mode", "9")]), "stranger");
    let outcome = scene.execute(&scene.steps.update(&scene.config_map("raced", &[("mode", "2")]), &made)).await;
    assert_eq!(class_of(&outcome), RefusalClass::Conflict);
    assert_eq!(scene.live(&declared).await.uid, made.uid);
    assert_eq!(deletes(&scene), 0);
    scene.resyncs(&pairs.iter().map(|(declared, _)| declared).collect::<Vec<_>>()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn f02_everything_of_a_broken_batch_is_found_again_by_its_intent() {
    let mut scene = Scene::new("broken").await;
    let resources: Vec<_> = (0..12).map(|n| scene.config_map(&format!("a{n}"), &[("mode", "1")])).collect();
    scene.proxy.add(Rule::new("PATCH", "/configmaps/a1", Fault::ResetAfter));
    scene.proxy.add(Rule::new("PATCH", "/configmaps/a2", Fault::ResetBefore));
    let work: Vec<_> = resources.iter().map(|resource| scene.steps.create(resource)).collect();
    let outcomes = scene.target.execute(work.clone(), Scene::fence()).await;
    scene.proxy.mend();
    for (work, outcome) in work.iter().zip(outcomes) {
        let name = work.step.key.name();
        match outcome {
            Outcome::Done { live } => assert!(live.is_some() && !matches!(name, "a1" | "a10" | "a11" | "a2")),
            Outcome::Unknown { .. } => {
                let settled = scene.settle(work).await;
                let made = matches!(settled, Settlement::Done { live: Some(_) });
                assert_eq!(made, name != "a2", "{name}: {settled:?}");
                assert!(made || settled == Settlement::NotDone, "{settled:?}");
            }
            Outcome::Refused { refusal } => panic!("{name}: {refusal}"),
        }
    }
    scene.have(&resources[2]).await;
    scene.resyncs(&resources.iter().collect::<Vec<_>>()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn f03_a_delete_is_done_only_when_that_object_is_gone() {
    let mut scene = Scene::new("lingering").await;
    let lingering = scene.resource(&json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "lingering", "namespace": scene.namespace, "finalizers": ["example.com/cleanup"]},
    }));
    let made = scene.have(&lingering).await;
    let delete = scene.steps.delete(&lingering.key, &made);
    assert!(matches!(scene.execute(&delete).await, Outcome::Done { live: None }));
    // Another client has to remove the finalizer first: until then the object exists, with its UID,
    // and is observed so.
    let seen = scene.live(&lingering).await;
    assert_eq!(seen.uid, made.uid);
    scene.patch(&lingering, "cleaner", &json!({"metadata": {"finalizers": null}}));
    assert!(matches!(scene.observe(&lingering).await, Observed::Known { value: Presence::Absent, .. }));
    // A server that fails proves nothing about the object.
    let declared = scene.config_map("kept", &[("mode", "1")]);
    let made = scene.have(&declared).await;
    for code in [403, 500, 503, 429] {
        let rule = scene
            .proxy
            .add(Rule::new("DELETE", "/configmaps/kept", Fault::Status { code, retry_after: None }).times(1));
        let delete = scene.steps.delete(&declared.key, &made);
        let outcome = scene.execute(&delete).await;
        assert!(!matches!(outcome, Outcome::Done { .. }), "{code}: {outcome:?}");
        assert_eq!(scene.proxy.struck(rule), 1);
        assert_eq!(scene.settle(&delete).await, Settlement::NotDone);
        assert_eq!(scene.live(&declared).await.uid, made.uid);
    }
    scene.resyncs(&[&declared]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn f04_what_could_not_be_read_is_unknown_whatever_the_error() {
    let mut scene = Scene::new("unread").await;
    let declared = scene.config_map("a", &[("mode", "1")]);
    let theirs = scene.config_map("a", &[("mode", "theirs")]);
    scene.make(&theirs);
    let before = scene.stored(&theirs);
    for code in [400, 401, 403, 404, 405, 409, 410, 429, 500, 502, 503, 504] {
        let rule = scene.proxy.add(Rule::new("GET", "/configmaps/a", Fault::Status { code, retry_after: None }));
        let seen = scene.observe(&declared).await;
        assert!(matches!(seen, Observed::Unknown { .. }), "{code} was answered with {seen:?}");
        let claimed = [(declared.key.clone(), None)].into();
        let seen = scene
            .target
            .observe(claimed, Asker::default(), super::scene::now())
            .await
            .states
            .remove(&declared.key)
            .unwrap();
        assert!(matches!(seen, Observed::Unknown { .. }), "{code} was answered with {seen:?}");
        assert!(scene.target.preview(&declared, &Asker::default()).await.is_err(), "{code}");
        scene.proxy.remove(rule);
    }
    scene.resyncs_of_anybodys(&[&theirs]).await;
    assert_eq!(scene.written(), 0);
    assert_eq!(scene.stored(&theirs), before);
    // Rights that are really missing have the same effect.
    let rules = json!([{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["patch", "create", "delete"]}]);
    let blind = Scene::with_rights("blind", &rules, |_| {}).await;
    let seen = blind.observe(&blind.config_map("a", &[])).await;
    assert!(matches!(seen, Observed::Unknown { reason: UnknownReason::Denied { .. } }), "{seen:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn f05_an_object_that_somebody_made_anew_is_neither_changed_nor_deleted_as_ours() {
    let mut scene = Scene::new("anew").await;
    let declared = scene.config_map("a", &[("mode", "1")]);
    let ours = scene.have(&declared).await;
    // Even an exact copy, marks included.
    let mut copy = scene.stored(&declared);
    for field in ["uid", "resourceVersion", "creationTimestamp", "managedFields"] {
        copy["metadata"].as_object_mut().unwrap().remove(field);
    }
    scene.remove(&declared);
    scene.server.create(Scene::path(&declared).rsplit_once('/').unwrap().0, &copy);
    let before = scene.stored(&declared);
    let seen = scene.live(&declared).await;
    assert_ne!(seen.uid, ours.uid);
    for step in
        [scene.steps.update(&scene.config_map("a", &[("mode", "2")]), &ours), scene.steps.delete(&declared.key, &ours)]
    {
        assert_eq!(class_of(&scene.execute(&step).await), RefusalClass::Conflict);
        assert_ne!(scene.settle(&step).await, Settlement::Done { live: Some(seen.clone()) });
    }
    scene.resyncs_of_anybodys(&[&declared]).await;
    assert_eq!(scene.stored(&declared), before);
}

#[tokio::test(flavor = "multi_thread")]
async fn f08_every_field_that_the_server_knows_arrives_and_stays() {
    let mut scene = Scene::new("fields").await;
    // Fields of many ages, in lists of every kind, `initContainers` among them.
    let pod = json!({
        "restartPolicy": "Always", "terminationGracePeriodSeconds": 5, "hostUsers": true, "schedulingGates": [{"name": "example.com/gate"}],
        "resources": {"limits": {"cpu": "1"}},
        "initContainers": [{"name": "side", "image": "side:1", "restartPolicy": "Always", "ports": [{"containerPort": 1}]}],
        "containers": [{
            "name": "web", "image": "web:1", "resizePolicy": [{"resourceName": "cpu", "restartPolicy": "NotRequired"}],
            "lifecycle": {"preStop": {"sleep": {"seconds": 1}}}, "livenessProbe": {"grpc": {"port": 80}, "terminationGracePeriodSeconds": 7},
        }],
        "topologySpreadConstraints": [{
            "maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", "matchLabelKeys": ["pod-template-hash"],
            "labelSelector": {"matchLabels": {"app": "web"}},
        }],
    });
    let object = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": scene.namespace},
        "spec": {
            "replicas": 0, "selector": {"matchLabels": {"app": "web"}},
            "template": {"metadata": {"labels": {"app": "web"}}, "spec": pod},
        },
    });
    let declared = scene.resyncs_once_made(&object).await;
    let stored = &scene.stored(&declared)["spec"]["template"]["spec"];
    for field in ["hostUsers", "schedulingGates", "resources"] {
        assert_eq!(stored[field], pod[field], "{field}");
    }
    assert_eq!(stored["initContainers"][0]["restartPolicy"], "Always");
    assert_eq!(stored["containers"][0]["lifecycle"], pod["containers"][0]["lifecycle"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn f09_a_custom_object_of_which_no_controller_has_spoken_is_not_healthy() {
    let mut scene = Scene::new("mute").await;
    let api_version = scene.define("Mute", &fields(&json!({"size": {"type": "integer"}}))).await;
    let mute = |size: u32| {
        scene.resource(&json!({
            "apiVersion": api_version, "kind": "Mute", "metadata": {"name": "a", "namespace": scene.namespace}, "spec": {"size": size},
        }))
    };
    let declared = mute(1);
    assert_ne!(scene.have(&declared).await.health, Health::Healthy);
    assert_ne!(scene.live(&declared).await.health, Health::Healthy);
    let speak = |status: serde_json::Value| {
        let content = serde_json::to_vec(&json!({"status": status})).unwrap();
        let path = format!("{}/status", Scene::path(&declared));
        scene.server.request("PATCH", &path, Some(("application/merge-patch+json", &content))).succeeded();
    };
    let ready = |generation: u32, status: &str| json!({"observedGeneration": generation, "conditions": [{"type": "Ready", "status": status}]});
    speak(ready(1, "True"));
    assert_eq!(scene.live(&declared).await.health, Health::Healthy);
    // A status about an older declaration proves nothing about this one.
    let moved = mute(2);
    scene.done(&scene.steps.update(&moved, &scene.live(&moved).await)).await;
    assert_ne!(scene.live(&moved).await.health, Health::Healthy);
    speak(ready(2, "True"));
    assert_eq!(scene.live(&moved).await.health, Health::Healthy);
    scene.resyncs(&[&moved]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn f12_text_that_looks_like_a_variable_arrives_as_it_is_written() {
    let mut scene = Scene::new("dollars").await;
    let text = json!({"type": "string", "pattern": "^${VAR:-[a-z]+}$|^.*$", "description": "as in ${HOME} or $(HOME) or {{ home }}"});
    let definition =
        scene.definition("Dollar", "Namespaced", &json!([version("v1", true, &fields(&json!({"text": text})))]));
    let declared = scene.resyncs_once_made(&definition).await;
    let stored = &scene.stored(&declared)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"];
    assert_eq!(stored["properties"]["text"], text);
    let words = [
        ("number", "0755"),
        ("truth", "yes"),
        ("variable", "${HOME}"),
        ("escaped", "$${HOME}"),
        ("date", "2026-11-16"),
    ];
    let settings = scene.config_map("words", &words);
    scene.have(&settings).await;
    scene.resyncs(&[&settings]).await;
    for (name, word) in words {
        assert_eq!(scene.stored(&settings)["data"][name], word);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn f13_a_cluster_wide_object_that_was_given_a_namespace_is_one_object() {
    let mut scene = Scene::new("given").await;
    let name = format!("{}-priority", scene.namespace);
    let object = |namespace: Option<&str>| {
        let mut object = json!({
            "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}, "value": 7, "preemptionPolicy": "Never",
        });
        if let Some(namespace) = namespace {
            object["metadata"]["namespace"] = json!(namespace);
        }
        object
    };
    let (given, plain) = (object(Some(&scene.namespace)), object(None));
    let declared = scene.resource(&given);
    let made = scene.have(&declared).await;
    scene.resyncs(&[&declared]).await;
    let plain = scene.resource(&plain);
    assert_eq!(plain.key, declared.key);
    scene.resyncs(&[&plain]).await;
    assert_eq!(scene.live(&plain).await.uid, made.uid);
    assert_eq!(deletes(&scene), 0);
    scene.remove(&plain);
}

#[tokio::test(flavor = "multi_thread")]
async fn f14_a_write_that_was_cancelled_and_an_event_that_was_lost_leave_nothing_stuck() {
    let mut scene = Scene::with("cancelled", |_| {}).await;
    let (one, two, three) = (
        scene.config_map("a", &[("mode", "1")]),
        scene.config_map("a", &[("mode", "2")]),
        scene.config_map("a", &[("mode", "3")]),
    );
    let made = scene.have(&one).await;
    scene.observe(&one).await;
    scene.caught_up().await;
    // The stream loses the event of the write, and the caller drops the write half-way.
    let hang = scene.proxy.add(Rule::new("PATCH", "/configmaps/a", Fault::HangAfter).times(1));
    let lost =
        scene.proxy.add(Rule::new("GET", "watch=true", Fault::SwallowEvent).in_lines_with(&scene.namespace).times(1));
    let update = scene.steps.update(&two, &made);
    let cancelled = tokio::time::timeout(Duration::from_secs(30), async {
        let writing = scene.execute(&update);
        let written = until("it is written", async || scene.stored(&one)["data"]["mode"] == "2");
        tokio::select! {
            outcome = writing => panic!("nobody answers: {outcome:?}"),
            () = written => {}
        }
    });
    cancelled.await.unwrap();
    until("an event was lost", async || scene.proxy.struck(lost) == 1).await;
    assert_eq!(scene.proxy.struck(hang), 1);
    // The observed state counts, and the next version continues from it.
    let Settlement::Done { live: Some(live) } = scene.settle(&update).await else { panic!("it was written") };
    assert_eq!(live.value, two.body);
    let seen = scene.live(&three).await;
    assert_ne!(seen.value, three.body);
    let updated = scene.done(&scene.steps.update(&three, &seen)).await.unwrap();
    assert_eq!(updated.value, three.body);
    scene.edit(&scene.config_map("a", &[("mode", "9")]), "stranger");
    scene.hint_about(&three.key).await;
    scene.done(&scene.steps.update(&three, &scene.live(&three).await)).await;
    scene.resyncs(&[&three]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn f15_what_is_remembered_of_one_cluster_says_nothing_about_another() {
    let memory = Arc::new(ProcessCache::default());
    let kept = Arc::clone(&memory);
    let mut here = Scene::with("here", move |options| {
        options.memory = kept;
        options.trust_streams = false;
    })
    .await;
    let declared = here.resource(&json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": here.namespace, "namespace": "default"}, "data": {"mode": "1"},
    }));
    let made = here.have(&declared).await;
    let elsewhere = Scene::on(another_cluster(), "there", move |options| {
        options.memory = memory;
        options.trust_streams = false;
    })
    .await;
    assert!(matches!(elsewhere.observe(&declared).await, Observed::Known { value: Presence::Absent, .. }));
    // Work that was decided for one cluster is refused by the other, and changes nothing there.
    elsewhere.make(&declared);
    let before = elsewhere.stored(&declared);
    for step in [here.steps.update(&declared, &made), here.steps.delete(&declared.key, &made)] {
        let outcome = elsewhere.execute(&step).await;
        assert_eq!(class_of(&outcome), RefusalClass::Conflict);
        let Outcome::Refused { refusal } = outcome else { unreachable!("it was just found to be so") };
        assert!(refusal.detail.ends_with("correct the address"), "{refusal}");
    }
    assert_eq!((elsewhere.stored(&declared), elsewhere.written()), (before, 0));
    here.resyncs(&[&declared]).await;
    here.remove(&declared);
}

#[tokio::test(flavor = "multi_thread")]
async fn f16_what_has_no_name_has_no_key_and_what_is_not_there_leaves_no_trace() {
    let scene = Scene::new("nameless").await;
    for metadata in [r"{}", r#"{"name":""}"#, r#"{"name":null}"#, r#"{"name":"a\u0000"}"#] {
        let body =
            object::read(format!(r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{metadata}}}"#).as_bytes());
        let key = scene.target.key("v1", "ConfigMap", &body.unwrap());
        assert!(key.is_err(), "{metadata} was given the key {key:?}");
    }
    let absent = scene.config_map("absent", &[("mode", "1")]);
    for _ in 0..10 {
        assert!(matches!(scene.observe(&absent).await, Observed::Known { value: Presence::Absent, .. }));
    }
    assert_eq!((scene.target.remembered(), scene.written()), (0, 0));
}
