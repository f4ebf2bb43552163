//! Requests to a provider, with limits on time and size. No redirect is followed: it could send a
//! code or a token elsewhere.

use std::error::Error;
use std::path::Path;

use reqwest::{Certificate, Client, RequestBuilder, StatusCode, Url};
use serde_json::Value;
use setpoint_core::secret::Secret;

use crate::errors::SignInError;
use crate::person::is_invisible;
use crate::settings::Settings;

/// The most bytes of a response.
const LONGEST_RESPONSE: usize = 1024 * 1024;

/// The most bytes of the file with a client secret.
const LONGEST_SECRET: usize = 4_096;

/// The most characters of a text of the provider that are shown.
const LONGEST_WORDS: usize = 300;

/// Builds the client. It trusts only the given CA certificates, or those of the system.
pub(crate) async fn client(settings: &Settings) -> Result<Client, SignInError> {
    let mut builder = Client::builder()
        .no_proxy()
        .referer(false)
        .redirect(reqwest::redirect::Policy::none())
        // A code can be used once: a request with it is not repeated.
        .retry(reqwest::retry::never())
        .timeout(settings.patience)
        // Sign-ins are rare: no connection stays open between them.
        .pool_max_idle_per_host(0);
    if let Some(file) = &settings.authorities {
        let unusable = |problem: String| {
            let file = file.display();
            SignInError::unavailable(format!("the CA certificates in {file} cannot be used: {problem}"))
        };
        let pem = read(file).await.map_err(unusable)?;
        let certificates = Certificate::from_pem_bundle(&pem).map_err(|error| unusable(causes(&error)))?;
        if certificates.is_empty() {
            return Err(unusable("it holds no certificate".to_owned()));
        }
        builder = builder.tls_certs_only(certificates);
    }
    builder.build().map_err(|error| SignInError::unavailable(format!("TLS cannot be set up: {}", causes(&error))))
}

/// Reads the file with the client secret.
pub(crate) async fn client_secret(file: &Path) -> Result<Secret<String>, SignInError> {
    let unusable = |problem: String| {
        let file = file.display();
        SignInError::unavailable(format!("the client secret in {file} cannot be read: {problem}"))
    };
    let bytes = read(file).await.map_err(unusable)?;
    let text = String::from_utf8(bytes).map_err(|_| unusable("it is not UTF-8".to_owned()))?;
    let text = text.trim_end_matches(['\r', '\n']);
    if text.is_empty() || text.len() > LONGEST_SECRET {
        return Err(unusable(format!("expected 1 to {LONGEST_SECRET} bytes")));
    }
    Ok(Secret::new(text.to_owned()))
}

async fn read(file: &Path) -> Result<Vec<u8>, String> {
    tokio::fs::read(file).await.map_err(|error| error.to_string())
}

/// Sends a request, and reads the JSON of its response. `what` names the content for messages.
pub(crate) async fn json(request: RequestBuilder, what: &str) -> Result<(StatusCode, Secret<Value>), SignInError> {
    let request = request.header(reqwest::header::ACCEPT, "application/json");
    let lost = |error: &reqwest::Error| {
        let host = error.url().and_then(Url::host_str).unwrap_or_default().to_owned();
        SignInError::unavailable(format!("no response of {host} for {what}: {}", causes(error)))
    };
    let mut response = request.send().await.map_err(|error| lost(&error))?;
    let status = response.status();
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| lost(&error))? {
        if body.len() + chunk.len() > LONGEST_RESPONSE {
            let problem = format!("{what} has more than {LONGEST_RESPONSE} bytes");
            return Err(SignInError::unavailable(problem));
        }
        body.extend_from_slice(&chunk);
    }
    match serde_json::from_slice(&body) {
        Ok(value) => Ok((status, Secret::new(value))),
        Err(_) if !status.is_success() => Err(SignInError::unavailable(format!("HTTP {status} for {what}"))),
        Err(_) => Err(SignInError::unavailable(format!("{what} is not JSON"))),
    }
}

/// Returns an error with its causes, without any URL.
fn causes(error: &reqwest::Error) -> String {
    if error.is_timeout() {
        return "it took too long".to_owned();
    }
    // The text of the error itself contains the URL; the causes say more.
    let mut text = String::new();
    let mut source = error.source();
    while let Some(cause) = source {
        if !text.is_empty() {
            text.push_str(": ");
        }
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    if text.is_empty() { "the response is malformed".to_owned() } else { text }
}

/// Returns a text of the provider, shortened, with visible characters only.
pub(crate) fn words(text: &str) -> String {
    text.chars().filter(|c| !is_invisible(*c)).take(LONGEST_WORDS).collect()
}

/// Returns the code of an OAuth error and its description.
pub(crate) fn error_words(error: &str, description: Option<&str>) -> String {
    match description {
        Some(description) => words(&format!("{error}: {description}")),
        None => words(error),
    }
}
