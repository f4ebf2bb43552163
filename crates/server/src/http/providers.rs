//! Sign-in at identity providers: the way there, and the way back.

use std::sync::Arc;

use axum::extract::{Path, Query, State};
use axum::http::header::{HeaderValue, SET_COOKIE};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Extension, Router};
use serde::Deserialize;
use setpoint_accounts::{AccountsError, Client, Identity, NewSession};
use setpoint_core::secret::Secret;
use setpoint_core::time::Timestamp;
use setpoint_oidc::{Callback, Failure, Person, Remedy, SignInError, SignedIn, VALIDITY};

use super::forms::{SignInQuery, page_after, sign_in_form, signed_in, whole};
use super::identity::{SignIn, cookie, forged};
use super::{Shared, SharedState, redirect};

/// The name of the cookie of a sign-in that is under way. It goes along when the provider sends the
/// browser back, since that opens a page, but not with any other request from another site.
const COOKIE_NAME: &str = "__Host-setpoint-sign-in";

pub(super) fn routes() -> Router<Arc<Shared>> {
    Router::new().route("/sign-in/{provider}", get(begin)).route("/sign-in/{provider}/callback", get(finish))
}

/// Sends the browser to the provider.
async fn begin(State(shared): SharedState, Path(provider): Path<String>, Query(query): Query<SignInQuery>) -> Response {
    let next = page_after(&shared, &query.next).unwrap_or_default();
    match shared.providers.begin(&provider, next, shared.now()).await {
        Ok(start) => {
            let mut response = redirect(&start.page);
            response.headers_mut().insert(SET_COOKIE, cookie_of(&start.cookie));
            response
        }
        Err(error) => refused(&shared, status(&error), error.to_string(), next),
    }
}

/// The parameters that a provider adds to the address of this server.
#[derive(Deserialize)]
struct CallbackQuery {
    #[serde(default)]
    state: String,
    code: Option<String>,
    iss: Option<String>,
    error: Option<String>,
    error_description: Option<String>,
}

impl From<CallbackQuery> for Callback {
    fn from(query: CallbackQuery) -> Self {
        let CallbackQuery { state, code, iss: issuer, error, error_description } = query;
        Self { state, code: code.map(Secret::new), issuer, error, error_description }
    }
}

/// Begins the session of a person whom the provider has sent back.
async fn finish(
    State(shared): SharedState,
    Path(provider): Path<String>,
    Query(query): Query<CallbackQuery>,
    client: Option<Extension<Client>>,
    former: Option<Extension<SignIn>>,
    headers: HeaderMap,
) -> Response {
    let Some(Extension(client)) = client else { return forged().into_response() };
    let now = shared.now();
    let attempt = cookie(&headers, COOKIE_NAME);
    let mut response = match shared.providers.finish(&provider, attempt, &query.into(), now).await {
        Ok(SignedIn { person, next }) => match session(&shared, &provider, person, &client, now).await {
            Ok(begun) => signed_in(&shared, &begun, former.as_deref(), &next).await,
            Err(error) => {
                let text = format!("the provider has signed you in, but Setpoint cannot: {}", whole(&error));
                shared.installation.record_refusal(&provider, &text);
                let status = match error {
                    AccountsError::Name { .. } | AccountsError::TooManyGroups { .. } => StatusCode::FORBIDDEN,
                    _ => StatusCode::SERVICE_UNAVAILABLE,
                };
                refused(&shared, status, text, &next)
            }
        },
        // A sign-in that is under way in this browser goes on.
        Err(Failure { error: SignInError::NotBegun, next }) => {
            return refused(&shared, StatusCode::BAD_REQUEST, SignInError::NotBegun.to_string(), &next);
        }
        Err(Failure { error, next }) => {
            if error.is_worth_a_record() {
                shared.installation.record_refusal(&provider, &error.to_string());
            }
            refused(&shared, status(&error), error.to_string(), &next)
        }
    };
    response.headers_mut().append(SET_COOKIE, no_cookie());
    response
}

async fn session(
    shared: &Shared,
    provider: &str,
    person: Person,
    client: &Client,
    now: Timestamp,
) -> Result<NewSession, AccountsError> {
    let Person { subject, name, email, groups } = person;
    let identity = Identity { provider: provider.to_owned(), subject, name, email, groups };
    shared.accounts.begin_session(&identity, client, now).await
}

/// Renders the sign-in page with a problem: other ways to sign in still work.
fn refused(shared: &Shared, status: StatusCode, problem: String, next: &str) -> Response {
    (status, sign_in_form(shared, next, String::new(), Some(problem))).into_response()
}

fn status(error: &SignInError) -> StatusCode {
    match (error, error.remedy()) {
        (SignInError::NoSuchProvider { .. }, _) => StatusCode::NOT_FOUND,
        (_, Remedy::Again) => StatusCode::BAD_REQUEST,
        (_, Remedy::Wait) => StatusCode::SERVICE_UNAVAILABLE,
        (_, Remedy::Administrator) => StatusCode::FORBIDDEN,
    }
}

fn cookie_of(attempt: &Secret<String>) -> HeaderValue {
    let seconds = VALIDITY.as_millis() / 1_000;
    let (text, properties) = (attempt.open(), "Path=/; Secure; HttpOnly; SameSite=Lax");
    let text = format!("{COOKIE_NAME}={text}; {properties}; Max-Age={seconds}");
    let mut value = HeaderValue::from_str(&text).expect("cookies are base64");
    value.set_sensitive(true);
    value
}

fn no_cookie() -> HeaderValue {
    HeaderValue::from_static("__Host-setpoint-sign-in=; Path=/; Secure; HttpOnly; SameSite=Lax; Max-Age=0")
}
