//! Sends requests and streams over HTTP/2.
//!
//! Short requests share one connection. A stream takes a place on its connection for as long as it
//! lasts, and servers limit the places of a connection: so streams have connections of their own, a
//! few dozen on each. Nothing comes from the environment, no redirect is followed, and no request
//! is sent twice.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::stream;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use reqwest::{Certificate, Client, ClientBuilder, Identity, Url};
use setpoint_core::time::Span;

use super::connection::{Connection, ConnectionError, Token};
use super::counting::Made;
use crate::wire::{Body, Method, Request, Response, Wire, WireError};

/// Servers allow at least a hundred streams on a connection.
const STREAMS_EACH: usize = 50;
/// Enough connections for the most streams of a target.
const STREAM_CONNECTIONS: usize = 12;
const CONNECT_TIME: Duration = Duration::from_secs(5);
/// The interval of pings on a connection without traffic.
const PING_EVERY: Duration = Duration::from_secs(15);
const PING_PATIENCE: Duration = Duration::from_secs(10);
const WINDOW: u32 = 1 << 20;

/// One API server over the network.
#[derive(Debug)]
pub struct HttpWire {
    base: Url,
    token: Option<Token>,
    /// The client for requests that end.
    short: Client,
    /// The clients for streams, used in turn.
    streaming: Vec<Client>,
    next_stream: AtomicUsize,
    made: Made,
}

impl HttpWire {
    /// Creates a wire. It connects at the first request.
    pub fn new(connection: Connection) -> Result<Self, ConnectionError> {
        let made = Made::default();
        let mut base = base_of(&connection.server)?;
        let mut clients = Vec::with_capacity(1 + STREAM_CONNECTIONS);
        for _ in 0..=STREAM_CONNECTIONS {
            let builder = trusted(Client::builder(), &connection)?.connector_layer(made.clone());
            clients.push(limited(builder).build().map_err(|source| ConnectionError::Tls { source })?);
        }
        if let Some(name) = &connection.server_name {
            // The certificate is checked against the name in the URL; `Renamed` resolves that name
            // to the address.
            base.set_host(Some(name)).map_err(|_| ConnectionError::Address { server: name.clone() })?;
        }
        let short = clients.pop().expect("there is one more than streams have");
        Ok(Self { base, token: connection.token, short, streaming: clients, next_stream: AtomicUsize::new(0), made })
    }

    fn client_for(&self, request: &Request) -> &Client {
        if !request.streams {
            return &self.short;
        }
        let number = self.next_stream.fetch_add(1, Ordering::Relaxed);
        &self.streaming[number / STREAMS_EACH % self.streaming.len()]
    }

    fn dressed(&self, request: Request) -> Result<(Client, reqwest::Request), WireError> {
        let client = self.client_for(&request).clone();
        let path = format!("{}{}", self.base.path().trim_end_matches('/'), request.path);
        let url = self.base.join(&path).map_err(|error| WireError::NotSent { detail: error.to_string() })?;
        let method = match request.method {
            Method::Get => reqwest::Method::GET,
            Method::Patch => reqwest::Method::PATCH,
            Method::Delete => reqwest::Method::DELETE,
        };
        let mut sent = reqwest::Request::new(method, url);
        let headers = sent.headers_mut();
        headers.insert(ACCEPT, HeaderValue::from_static(request.accept));
        if let Some(token) = &self.token {
            headers.insert(AUTHORIZATION, secret_header(&format!("Bearer {}", token.current().open()))?);
        }
        if let Some(who) = &request.impersonate {
            headers.insert("impersonate-user", plain_header(&who.user)?);
            for group in &who.groups {
                headers.append("impersonate-group", plain_header(group)?);
            }
        }
        if let Some(id) = request.audit_id {
            headers.insert("audit-id", plain_header(&id)?);
        }
        if let Some((kind, bytes)) = request.content {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
            *sent.body_mut() = Some(bytes.into());
        }
        Ok((client, sent))
    }
}

fn plain_header(text: &str) -> Result<HeaderValue, WireError> {
    HeaderValue::from_str(text).map_err(|error| WireError::NotSent { detail: error.to_string() })
}

fn secret_header(text: &str) -> Result<HeaderValue, WireError> {
    let detail =
        || WireError::NotSent { detail: "the credentials contain characters that a header cannot contain".to_owned() };
    let mut value = HeaderValue::from_str(text).map_err(|_| detail())?;
    value.set_sensitive(true);
    Ok(value)
}

fn base_of(server: &str) -> Result<Url, ConnectionError> {
    let address =
        || ConnectionError::Address { server: server.chars().take(200).filter(|c| !c.is_control()).collect() };
    let url = Url::parse(server).map_err(|_| address())?;
    let plain =
        url.username().is_empty() && url.password().is_none() && url.query().is_none() && url.fragment().is_none();
    if url.scheme() == "https" && url.has_host() && plain { Ok(url) } else { Err(address()) }
}

/// Trusts only the given CA certificates, and presents the given client certificate.
fn trusted(mut builder: ClientBuilder, connection: &Connection) -> Result<ClientBuilder, ConnectionError> {
    if let Some(pem) = &connection.authorities {
        let certificates = Certificate::from_pem_bundle(pem).map_err(|source| ConnectionError::Tls { source })?;
        if certificates.is_empty() {
            return Err(ConnectionError::Credentials {
                problem: "the CA certificate is not in PEM form: write it again",
            });
        }
        builder = builder.tls_certs_only(certificates);
    }
    if let Some(certificate) = &connection.certificate {
        let mut pem = certificate.chain.clone();
        pem.push(b'\n');
        pem.extend_from_slice(certificate.key.open());
        builder = builder.identity(Identity::from_pem(&pem).map_err(|source| ConnectionError::Tls { source })?);
    }
    if connection.server_name.is_some() {
        let url = base_of(&connection.server)?;
        let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']).to_owned();
        builder = builder.dns_resolver(std::sync::Arc::new(Renamed { host }));
    }
    Ok(builder)
}

fn limited(builder: ClientBuilder) -> ClientBuilder {
    builder
        .https_only(true)
        .no_proxy()
        .referer(false)
        .redirect(reqwest::redirect::Policy::none())
        // The callers decide about retries, because they know what the request was.
        .retry(reqwest::retry::never())
        .connect_timeout(CONNECT_TIME)
        .http2_keep_alive_interval(PING_EVERY)
        .http2_keep_alive_timeout(PING_PATIENCE)
        .http2_keep_alive_while_idle(false)
        .http2_initial_stream_window_size(WINDOW)
        .http2_initial_connection_window_size(4 * WINDOW)
        .tcp_nodelay(true)
        .user_agent(concat!("setpoint/", env!("CARGO_PKG_VERSION")))
}

/// A resolver that returns the addresses of one host for every name.
#[derive(Debug)]
struct Renamed {
    host: String,
}

impl Resolve for Renamed {
    fn resolve(&self, _: Name) -> Resolving {
        let host = self.host.clone();
        Box::pin(async move {
            // The port comes from the URL.
            let found: Vec<SocketAddr> = tokio::net::lookup_host((host, 0)).await?.collect();
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

impl Wire for HttpWire {
    fn send(&self, request: Request) -> BoxFuture<'_, Result<Response, WireError>> {
        Box::pin(async move {
            let (client, request) = self.dressed(request)?;
            let response = client.execute(request).await.map_err(|error| told(&error))?;
            let retry_after = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
            Ok(Response {
                status: response.status().as_u16(),
                retry_after: retry_after.map(Span::seconds),
                body: chunks(response),
            })
        })
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "the door through which this target waits; the simulator has its own"
    )]
    fn wait(&self, span: Span) -> BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep(Duration::from_millis(span.as_millis())))
    }

    fn connections(&self) -> u64 {
        self.made.count()
    }
}

fn chunks(response: reqwest::Response) -> Body {
    Box::pin(stream::unfold(Some(response), async |response| {
        let mut response = response?;
        match response.chunk().await {
            Ok(Some(bytes)) => Some((Ok(bytes.into()), Some(response))),
            Ok(None) => None,
            Err(error) => Some((Err(told(&error)), None)),
        }
    }))
}

/// Converts an error, with its causes. The address is left out, because the caller knows it.
fn told(error: &reqwest::Error) -> WireError {
    let mut detail = String::new();
    let mut cause: Option<&dyn std::error::Error> = std::error::Error::source(error);
    while let Some(error) = cause {
        if !detail.is_empty() {
            detail.push_str(": ");
        }
        detail.push_str(&error.to_string());
        cause = error.source();
    }
    if error.is_connect() || error.is_builder() {
        WireError::NotSent { detail }
    } else {
        WireError::Unanswered { detail }
    }
}
