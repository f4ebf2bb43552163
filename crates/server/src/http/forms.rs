//! The forms of sign-in, sign-out and first set-up, and the body of every form.

use std::sync::Arc;

use axum::Extension;
use axum::Router;
use axum::body::Bytes;
use axum::extract::{FromRequest, Query, Request, State};
use axum::http::StatusCode;
use axum::http::header::{CONTENT_TYPE, SET_COOKIE};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{get, post};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use setpoint_accounts::{AccountsError, Author, Client, NewSession, Password, SetUpError, SignInError};
use setpoint_api::{Caller, Problem, ProblemKind};

use super::identity::{SignIn, author, cookie_of, forged, no_cookie, session_id};
use super::{Shared, SharedState, redirect};
use crate::pages::set_up::{self, SetUpView};
use crate::pages::sign_in::{self, SignInView};
use crate::pages::{Chrome, Section};

pub(super) fn routes() -> Router<Arc<Shared>> {
    Router::new()
        .route("/sign-in", get(sign_in_page).post(sign_in))
        .route("/sign-out", post(sign_out))
        .route("/set-up", get(set_up_page).post(set_up))
}

/// The body of a form.
pub(super) struct Form<T>(pub(super) T);

impl<T: DeserializeOwned> FromRequest<Arc<Shared>> for Form<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, shared: &Arc<Shared>) -> Result<Self, Problem> {
        let wrong = |message: String| Problem::new(ProblemKind::Question, message);
        let kind = request.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        if kind.split(';').next().map(str::trim) != Some("application/x-www-form-urlencoded") {
            return Err(wrong("the body is not that of a form".to_owned()));
        }
        let body = Bytes::from_request(request, shared).await.map_err(|error| wrong(error.to_string()))?;
        serde_urlencoded::from_bytes(&body).map(Self).map_err(|error| wrong(format!("cannot parse the form: {error}")))
    }
}

/// A form of a signed-in visitor carries the token of the session.
pub(super) fn is_ours(sign_in: &SignIn, csrf: &str) -> Result<(), Problem> {
    match sign_in.session() {
        Some(session) if session.accepts(csrf) => Ok(()),
        _ => Err(forged()),
    }
}

fn chrome(shared: &Shared, title: &str) -> Chrome {
    Chrome { base: shared.base().to_owned(), ..Chrome::new(title, Section::Other, shared.now()) }
}

#[derive(Deserialize)]
pub(super) struct SignInQuery {
    #[serde(default)]
    pub(super) next: String,
}

/// Returns the page to open after a sign-in: a path of this server, never another one.
pub(super) fn page_after<'a>(shared: &Shared, next: &'a str) -> Option<&'a str> {
    // Browsers remove tabs and line ends from addresses, and take a backslash for a slash.
    let is_plain = next.bytes().all(|b| b.is_ascii_graphic() && b != b'\\');
    let is_path = is_plain && next.starts_with('/') && !next.starts_with("//");
    let is_ours = next.strip_prefix(shared.base()).is_some_and(|rest| rest.starts_with('/'));
    (is_path && is_ours).then_some(next)
}

async fn sign_in_page(State(shared): SharedState, Query(query): Query<SignInQuery>) -> Html<String> {
    sign_in_form(&shared, &query.next, String::new(), None)
}

/// Renders the sign-in page, with all ways to sign in.
pub(super) fn sign_in_form(shared: &Shared, next: &str, account: String, problem: Option<String>) -> Html<String> {
    let titles = shared.providers.titles();
    let view = SignInView {
        with_password: true,
        providers: titles.map(|(name, title)| (name.to_owned(), title.to_owned())).collect(),
        account,
        problem,
        next: page_after(shared, next).unwrap_or_default().to_owned(),
    };
    Html(sign_in::page(&chrome(shared, "Sign in"), &view))
}

#[derive(Deserialize)]
struct SignInForm {
    account: String,
    password: String,
    #[serde(default)]
    next: String,
}

async fn sign_in(
    State(shared): SharedState,
    client: Option<Extension<Client>>,
    former: Option<Extension<SignIn>>,
    Form(form): Form<SignInForm>,
) -> Response {
    let Some(Extension(client)) = client else { return forged().into_response() };
    let password = Password::new(form.password);
    let begun = shared.accounts.sign_in(&form.account, &password, &client, shared.now()).await;
    match begun {
        Ok(begun) => signed_in(&shared, &begun, former.as_deref(), &form.next).await,
        Err(error) => {
            let status = match &error {
                SignInError::Wrong => StatusCode::UNAUTHORIZED,
                SignInError::TooMany { .. } => StatusCode::TOO_MANY_REQUESTS,
                SignInError::Unavailable { .. } => StatusCode::SERVICE_UNAVAILABLE,
            };
            let page = sign_in_form(&shared, &form.next, form.account, Some(error.to_string()));
            (status, page).into_response()
        }
    }
}

/// Sets the cookie of a session that has begun, and opens the next page.
pub(super) async fn signed_in(shared: &Shared, begun: &NewSession, former: Option<&SignIn>, next: &str) -> Response {
    // The session that the browser had before ends: no one continues it unnoticed.
    if let Some(former) = session_id(former) {
        let via = begun.session.via.to_string();
        let reason = "the browser signed in again";
        let by = Author { actor: &begun.session.actor, via: &via, reason, now: shared.now() };
        shared.accounts.end_session(&former, &by).await.ok();
    }
    let mut response = match page_after(shared, next) {
        Some(next) => redirect(next),
        None => redirect(&format!("{}/apps", shared.base())),
    };
    response.headers_mut().insert(SET_COOKIE, cookie_of(&begun.cookie));
    response
}

#[derive(Deserialize)]
struct CsrfForm {
    csrf: String,
}

async fn sign_out(
    State(shared): SharedState,
    sign_in: Option<Extension<SignIn>>,
    caller: Option<Extension<Caller>>,
    Form(form): Form<CsrfForm>,
) -> Response {
    if let Some((Extension(sign_in), Extension(caller))) = sign_in.zip(caller) {
        if let Err(problem) = is_ours(&sign_in, &form.csrf) {
            return problem.into_response();
        }
        if let Some(session) = sign_in.session() {
            shared.accounts.end_session(&session.id, &author(&shared, &caller, "")).await.ok();
        }
    }
    let mut response = redirect(&format!("{}/sign-in", shared.base()));
    response.headers_mut().insert(SET_COOKIE, no_cookie());
    response
}

#[derive(Deserialize)]
struct SetUpQuery {
    token: Option<String>,
}

async fn set_up_page(State(shared): SharedState, Query(query): Query<SetUpQuery>) -> Html<String> {
    // If this cannot be read, the form is shown, and sending it reports the problem.
    let is_used = shared.accounts.is_set_up().await.unwrap_or(false);
    let view = SetUpView { token: query.token.filter(|_| !is_used), ..SetUpView::default() };
    Html(set_up::page(&chrome(&shared, "Set up"), &view))
}

#[derive(Deserialize)]
struct SetUpForm {
    token: String,
    account: String,
    password: String,
    again: String,
}

async fn set_up(
    State(shared): SharedState,
    client: Option<Extension<Client>>,
    Form(mut form): Form<SetUpForm>,
) -> Response {
    let Some(Extension(client)) = client else { return forged().into_response() };
    if form.again != form.password {
        return not_set_up(&shared, form, "the passwords differ: type the same one twice".to_owned());
    }
    let password = Password::new(std::mem::take(&mut form.password));
    let created = shared.accounts.set_up(&form.token, &form.account, &password, shared.now()).await;
    let problem = match created {
        Ok(_) => match shared.accounts.sign_in(&form.account, &password, &client, shared.now()).await {
            Ok(begun) => return signed_in(&shared, &begun, None, "").await,
            Err(error) => error.to_string(),
        },
        Err(SetUpError::Account { source }) => whole(&source),
        Err(SetUpError::InvalidLink) => {
            let page = set_up::page(&chrome(&shared, "Set up"), &SetUpView::default());
            return (StatusCode::BAD_REQUEST, Html(page)).into_response();
        }
    };
    not_set_up(&shared, form, problem)
}

/// Renders the set-up form again, with the reason why it had no effect.
fn not_set_up(shared: &Shared, form: SetUpForm, problem: String) -> Response {
    let view = SetUpView { token: Some(form.token), account: form.account, problem: Some(problem) };
    (StatusCode::BAD_REQUEST, Html(set_up::page(&chrome(shared, "Set up"), &view))).into_response()
}

/// Returns an error with its sources, as one text.
pub(super) fn whole(error: &AccountsError) -> String {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(next) = source {
        text.push_str(&format!(": {next}"));
        source = next.source();
    }
    text
}
