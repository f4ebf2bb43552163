//! The published description of a provider and its keys: fetched at the first sign-in, used for an
//! hour, and the keys again if a token names an unknown one.

use std::net::IpAddr;
use std::sync::Arc;

use reqwest::{Client, Url};
use serde::Deserialize;
use serde_json::Value;
use setpoint_core::time::{Span, Timestamp};
use tokio::sync::Mutex;

use crate::errors::SignInError;
use crate::fetch;
use crate::id_token::Unverified;
use crate::keys::KeySet;
use crate::settings::Settings;

/// The time in which the description and the keys are used without a request.
const VALIDITY: Span = Span::hours(1);

/// The least time between two requests for keys.
const BETWEEN_KEYS: Span = Span::minutes(1);

/// A failure is not tried again for as long as a request may take, and this much longer. So people
/// who wait for a provider that is down all get the response to the first one's request.
const AFTER_FAILURE: Span = Span::seconds(5);

/// The description of a provider.
#[derive(Debug)]
pub(crate) struct Description {
    pub(crate) client: Client,
    pub(crate) authorization: Url,
    pub(crate) token: Url,
    keys: Url,
    pub(crate) user_information: Option<Url>,
    /// The scopes that the provider lists; empty if it lists none.
    pub(crate) scopes: Vec<String>,
    pub(crate) authentication: Authentication,
    /// The provider names itself in each response, so a response without its name is not its own.
    pub(crate) names_itself: bool,
}

/// The way in which a client proves to the provider who it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Authentication {
    /// A public client has nothing to prove.
    None,
    Basic,
    Post,
}

/// The document below `/.well-known`.
#[derive(Deserialize)]
struct Document {
    issuer: String,
    authorization_endpoint: String,
    token_endpoint: String,
    jwks_uri: String,
    userinfo_endpoint: Option<String>,
    #[serde(default)]
    scopes_supported: Vec<String>,
    token_endpoint_auth_methods_supported: Option<Vec<String>>,
    #[serde(default)]
    authorization_response_iss_parameter_supported: bool,
}

/// What is known of a provider. Requests for the same are made one at a time.
#[derive(Debug, Default)]
pub(crate) struct Discovery {
    description: Mutex<Described>,
    keys: Mutex<Option<FetchedKeys>>,
}

#[derive(Debug, Default)]
struct Described {
    present: Option<(Arc<Description>, Timestamp)>,
    failure: Option<(SignInError, Timestamp)>,
}

#[derive(Debug)]
struct FetchedKeys {
    from: Url,
    keys: Arc<KeySet>,
    at: Timestamp,
}

impl Discovery {
    /// Returns the description of the provider.
    pub(crate) async fn description(
        &self,
        settings: &Settings,
        now: Timestamp,
    ) -> Result<Arc<Description>, SignInError> {
        let mut known = self.description.lock().await;
        if let Some((description, at)) = &known.present
            && is_recent(*at, now, VALIDITY)
        {
            return Ok(Arc::clone(description));
        }
        let patience = Span::millis(u64::try_from(settings.patience.as_millis()).unwrap_or(u64::MAX));
        if let Some((failure, at)) = &known.failure
            && is_recent(*at, now, patience + AFTER_FAILURE)
        {
            return Err(failure.clone());
        }
        let described = describe(settings).await.map(Arc::new);
        known.failure = described.as_ref().err().map(|failure| (failure.clone(), now));
        let description = described?;
        known.present = Some((Arc::clone(&description), now));
        Ok(description)
    }

    /// Returns the keys of the provider. They are fetched again if none of them fits the token,
    /// but not more often than once a minute.
    pub(crate) async fn keys_for(
        &self,
        token: &Unverified,
        description: &Description,
        now: Timestamp,
    ) -> Result<Arc<KeySet>, SignInError> {
        let mut known = self.keys.lock().await;
        if let Some(FetchedKeys { from, keys, at }) = &*known {
            let lasts = if token.is_known_to(keys) { VALIDITY } else { BETWEEN_KEYS };
            if *from == description.keys && is_recent(*at, now, lasts) {
                return Ok(Arc::clone(keys));
            }
        }
        let request = description.client.get(description.keys.clone());
        let (status, document) = fetch::json(request, "its keys").await?;
        let keys = Some(document.open()).filter(|_| status.is_success()).and_then(KeySet::read);
        let keys = keys.ok_or_else(|| SignInError::unavailable(format!("HTTP {status} and no keys")))?;
        let keys = Arc::new(keys);
        *known = Some(FetchedKeys { from: description.keys.clone(), keys: Arc::clone(&keys), at: now });
        Ok(keys)
    }
}

/// Reports whether an instant is in the past, but not for longer than this.
fn is_recent(at: Timestamp, now: Timestamp, span: Span) -> bool {
    at <= now && now.since(at) < span
}

async fn describe(settings: &Settings) -> Result<Description, SignInError> {
    let client = fetch::client(settings).await?;
    let url = format!("{}/.well-known/openid-configuration", settings.issuer.trim_end_matches('/'));
    let (status, document) = fetch::json(client.get(url), "its description").await?;
    if !status.is_success() {
        return Err(SignInError::unavailable(format!("HTTP {status} for its description: check `issuer`")));
    }
    described(client, document.open(), settings)
}

fn described(client: Client, document: &Value, settings: &Settings) -> Result<Description, SignInError> {
    let document = Document::deserialize(document)
        .map_err(|error| SignInError::unavailable(format!("its description is malformed: {error}")))?;
    if document.issuer != settings.issuer {
        let (itself, issuer) = (fetch::words(&document.issuer), &settings.issuer);
        let problem = format!("it names itself `{itself}`, and `issuer` is `{issuer}`: they must be equal");
        return Err(SignInError::unavailable(problem));
    }
    let endpoint = |text: &str| endpoint(text, settings);
    Ok(Description {
        authorization: endpoint(&document.authorization_endpoint)?,
        token: endpoint(&document.token_endpoint)?,
        keys: endpoint(&document.jwks_uri)?,
        user_information: document.userinfo_endpoint.as_deref().map(endpoint).transpose()?,
        scopes: document.scopes_supported,
        authentication: match settings.client_secret {
            Some(_) => authentication(document.token_endpoint_auth_methods_supported.as_deref())?,
            None => Authentication::None,
        },
        names_itself: document.authorization_response_iss_parameter_supported,
        client,
    })
}

/// Reads the address of an endpoint. It is reached over HTTPS, or on this machine if the issuer is
/// on this machine, too.
fn endpoint(text: &str, settings: &Settings) -> Result<Url, SignInError> {
    let problem = || {
        let text = fetch::words(text);
        SignInError::unavailable(format!("its description names `{text}`, which is not an HTTPS address"))
    };
    let url = Url::parse(text).map_err(|_| problem())?;
    let host = url.host_str().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
    let is_local = host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
    let is_protected = match url.scheme() {
        "https" => true,
        "http" => is_local && settings.issuer.starts_with("http://"),
        _ => false,
    };
    if is_protected { Ok(url) } else { Err(problem()) }
}

/// Chooses the way to send the client secret. `client_secret_basic` is the default of the specification.
fn authentication(supported: Option<&[String]>) -> Result<Authentication, SignInError> {
    let Some(supported) = supported else { return Ok(Authentication::Basic) };
    let supports = |method: &str| supported.iter().any(|supported| supported == method);
    match () {
        () if supports("client_secret_basic") => Ok(Authentication::Basic),
        () if supports("client_secret_post") => Ok(Authentication::Post),
        () => {
            let problem = "it supports neither `client_secret_basic` nor `client_secret_post` at its token endpoint";
            Err(SignInError::unavailable(problem))
        }
    }
}
