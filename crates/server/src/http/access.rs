//! The pages on which administrators manage accounts, machine tokens and open sessions, and that on
//! which people change their own password.

use std::mem;
use std::sync::Arc;

use axum::extract::{FromRequestParts, State};
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use axum::{Extension, Router};
use serde::Deserialize;
use setpoint_accounts::{
    Account, AccountsError, Change, Client, IssuedToken, NewAccount, NewToken, Password, SessionId, SignInError,
};
use setpoint_api::{Principal, Problem, ProblemKind, Rights};
use setpoint_core::time::Span;

use super::forms::{Form, is_ours, whole};
use super::identity::{SignIn, forged};
use super::visit::Visit;
use super::{Shared, SharedState, redirect};
use crate::pages::access::{self, AccountsView, PasswordView, Refused, SessionsView, TokensView};
use crate::pages::who_may::{self, RightsQuery, RightsView};
use crate::pages::{Chrome, Section, words};

pub(super) fn routes() -> Router<Arc<Shared>> {
    Router::new()
        .route("/access", get(accounts))
        .route("/access/accounts", get(accounts).post(change_account))
        .route("/access/tokens", get(tokens).post(change_token))
        .route("/access/sessions", get(sessions).post(end_session))
        .route("/access/rights", get(rights))
        .route("/account", get(own_account).post(change_own_password))
}

fn missing() -> Problem {
    Problem::new(ProblemKind::Missing, "there is no such page")
}

/// A visitor who may administer accounts. For all others the pages do not exist.
///
/// Handlers name it before the form: the rights are checked before the form is read.
struct Administrator(Visit);

impl FromRequestParts<Arc<Shared>> for Administrator {
    type Rejection = Response;

    async fn from_request_parts(head: &mut Parts, shared: &Arc<Shared>) -> Result<Self, Response> {
        let visit = Visit::from_request_parts(head, shared).await?;
        if visit.administers() { Ok(Self(visit)) } else { Err(visit.problem(shared, &missing())) }
    }
}

/// The reason why a form has no effect.
struct Refusal {
    status: StatusCode,
    text: String,
}

impl Refusal {
    fn new(status: StatusCode, text: impl Into<String>) -> Self {
        Self { status, text: text.into() }
    }

    fn invalid(text: &str) -> Self {
        Self::new(StatusCode::BAD_REQUEST, text)
    }
}

impl From<AccountsError> for Refusal {
    fn from(error: AccountsError) -> Self {
        let status = match &error {
            AccountsError::Database { .. }
            | AccountsError::Damaged { .. }
            | AccountsError::Randomness { .. }
            | AccountsError::Hashing { .. } => StatusCode::SERVICE_UNAVAILABLE,
            AccountsError::NameTaken { .. } | AccountsError::LastAdministrator { .. } => StatusCode::CONFLICT,
            AccountsError::NoSuchAccount => StatusCode::NOT_FOUND,
            _ => StatusCode::BAD_REQUEST,
        };
        Self::new(status, whole(&error))
    }
}

fn unavailable(error: &AccountsError) -> Problem {
    Problem::new(ProblemKind::Unavailable, whole(error))
}

/// Renders a page with a status, or the problem that prevents it.
fn shown(shared: &Shared, visit: &Visit, status: StatusCode, page: Result<String, AccountsError>) -> Response {
    match page {
        Ok(page) => (status, Html(page)).into_response(),
        Err(error) => visit.problem(shared, &unavailable(&error)),
    }
}

/// Redirects to a page that shows a change.
fn changed(shared: &Shared, visit: &Visit, change: &Change, path: &str) -> Response {
    shared.notices.put(&visit.session.id, words::sentence(&change.to_string()));
    redirect(&format!("{}{path}", shared.base()))
}

fn chrome(shared: &Shared, visit: &Visit) -> Chrome {
    visit.chrome(shared, "Access", Section::Access)
}

/// Checks that a reason is there, which is recorded.
fn require_reason(reason: &str) -> Result<(), Refusal> {
    if reason.trim().is_empty() { Err(Refusal::invalid("a reason is required")) } else { Ok(()) }
}

async fn accounts(State(shared): SharedState, Administrator(visit): Administrator) -> Response {
    let selected = visit.parameter("account");
    let page = accounts_page(&shared, &visit, selected.as_deref(), None).await;
    shown(&shared, &visit, StatusCode::OK, page)
}

/// Renders the accounts with the forms of one of them. Without such an account, the page has the
/// form of a new one.
async fn accounts_page(
    shared: &Shared,
    visit: &Visit,
    selected: Option<&str>,
    refused: Option<Refused>,
) -> Result<String, AccountsError> {
    let accounts = shared.accounts.accounts().await?;
    let selected = accounts.iter().find(|account| Some(account.name.as_str()) == selected).cloned();
    let view = AccountsView { accounts, selected, refused };
    Ok(access::accounts_page(&chrome(shared, visit), &view))
}

#[derive(Deserialize)]
struct AccountForm {
    csrf: String,
    action: String,
    name: String,
    #[serde(default)]
    password: String,
    #[serde(default)]
    groups: String,
    #[serde(default)]
    administrator: Option<String>,
    #[serde(default)]
    reason: String,
}

async fn change_account(
    State(shared): SharedState,
    Administrator(visit): Administrator,
    Extension(sign_in): Extension<SignIn>,
    Form(mut form): Form<AccountForm>,
) -> Response {
    if let Err(problem) = is_ours(&sign_in, &form.csrf) {
        return visit.problem(&shared, &problem);
    }
    let password = Password::new(mem::take(&mut form.password));
    let refusal = match account_change(&shared, &visit, &form, &password).await {
        Ok(change) => return changed(&shared, &visit, &change, "/access"),
        Err(refusal) => refusal,
    };
    let selected = Some(form.name.clone()).filter(|_| form.action != "create");
    let refused = Refused {
        action: form.action,
        problem: refusal.text,
        name: form.name,
        groups: form.groups,
        administrator: form.administrator.is_some(),
        reason: form.reason,
        ..Refused::default()
    };
    let page = accounts_page(&shared, &visit, selected.as_deref(), Some(refused)).await;
    shown(&shared, &visit, refusal.status, page)
}

/// Checks that only an administrator makes or changes administrators. With the right to administer
/// alone, people could otherwise give themselves all rights by the password of such an account.
async fn protect_administrators(shared: &Shared, visit: &Visit, form: &AccountForm) -> Result<(), Refusal> {
    if visit.session.administrator {
        return Ok(());
    }
    let present = shared.accounts.account(form.name.trim()).await?;
    let makes_one = form.administrator.is_some() || form.action == "make-administrator";
    if makes_one || present.is_some_and(|account| account.administrator) {
        let text = "only an administrator may create or change administrators";
        return Err(Refusal::new(StatusCode::FORBIDDEN, text));
    }
    Ok(())
}

async fn account_change(
    shared: &Shared,
    visit: &Visit,
    form: &AccountForm,
    password: &Password,
) -> Result<Change, Refusal> {
    let (accounts, name) = (&shared.accounts, form.name.trim());
    let by = visit.author(shared, &form.reason);
    let groups = access::groups_of(&form.groups);
    protect_administrators(shared, visit, form).await?;
    Ok(match form.action.as_str() {
        "create" => {
            let administrator = form.administrator.is_some();
            let new = NewAccount { name, password, groups, administrator };
            accounts.create_account(new, &by).await?.change
        }
        // The session of the visitor stays, should it be of this account.
        "set-password" => accounts.set_password(name, password, Some(&visit.session.id), &by).await?,
        "set-groups" => accounts.set_groups(name, groups, &by).await?,
        "make-administrator" | "make-ordinary" => {
            require_reason(&form.reason)?;
            accounts.set_administrator(name, form.action == "make-administrator", &by).await?
        }
        "end-sessions" => {
            require_reason(&form.reason)?;
            let account = accounts.account(name).await?.ok_or(AccountsError::NoSuchAccount)?;
            accounts.end_sessions_of(&account.actor, &by).await?
        }
        "enable" => accounts.enable_account(name, &by).await?,
        "disable" => {
            require_reason(&form.reason)?;
            accounts.disable_account(name, &by).await?
        }
        "delete" => {
            require_reason(&form.reason)?;
            accounts.delete_account(name, &by).await?
        }
        _ => return Err(Refusal::invalid("there is no such action")),
    })
}

async fn tokens(State(shared): SharedState, Administrator(visit): Administrator) -> Response {
    let page = tokens_page(&shared, &visit, TokensView::default()).await;
    shown(&shared, &visit, StatusCode::OK, page)
}

/// Renders the tokens with the other parts of a view.
async fn tokens_page(shared: &Shared, visit: &Visit, view: TokensView) -> Result<String, AccountsError> {
    let tokens = shared.accounts.tokens(shared.now()).await?;
    Ok(access::tokens_page(&chrome(shared, visit), &TokensView { tokens, ..view }))
}

#[derive(Deserialize)]
struct TokenForm {
    csrf: String,
    action: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    days: String,
    /// The identifier of the token to revoke.
    #[serde(default)]
    token: String,
    #[serde(default)]
    reason: String,
}

async fn change_token(
    State(shared): SharedState,
    Administrator(visit): Administrator,
    Extension(sign_in): Extension<SignIn>,
    Form(form): Form<TokenForm>,
) -> Response {
    if let Err(problem) = is_ours(&sign_in, &form.csrf) {
        return visit.problem(&shared, &problem);
    }
    let refusal = match form.action.as_str() {
        "create" => match create_token(&shared, &visit, &form).await {
            Ok(IssuedToken { token, text, .. }) => {
                // Not a redirect: nothing keeps the text until the next request.
                let view = TokensView { issued: Some((token.name, text)), ..TokensView::default() };
                let page = tokens_page(&shared, &visit, view).await;
                return shown(&shared, &visit, StatusCode::OK, page);
            }
            Err(refusal) => refusal,
        },
        "revoke" => match revoke_token(&shared, &visit, &form).await {
            Ok(change) => return changed(&shared, &visit, &change, "/access/tokens"),
            Err(refusal) => refusal,
        },
        _ => Refusal::invalid("there is no such action"),
    };
    let refused = Refused {
        action: form.action,
        problem: refusal.text,
        name: form.name,
        days: form.days,
        reason: form.reason,
        ..Refused::default()
    };
    let page = tokens_page(&shared, &visit, TokensView { refused: Some(refused), ..TokensView::default() }).await;
    shown(&shared, &visit, refusal.status, page)
}

async fn create_token(shared: &Shared, visit: &Visit, form: &TokenForm) -> Result<IssuedToken, Refusal> {
    let days = form.days.parse().ok().filter(|days| access::TOKEN_DAYS.contains(days));
    let days = days.ok_or_else(|| Refusal::invalid("choose for how long the token is valid"))?;
    let by = visit.author(shared, &form.reason);
    let new = NewToken {
        name: form.name.trim(),
        // The documents of access grant the rights.
        grants: String::new(),
        expires: by.now + Span::hours(days * 24),
    };
    Ok(shared.accounts.create_token(new, &by).await?)
}

async fn revoke_token(shared: &Shared, visit: &Visit, form: &TokenForm) -> Result<Change, Refusal> {
    require_reason(&form.reason)?;
    let change = shared.accounts.revoke_token(&form.token, &visit.author(shared, &form.reason)).await?;
    change.ok_or_else(|| Refusal::new(StatusCode::NOT_FOUND, "the token does not exist, or is revoked already"))
}

async fn sessions(State(shared): SharedState, Administrator(visit): Administrator) -> Response {
    let page = shared.accounts.open_sessions(None, shared.now()).await.map(|sessions| {
        let view = SessionsView { sessions, own: Some(visit.session.id.clone()) };
        access::sessions_page(&chrome(&shared, &visit), &view)
    });
    shown(&shared, &visit, StatusCode::OK, page)
}

/// Shows the rules that give a person or a token its rights.
async fn rights(State(shared): SharedState, Administrator(visit): Administrator) -> Response {
    let page = rights_view(&shared, &visit).await.map(|view| who_may::page(&chrome(&shared, &visit), &view));
    shown(&shared, &visit, StatusCode::OK, page)
}

async fn rights_view(shared: &Shared, visit: &Visit) -> Result<RightsView, AccountsError> {
    let value = |name: &str| visit.parameter(name).map(|text| text.trim().to_owned()).unwrap_or_default();
    let query =
        RightsQuery { who: value("who"), group: value("group"), provider: value("provider"), app: value("app") };
    let accounts = shared.accounts.accounts().await?;
    let tokens = shared.accounts.tokens(shared.now()).await?;
    let tokens = tokens.iter().filter(|token| token.revoked_at.is_none() && token.expires > shared.now());
    let known = accounts.iter().map(|account| &account.actor).chain(tokens.map(|token| &token.actor));
    let known: Vec<String> = known.map(ToString::to_string).collect();
    let (rights, mut problem) = match asked_rights(shared, &query, &accounts, &known) {
        Ok(rights) => (rights, None),
        Err(problem) => (None, Some(problem)),
    };
    let mut app = None;
    if let (Some(_), Ok(id)) = (&rights, query.app.parse()) {
        let detail = shared.agent.app(&visit.caller, id).await;
        app = detail.map(|detail| detail.summary).map_err(|error| problem = Some(error.message)).ok();
    } else if rights.is_some() && !query.app.is_empty() {
        problem = Some(format!("{} is not an app: write scope/name", query.app));
    }
    Ok(RightsView { query, known, rights, app, problem })
}

/// Returns the rights of the person or token of a question; `None` if it names no one yet.
fn asked_rights(
    shared: &Shared,
    query: &RightsQuery,
    accounts: &[Account],
    known: &[String],
) -> Result<Option<Rights>, String> {
    if query.is_empty() {
        return Ok(None);
    }
    let principal = match query.who.split_once(':') {
        _ if query.who.is_empty() => {
            let provider = Some(query.provider.clone()).filter(|provider| !provider.is_empty());
            // The account has a name that no document can have.
            let account = Some(String::new());
            Principal { account, groups: [query.group.clone()].into(), provider, token: None }
        }
        _ if !known.contains(&query.who) => return Err(format!("there is no {}", query.who)),
        Some(("token", name)) => Principal { token: Some(name.to_owned()), ..Principal::default() },
        _ => {
            let Some(account) = accounts.iter().find(|account| account.actor.as_str() == query.who) else {
                return Err(format!("there is no {}", query.who));
            };
            if account.administrator {
                return Ok(Some(Rights::All));
            }
            let groups = account.groups.iter().cloned().collect();
            Principal { account: Some(account.name.clone()), groups, ..Principal::default() }
        }
    };
    Ok(Some(shared.installation.rights_of(&principal)))
}

#[derive(Deserialize)]
struct SessionForm {
    csrf: String,
    session: String,
}

async fn end_session(
    State(shared): SharedState,
    Administrator(visit): Administrator,
    Extension(sign_in): Extension<SignIn>,
    Form(form): Form<SessionForm>,
) -> Response {
    if let Err(problem) = is_ours(&sign_in, &form.csrf) {
        return visit.problem(&shared, &problem);
    }
    match shared.accounts.end_session(&SessionId::new(&form.session), &visit.author(&shared, "")).await {
        Ok(Some(change)) => changed(&shared, &visit, &change, "/access/sessions"),
        // The session has ended before: the list no longer has it.
        Ok(None) => redirect(&format!("{}/access/sessions", shared.base())),
        Err(error) => visit.problem(&shared, &unavailable(&error)),
    }
}

async fn own_account(State(shared): SharedState, visit: Visit) -> Response {
    match visit.account() {
        Some(account) => password_page(&shared, &visit, account, None).into_response(),
        None => visit.problem(&shared, &missing()),
    }
}

fn password_page(shared: &Shared, visit: &Visit, account: &str, problem: Option<String>) -> Html<String> {
    let view = PasswordView { account: account.to_owned(), problem };
    Html(access::password_page(&visit.chrome(shared, "Your account", Section::Other), &view))
}

#[derive(Deserialize)]
struct PasswordForm {
    csrf: String,
    present: String,
    password: String,
}

async fn change_own_password(
    State(shared): SharedState,
    visit: Visit,
    client: Option<Extension<Client>>,
    Extension(sign_in): Extension<SignIn>,
    Form(form): Form<PasswordForm>,
) -> Response {
    let Some(account) = visit.account() else { return visit.problem(&shared, &missing()) };
    let Some(Extension(client)) = client else { return forged().into_response() };
    if let Err(problem) = is_ours(&sign_in, &form.csrf) {
        return visit.problem(&shared, &problem);
    }
    let (present, password) = (Password::new(form.present), Password::new(form.password));
    match own_password_change(&shared, &visit, account, (&present, &password), &client).await {
        Ok(change) => changed(&shared, &visit, &change, "/account"),
        Err(Refusal { status, text }) => (status, password_page(&shared, &visit, account, Some(text))).into_response(),
    }
}

async fn own_password_change(
    shared: &Shared,
    visit: &Visit,
    account: &str,
    (present, password): (&Password, &Password),
    client: &Client,
) -> Result<Change, Refusal> {
    let confirmed = shared.accounts.confirm(account, present, client, shared.now()).await;
    confirmed.map_err(|error| match error {
        SignInError::Wrong => Refusal::invalid("the present password is wrong"),
        SignInError::TooMany { .. } => Refusal::new(StatusCode::TOO_MANY_REQUESTS, error.to_string()),
        SignInError::Unavailable { source } => Refusal::from(source),
    })?;
    Ok(shared.accounts.set_password(account, password, Some(&visit.session.id), &visit.author(shared, "")).await?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_more_than_spaces() {
        assert!(require_reason("left the company").is_ok());
        assert!(require_reason(" \t").is_err());
    }

    #[test]
    fn the_status_distinguishes_a_wrong_form_from_a_broken_server() {
        let status = |error: AccountsError| Refusal::from(error).status;
        assert_eq!(status(AccountsError::NoSuchAccount), StatusCode::NOT_FOUND);
        assert_eq!(status(AccountsError::NameTaken { name: "ada".to_owned() }), StatusCode::CONFLICT);
        assert_eq!(status(AccountsError::Expiry { limit_days: 366 }), StatusCode::BAD_REQUEST);
        assert_eq!(status(AccountsError::Damaged { what: "salt" }), StatusCode::SERVICE_UNAVAILABLE);
    }
}
