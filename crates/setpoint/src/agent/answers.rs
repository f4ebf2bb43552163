//! Serves the requests of the API from the machine, the ledger and the stores.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use setpoint_api::agent::{Parts, Reply};
use setpoint_api::answer::{
    AppDetail, AppTree, AppsPage, DriftRecord, Explained, FeedEvent, Fleet, HistoryChange, HistoryRecord,
    LedgerStanding, LogPart, NotifyTested, Ordered, Overview, PlanAnswer, Readiness, RecordProof, ResourceLine,
    VersionDetail, VersionNote,
};
use setpoint_api::question::{
    AppsQuestion, DriftQuestion, ExplainQuestion, HistoryQuestion, LogQuestion, OrderRequest, PlanRequest,
    VersionQuestion,
};
use setpoint_api::{Agent, Caller, Problem, ProblemKind, Verb, selection};
use setpoint_core::facts::AppFacts;
use setpoint_core::name::AppId;
use setpoint_core::version::Revision;
use setpoint_documents::nearest;
use setpoint_engine::machine::AppStatus;
use setpoint_ledger::{Ledger, LedgerError, Origin};
use tokio::time::timeout;

use super::feed::{Feed, Viewer};
use super::fleet::FleetCache;
use super::messages::Messages;
use super::metrics::Measured;
use super::rights::View;
use super::sources::Provider;
use super::summary::{hold_of, refused_of, summary};
use super::{OpenNow, changes, history};
use crate::doors::Clock;
use crate::interpreter::{AppNow, Ended, Handle};
use crate::metrics::Meters;

/// Longer than opening a ledger takes.
const OPENING: Duration = Duration::from_secs(2);

/// The longest message of a version that is shown, in characters.
const LONGEST_MESSAGE: usize = 4_000;

#[derive(Debug)]
pub(super) struct Answers {
    pub(super) clock: Clock,
    pub(super) origin: Origin,
    pub(super) handle: Arc<Handle>,
    pub(super) provider: Arc<Provider>,
    messages: Arc<Messages>,
    pub(super) open_now: OpenNow,
    pub(super) last_order: AtomicU64,
    pub(super) feed: Arc<Feed>,
    pub(super) fleet: FleetCache,
    /// Set once all stores were read or have failed.
    stores_tried: AtomicBool,
    pub(super) measured: Measured,
}

impl Answers {
    pub(super) fn new(
        clock: Clock,
        origin: Origin,
        handle: Arc<Handle>,
        provider: Arc<Provider>,
        messages: Arc<Messages>,
        open_now: OpenNow,
        meters: Arc<Meters>,
    ) -> Self {
        let feed = Feed::new(clock.now());
        Self {
            clock,
            origin,
            handle,
            provider,
            messages,
            open_now,
            last_order: AtomicU64::new(0),
            feed,
            fleet: FleetCache::default(),
            stores_tried: AtomicBool::new(false),
            measured: Measured::new(meters),
        }
    }

    /// Returns the ledger for reading. A failed one is opened again every few seconds, so this
    /// waits for that.
    pub(super) async fn ledger(&self, view: &View) -> Result<Arc<dyn Ledger>, Problem> {
        let mut opened = self.open_now.subscribe();
        let open = timeout(OPENING, opened.wait_for(Option::is_some)).await;
        let open = open.ok().and_then(Result::ok).and_then(|open| open.clone());
        open.ok_or_else(|| {
            let trouble = self.trouble(view).unwrap_or_else(|| "it is being opened".to_owned());
            Problem::new(ProblemKind::Unavailable, format!("the ledger is not open: {trouble}"))
        })
    }

    /// Returns the last error of the ledger. It may name files, records and apps, so only callers
    /// that may see everything read it in full.
    fn trouble(&self, view: &View) -> Option<String> {
        let trouble = self.handle.trouble()?;
        Some(if view.sees_all() { trouble } else { "its operators can see the reason".to_owned() })
    }

    /// Returns the status of an app that the caller may see.
    pub(super) async fn status(&self, app: &AppId, view: &View) -> Result<AppStatus, Problem> {
        let status = self.handle.status(app).await.map_err(ended)?;
        match status.filter(|_| view.sees(app)) {
            Some(status) => Ok(status),
            None => Err(self.no_such_app(app, view).await),
        }
    }

    pub(super) async fn no_such_app(&self, app: &AppId, view: &View) -> Problem {
        let known = match self.handle.app_names().await {
            // An app that is not loaded may still exist.
            Ok(None) => return self.not_now(&format!("the state of {app} is not known"), view),
            Ok(Some(known)) => known,
            Err(ended) => return self::ended(ended),
        };
        let known: Vec<String> = known.iter().filter(|app| view.sees(app)).map(ToString::to_string).collect();
        let hint = match nearest(&app.to_string(), known.iter().map(String::as_str)) {
            Some(near) => format!("did you mean {near}?"),
            None => "`setpoint status` lists all apps".to_owned(),
        };
        Problem::new(ProblemKind::Missing, format!("there is no app {app}; {hint}"))
    }

    /// Returns what was found in the ledger. Nothing found about an app that neither exists nor has
    /// a record is a problem: its name is probably misspelled.
    async fn or_unknown<T>(
        &self,
        found: Result<Vec<T>, LedgerError>,
        app: Option<AppId>,
        (ledger, view): (&dyn Ledger, &View),
    ) -> Result<Vec<T>, Problem> {
        let found = found.map_err(|error| unread(&error))?;
        let Some(app) = app.filter(|_| found.is_empty()) else { return Ok(found) };
        // The history of a forgotten app stays.
        let any = HistoryQuestion { app: Some(app.clone()), limit: 1, before: None };
        let recorded = history::history(ledger, &self.origin, &any, view).await.map_err(|error| unread(&error))?;
        if recorded.is_empty() && self.handle.status(&app).await.map_err(ended)?.is_none() {
            return Err(self.no_such_app(&app, view).await);
        }
        Ok(found)
    }

    /// Returns the problem of a request that fails because this agent does not hold the ledger.
    pub(super) fn not_now(&self, what: &str, view: &View) -> Problem {
        let why = match self.trouble(view) {
            Some(trouble) => format!("the ledger is in trouble: {trouble}"),
            None => "this agent does not hold the ledger now".to_owned(),
        };
        let text = format!("{what}: {why}; try again when `setpoint status` shows that the ledger is held");
        Problem::new(ProblemKind::Unavailable, text)
    }

    /// Returns the reason why the anchor is not up to date. For a closed ledger, a worse problem is
    /// reported.
    async fn anchor_trouble(&self) -> Option<String> {
        let ledger = self.open_now.borrow().clone();
        ledger?.head(&self.origin).await.ok()?.anchor_trouble
    }

    async fn detail(&self, app: &AppId, view: &View) -> Result<AppDetail, Problem> {
        let position = self.feed.position();
        let now = self.handle.app(app).await.map_err(ended)?.filter(|_| view.sees(app));
        let Some(AppNow { status, owned, bundle }) = now else { return Err(self.no_such_app(app, view).await) };
        let status = view.redacted(&status).into_owned();
        let versions = match &status.facts.accepted {
            Some(accepted) => self.describe(&accepted.revision).await,
            None => Vec::new(),
        };
        let mut summary = [summary(app, &status, &self.places())];
        self.count_requests(&mut summary);
        let [summary] = summary;
        let unhealthy = self.unhealthy(app, &status).await?;
        let target_degraded = self.provider.target_of(&status.facts.target).and_then(|target| target.degraded());
        let hold = hold_of(&status);
        let refused = refused_of(&status);
        let AppStatus { facts, report, drifts, remarks, unsettled, left_alone_until, window_opens, .. } = status;
        let declared = bundle.iter().flat_map(|bundle| bundle.resources());
        let mut resources: Vec<_> = declared
            .map(|(key, declared)| ResourceLine {
                key: key.clone(),
                kind: declared.resource.kind.to_string(),
                declared: true,
                owned: owned.contains(key),
            })
            .collect();
        let orphans = owned.iter().filter(|key| !resources.iter().any(|line| line.key == **key));
        let orphans: Vec<_> = orphans
            .map(|key| ResourceLine { key: key.clone(), kind: key.class().to_owned(), declared: false, owned: true })
            .collect();
        resources.extend(orphans);
        let AppFacts { last_good, suspension, .. } = AppFacts::clone(&facts);
        Ok(AppDetail {
            position,
            summary,
            last_good,
            hold,
            suspension,
            refused,
            versions,
            resources,
            report,
            drifts,
            remarks,
            target_degraded,
            left_alone_until,
            window_opens,
            unhealthy,
            unsettled,
            shadow: self.provider.shadow_of(app),
        })
    }

    pub(super) async fn describe(&self, revision: &Revision) -> Vec<VersionNote> {
        let mut notes = Vec::new();
        for (name, version) in revision.iter() {
            let Some(store) = self.provider.store(name) else { continue };
            // If a store cannot describe it, the line is left out; the version itself is in the
            // summary.
            let Ok(info) = store.describe(version).await else { continue };
            notes.push(VersionNote {
                store: name.clone(),
                version: version.clone(),
                author: info.author.name,
                subject: info.message.lines().next().unwrap_or_default().to_owned(),
                body: body_of(&info.message),
                at: info.author.at,
            });
        }
        notes
    }
}

/// Returns the message of a version without its first line.
fn body_of(message: &str) -> String {
    let body = message.split_once('\n').map_or("", |(_, body)| body).trim();
    body.chars().take(LONGEST_MESSAGE).collect()
}

pub(super) fn ended(error: Ended) -> Problem {
    Problem::new(ProblemKind::Unavailable, error.to_string())
}

pub(super) fn unread(error: &LedgerError) -> Problem {
    Problem::new(ProblemKind::Unavailable, crate::complaint::told(error))
}

impl Answers {
    /// Returns the summaries of all apps that a caller may see, with the rest of the overview.
    async fn overview_of(&self, view: &View) -> Result<Overview, Problem> {
        let Fleet { mut overview, apps } = self.fleet_of(view).await?;
        overview.apps = apps.into_iter().map(Arc::unwrap_or_clone).collect();
        self.count_requests(&mut overview.apps);
        Ok(overview)
    }

    /// Returns the summaries of all apps that a caller may see, without copies, and the rest of the
    /// overview.
    pub(super) async fn fleet_of(&self, view: &View) -> Result<Fleet, Problem> {
        let position = self.feed.position();
        let fleet = self.fleet().await?;
        let apps = view.visible(&fleet.apps);
        let mut targets: Vec<_> = fleet.targets.into_values().filter(|it| view.sees_target(&it.target)).collect();
        let mut on_targets = BTreeMap::<_, usize>::new();
        apps.iter().for_each(|app| *on_targets.entry(&app.target).or_default() += 1);
        for target in &mut targets {
            target.apps = on_targets.get(&target.identity).copied().unwrap_or_default();
        }
        self.count_target_requests(&mut targets);
        // The requests to a target are those of all apps on it.
        let hidden = targets.iter_mut().filter(|target| !view.sees_whole_target(&target.target));
        hidden.for_each(|target| target.requests.clear());
        let mut unreached = self.provider.unreached();
        unreached.retain(|target| view.sees_target(&target.target));
        unreached.iter_mut().for_each(|target| target.waiting.retain(|app| view.sees(app)));
        let overview = Overview {
            now: self.clock.now(),
            position,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            ledger: self.ledger_standing(fleet.holding, view).await,
            stores: fleet.stores.into_values().filter(|it| view.sees_store(&it.store)).collect(),
            targets,
            unreached,
            apps: Vec::new(),
        };
        Ok(Fleet { overview, apps })
    }

    async fn ledger_standing(&self, holding: bool, view: &View) -> LedgerStanding {
        let anchor = if view.sees_all() { self.anchor_trouble().await } else { None };
        LedgerStanding { holding, trouble: self.trouble(view), anchor }
    }

    async fn tested_notifiers(&self, caller: &Caller) -> Result<Vec<NotifyTested>, Problem> {
        Self::permit_everywhere(caller, Verb::Administer)?;
        let by = &caller.actor;
        let courier = self.messages.courier().map_err(|problem| Problem::new(ProblemKind::Unavailable, problem))?;
        let message = self.messages.message(
            "test",
            "setpoint",
            &format!("a test message, requested by {by}; no action is needed"),
        );
        let tested = courier.test(&message).await.into_iter();
        let result = |tested: setpoint_notify::Tested| NotifyTested {
            notifier: tested.notifier,
            problem: tested.problem.map(|problem| problem.to_string()),
        };
        Ok(tested.map(result).collect())
    }

    /// Checks that a caller may see the app that a question is about, and returns its view.
    async fn view_of(&self, caller: &Caller, app: Option<&AppId>) -> Result<View, Problem> {
        if let Some(app) = app {
            self.permit(caller, Verb::See, app).await?;
        }
        Ok(self.view(caller))
    }
}

impl Agent for Answers {
    fn overview<'a>(&'a self, caller: &'a Caller) -> Reply<'a, Overview> {
        Box::pin(async move { self.overview_of(&self.view(caller)).await })
    }

    fn fleet<'a>(&'a self, caller: &'a Caller) -> Reply<'a, Fleet> {
        Box::pin(async move { self.fleet_of(&self.view(caller)).await })
    }

    fn readiness<'a>(&'a self, caller: &'a Caller) -> Reply<'a, Readiness> {
        Box::pin(async move {
            let (holding, tried) = self.handle.readiness().await.map_err(ended)?;
            // A store that is added later does not make an agent unready.
            let stores_tried = self.stores_tried.fetch_or(tried, Ordering::Relaxed) || tried;
            Ok(Readiness { ledger: self.ledger_standing(holding, &self.view(caller)).await, stores_tried })
        })
    }

    fn metrics<'a>(&'a self, caller: &'a Caller) -> Reply<'a, String> {
        Box::pin(self.metrics_for(caller))
    }

    fn apps<'a>(&'a self, caller: &'a Caller, question: AppsQuestion) -> Reply<'a, AppsPage> {
        Box::pin(async move {
            let (view, position) = (self.view(caller), self.feed.position());
            let fleet = self.fleet().await?;
            let apps = view.visible(&fleet.apps);
            let mut page = selection::page(apps.iter().map(|app| &**app), &question, position)?;
            self.count_requests(&mut page.apps);
            Ok(page)
        })
    }

    fn app<'a>(&'a self, caller: &'a Caller, app: AppId) -> Reply<'a, AppDetail> {
        Box::pin(async move { self.detail(&app, &self.view(caller)).await })
    }

    fn tree<'a>(&'a self, caller: &'a Caller, app: AppId) -> Reply<'a, AppTree> {
        Box::pin(async move { self.tree_of(app, &self.view(caller)).await })
    }

    fn logs<'a>(&'a self, caller: &'a Caller, question: LogQuestion) -> Reply<'a, Parts<LogPart>> {
        Box::pin(async move {
            self.permit(caller, Verb::Logs, &question.app).await?;
            self.logs_of(question, &self.view(caller)).await
        })
    }

    fn history<'a>(&'a self, caller: &'a Caller, question: HistoryQuestion) -> Reply<'a, Vec<HistoryRecord>> {
        Box::pin(async move {
            let view = self.view_of(caller, question.app.as_ref()).await?;
            let ledger = self.ledger(&view).await?;
            let found = history::history(ledger.as_ref(), &self.origin, &question, &view).await;
            self.or_unknown(found, question.app, (ledger.as_ref(), &view)).await
        })
    }

    fn proof<'a>(&'a self, caller: &'a Caller, seq: u64) -> Reply<'a, RecordProof> {
        Box::pin(async move { self.proof_of(seq, &self.view(caller)).await })
    }

    fn changes<'a>(&'a self, caller: &'a Caller, question: HistoryQuestion) -> Reply<'a, Vec<HistoryChange>> {
        Box::pin(async move {
            let view = self.view_of(caller, question.app.as_ref()).await?;
            let ledger = self.ledger(&view).await?;
            let found = changes::changes(ledger.as_ref(), &self.origin, &question, &view).await;
            self.or_unknown(found, question.app, (ledger.as_ref(), &view)).await
        })
    }

    fn version<'a>(&'a self, caller: &'a Caller, question: VersionQuestion) -> Reply<'a, VersionDetail> {
        Box::pin(async move { self.version_of(question, &self.view(caller)).await })
    }

    fn drift<'a>(&'a self, caller: &'a Caller, question: DriftQuestion) -> Reply<'a, Vec<DriftRecord>> {
        Box::pin(async move {
            let view = self.view_of(caller, question.app.as_ref()).await?;
            let ledger = self.ledger(&view).await?;
            let found = history::drift(ledger.as_ref(), &self.origin, &question, &view).await;
            self.or_unknown(found, question.app, (ledger.as_ref(), &view)).await
        })
    }

    fn plan<'a>(&'a self, caller: &'a Caller, request: PlanRequest) -> Reply<'a, PlanAnswer> {
        Box::pin(async move {
            if let Some(app) = &request.app {
                self.permit(caller, Verb::Plan, app).await?;
            }
            Ok(PlanAnswer { apps: self.plans(request, &self.view(caller)).await? })
        })
    }

    fn explain<'a>(&'a self, caller: &'a Caller, question: ExplainQuestion) -> Reply<'a, Explained> {
        Box::pin(async move {
            self.permit(caller, Verb::Plan, &question.app).await?;
            self.explained(question, &self.view(caller)).await
        })
    }

    fn events<'a>(&'a self, caller: &'a Caller, after: Option<u64>) -> Reply<'a, Parts<FeedEvent>> {
        Box::pin(async move {
            let viewer = Viewer { rights: caller.rights.clone(), provider: Arc::clone(&self.provider) };
            Ok(self.feed.events(viewer, after))
        })
    }

    fn order<'a>(&'a self, caller: &'a Caller, request: OrderRequest) -> Reply<'a, Ordered> {
        Box::pin(async move {
            self.permit(caller, Verb::of(&request.order), &request.app).await?;
            self.give(caller, request).await
        })
    }

    fn test_notifiers<'a>(&'a self, caller: &'a Caller) -> Reply<'a, Vec<NotifyTested>> {
        Box::pin(self.tested_notifiers(caller))
    }
}
