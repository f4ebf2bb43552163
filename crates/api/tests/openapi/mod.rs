//! The OpenAPI document: that it is up to date, complete, and true of what the routes answer.

mod kinds;
mod schema;

use std::collections::BTreeSet;

use axum::http::StatusCode;
use serde_json::{Value, json};
use setpoint_api::answer::{Change, FeedEvent, SessionInfo};
use setpoint_api::question::{OrderKind, OrderRequest};
use setpoint_api::{openapi, path};
use setpoint_core::intent::IntentId;
use setpoint_core::time::Span;

use self::schema::Schemas;
use crate::sending::{Response, send};

const METHODS: [&str; 4] = ["get", "post", "put", "delete"];

async fn get(uri: &str) -> Response {
    send("GET", uri, &[], "").await
}

/// Checks a value against a schema of the document.
fn check(document: &Value, schema: &Value, value: &Value, what: &str) {
    assert_eq!(Schemas(document).problems(schema, value), [""; 0], "{what}: {value}");
}

fn schema_of<'a>(document: &'a Value, path: &str, method: &str, kind: &str) -> &'a Value {
    let schema = &document["paths"][path][method]["responses"]["200"]["content"][kind]["schema"];
    assert!(schema.is_object(), "{method} {path} has a response of {kind}");
    schema
}

#[test]
fn the_committed_document_is_that_of_the_sources() {
    let committed = include_str!("../../../../docs/openapi.json");
    assert!(committed == openapi::text(), "docs/openapi.json is not up to date: run `cargo xtask openapi`");
}

#[test]
fn every_path_is_in_the_document() {
    let document = openapi::document();
    let described: BTreeSet<_> = document["paths"].as_object().expect("paths").keys().map(String::as_str).collect();
    assert_eq!(described, path::ALL.iter().copied().collect());
}

#[test]
fn every_operation_has_a_name_of_its_own_and_every_parameter_a_description() {
    let document = openapi::document();
    let mut names = BTreeSet::new();
    for (path, item) in document["paths"].as_object().expect("paths") {
        for operation in item.as_object().expect("operations").values() {
            let name = operation["operationId"].as_str().expect("a name");
            assert!(names.insert(name), "two operations have the name {name}");
            for parameter in operation["parameters"].as_array().expect("parameters") {
                let description = parameter["description"].as_str().unwrap_or_default();
                assert!(!description.is_empty(), "describe the parameter {} of {path}", parameter["name"]);
            }
        }
    }
}

#[tokio::test]
async fn the_routes_have_the_methods_of_the_document_and_no_others() {
    let document = openapi::document();
    // The socket has no sessions.
    for path in path::ALL.iter().filter(|path| **path != path::SESSION) {
        let uri = path
            .replace("{scope}", "web")
            .replace("{app}", "shop")
            .replace("{seq}", "412")
            .replace("{version}", "3f2a91c0");
        for method in METHODS {
            let is_described = document["paths"][path].get(method).is_some();
            let response = send(&method.to_uppercase(), &uri, &[], "{}").await;
            assert_ne!(response.status, StatusCode::NOT_FOUND, "{method} {path}: {}", response.body);
            let is_served = response.status != StatusCode::METHOD_NOT_ALLOWED;
            assert_eq!(is_served, is_described, "{method} {path}");
        }
    }
}

#[tokio::test]
async fn every_response_is_as_the_document_describes_it() {
    let document = openapi::document();
    for (path, uri) in [
        (path::OVERVIEW, "/api/v1/overview"),
        (path::APPS, "/api/v1/apps"),
        (path::APPS, "/api/v1/apps?limit=1"),
        (path::APPS, "/api/v1/apps?fields=app,setBack"),
        (path::APP, "/api/v1/apps/web/shop"),
        (path::TREE, "/api/v1/apps/web/shop/tree"),
        (path::HISTORY, "/api/v1/history"),
        (path::PROOF, "/api/v1/history/412/proof"),
        (path::CHANGES, "/api/v1/changes"),
        (path::VERSION, "/api/v1/versions/3f2a91c0"),
        (path::DRIFT, "/api/v1/drift"),
        (path::PLAN, "/api/v1/plan"),
        (path::EXPLAIN, "/api/v1/explain?app=web/shop&object=Secret/shop"),
        (path::OPENAPI, "/api/v1/openapi.json"),
    ] {
        let response = get(uri).await;
        assert_eq!((response.status, response.header("content-type")), (StatusCode::OK, "application/json"), "{uri}");
        let schema = schema_of(&document, path, "get", "application/json");
        if path != path::OPENAPI {
            check(&document, schema, &response.json(), uri);
        }
    }
    let tested = send("POST", path::NOTIFIERS_TEST, &[], "").await;
    let schema = schema_of(&document, path::NOTIFIERS_TEST, "post", "application/json");
    check(&document, schema, &tested.json(), "a test of notifiers");
}

#[tokio::test]
async fn every_part_of_a_stream_is_as_the_document_describes_it() {
    let document = openapi::document();
    let logs = get("/api/v1/logs?app=web/shop").await;
    assert!(
        schema_of(&document, path::LOGS, "get", logs.header("content-type"))["description"]
            .as_str()
            .expect("a text")
            .contains("`LogPart`")
    );
    for line in logs.body.lines() {
        let part = serde_json::from_str(line).expect("each line is JSON");
        check(&document, Schemas(&document).named("LogPart"), &part, "a part of a log");
    }
    let events = get("/api/v1/events").await;
    assert!(
        schema_of(&document, path::EVENTS, "get", events.header("content-type"))["description"]
            .as_str()
            .expect("a text")
            .contains("`FeedEvent`")
    );
    let name = || "platform".to_owned();
    for change in [
        Change::App { app: "web/shop".parse().expect("a valid app") },
        Change::Store { store: name().parse().expect("a valid store") },
        Change::Target { target: name().parse().expect("a valid target") },
        Change::Reload,
    ] {
        check(&document, Schemas(&document).named("FeedEvent"), &json!(FeedEvent { seq: 7, change }), "an event");
    }
}

#[tokio::test]
async fn every_order_is_as_the_document_describes_it() {
    let document = openapi::document();
    let operation = &document["paths"][path::ORDERS]["post"];
    let schema = &operation["requestBody"]["content"]["application/json"]["schema"];
    for order in [
        OrderKind::Sync { allow_prune: 3 },
        OrderKind::Suspend { length: Span::hours(1) },
        OrderKind::Resume,
        OrderKind::Hold,
        OrderKind::Release { accept: Some("3f2a91c0".to_owned()) },
        OrderKind::Settle { intent: IntentId { epoch: 7, number: 31 }, done: true },
    ] {
        let request = OrderRequest { app: "web/shop".parse().expect("a valid app"), reason: "night".to_owned(), order };
        check(&document, schema, &json!(request), "an order");
        let response = send("POST", path::ORDERS, &[], &json!(request).to_string()).await;
        assert_eq!(response.status, StatusCode::OK, "{}", response.body);
        check(
            &document,
            schema_of(&document, path::ORDERS, "post", "application/json"),
            &response.json(),
            "a response",
        );
    }
    let unknown = json!({ "app": "web/shop", "order": { "what": "hold" }, "force": true });
    assert_eq!(Schemas(&document).problems(schema, &unknown).len(), 1, "a field that serde refuses is not permitted");
    assert_eq!(Schemas(&document).named("OrderRequest")["additionalProperties"], false);
    assert_eq!(send("POST", path::ORDERS, &[], &unknown.to_string()).await.status, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn every_problem_is_as_the_document_describes_it() {
    let document = openapi::document();
    for (uri, status) in [("/api/v1/apps?sort=none", 400), ("/api/v1/apps/web/none", 404), ("/api/v1/none", 404)] {
        let response = get(uri).await;
        assert_eq!(
            (response.status.as_u16(), response.header("content-type")),
            (status, "application/problem+json"),
            "{uri}"
        );
        check(&document, Schemas(&document).named("Problem"), &response.json(), uri);
    }
}

#[test]
fn the_session_is_as_the_document_describes_it() {
    let document = openapi::document();
    let session = SessionInfo {
        actor: "account:erika".parse().expect("a valid actor"),
        via: "password".to_owned(),
        administrator: true,
        csrf: Some("a token".to_owned()),
    };
    check(&document, schema_of(&document, path::SESSION, "get", "application/json"), &json!(session), "a session");
}
