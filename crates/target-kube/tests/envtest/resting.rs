//! Tests a target at rest: it sends no requests, and streams report all changes, through every
//! interruption.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures_util::future::BoxFuture;
use serde_json::json;
use setpoint_core::live::Presence;
use setpoint_core::name::TargetIdentity;
use setpoint_core::observed::Observed;
use setpoint_core::time::Span;
use setpoint_target::{Asker, Target};
use setpoint_target::{Cache, CacheChanges, CacheError, CachedBytes, ProcessCache};
use setpoint_testbed::kube::proxy::Seen;
use setpoint_testbed::kube::{Fault, Rule};

use super::definitions::fields;
use super::scene::{Scene, now, until};

async fn at_rest(name: &str) -> Scene {
    Scene::with(name, |_| {}).await
}

/// Returns all requests except streams.
fn asked(scene: &Scene) -> Vec<String> {
    let seen = scene.proxy.take_seen();
    seen.iter().filter(|seen| !seen.is_watch()).map(|seen| format!("{} {}", seen.method, seen.target())).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn looks_at_what_did_not_change_are_no_requests() {
    let scene = at_rest("rest").await;
    let resources: Vec<_> = (0..5).map(|n| scene.config_map(&format!("a{n}"), &[("mode", "1")])).collect();
    for resource in &resources {
        scene.have(resource).await;
        scene.observe(resource).await;
    }
    scene.caught_up().await;
    for resource in &resources {
        scene.live(resource).await;
    }
    let lists = scene.proxy.take_seen();
    assert!(lists.iter().any(Seen::streams_list), "lists are streamed: {lists:?}");
    // The list came as a stream: only a server that does not support this is asked for pages.
    let paged: Vec<_> = lists.iter().filter(|seen| seen.verb() == "list" && seen.resource() == "configmaps").collect();
    assert!(paged.is_empty(), "{paged:?}");
    for _ in 0..10 {
        for resource in &resources {
            assert_eq!(scene.live(resource).await.value, resource.body);
        }
    }
    assert_eq!(asked(&scene), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_look_afresh_finds_what_a_stream_did_not_tell() {
    let scene = at_rest("swallowed").await;
    let [edited, removed, told] = ["a", "b", "c"].map(|name| scene.config_map(name, &[("mode", "1")]));
    for resource in [&edited, &removed, &told] {
        scene.have(resource).await;
        scene.observe(resource).await;
    }
    scene.caught_up().await;
    scene.proxy.add(Rule::new("GET", "watch=true", Fault::SwallowEvent).in_lines_with(&scene.namespace).times(2));
    scene.edit(&scene.config_map("a", &[("mode", "9")]), "stranger");
    scene.remove(&removed);
    // Events arrive in order: once this one is here, the others would be.
    scene.edit(&scene.config_map("c", &[("mode", "9")]), "stranger");
    let hinted = scene.hint_about(&told.key).await;
    assert!(!hinted.contains(&edited.key) && !hinted.contains(&removed.key), "{hinted:?}");
    assert_eq!(scene.live(&edited).await.value, edited.body, "nothing was told");

    let wanted = [&edited, &removed].map(|resource| (resource.key.clone(), Some(Arc::clone(resource))));
    let asker = Asker { afresh: true, ..Asker::default() };
    let states = scene.target.observe(wanted.into(), asker, now()).await.states;
    let Some(Observed::Known { value: Presence::Present(live), .. }) = states.get(&edited.key) else {
        panic!("{states:?}");
    };
    assert_ne!(live.value, edited.body);
    assert!(matches!(states.get(&removed.key), Some(Observed::Known { value: Presence::Absent, .. })), "{states:?}");
    assert_ne!(scene.live(&edited).await.value, edited.body, "and it is not forgotten");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_sweep_could_not_read_is_read_by_the_next_look() {
    let scene = at_rest("half-swept").await;
    let (missed, told) = (scene.config_map("a", &[("mode", "1")]), scene.config_map("b", &[("mode", "1")]));
    for resource in [&missed, &told] {
        scene.have(resource).await;
        scene.observe(resource).await;
    }
    scene.caught_up().await;
    scene.proxy.add(Rule::new("GET", "watch=true", Fault::SwallowEvent).in_lines_with(&scene.namespace).times(1));
    scene.edit(&scene.config_map("a", &[("mode", "9")]), "stranger");
    scene.edit(&scene.config_map("b", &[("mode", "9")]), "stranger");
    scene.hint_about(&told.key).await;
    let busy = scene.proxy.add(Rule::new("GET", "/configmaps/a", Fault::Status { code: 503, retry_after: None }));
    let wanted = [&missed, &told].map(|resource| (resource.key.clone(), Some(Arc::clone(resource))));
    let asker = Asker { afresh: true, ..Asker::default() };
    let states = scene.target.observe(wanted.into(), asker, now()).await.states;
    assert!(!states[&missed.key].is_known() && states[&told.key].is_known(), "{states:?}");
    scene.proxy.remove(busy);
    assert_ne!(scene.live(&missed).await.value, missed.body);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_others_change_is_hinted_at_and_our_own_writes_are_not() {
    let scene = at_rest("hints").await;
    let (edited, updated, removed) = (
        scene.config_map("a", &[("mode", "1")]),
        scene.config_map("b", &[("mode", "1")]),
        scene.config_map("c", &[("mode", "1")]),
    );
    for resource in [&edited, &updated, &removed] {
        scene.have(resource).await;
        scene.observe(resource).await;
    }
    scene.caught_up().await;
    let later = scene.config_map("b", &[("mode", "2")]);
    let seen = scene.live(&updated).await;
    scene.done(&scene.steps.update(&later, &seen)).await;
    scene.edit(&scene.config_map("a", &[("mode", "9")]), "stranger");
    let hinted = scene.hint_about(&edited.key).await;
    assert!(!hinted.contains(&updated.key), "{hinted:?}");
    assert_ne!(scene.live(&edited).await.value, edited.body);
    scene.remove(&removed);
    scene.hint_about(&removed.key).await;
    assert!(matches!(scene.observe(&removed).await, Observed::Known { value: Presence::Absent, .. }));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_status_that_moves_is_not_drift_and_costs_no_look() {
    let scene = at_rest("status").await;
    let declared = scene.resource(&json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": scene.namespace},
        "spec": {
            "replicas": 0, "selector": {"matchLabels": {"app": "web"}},
            "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "web", "image": "web:1"}]}},
        },
    }));
    let beside = scene.config_map("beside", &[("mode", "1")]);
    scene.have(&declared).await;
    scene.have(&beside).await;
    scene.observe(&declared).await;
    scene.observe(&beside).await;
    scene.caught_up().await;
    let before = scene.live(&declared).await;
    let path = format!("/apis/apps/v1/namespaces/{}/deployments/web/status", scene.namespace);
    let status = json!({"status": {"observedGeneration": 1, "replicas": 0}});
    let content = serde_json::to_vec(&status).unwrap();
    scene.server.request("PATCH", &path, Some(("application/merge-patch+json", &content))).succeeded();
    // The stream of one kind reports in order: wait until the version has changed without a read.
    let moved = async {
        while scene.live(&declared).await.version == before.version {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(30), moved).await.expect("the stream tells of it");
    scene.proxy.take_seen();
    assert_eq!(scene.live(&declared).await.value, declared.body);
    assert_eq!(asked(&scene), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_is_cut_or_too_old_begins_again_and_misses_nothing() {
    let scene = at_rest("cut").await;
    let declared = scene.config_map("a", &[("mode", "1")]);
    scene.have(&declared).await;
    scene.observe(&declared).await;
    scene.caught_up().await;
    scene.proxy.add(Rule::new("GET", "watch=true", Fault::ResetInsteadOfEvent).times(1));
    scene.proxy.add(Rule::new("GET", "watch=true", Fault::Expire).times(1));
    scene.edit(&scene.config_map("a", &[("mode", "9")]), "stranger");
    scene.hint_about(&declared.key).await;
    assert_ne!(scene.live(&declared).await.value, declared.body);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_does_not_stream_lists_is_listed_in_pages() {
    let scene = at_rest("pages").await;
    scene.proxy.add(Rule::new("GET", "sendInitialEvents", Fault::Status { code: 400, retry_after: None }));
    let declared = scene.config_map("a", &[("mode", "1")]);
    scene.have(&declared).await;
    scene.observe(&declared).await;
    scene.caught_up().await;
    scene.live(&declared).await;
    scene.proxy.take_seen();
    scene.live(&declared).await;
    assert_eq!(asked(&scene), Vec::<String>::new());
    scene.edit(&scene.config_map("a", &[("mode", "9")]), "stranger");
    scene.hint_about(&declared.key).await;
}

/// Only a read of a Secret itself returns its content, and nothing keeps it.
#[tokio::test(flavor = "multi_thread")]
async fn lists_and_streams_of_secrets_bring_their_metadata_only() {
    let mut scene = at_rest("bodiless").await;
    let secret = |scene: &Scene, name: &str| {
        scene.resource(&json!({
            "apiVersion": "v1", "kind": "Secret",
            "metadata": {"name": name, "namespace": scene.namespace}, "data": {"word": "Zmlyc3Q="},
        }))
    };
    let held = [secret(&scene, "word"), scene.config_map("settings", &[("mode", "1")]), scene.deployment("web:1")];
    for resource in &held {
        scene.have(resource).await;
        scene.observe(resource).await;
    }
    scene.caught_up().await;
    // Secrets are listed too, by a server that does not stream lists, and when many are sought at
    // once.
    scene.proxy.add(Rule::new("GET", "sendInitialEvents", Fault::Status { code: 400, retry_after: None }));
    scene.restart_streams().await;
    scene.caught_up().await;
    let sought = (0..8).map(|n| secret(&scene, &format!("new{n}"))).map(|new| (new.key.clone(), Some(new))).collect();
    scene.target.observe(sought, Asker::default(), now()).await;

    let seen = scene.proxy.seen();
    for (verb, resource, least, bodiless) in [
        ("watch", "secrets", 3, true),
        ("list", "secrets", 2, true),
        ("watch", "configmaps", 3, true),
        ("list", "configmaps", 1, true),
        ("watch", "deployments.apps", 3, false),
        ("list", "deployments.apps", 1, false),
    ] {
        let asked: Vec<_> = seen.iter().filter(|seen| seen.verb() == verb && seen.resource() == resource).collect();
        assert!(asked.len() >= least, "{verb} {resource}: {asked:?}");
        assert!(asked.iter().all(|seen| seen.wants_metadata_only() == bodiless), "{verb} {resource}: {asked:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_process_that_remembers_asks_for_nothing_but_the_list() {
    let memory = Arc::new(ProcessCache::default());
    let kept = Arc::clone(&memory);
    let mut scene = Scene::with("memory", move |options| options.memory = kept).await;
    let (still, edited) = (scene.config_map("a", &[("mode", "1")]), scene.config_map("b", &[("mode", "1")]));
    for resource in [&still, &edited] {
        scene.have(resource).await;
        scene.observe(resource).await;
    }
    scene.caught_up().await;
    let identity = scene.target.identity().await.unwrap();
    let remembered = async {
        while memory.load(&identity).await.unwrap().len() < 2 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(30), remembered).await.expect("records are stored");
    scene.edit(&scene.config_map("b", &[("mode", "9")]), "stranger");
    scene.proxy.take_seen();
    scene.restart(|_| {});
    // The first observation loads the records, opens the stream and waits for its initial state.
    assert_eq!(scene.live(&still).await.value, still.body);
    let asked_for_it = |asked: &String| asked.contains("/configmaps");
    assert!(!asked(&scene).iter().any(asked_for_it), "the stream tells of it");
    scene.hint_about(&edited.key).await;
    scene.caught_up().await;
    scene.proxy.take_seen();
    assert_eq!(scene.live(&still).await.value, still.body);
    assert_eq!(asked(&scene), Vec::<String>::new());
    assert_ne!(scene.live(&edited).await.value, edited.body);
    let dry_runs = scene.proxy.take_seen().iter().filter(|seen| seen.is_dry_run()).count();
    assert_eq!(dry_runs, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn drift_that_is_left_alone_is_found_by_each_process_that_follows() {
    let mut scene = Scene::with("heirs", |options| options.memory = Arc::new(ProcessCache::default())).await;
    let declared = scene.config_map("a", &[("mode", "1")]);
    scene.have(&declared).await;
    scene.edit(&scene.config_map("a", &[("mode", "9")]), "stranger");
    // The first process that follows knows nothing of it; the others know the records of the one
    // before.
    scene.restart(|options| options.memory = Arc::new(ProcessCache::default()));
    for _ in 0..3 {
        assert_ne!(scene.live(&declared).await.value, declared.body);
        scene.caught_up().await;
        assert_ne!(scene.live(&declared).await.value, declared.body);
        scene.target.remember().await;
        scene.restart(|_| {});
    }
}

/// A memory that stores nothing while it is full.
#[derive(Debug)]
struct FullCache {
    is_full: AtomicBool,
    holds: ProcessCache,
}

impl Cache for FullCache {
    fn load<'a>(&'a self, target: &'a TargetIdentity) -> BoxFuture<'a, Result<CachedBytes, CacheError>> {
        self.holds.load(target)
    }

    fn store<'a>(&'a self, target: &'a TargetIdentity, changes: CacheChanges) -> BoxFuture<'a, Result<(), CacheError>> {
        match self.is_full.load(Ordering::SeqCst) {
            true => Box::pin(std::future::ready(Err(CacheError { detail: "the disk is full".to_owned() }))),
            false => self.holds.store(target, changes),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_could_not_be_stored_is_stored_later() {
    let memory = Arc::new(FullCache { is_full: AtomicBool::new(true), holds: ProcessCache::default() });
    let kept = Arc::clone(&memory);
    let scene = Scene::with("full", move |options| {
        options.trust_streams = false;
        options.memory = kept;
    })
    .await;
    let api_version = scene.define("RetentionReason", &fields(&json!({"size": {"type": "integer"}}))).await;
    let declared = scene.resource(&json!({
        "apiVersion": api_version, "kind": "RetentionReason", "metadata": {"name": "a", "namespace": scene.namespace}, "spec": {"size": 1},
    }));
    let identity = scene.target.identity().await.unwrap();
    let stored = async || {
        let all = memory.load(&identity).await.unwrap();
        all.into_iter().map(|(name, _)| name).collect::<BTreeSet<String>>()
    };
    scene.have(&declared).await;
    scene.target.remember().await;
    assert_eq!(stored().await, BTreeSet::new());
    memory.is_full.store(false, Ordering::SeqCst);
    scene.target.remember().await;
    let all = stored().await;
    assert!(all.contains(&declared.key.to_text()), "{all:?}");
    assert_eq!(all.len(), 2, "the object, and where its kind comes from: {all:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_process_whose_stream_fails_looks_for_itself() {
    let memory = Arc::new(ProcessCache::default());
    let kept = Arc::clone(&memory);
    let mut scene = Scene::with("streamless", move |options| options.memory = kept).await;
    let declared = scene.config_map("a", &[("mode", "1")]);
    scene.have(&declared).await;
    scene.observe(&declared).await;
    scene.caught_up().await;
    let identity = scene.target.identity().await.unwrap();
    until("the record is stored", async || !memory.load(&identity).await.unwrap().is_empty()).await;
    scene.proxy.add(Rule::new("GET", "watch=true", Fault::Status { code: 503, retry_after: None }));
    scene.restart(|_| {});
    scene.proxy.take_seen();
    assert_eq!(scene.live(&declared).await.value, declared.body);
    assert!(asked(&scene).iter().any(|asked| asked.contains("/configmaps/a")));
}

#[tokio::test(flavor = "multi_thread")]
async fn many_new_objects_are_looked_for_by_one_list() {
    let scene = at_rest("many").await;
    let there = scene.config_map("a3", &[("mode", "1")]);
    scene.edit(&there, "stranger");
    let resources: Vec<_> = (0..20).map(|n| scene.config_map(&format!("a{n}"), &[("mode", "1")])).collect();
    let found = async || {
        let wanted = resources.iter().map(|resource| (resource.key.clone(), Some(Arc::clone(resource)))).collect();
        let states = scene.target.observe(wanted, Asker::default(), now()).await.states;
        let is_absent = |state: &Observed<Presence>| match state {
            Observed::Known { value: Presence::Absent, .. } => true,
            Observed::Known { .. } => false,
            Observed::Unknown { reason } => panic!("{reason}"),
        };
        let present: Vec<_> = states.into_iter().filter(|(_, state)| !is_absent(state)).map(|(key, _)| key).collect();
        assert_eq!(present, std::slice::from_ref(&there.key));
        let asked = asked(&scene).into_iter().filter(|asked| asked.contains("/configmaps"));
        asked.filter(|asked| asked.starts_with("GET")).collect::<Vec<_>>()
    };
    let by_list = found().await;
    assert_eq!(by_list.len(), 2, "the list, and what it names: {by_list:?}");
    // A list that is refused, breaks off or contains an object without a name proves no absence.
    let nameless = r#"{"metadata":{"resourceVersion":"9"},"items":[{"metadata":{"name":"a3"}},{"metadata":{}}]}"#;
    let nameless = Fault::Answer { code: 200, body: nameless.to_owned() };
    for fault in [Fault::Status { code: 403, retry_after: None }, Fault::Half, nameless] {
        let rule = scene.proxy.add(Rule::new("GET", "/configmaps?limit", fault));
        let by_name = found().await;
        assert_eq!((by_name.len(), scene.proxy.struck(rule)), (21, 1), "{by_name:?}");
        scene.proxy.remove(rule);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_few_new_objects_beside_many_of_ours_are_asked_for_by_name() {
    let scene = at_rest("crowded").await;
    for n in 0..129 {
        scene.have(&scene.config_map(&format!("old{n}"), &[("mode", "1")])).await;
    }
    asked(&scene);
    let resources: Vec<_> = (0..8).map(|n| scene.config_map(&format!("new{n}"), &[("mode", "1")])).collect();
    let wanted = resources.iter().map(|resource| (resource.key.clone(), Some(Arc::clone(resource)))).collect();
    let states = scene.target.observe(wanted, Asker::default(), now()).await.states;
    assert!(states.values().all(|state| matches!(state, Observed::Known { value: Presence::Absent, .. })));
    let names = asked(&scene).into_iter().filter(|asked| asked.contains("/configmaps/new")).count();
    assert_eq!(names, 8, "a list would bring the 129 others too");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_that_lost_our_label_is_still_ours_and_still_watched() {
    let scene = at_rest("unlabelled").await;
    let declared = scene.config_map("a", &[("mode", "1")]);
    let made = scene.have(&declared).await;
    scene.observe(&declared).await;
    scene.caught_up().await;
    let path = format!("/api/v1/namespaces/{}/configmaps/a", scene.namespace);
    let patch = json!({"metadata": {"labels": null}});
    let content = serde_json::to_vec(&patch).unwrap();
    scene.server.request("PATCH", &path, Some(("application/merge-patch+json", &content))).succeeded();
    scene.hint_about(&declared.key).await;
    let seen = scene.live(&declared).await;
    assert_eq!((&seen.uid, &seen.value), (&made.uid, &declared.body));
    scene.edit(&scene.config_map("a", &[("mode", "9")]), "stranger");
    scene.hint_about(&declared.key).await;
    assert_ne!(scene.live(&declared).await.value, declared.body);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_there_is_no_stream_left_for_is_polled_and_that_is_told() {
    let scene = Scene::with("polled", |options| {
        options.most_streams = 1;
        options.poll_round = Span::seconds(1);
    })
    .await;
    let streamed = scene.config_map("settings", &[("mode", "safe")]);
    let polled = scene.resource(&json!({
        "apiVersion": "v1", "kind": "Secret",
        "metadata": {"name": "word", "namespace": scene.namespace}, "data": {"word": "Zmlyc3Q="},
    }));
    scene.have(&streamed).await;
    scene.have(&polled).await;
    scene.observe(&streamed).await;
    assert_eq!(scene.target.degraded(), None);
    scene.observe(&polled).await;
    let watching = scene.target.watching();
    assert_eq!((watching.streams, watching.polled), (1, 1));
    let told = scene.target.degraded().expect("it is degraded");
    assert!(
        told.starts_with("1 kinds or namespaces are polled every 1.0 s, as 1 streams are open already: "),
        "{told}"
    );
    assert!(told.ends_with("spread the apps over several Targets"), "{told}");

    scene.patch(&polled, "stranger", &json!({"data": {"word": "c2Vjb25k"}}));
    scene.hint_about(&polled.key).await;
    assert_ne!(scene.live(&polled).await.value, polled.body, "it has drifted");

    let rule = scene.proxy.add(Rule::new("GET", "/secrets", Fault::Status { code: 500, retry_after: None }));
    let is_told = |told: Option<String>| told.is_some_and(|told| told.contains("1 of these could not be listed"));
    until("the failing list is told", async || is_told(scene.target.degraded())).await;
    scene.proxy.remove(rule);
    until("it is over", async || !is_told(scene.target.degraded())).await;
}
