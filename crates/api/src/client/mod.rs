//! The client: requests to an agent, through its socket or over HTTP.

mod connection;

use std::fmt;
use std::io;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1;
use hyper::header::{CONTENT_TYPE, HOST, SET_COOKIE};
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde::Serialize;
use serde::de::DeserializeOwned;
use setpoint_core::name::AppId;
use tokio::time::timeout;
use zeroize::Zeroizing;

pub use connection::{Credentials, InvalidServer, RemoteServer};
use connection::{End, Stream};

use crate::agent::{Problem, ProblemKind};
use crate::answer::{
    AppDetail, AppTree, AppsPage, DriftRecord, Explained, HistoryChange, HistoryRecord, LogPart, NotifyTested, Ordered,
    Overview, PlanAnswer, SessionInfo,
};
use crate::path;
use crate::question::{
    AppsQuestion, DriftQuestion, ExplainQuestion, HistoryQuestion, LogQuestion, OrderRequest, PlanRequest,
};

/// The time limit for a response. A plan of many apps renders each of them, so it may take this
/// long.
const PATIENCE: Duration = Duration::from_secs(120);

/// The size limit of a response.
const LONGEST_ANSWER: usize = 256 * 1024 * 1024;

/// The size limit of one part of a response in parts.
const LONGEST_PART: usize = 4 * 1024 * 1024;

type Cause = Box<dyn std::error::Error + Send + Sync>;

/// The reason why a request failed.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    #[error(
        "no agent is running at {}: start one with `setpoint run --config …`, or set the data directory of a running one with `--data`",
        socket.display()
    )]
    NoAgent { socket: PathBuf },
    #[error("cannot use {}: {owner}", socket.display())]
    Denied { socket: PathBuf, owner: Owner },
    #[error("cannot reach the agent at {}: check the path and the agent's log", socket.display())]
    Unreachable { socket: PathBuf, source: io::Error },
    #[error("cannot reach {url}: check the address, and whether the server runs")]
    ServerUnreachable { url: String, source: Cause },
    #[error("the agent at {at} closed the connection: check its log, then try again")]
    BrokenOff { at: String, source: Cause },
    #[error("the agent at {at} did not respond within {} s: check its log, then try again", PATIENCE.as_secs())]
    Silent { at: String },
    #[error("cannot parse the response of {at}: use the same version of setpoint as the agent")]
    Garbled { at: String, source: Cause },
    /// The agent refused the request.
    #[error(transparent)]
    Refused(Problem),
}

/// The owner of a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owner(Option<u32>);

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(0) => f.write_str("it belongs to root; run this with sudo"),
            Some(uid) => write!(f, "it belongs to the user with id {uid}; run this as that user or root"),
            None => f.write_str("its directory is closed to you; run this as the user the agent runs as, or as root"),
        }
    }
}

/// A client of one agent. Every request uses a connection of its own.
#[derive(Clone, Debug)]
pub struct Client {
    end: End,
}

impl Client {
    /// Creates a client of a socket. Does not connect yet.
    pub fn new(socket: impl Into<PathBuf>) -> Self {
        Self { end: End::Socket(socket.into()) }
    }

    /// Creates a client of a server. Does not connect yet.
    pub fn remote(server: RemoteServer) -> Self {
        Self { end: End::Server(Arc::new(server)) }
    }

    pub async fn overview(&self) -> Result<Overview, AskError> {
        self.get(path::OVERVIEW, &()).await
    }

    pub async fn apps(&self, question: &AppsQuestion) -> Result<AppsPage, AskError> {
        self.get(path::APPS, question).await
    }

    pub async fn app(&self, app: AppId) -> Result<AppDetail, AskError> {
        self.get(&path::of_app(&app), &()).await
    }

    pub async fn tree(&self, app: AppId) -> Result<AppTree, AskError> {
        self.get(&path::of_tree(&app), &()).await
    }

    /// Passes each part of the logs to `take` as it arrives, until there are no more or `take`
    /// breaks.
    pub async fn logs(
        &self,
        question: &LogQuestion,
        take: impl FnMut(LogPart) -> ControlFlow<()>,
    ) -> Result<(), AskError> {
        let stream = self.end.connected().await?;
        let request = query(path::LOGS, question);
        self.exchange(stream, request, async |response| self.read_parts(response, take).await).await
    }

    pub async fn history(&self, question: &HistoryQuestion) -> Result<Vec<HistoryRecord>, AskError> {
        self.get(path::HISTORY, question).await
    }

    pub async fn changes(&self, question: &HistoryQuestion) -> Result<Vec<HistoryChange>, AskError> {
        self.get(path::CHANGES, question).await
    }

    pub async fn drift(&self, question: &DriftQuestion) -> Result<Vec<DriftRecord>, AskError> {
        self.get(path::DRIFT, question).await
    }

    pub async fn plan(&self, request: &PlanRequest) -> Result<PlanAnswer, AskError> {
        self.get(path::PLAN, request).await
    }

    pub async fn explain(&self, question: &ExplainQuestion) -> Result<Explained, AskError> {
        self.get(path::EXPLAIN, question).await
    }

    pub async fn order(&self, request: &OrderRequest) -> Result<Ordered, AskError> {
        self.ask(body(path::ORDERS, request)).await
    }

    pub async fn test_notifiers(&self) -> Result<Vec<NotifyTested>, AskError> {
        self.ask(body(path::NOTIFIERS_TEST, &())).await
    }

    /// Returns the identity that the server knows this client by.
    pub async fn session(&self) -> Result<SessionInfo, AskError> {
        self.get(path::SESSION, &()).await
    }

    /// Signs in with an account and its password, and returns the cookie of the new session.
    pub async fn sign_in(&self, account: &str, password: &str) -> Result<Zeroizing<String>, AskError> {
        let form = serde_urlencoded::to_string([("account", account), ("password", password)]);
        let form = Zeroizing::new(form.expect("two texts"));
        let request = Request::builder()
            .method(Method::POST)
            .uri("/sign-in")
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
            .body(Full::new(Bytes::copy_from_slice(form.as_bytes())))
            .expect("every part is a constant");
        let stream = self.end.connected().await?;
        self.exchange(stream, request, async |response| self.begun(&response)).await
    }

    /// Ends the session of the credentials.
    pub async fn sign_out(&self) -> Result<(), AskError> {
        let stream = self.end.connected().await?;
        let request = request(Method::DELETE, path::SESSION, Vec::new());
        self.exchange(stream, request, async |response| self.judged(response).await.map(drop)).await
    }

    /// Returns the cookie of a session that has begun, or the reason why none has.
    fn begun(&self, response: &Response<Incoming>) -> Result<Zeroizing<String>, AskError> {
        let refused = |kind, text: &str| Err(AskError::Refused(Problem::new(kind, text)));
        match response.status() {
            StatusCode::SEE_OTHER => {}
            StatusCode::UNAUTHORIZED => {
                return refused(ProblemKind::Unauthenticated, "the account or the password is wrong");
            }
            StatusCode::TOO_MANY_REQUESTS => {
                return refused(ProblemKind::TooMany, "too many attempts: wait a minute, then try again");
            }
            other => {
                let source = format!("the status of the sign-in is {other}").into();
                return Err(AskError::Garbled { at: self.end.to_string(), source });
            }
        }
        let cookie = response.headers().get(SET_COOKIE).and_then(|cookie| cookie.to_str().ok());
        match cookie.and_then(|cookie| cookie.split(';').next()).filter(|cookie| cookie.contains('=')) {
            Some(cookie) => Ok(Zeroizing::new(cookie.to_owned())),
            None => Err(AskError::Garbled { at: self.end.to_string(), source: "it has no cookie".into() }),
        }
    }

    async fn get<T: DeserializeOwned>(&self, path: &str, question: &impl Serialize) -> Result<T, AskError> {
        self.ask(query(path, question)).await
    }

    async fn ask<T: DeserializeOwned>(&self, request: Request<Full<Bytes>>) -> Result<T, AskError> {
        let stream = self.end.connected().await?;
        let read = async |response: Response<Incoming>| {
            self.judged(response).await?.collect().await.map_err(|error| self.broken(error))
        };
        let body = timeout(PATIENCE, self.exchange(stream, request, read)).await;
        let body = body.map_err(|_| AskError::Silent { at: self.end.to_string() })??;
        self.understood(&body.to_bytes())
    }

    /// Sends a request, and reads its response while driving the connection.
    async fn exchange<T>(
        &self,
        stream: Box<dyn Stream>,
        request: Request<Full<Bytes>>,
        read: impl AsyncFnOnce(Response<Incoming>) -> Result<T, AskError>,
    ) -> Result<T, AskError> {
        let (mut sender, connection) =
            http1::handshake(TokioIo::new(stream)).await.map_err(|error| self.broken(error.into()))?;
        let answer = async {
            let response = timeout(PATIENCE, sender.send_request(self.end.addressed(request))).await;
            let response = response.map_err(|_| AskError::Silent { at: self.end.to_string() })?;
            read(response.map_err(|error| self.broken(error.into()))?).await
        };
        tokio::pin!(answer, connection);
        tokio::select! {
            // The response is polled first: a connection that ends right after it has done its
            // work.
            biased;
            answered = &mut answer => answered,
            // Once the connection is over, all it received can be read.
            _ = &mut connection => answer.await,
        }
    }

    /// Returns the body of a successful response, or the agent's error.
    async fn judged(&self, response: Response<Incoming>) -> Result<Limited<Incoming>, AskError> {
        let status = response.status();
        let body = Limited::new(response.into_body(), LONGEST_ANSWER);
        if status == StatusCode::OK {
            return Ok(body);
        }
        let body = body.collect().await.map_err(|error| self.broken(error))?;
        Err(AskError::Refused(self.understood(&body.to_bytes())?))
    }

    async fn read_parts<T: DeserializeOwned>(
        &self,
        response: Response<Incoming>,
        mut take: impl FnMut(T) -> ControlFlow<()>,
    ) -> Result<(), AskError> {
        // The size limit applies only to responses that are held in memory as a whole.
        let mut body = match response.status() {
            StatusCode::OK => response.into_body(),
            _ => return self.judged(response).await.map(drop),
        };
        let mut held = Vec::new();
        while let Some(frame) = body.frame().await {
            let Ok(data) = frame.map_err(|error| self.broken(error.into()))?.into_data() else { continue };
            held.extend_from_slice(&data);
            let mut told = 0;
            while let Some(end) = held[told..].iter().position(|byte| *byte == b'\n') {
                if take(self.understood(&held[told..told + end])?).is_break() {
                    return Ok(());
                }
                told += end + 1;
            }
            held.drain(..told);
            if held.len() > LONGEST_PART {
                let source = format!("a part of it is longer than {LONGEST_PART} bytes").into();
                return Err(AskError::Garbled { at: self.end.to_string(), source });
            }
        }
        Ok(())
    }

    fn broken(&self, source: Cause) -> AskError {
        AskError::BrokenOff { at: self.end.to_string(), source }
    }

    fn understood<T: DeserializeOwned>(&self, body: &[u8]) -> Result<T, AskError> {
        serde_json::from_slice(body)
            .map_err(|error| AskError::Garbled { at: self.end.to_string(), source: error.into() })
    }
}

/// Builds a request that only reads.
fn query(path: &str, question: &impl Serialize) -> Request<Full<Bytes>> {
    let query = serde_urlencoded::to_string(question).expect("questions are flat: texts and numbers");
    let uri = if query.is_empty() { path.to_owned() } else { format!("{path}?{query}") };
    request(Method::GET, &uri, Vec::new())
}

/// Builds a request that changes something.
fn body(path: &str, question: &impl Serialize) -> Request<Full<Bytes>> {
    request(Method::POST, path, serde_json::to_vec(question).expect("questions are texts and numbers"))
}

fn request(method: Method, uri: &str, body: Vec<u8>) -> Request<Full<Bytes>> {
    Request::builder()
        .method(method)
        .uri(uri)
        .header(HOST, "agent")
        .header(CONTENT_TYPE, "application/json")
        .body(Full::new(Bytes::from(body)))
        .expect("every part is a constant, a checked name or an encoded query")
}
