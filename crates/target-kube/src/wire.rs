//! The interface between the target and an API server: a network in production, an in-memory API
//! server in the simulator.
//!
//! Every request of this crate goes through [`Wire`], and so does all waiting. So nothing else here
//! depends on a runtime.

use std::fmt;
use std::sync::Arc;

use futures_util::future::{BoxFuture, Either, select};
use futures_util::stream::BoxStream;
use setpoint_core::acting::ActingAs;
use setpoint_core::time::Span;

/// The HTTP method of a request.
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
    /// The path and query, such as `/api/v1/namespaces/kube-system`.
    pub path: String,
    pub accept: &'static str,
    /// The content type of the body, and the body's bytes.
    pub content: Option<(&'static str, Vec<u8>)>,
    /// The impersonated user, if it is not the user of the connection.
    pub impersonate: Option<Arc<ActingAs>>,
    /// The id under which the server's audit trail records a change.
    pub audit_id: Option<String>,
    /// The response does not end by itself, so it must not take the limited room of a connection
    /// with short ones.
    pub streams: bool,
}

/// Omits the content: it may be that of a Secret.
impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request").field("method", &self.method).field("path", &self.path).finish_non_exhaustive()
    }
}

/// The head of a response, and its body as it arrives.
pub struct Response {
    pub status: u16,
    /// How long the server asks clients to wait.
    pub retry_after: Option<Span>,
    pub body: Body,
}

impl fmt::Debug for Response {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Response").field("status", &self.status).finish_non_exhaustive()
    }
}

/// The chunks of a response. An error ends it.
pub type Body = BoxStream<'static, Result<Vec<u8>, WireError>>;

/// The reason why there is no response.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// Nothing has reached the server.
    #[error("nothing was sent: {detail}")]
    NotSent { detail: String },
    /// The request may have had its effect.
    #[error("no response: {detail}")]
    Unanswered { detail: String },
}

/// The transport of requests, and the passing of time.
pub trait Wire: Send + Sync + fmt::Debug {
    /// Sends a request and returns once the head of the response is there. Dropping the future
    /// abandons the request.
    fn send(&self, request: Request) -> BoxFuture<'_, Result<Response, WireError>>;

    /// Ends after this span.
    fn wait(&self, span: Span) -> BoxFuture<'static, ()>;

    /// Returns the number of connections made so far. A new one may lead to another system.
    fn connections(&self) -> u64;
}

/// Waits for a response, but not for longer than this span; returns `None` after that.
pub(crate) async fn within<T>(wire: &dyn Wire, span: Span, answer: impl Future<Output = T>) -> Option<T> {
    match select(std::pin::pin!(answer), wire.wait(span)).await {
        Either::Left((answer, _)) => Some(answer),
        Either::Right(((), _)) => None,
    }
}
