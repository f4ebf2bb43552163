//! Tests steps: refusals, the cost of a batch, and objects without a place.

use serde_json::json;
use setpoint_core::live::Presence;
use setpoint_core::observed::Observed;
use setpoint_target::{Asker, Outcome, RefusalClass, Settlement, Target};
use setpoint_target_kube::Call;
use setpoint_testbed::kube::proxy::Seen;
use setpoint_testbed::kube::{Fault, Rule};

use super::scene::Scene;

fn class_of(outcome: &Outcome) -> Option<RefusalClass> {
    match outcome {
        Outcome::Refused { refusal } => Some(refusal.class),
        _ => None,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_with_a_time_to_live_that_may_have_run_is_for_a_person_to_settle() {
    let scene = Scene::new("may-have-run").await;
    let job = |lives: u32| {
        scene.resource(&json!({
            "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "migrate", "namespace": scene.namespace},
            "spec": {
                "ttlSecondsAfterFinished": lives,
                "template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "a", "image": "a:1"}]}},
            },
        }))
    };
    // There was no time to run, to end, and to be removed.
    assert_eq!(scene.settle(&scene.steps.create(&job(3_600))).await, Settlement::NotDone);
    let Settlement::Unknown { detail } = scene.settle(&scene.steps.create(&job(0))).await else {
        panic!("nobody can tell")
    };
    assert!(detail.contains("check whether it ran"), "{detail}");
    let made = scene.steps.create(&job(0));
    scene.done(&made).await;
    assert!(matches!(scene.settle(&made).await, Settlement::Done { live: Some(_) }));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_create_that_lost_a_race_changes_nothing_and_is_refused() {
    let scene = Scene::new("race").await;
    let (ours, theirs) = (scene.config_map("a", &[("mode", "ours")]), scene.config_map("a", &[("mode", "theirs")]));
    scene.make(&theirs);
    let before = scene.stored(&theirs);
    let outcome = scene.execute(&scene.steps.create(&ours)).await;
    assert_eq!(class_of(&outcome), Some(RefusalClass::Conflict), "{outcome:?}");
    // The same holds if no field conflicts.
    let beside = scene.config_map("a", &[("other", "ours")]);
    let outcome = scene.execute(&scene.steps.create(&beside)).await;
    assert_eq!(class_of(&outcome), Some(RefusalClass::Conflict), "{outcome:?}");
    assert_eq!(scene.stored(&theirs), before);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_create_is_one_request_and_so_is_an_update_and_a_delete() {
    let scene = Scene::new("cost").await;
    let (one, two) = (scene.config_map("a", &[("mode", "1")]), scene.config_map("a", &[("mode", "2")]));
    let warm = scene.config_map("warm", &[]);
    scene.have(&warm).await;
    scene.proxy.take_seen();
    let made = scene.have(&one).await;
    let updated = scene.done(&scene.steps.update(&two, &made)).await.unwrap();
    scene.done(&scene.steps.delete(&two.key, &updated)).await;
    let seen: Vec<_> = scene.proxy.take_seen().iter().filter(|seen| !seen.is_watch()).map(Seen::verb).collect();
    let effects: Vec<_> = seen.iter().filter(|verb| **verb != "get").copied().collect();
    assert_eq!(effects, ["apply", "apply", "delete"]);
    // The rest are at most requests for the identity.
    assert!(seen.len() <= 5, "{seen:?}");
    let app = "suite/samples".parse().unwrap();
    assert_eq!(scene.target.requests_of(&app).get(&Call::Delete), Some(&1));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_server_does_not_take_is_refused_with_its_words() {
    let scene = Scene::new("invalid").await;
    let object = |field: &str, value: serde_json::Value| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": scene.namespace}, field: value});
    let unknown = scene.resource(&object("daata", json!({"a": "b"})));
    let outcome = scene.execute(&scene.steps.create(&unknown)).await;
    assert_eq!(class_of(&outcome), Some(RefusalClass::Invalid), "{outcome:?}");
    let Outcome::Refused { refusal } = outcome else { panic!("it was refused") };
    assert!(refusal.detail.contains("daata"), "{}", refusal.detail);
    assert_eq!(
        scene.target.preview(&unknown, &Asker::default()).await.map_err(|refusal| refusal.class),
        Err(RefusalClass::Invalid)
    );
    let homeless = scene.resource(&json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "nowhere-at-all"},
    }));
    let outcome = scene.execute(&scene.steps.create(&homeless)).await;
    assert_eq!(class_of(&outcome), Some(RefusalClass::Unready), "{outcome:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kind_that_is_not_served_has_no_objects_and_takes_none() {
    let scene = Scene::new("unserved").await;
    let object = |api_version: &str, kind: &str| {
        scene.resource(
            &json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": "a", "namespace": scene.namespace}}),
        )
    };
    // Another group's name ends like the group of this kind.
    scene.define("Gadget", &json!({"type": "object"})).await;
    let widget = object("example.com/v1", "Widget");
    assert!(matches!(scene.observe(&widget).await, Observed::Known { value: Presence::Absent, .. }));
    let outcome = scene.execute(&scene.steps.create(&widget)).await;
    assert_eq!(class_of(&outcome), Some(RefusalClass::Unready), "{outcome:?}");
    // Where a claim is left there was an object, and its fate is unknown.
    let seen = scene.observe_undeclared(&widget.key).await;
    assert!(matches!(seen, Observed::Unknown { .. }), "{seen:?}");
    scene.proxy.add(Rule::new("GET", "/customresourcedefinitions", Fault::Status { code: 403, retry_after: None }));
    assert!(matches!(scene.observe(&widget).await, Observed::Unknown { .. }));
    let old = object("apps/v1beta1", "Deployment");
    let outcome = scene.execute(&scene.steps.create(&old)).await;
    assert_eq!(class_of(&outcome), Some(RefusalClass::Invalid), "{outcome:?}");
    assert!(matches!(scene.observe(&old).await, Observed::Unknown { .. }));
}

#[tokio::test(flavor = "multi_thread")]
async fn whether_a_new_object_would_be_taken_is_found_out_beside_the_old_one() {
    let scene = Scene::new("stand-in").await;
    let long = "x".repeat(253);
    let declared = scene.config_map(&long, &[("mode", "1")]);
    scene.have(&declared).await;
    let before = scene.stored(&declared);
    assert_eq!(
        scene.target.preview_replacement(&declared, &Asker::default()).await,
        Ok(()),
        "its name is as long as a name can be"
    );
    assert_eq!(scene.stored(&declared), before);
    let class = async |resource| {
        scene.target.preview_replacement(resource, &Asker::default()).await.map_err(|refusal| refusal.class)
    };
    let wrong = scene.config_map(&long, &[("not a key", "1")]);
    assert_eq!(class(&wrong).await, Err(RefusalClass::Invalid));
    let forbidden = scene.server.forbid_creates(&scene.namespace);
    assert_eq!(class(&declared).await, Err(RefusalClass::Denied));
    drop(forbidden);
    // An object in deletion has to go first.
    scene.patch(&declared, "keeper", &json!({"metadata": {"finalizers": ["example.com/keep"]}}));
    scene.remove(&declared);
    assert_eq!(class(&declared).await, Err(RefusalClass::Unready));
    scene.patch(&declared, "keeper", &json!({"metadata": {"finalizers": null}}));
    assert!(class(&declared).await.is_err(), "where nothing is, nothing is made anew");
}
