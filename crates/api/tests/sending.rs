//! Requests of a caller with all rights, straight to the routes.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, Request, StatusCode};
use http_body_util::BodyExt;
use serde_json::Value;
use setpoint_api::canned::CannedAgent;
use setpoint_api::{Caller, handlers};
use tower_service::Service;

/// The response to a request.
pub(crate) struct Response {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    /// Empty for the feed, which has no end.
    pub(crate) body: String,
}

impl Response {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().expect("a text"))
    }
}

/// Sends a request to an agent of its own.
pub(crate) async fn send(method: &str, uri: &str, headers: &[(&str, &str)], body: &str) -> Response {
    send_to(&handlers::routes(Arc::new(CannedAgent::example())), method, uri, headers, body).await
}

pub(crate) async fn send_to(
    routes: &Router,
    method: &str,
    uri: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> Response {
    let mut request = Request::builder().method(method).uri(uri);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let caller = Caller::local("user:erika".parse().expect("a valid actor"));
    request.extensions_mut().expect("the request is valid").insert(caller);
    let request = request.body(Body::from(body.to_owned())).expect("the request is valid");
    let Ok(response) = routes.clone().call(request).await;
    let (head, body) = response.into_parts();
    let mut response = Response { status: head.status, headers: head.headers, body: String::new() };
    if response.header("content-type") != "text/event-stream" {
        let body = body.collect().await.expect("it arrives").to_bytes();
        response.body = String::from_utf8(body.to_vec()).expect("a text");
    }
    response
}
