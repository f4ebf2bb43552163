//! The trait that serves the API.

use std::fmt;
use std::future::Future;
use std::pin::Pin;

use futures_util::stream::BoxStream;
use serde::{Deserialize, Serialize};
use setpoint_core::name::{Actor, AppId};

use crate::answer::{
    AppDetail, AppTree, DriftRecord, Explained, HistoryChange, HistoryRecord, LogPart, NotifyTested, Ordered, Overview,
    PlanAnswer,
};
use crate::question::{DriftQuestion, ExplainQuestion, HistoryQuestion, LogQuestion, OrderRequest, PlanRequest};

/// A response in preparation.
pub type Reply<'a, T> = Pin<Box<dyn Future<Output = Result<T, Problem>> + Send + 'a>>;

/// A response in parts. Dropping it ends it.
pub type Parts<T> = BoxStream<'static, T>;

/// The error of a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct Problem {
    pub kind: ProblemKind,
    /// The problem, and what to do about it.
    pub message: String,
}

/// The kind of a problem; each is one HTTP status.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProblemKind {
    /// 400: the request itself is invalid.
    Question,
    /// 403: the caller has no permission.
    Forbidden,
    /// 404: the object does not exist.
    Missing,
    /// 409: the request conflicts with the current state.
    Conflict,
    /// 503: the agent or its ledger cannot serve the request now.
    Unavailable,
}

impl Problem {
    pub fn new(kind: ProblemKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }
}

/// All requests of the API. `by` is the caller, from the peer's credentials.
pub trait Agent: Send + Sync + fmt::Debug {
    fn overview(&self) -> Reply<'_, Overview>;

    fn app(&self, app: AppId) -> Reply<'_, AppDetail>;

    /// Returns the objects of an app on its target, and the objects they own.
    fn tree(&self, app: AppId) -> Reply<'_, AppTree>;

    /// Returns the logs of the pods of an app as they are written.
    fn logs(&self, question: LogQuestion) -> Reply<'_, Parts<LogPart>>;

    /// Returns records of the ledger, newest first.
    fn history(&self, question: HistoryQuestion) -> Reply<'_, Vec<HistoryRecord>>;

    /// Returns what was decided and changed, newest first. The limit counts changes, not records.
    fn changes(&self, question: HistoryQuestion) -> Reply<'_, Vec<HistoryChange>>;

    /// Returns recorded drift, newest first.
    fn drift(&self, question: DriftQuestion) -> Reply<'_, Vec<DriftRecord>>;

    /// Returns the steps that would be taken now, or if a revision were accepted. Changes nothing.
    fn plan(&self, request: PlanRequest) -> Reply<'_, PlanAnswer>;

    /// Returns the file, base, patch or generator that set each field of a resource that an app
    /// declares.
    fn explain(&self, question: ExplainQuestion) -> Reply<'_, Explained>;

    /// Records a person's order.
    fn order(&self, by: Actor, request: OrderRequest) -> Reply<'_, Ordered>;

    /// Sends a test message to every notifier.
    fn test_notifiers(&self, by: Actor) -> Reply<'_, Vec<NotifyTested>>;
}
