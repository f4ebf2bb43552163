//! Entity tags: a client that already has a response gets 304 without the body. For responses in
//! JSON, not for streams.

use axum::body::Body;
use axum::extract::Request;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, HeaderMap, HeaderValue, IF_NONE_MATCH};
use axum::http::{Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http_body_util::BodyExt;
use setpoint_core::digest::Digest;

use crate::agent::{Problem, ProblemKind};

/// A response may be stored by the client alone, and asked for again before each use: what a caller
/// may see changes with its rights. With `no-store` there would be nothing that a 304 refers to.
const CACHING: HeaderValue = HeaderValue::from_static("private, no-cache");

/// Adds the digest of the body to responses in JSON, and leaves out a body that the client has.
pub async fn tag(request: Request, next: Next) -> Response {
    if request.method() != Method::GET {
        return next.run(request).await;
    }
    let wanted = request.headers().get_all(IF_NONE_MATCH).iter().cloned().collect::<Vec<_>>();
    let response = next.run(request).await;
    if response.status() != StatusCode::OK || !is_json(response.headers()) {
        return response;
    }
    let (mut head, body) = response.into_parts();
    let body = match body.collect().await {
        Ok(body) => body.to_bytes(),
        Err(error) => {
            let message = format!("the response was not complete: {error}");
            return Problem::new(ProblemKind::Unavailable, message).into_response();
        }
    };
    let tag = format!("\"{}\"", Digest::of(&body));
    let is_known = wanted.iter().filter_map(|value| value.to_str().ok()).any(|list| names(list, &tag));
    head.headers.insert(ETAG, HeaderValue::from_str(&tag).expect("digests are hex"));
    head.headers.insert(CACHE_CONTROL, CACHING);
    if is_known {
        head.status = StatusCode::NOT_MODIFIED;
        head.headers.remove(CONTENT_TYPE);
        return Response::from_parts(head, Body::empty());
    }
    Response::from_parts(head, Body::from(body))
}

fn is_json(headers: &HeaderMap) -> bool {
    headers.get(CONTENT_TYPE).is_some_and(|kind| kind == "application/json")
}

/// Reports whether a list of tags names this one. A proxy that compresses marks tags as weak.
fn names(list: &str, tag: &str) -> bool {
    list.split(',').map(str::trim).any(|wanted| wanted == "*" || wanted.strip_prefix("W/").unwrap_or(wanted) == tag)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_names_a_tag_strong_or_weak_and_a_star_names_all() {
        for list in ["\"a\"", "\"b\", \"a\"", "W/\"a\"", "\"b\",W/\"a\"", "*"] {
            assert!(names(list, "\"a\""), "{list}");
        }
        for list in ["", "a", "\"b\"", "\"aa\"", "W/a"] {
            assert!(!names(list, "\"a\""), "{list}");
        }
    }
}
