//! Each fault of the proxy once, against the real server: the client's response, and the server's
//! changes.

use std::time::Duration;

use setpoint_testbed::kube::{ApiServer, Fault, Options, Proxy, Rule};

use super::scene::{PATIENCE, Scene, client};

#[tokio::test]
async fn without_rules_everything_is_passed_on_and_counted() {
    let scene = Scene::new("passing");
    assert_eq!(scene.create("a").await.unwrap().status(), 201);
    let list = scene.get(&scene.config_maps("")).await.unwrap();
    assert!(list.text().await.unwrap().contains(r#""name":"a""#));
    let counts = scene.proxy.counts();
    assert_eq!(counts.get(&("create", "configmaps".to_owned())), Some(&1));
    assert_eq!(counts.get(&("list", "configmaps".to_owned())), Some(&1));
    assert_eq!(scene.proxy.take_seen().len(), 2);
    assert_eq!(scene.proxy.counts().len(), 0);
}

#[tokio::test]
async fn a_status_is_answered_in_the_servers_place() {
    let scene = Scene::new("statuses");
    for (code, reason) in [
        (409, "Conflict"),
        (410, "Expired"),
        (429, "TooManyRequests"),
        (500, "InternalError"),
        (503, "ServiceUnavailable"),
    ] {
        let rule = Rule::new("POST", &scene.config_maps(""), Fault::Status { code, retry_after: Some(3) }).times(1);
        let rule = scene.proxy.add(rule);
        let answer = scene.create("a").await.unwrap();
        assert_eq!((answer.status().as_u16(), answer.headers()["retry-after"].to_str().unwrap()), (code, "3"));
        let status: serde_json::Value = serde_json::from_str(&answer.text().await.unwrap()).unwrap();
        assert_eq!((status["kind"].as_str(), status["reason"].as_str()), (Some("Status"), Some(reason)));
        assert_eq!(scene.proxy.struck(rule), 1);
    }
    assert!(!scene.exists("a"));
    assert_eq!(scene.create("a").await.unwrap().status(), 201);
}

#[tokio::test]
async fn a_reset_before_leaves_nothing_and_a_reset_or_an_error_after_leaves_it_done() {
    let scene = Scene::new("resets");
    scene.break_next("POST", Fault::ResetBefore);
    assert!(scene.create("a").await.is_err());
    assert!(!scene.exists("a"));
    scene.break_next("POST", Fault::ResetAfter);
    assert!(scene.create("b").await.is_err());
    assert!(scene.exists("b"));
    scene.break_next("POST", Fault::StatusAfter(504));
    assert_eq!(scene.create("c").await.unwrap().status(), 504);
    assert!(scene.exists("c"));
}

#[tokio::test]
async fn half_an_answer_is_an_error_after_its_first_half() {
    let scene = Scene::new("halves");
    scene.create("a").await.unwrap();
    scene.break_next("GET", Fault::Half);
    let mut answer = scene.get(&scene.config_maps("/a")).await.unwrap();
    let announced: usize = answer.headers()["content-length"].to_str().unwrap().parse().unwrap();
    let mut received = 0;
    let error = loop {
        match answer.chunk().await {
            Ok(Some(chunk)) => received += chunk.len(),
            Ok(None) => panic!("the answer ended as if it were whole"),
            Err(error) => break error,
        }
    };
    assert_eq!(received, announced / 2, "{error}");
}

#[tokio::test]
async fn a_delay_before_and_a_delay_after_differ_in_what_is_done_meanwhile() {
    let scene = Scene::new("delays");
    scene.break_next("POST", Fault::DelayBefore(2 * PATIENCE));
    scene.create_unanswered("before", || !scene.proxy.seen().is_empty()).await;
    assert!(!scene.exists("before"));
    scene.break_next("POST", Fault::DelayAfter(2 * PATIENCE));
    scene.create_unanswered("after", || scene.exists("after")).await;
    scene.break_next("POST", Fault::DelayBefore(Duration::from_millis(1)));
    assert_eq!(scene.create("in-the-end").await.unwrap().status(), 201);
}

#[tokio::test]
async fn a_hanging_request_is_never_answered() {
    let scene = Scene::new("hangs");
    scene.break_next("POST", Fault::HangBefore);
    scene.create_unanswered("before", || !scene.proxy.seen().is_empty()).await;
    assert!(!scene.exists("before"));
    scene.break_next("POST", Fault::HangAfter);
    scene.create_unanswered("after", || scene.exists("after")).await;
}

#[tokio::test]
async fn a_stale_answer_stays_as_it_was_until_the_rule_is_removed() {
    let scene = Scene::new("stale");
    let rule = scene.proxy.add(Rule::new("GET", &scene.config_maps(""), Fault::Stale));
    let list = scene.config_maps("");
    let first = scene.get(&list).await.unwrap().text().await.unwrap();
    scene.create("a").await.unwrap();
    assert_eq!(scene.get(&list).await.unwrap().text().await.unwrap(), first);
    scene.proxy.remove(rule);
    assert!(scene.get(&list).await.unwrap().text().await.unwrap().contains(r#""name":"a""#));
}

#[tokio::test]
async fn an_endless_list_goes_on_for_as_long_as_it_is_read() {
    let scene = Scene::new("endless");
    scene.break_next("GET", Fault::Endless);
    let mut answer = scene.get(&scene.config_maps("")).await.unwrap();
    let mut received = 0;
    while received < 20_000_000 {
        let chunk = tokio::time::timeout(PATIENCE, answer.chunk()).await.unwrap().unwrap();
        received += chunk.expect("it never ends").len();
    }
}

#[tokio::test]
async fn a_redirect_names_the_same_path_elsewhere() {
    let scene = Scene::new("redirects");
    scene.break_next("GET", Fault::Redirect("https://elsewhere.example".to_owned()));
    let answer = scene.get(&scene.config_maps("?limit=1")).await.unwrap();
    assert_eq!(answer.status(), 307);
    let expected = format!("https://elsewhere.example{}", scene.config_maps("?limit=1"));
    assert_eq!(answer.headers()["location"].to_str().unwrap(), expected);
}

#[tokio::test]
async fn any_answer_can_be_made_up() {
    let scene = Scene::new("made-up");
    scene.break_next("GET", Fault::Answer { code: 200, body: "<html>".to_owned() });
    assert_eq!(scene.get(&scene.config_maps("")).await.unwrap().text().await.unwrap(), "<html>");
}

#[tokio::test]
async fn mending_removes_every_rule() {
    let scene = Scene::new("mended");
    scene.proxy.add(Rule::new("*", "", Fault::ResetBefore));
    assert!(scene.create("a").await.is_err());
    scene.proxy.mend();
    assert_eq!(scene.create("a").await.unwrap().status(), 201);
}

#[tokio::test]
async fn a_proxy_leads_to_the_other_server_when_told_so() {
    let first = ApiServer::own(Options::default());
    let second = first.beside(Options::default());
    let proxy = Proxy::before(&first);
    let client = client(proxy.authority());
    let get = || client.get(format!("{}/version", proxy.url())).bearer_auth(first.admin_token()).send();
    assert_eq!(get().await.unwrap().status(), 200);
    first.stop();
    assert!(get().await.is_err());
    proxy.lead_to(&second);
    assert_eq!(get().await.unwrap().status(), 200);
}
