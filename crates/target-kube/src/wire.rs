//! The seam between the target and whatever answers it: a network in production, an API server in
//! memory in the simulator.
//!
//! Everything this crate asks of the outside goes through [`Wire`], waiting included. So nothing
//! else here knows a runtime.

use std::fmt;
use std::sync::Arc;

use futures_util::future::{BoxFuture, Either, select};
use futures_util::stream::BoxStream;
use setpoint_core::acting::ActingAs;
use setpoint_core::time::Span;

/// What a request does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Method {
    Get,
    Patch,
    Delete,
}

/// One request. The wire adds the address, and the credentials of the connection.
#[derive(Clone)]
pub struct Request {
    pub method: Method,
    /// Path and query: `/api/v1/namespaces/kube-system`.
    pub path: String,
    pub accept: &'static str,
    /// The type of what is sent, and its bytes.
    pub content: Option<(&'static str, Vec<u8>)>,
    /// In whose name it is made, where not in that of the connection.
    pub impersonate: Option<Arc<ActingAs>>,
    /// What a change is written down under in the server's audit trail.
    pub audit_id: Option<String>,
    /// Its answer does not end by itself, so it must not share a connection's limited room with
    /// short ones.
    pub streams: bool,
}

/// Without the content: it may be a Secret's.
impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request").field("method", &self.method).field("path", &self.path).finish_non_exhaustive()
    }
}

/// The head of an answer, and its body as it comes.
pub struct Response {
    pub status: u16,
    /// The server asked to be left alone for this long.
    pub retry_after: Option<Span>,
    pub body: Body,
}

impl fmt::Debug for Response {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Response").field("status", &self.status).finish_non_exhaustive()
    }
}

/// Chunks of an answer. An error ends it.
pub type Body = BoxStream<'static, Result<Vec<u8>, WireError>>;

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// Nothing has reached the server.
    #[error("nothing was sent: {detail}")]
    NotSent { detail: String },
    /// What was sent may have had its effect.
    #[error("no answer came: {detail}")]
    Unanswered { detail: String },
}

/// Carries requests, and time.
pub trait Wire: Send + Sync + fmt::Debug {
    /// Sends a request and answers when the head of the response is there. Dropping it abandons the
    /// request.
    fn send(&self, request: Request) -> BoxFuture<'_, Result<Response, WireError>>;

    /// Ends after this long.
    fn wait(&self, span: Span) -> BoxFuture<'static, ()>;

    /// How many connections were made so far. A new one may lead to another system.
    fn connections(&self) -> u64;
}

/// Waits for an answer, but not for longer than this; `None` if it did not come.
pub(crate) async fn within<T>(wire: &dyn Wire, span: Span, answer: impl Future<Output = T>) -> Option<T> {
    match select(std::pin::pin!(answer), wire.wait(span)).await {
        Either::Left((answer, _)) => Some(answer),
        Either::Right(((), _)) => None,
    }
}
