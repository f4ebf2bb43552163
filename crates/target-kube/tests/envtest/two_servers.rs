//! Tests two API servers on one etcd, as every highly available cluster has them: one may lag
//! behind the other, and either may go.

use std::sync::OnceLock;

use serde_json::json;
use setpoint_core::live::Presence;
use setpoint_core::observed::Observed;
use setpoint_target::Target;
use setpoint_testbed::kube::proxy::Seen;
use setpoint_testbed::kube::{ApiServer, Fault, Options, Rule};

use super::definitions::{fields, version};
use super::scene::{Scene, until};

/// Returns a cluster other than the shared one, with two servers.
fn pair() -> &'static (ApiServer, ApiServer) {
    static SERVERS: OnceLock<(ApiServer, ApiServer)> = OnceLock::new();
    SERVERS.get_or_init(|| {
        let first = ApiServer::own(Options { controllers: true, ..Options::default() });
        let second = first.beside(Options::default());
        (first, second)
    })
}

/// Returns the same cluster for tests that need one server, on which the cluster's own controllers
/// run.
pub(crate) fn another_cluster() -> &'static ApiServer {
    &pair().0
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kind_that_one_server_does_not_serve_yet_is_never_absent() {
    let (first, second) = pair();
    let writer = Scene::on(first, "quick", |options| options.trust_streams = false).await;
    let spec = fields(&json!({"size": {"type": "integer"}}));
    for kind in ["Ant", "Bee", "Cow", "Dog", "Emu"] {
        // A target that has never asked this server anything, and so knows no kind of it.
        let reader = Scene::on(second, "slow", |options| options.trust_streams = false).await;
        let definition = writer.definition(kind, "Namespaced", &json!([version("v1", true, &spec)]));
        writer.define_as(&definition).await;
        let declared = writer.resource(&json!({
            "apiVersion": format!("{}/v1", writer.group()), "kind": kind, "metadata": {"name": "a", "namespace": writer.namespace},
            "spec": {"size": 1},
        }));
        let made = writer.have(&declared).await;
        let seen = async || match reader.observe(&declared).await {
            Observed::Known { value: Presence::Present(live), .. } => live.uid == made.uid,
            Observed::Known { value: Presence::Absent, .. } => panic!("it is there, and only not served yet"),
            Observed::Unknown { .. } => false,
        };
        until("the other server serves it", seen).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_of_a_server_that_lags_behind_says_nothing_about_absence() {
    let mut scene = Scene::on(&pair().1, "lagging", |_| {}).await;
    let resources: Vec<_> = (0..3).map(|n| scene.config_map(&format!("a{n}"), &[("mode", "1")])).collect();
    for resource in &resources {
        scene.have(resource).await;
    }
    scene.observe(&resources[0]).await;
    scene.caught_up().await;
    // The list is complete except for the objects that this server does not have yet: all of ours.
    let ours = Rule::new("GET", "watch=true", Fault::SwallowEvent).in_lines_with(&scene.namespace);
    let lag = scene.proxy.add(ours);
    scene.restart_streams().await;
    scene.caught_up().await;
    scene.proxy.remove(lag);
    assert!(scene.proxy.struck(lag) >= resources.len());
    scene.hint_about(&resources[2].key).await;
    for resource in &resources {
        assert_eq!(scene.live(resource).await.value, resource.body);
    }
    scene.remove(&resources[0]);
    scene.hint_about(&resources[0].key).await;
    assert!(matches!(scene.observe(&resources[0]).await, Observed::Known { value: Presence::Absent, .. }));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_look_through_another_server_shows_what_was_just_written() {
    let (first, second) = pair();
    let writer = Scene::on(first, "one", |_| {}).await;
    let reader = Scene::on(second, "two", |options| options.trust_streams = false).await;
    for n in 0..20 {
        let declared = writer.config_map(&format!("a{n}"), &[]);
        assert!(matches!(reader.observe(&declared).await, Observed::Known { value: Presence::Absent, .. }));
        let made = writer.have(&declared).await;
        assert_eq!(reader.live(&declared).await.uid, made.uid);
        writer.done(&writer.steps.delete(&declared.key, &made)).await;
        assert!(matches!(reader.observe(&declared).await, Observed::Known { value: Presence::Absent, .. }));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_goes_on_at_the_other_server_and_misses_nothing() {
    let (first, second) = pair();
    let scene = Scene::on(first, "moving", |_| {}).await;
    let identity = scene.target.identity().await.unwrap();
    let resources: Vec<_> = (0..4).map(|n| scene.config_map(&format!("a{n}"), &[("mode", "1")])).collect();
    for resource in &resources {
        scene.have(resource).await;
        scene.observe(resource).await;
    }
    scene.caught_up().await;
    let edit = |n: usize, mode: &str| scene.edit(&scene.config_map(&format!("a{n}"), &[("mode", mode)]), "stranger");
    // An event, so that the stream has a version to resume at.
    edit(0, "8");
    scene.hint_about(&resources[0].key).await;
    scene.proxy.take_seen();
    let cut = scene.proxy.add(Rule::new("GET", "watch=true", Fault::ResetInsteadOfEvent).times(1));
    scene.proxy.lead_to(second);
    edit(1, "8");
    edit(2, "8");
    scene.hint_about(&resources[1].key).await;
    assert_eq!(scene.proxy.struck(cut), 1);
    for n in [1, 2] {
        until("the edit is seen", async || scene.live(&resources[n]).await.value != resources[n].body).await;
    }
    assert_eq!(scene.live(&resources[3]).await.value, resources[3].body);
    edit(3, "8");
    scene.hint_about(&resources[3].key).await;
    // It is the same cluster, and nothing had to be reported again.
    let seen = scene.proxy.take_seen();
    assert!(!seen.iter().any(Seen::streams_list), "{seen:?}");
    assert_eq!(scene.target.identity().await.unwrap(), identity);
}

#[tokio::test(flavor = "multi_thread")]
async fn when_one_server_dies_the_other_answers_for_everything() {
    let first = ApiServer::own(Options::default());
    let second: &'static ApiServer = Box::leak(Box::new(first.beside(Options::default())));
    let scene = Scene::on(second, "surviving", |_| {}).await;
    scene.proxy.lead_to(&first);
    let (kept, doomed) = (scene.config_map("kept", &[("mode", "1")]), scene.config_map("doomed", &[("mode", "1")]));
    for resource in [&kept, &doomed] {
        scene.have(resource).await;
        scene.observe(resource).await;
    }
    scene.caught_up().await;
    first.stop();
    // No server responds: nothing is known, and least of all that an object is gone.
    until("the stream has ended", async || scene.target.watching().caught_up == 0).await;
    for resource in [&kept, &doomed, &scene.config_map("never", &[])] {
        let seen = scene.observe(resource).await;
        assert!(!matches!(seen, Observed::Known { value: Presence::Absent, .. }), "{seen:?}");
    }
    scene.remove(&doomed);
    scene.edit(&scene.config_map("kept", &[("mode", "9")]), "stranger");
    scene.proxy.lead_to(second);
    // As soon as anything is known again, it is that absence: also while the stream resumes and has
    // not reported it yet.
    let told = async {
        while scene.target.watching().caught_up == 0 {
            if let Observed::Known { value, .. } = scene.observe(&doomed).await {
                assert_eq!(value, Presence::Absent);
            }
            scene.proxy.take_seen();
        }
    };
    tokio::select! {
        () = told => {}
        _ = scene.hint_about(&kept.key) => {}
    }
    for _ in 0..10 {
        assert!(matches!(scene.observe(&doomed).await, Observed::Known { value: Presence::Absent, .. }));
    }
    let seen = scene.live(&kept).await;
    assert_ne!(seen.value, kept.body);
    assert_eq!(scene.done(&scene.steps.update(&kept, &seen)).await.unwrap().value, kept.body);
}
