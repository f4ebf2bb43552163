//! Serves the requests of the socket from the machine, the ledger and the stores.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use setpoint_api::agent::{Parts, Reply};
use setpoint_api::answer::{
    AppDetail, AppState, AppSummary, AppTree, DriftRecord, Explained, HistoryRecord, LedgerStanding, LogPart,
    NotifyTested, Ordered, Overview, PlanAnswer, RefusedVersion, ResourceLine, SetBack, StoreStanding, VersionNote,
};
use setpoint_api::question::{
    DriftQuestion, ExplainQuestion, HistoryQuestion, LogQuestion, OrderKind, OrderRequest, PlanRequest,
};
use setpoint_api::{Agent, Problem, ProblemKind};
use setpoint_core::facts::AppFacts;
use setpoint_core::live::Health;
use setpoint_core::modes::State;
use setpoint_core::name::{Actor, AppId, StoreName, VersionId};
use setpoint_core::report::Why;
use setpoint_core::version::Revision;
use setpoint_documents::nearest;
use setpoint_engine::machine::{AppStatus, Refused};
use setpoint_engine::{Command, Declined, Order, OrderId};
use setpoint_ledger::{Ledger, LedgerError, Origin};
use tokio::time::timeout;

use super::messages::Messages;
use super::showing::Counted;
use super::sources::Provider;
use super::{OpenNow, history};
use crate::doors::Clock;
use crate::interpreter::{Ended, Handle};

/// Longer than opening a ledger takes.
const OPENING: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub(super) struct Answers {
    pub(super) clock: Clock,
    origin: Origin,
    pub(super) handle: Arc<Handle>,
    pub(super) provider: Arc<Provider>,
    messages: Arc<Messages>,
    open_now: OpenNow,
    last_order: AtomicU64,
}

impl Answers {
    pub(super) fn new(
        clock: Clock,
        origin: Origin,
        handle: Arc<Handle>,
        provider: Arc<Provider>,
        messages: Arc<Messages>,
        open_now: OpenNow,
    ) -> Self {
        Self { clock, origin, handle, provider, messages, open_now, last_order: AtomicU64::new(0) }
    }

    /// Returns the ledger for reading. A failed one is opened again every few seconds, so this
    /// waits for that.
    async fn ledger(&self) -> Result<Arc<dyn Ledger>, Problem> {
        let mut opened = self.open_now.subscribe();
        let open = timeout(OPENING, opened.wait_for(Option::is_some)).await;
        let open = open.ok().and_then(Result::ok).and_then(|open| open.clone());
        open.ok_or_else(|| {
            let trouble = self.handle.trouble().unwrap_or_else(|| "it is being opened".to_owned());
            Problem::new(ProblemKind::Unavailable, format!("the ledger is not open: {trouble}"))
        })
    }

    pub(super) async fn status(&self, app: &AppId) -> Result<AppStatus, Problem> {
        match self.handle.status(app).await.map_err(ended)? {
            Some(status) => Ok(status),
            None => Err(self.no_such_app(app).await),
        }
    }

    pub(super) async fn no_such_app(&self, app: &AppId) -> Problem {
        let known: Vec<String> = match self.handle.standing().await {
            // An app that is not loaded may still exist.
            Ok(standing) if !standing.holding => {
                return self.not_now(&format!("the state of {app} is not known"));
            }
            Ok(standing) => standing.apps.keys().map(ToString::to_string).collect(),
            Err(ended) => return self::ended(ended),
        };
        let hint = match nearest(&app.to_string(), known.iter().map(String::as_str)) {
            Some(near) => format!("did you mean {near}?"),
            None => "`setpoint status` lists all apps".to_owned(),
        };
        Problem::new(ProblemKind::Missing, format!("there is no app {app}; {hint}"))
    }

    /// Returns the problem of a request that fails because this agent does not hold the ledger.
    fn not_now(&self, what: &str) -> Problem {
        let why = match self.handle.trouble() {
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

    async fn detail(&self, app: &AppId) -> Result<AppDetail, Problem> {
        let status = self.status(app).await?;
        let versions = match &status.facts.accepted {
            Some(accepted) => self.describe(&accepted.revision).await,
            None => Vec::new(),
        };
        let summary = summary(app, &status, &self.counted(&BTreeMap::new()));
        let unhealthy = self.unhealthy(app, &status).await?;
        let target_degraded = self.provider.target_of(&status.facts.target).and_then(|target| target.degraded());
        let AppStatus { facts, report, drifts, remarks, unsettled, refused, left_alone_until, window_opens, .. } =
            status;
        let owned = self.handle.owned(app).await.map_err(ended)?;
        let bundle = self.handle.bundle(app).await.map_err(ended)?;
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
        let refused = refused.map(|Refused { revision, problem, at }| RefusedVersion { revision, problem, at });
        let AppFacts { last_good, hold, suspension, .. } = AppFacts::clone(&facts);
        Ok(AppDetail {
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

    async fn describe(&self, revision: &Revision) -> Vec<VersionNote> {
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
                at: info.author.at,
            });
        }
        notes
    }

    async fn give(&self, by: Actor, request: OrderRequest) -> Result<Ordered, Problem> {
        let OrderRequest { app, reason, order } = request;
        let before = self.status(&app).await?;
        let needs_reason = !matches!(order, OrderKind::Resume) && !matches!(order, OrderKind::Sync { allow_prune: 0 });
        if needs_reason && reason.trim().is_empty() {
            return Err(Problem::new(ProblemKind::Question, "say why: `--reason \"…\"` is recorded with the order"));
        }
        let skipped = matches!(order, OrderKind::Resume).then(|| skipped(&before)).unwrap_or_default();
        let order = self.order_of(&app, order).await?;
        let id = OrderId(self.last_order.fetch_add(1, Ordering::Relaxed) + 1);
        let command = Command { id, app: app.clone(), by, reason, order };
        match self.handle.order(command).await.map_err(ended)? {
            Ok(()) => Ok(Ordered { app, notes: skipped }),
            Err(Declined::Invalid(problem)) => Err(Problem::new(ProblemKind::Question, problem)),
            Err(Declined::Refused(problem)) => Err(Problem::new(ProblemKind::Conflict, problem)),
            Err(Declined::NotRecorded) => Err(self.not_now("the order could not be recorded, so it does not count")),
        }
    }

    async fn order_of(&self, app: &AppId, order: OrderKind) -> Result<Order, Problem> {
        Ok(match order {
            OrderKind::Sync { allow_prune } => Order::Sync { allow_prune },
            OrderKind::Suspend { length } => Order::Suspend { until: self.clock.now() + length },
            OrderKind::Resume => Order::Resume,
            OrderKind::Hold => Order::Hold,
            OrderKind::Settle { intent, done } => Order::Settle { intent, done },
            OrderKind::Release { accept: None } => Order::Release { accept: None },
            OrderKind::Release { accept: Some(rev) } => {
                Order::Release { accept: Some(self.revision(app, &rev).await?) }
            }
        })
    }
}

/// Returns the changes that a suspension has prevented.
fn skipped(status: &AppStatus) -> Vec<String> {
    let by_suspension =
        status.report.iter().filter(|withheld| matches!(withheld.why, Why::State { state: State::Suspended }));
    by_suspension.map(|withheld| format!("{} ({})", withheld.key, withheld.cause)).collect()
}

pub(super) fn ended(error: Ended) -> Problem {
    Problem::new(ProblemKind::Unavailable, error.to_string())
}

fn unread(error: &LedgerError) -> Problem {
    Problem::new(ProblemKind::Unavailable, crate::complaint::told(error))
}

fn summary(app: &AppId, status: &AppStatus, counted: &Counted) -> AppSummary {
    AppSummary {
        app: app.clone(),
        state: state_of(status),
        target: status.facts.target.clone(),
        moved_to: status.moved_to.clone(),
        accepted: status.facts.accepted.clone(),
        health: status.health,
        resources: status.bundle.map_or(0, |(_, resources)| resources),
        drifts: status.drifts.len(),
        remarks: status.remarks.len(),
        withheld: status.report.len(),
        note: note_of(app, status),
        set_back: set_back_of(app, status),
        requests: counted.of(app, &status.facts.target),
    }
}

fn state_of(status: &AppStatus) -> AppState {
    let facts = &status.facts;
    if facts.retiring {
        AppState::Retiring
    } else if facts.frozen {
        AppState::Frozen
    } else if facts.suspension.is_some() {
        AppState::Suspended
    } else if facts.hold.is_some() {
        AppState::Held
    } else if facts.accepted.is_none() {
        AppState::Waiting
    } else if waits(status).is_some() || status.set_back.is_some() {
        AppState::OutOfSync
    } else if status.unwatched.is_some() {
        AppState::Unknown
    } else if status.converged {
        AppState::Converged
    } else if status.pending {
        AppState::Progressing
    } else if status.report.iter().any(|withheld| matches!(withheld.why, Why::NotSeen { .. })) {
        AppState::Unknown
    } else if status.report.is_empty() && status.health == Health::Degraded {
        AppState::Degraded
    } else if status.report.is_empty() {
        AppState::Progressing
    } else {
        AppState::OutOfSync
    }
}

/// Returns the most important fact for a person.
fn note_of(app: &AppId, status: &AppStatus) -> Option<String> {
    let facts = &status.facts;
    let refused = status.refused.as_ref().map(|refused| {
        let first = refused.problem.lines().next().unwrap_or_default();
        format!("{} is refused: {first}", refused.revision)
    });
    let hold = facts.hold.as_ref().map(|hold| hold.why.to_string());
    let moved =
        status.moved_to.as_ref().map(|to| format!("its target is now {to}, but what it owns is on {}", facts.target));
    let suspension =
        facts.suspension.as_ref().map(|suspension| format!("suspended by {}: {}", suspension.by, suspension.reason));
    let withheld = status.report.first().map(|withheld| format!("{}: {}", withheld.key, withheld.why));
    let stale =
        status.stale.first().map(|store| format!("store {store} is stale: the app stays at the accepted version"));
    let unrendered = status.unrendered.as_ref().map(|why| format!("the newest version cannot be rendered now: {why}"));
    let unwatched = status.unwatched.as_ref().map(|unwatched| {
        let (class, since, why) = (&unwatched.class, unwatched.since, &unwatched.why);
        let since = crate::show::time::absolute(since);
        format!("unknown since {since}: changes of {class} are not noticed: {why}")
    });
    let set_back = || set_back_of(app, status).map(|set_back| set_back.to_string());
    let versions = suspension.or(hold).or(refused).or(unrendered).or_else(set_back);
    moved.or(versions).or(withheld).or(unwatched).or_else(|| waits(status)).or(stale)
}

/// Returns the older version that the stores of an app have now, and the command that follows it.
pub(crate) fn set_back_of(app: &AppId, status: &AppStatus) -> Option<SetBack> {
    let (offered, accepted) = (status.set_back.clone()?, status.facts.accepted.as_ref()?);
    let moved = |(store, version): &(&StoreName, &VersionId)| accepted.revision.get(store) != Some(*version);
    let (_, version) = offered.iter().find(moved)?;
    // Versions are hexadecimal, so any index is a boundary. This prefix identifies one.
    let commit = &version.as_str()[..version.as_str().len().min(12)];
    let command = format!("setpoint release {app} --accept {commit} --reason …");
    Some(SetBack { offered, command })
}

/// Returns a note if an accepted version is not in effect yet, although no one has pinned the app.
fn waits(status: &AppStatus) -> Option<String> {
    let (accepted, held) = (status.facts.accepted.as_ref()?, status.bundle?.0);
    let waits = accepted.bundle != held && status.facts.hold.is_none() && !status.facts.retiring;
    let revision = &accepted.revision;
    waits.then(|| format!("{revision} is accepted and waits: in manual mode for `setpoint sync`, else for its window"))
}

impl Agent for Answers {
    fn overview(&self) -> Reply<'_, Overview> {
        Box::pin(async {
            let standing = self.handle.standing().await.map_err(ended)?;
            let store = |(name, store): (&_, &setpoint_engine::machine::StoreStatus)| StoreStanding {
                store: setpoint_core::name::StoreName::clone(name),
                head: store.head.clone(),
                answered: store.answered,
                stale: store.stale,
                failures: store.failures,
                problem: store.problem.clone(),
            };
            let counted = self.counted(&standing.left_alone);
            let apps = standing.apps.iter().map(|(app, status)| summary(app, status, &counted)).collect();
            Ok(Overview {
                now: self.clock.now(),
                version: env!("CARGO_PKG_VERSION").to_owned(),
                ledger: LedgerStanding {
                    holding: standing.holding,
                    trouble: self.handle.trouble(),
                    anchor: self.anchor_trouble().await,
                },
                stores: standing.stores.iter().map(store).collect(),
                targets: counted.targets,
                unreached: self.provider.unreached(),
                apps,
            })
        })
    }

    fn app(&self, app: AppId) -> Reply<'_, AppDetail> {
        Box::pin(async move { self.detail(&app).await })
    }

    fn tree(&self, app: AppId) -> Reply<'_, AppTree> {
        Box::pin(self.tree_of(app))
    }

    fn logs(&self, question: LogQuestion) -> Reply<'_, Parts<LogPart>> {
        Box::pin(self.logs_of(question))
    }

    fn history(&self, question: HistoryQuestion) -> Reply<'_, Vec<HistoryRecord>> {
        Box::pin(async move {
            history::history(self.ledger().await?.as_ref(), &self.origin, &question)
                .await
                .map_err(|error| unread(&error))
        })
    }

    fn drift(&self, question: DriftQuestion) -> Reply<'_, Vec<DriftRecord>> {
        Box::pin(async move {
            history::drift(self.ledger().await?.as_ref(), &self.origin, &question).await.map_err(|error| unread(&error))
        })
    }

    fn plan(&self, request: PlanRequest) -> Reply<'_, PlanAnswer> {
        Box::pin(async move { Ok(PlanAnswer { apps: self.plans(request).await? }) })
    }

    fn explain(&self, question: ExplainQuestion) -> Reply<'_, Explained> {
        Box::pin(self.explained(question))
    }

    fn order(&self, by: Actor, request: OrderRequest) -> Reply<'_, Ordered> {
        Box::pin(self.give(by, request))
    }

    fn test_notifiers(&self, by: Actor) -> Reply<'_, Vec<NotifyTested>> {
        Box::pin(async move {
            let courier = self.messages.courier().map_err(|problem| Problem::new(ProblemKind::Unavailable, problem))?;
            let message = self.messages.message(
                "test",
                "setpoint",
                &format!("a test message, requested by {by}; no action is needed"),
            );
            let tested = courier.test(&message).await.into_iter();
            let told = |tested: setpoint_notify::Tested| NotifyTested {
                notifier: tested.notifier,
                problem: tested.problem.map(|problem| problem.to_string()),
            };
            Ok(tested.map(told).collect())
        })
    }
}
