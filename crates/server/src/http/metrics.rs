//! The metrics: those of the agent, and those of this server.
//!
//! No label has a value that a client can choose: a path is counted under the template of its route.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{MatchedPath, Request, State};
use axum::http::HeaderMap;
use axum::http::header::{ACCEPT, CONTENT_TYPE};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Extension, Router};
use prometheus_client::encoding::text::{encode_eof, encode_registry};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};
use setpoint_api::{Caller, Problem, ProblemKind};

use super::listener::Seats;
use super::{Shared, SharedState, monitor};

/// The content types of the two text formats.
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
const PLAIN: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The route of requests that no route has handled.
const NO_ROUTE: &str = "none";

/// The upper bounds of the histogram of durations, in seconds.
const BOUNDS: [f64; 10] = [0.001, 0.005, 0.01, 0.025, 0.1, 0.25, 1.0, 2.5, 10.0, 30.0];

type Labels<const N: usize> = [(&'static str, String); N];

/// The meters of the server.
#[derive(Debug)]
pub(super) struct Meters {
    requests: Family<Labels<2>, Counter>,
    durations: Family<Labels<1>, Histogram, fn() -> Histogram>,
    seats: Seats,
}

impl Meters {
    pub(super) fn new(seats: Seats) -> Self {
        let durations = Family::new_with_constructor((|| Histogram::new(BOUNDS)) as fn() -> Histogram);
        Self { requests: Family::default(), durations, seats }
    }

    /// Counts a response.
    pub(super) fn answered(&self, route: &str, status: u16, took: Duration) {
        let class = format!("{}xx", status / 100);
        self.requests.get_or_create(&[("route", route.to_owned()), ("status", class)]).inc();
        self.durations.get_or_create(&[("route", route.to_owned())]).observe(took.as_secs_f64());
    }
}

/// The template of the route that has handled a request.
#[derive(Clone, Debug)]
struct Route(MatchedPath);

/// Adds the template of its route to a response.
pub(super) async fn note_route(request: Request, next: Next) -> Response {
    let route = request.extensions().get::<MatchedPath>().cloned();
    let mut response = next.run(request).await;
    if let Some(route) = route {
        response.extensions_mut().insert(Route(route));
    }
    response
}

/// Returns the template of the route that has given a response, below the base path.
pub(super) fn route_of(response: &Response, base: &str) -> String {
    let route = response.extensions().get::<Route>().map(|route| route.0.as_str());
    route.map_or(NO_ROUTE, |route| route.strip_prefix(base).unwrap_or(route)).to_owned()
}

pub(super) fn routes() -> Router<Arc<Shared>> {
    Router::new().route("/metrics", get(metrics))
}

/// Returns all metrics, in the format that the client prefers.
async fn metrics(
    State(shared): SharedState,
    caller: Option<Extension<Caller>>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let caller = match caller {
        _ if shared.settings.open_metrics => monitor(),
        Some(Extension(caller)) => caller,
        None => {
            let message = "send a machine token that may `see` everything, or set `server.metrics: open`";
            return Err(Problem::new(ProblemKind::Unauthenticated, message));
        }
    };
    let mut text = shared.agent.metrics(&caller).await?;
    write(&shared, &mut text)
        .await
        .map_err(|error| Problem::new(ProblemKind::Unavailable, format!("the metrics cannot be written: {error}")))?;
    let accepts_open = headers
        .get_all(ACCEPT)
        .iter()
        .any(|accept| accept.to_str().is_ok_and(|accept| accept.contains("application/openmetrics-text")));
    let (kind, text) = if accepts_open { (OPEN_METRICS, text) } else { (PLAIN, plain(&text)) };
    Ok(([(CONTENT_TYPE, kind)], text).into_response())
}

/// Writes the metrics of the server, and the end of all.
async fn write(shared: &Shared, text: &mut String) -> fmt::Result {
    let mut registry = Registry::with_prefix("setpoint");
    let meters = &shared.meters;
    registry.register(
        "http_requests",
        "Requests over HTTP, by the template of their route and the class of the status",
        meters.requests.clone(),
    );
    registry.register_with_unit(
        "http_request_duration",
        "Time until the response to a request over HTTP began",
        Unit::Seconds,
        meters.durations.clone(),
    );
    let mut gauge = |name: &str, help: &str, value: usize| {
        registry.register(name, help, ConstGauge::new(i64::try_from(value).unwrap_or(i64::MAX)));
    };
    gauge("http_connections", "Open connections over HTTP", meters.seats.taken());
    gauge("http_streams", "Open responses without an end: change feeds and logs", shared.streams.count());
    // Without the accounts, the other metrics are worth all the more.
    if let Ok(sessions) = shared.accounts.open_sessions(None, shared.now()).await {
        gauge("sessions", "Open sessions of people who are signed in", sessions.len());
    }
    encode_registry(text, &registry)?;
    encode_eof(text)
}

/// Converts the format of OpenMetrics to the older one, which names counters in full, and has no
/// information metrics, units and end.
fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut kinds = std::collections::BTreeMap::new();
    for line in text.lines() {
        if let Some((name, kind)) = line.strip_prefix("# TYPE ").and_then(|rest| rest.split_once(' ')) {
            kinds.insert(name, kind);
        }
    }
    for line in text.lines() {
        let described = ["# HELP ", "# TYPE "].iter().find_map(|start| Some((*start, line.strip_prefix(start)?)));
        match described.and_then(|(start, rest)| Some((start, rest.split_once(' ')?))) {
            Some((start, (name, rest))) => {
                let suffix = match kinds.get(name) {
                    Some(&"counter") => "_total",
                    Some(&"info") => "_info",
                    _ => "",
                };
                let rest = if (start, rest) == ("# TYPE ", "info") { "gauge" } else { rest };
                plain.extend([start, name, suffix, " ", rest, "\n"]);
            }
            None if line.starts_with('#') => {}
            None => plain.extend([line, "\n"]),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_older_format_has_full_names_and_no_end() {
        let open = "# HELP a_b Help.\n# TYPE a_b counter\na_b_total 1\n# HELP c Info.\n# TYPE c info\nc_info{v=\"1\"} 1\n# HELP d_seconds D.\n# TYPE d_seconds gauge\n# UNIT d_seconds seconds\nd_seconds 2\n# EOF\n";
        let expected = "# HELP a_b_total Help.\n# TYPE a_b_total counter\na_b_total 1\n# HELP c_info Info.\n# TYPE c_info gauge\nc_info{v=\"1\"} 1\n# HELP d_seconds D.\n# TYPE d_seconds gauge\nd_seconds 2\n";
        assert_eq!(plain(open), expected);
    }

    #[test]
    fn a_response_without_a_route_has_no_path_as_its_label() {
        assert_eq!(route_of(&"x".into_response(), ""), "none");
    }
}
