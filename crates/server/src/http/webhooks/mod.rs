//! Webhooks of Git hosts. A request with a valid signature causes an earlier poll of the stores that
//! follow its repository, and nothing else: its content never decides what is deployed.
//!
//! Reading order: [`WebhookSettings`], `secret_file`, `signature`, `payload`, and the route here.

mod payload;
mod secret_file;
mod signature;

use std::path::PathBuf;
use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use setpoint_api::{Problem, ProblemKind};
use setpoint_core::name::Scope;

use super::{Shared, SharedState};

pub use payload::Push;
use secret_file::SecretFile;

/// A webhook of the Bootstrap document.
#[derive(Clone, Debug)]
pub struct WebhookSettings {
    /// The last part of its path.
    pub name: String,
    pub sender: Sender,
    /// The file with the secret, one a line. It is read again when it changes.
    pub secret: PathBuf,
    /// The scope of the stores that may be polled; all stores if `None`.
    pub scope: Option<Scope>,
}

/// The program that sends a webhook. Each signs its requests in its own way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sender {
    GitHub,
    GitLab,
    /// Also Forgejo.
    Gitea,
    Bitbucket,
    /// Anything that signs as the Standard Webhooks specification says.
    Standard,
}

/// A webhook that is served.
#[derive(Debug)]
pub(super) struct Webhook {
    settings: WebhookSettings,
    secret: SecretFile,
}

impl Webhook {
    pub(super) fn new(settings: WebhookSettings) -> Self {
        let secret = SecretFile::new(settings.secret.clone());
        Self { settings, secret }
    }
}

pub(super) fn routes() -> Router<Arc<Shared>> {
    Router::new().route("/webhooks/{name}", post(receive))
}

/// Receives a webhook. An unknown name and a wrong signature have the same answer, and so have a
/// repository that a store follows and one that none does.
async fn receive(State(shared): SharedState, Path(name): Path<String>, headers: HeaderMap, body: Bytes) -> Response {
    let unsigned = || {
        let message =
            "the signature is missing or wrong, or there is no such webhook: compare its secret with the file";
        Problem::new(ProblemKind::Unauthenticated, message).into_response()
    };
    let Some(webhook) = shared.webhooks.iter().find(|webhook| webhook.settings.name == name) else {
        return unsigned();
    };
    let is_signed = |secret: &[u8]| signature::is_valid(webhook.settings.sender, secret, &headers, &body, shared.now());
    match webhook.secret.any(is_signed) {
        Ok(true) => {}
        Ok(false) => return unsigned(),
        Err(reason) => {
            shared.installation.warn(&format!("webhook {name} is refused: {reason}"));
            let message = "the webhook is not set up: the log of the agent has the reason";
            return Problem::new(ProblemKind::Unavailable, message).into_response();
        }
    }
    match payload::pushes(&headers, &body) {
        Ok(pushes) => {
            for push in pushes {
                shared.installation.pushed(webhook.settings.scope.as_ref(), &push);
            }
            StatusCode::ACCEPTED.into_response()
        }
        Err(problem) => Problem::new(ProblemKind::Question, problem).into_response(),
    }
}
