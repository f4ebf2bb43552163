//! The pages that show something.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{Path, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use futures_util::StreamExt;
use setpoint_api::answer::{AppPlan, AppSummary, Fleet, HistoryRecord, LogPart, RecordProof};
use setpoint_api::question::{
    DriftQuestion, ExplainQuestion, HistoryQuestion, LogQuestion, ObjectName, PlanRequest, VersionQuestion,
};
use setpoint_api::rights::{Subject, Verb};
use setpoint_api::{Caller, Problem, ProblemKind};
use setpoint_core::name::AppId;
use tokio::time::timeout;

use super::visit::Visit;
use super::{Shared, SharedState, redirect};
use crate::assets;
use crate::pages::app::{self, AppView, Order, Tab};
use crate::pages::audit::{self, AuditView};
use crate::pages::changes::{self, ChangesView};
use crate::pages::drift::{self, DriftView};
use crate::pages::fleet::{self, FleetQuery, FleetView};
use crate::pages::record;
use crate::pages::stores::{self, StoresView};
use crate::pages::targets::{self, TargetsView};
use crate::pages::version;
use crate::pages::{Chrome, Part, Section, alerts};

/// The number of rows of a page of changes or records.
const ROWS: usize = 100;

/// The number of records that one search of the audit page reads.
const SEARCHED: usize = 20_000;

/// The number of drifts that the page of drift counts.
const DRIFTS: usize = 1_000;

/// The number of lines from the end of each container's log, and of all of them.
const LOG_TAIL: u64 = 200;
const LOG_LINES: usize = 2_000;

/// The time limit for the lines of a page.
const LOG_TIME: Duration = Duration::from_secs(5);

pub(super) fn routes() -> Router<Arc<Shared>> {
    Router::new()
        .route("/", get(home))
        .route("/apps", get(fleet))
        .route("/apps/{scope}/{app}", get(app))
        .route("/changes", get(changes))
        .route("/versions/{version}", get(version))
        .route("/drift", get(drift))
        .route("/stores", get(stores))
        .route("/targets", get(targets))
        .route("/audit", get(audit))
        .route("/audit/{seq}", get(record))
        .route("/audit/{seq}/proof", get(proof))
}

/// Returns the routes of the embedded files. Their paths contain their digest, so browsers keep
/// them.
pub(super) fn assets() -> Router {
    Router::new().route("/assets/{name}", get(asset))
}

async fn asset(Path(name): Path<String>) -> Response {
    match assets::asset(&format!("/assets/{name}")) {
        Some(asset) => {
            let headers = [(CONTENT_TYPE, asset.content_type), (CACHE_CONTROL, "public, max-age=31536000, immutable")];
            (headers, asset.bytes).into_response()
        }
        None => Problem::new(ProblemKind::Missing, "there is no such file").into_response(),
    }
}

async fn home(State(shared): SharedState) -> Response {
    redirect(&format!("{}/apps", shared.base()))
}

/// Renders a page, or the problem that prevents it.
fn shown(shared: &Shared, visit: &Visit, page: Result<String, Problem>) -> Response {
    match page {
        Ok(page) => Html(page).into_response(),
        Err(problem) => visit.problem(shared, &problem),
    }
}

async fn fleet(State(shared): SharedState, visit: Visit) -> Response {
    let page = shared.agent.fleet(&visit.caller).await.map(|Fleet { overview, apps }| {
        let apps = apps.iter().map(|app| &**app);
        let view = FleetView::new(apps, FleetQuery::parse(&visit.query), overview.now);
        let view = view.with_alerts(alerts::of(&overview));
        let chrome = visit.chrome(&shared, "Apps", Section::Apps);
        fleet::page(&Chrome { position: overview.position, ..chrome }, &view)
    });
    shown(&shared, &visit, page)
}

/// Parses the app in a path. A text that no app can have names no app.
pub(super) fn app_of((scope, app): &(String, String)) -> Result<AppId, Problem> {
    let unknown = |_| Problem::new(ProblemKind::Missing, format!("there is no app {scope}/{app}"));
    format!("{scope}/{app}").parse().map_err(unknown)
}

async fn app(State(shared): SharedState, visit: Visit, Path(path): Path<(String, String)>) -> Response {
    let page = app_page(&shared, &visit, &path).await;
    shown(&shared, &visit, page)
}

async fn app_page(shared: &Shared, visit: &Visit, path: &(String, String)) -> Result<String, Problem> {
    let (app, caller, agent) = (app_of(path)?, &visit.caller, &shared.agent);
    let tab = visit.parameter("tab").and_then(|name| Tab::of_name(&name)).unwrap_or_default();
    let detail = agent.app(caller, app.clone()).await?;
    let mut view = AppView::new(detail, tab);
    view.orders = permitted(caller, &view.detail.summary);
    view.reads_logs = allows(caller, Verb::Logs, &view.detail.summary);
    let history = HistoryQuestion { app: Some(app.clone()), limit: ROWS, before: None };
    match tab {
        Tab::Overview => {
            view.tree = part(agent.tree(caller, app.clone()).await);
            view.changes = part(agent.changes(caller, HistoryQuestion { limit: 10, ..history }).await);
        }
        Tab::Tree => view.tree = part(agent.tree(caller, app).await),
        Tab::History => view.changes = part(agent.changes(caller, history).await),
        Tab::Drift => {
            view.drift = part(agent.drift(caller, DriftQuestion { app: Some(app), limit: ROWS }).await);
        }
        Tab::Plan => view.plan = plan(shared, caller, &app).await,
        Tab::Logs => view.logs = logs(shared, caller, &app).await,
        Tab::Diff => {
            if let (Some(kind), Some(name)) = (visit.parameter("kind"), visit.parameter("name")) {
                let object = ObjectName { kind, name };
                let namespace = visit.parameter("namespace").filter(|namespace| !namespace.is_empty());
                let question = ExplainQuestion { app, object, namespace, field: String::new(), rev: None };
                view.explained = part(agent.explain(caller, question).await);
            }
        }
    }
    let title = view.detail.summary.app.to_string();
    let chrome = visit.chrome(shared, &title, Section::Apps);
    Ok(app::page(&Chrome { position: view.detail.position, ..chrome }, &view))
}

/// Returns the plan of an app.
pub(super) async fn plan(shared: &Shared, caller: &Caller, app: &AppId) -> Part<AppPlan> {
    let plans = shared.agent.plan(caller, PlanRequest { app: Some(app.clone()), rev: None }).await;
    match plans.map(|answer| answer.apps.into_iter().next()) {
        Ok(Some(plan)) => Part::Ready(plan),
        Ok(None) => Part::Absent,
        Err(problem) => Part::Failed(problem.message),
    }
}

fn part<T>(answer: Result<T, Problem>) -> Part<T> {
    match answer {
        Ok(value) => Part::Ready(value),
        Err(problem) => Part::Failed(problem.message),
    }
}

/// Returns the last lines of the logs of an app, as far as they arrive in time.
async fn logs(shared: &Shared, caller: &Caller, app: &AppId) -> Part<Vec<LogPart>> {
    let question = LogQuestion {
        app: app.clone(),
        object: None,
        follow: false,
        since: None,
        tail: Some(LOG_TAIL),
        container: None,
        previous: false,
    };
    let mut parts = match shared.agent.logs(caller, question).await {
        Ok(parts) => parts,
        Err(problem) => return Part::Failed(problem.message),
    };
    let mut read = Vec::new();
    let reading = async {
        while let Some(part) = parts.next().await {
            read.push(part);
            if read.len() == LOG_LINES {
                break;
            }
        }
    };
    if timeout(LOG_TIME, reading).await.is_err() {
        read.push(LogPart::Note { text: "some logs have not arrived in time: reload the page".to_owned() });
    }
    Part::Ready(read)
}

/// Returns the orders that a caller may give to an app. The agent checks again when one is given.
pub(super) fn permitted(caller: &Caller, app: &AppSummary) -> Vec<Order> {
    let verb = |order: Order| match order {
        Order::Sync => Verb::Sync,
        Order::Suspend | Order::Resume => Verb::Suspend,
        Order::Hold => Verb::Hold,
        Order::Release => Verb::Release,
    };
    Order::ALL.into_iter().filter(|order| allows(caller, verb(*order), app)).collect()
}

fn allows(caller: &Caller, verb: Verb, app: &AppSummary) -> bool {
    caller.rights.allow(verb, &Subject::from(app))
}

/// Returns the question of a page of the history, with one row more than it shows.
fn page_of(visit: &Visit) -> Result<HistoryQuestion, Problem> {
    let before = visit.parameter("before").and_then(|before| before.parse().ok());
    let app = visit
        .parameter("app")
        .filter(|app| !app.is_empty())
        .map(|app| app.parse().map_err(|_| Problem::new(ProblemKind::Missing, format!("there is no app {app}"))));
    Ok(HistoryQuestion { app: app.transpose()?, limit: ROWS + 1, before })
}

async fn changes(State(shared): SharedState, visit: Visit) -> Response {
    let page = async {
        let question = page_of(&visit)?;
        let (app, is_older) = (question.app.clone(), question.before.is_some());
        let mut changes = shared.agent.changes(&visit.caller, question).await?;
        let has_more = changes.len() > ROWS;
        changes.truncate(ROWS);
        let app = app.map(|app| app.to_string()).unwrap_or_default();
        let view = ChangesView { changes, versions: Vec::new(), app, is_older, has_more };
        Ok(changes::page(&visit.chrome(&shared, "Changes", Section::Changes), &view))
    };
    let page = page.await;
    shown(&shared, &visit, page)
}

async fn version(State(shared): SharedState, visit: Visit, Path(version): Path<String>) -> Response {
    let detail = shared.agent.version(&visit.caller, VersionQuestion { version }).await;
    let page = detail.map(|detail| {
        let chrome = visit.chrome(&shared, version::title(&detail), Section::Changes);
        version::page(&Chrome { position: detail.position, ..chrome }, &detail)
    });
    shown(&shared, &visit, page)
}

async fn drift(State(shared): SharedState, visit: Visit) -> Response {
    let page = async {
        let app = page_of(&visit)?.app;
        let question = DriftQuestion { app: app.clone(), limit: DRIFTS };
        let records = shared.agent.drift(&visit.caller, question).await?;
        let app = app.map(|app| app.to_string()).unwrap_or_default();
        let view = DriftView { records, writer: visit.parameter("writer").unwrap_or_default(), app };
        Ok(drift::page(&visit.chrome(&shared, "Drift", Section::Drift), &view))
    };
    let page = page.await;
    shown(&shared, &visit, page)
}

async fn stores(State(shared): SharedState, visit: Visit) -> Response {
    let page = shared.agent.fleet(&visit.caller).await.map(|Fleet { overview, .. }| {
        let chrome = visit.chrome(&shared, "Stores", Section::Stores);
        let view = StoresView { stores: overview.stores };
        stores::page(&Chrome { position: overview.position, ..chrome }, &view)
    });
    shown(&shared, &visit, page)
}

async fn targets(State(shared): SharedState, visit: Visit) -> Response {
    let page = shared.agent.fleet(&visit.caller).await.map(|Fleet { overview, .. }| {
        let chrome = visit.chrome(&shared, "Targets", Section::Targets);
        targets::page(&Chrome { position: overview.position, ..chrome }, &TargetsView::of(&overview))
    });
    shown(&shared, &visit, page)
}

/// Returns the record of a path with its proof.
async fn proven(shared: &Shared, visit: &Visit, seq: &str) -> Result<RecordProof, Problem> {
    let unknown = || Problem::new(ProblemKind::Missing, format!("there is no record {seq}"));
    let seq: u64 = seq.parse().map_err(|_| unknown())?;
    shared.agent.proof(&visit.caller, seq).await
}

async fn record(State(shared): SharedState, visit: Visit, Path(seq): Path<String>) -> Response {
    let page = proven(&shared, &visit, &seq).await.map(|proof| {
        let chrome = visit.chrome(&shared, &format!("Record {}", proof.seq), Section::Audit);
        // A record never changes.
        record::page(&Chrome { live: false, ..chrome }, &proof)
    });
    shown(&shared, &visit, page)
}

/// Sends the proof of a record as a file.
async fn proof(State(shared): SharedState, visit: Visit, Path(seq): Path<String>) -> Response {
    match proven(&shared, &visit, &seq).await {
        Ok(proof) => {
            let disposition = format!("attachment; filename=\"record-{}.txt\"", proof.seq);
            let headers = [(CONTENT_TYPE, "text/plain; charset=utf-8".to_owned()), (CONTENT_DISPOSITION, disposition)];
            (headers, record::text(&proof)).into_response()
        }
        Err(problem) => visit.problem(&shared, &problem),
    }
}

/// Returns the newest records that contain all words of a search, and whether there are more.
async fn searched(
    shared: &Shared,
    visit: &Visit,
    mut question: HistoryQuestion,
    text: &str,
) -> Result<(Vec<HistoryRecord>, bool), Problem> {
    let words: Vec<String> = text.split_whitespace().map(str::to_lowercase).collect();
    let matches = |record: &HistoryRecord| {
        let all = format!("{} {} {} {}", record.kind, record.subject, record.actor, record.text).to_lowercase();
        words.iter().all(|word| all.contains(word.as_str()))
    };
    question.limit = if words.is_empty() { ROWS + 1 } else { SEARCHED };
    let records = shared.agent.history(&visit.caller, question.clone()).await?;
    let is_full = records.len() == question.limit;
    let mut found: Vec<HistoryRecord> = records.into_iter().filter(|record| matches(record)).collect();
    let has_more = found.len() > ROWS || is_full && !found.is_empty();
    found.truncate(ROWS);
    Ok((found, has_more))
}

async fn audit(State(shared): SharedState, visit: Visit) -> Response {
    let page = async {
        let question = page_of(&visit)?;
        let is_older = question.before.is_some();
        let text = visit.parameter("q").unwrap_or_default();
        let (records, has_more) = searched(&shared, &visit, question, &text).await?;
        let view = AuditView { records, text, is_older, has_more, ..AuditView::default() };
        Ok(audit::page(&visit.chrome(&shared, "Audit", Section::Audit), &view))
    };
    let page = page.await;
    shown(&shared, &visit, page)
}
