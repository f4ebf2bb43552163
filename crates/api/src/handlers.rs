//! The handlers of the API: one table of routes for the socket and for TCP. The server adds the
//! [`Caller`] to the extensions of each request; a request without one is refused.

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::rejection::BytesRejection;
use axum::extract::{FromRequest, FromRequestParts, Path, Request, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::request::Parts as Head;
use axum::http::{HeaderMap, HeaderName, Method, StatusCode, Uri};
use axum::middleware::from_fn;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Extension, Router};
use futures_util::{StreamExt, stream};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use setpoint_core::canonical;
use setpoint_core::name::AppId;

use crate::agent::{Agent, Parts, Problem, ProblemKind};
use crate::answer::{
    AppDetail, AppSummary, AppTree, Change, DriftRecord, Explained, FeedEvent, HistoryChange, HistoryRecord,
    NotifyTested, Ordered, Overview, PlanAnswer, RecordProof, VersionDetail,
};
use crate::caller::Caller;
use crate::etag;
use crate::fields::Fields;
use crate::idempotency::{self, Giving, Orders};
use crate::path;
use crate::question::{
    AppsQuestion, DriftQuestion, ExplainQuestion, HistoryQuestion, LogQuestion, OrderRequest, PlanRequest,
    VersionQuestion,
};

/// The longest body of a request. Orders are a few lines.
pub const LONGEST_QUESTION: usize = 1024 * 1024;

/// The number of parts that are sent together if they are ready.
const TOGETHER: usize = 256;

/// The last event that a reader of the feed has received.
const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");

/// The OpenAPI document of these routes, as `cargo xtask openapi` writes it.
const DOCUMENT: &str = include_str!("../../../docs/openapi.json");

/// Marks a response without an end of its own: a log or the feed.
#[derive(Clone, Copy, Debug)]
pub struct Endless;

type AgentState = State<Arc<dyn Agent>>;
type Answer<T> = Result<Json<T>, Problem>;

/// Returns all routes of the API.
pub fn routes(agent: Arc<dyn Agent>) -> Router {
    Router::new()
        .route(path::OVERVIEW, get(overview))
        .route(path::APPS, get(apps))
        .route(path::APP, get(app))
        .route(path::TREE, get(tree))
        .route(path::LOGS, get(logs))
        .route(path::HISTORY, get(history))
        .route(path::PROOF, get(proof))
        .route(path::CHANGES, get(changes))
        .route(path::VERSION, get(version))
        .route(path::DRIFT, get(drift))
        .route(path::PLAN, get(plan))
        .route(path::EXPLAIN, get(explain))
        .route(path::EVENTS, get(events))
        .route(path::ORDERS, post(order).layer(Extension(Arc::new(Orders::default()))))
        .route(path::NOTIFIERS_TEST, post(test_notifiers))
        .route(path::OPENAPI, get(document))
        .method_not_allowed_fallback(wrong_method)
        .fallback(no_such_path)
        .layer(from_fn(etag::tag))
        .with_state(agent)
}

async fn overview(State(agent): AgentState, caller: Caller) -> Answer<Overview> {
    agent.overview(&caller).await.map(Json)
}

async fn apps(
    State(agent): AgentState,
    caller: Caller,
    Query(asked): Query<AppsQuestion>,
) -> Result<Response, Problem> {
    let fields = asked.fields.as_deref().map(Fields::parse::<AppSummary>).transpose()?;
    let page = agent.apps(&caller, asked).await?;
    match fields {
        None => Ok(Json(page).into_response()),
        Some(fields) => Ok(Json(fields.of(&page, "apps")?).into_response()),
    }
}

async fn app(State(agent): AgentState, caller: Caller, AppPath(app): AppPath) -> Answer<AppDetail> {
    agent.app(&caller, app).await.map(Json)
}

async fn tree(State(agent): AgentState, caller: Caller, AppPath(app): AppPath) -> Answer<AppTree> {
    agent.tree(&caller, app).await.map(Json)
}

async fn history(
    State(agent): AgentState,
    caller: Caller,
    Query(asked): Query<HistoryQuestion>,
) -> Answer<Vec<HistoryRecord>> {
    agent.history(&caller, asked).await.map(Json)
}

async fn proof(State(agent): AgentState, caller: Caller, path: PathValue<u64>) -> Answer<RecordProof> {
    agent.proof(&caller, path.0).await.map(Json)
}

async fn changes(
    State(agent): AgentState,
    caller: Caller,
    Query(asked): Query<HistoryQuestion>,
) -> Answer<Vec<HistoryChange>> {
    agent.changes(&caller, asked).await.map(Json)
}

async fn version(State(agent): AgentState, caller: Caller, path: PathValue<String>) -> Answer<VersionDetail> {
    agent.version(&caller, VersionQuestion { version: path.0 }).await.map(Json)
}

async fn drift(
    State(agent): AgentState,
    caller: Caller,
    Query(asked): Query<DriftQuestion>,
) -> Answer<Vec<DriftRecord>> {
    agent.drift(&caller, asked).await.map(Json)
}

async fn plan(State(agent): AgentState, caller: Caller, Query(asked): Query<PlanRequest>) -> Answer<PlanAnswer> {
    agent.plan(&caller, asked).await.map(Json)
}

async fn explain(State(agent): AgentState, caller: Caller, Query(asked): Query<ExplainQuestion>) -> Answer<Explained> {
    agent.explain(&caller, asked).await.map(Json)
}

/// Records an order: with an idempotency key, once.
async fn order(
    State(agent): AgentState,
    Extension(orders): Extension<Arc<Orders>>,
    caller: Caller,
    headers: HeaderMap,
    Asked(asked): Asked<OrderRequest>,
) -> Answer<Ordered> {
    let Some(key) = idempotency::key(&headers)? else { return agent.order(&caller, asked).await.map(Json) };
    let key = (caller.actor.clone(), key);
    let request = canonical::digest_of(&asked);
    let give = || -> Giving { Box::pin(async move { agent.order(&caller, asked).await }) };
    orders.once(idempotency::now(), key, request, give).await.map(Json)
}

async fn test_notifiers(State(agent): AgentState, caller: Caller) -> Answer<Vec<NotifyTested>> {
    agent.test_notifiers(&caller).await.map(Json)
}

/// Returns the OpenAPI document. Needs no caller, because it is the same for all.
async fn document() -> Response {
    ([(CONTENT_TYPE, "application/json")], DOCUMENT).into_response()
}

/// Sends one JSON value per line, for as long as the client reads.
async fn logs(State(agent): AgentState, caller: Caller, Query(asked): Query<LogQuestion>) -> Result<Response, Problem> {
    let parts = agent.logs(&caller, asked).await?;
    Ok(endless("application/x-ndjson", parts.ready_chunks(TOGETHER).map(|parts| lines(&parts)).boxed()))
}

fn lines(parts: &[impl Serialize]) -> Bytes {
    let mut text = Vec::new();
    for part in parts {
        serde_json::to_writer(&mut text, part).expect("parts are texts, and memory takes everything");
        text.push(b'\n');
    }
    text.into()
}

/// The position from which a reader of the feed continues. A browser that connects again sends the
/// header, which is newer.
#[derive(Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct EventsQuestion {
    /// The position of the last event that the reader has.
    after: Option<u64>,
}

/// Sends the change feed as server-sent events.
async fn events(
    State(agent): AgentState,
    caller: Caller,
    Query(asked): Query<EventsQuestion>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let last = headers.get(LAST_EVENT).and_then(|id| id.to_str().ok()?.parse().ok());
    let after = last.or(asked.after);
    let parts = agent.events(&caller, after).await?;
    // The first bytes tell the browser that the stream is open.
    let opened = stream::once(async { Bytes::from_static(b": open\n\n") });
    let events = parts.map(|event| Bytes::from(event_text(&event)));
    Ok(endless("text/event-stream", opened.chain(events).boxed()))
}

fn event_text(event: &FeedEvent) -> String {
    let name = match event.change {
        Change::App { .. } => "app",
        Change::Store { .. } => "store",
        Change::Target { .. } => "target",
        Change::Reload => "reload",
    };
    let data = serde_json::to_string(event).expect("an event is a number and names");
    format!("id: {}\nevent: {name}\ndata: {data}\n\n", event.seq)
}

fn endless(kind: &'static str, parts: Parts<Bytes>) -> Response {
    let body = Body::from_stream(parts.map(Ok::<_, std::convert::Infallible>));
    let mut response = ([(CONTENT_TYPE, kind), (CACHE_CONTROL, "no-store")], body).into_response();
    response.extensions_mut().insert(Endless);
    response
}

async fn wrong_method(method: Method, uri: Uri) -> Problem {
    Problem::new(ProblemKind::Method, format!("{} does not have the method {method}", uri.path()))
}

async fn no_such_path(uri: Uri) -> Problem {
    let message =
        format!("{} does not exist; all routes begin with /api/v1, for example {}", uri.path(), path::OVERVIEW);
    Problem::new(ProblemKind::Missing, message)
}

impl<S: Sync> FromRequestParts<S> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(head: &mut Head, _: &S) -> Result<Self, Problem> {
        let problem = || Problem::new(ProblemKind::Unauthenticated, "sign in first, or send a token");
        head.extensions.get().cloned().ok_or_else(problem)
    }
}

/// The parameters of a query.
struct Query<T>(T);

impl<T: DeserializeOwned, S: Sync> FromRequestParts<S> for Query<T> {
    type Rejection = Problem;

    async fn from_request_parts(head: &mut Head, _: &S) -> Result<Self, Problem> {
        let query = head.uri.query().unwrap_or_default();
        serde_urlencoded::from_str(query).map(Self).map_err(|error| unparsed(&error))
    }
}

fn unparsed(error: &dyn std::error::Error) -> Problem {
    Problem::new(ProblemKind::Question, format!("cannot parse the request: {error}"))
}

/// The JSON body of a request.
struct Asked<T>(T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Asked<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let body = Bytes::from_request(request, state).await.map_err(|rejection| match rejection {
            BytesRejection::FailedToBufferBody(error) if error.status() == StatusCode::PAYLOAD_TOO_LARGE => too_long(),
            other => Problem::new(ProblemKind::Question, format!("the request did not arrive: {other}")),
        })?;
        serde_json::from_slice(&body).map(Self).map_err(|error| unparsed(&error))
    }
}

pub(crate) fn too_long() -> Problem {
    Problem::new(ProblemKind::TooLong, format!("the request is longer than {LONGEST_QUESTION} bytes"))
}

/// The app in the path of a request.
struct AppPath(AppId);

impl<S: Send + Sync> FromRequestParts<S> for AppPath {
    type Rejection = Problem;

    async fn from_request_parts(head: &mut Head, state: &S) -> Result<Self, Problem> {
        let wrong = |message: String| Problem::new(ProblemKind::Question, message);
        let path = Path::<(String, String)>::from_request_parts(head, state).await;
        let Path((scope, app)) = path.map_err(|error| wrong(error.to_string()))?;
        format!("{scope}/{app}").parse().map(Self).map_err(|bad: setpoint_core::name::BadName| wrong(bad.to_string()))
    }
}

/// The only value in the path of a request.
struct PathValue<T>(T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for PathValue<T> {
    type Rejection = Problem;

    async fn from_request_parts(head: &mut Head, state: &S) -> Result<Self, Problem> {
        let path = Path::<T>::from_request_parts(head, state).await;
        path.map(|Path(value)| Self(value)).map_err(|error| Problem::new(ProblemKind::Question, error.to_string()))
    }
}

/// A JSON response.
struct Json<T>(T);

impl<T: Serialize> IntoResponse for Json<T> {
    fn into_response(self) -> Response {
        match serde_json::to_vec(&self.0) {
            Ok(body) => ([(CONTENT_TYPE, "application/json")], body).into_response(),
            Err(error) => {
                let message = format!("the response cannot be written as JSON: {error}");
                Problem::new(ProblemKind::Unavailable, message).into_response()
            }
        }
    }
}

impl ProblemKind {
    pub fn status(self) -> StatusCode {
        match self {
            Self::Question => StatusCode::BAD_REQUEST,
            Self::Unauthenticated => StatusCode::UNAUTHORIZED,
            Self::Forbidden => StatusCode::FORBIDDEN,
            Self::Missing => StatusCode::NOT_FOUND,
            Self::Method => StatusCode::METHOD_NOT_ALLOWED,
            Self::Conflict => StatusCode::CONFLICT,
            Self::TooLong => StatusCode::PAYLOAD_TOO_LARGE,
            Self::KeyReused => StatusCode::UNPROCESSABLE_ENTITY,
            Self::TooMany => StatusCode::TOO_MANY_REQUESTS,
            Self::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        }
    }
}

/// The form of RFC 9457. Problems have no pages of their own, so their type is `about:blank` and
/// the title is that of the status.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ProblemDetails<'a> {
    title: &'static str,
    status: u16,
    #[serde(flatten)]
    problem: &'a Problem,
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = self.kind.status();
        let title = status.canonical_reason().unwrap_or_default();
        let details = ProblemDetails { title, status: status.as_u16(), problem: &self };
        let body = serde_json::to_vec(&details).expect("a problem is words and a number");
        (status, [(CONTENT_TYPE, "application/problem+json")], body).into_response()
    }
}
