//! The session of a program, such as the command line: its identity, and its end.

use std::sync::Arc;

use axum::extract::State;
use axum::http::header::SET_COOKIE;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Extension, Json, Router};
use setpoint_api::answer::SessionInfo;
use setpoint_api::{Caller, Problem, ProblemKind, path};

use super::identity::{SignIn, author, no_cookie};
use super::{Shared, SharedState};

pub(super) fn routes() -> Router<Arc<Shared>> {
    Router::new().route(path::SESSION, get(info).delete(end))
}

async fn info(caller: Caller, sign_in: Option<Extension<SignIn>>) -> Json<SessionInfo> {
    let session = sign_in.as_deref().and_then(SignIn::session);
    Json(SessionInfo {
        via: caller.via.method().to_owned(),
        administrator: session.is_some_and(|session| session.administrator),
        csrf: session.map(|session| session.csrf.open().to_owned()),
        actor: caller.actor,
    })
}

/// Ends the session. A machine token has none: it is revoked on the page of tokens.
async fn end(State(shared): SharedState, caller: Caller, Extension(sign_in): Extension<SignIn>) -> Response {
    let Some(session) = sign_in.session() else {
        let message = "a machine token has no session: an administrator can revoke it";
        return Problem::new(ProblemKind::Conflict, message).into_response();
    };
    match shared.accounts.end_session(&session.id, &author(&shared, &caller, "")).await {
        Ok(_) => ([(SET_COOKIE, no_cookie())], Json(())).into_response(),
        Err(error) => Problem::new(ProblemKind::Unavailable, error.to_string()).into_response(),
    }
}
