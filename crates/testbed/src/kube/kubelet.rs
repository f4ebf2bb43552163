//! The part of a kubelet that an API server asks for logs: a node that registers itself, and the
//! logs of its containers.
//!
//! The API server is the real one, and sends the requests that a real kubelet would get. It has no
//! CA for kubelets, so that it trusts any.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::json;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::watch;

use super::arranging::unique;
use super::server::ApiServer;
use crate::tls::{Authority, TlsServer};

/// A node whose containers have logs.
#[derive(Debug)]
pub struct Kubelet {
    node: String,
    state: Arc<State>,
    _server: TlsServer,
}

#[derive(Debug, Default)]
struct State {
    logs: Mutex<Logs>,
    /// Changes with every line, and with every follower that comes or goes.
    moved: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct Logs {
    /// Log lines by pod, container and whether they are of the previous run.
    lines: BTreeMap<(String, String, bool), Vec<String>>,
    /// The number of restarts of each container.
    restarts: BTreeMap<(String, String), usize>,
    asked: Vec<String>,
    followers: usize,
}

impl Kubelet {
    /// Starts a kubelet and registers its node at the server.
    pub fn start(server: &ApiServer) -> Self {
        let state = Arc::new(State::default());
        let shared = Arc::clone(&state);
        let listening = TlsServer::start(&Authority::fresh(), move |mut stream| {
            let state = Arc::clone(&shared);
            async move {
                let _ = serve(&mut stream, &state).await;
                let _ = stream.shutdown().await;
            }
        });
        let node = unique("node");
        server.create("/api/v1/nodes", &json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": node}}));
        let status = json!({"status": {
            "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": listening.port()}},
        }});
        let (path, body) = (format!("/api/v1/nodes/{node}/status"), status.to_string());
        server.request("PATCH", &path, Some(("application/merge-patch+json", body.as_bytes()))).succeeded();
        Self { node, state, _server: listening }
    }

    /// Returns the name of its node, for `spec.nodeName`.
    pub fn node(&self) -> &str {
        &self.node
    }

    /// Adds a line to the log of a container.
    pub fn log(&self, pod: &str, container: &str, line: &str) {
        self.write(pod, container, false, line);
    }

    /// Restarts a container: followers get the end of its log, and its lines become those of the
    /// previous run.
    pub fn restart(&self, pod: &str, container: &str) {
        let key = |before| (pod.to_owned(), container.to_owned(), before);
        let mut logs = self.state.logs();
        let lines = logs.lines.remove(&key(false)).unwrap_or_default();
        logs.lines.insert(key(true), lines);
        *logs.restarts.entry((pod.to_owned(), container.to_owned())).or_default() += 1;
        drop(logs);
        self.state.moved.send_modify(|moved| *moved += 1);
    }

    /// Adds a line to the log of the previous run.
    pub fn log_before(&self, pod: &str, container: &str, line: &str) {
        self.write(pod, container, true, line);
    }

    fn write(&self, pod: &str, container: &str, before: bool, line: &str) {
        let key = (pod.to_owned(), container.to_owned(), before);
        self.state.logs().lines.entry(key).or_default().push(line.to_owned());
        self.state.moved.send_modify(|moved| *moved += 1);
    }

    /// Returns the requests since it started: paths with their queries.
    pub fn asked(&self) -> Vec<String> {
        self.state.logs().asked.clone()
    }

    /// Waits until this many clients follow logs.
    pub async fn until_followed_by(&self, followers: usize) {
        let mut moved = self.state.moved.subscribe();
        let waited = moved.wait_for(|_| self.state.logs().followers == followers).await;
        drop(waited.expect("we hold the other end"));
    }
}

impl State {
    fn logs(&self) -> MutexGuard<'_, Logs> {
        self.logs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn restarts(&self, (pod, container, _): &(String, String, bool)) -> usize {
        self.logs().restarts.get(&(pod.clone(), container.clone())).copied().unwrap_or_default()
    }

    fn follower(&self, comes: bool) {
        let mut logs = self.logs();
        logs.followers = if comes { logs.followers + 1 } else { logs.followers - 1 };
        drop(logs);
        self.moved.send_modify(|moved| *moved += 1);
    }
}

/// Serves one request and closes the connection.
async fn serve(stream: &mut (impl AsyncRead + AsyncWrite + Unpin), state: &State) -> std::io::Result<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await?);
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let target = head.split(' ').nth(1).unwrap_or_default().to_owned();
    state.logs().asked.push(target.clone());
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    let says = |name: &str| query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='));
    let parts: Vec<&str> = path.trim_start_matches('/').split('/').collect();
    let ["containerLogs", _, pod, container] = parts.as_slice() else {
        return stream.write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").await;
    };
    let key = ((*pod).to_owned(), (*container).to_owned(), says("previous") == Some("true"));
    let Some(known) = state.logs().lines.get(&key).map(Vec::len) else {
        let words = format!("container \"{container}\" in pod \"{pod}\" is waiting to start: ContainerCreating");
        let answer =
            format!("HTTP/1.1 400 Bad Request\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{words}", words.len());
        return stream.write_all(answer.as_bytes()).await;
    };
    let first = known.saturating_sub(says("tailLines").and_then(|lines| lines.parse().ok()).unwrap_or(usize::MAX));
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n";
    stream.write_all(head.as_bytes()).await?;
    if says("follow") == Some("true") {
        state.follower(true);
        let followed = follow(stream, state, &key, first).await;
        state.follower(false);
        return followed;
    }
    tell(stream, state, &key, first).await?;
    stream.write_all(b"0\r\n\r\n").await
}

/// Sends the lines from the first one on; returns how many there are.
async fn tell(
    stream: &mut (impl AsyncWrite + Unpin),
    state: &State,
    key: &(String, String, bool),
    first: usize,
) -> std::io::Result<usize> {
    let lines = state.logs().lines.get(key).cloned().unwrap_or_default();
    for line in lines.iter().skip(first) {
        stream.write_all(format!("{:x}\r\n{line}\n\r\n", line.len() + 1).as_bytes()).await?;
    }
    stream.flush().await?;
    Ok(lines.len())
}

/// Sends lines as they come, until the container is restarted or the client closes the connection.
async fn follow(
    stream: &mut (impl AsyncRead + AsyncWrite + Unpin),
    state: &State,
    key: &(String, String, bool),
    mut first: usize,
) -> std::io::Result<()> {
    let mut moved = state.moved.subscribe();
    let restarts = state.restarts(key);
    loop {
        moved.borrow_and_update();
        if state.restarts(key) != restarts {
            return stream.write_all(b"0\r\n\r\n").await;
        }
        first = tell(stream, state, key, first).await?;
        tokio::select! {
            changed = moved.changed() => if changed.is_err() { return Ok(()) },
            _ = stream.read_u8() => return Ok(()),
        }
    }
}
