//! One provider: the address that a sign-in begins at, and the exchange of its code for a person.

use data_encoding::BASE64;
use reqwest::RequestBuilder;
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use serde_json::Value;
use setpoint_core::secret::Secret;
use setpoint_core::time::Timestamp;
use tokio::sync::Semaphore;

use crate::attempt::Attempt;
use crate::discovery::{Authentication, Description, Discovery};
use crate::errors::{InvalidToken, SignInError};
use crate::fetch;
use crate::id_token::{Claims, Expected, Unverified};
use crate::person::{Person, completed, lacks_something, person};
use crate::settings::{Settings, USUAL_SCOPES};

/// The most exchanges of codes at the same time.
const EXCHANGES: usize = 32;

/// A provider, with what is known of it.
#[derive(Debug)]
pub(crate) struct Provider {
    pub(crate) settings: Settings,
    discovery: Discovery,
    exchanges: Semaphore,
}

/// The tokens of a person. The access token is used once, for the user information, and dropped.
struct Tokens {
    id: Secret<String>,
    access: Option<Secret<String>>,
}

impl Provider {
    pub(crate) fn new(settings: Settings) -> Self {
        Self { settings, discovery: Discovery::default(), exchanges: Semaphore::new(EXCHANGES) }
    }

    /// Returns the address of the provider's sign-in page for an attempt.
    pub(crate) async fn page(&self, attempt: &Attempt, now: Timestamp) -> Result<String, SignInError> {
        let description = self.discovery.description(&self.settings, now).await?;
        let mut url = description.authorization.clone();
        url.query_pairs_mut()
            .append_pair("response_type", "code")
            .append_pair("client_id", &self.settings.client_id)
            .append_pair("redirect_uri", &self.settings.redirect)
            .append_pair("scope", &self.scopes(&description))
            .append_pair("state", attempt.state.open())
            .append_pair("nonce", attempt.nonce.open())
            .append_pair("code_challenge", &attempt.challenge())
            .append_pair("code_challenge_method", "S256");
        Ok(url.into())
    }

    fn scopes(&self, description: &Description) -> String {
        let lists = |scope: &str| description.scopes.is_empty() || description.scopes.iter().any(|it| it == scope);
        match &self.settings.scopes {
            Some(scopes) => scopes.join(" "),
            // Some providers refuse a request with a scope that they do not know.
            None => {
                let usual = USUAL_SCOPES.into_iter().filter(|scope| *scope == "openid" || lists(scope));
                usual.collect::<Vec<_>>().join(" ")
            }
        }
    }

    /// Returns the person whose code the provider has sent back.
    pub(crate) async fn person(
        &self,
        attempt: &Attempt,
        code: &Secret<String>,
        issuer: Option<&str>,
        now: Timestamp,
    ) -> Result<Person, SignInError> {
        let _exchange = self.exchanges.try_acquire().map_err(|_| SignInError::Busy)?;
        let description = self.discovery.description(&self.settings, now).await?;
        // Otherwise one provider could be given the code of another one (RFC 9207).
        if issuer.map_or(description.names_itself, |issuer| issuer != self.settings.issuer) {
            return Err(SignInError::OtherIssuer);
        }
        let tokens = self.tokens(&description, attempt, code).await?;
        let token = Unverified::read(&tokens.id)?;
        let keys = self.discovery.keys_for(&token, &description, now).await?;
        let (issuer, client_id) = (&self.settings.issuer, &self.settings.client_id);
        let claims = token.verify(&keys, &Expected { issuer, client_id, nonce: &attempt.nonce, now })?;
        let claims = self.with_user_information(claims, &description, tokens.access.as_ref()).await?;
        person(&claims, &self.settings)
    }

    /// Exchanges a code for tokens.
    async fn tokens(
        &self,
        description: &Description,
        attempt: &Attempt,
        code: &Secret<String>,
    ) -> Result<Tokens, SignInError> {
        let mut form = vec![
            ("grant_type", "authorization_code"),
            ("code", code.open()),
            ("redirect_uri", &self.settings.redirect),
            ("code_verifier", attempt.verifier.open()),
        ];
        let secret = match &self.settings.client_secret {
            Some(file) => Some(fetch::client_secret(file).await?),
            None => None,
        };
        let mut request = description.client.post(description.token.clone());
        match (&secret, description.authentication) {
            (Some(secret), Authentication::Basic) => request = request.header(AUTHORIZATION, self.basic(secret)),
            (Some(secret), _) => {
                form.extend([("client_id", self.settings.client_id.as_str()), ("client_secret", secret.open())]);
            }
            (None, _) => form.push(("client_id", &self.settings.client_id)),
        }
        let (status, response) = fetch::json(with_form(request, &form), "the ID token").await?;
        let text = |name: &str| response.open().get(name).and_then(Value::as_str);
        if status.is_server_error() {
            return Err(SignInError::unavailable(format!("HTTP {status} for the ID token")));
        }
        if !status.is_success() {
            let words = fetch::error_words(text("error").unwrap_or(status.as_str()), text("error_description"));
            return Err(SignInError::CodeRefused { words });
        }
        let id = text("id_token").ok_or(InvalidToken::Malformed)?;
        Ok(Tokens {
            id: Secret::new(id.to_owned()),
            access: text("access_token").map(|token| Secret::new(token.to_owned())),
        })
    }

    /// Returns the header with the client secret. Both parts are encoded as in a form, which
    /// distinguishes a colon in them (RFC 6749, 2.3.1).
    fn basic(&self, secret: &Secret<String>) -> HeaderValue {
        let encoded = |text: &str| form_encoded(&[("", text)]).split_off(1);
        let pair = format!("{}:{}", encoded(&self.settings.client_id), encoded(secret.open()));
        sensitive(&format!("Basic {}", BASE64.encode(pair.as_bytes())))
    }

    /// Adds what the ID token lacks from the user information of the provider, if it has any.
    async fn with_user_information(
        &self,
        claims: Claims,
        description: &Description,
        access: Option<&Secret<String>>,
    ) -> Result<Claims, SignInError> {
        let (Some(url), Some(access)) = (&description.user_information, access) else { return Ok(claims) };
        if !lacks_something(&claims, &self.settings) {
            return Ok(claims);
        }
        let is_token = |token: &str| token.bytes().all(|b| b.is_ascii_graphic());
        let access = Some(access.open()).filter(|token| is_token(token)).ok_or(InvalidToken::Malformed)?;
        let bearer = sensitive(&format!("Bearer {access}"));
        let request = description.client.get(url.clone()).header(AUTHORIZATION, bearer);
        let (status, response) = fetch::json(request, "the user information").await?;
        if !status.is_success() {
            return Err(SignInError::unavailable(format!("HTTP {status} for the user information")));
        }
        let more = response.open().as_object().cloned().unwrap_or_default();
        // A token of another person must not bring its rights along.
        if more.get("sub").and_then(Value::as_str) != claims.get("sub").and_then(Value::as_str) {
            return Err(SignInError::OtherPerson);
        }
        Ok(completed(claims, more))
    }
}

/// Returns a header that no log shows. Its text is printable ASCII.
fn sensitive(text: &str) -> HeaderValue {
    let mut value = HeaderValue::from_str(text).expect("printable ASCII");
    value.set_sensitive(true);
    value
}

fn with_form(request: RequestBuilder, fields: &[(&str, &str)]) -> RequestBuilder {
    request.header(CONTENT_TYPE, "application/x-www-form-urlencoded").body(form_encoded(fields))
}

fn form_encoded(fields: &[(&str, &str)]) -> String {
    serde_urlencoded::to_string(fields).expect("pairs of texts have this form")
}
