//! One receiver: where it is, what it wants to hear, and how handing it a message went.
//!
//! The URL of a webhook is often its password, so no error and no `Debug` shows more of it than the
//! host.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use reqwest::{Client, StatusCode, Url};
use setpoint_documents::{Credentials, NotifierFormat, NotifierSpec};

use crate::form;
use crate::message::Message;

/// Why a notifier does not have a message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("notifier `{notifier}` did not take the message: {trouble}")]
pub struct DeliveryProblem {
    pub notifier: String,
    pub trouble: Trouble,
}

/// What went wrong, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Trouble {
    #[error("its URL cannot be used: write an `http` or `https` URL with a host")]
    Address,
    #[error("the credentials in {} cannot be used: {problem}", file.display())]
    Credentials { file: PathBuf, problem: String },
    #[error("{host} is reached without TLS, and its credentials would be readable on the way: use `https`")]
    Exposed { host: String },
    #[error("{host} did not answer within {} s", after.as_secs_f32())]
    Silent { host: String, after: Duration },
    #[error("{host} cannot be reached: {problem}")]
    Unreachable { host: String, problem: String },
    #[error("{host} answered {status}: {next}")]
    Answered { host: String, status: u16, next: &'static str },
}

/// A receiver of messages, as its document declares it.
#[derive(Clone)]
pub struct Notifier {
    name: String,
    url: String,
    format: NotifierFormat,
    credentials: Option<PathBuf>,
}

impl fmt::Debug for Notifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Notifier").field("name", &self.name).field("format", &self.format).finish_non_exhaustive()
    }
}

impl Notifier {
    /// `name` is what people call it: `scope/name` of its document.
    pub fn new(name: &str, spec: &NotifierSpec) -> Self {
        let file = |Credentials::File(path): &Credentials| PathBuf::from(path.as_str());
        Self {
            name: name.to_owned(),
            url: spec.url.as_str().to_owned(),
            format: spec.format,
            credentials: spec.credentials_from.as_ref().map(file),
        }
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// Hands over messages of one kind as one.
    pub(crate) async fn tell(
        &self,
        client: &Client,
        patience: Duration,
        messages: &[&Message],
    ) -> Result<(), DeliveryProblem> {
        self.post(client, patience, form::body(self.format, messages))
            .await
            .map_err(|trouble| DeliveryProblem { notifier: self.name.clone(), trouble })
    }

    async fn post(&self, client: &Client, patience: Duration, body: Vec<u8>) -> Result<(), Trouble> {
        let url = Url::parse(&self.url).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
        let url = url.ok_or(Trouble::Address)?;
        let host = url.host_str().ok_or(Trouble::Address)?.to_owned();
        let authorization = self.authorization(&url, &host).await?;
        let mut request = client.post(url).header(CONTENT_TYPE, "application/json").timeout(patience).body(body);
        if let Some(authorization) = authorization {
            request = request.header(AUTHORIZATION, authorization);
        }
        let response = request.send().await.map_err(|error| unanswered(host.clone(), patience, &error))?;
        match response.status() {
            status if status.is_success() => Ok(()),
            status => Err(Trouble::Answered { host, status: status.as_u16(), next: next(status) }),
        }
    }

    /// Read each time: a token that was rotated works at once.
    async fn authorization(&self, url: &Url, host: &str) -> Result<Option<HeaderValue>, Trouble> {
        let Some(file) = &self.credentials else { return Ok(None) };
        if url.scheme() != "https" && !is_loopback(host) {
            return Err(Trouble::Exposed { host: host.to_owned() });
        }
        let unusable = |problem: String| Trouble::Credentials { file: file.clone(), problem };
        let token = tokio::fs::read_to_string(file).await.map_err(|error| unusable(error.to_string()))?;
        let token = token.trim();
        if token.is_empty() {
            return Err(unusable("the file is empty, write the token into it".to_owned()));
        }
        let mut value = HeaderValue::from_str(&format!("Bearer {token}"))
            .map_err(|_| unusable("the file holds more than one line of plain text".to_owned()))?;
        value.set_sensitive(true);
        Ok(Some(value))
    }
}

fn is_loopback(host: &str) -> bool {
    let address = host.trim_matches(['[', ']']).parse::<std::net::IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

fn next(status: StatusCode) -> &'static str {
    match status {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => "check its URL and credentials",
        StatusCode::NOT_FOUND | StatusCode::GONE => "check its URL; the webhook may have been removed",
        status if status.is_redirection() => "redirects are not followed, write the final URL into its document",
        status if status.is_client_error() && status != StatusCode::TOO_MANY_REQUESTS => {
            "it does not understand the message, check the `format` of its document"
        }
        _ => "it is tried again later",
    }
}

/// The causes of an error are told without the URL.
fn unanswered(host: String, after: Duration, error: &reqwest::Error) -> Trouble {
    if error.is_timeout() {
        return Trouble::Silent { host, after };
    }
    let mut problem = String::from(if error.is_connect() { "connecting failed" } else { "the exchange failed" });
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        problem.push_str(": ");
        problem.extend(cause.to_string().chars().take(200).flat_map(char::escape_default));
        source = cause.source();
    }
    Trouble::Unreachable { host, problem }
}
