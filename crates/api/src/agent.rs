//! Who answers: the agent, as its socket sees it.

use std::fmt;
use std::future::Future;
use std::pin::Pin;

use futures_util::stream::BoxStream;
use serde::{Deserialize, Serialize};
use setpoint_core::name::{Actor, AppId};

use crate::answer::{
    AppDetail, AppTree, DriftRecord, Explained, HistoryRecord, LogPart, NotifyTested, Ordered, Overview, PlanAnswer,
};
use crate::question::{DriftQuestion, ExplainQuestion, HistoryQuestion, LogQuestion, OrderRequest, PlanRequest};

/// An answer on its way.
pub type Reply<'a, T> = Pin<Box<dyn Future<Output = Result<T, Problem>> + Send + 'a>>;

/// An answer that comes in parts. Dropping it ends it.
pub type Parts<T> = BoxStream<'static, T>;

/// Why something asked is not answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct Problem {
    pub kind: ProblemKind,
    /// What is wrong and what to do about it.
    pub message: String,
}

/// What kind of problem it is; each is one HTTP status.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProblemKind {
    /// 400: the question itself is wrong.
    Question,
    /// 403: who asks has no right to.
    Forbidden,
    /// 404: there is no such thing.
    Missing,
    /// 409: it cannot be done as things stand.
    Conflict,
    /// 503: not now, because the agent or its ledger cannot.
    Unavailable,
}

impl Problem {
    pub fn new(kind: ProblemKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }
}

/// Everything the socket can be asked. `by` is who asks, from the peer's credentials.
pub trait Agent: Send + Sync + fmt::Debug {
    fn overview(&self) -> Reply<'_, Overview>;

    fn app(&self, app: AppId) -> Reply<'_, AppDetail>;

    /// What stands of an app on its target, and what has come of it.
    fn tree(&self, app: AppId) -> Reply<'_, AppTree>;

    /// What the pods of an app have logged, as it comes.
    fn logs(&self, question: LogQuestion) -> Reply<'_, Parts<LogPart>>;

    /// What was recorded, newest first.
    fn history(&self, question: HistoryQuestion) -> Reply<'_, Vec<HistoryRecord>>;

    /// Drift that was recorded, newest first.
    fn drift(&self, question: DriftQuestion) -> Reply<'_, Vec<DriftRecord>>;

    /// What would be done now, or if a revision were accepted. Changes nothing.
    fn plan(&self, request: PlanRequest) -> Reply<'_, PlanAnswer>;

    /// Which file, base, patch or generator set the fields of a resource that an app declares.
    fn explain(&self, question: ExplainQuestion) -> Reply<'_, Explained>;

    /// Records a person's order.
    fn order(&self, by: Actor, request: OrderRequest) -> Reply<'_, Ordered>;

    /// Sends a test message to every notifier.
    fn test_notifiers(&self, by: Actor) -> Reply<'_, Vec<NotifyTested>>;
}
