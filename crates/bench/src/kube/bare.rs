//! The bare client: the same transport as the agent's and the same limit for concurrent requests,
//! with nothing else around them. No repository, no decision, no record; responses are read but not
//! parsed.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, anyhow, bail, ensure};
use futures_util::{StreamExt, TryStreamExt, stream};
use serde_json::{Value, json};
use setpoint_core::time::Span;
use setpoint_target_kube::http::{Connection, HttpWire};
use setpoint_target_kube::wire::{Method, Request, Wire};
use setpoint_target_kube::{Flow, RequestOutcome, Urgency};

use super::workload::Object;
use crate::stopwatch::{Stopwatch, wall};

const JSON: &str = "application/json";
const APPLY: &str = "application/apply-patch+yaml";
const MERGE: &str = "application/merge-patch+json";
/// The most requests that may ever be in flight; mostly the flow control permits fewer.
const MOST: usize = 128;

pub(super) struct Bare {
    wire: HttpWire,
}

impl Bare {
    pub(super) fn new(kubeconfig: &Path) -> anyhow::Result<Self> {
        let connection = Connection::from_kubeconfig(kubeconfig, None)?;
        Ok(Self { wire: HttpWire::new(connection)? })
    }

    /// Sends all requests, in parallel as far as the server permits; returns the duration.
    pub(super) async fn send_all(&self, requests: Vec<Request>) -> anyhow::Result<Duration> {
        let (flow, begun) = (Flow::default(), Stopwatch::start());
        let sending = stream::iter(requests).map(|request| self.in_turn(&flow, request)).buffer_unordered(MOST);
        sending.try_collect::<Vec<()>>().await?;
        Ok(begun.elapsed())
    }

    async fn in_turn(&self, flow: &Flow, request: Request) -> anyhow::Result<()> {
        let _turn = flow.take(Urgency::Bundle).await;
        let sent = Stopwatch::start();
        self.send(request).await?;
        let after = Span::millis(u64::try_from(sent.elapsed().as_millis()).unwrap_or(u64::MAX));
        flow.learn(RequestOutcome::Answered { after }, wall());
        Ok(())
    }

    /// Sends one request and reads the whole response. A missing object is a response, too.
    pub(super) async fn send(&self, request: Request) -> anyhow::Result<Vec<u8>> {
        let (method, path) = (request.method, request.path.clone());
        let mut response = self.wire.send(request).await?;
        let mut bytes = Vec::new();
        while let Some(chunk) = response.body.next().await {
            bytes.extend_from_slice(&chunk?);
        }
        let absent = method == Method::Get && response.status == 404;
        if !(200..300).contains(&response.status) && !absent {
            bail!("{path} was answered with {}: {}", response.status, String::from_utf8_lossy(&bytes));
        }
        Ok(bytes)
    }

    /// Returns the content of an object now.
    pub(super) async fn read(&self, path: String) -> anyhow::Result<Value> {
        let bytes = self.send(get(path)).await?;
        serde_json::from_slice(&bytes).context("the server answers with JSON")
    }
}

fn request(method: Method, path: String, content: Option<(&'static str, &Value)>) -> Request {
    let content = content.map(|(kind, body)| (kind, body.to_string().into_bytes()));
    Request { method, path, accept: JSON, content, impersonate: None, audit_id: None, streams: false }
}

pub(super) fn get(path: String) -> Request {
    request(Method::Get, path, None)
}

pub(super) fn delete(path: String) -> Request {
    request(Method::Delete, path, None)
}

/// Builds an apply as the agent sends it, with marks of the same size.
pub(super) fn apply(object: &Object, namespace: &str) -> anyhow::Result<Request> {
    let mut body = object.body.clone();
    let metadata = body["metadata"].as_object_mut().ok_or_else(|| anyhow!("an object has metadata"))?;
    metadata.insert("labels".to_owned(), json!({"setpoint.dev/bench": "0123456789ab"}));
    metadata.insert("annotations".to_owned(), json!({"setpoint.dev/bench": "0123456789abcdef0123456789abcdef"}));
    let path = format!("{}?fieldManager=bare&fieldValidation=Strict&force=true", object.path(namespace));
    Ok(request(Method::Patch, path, Some((APPLY, &body))))
}

/// Builds a change by another manager, as `kubectl patch` does.
pub(super) fn merge(path: &str, manager: &str, change: &Value) -> anyhow::Result<Request> {
    ensure!(!path.contains('?'), "the path names an object and nothing else");
    Ok(request(Method::Patch, format!("{path}?fieldManager={manager}"), Some((MERGE, change))))
}
