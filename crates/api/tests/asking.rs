//! Every request and its response, valid and invalid.

use setpoint_api::question::{
    AppsQuestion, DriftQuestion, ExplainQuestion, HistoryQuestion, ObjectName, OrderKind, OrderRequest, PlanRequest,
};
use setpoint_api::{AskError, Problem, ProblemKind};
use setpoint_core::time::Span;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;

use crate::place::Place;

#[tokio::test]
async fn every_answer_arrives_as_it_was_given() {
    let place = Place::new().await;
    let (client, agent) = (place.client(), &place.agent);
    assert_eq!(client.overview().await.expect("a response"), agent.overview);
    assert_eq!(client.app(agent.detail.summary.app.clone()).await.expect("a response"), agent.detail);
    assert_eq!(client.tree(agent.tree.app.clone()).await.expect("a response"), agent.tree);
    let page = client.apps(&AppsQuestion { scope: Some("web".to_owned()), ..AppsQuestion::default() }).await;
    assert_eq!(page.expect("a response").apps, std::slice::from_ref(&agent.detail.summary));
    let question = HistoryQuestion { app: None, limit: 1, before: Some(412) };
    assert_eq!(client.history(&question).await.expect("a response"), agent.history[1..2]);
    let question = DriftQuestion { app: None, limit: 9 };
    assert_eq!(client.drift(&question).await.expect("a response"), agent.drift);
    let request = PlanRequest { app: None, rev: None };
    assert_eq!(client.plan(&request).await.expect("a response"), agent.plan);
    let object = ObjectName { kind: "Secret".to_owned(), name: "shop".to_owned() };
    let app = agent.detail.summary.app.clone();
    let question = ExplainQuestion { app, object, namespace: None, field: String::new(), rev: None };
    assert_eq!(client.explain(&question).await.expect("a response"), agent.explained);
    assert_eq!(client.test_notifiers().await.expect("a response"), agent.notifiers);
}

#[tokio::test]
async fn an_order_carries_who_gave_it_as_the_system_knows_them() {
    let place = Place::new().await;
    let request = OrderRequest {
        app: "web/shop".parse().expect("a valid app"),
        reason: "restoring".to_owned(),
        order: OrderKind::Suspend { length: Span::hours(2) },
    };
    let ordered = place.client().order(&request).await.expect("it is recorded");
    assert_eq!(ordered.app, request.app);
    let orders = place.agent.orders();
    let (by, kept) = orders.first().expect("one order");
    assert_eq!(*kept, request);
    if rustix::process::geteuid().is_root() {
        assert_eq!(by.as_str(), "user:root");
    }
    assert!(by.as_str().starts_with("user:") || by.as_str().starts_with("uid:"), "{by}");
}

#[tokio::test]
async fn what_the_agent_says_no_to_is_told_in_its_words() {
    let place = Place::new().await;
    let asked = place.client().app("web/nothing".parse().expect("a valid app")).await;
    let Err(AskError::Refused(problem)) = asked else { panic!("{asked:?}") };
    assert_eq!(problem.kind, ProblemKind::Missing);
    assert_eq!(problem.message, "there is no app web/nothing: `setpoint status` lists them");
}

/// Writes bytes to the socket and reads the response, until the agent closes.
async fn exchange(place: &Place, request: &[u8]) -> String {
    let mut stream = UnixStream::connect(place.socket()).await.expect("the agent is running");
    // The agent may respond and close before all of an invalid request was written.
    let _ = stream.write_all(request).await;
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    String::from_utf8(answer).expect("text")
}

async fn problem(place: &Place, method: &str, path: &str, body: &str) -> (String, Problem) {
    let request = format!("{method} {path} HTTP/1.1\r\nhost: agent\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    let answer = exchange(place, request.as_bytes()).await;
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer: {answer:?}"));
    let status = head.lines().next().expect("a status line").to_owned();
    (status, serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {body}")))
}

#[tokio::test]
async fn each_kind_of_problem_has_its_status() {
    let place = Place::new().await;
    let cases = [
        ("GET", "/v1/nothing", "", "HTTP/1.1 404 Not Found", "/v1/nothing does not exist"),
        ("GET", "/api/v1/apps/web/Shop", "", "HTTP/1.1 400 Bad Request", "`Shop` is not a valid app name"),
        ("GET", "/api/v1/apps/web/none", "", "HTTP/1.1 404 Not Found", "there is no app web/none"),
        ("DELETE", "/api/v1/overview", "", "HTTP/1.1 405 Method Not Allowed", "does not have the method DELETE"),
        ("GET", "/api/v1/history?limit=many", "", "HTTP/1.1 400 Bad Request", "cannot parse the request"),
        ("GET", "/api/v1/history?limit=1&evil=2", "", "HTTP/1.1 400 Bad Request", "unknown field `evil`"),
        ("GET", "/api/v1/apps?after=x", "", "HTTP/1.1 400 Bad Request", "`after` is not a position"),
        ("POST", "/api/v1/orders", "{}", "HTTP/1.1 400 Bad Request", "missing field `app`"),
    ];
    for (method, path, body, status, message) in cases {
        let (answered, problem) = problem(&place, method, path, body).await;
        assert_eq!(answered, status, "{method} {path}");
        assert!(problem.message.contains(message), "{method} {path}: {}", problem.message);
    }
}

#[tokio::test]
async fn a_question_of_more_than_a_mebibyte_is_refused_unread() {
    let place = Place::new().await;
    let long = format!("{{\"limit\":1,\"app\":\"{}\"}}", "a".repeat(1024 * 1024));
    let (status, problem) = problem(&place, "POST", "/api/v1/orders", &long).await;
    assert_eq!(status, "HTTP/1.1 413 Payload Too Large");
    assert_eq!(problem.message, "the request is longer than 1048576 bytes");
}

#[tokio::test]
async fn rubbish_does_not_trouble_those_who_ask_properly() {
    let place = Place::new().await;
    exchange(&place, b"\x16\x03\x01\x02\x00 rubbish\r\n\r\n").await;
    assert_eq!(place.client().overview().await.expect("a response"), place.agent.overview);
}

#[tokio::test]
async fn problems_have_the_form_of_rfc_9457() {
    let place = Place::new().await;
    let answer = exchange(&place, b"GET /api/v1/apps/web/none HTTP/1.1\r\nhost: agent\r\n\r\n").await;
    let (head, body) = answer.split_once("\r\n\r\n").expect("a response");
    assert!(head.contains("content-type: application/problem+json"), "{head}");
    let body: serde_json::Value = serde_json::from_str(body).expect("JSON");
    assert_eq!(body["title"], "Not Found");
    assert_eq!(body["status"], 404);
    assert_eq!(body["kind"], "missing");
    assert!(body["detail"].as_str().is_some_and(|detail| detail.starts_with("there is no app web/none")), "{body}");
}

#[tokio::test]
async fn a_reader_of_the_feed_continues_after_its_last_event() {
    let place = Place::new().await;
    for (head, event) in [("", "event: reload"), ("last-event-id: 0\r\n", "event: app")] {
        let mut stream = UnixStream::connect(place.socket()).await.expect("the agent is running");
        let request = format!("GET /api/v1/events HTTP/1.1\r\nhost: agent\r\n{head}\r\n");
        stream.write_all(request.as_bytes()).await.expect("sent");
        let mut answer = String::new();
        while !answer.contains(event) {
            let mut part = [0; 1024];
            let length = stream.read(&mut part).await.expect("the feed goes on");
            assert!(length > 0, "the feed ended: {answer}");
            answer.push_str(std::str::from_utf8(&part[..length]).expect("text"));
        }
        assert!(answer.contains("content-type: text/event-stream"), "{answer}");
        assert!(answer.contains("id: 1"), "{answer}");
    }
}
