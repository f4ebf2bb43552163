//! Smart HTTP over TLS: our own client under gix's protocol.
//!
//! It is our own because the limits of [`Pace`] must apply to every read, because a redirect must
//! not carry credentials to another host (cases 6 and 7), and because nothing may come from the
//! environment: no proxy, no `.netrc`, no cookies.

use std::any::Any;
use std::io::{self, BufRead, Read, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use gix_transport::client::blocking_io::http::{GetResponse, Http, PostBodyDataKind, PostResponse};
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue, LOCATION};
use reqwest::{Certificate, Client, Method, Request, Response, StatusCode, Url};
use setpoint_core::secret::Secret;
use setpoint_store::StoreError;

use crate::options::Patience;
use crate::pace::Pace;

/// The most redirects that are followed within one host, for example after a repository was
/// renamed.
const REDIRECTS: usize = 5;

/// The `Authorization` header of every request.
pub(crate) type Authorization = Secret<String>;

/// Builds an HTTP client that trusts only the given CA certificates, or those of the system.
pub(crate) fn client(authorities: Option<&Path>, patience: Patience) -> Result<Client, StoreError> {
    let mut builder = Client::builder()
        .https_only(true)
        .no_proxy()
        .referer(false)
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(patience.connect)
        // One poll, one client: no idle connections remain between polls.
        .pool_max_idle_per_host(1);
    if let Some(file) = authorities {
        let fix = "write the PEM certificates of the trusted CAs into it";
        let refused = |what: &dyn std::fmt::Display| {
            StoreError::refused(format!("the CA certificates in {} cannot be used: {what}", file.display()), fix)
        };
        let pem = std::fs::read(file).map_err(|error| refused(&error))?;
        let certificates = Certificate::from_pem_bundle(&pem).map_err(|error| refused(&error))?;
        if certificates.is_empty() {
            return Err(refused(&"it holds no certificate"));
        }
        builder = builder.tls_certs_only(certificates);
    }
    builder.build().map_err(|error| StoreError::unreachable(format!("TLS cannot be set up: {}", chain(&error))))
}

/// gix's view of an HTTP client.
pub(crate) struct HttpClient {
    client: Client,
    authorization: Option<Authorization>,
    pace: Arc<Pace>,
    /// The final URL of the repository, once a redirect gave it.
    base: Option<String>,
}

impl HttpClient {
    pub(crate) fn new(client: Client, authorization: Option<Authorization>, pace: Arc<Pace>) -> Self {
        Self { client, authorization, pace, base: None }
    }

    fn request(
        &self,
        method: Method,
        url: &str,
        headers: impl IntoIterator<Item = impl AsRef<str>>,
    ) -> io::Result<Request> {
        let url =
            Url::parse(url).map_err(|error| self.pace.end(StoreError::refused(error.to_string(), "correct it")))?;
        let mut request = Request::new(method, url);
        for header in headers {
            if let Some((name, value)) = parsed(header.as_ref()) {
                request.headers_mut().insert(name, value);
            }
        }
        if let Some(authorization) = &self.authorization {
            let value = HeaderValue::from_str(authorization.open());
            let mut value = value.map_err(|_| {
                let what = "the credentials hold characters that no header may have";
                self.pace.end(StoreError::refused(what, "write them into the file again, as one line"))
            })?;
            value.set_sensitive(true);
            request.headers_mut().insert(AUTHORIZATION, value);
        }
        Ok(request)
    }

    /// Sends a `GET` and follows redirects that stay on the host.
    fn follow(&self, mut request: Request) -> io::Result<Response> {
        for _ in 0..=REDIRECTS {
            let again = request.try_clone();
            let from = request.url().clone();
            let response = send(&self.client, &self.pace, request)?;
            if !response.status().is_redirection() {
                return accepted(&self.pace, response, self.authorization.is_some());
            }
            let to = location(&from, &response).map_err(|error| self.pace.end(error))?;
            request = again.expect("a request without a body can be cloned");
            *request.url_mut() = to;
        }
        Err(self.pace.end(StoreError::refused(
            format!("the server redirected more than {REDIRECTS} times"),
            "declare the URL that the server redirects to",
        )))
    }
}

/// Returns the target of a redirect, if it stays on the host and encrypted.
fn location(from: &Url, response: &Response) -> Result<Url, StoreError> {
    let text = response.headers().get(LOCATION).and_then(|value| value.to_str().ok());
    let to = text.and_then(|text| from.join(text).ok());
    let fix = "declare the present URL of the repository";
    let Some(to) = to else {
        return Err(StoreError::refused("the server redirects, but gives no location", fix));
    };
    let (host, port) = (to.host_str().unwrap_or_default(), to.port_or_known_default().unwrap_or_default());
    if to.scheme() != "https" {
        return Err(StoreError::refused(format!("the server redirects to `{host}` without encryption"), fix));
    }
    if (to.host(), to.port_or_known_default()) != (from.host(), from.port_or_known_default()) {
        return Err(StoreError::refused(
            format!("the server redirects to another host, `{host}:{port}`; it was not followed"),
            fix,
        ));
    }
    Ok(to)
}

fn send(client: &Client, pace: &Pace, request: Request) -> io::Result<Response> {
    let answer = pace.wait(client.execute(request))?;
    answer.map_err(|error| pace.end(StoreError::unreachable(chain(&error))))
}

/// Returns a successful response; any other ends the poll with its class.
fn accepted(pace: &Pace, response: Response, has_credentials: bool) -> io::Result<Response> {
    let status = response.status();
    if status.is_success() { Ok(response) } else { Err(pace.end(refusal(status, has_credentials))) }
}

/// Returns the error for a response that is not successful.
fn refusal(status: StatusCode, has_credentials: bool) -> StoreError {
    match status {
        StatusCode::UNAUTHORIZED if has_credentials => {
            StoreError::unauthenticated("HTTP 401; check the credentials in the file of `credentialsFrom`")
        }
        StatusCode::UNAUTHORIZED => {
            StoreError::unauthenticated("HTTP 401, and no credentials are declared; set `credentialsFrom`")
        }
        StatusCode::FORBIDDEN => {
            StoreError::denied("HTTP 403; permit the user of the credentials to read this repository")
        }
        StatusCode::NOT_FOUND | StatusCode::GONE => StoreError::vanished(
            "the repository",
            "check the URL and the permissions: many servers respond 404 without permission",
        ),
        StatusCode::TOO_MANY_REQUESTS => StoreError::unreachable("HTTP 429: the server limits the rate of requests"),
        _ => StoreError::unreachable(format!("the server responded HTTP {status}")),
    }
}

/// Formats an error with its causes and the next step, without the URL, which other messages name.
fn chain(error: &reqwest::Error) -> String {
    let causes = causes(error);
    let hint = if causes.contains("dns error") {
        "; check the host in `url` and the name servers of this machine"
    } else if causes.contains("invalid peer certificate") {
        "; check `authoritiesFile`, the host in `url` and the clock of this machine"
    } else {
        ""
    };
    causes + hint
}

fn causes(error: &reqwest::Error) -> String {
    let mut text = String::from(if error.is_connect() { "connecting failed" } else { "the exchange failed" });
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        text.push_str(": ");
        text.extend(cause.to_string().chars().take(200).flat_map(char::escape_default));
        source = cause.source();
    }
    text
}

fn parsed(line: &str) -> Option<(HeaderName, HeaderValue)> {
    let (name, value) = line.split_once(':')?;
    Some((name.trim().parse().ok()?, value.trim().parse().ok()?))
}

impl Http for HttpClient {
    type Headers = Headers;
    type ResponseBody = Body;
    type PostBody = PostBody;

    fn get(
        &mut self,
        url: &str,
        base_url: &str,
        headers: impl IntoIterator<Item = impl AsRef<str>>,
    ) -> gix::Result<GetResponse<Headers, Body>> {
        let request = self.request(Method::GET, url, headers).map_err(gix::Error::from_error)?;
        let response = self.follow(request).map_err(gix::Error::from_error)?;
        let tail = url.strip_prefix(base_url).unwrap_or_default();
        if response.url().as_str() != url {
            let base = response.url().as_str().strip_suffix(tail).ok_or_else(|| {
                let what = "the server redirects to a URL that is not a repository";
                gix::Error::from_error(self.pace.end(StoreError::refused(what, "declare the repository's URL")))
            })?;
            self.base = Some(base.to_owned());
        }
        let exchange = Exchange::answered(self.pace.clone(), response);
        Ok(GetResponse { headers: Headers::new(exchange.clone()), body: Body::new(exchange) })
    }

    fn post(
        &mut self,
        url: &str,
        _base_url: &str,
        headers: impl IntoIterator<Item = impl AsRef<str>>,
        _body: PostBodyDataKind,
    ) -> gix::Result<PostResponse<Headers, Body, PostBody>> {
        let request = self.request(Method::POST, url, headers).map_err(gix::Error::from_error)?;
        let exchange = Exchange::prepared(self.pace.clone(), self.client.clone(), request);
        Ok(PostResponse {
            post_body: PostBody(exchange.clone()),
            headers: Headers::new(exchange.clone()),
            body: Body::new(exchange),
        })
    }

    fn configure(&mut self, _config: &dyn Any) -> gix::Result {
        Ok(())
    }

    fn redirected_base_url(&self) -> Option<String> {
        self.base.clone()
    }
}

/// One request and its response. A `POST` is sent when its response is first read: until then gix
/// writes the body.
#[derive(Clone)]
pub(crate) struct Exchange {
    pace: Arc<Pace>,
    state: Arc<Mutex<State>>,
}

enum State {
    Writing { client: Client, request: Box<Request>, body: Vec<u8> },
    Answered(Box<Response>),
    Over,
}

impl Exchange {
    fn answered(pace: Arc<Pace>, response: Response) -> Self {
        Self { pace, state: Arc::new(Mutex::new(State::Answered(Box::new(response)))) }
    }

    fn prepared(pace: Arc<Pace>, client: Client, request: Request) -> Self {
        let state = State::Writing { client, request: Box::new(request), body: Vec::new() };
        Self { pace, state: Arc::new(Mutex::new(state)) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Every change is one assignment; after a panic in between, the exchange is `Over`, which
        // reads as an end.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends the request if it has not been sent yet.
    fn ask(&self) -> io::Result<MutexGuard<'_, State>> {
        let mut state = self.state();
        if let State::Writing { .. } = *state {
            let State::Writing { client, mut request, body } = std::mem::replace(&mut *state, State::Over) else {
                unreachable!("it was just checked under the same lock");
            };
            *request.body_mut() = Some(body.into());
            let has_credentials = request.headers().contains_key(AUTHORIZATION);
            let response = send(&client, &self.pace, *request)?;
            if response.status().is_redirection() {
                let what = "the server redirects in the middle of a conversation";
                return Err(self.pace.end(StoreError::refused(what, "declare the URL that it redirects to")));
            }
            *state = State::Answered(Box::new(accepted(&self.pace, response, has_credentials)?));
        }
        Ok(state)
    }

    fn chunk(&self) -> io::Result<Vec<u8>> {
        let mut state = self.ask()?;
        let State::Answered(response) = &mut *state else { return Ok(Vec::new()) };
        let chunk = self.pace.wait(response.chunk())?;
        match chunk.map_err(|error| self.pace.end(StoreError::unreachable(chain(&error))))? {
            Some(bytes) => {
                self.pace.received(bytes.len())?;
                Ok(bytes.to_vec())
            }
            None => {
                *state = State::Over;
                Ok(Vec::new())
            }
        }
    }

    fn headers(&self) -> io::Result<Vec<u8>> {
        let state = self.ask()?;
        let State::Answered(response) = &*state else { return Ok(Vec::new()) };
        Ok(lines(response.headers()))
    }
}

fn lines(headers: &HeaderMap) -> Vec<u8> {
    let mut text = Vec::new();
    for (name, value) in headers {
        text.extend_from_slice(name.as_str().as_bytes());
        text.extend_from_slice(b": ");
        text.extend_from_slice(value.as_bytes());
        text.push(b'\n');
    }
    text
}

/// The writer of the body of a `POST`, for gix.
pub(crate) struct PostBody(Exchange);

impl Write for PostBody {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut *self.0.state() {
            State::Writing { body, .. } => {
                body.extend_from_slice(bytes);
                Ok(bytes.len())
            }
            _ => Err(io::Error::other("the request was already sent")),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The response's headers, one per line.
pub(crate) struct Headers {
    exchange: Exchange,
    text: Option<io::Cursor<Vec<u8>>>,
}

impl Headers {
    fn new(exchange: Exchange) -> Self {
        Self { exchange, text: None }
    }
}

impl Read for Headers {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.fill_buf()?.read(buffer)?;
        self.consume(read);
        Ok(read)
    }
}

impl BufRead for Headers {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.text.is_none() {
            self.text = Some(io::Cursor::new(self.exchange.headers()?));
        }
        self.text.as_mut().expect("it was just set").fill_buf()
    }

    fn consume(&mut self, read: usize) {
        if let Some(text) = &mut self.text {
            text.consume(read);
        }
    }
}

/// The response's body, as it arrives.
pub(crate) struct Body {
    exchange: Exchange,
    chunk: io::Cursor<Vec<u8>>,
}

impl Body {
    fn new(exchange: Exchange) -> Self {
        Self { exchange, chunk: io::Cursor::default() }
    }
}

impl Read for Body {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.fill_buf()?.read(buffer)?;
        self.consume(read);
        Ok(read)
    }
}

impl BufRead for Body {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.chunk.fill_buf()?.is_empty() {
            self.chunk = io::Cursor::new(self.exchange.chunk()?);
        }
        self.chunk.fill_buf()
    }

    fn consume(&mut self, read: usize) {
        self.chunk.consume(read);
    }
}
