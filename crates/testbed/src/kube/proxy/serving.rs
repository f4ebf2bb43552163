//! Serves one connection of a client: each request is passed on to the server, unless a rule
//! matches it.

use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1::SendRequest;
use hyper::header::{ACCEPT, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, LOCATION, RETRY_AFTER, TRANSFER_ENCODING};
use hyper::http::request::Parts;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::json;
use tokio::net::TcpStream;
use tokio::sync::Mutex;
use tokio_rustls::server::TlsStream;

use super::frames::{Frames, Socket, Watch};
use super::rule::{Fault, StoredResponses, Struck};
use super::seen::Seen;
use super::{State, locked};
use crate::kube::client::{Cause, connect};

/// A client's connection, with its connection to the server.
struct Connection {
    state: Arc<State>,
    socket: Socket,
    upstream: Mutex<Option<(u16, SendRequest<Full<Bytes>>)>>,
}

pub(super) async fn serve(stream: TlsStream<TcpStream>, state: Arc<State>) {
    let Ok(handle) = stream.get_ref().0.as_fd().try_clone_to_owned() else { return };
    let connection = Arc::new(Connection { state, socket: Socket::new(handle), upstream: Mutex::new(None) });
    let service = service_fn(move |request| connection.clone().answer(request));
    // Tests provoke all ways in which it ends: nothing to report here.
    let _ = http1::Builder::new().header_read_timeout(None).serve_connection(TokioIo::new(stream), service).await;
}

impl Connection {
    async fn answer(self: Arc<Self>, request: Request<Incoming>) -> Result<Response<Frames>, Cause> {
        let (head, body) = request.into_parts();
        let body = body.collect().await?.to_bytes();
        let target = head.uri.path_and_query().map_or("/", |target| target.as_str());
        let header = |name| head.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let seen = Seen::new(head.method.as_str(), target, header(CONTENT_TYPE), body.clone());
        let seen = Seen { accept: header(ACCEPT).to_owned(), ..seen };
        match self.state.take_in(seen.clone()) {
            None => self.pass_on(head, body, seen).await,
            Some(struck) => self.strike(struck, head, body, seen).await,
        }
    }

    async fn strike(
        &self,
        struck: Struck,
        mut head: Parts,
        body: Bytes,
        seen: Seen,
    ) -> Result<Response<Frames>, Cause> {
        match struck.fault {
            Fault::Status { code, retry_after } => status(code, retry_after),
            Fault::StatusAfter(code) => {
                self.read_whole(head, body).await?;
                status(code, None)
            }
            Fault::Answer { code, body } => made_up(code, body.into()),
            Fault::Redirect(base) => {
                let mut answer = made_up(307, Bytes::new())?;
                answer.headers_mut().insert(LOCATION, format!("{base}{}", seen.target()).parse()?);
                Ok(answer)
            }
            Fault::Expire => made_up(200, expired().into()),
            Fault::Endless => Ok(Response::builder().header(CONTENT_TYPE, JSON).body(Frames::endless())?),
            Fault::ResetBefore => Err(self.socket.reset()),
            Fault::HangBefore => std::future::pending().await,
            Fault::DelayBefore(pause) => {
                wait(pause).await;
                self.pass_on(head, body, seen).await
            }
            Fault::ResetAfter => {
                self.read_whole(head, body).await?;
                Err(self.socket.reset())
            }
            Fault::HangAfter => {
                self.read_whole(head, body).await?;
                std::future::pending().await
            }
            Fault::DelayAfter(pause) => {
                let answer = self.pass_on(head, body, seen).await?;
                wait(pause).await;
                Ok(answer)
            }
            Fault::ShortPages(limit) => {
                head.uri = limited(&seen, limit).parse()?;
                self.pass_on(head, body, seen).await
            }
            Fault::Half => self.half(head, body).await,
            Fault::Stale => self.stale(head, body, &seen, &struck.kept).await,
            Fault::SwallowEvent | Fault::ResetInsteadOfEvent => unreachable!("they strike lines, not requests"),
        }
    }

    /// Passes the server's response on as it arrives.
    async fn pass_on(&self, head: Parts, body: Bytes, seen: Seen) -> Result<Response<Frames>, Cause> {
        let answer = self.exchange(head, body).await?;
        // The response to a refused watch is a whole object, not lines.
        let streams = seen.is_watch() && answer.status().is_success();
        Ok(answer.map(|body| {
            if streams {
                Frames::Watch(Watch::new(body, seen, self.state.clone(), self.socket.clone()))
            } else {
                Frames::Whole(body)
            }
        }))
    }

    async fn half(&self, head: Parts, body: Bytes) -> Result<Response<Frames>, Cause> {
        let (mut answer, body) = self.read_whole(head, body).await?;
        answer.headers.insert(CONTENT_LENGTH, body.len().into());
        let half = body.slice(..body.len() / 2);
        Ok(Response::from_parts(answer, Frames::cut(half, self.socket.clone())))
    }

    async fn stale(
        &self,
        head: Parts,
        body: Bytes,
        seen: &Seen,
        kept: &StoredResponses,
    ) -> Result<Response<Frames>, Cause> {
        let known = locked(kept).get(&seen.target()).cloned();
        let answer = match known {
            Some(known) => known,
            None => {
                let (answer, body) = self.read_whole(head, body).await?;
                let answer = Response::from_parts(answer, body);
                locked(kept).insert(seen.target(), answer.clone());
                answer
            }
        };
        Ok(answer.map(|body| Frames::Fixed(Some(body))))
    }

    /// Reads the server's whole response: from here on, its changes are made.
    async fn read_whole(&self, head: Parts, body: Bytes) -> Result<(hyper::http::response::Parts, Bytes), Cause> {
        let (answer, body) = self.exchange(head, body).await?.into_parts();
        Ok((answer, body.collect().await?.to_bytes()))
    }

    /// Sends a request to the server, over the last connection if that is still open to it.
    async fn exchange(&self, mut head: Parts, body: Bytes) -> Result<Response<Incoming>, Cause> {
        for name in [CONNECTION, TRANSFER_ENCODING, CONTENT_LENGTH] {
            head.headers.remove(name);
        }
        let server = self.state.upstream();
        let mut upstream = self.upstream.lock().await;
        let reusable = |(port, sender): &(u16, SendRequest<_>)| *port == server.port && !sender.is_closed();
        let mut sender = match upstream.take().filter(reusable) {
            Some((_, sender)) => sender,
            None => connect(server.port, server.trust).await?,
        };
        sender.ready().await?;
        let mut answer = sender.send_request(Request::from_parts(head, Full::new(body))).await?;
        *upstream = Some((server.port, sender));
        for name in [CONNECTION, TRANSFER_ENCODING] {
            answer.headers_mut().remove(name);
        }
        Ok(answer)
    }
}

const JSON: &str = "application/json";

/// Returns the target of a list's request with another limit.
fn limited(seen: &Seen, limit: usize) -> String {
    let kept = seen.query.split('&').filter(|part| !part.is_empty() && !part.starts_with("limit=")).map(str::to_owned);
    let query: Vec<String> = kept.chain([format!("limit={limit}")]).collect();
    format!("{}?{}", seen.path, query.join("&"))
}

fn made_up(code: u16, body: Bytes) -> Result<Response<Frames>, Cause> {
    Ok(Response::builder().status(code).header(CONTENT_TYPE, JSON).body(Frames::Fixed(Some(body)))?)
}

fn status(code: u16, retry_after: Option<u32>) -> Result<Response<Frames>, Cause> {
    let mut answer = made_up(code, status_object(code)?.to_string().into())?;
    if let Some(seconds) = retry_after {
        answer.headers_mut().insert(RETRY_AFTER, seconds.into());
    }
    Ok(answer)
}

fn status_object(code: u16) -> Result<serde_json::Value, Cause> {
    let reason = match code {
        409 => "Conflict".to_owned(),
        410 => "Expired".to_owned(),
        429 => "TooManyRequests".to_owned(),
        500 => "InternalError".to_owned(),
        code => StatusCode::from_u16(code)?.canonical_reason().unwrap_or("Unknown").replace(' ', ""),
    };
    Ok(json!({
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": "a fault of the testbed's proxy",
        "reason": reason,
        "code": code,
    }))
}

/// Returns the event that ends a watch whose resourceVersion is no longer known.
fn expired() -> String {
    let object = status_object(410).expect("it is a status");
    format!("{}\n", json!({"type": "ERROR", "object": object}))
}

async fn wait(pause: Duration) {
    let _ = tokio::time::timeout(pause, std::future::pending::<()>()).await;
}
