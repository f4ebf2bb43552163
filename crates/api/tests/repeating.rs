//! Orders that a client sends again, because it did not get the response.

use std::sync::Arc;

use axum::Router;
use setpoint_api::agent::Agent;
use setpoint_api::canned::CannedAgent;
use setpoint_api::{handlers, path};

use crate::sending::{Response, send_to};

const HOLD: &str = r#"{"app":"web/shop","reason":"night","order":{"what":"hold"}}"#;

/// Routes, and the agent that gets their orders.
fn served() -> (Router, Arc<CannedAgent>) {
    let agent = Arc::new(CannedAgent::example());
    let routes = handlers::routes(Arc::<CannedAgent>::clone(&agent) as Arc<dyn Agent>);
    (routes, agent)
}

async fn order(routes: &Router, key: &str, body: &str) -> Response {
    send_to(routes, "POST", path::ORDERS, &[("idempotency-key", key)], body).await
}

#[tokio::test]
async fn an_order_that_is_sent_again_with_its_key_is_given_once() {
    let (routes, agent) = served();
    let first = order(&routes, "8e03978e", HOLD).await;
    let spaced = HOLD.replace(':', ": ");
    let second = order(&routes, "8e03978e", &spaced).await;
    assert_eq!((first.status.as_u16(), second.status.as_u16()), (200, 200), "{}", second.body);
    assert_eq!(first.json(), second.json());
    assert_eq!(agent.orders().len(), 1);
    assert_eq!(order(&routes, "another", HOLD).await.status, 200);
    assert_eq!(agent.orders().len(), 2, "another key is another order");
}

#[tokio::test]
async fn a_key_is_not_for_another_order() {
    let (routes, agent) = served();
    assert_eq!(order(&routes, "8e03978e", HOLD).await.status, 200);
    let other = order(&routes, "8e03978e", &HOLD.replace("night", "day")).await;
    assert_eq!((other.status.as_u16(), &other.json()["kind"]), (422, &"key-reused".into()), "{}", other.body);
    assert_eq!(agent.orders().len(), 1);
}

#[tokio::test]
async fn a_refused_order_and_a_wrong_key_have_no_effect() {
    let (routes, agent) = served();
    let unknown = HOLD.replace("web/shop", "web/none");
    assert_eq!(order(&routes, "8e03978e", &unknown).await.status, 404);
    assert_eq!(order(&routes, "8e03978e", HOLD).await.status, 200, "the key is free again");
    assert_eq!(order(&routes, &"a".repeat(256), HOLD).await.status, 400);
    assert_eq!(agent.orders().len(), 1);
}
