//! Connections over TCP, and their limits: the number of connections, in all and from one address,
//! and the time and size of a request. A client that sends or reads slowly delays only itself.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::{Request, Response};
use axum::response::IntoResponse;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use setpoint_accounts::Accounts;
use setpoint_api::agent::Agent;
use setpoint_api::handlers::LONGEST_QUESTION;
use setpoint_api::{Problem, ProblemKind};
use setpoint_oidc::Providers;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tower_service::Service;

use super::client::Peer;
use super::metrics::{Meters, route_of};
use super::notices::Notices;
use super::request_id::{REQUEST_ID, RequestIds, header_of};
use super::streams::Streams;
use super::tls::{Certificate, CertificateError};
use super::webhooks::Webhook;
use super::{Answered, Installation, Settings, Shared, routes};

/// The number of simultaneous connections, and those from one address. Behind a proxy all have one
/// address, so a trusted proxy has no limit of its own.
const CONNECTIONS: usize = 2_048;
const CONNECTIONS_OF_ONE: usize = 256;

/// The time limits for the headers of a request, and for its body.
const ARRIVAL: Duration = Duration::from_secs(10);

/// The limits on the headers of a request.
const MOST_HEADERS: usize = 64;
const LONGEST_HEAD: usize = 64 * 1024;

/// The time that responses under way still have once the agent stops.
const FAREWELL: Duration = Duration::from_secs(5);

/// After an error of `accept` (too many open files), the next attempt is delayed, to avoid a busy
/// loop.
const PAUSE: Duration = Duration::from_millis(100);

/// The reason why the server cannot start.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    #[error("cannot listen on {listen}: choose another address or port in `server.listen` of the bootstrap document")]
    Address { listen: SocketAddr, source: io::Error },
    #[error("cannot use the certificate of `server.tls` in the bootstrap document")]
    Certificate { source: CertificateError },
}

/// A server that is bound to its address and does not serve yet.
#[derive(Debug)]
pub struct HttpServer {
    listener: TcpListener,
    certificate: Option<Arc<Certificate>>,
    settings: Settings,
    providers: Providers,
}

impl HttpServer {
    /// Binds the address. Must be called inside a tokio runtime.
    pub async fn bind(settings: Settings, providers: Providers) -> Result<Self, BindError> {
        let certificate = settings.tls.clone().map(Certificate::load).transpose();
        let certificate = certificate.map_err(|source| BindError::Certificate { source })?.map(Arc::new);
        let listen = settings.listen;
        let listener = TcpListener::bind(listen).await.map_err(|source| BindError::Address { listen, source })?;
        Ok(Self { listener, certificate, settings, providers })
    }

    /// Returns the address that is bound, with the port that the system has chosen if none was set.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves requests until `stop`, then gives responses under way a few seconds.
    pub async fn serve(
        self,
        agent: Arc<dyn Agent>,
        accounts: Arc<Accounts>,
        installation: Arc<dyn Installation>,
        stop: impl Future<Output = ()>,
    ) {
        let Self { listener, certificate, settings, providers } = self;
        let streams = Streams::new();
        let notices = Notices::default();
        let seats = Seats::new();
        let meters = Meters::new(seats.clone());
        let webhooks = settings.webhooks.iter().cloned().map(Webhook::new).collect();
        let shared = Shared { settings, agent, accounts, providers, installation, streams, notices, webhooks, meters };
        let shared = Arc::new(shared);
        let requests = Arc::new(RequestIds::new(shared.now()));
        let routes = routes(&shared);
        let served = Served { shared: Arc::clone(&shared), routes, requests, stopping: watch::Sender::new(false) };
        let mut connections = JoinSet::new();
        tokio::pin!(stop);
        loop {
            tokio::select! {
                () = &mut stop => break,
                Some(_) = connections.join_next() => {}
                (stream, address) = accept(&listener) => {
                    let trusted = shared.settings.trusted_proxies.contains(&address.to_canonical());
                    let Some(seat) = seats.take(address, trusted) else { continue };
                    let (served, certificate) = (served.clone(), certificate.clone());
                    connections.spawn(async move {
                        served.connection(stream, address, certificate).await;
                        drop(seat);
                    });
                }
            }
        }
        drop(listener);
        shared.streams.end();
        served.stopping.send_replace(true);
        let answered = async { while connections.join_next().await.is_some() {} };
        // Longer responses are cut off when the set is dropped.
        let _ = timeout(FAREWELL, answered).await;
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "a pause between two tries of the kernel, in a loop that has no events to wait for"
)]
async fn accept(listener: &TcpListener) -> (TcpStream, IpAddr) {
    loop {
        match listener.accept().await {
            Ok((stream, address)) => return (stream, address.ip()),
            Err(_) => tokio::time::sleep(PAUSE).await,
        }
    }
}

/// The parts that connections share.
#[derive(Clone, Debug)]
struct Served {
    shared: Arc<Shared>,
    routes: Router,
    requests: Arc<RequestIds>,
    stopping: watch::Sender<bool>,
}

impl Served {
    async fn connection(&self, stream: TcpStream, address: IpAddr, certificate: Option<Arc<Certificate>>) {
        // Small responses are sent at once. Without the option they are only slower.
        let _ = stream.set_nodelay(true);
        match certificate {
            None => self.converse(stream, address).await,
            Some(certificate) => {
                let accepted = timeout(ARRIVAL, certificate.acceptor().accept(stream)).await;
                if let Ok(Ok(stream)) = accepted {
                    self.converse(stream, address).await;
                }
            }
        }
    }

    async fn converse(&self, stream: impl AsyncRead + AsyncWrite + Unpin + Send, address: IpAddr) {
        let service = service_fn(|request| self.respond(request, address));
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(ARRIVAL)
            .max_headers(MOST_HEADERS)
            .max_buf_size(LONGEST_HEAD)
            .auto_date_header(false)
            .serve_connection(TokioIo::new(stream), service);
        tokio::pin!(connection);
        let mut stopping = self.stopping.subscribe();
        tokio::select! {
            // If the client has disconnected, there is no one to report an error to.
            _ = &mut connection => return,
            _ = stopping.wait_for(|stopping| *stopping) => {}
        }
        connection.as_mut().graceful_shutdown();
        let _ = connection.await;
    }

    /// Responds, with an identifier of the request that the log has too, and measures the time.
    async fn respond(&self, request: Request<Incoming>, address: IpAddr) -> Result<Response<Body>, Infallible> {
        let shared = &self.shared;
        let trusted = shared.settings.trusted_proxies.contains(&address.to_canonical());
        let id = self.requests.id_of(request.headers(), trusted);
        let (method, began) = (request.method().clone(), shared.installation.uptime());
        let mut response = self.handled(request, address).await?;
        let took = shared.installation.uptime().saturating_sub(began);
        let status = response.status().as_u16();
        let route = route_of(&response, shared.base());
        shared.meters.answered(&route, status, took);
        let answered = Answered { id: &id, method: method.as_str(), route: &route, status, took };
        shared.installation.answered(&answered);
        response.headers_mut().insert(REQUEST_ID, header_of(&id));
        Ok(response)
    }

    async fn handled(&self, request: Request<Incoming>, address: IpAddr) -> Result<Response<Body>, Infallible> {
        let (head, body) = request.into_parts();
        let body = match arrived(body).await {
            Ok(body) => body,
            Err(problem) => return Ok(problem.into_response()),
        };
        let mut request = Request::from_parts(head, Body::from(body));
        request.extensions_mut().insert(Peer(address));
        self.routes.clone().call(request).await
    }
}

/// Reads the whole body of a request within its limits, so that no handler waits for a client.
async fn arrived(body: Incoming) -> Result<Bytes, Problem> {
    let late = || {
        let message = format!("the request did not arrive in full within {} s", ARRIVAL.as_secs());
        Problem::new(ProblemKind::Question, message)
    };
    let body = timeout(ARRIVAL, Limited::new(body, LONGEST_QUESTION).collect()).await.map_err(|_| late())?;
    let body = body.map_err(|error| match error.downcast_ref::<LengthLimitError>() {
        Some(_) => Problem::new(ProblemKind::TooLong, format!("the request is longer than {LONGEST_QUESTION} bytes")),
        None => Problem::new(ProblemKind::Question, format!("the request did not arrive: {error}")),
    })?;
    Ok(body.to_bytes())
}

/// The connections that are open.
#[derive(Clone, Debug)]
pub(super) struct Seats {
    all: Arc<Semaphore>,
    of_address: Arc<Mutex<BTreeMap<IpAddr, usize>>>,
}

/// The place of one connection, which is returned when it is dropped.
struct Seat {
    _place: OwnedSemaphorePermit,
    address: IpAddr,
    of_address: Arc<Mutex<BTreeMap<IpAddr, usize>>>,
}

impl Seats {
    fn new() -> Self {
        Self { all: Arc::new(Semaphore::new(CONNECTIONS)), of_address: Arc::default() }
    }

    /// Returns the number of open connections.
    pub(super) fn taken(&self) -> usize {
        CONNECTIONS.saturating_sub(self.all.available_permits())
    }

    /// Returns a place; `None` if there is none for this address.
    fn take(&self, address: IpAddr, trusted: bool) -> Option<Seat> {
        let mut of_address = self.of_address.lock().unwrap_or_else(PoisonError::into_inner);
        let count = of_address.get(&address).copied().unwrap_or_default();
        if count >= CONNECTIONS_OF_ONE && !trusted {
            return None;
        }
        let place = Arc::clone(&self.all).try_acquire_owned().ok()?;
        of_address.insert(address, count + 1);
        Some(Seat { _place: place, address, of_address: Arc::clone(&self.of_address) })
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut of_address = self.of_address.lock().unwrap_or_else(PoisonError::into_inner);
        match of_address.get(&self.address).map_or(0, |count| count.saturating_sub(1)) {
            0 => drop(of_address.remove(&self.address)),
            left => drop(of_address.insert(self.address, left)),
        }
    }
}
