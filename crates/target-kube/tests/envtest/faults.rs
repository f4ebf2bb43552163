//! Tests a server that is busy, failing or silent, or that redirects.

use std::time::Duration;

use setpoint_core::live::Presence;
use setpoint_core::observed::{Observed, UnknownReason};
use setpoint_core::time::Span;
use setpoint_target::{Outcome, RefusalClass, Settlement};
use setpoint_testbed::kube::{Fault, Rule};

use super::scene::{Scene, now};

#[tokio::test(flavor = "multi_thread")]
async fn an_effect_whose_answer_was_lost_is_settled_by_looking() {
    let scene = Scene::new("lost").await;
    let (one, two) = (scene.config_map("a", &[("mode", "1")]), scene.config_map("a", &[("mode", "2")]));
    let create = scene.steps.create(&one);
    scene.proxy.add(Rule::new("PATCH", "/configmaps/a", Fault::ResetAfter).times(1));
    let outcome = scene.execute(&create).await;
    assert!(matches!(outcome, Outcome::Unknown { .. }), "{outcome:?}");
    let Settlement::Done { live: Some(made) } = scene.settle(&create).await else { panic!("it was made") };
    assert_eq!(made.value, one.body);
    for fault in [Fault::ResetAfter, Fault::Half] {
        let update = scene.steps.update(&two, &scene.live(&one).await);
        scene.proxy.add(Rule::new("PATCH", "/configmaps/a", fault).times(1));
        let outcome = scene.execute(&update).await;
        assert!(matches!(outcome, Outcome::Unknown { .. }), "{outcome:?}");
        let settled = scene.settle(&update).await;
        assert!(matches!(&settled, Settlement::Done { live: Some(live) } if live.value == two.body), "{settled:?}");
        scene.done(&scene.steps.update(&one, &scene.live(&two).await)).await;
    }
    let delete = scene.steps.delete(&one.key, &scene.live(&one).await);
    scene.proxy.add(Rule::new("DELETE", "/configmaps/a", Fault::ResetAfter).times(1));
    let outcome = scene.execute(&delete).await;
    assert!(matches!(outcome, Outcome::Unknown { .. }), "{outcome:?}");
    assert_eq!(scene.settle(&delete).await, Settlement::Done { live: None });
}

#[tokio::test(flavor = "multi_thread")]
async fn an_effect_that_never_reached_the_server_is_settled_as_not_done() {
    let scene = Scene::new("unsent").await;
    let declared = scene.config_map("a", &[("mode", "1")]);
    for fault in [
        Fault::ResetBefore,
        Fault::Status { code: 503, retry_after: None },
        Fault::Status { code: 500, retry_after: None },
    ] {
        let create = scene.steps.create(&declared);
        scene.proxy.add(Rule::new("PATCH", "/configmaps/a", fault).times(1));
        let outcome = scene.execute(&create).await;
        assert!(matches!(outcome, Outcome::Unknown { .. }), "{outcome:?}");
        assert_eq!(scene.settle(&create).await, Settlement::NotDone);
    }
    scene.have(&declared).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_effect_that_is_still_under_way_can_no_longer_land_once_it_is_settled() {
    let scene = Scene::new("late").await;
    let (one, two) = (scene.config_map("a", &[("mode", "1")]), scene.config_map("a", &[("mode", "2")]));
    let made = scene.have(&one).await;
    let update = scene.steps.update(&two, &made);
    let delete = scene.steps.delete(&one.key, &made);
    for (method, work) in [("PATCH", &update), ("DELETE", &delete)] {
        let late = Fault::DelayBefore(Duration::from_secs(2));
        let rule = scene.proxy.add(Rule::new(method, "/configmaps/a", late).times(1));
        let settled = async {
            scene.until_sent(method).await;
            scene.settle_early(work).await
        };
        scene.proxy.take_seen();
        let (outcome, settled) = tokio::join!(scene.execute(work), settled);
        assert_eq!((settled, scene.proxy.struck(rule)), (Settlement::NotDone, 1));
        assert!(
            matches!(&outcome, Outcome::Refused { refusal } if refusal.class == RefusalClass::Conflict),
            "{outcome:?}"
        );
        assert_eq!(scene.settle_early(work).await, Settlement::NotDone, "whoever asks again is told the same");
        let after = scene.live(&one).await;
        assert_eq!((&after.value, &after.uid), (&one.body, &made.uid));
        assert_eq!(scene.stored(&one)["data"], serde_json::json!({"mode": "1"}));
    }
    let create = scene.steps.create(&scene.config_map("b", &[]));
    let settled = scene.settle_early(&create).await;
    assert!(matches!(settled, Settlement::Unknown { .. }), "it may still be made: {settled:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_names_no_version_may_land_until_its_time_is_over() {
    let scene = Scene::new("unversioned").await;
    let (one, two) = (scene.config_map("a", &[("mode", "1")]), scene.config_map("a", &[("mode", "2")]));
    let made = scene.have(&one).await;
    for mut work in [scene.steps.update(&two, &made), scene.steps.delete(&one.key, &made)] {
        work.step.expect.as_mut().unwrap().version = None;
        let settled = scene.settle_early(&work).await;
        assert!(matches!(settled, Settlement::Unknown { .. }), "{settled:?}");
    }
    assert_eq!(scene.live(&one).await, made, "nothing was marked");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_busy_server_is_left_alone_as_long_as_it_asks() {
    let scene = Scene::new("busy").await;
    let declared = scene.config_map("a", &[("mode", "1")]);
    let rule = scene
        .proxy
        .add(Rule::new("PATCH", "/configmaps/a", Fault::Status { code: 429, retry_after: Some(1) }).times(1));
    let asked = now();
    let outcome = scene.execute(&scene.steps.create(&declared)).await;
    let Outcome::Refused { refusal } = outcome else { panic!("it is busy: {outcome:?}") };
    assert_eq!((refusal.class, refusal.retry_after), (RefusalClass::Unavailable, Some(Span::seconds(1))));
    loop {
        match scene.execute(&scene.steps.create(&declared)).await {
            Outcome::Done { .. } => break,
            Outcome::Refused { refusal } => assert_eq!(refusal.class, RefusalClass::Unavailable, "{refusal}"),
            Outcome::Unknown { detail } => panic!("nothing was lost: {detail}"),
        }
    }
    assert!(now().since(asked) >= Span::seconds(1));
    assert_eq!(scene.proxy.struck(rule), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn reads_are_made_again_and_what_stays_broken_is_unknown() {
    let scene = Scene::new("reads").await;
    let declared = scene.config_map("a", &[("mode", "1")]);
    scene.have(&declared).await;
    scene.proxy.add(Rule::new("GET", "/configmaps/a", Fault::Status { code: 500, retry_after: None }).times(1));
    scene.proxy.add(Rule::new("GET", "/configmaps/a", Fault::ResetBefore).times(1));
    assert_eq!(scene.live(&declared).await.value, declared.body);
    for fault in [Fault::ResetBefore, Fault::Half, Fault::Status { code: 404, retry_after: None }, Fault::Endless] {
        let rule = scene.proxy.add(Rule::new("GET", "/configmaps/a", fault.clone()));
        let seen = scene.observe(&declared).await;
        assert!(matches!(seen, Observed::Unknown { .. }), "{fault:?} was answered with {seen:?}");
        scene.proxy.remove(rule);
    }
    scene.proxy.add(Rule::new("GET", "/configmaps/a", Fault::Redirect("https://127.0.0.1:1".to_owned())));
    let seen = scene.observe(&declared).await;
    assert!(matches!(seen, Observed::Unknown { reason: UnknownReason::Malformed { .. } }), "{seen:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_may_not_be_read_is_denied_and_never_absent() {
    let scene = Scene::new("denied").await;
    let missing = scene.config_map("a", &[]);
    let rule = scene.proxy.add(Rule::new("GET", "/configmaps/a", Fault::Status { code: 403, retry_after: None }));
    let seen = scene.observe(&missing).await;
    assert!(matches!(seen, Observed::Unknown { reason: UnknownReason::Denied { .. } }), "{seen:?}");
    scene.proxy.remove(rule);
    assert!(matches!(scene.observe(&missing).await, Observed::Known { value: Presence::Absent, .. }));
}
