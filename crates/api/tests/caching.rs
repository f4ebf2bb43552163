//! Entity tags: what a client has is not sent again.

use crate::sending::{Response, send};

async fn get(uri: &str, tag: &str) -> Response {
    send("GET", uri, &[("if-none-match", tag)], "").await
}

#[tokio::test]
async fn a_response_that_the_client_has_is_not_sent_again() {
    for uri in ["/api/v1/overview", "/api/v1/apps", "/api/v1/apps/web/shop", "/api/v1/history", "/api/v1/openapi.json"]
    {
        let response = get(uri, "\"other\"").await;
        assert_eq!((response.status.as_u16(), response.header("cache-control")), (200, "private, no-cache"), "{uri}");
        let tag = response.header("etag");
        assert!(tag.len() == 66 && !response.body.is_empty(), "{uri}: {tag}");
        let second = get(uri, tag).await;
        assert_eq!((second.status.as_u16(), second.body.as_str()), (304, ""), "{uri}");
        assert_eq!((second.header("etag"), second.header("cache-control")), (tag, "private, no-cache"), "{uri}");
        assert_eq!(second.header("content-type"), "", "{uri}");
    }
}

#[tokio::test]
async fn different_responses_have_different_tags() {
    let (one, all) = (get("/api/v1/apps?limit=1", "").await, get("/api/v1/apps", "").await);
    assert_ne!(one.header("etag"), all.header("etag"));
}

#[tokio::test]
async fn problems_streams_and_changes_have_no_tag() {
    for (method, uri, status) in [
        ("GET", "/api/v1/apps/web/none", 404),
        ("GET", "/api/v1/logs?app=web/shop", 200),
        ("POST", "/api/v1/notifiers/test", 200),
    ] {
        let response = send(method, uri, &[("if-none-match", "*")], "").await;
        assert_eq!((response.status.as_u16(), response.header("etag")), (status, ""), "{uri}");
        assert!(!response.body.is_empty(), "{uri}");
    }
}
