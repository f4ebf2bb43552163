//! Watches through the proxy: lists are really streamed, and events are lost where a rule drops
//! them.

use setpoint_testbed::kube::proxy::Seen;
use setpoint_testbed::kube::{Fault, Rule};

use super::scene::Scene;

#[tokio::test]
async fn a_list_is_streamed_by_the_real_server() {
    let scene = Scene::new("streamed");
    scene.create("a").await.unwrap();
    let query = "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
    let mut lines = scene.watch(query).await;
    assert_eq!(lines.next_name().await, ("ADDED".to_owned(), "a".to_owned()));
    let bookmark = lines.next().await.unwrap().expect("the list ends with a bookmark");
    assert_eq!(bookmark["type"], "BOOKMARK");
    assert_eq!(bookmark["object"]["metadata"]["annotations"]["k8s.io/initial-events-end"], "true");
    assert!(scene.proxy.seen().iter().any(Seen::streams_list));
}

#[tokio::test]
async fn an_event_of_a_running_watch_is_swallowed() {
    let scene = Scene::new("swallowed");
    let mut lines = scene.watch("").await;
    scene.create("a").await.unwrap();
    assert_eq!(lines.next_name().await.1, "a");
    let rule = scene.proxy.add(Rule::new("GET", &scene.config_maps("?watch"), Fault::SwallowEvent).times(2));
    for name in ["b", "c", "d"] {
        scene.create(name).await.unwrap();
    }
    assert_eq!(lines.next_name().await.1, "d");
    assert_eq!(scene.proxy.struck(rule), 2);
}

#[tokio::test]
async fn a_running_watch_is_reset_instead_of_an_event() {
    let scene = Scene::new("cut");
    let mut lines = scene.watch("").await;
    scene.create("a").await.unwrap();
    assert_eq!(lines.next_name().await.1, "a");
    scene.proxy.add(Rule::new("GET", &scene.config_maps("?watch"), Fault::ResetInsteadOfEvent).times(1));
    scene.create("b").await.unwrap();
    assert!(lines.next().await.is_err());
    assert!(scene.exists("b"));
}

#[tokio::test]
async fn a_watch_is_told_that_its_version_has_expired() {
    let scene = Scene::new("expired");
    scene.break_next("GET", Fault::Expire);
    let mut lines = scene.watch("&resourceVersion=1").await;
    let event = lines.next().await.unwrap().expect("an event comes");
    assert_eq!((event["type"].as_str(), event["object"]["code"].as_u64()), (Some("ERROR"), Some(410)));
    assert!(lines.next().await.unwrap().is_none());
}
