//! Handles one request: reads its body, adds the caller, and passes it to the routes.

use std::convert::Infallible;

use axum::Router;
use axum::body::Body;
use axum::http::{Request, Response};
use axum::response::IntoResponse;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::{Bytes, Incoming};
use tokio::time::timeout;
use tower_service::Service;

use super::ARRIVAL;
use super::parts::Streams;
use super::seats::Progress;
use crate::agent::{Problem, ProblemKind};
use crate::caller::Caller;
use crate::handlers::{Endless, LONGEST_QUESTION, too_long};

pub(super) async fn handle(
    request: Request<Incoming>,
    peer: Result<&Caller, &Problem>,
    routes: Router,
    (streams, progress): (&Streams, &Progress),
) -> Result<Response<Body>, Infallible> {
    let response = match peer {
        Ok(caller) => respond(request, caller, routes, progress).await,
        Err(problem) => Err(problem.clone()),
    };
    let response = response.and_then(|response| match response.extensions().get::<Endless>() {
        Some(_) => streams.limit(response),
        None => Ok(response),
    });
    let response = response.unwrap_or_else(IntoResponse::into_response);
    // A response without an end is served for as long as the client reads it.
    if response.extensions().get::<Endless>().is_none() {
        progress.answered();
    }
    Ok(response)
}

async fn respond(
    request: Request<Incoming>,
    caller: &Caller,
    mut routes: Router,
    progress: &Progress,
) -> Result<Response<Body>, Problem> {
    let (head, body) = request.into_parts();
    let body = arrived(body).await?;
    progress.heard();
    let mut request = Request::from_parts(head, Body::from(body));
    request.extensions_mut().insert(caller.clone());
    match routes.call(request).await {
        Ok(response) => Ok(response),
        Err(never) => match never {},
    }
}

/// Reads the whole body within its limits.
async fn arrived(body: Incoming) -> Result<Bytes, Problem> {
    let wrong = |message: String| Problem::new(ProblemKind::Question, message);
    let body = timeout(ARRIVAL, Limited::new(body, LONGEST_QUESTION).collect()).await;
    let body = body.map_err(|_| wrong(format!("the request did not arrive in full within {} s", ARRIVAL.as_secs())))?;
    let body = body.map_err(|error| match error.downcast_ref::<LengthLimitError>() {
        Some(_) => too_long(),
        None => wrong(format!("the request did not arrive: {error}")),
    })?;
    Ok(body.to_bytes())
}
