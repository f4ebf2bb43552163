//! The trait that serves the API.

use std::fmt;
use std::future::Future;
use std::pin::Pin;

use futures_util::stream::BoxStream;
use serde::{Deserialize, Serialize};
use setpoint_core::name::AppId;

use crate::answer::{
    AppDetail, AppTree, AppsPage, DriftRecord, Explained, FeedEvent, Fleet, HistoryChange, HistoryRecord, LogPart,
    NotifyTested, Ordered, Overview, PlanAnswer, Readiness, RecordProof, VersionDetail,
};
use crate::caller::Caller;
use crate::question::{
    AppsQuestion, DriftQuestion, ExplainQuestion, HistoryQuestion, LogQuestion, OrderRequest, PlanRequest,
    VersionQuestion,
};

/// A response in preparation.
pub type Reply<'a, T> = Pin<Box<dyn Future<Output = Result<T, Problem>> + Send + 'a>>;

/// A response in parts. Dropping it ends it.
pub type Parts<T> = BoxStream<'static, T>;

/// The error of a request: an RFC 9457 problem, together with its title and HTTP status.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct Problem {
    pub kind: ProblemKind,
    /// The problem, and what to do about it.
    #[serde(rename = "detail")]
    pub message: String,
}

/// The kind of a problem; each is one HTTP status.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ProblemKind {
    /// 400: the request itself is invalid.
    Question,
    /// 401: the caller is not known, or its session is over.
    Unauthenticated,
    /// 403: the caller has no permission.
    Forbidden,
    /// 404: the object does not exist.
    Missing,
    /// 405: the path does not have this method.
    Method,
    /// 409: the request conflicts with the current state.
    Conflict,
    /// 413: the request is too long.
    TooLong,
    /// 422: the idempotency key was sent with another request.
    KeyReused,
    /// 429: too many requests of this caller.
    TooMany,
    /// 503: the agent or its ledger cannot serve the request now.
    Unavailable,
}

impl Problem {
    pub fn new(kind: ProblemKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }
}

/// All requests of the API. Every method takes the caller and checks its rights where it reads: what
/// a caller may not see does not exist for it.
pub trait Agent: Send + Sync + fmt::Debug {
    fn overview<'a>(&'a self, caller: &'a Caller) -> Reply<'a, Overview>;

    /// Returns all apps without copying them, for pages in this process. The routes do not offer it.
    fn fleet<'a>(&'a self, caller: &'a Caller) -> Reply<'a, Fleet>;

    /// Reports whether the agent can act. Costs little, whatever the number of apps.
    fn readiness<'a>(&'a self, caller: &'a Caller) -> Reply<'a, Readiness>;

    /// Returns the metrics of the agent in the text format of OpenMetrics, without its end: the
    /// server adds its own. They are sums over all scopes, so the caller must be allowed to see
    /// everything.
    fn metrics<'a>(&'a self, caller: &'a Caller) -> Reply<'a, String>;

    /// Returns one page of the apps that match the filters.
    fn apps<'a>(&'a self, caller: &'a Caller, question: AppsQuestion) -> Reply<'a, AppsPage>;

    fn app<'a>(&'a self, caller: &'a Caller, app: AppId) -> Reply<'a, AppDetail>;

    /// Returns the objects of an app on its target, and the objects they own.
    fn tree<'a>(&'a self, caller: &'a Caller, app: AppId) -> Reply<'a, AppTree>;

    /// Returns the logs of the pods of an app as they are written.
    fn logs<'a>(&'a self, caller: &'a Caller, question: LogQuestion) -> Reply<'a, Parts<LogPart>>;

    /// Returns records of the ledger, newest first.
    fn history<'a>(&'a self, caller: &'a Caller, question: HistoryQuestion) -> Reply<'a, Vec<HistoryRecord>>;

    /// Returns a record of the ledger with the proof that it is in the signed log.
    fn proof<'a>(&'a self, caller: &'a Caller, seq: u64) -> Reply<'a, RecordProof>;

    /// Returns what was decided and changed, newest first. The limit counts changes, not records.
    fn changes<'a>(&'a self, caller: &'a Caller, question: HistoryQuestion) -> Reply<'a, Vec<HistoryChange>>;

    /// Returns one version and its way through the apps.
    fn version<'a>(&'a self, caller: &'a Caller, question: VersionQuestion) -> Reply<'a, VersionDetail>;

    /// Returns recorded drift, newest first.
    fn drift<'a>(&'a self, caller: &'a Caller, question: DriftQuestion) -> Reply<'a, Vec<DriftRecord>>;

    /// Returns the steps that would be taken now, or if a revision were accepted. Changes nothing.
    fn plan<'a>(&'a self, caller: &'a Caller, request: PlanRequest) -> Reply<'a, PlanAnswer>;

    /// Returns the file, base, patch or generator that set each field of a resource that an app
    /// declares.
    fn explain<'a>(&'a self, caller: &'a Caller, question: ExplainQuestion) -> Reply<'a, Explained>;

    /// Returns the changes of apps, stores and targets as they happen, after the given position.
    /// The first event of a reader without a known position is [`Change::Reload`].
    fn events<'a>(&'a self, caller: &'a Caller, after: Option<u64>) -> Reply<'a, Parts<FeedEvent>>;

    /// Records a person's order.
    fn order<'a>(&'a self, caller: &'a Caller, request: OrderRequest) -> Reply<'a, Ordered>;

    /// Sends a test message to every notifier.
    fn test_notifiers<'a>(&'a self, caller: &'a Caller) -> Reply<'a, Vec<NotifyTested>>;
}
