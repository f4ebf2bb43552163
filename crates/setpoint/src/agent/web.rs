//! The HTTP server of the agent: its settings, the accounts, and the link of the first set-up.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use setpoint_accounts::{Accounts, AccountsError, OpenError};
use setpoint_api::{Principal, Rights};
use setpoint_core::name::Scope;
use setpoint_core::time::Timestamp;
use setpoint_documents::{AbsolutePath, IdentityProvider, Line, MetricsAccess, Server, WebhookSender};
use setpoint_oidc::{NoRandomness, Providers};
use setpoint_server::http::{
    Answered, BindError, HttpServer, Installation, Push, Sender, Settings, TlsFiles, WebhookSettings,
};
use tracing::{debug, warn};

use super::access::AccessRules;
use super::pushes::Pushes;
use crate::doors::Clock;
use crate::log::Log;

/// The time limit of each request to an identity provider.
const PROVIDER_PATIENCE: Duration = Duration::from_secs(10);

/// The reason why the HTTP server cannot start.
#[derive(Debug, thiserror::Error)]
pub enum WebError {
    #[error(transparent)]
    Bind(#[from] BindError),
    #[error("cannot prepare the sign-in by providers")]
    Providers { source: NoRandomness },
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
        let settings = settings(server);
        let pages = settings.url.clone();
        let providers = server.providers.iter().map(|provider| provider_settings(provider, &pages));
        let providers = Providers::new(providers).map_err(|source| WebError::Providers { source })?;
        let bound = HttpServer::bind(settings, providers).await?;
        let accounts = Accounts::open(&data).await.map_err(|source| WebError::Open { source })?;
        let token = accounts.setup_link(clock.now()).await.map_err(|source| WebError::SetUp { source })?;
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
        open_metrics: server.metrics == MetricsAccess::Open,
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

fn provider_settings(provider: &IdentityProvider, url: &str) -> setpoint_oidc::Settings {
    let path = |path: &AbsolutePath| PathBuf::from(path.as_str());
    let name = provider.name.as_str();
    setpoint_oidc::Settings {
        name: name.to_owned(),
        title: provider.title.as_ref().map_or(name, Line::as_str).to_owned(),
        issuer: provider.issuer.as_str().to_owned(),
        client_id: provider.client_id.as_str().to_owned(),
        client_secret: provider.client_secret.as_ref().map(path),
        scopes: provider.scopes.as_ref().map(|scopes| scopes.iter().map(Line::to_string).collect()),
        groups_claim: provider.groups_claim.as_str().to_owned(),
        name_claim: provider.name_claim.as_ref().map(Line::to_string),
        authorities: provider.authorities.as_ref().map(path),
        redirect: format!("{url}/sign-in/{name}/callback"),
        patience: PROVIDER_PATIENCE,
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

    fn uptime(&self) -> Duration {
        self.clock.elapsed()
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

    fn record_refusal(&self, provider: &str, reason: &str) {
        self.log.with(|| warn!(provider, reason, "sign-in refused"));
    }

    fn answered(&self, request: &Answered<'_>) {
        let Answered { id, method, route, status, took } = *request;
        let milliseconds = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        self.log.with(|| match status {
            500.. => warn!(request = id, method, route, status, milliseconds, "request failed"),
            _ => debug!(request = id, method, route, status, milliseconds, "request answered"),
        });
    }
}
