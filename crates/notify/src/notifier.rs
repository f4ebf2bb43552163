//! One receiver: its address, its format, and the result of each delivery.
//!
//! The URL of a webhook is often its password, so errors and `Debug` show only its host.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use reqwest::{Client, StatusCode, Url};
use setpoint_documents::{Credentials, NotifierFormat, NotifierSpec};

use crate::form;
use crate::message::Message;

/// The reason why a notifier did not accept a message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("notifier `{notifier}` did not accept the message: {trouble}")]
pub struct DeliveryProblem {
    pub notifier: String,
    pub trouble: Trouble,
}

/// The cause of a failed delivery, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Trouble {
    #[error("its URL cannot be used: write an `http` or `https` URL with a host")]
    Address,
    #[error("the credentials in {} cannot be used: {problem}", file.display())]
    Credentials { file: PathBuf, problem: String },
    #[error("the credentials for {host} would be sent without TLS: use `https`")]
    Exposed { host: String },
    #[error("{host} did not respond within {} s", after.as_secs_f32())]
    Silent { host: String, after: Duration },
    #[error("cannot reach {host}: {problem}")]
    Unreachable { host: String, problem: String },
    #[error("{host} returned {status}: {next}")]
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
    /// Creates a notifier. `name` is its name for people: `scope/name` of its document.
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

    /// Sends messages of one kind in one request.
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

    /// Returns the authorization header. The file is read each time, so a rotated token works at
    /// once.
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
            "it rejects the message, check the `format` of its document"
        }
        _ => "Setpoint tries again later",
    }
}

/// Describes a failed request. The causes of the error are included without the URL.
fn unanswered(host: String, after: Duration, error: &reqwest::Error) -> Trouble {
    if error.is_timeout() {
        return Trouble::Silent { host, after };
    }
    let mut problem = String::from(if error.is_connect() { "connecting failed" } else { "the request failed" });
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        problem.push_str(": ");
        problem.extend(cause.to_string().chars().take(200).flat_map(char::escape_default));
        source = cause.source();
    }
    Trouble::Unreachable { host, problem }
}
