//! Handles one request: finds its route, parses its body, calls the agent and returns the response.

use std::convert::Infallible;

use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::{Request, Response, StatusCode};
use serde::Serialize;
use serde::de::DeserializeOwned;
use setpoint_core::name::Actor;
use tokio::time::timeout;

use super::ARRIVAL;
use super::parts::{Body, Streams};
use super::seats::Progress;
use crate::agent::{Agent, Problem, ProblemKind};
use crate::route::Route;

/// The longest request body. Orders are a few lines.
const LONGEST_QUESTION: usize = 1024 * 1024;

pub(super) async fn handle(
    request: Request<Incoming>,
    peer: Result<&Actor, &Problem>,
    agent: &dyn Agent,
    (streams, progress): (&Streams, &Progress),
) -> Result<Response<Body>, Infallible> {
    let answered = match peer {
        Ok(by) => answer(request, by, agent, (streams, progress)).await,
        Err(problem) => Err(problem.clone()),
    };
    // A response in parts is served for as long as the client reads it.
    if !answered.as_ref().is_ok_and(|(_, comes)| *comes == Comes::InParts) {
        progress.answered();
    }
    Ok(match answered {
        Ok((body, _)) => response(StatusCode::OK, body),
        Err(problem) => {
            let body = serde_json::to_vec(&problem).expect("a problem is a word and a text");
            response(status(problem.kind), whole(body))
        }
    })
}

/// How a response reaches the client.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Comes {
    Whole,
    InParts,
}

async fn answer(
    request: Request<Incoming>,
    by: &Actor,
    agent: &dyn Agent,
    (streams, progress): (&Streams, &Progress),
) -> Result<(Body, Comes), Problem> {
    let route = Route::of(request.method(), request.uri().path())?;
    if !route.has_question() {
        progress.heard();
    }
    let body = match route {
        Route::Logs => {
            let parts = agent.logs(question(request, progress).await?).await?;
            return Ok((streams.body(parts)?, Comes::InParts));
        }
        Route::Overview => written(&agent.overview().await?),
        Route::App(app) => written(&agent.app(app).await?),
        Route::Tree(app) => written(&agent.tree(app).await?),
        Route::History => written(&agent.history(question(request, progress).await?).await?),
        Route::Changes => written(&agent.changes(question(request, progress).await?).await?),
        Route::Drift => written(&agent.drift(question(request, progress).await?).await?),
        Route::Plan => written(&agent.plan(question(request, progress).await?).await?),
        Route::Explain => written(&agent.explain(question(request, progress).await?).await?),
        Route::Order => written(&agent.order(by.clone(), question(request, progress).await?).await?),
        Route::TestNotifiers => written(&agent.test_notifiers(by.clone()).await?),
    };
    Ok((body?, Comes::Whole))
}

/// Reads the whole body within its limits and parses it as the request of the route.
async fn question<T: DeserializeOwned>(request: Request<Incoming>, progress: &Progress) -> Result<T, Problem> {
    let wrong = |message: String| Problem::new(ProblemKind::Question, message);
    let body = Limited::new(request.into_body(), LONGEST_QUESTION).collect();
    let body = timeout(ARRIVAL, body)
        .await
        .map_err(|_| wrong(format!("the request did not arrive in full within {} s", ARRIVAL.as_secs())))?
        .map_err(|error| match error.downcast_ref::<LengthLimitError>() {
            Some(_) => wrong(format!("the request is longer than {LONGEST_QUESTION} bytes")),
            None => wrong(format!("the request did not arrive: {error}")),
        })?
        .to_bytes();
    progress.heard();
    serde_json::from_slice(&body).map_err(|error| wrong(format!("cannot parse the request: {error}")))
}

fn written(answer: &impl Serialize) -> Result<Body, Problem> {
    serde_json::to_vec(answer).map(whole).map_err(|error| {
        Problem::new(ProblemKind::Unavailable, format!("the response cannot be written as JSON: {error}"))
    })
}

fn status(kind: ProblemKind) -> StatusCode {
    match kind {
        ProblemKind::Question => StatusCode::BAD_REQUEST,
        ProblemKind::Forbidden => StatusCode::FORBIDDEN,
        ProblemKind::Missing => StatusCode::NOT_FOUND,
        ProblemKind::Conflict => StatusCode::CONFLICT,
        ProblemKind::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
    }
}

fn whole(body: Vec<u8>) -> Body {
    Full::new(Bytes::from(body)).boxed_unsync()
}

fn response(status: StatusCode, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
