//! The HTTP server of the agent: its settings, the accounts, and the link of the first set-up.

use std::path::PathBuf;
use std::sync::Arc;

use setpoint_accounts::{Accounts, AccountsError, OpenError};
use setpoint_api::{Principal, Rights};
use setpoint_core::name::Scope;
use setpoint_core::time::Timestamp;
use setpoint_documents::{Server, WebhookSender};
use setpoint_server::http::{BindError, HttpServer, Installation, Push, Sender, Settings, TlsFiles, WebhookSettings};
use tracing::warn;

use super::access::AccessRules;
use super::pushes::Pushes;
use crate::doors::Clock;
use crate::log::Log;

/// The reason why the HTTP server cannot start.
#[derive(Debug, thiserror::Error)]
pub enum WebError {
    #[error(transparent)]
    Bind(#[from] BindError),
    #[error("cannot open the accounts")]
    Open { source: OpenError },
    #[error("cannot create the set-up link")]
    SetUp { source: AccountsError },
}

/// A server that is bound, with the accounts that it serves.
#[derive(Debug)]
pub(super) struct Web {
    pub(super) server: HttpServer,
    pub(super) accounts: Arc<Accounts>,
    /// The addresses to print.
    pub(super) links: Links,
}

/// The addresses of the server, for the person who starts the agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Links {
    /// The address of the pages.
    pub pages: String,
    /// The one-time link that creates the first account; `None` if there is one.
    pub set_up: Option<String>,
}

impl Web {
    /// Binds the address and opens the accounts in the data directory.
    pub(super) async fn open(server: &Server, data: PathBuf, clock: Clock) -> Result<Self, WebError> {
        let bound = HttpServer::bind(settings(server)).await?;
        let accounts = Accounts::open(&data).await.map_err(|source| WebError::Open { source })?;
        let token = accounts.setup_link(clock.now()).await.map_err(|source| WebError::SetUp { source })?;
        let pages = settings(server).url;
        let set_up = token.map(|token| format!("{pages}/set-up?token={}", token.open()));
        Ok(Self { server: bound, accounts: Arc::new(accounts), links: Links { pages, set_up } })
    }
}

fn settings(server: &Server) -> Settings {
    let listen = server.listen.socket();
    let tls = server.tls.as_ref().map(|tls| TlsFiles {
        certificate: PathBuf::from(tls.certificate.as_str()),
        key: PathBuf::from(tls.key.as_str()),
    });
    let scheme = if tls.is_some() { "https" } else { "http" };
    let url = server.url.as_ref().map_or_else(|| format!("{scheme}://{listen}"), |url| url.as_str().to_owned());
    Settings {
        listen,
        tls,
        url: url.trim_end_matches('/').to_owned(),
        webhooks: server.webhooks.iter().map(webhook).collect(),
        trusted_proxies: server.trusted_proxies.iter().map(|proxy| proxy.address().to_canonical()).collect(),
    }
}

fn webhook(webhook: &setpoint_documents::Webhook) -> WebhookSettings {
    let sender = match webhook.sender {
        WebhookSender::GitHub => Sender::GitHub,
        WebhookSender::GitLab => Sender::GitLab,
        WebhookSender::Gitea => Sender::Gitea,
        WebhookSender::Bitbucket => Sender::Bitbucket,
        WebhookSender::Standard => Sender::Standard,
    };
    WebhookSettings {
        name: webhook.name.as_str().to_owned(),
        sender,
        secret: PathBuf::from(webhook.secret.as_str()),
        scope: webhook.scope.clone(),
    }
}

/// The connection of the server to the agent.
#[derive(Debug)]
pub(super) struct Installed {
    pub(super) clock: Clock,
    pub(super) access: AccessRules,
    pub(super) pushes: Arc<Pushes>,
    pub(super) log: Log,
}

impl Installation for Installed {
    fn now(&self) -> Timestamp {
        self.clock.now()
    }

    fn rights_of(&self, principal: &Principal) -> Rights {
        self.access.rights_of(principal)
    }

    fn pushed(&self, scope: Option<&Scope>, push: &Push) {
        self.pushes.push(scope, push);
    }

    fn warn(&self, problem: &str) {
        self.log.with(|| warn!("{problem}"));
    }
}
