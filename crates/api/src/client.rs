//! The client's end of the socket.

use std::fmt;
use std::io;
use std::ops::ControlFlow;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1;
use hyper::header::{CONTENT_TYPE, HOST};
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde::Serialize;
use serde::de::DeserializeOwned;
use setpoint_core::name::AppId;
use tokio::net::UnixStream;
use tokio::time::timeout;

use crate::agent::Problem;
use crate::answer::{
    AppDetail, AppTree, AppsPage, DriftRecord, Explained, HistoryChange, HistoryRecord, LogPart, NotifyTested, Ordered,
    Overview, PlanAnswer,
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
    #[error("the agent at {} closed the connection: check its log, then try again", socket.display())]
    BrokenOff { socket: PathBuf, source: Cause },
    #[error("the agent at {} did not respond within {} s: check its log, then try again", socket.display(), PATIENCE.as_secs())]
    Silent { socket: PathBuf },
    #[error(
        "cannot parse the response of {}: use the same version of setpoint as the agent",
        socket.display()
    )]
    Garbled { socket: PathBuf, source: Cause },
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
    socket: PathBuf,
}

impl Client {
    /// Creates a client. Does not connect yet.
    pub fn new(socket: impl Into<PathBuf>) -> Self {
        Self { socket: socket.into() }
    }

    pub fn socket(&self) -> &Path {
        &self.socket
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
        let stream = self.connected().await?;
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

    async fn get<T: DeserializeOwned>(&self, path: &str, question: &impl Serialize) -> Result<T, AskError> {
        self.ask(query(path, question)).await
    }

    async fn ask<T: DeserializeOwned>(&self, request: Request<Full<Bytes>>) -> Result<T, AskError> {
        let stream = self.connected().await?;
        let read = async |response: Response<Incoming>| {
            self.judged(response).await?.collect().await.map_err(|error| self.broken(error))
        };
        let body = timeout(PATIENCE, self.exchange(stream, request, read)).await;
        let body = body.map_err(|_| AskError::Silent { socket: self.socket.clone() })??;
        self.understood(&body.to_bytes())
    }

    async fn connected(&self) -> Result<UnixStream, AskError> {
        UnixStream::connect(&self.socket).await.map_err(|error| self.unconnected(error))
    }

    /// Sends a request, and reads its response while driving the connection.
    async fn exchange<T>(
        &self,
        stream: UnixStream,
        request: Request<Full<Bytes>>,
        read: impl AsyncFnOnce(Response<Incoming>) -> Result<T, AskError>,
    ) -> Result<T, AskError> {
        let (mut sender, connection) =
            http1::handshake(TokioIo::new(stream)).await.map_err(|error| self.broken(error.into()))?;
        let answer = async {
            let response = timeout(PATIENCE, sender.send_request(request)).await;
            let response = response.map_err(|_| AskError::Silent { socket: self.socket.clone() })?;
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
                return Err(AskError::Garbled { socket: self.socket.clone(), source });
            }
        }
        Ok(())
    }

    fn broken(&self, source: Cause) -> AskError {
        AskError::BrokenOff { socket: self.socket.clone(), source }
    }

    fn understood<T: DeserializeOwned>(&self, body: &[u8]) -> Result<T, AskError> {
        serde_json::from_slice(body)
            .map_err(|error| AskError::Garbled { socket: self.socket.clone(), source: error.into() })
    }

    fn unconnected(&self, error: io::Error) -> AskError {
        let socket = self.socket.clone();
        match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => AskError::NoAgent { socket },
            io::ErrorKind::PermissionDenied => {
                let owner = Owner(std::fs::metadata(&socket).ok().map(|metadata| metadata.uid()));
                AskError::Denied { socket, owner }
            }
            _ => AskError::Unreachable { socket, source: error },
        }
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
