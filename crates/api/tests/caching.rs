//! Entity tags: what a client has is not sent again.

use std::sync::Arc;

use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, IF_NONE_MATCH};
use axum::http::{HeaderMap, Request, StatusCode};
use http_body_util::BodyExt;
use setpoint_api::canned::CannedAgent;
use setpoint_api::{Caller, handlers};
use tower_service::Service;

async fn send(method: &str, uri: &str, tag: &str) -> (StatusCode, HeaderMap, String) {
    let mut routes = handlers::routes(Arc::new(CannedAgent::example()));
    let mut request = Request::builder().method(method).uri(uri).header(IF_NONE_MATCH, tag);
    let caller = Caller::local("user:erika".parse().expect("a valid actor"));
    request.extensions_mut().expect("the request is valid").insert(caller);
    let Ok(response) = routes.call(request.body(Body::empty()).expect("the request is valid")).await;
    let (head, body) = response.into_parts();
    let body = body.collect().await.expect("it arrives").to_bytes();
    (head.status, head.headers, String::from_utf8(body.to_vec()).expect("a text"))
}

#[tokio::test]
async fn a_response_that_the_client_has_is_not_sent_again() {
    for uri in ["/api/v1/overview", "/api/v1/apps", "/api/v1/apps/web/shop", "/api/v1/history", "/api/v1/openapi.json"]
    {
        let (status, headers, body) = send("GET", uri, "\"other\"").await;
        assert_eq!(status, StatusCode::OK, "{uri}");
        assert_eq!(headers[CACHE_CONTROL], "private, no-cache", "{uri}");
        let tag = headers[ETAG].to_str().expect("a text");
        assert!(tag.len() == 66 && !body.is_empty(), "{uri}: {tag}");
        let (status, headers, body) = send("GET", uri, tag).await;
        assert_eq!((status, body.as_str()), (StatusCode::NOT_MODIFIED, ""), "{uri}");
        assert!(headers[ETAG] == tag && headers[CACHE_CONTROL] == "private, no-cache", "{uri}: {headers:?}");
        assert!(!headers.contains_key(CONTENT_TYPE), "{uri}");
    }
}

#[tokio::test]
async fn different_responses_have_different_tags() {
    let (_, one, _) = send("GET", "/api/v1/apps?limit=1", "").await;
    let (_, all, _) = send("GET", "/api/v1/apps", "").await;
    assert_ne!(one[ETAG], all[ETAG]);
}

#[tokio::test]
async fn problems_streams_and_changes_have_no_tag() {
    for (method, uri, status) in [
        ("GET", "/api/v1/apps/web/none", 404),
        ("GET", "/api/v1/logs?app=web/shop", 200),
        ("POST", "/api/v1/notifiers/test", 200),
    ] {
        let (found, headers, body) = send(method, uri, "*").await;
        assert_eq!((found.as_u16(), headers.contains_key(ETAG)), (status, false), "{uri}");
        assert!(!body.is_empty(), "{uri}");
    }
}
