//! The HTTP server: web pages and the API over TCP, with or without TLS.
//!
//! Reading order: [`Settings`] and [`Installation`] (the configuration, and the connection to the
//! rest of the process), `listener` (connections and their limits), `tls`, `client` (the address of
//! a request behind proxies), `request_id`, `identity` (the session or token of a request, and its
//! protection against forgery), `headers`, `streams` (responses without an end), `visit` (what all
//! pages need), `pages`, `forms`, `providers`, `orders`, `access`, `session`, `metrics` and `webhooks`
//! (the routes).

mod access;
mod client;
mod forms;
mod headers;
mod identity;
mod listener;
mod metrics;
mod notices;
mod orders;
mod pages;
mod providers;
mod request_id;
mod session;
mod streams;
mod tls;
mod visit;
mod webhooks;

use std::collections::BTreeSet;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::Request;
use axum::http::StatusCode;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Router, http};
use setpoint_accounts::Accounts;
use setpoint_api::agent::Agent;
use setpoint_api::{Caller, Principal, Problem, ProblemKind, Rights, etag, handlers};
use setpoint_core::name::{Actor, Scope};
use setpoint_core::time::Timestamp;
use setpoint_oidc::Providers;

pub use listener::{BindError, HttpServer};
pub use webhooks::{Push, Sender, WebhookSettings};

/// The settings of the server, from the Bootstrap document.
#[derive(Clone, Debug)]
pub struct Settings {
    pub listen: SocketAddr,
    pub tls: Option<TlsFiles>,
    /// The URL at which people reach the server, without a slash at its end.
    pub url: String,
    /// The addresses of proxies whose `X-Forwarded-For` header is believed.
    pub trusted_proxies: BTreeSet<IpAddr>,
    pub webhooks: Vec<WebhookSettings>,
    /// Set if everyone who can reach the server may read the metrics.
    pub open_metrics: bool,
}

impl Settings {
    /// Returns the scheme and the host of the URL, as browsers send them.
    pub fn origin(&self) -> &str {
        let scheme = self.url.find("://").map_or(0, |end| end + "://".len());
        let end = self.url[scheme..].find('/').map_or(self.url.len(), |end| scheme + end);
        &self.url[..end]
    }

    /// Returns the path of the URL: it precedes every path of the server, and is usually empty.
    pub fn base(&self) -> &str {
        let rest = self.url.split_once("://").map_or("", |(_, rest)| rest);
        rest.find('/').map_or("", |start| rest[start..].trim_end_matches('/'))
    }
}

/// The files of a certificate. They are read again when they change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// The certificate and its chain, as PEM.
    pub certificate: PathBuf,
    /// Its private key, as PEM.
    pub key: PathBuf,
}

/// The connection of the server to the rest of the process.
pub trait Installation: fmt::Debug + Send + Sync {
    fn now(&self) -> Timestamp;

    /// Returns the time since the process began, to measure with.
    fn uptime(&self) -> Duration;

    /// Returns the rights that the accepted documents grant.
    fn rights_of(&self, principal: &Principal) -> Rights;

    /// Polls the stores that follow a repository: those of a scope, or all.
    fn pushed(&self, scope: Option<&Scope>, push: &Push);

    /// Logs a problem of the server.
    fn warn(&self, problem: &str);

    /// Records that a person whom a provider sent back was not signed in.
    fn record_refusal(&self, provider: &str, reason: &str);

    /// Logs a request that was answered.
    fn answered(&self, request: &Answered<'_>);
}

/// A request that was answered.
#[derive(Clone, Copy, Debug)]
pub struct Answered<'a> {
    /// The identifier of the request, which its response contains.
    pub id: &'a str,
    pub method: &'a str,
    /// The template of its path, such as `/apps/{scope}/{app}`.
    pub route: &'a str,
    pub status: u16,
    /// The time until the response began.
    pub took: Duration,
}

/// The parts that handlers share.
#[derive(Debug)]
struct Shared {
    settings: Settings,
    agent: Arc<dyn Agent>,
    accounts: Arc<Accounts>,
    providers: Providers,
    installation: Arc<dyn Installation>,
    streams: streams::Streams,
    notices: notices::Notices,
    webhooks: Vec<webhooks::Webhook>,
    meters: metrics::Meters,
}

impl Shared {
    fn now(&self) -> Timestamp {
        self.installation.now()
    }

    fn base(&self) -> &str {
        self.settings.base()
    }
}

type SharedState = axum::extract::State<Arc<Shared>>;

/// Returns all routes, below the base path.
fn routes(shared: &Arc<Shared>) -> Router {
    let api = handlers::routes(Arc::clone(&shared.agent)).layer(from_fn(metrics::note_route));
    let pages = pages::routes()
        .merge(forms::routes())
        .merge(providers::routes())
        .merge(session::routes().layer(from_fn(etag::tag)))
        .merge(orders::routes())
        .merge(access::routes())
        .merge(metrics::routes());
    let pages = pages.with_state(Arc::clone(shared)).layer(from_fn(metrics::note_route));
    let known = pages
        .fallback_service(api)
        .layer(from_fn_with_state(Arc::clone(shared), streams::limit))
        .layer(from_fn_with_state(Arc::clone(shared), identity::identify));
    // Monitors have no account, and Git hosts sign their requests.
    let open = Router::new()
        .route("/healthz", get(healthy))
        .route("/readyz", get(ready))
        .merge(webhooks::routes())
        .with_state(Arc::clone(shared))
        .merge(pages::assets())
        .layer(from_fn(metrics::note_route));
    let all = open.fallback_service(known).layer(from_fn(headers::secure));
    match shared.base() {
        "" => all,
        base => Router::new().nest_service(base, all).fallback(outside),
    }
}

async fn outside(request: Request) -> Problem {
    let message = format!("{} is outside of the path of this server", request.uri().path());
    Problem::new(ProblemKind::Missing, message)
}

async fn healthy() -> &'static str {
    "ok\n"
}

/// Reports whether the agent can act: it holds its ledger, and has tried to read its stores.
async fn ready(axum::extract::State(shared): SharedState) -> Response {
    match shared.agent.readiness(&monitor()).await.map(|readiness| readiness.missing()) {
        Ok(None) => "ready\n".into_response(),
        Ok(Some(missing)) => (StatusCode::SERVICE_UNAVAILABLE, format!("{missing}\n")).into_response(),
        Err(problem) => (problem.kind.status(), "not ready\n").into_response(),
    }
}

/// Returns the caller of requests that need no account.
fn monitor() -> Caller {
    Caller::local(Actor::new("system:monitor").expect("a plain name"))
}

/// Returns a redirect that the browser follows with GET.
fn redirect(to: &str) -> Response {
    (StatusCode::SEE_OTHER, [(http::header::LOCATION, to.to_owned())]).into_response()
}
