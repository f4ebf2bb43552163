//! The agent: one process that manages this installation's apps. Composes all parts that it needs.
//!
//! - [`folder`], [`bootstrap`], [`opening`]: the identity of the installation, the location of its
//!   control documents, and opening both with the ledger.
//! - [`reloading`]: replacing the bootstrap document while the agent runs.
//! - [`connect`], [`target_cache`], [`sources`]: the stores and targets of the documents, the cached
//!   state of targets, and the accept plane in production.
//! - [`footprints`], [`renders`], [`lineage`]: renders that can be skipped, the results of earlier
//!   renders, and the ancestry of versions.
//! - [`renderers`], [`shadows`]: external renderers, and their differences from Setpoint's own.
//! - [`messages`]: notifications to people.
//! - [`access`]: the rights of people and tokens, from the accepted documents.
//! - [`answers`], [`rights`], [`summary`], [`planning`], [`ordering`], [`showing`], [`history`],
//!   [`changes`], [`versions`], [`proving`], [`feed`], [`fleet`]: requests of the API.
//! - [`metrics`]: the metrics of a moment.
//! - [`web`], [`journal`], [`pushes`]: the HTTP server, its changes of accounts in the ledger, and the
//!   webhooks that it receives.
//! - [`recovering`], [`gap`]: starting over after the data directory was lost, and continuing after
//!   an older copy was restored.
//! - [`erasing`]: erasing the body of a record.

pub mod access;
mod answers;
pub mod bootstrap;
mod changes;
mod connect;
pub mod erasing;
mod explaining;
mod feed;
mod fleet;
pub mod folder;
mod footprints;
pub mod gap;
mod history;
mod journal;
mod lineage;
mod messages;
mod metrics;
pub mod opening;
mod ordering;
mod planning;
mod proving;
mod pushes;
pub mod recovering;
mod reloading;
mod renderers;
mod renders;
mod rights;
mod shadows;
mod showing;
mod sources;
mod summary;
mod target_cache;
mod versions;
mod web;

use std::collections::BTreeMap;
use std::error::Error;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::FutureExt;
use setpoint_api::Agent;
use setpoint_api::server::{BindError, Server};
use setpoint_engine::Settings;
use setpoint_engine::machine::Standing;
use setpoint_ledger::{Ledger, LedgerError, Origin};
use setpoint_ledger_sql::{DirectoryLock, OpenError, Options, SqlLedger};
use setpoint_target::Families;
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;

use self::access::AccessRules;
use self::answers::Answers;
use self::bootstrap::Bootstrap;
use self::folder::DataFolder;
use self::messages::Messages;
use self::opening::{Opened, OpeningError, Purpose};
use self::pushes::Pushes;
use self::sources::Provider;
pub(crate) use self::summary::set_back_of;
use self::web::{Installed, Links, Web, WebError};
use crate::doors::Clock;
use crate::interpreter::{self, Ended, Environment, Handle, Limits, OpenLedger, Steps, StopError};
use crate::log::Log;
use crate::metrics::Meters;

/// The options that an agent is started with.
#[derive(Debug)]
pub struct AgentOptions {
    pub bootstrap: Bootstrap,
    pub data: PathBuf,
    pub clock: Clock,
    pub settings: Settings,
    /// The families of targets that documents may declare.
    pub families: Families,
    /// The path of this program, to start another process of it.
    pub program: PathBuf,
    pub log: Log,
}

/// The reason why an agent does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error(transparent)]
    Opening(#[from] OpeningError),
    #[error("cannot open the socket")]
    Socket { source: BindError },
    #[error("cannot start the HTTP server")]
    Web { source: WebError },
    #[error(transparent)]
    Ended(#[from] Ended),
}

/// The open ledger, for readers. They hold it only while they read, because it is opened again
/// after a failure.
type OpenNow = Arc<watch::Sender<Option<Arc<dyn Ledger>>>>;

/// A running agent.
#[derive(Debug)]
pub struct RunningAgent {
    handle: Arc<Handle>,
    answers: Arc<Answers>,
    /// Stops the socket.
    hang_up: Option<oneshot::Sender<()>>,
    socket: JoinHandle<()>,
    steps: Steps,
    folder: DataFolder,
    provider: Arc<Provider>,
    /// The bootstrap document in force.
    bootstrap: Bootstrap,
    /// The addresses of the HTTP server, if it is served.
    links: Option<Links>,
    log: Log,
}

/// The holder of the ledger's lease.
const HOLDER: &str = "agent";

impl RunningAgent {
    /// Starts the agent. Locks the data directory: only one agent can use it.
    #[expect(clippy::disallowed_methods, reason = "the door: one task for the socket, ended by `stop`")]
    pub async fn start(options: AgentOptions) -> Result<Self, StartError> {
        let AgentOptions { bootstrap, data, clock, mut settings, families, program, log } = options;
        // A directory in use or a damaged ledger is reported at once and not retried for ever.
        let Opened { folder, installation, ledger, ledger_options, provider, .. } =
            opening::open(bootstrap.clone(), &data, Purpose::Hold, clock, (families.clone(), program), &log).await?;
        let origin = installation.origin.clone();
        let open_now: OpenNow = Arc::new(watch::Sender::new(None));
        // The lock of the ledger's directory makes this process the only one: effects that an
        // earlier process carried out itself have ended.
        settings.effects = families.effects();
        let messages = Arc::new(Messages {
            clock,
            installation: origin.to_string(),
            provider: Arc::clone(&provider),
            log: log.clone(),
            undelivered: Mutex::default(),
            courier: Mutex::default(),
        });
        let meters = Arc::<Meters>::default();
        let surroundings = Environment {
            clock,
            origin: origin.clone(),
            holder: HOLDER.to_owned(),
            open_ledger: opener((folder.clone(), origin.clone()), ledger_options, ledger, Arc::clone(&open_now)),
            targets: BTreeMap::new(),
            sources: Arc::clone(&provider) as _,
            messenger: Arc::clone(&messages) as _,
            log: log.clone(),
            meters: Arc::clone(&meters),
        };
        let handle = Arc::new(interpreter::start(surroundings, settings, Limits::default()));
        handle.control(provider.first_controls()).await?;
        let (engine, provided) = (Arc::clone(&handle), Arc::clone(&provider));
        let answers = Answers::new(clock, origin, engine, provided, messages, Arc::clone(&open_now), meters);
        let server = Server::bind(&folder.socket()).await.map_err(|source| StartError::Socket { source })?;
        let web = match &bootstrap.spec.server {
            Some(server) => {
                let web = Web::open(server, folder.path().to_owned(), clock).await;
                Some(web.map_err(|source| StartError::Web { source })?)
            }
            None => None,
        };
        let links = web.as_ref().map(|web| web.links.clone());
        let (hang_up, hung_up) = oneshot::channel::<()>();
        // Dropped or sent: the servers stop in both cases.
        let hung_up = hung_up.map(drop).shared();
        let answers = Arc::new(answers);
        let api = Arc::clone(&answers);
        let pushes = Arc::new(Pushes::new(clock, Arc::clone(&provider), &bootstrap));
        let access = AccessRules::new(Arc::clone(&provider));
        let installed = Installed { clock, access, pushes: Arc::clone(&pushes), log: log.clone() };
        let journal_log = log.clone();
        let socket = tokio::spawn(async move {
            let local = server.serve(Arc::clone(&answers) as _, hung_up.clone());
            let remote = async {
                let Some(Web { server, accounts, .. }) = web else { return };
                let served =
                    server.serve(Arc::clone(&answers) as _, Arc::clone(&accounts), Arc::new(installed), hung_up);
                tokio::select! {
                    () = served => {}
                    () = answers.record_journal(&accounts, &journal_log) => {}
                    () = pushes.poll(&answers.handle) => {}
                }
                accounts.close().await;
            };
            let published = async {
                tokio::join!(answers.publish_changes(), answers.forget_unread());
                std::future::pending::<()>().await;
            };
            tokio::select! {
                ((), ()) = async { tokio::join!(local, remote) } => {}
                () = published => {}
            }
        });
        let steps = handle.steps();
        Ok(Self {
            handle,
            answers: api,
            hang_up: Some(hang_up),
            socket,
            steps,
            folder,
            provider,
            bootstrap,
            links,
            log,
        })
    }

    pub fn folder(&self) -> &DataFolder {
        &self.folder
    }

    /// Returns the addresses of the HTTP server; `None` if none is served.
    pub fn links(&self) -> Option<&Links> {
        self.links.as_ref()
    }

    pub fn handle(&self) -> &Handle {
        &self.handle
    }

    /// Returns the API. Drop it before [`stop`](Self::stop): it holds the engine.
    pub fn api(&self) -> Arc<dyn Agent> {
        Arc::clone(&self.answers) as _
    }

    /// Returns the Access documents in force, for servers that identify callers.
    pub fn access(&self) -> AccessRules {
        AccessRules::new(Arc::clone(&self.provider))
    }

    /// Waits until something has happened since the previous call.
    pub async fn stepped(&mut self) -> Result<(), Ended> {
        self.steps.next().await
    }

    /// Waits until the engine has ended on its own; [`stop`](Self::stop) returns the reason.
    pub async fn ended(&self) {
        let mut steps = self.handle.steps();
        while steps.next().await.is_ok() {}
    }

    pub async fn standing(&self) -> Result<Standing, Ended> {
        self.handle.standing().await
    }

    /// Returns the number of renders since the start. A commit costs one for each app that it
    /// affects, and none for the others.
    pub fn renders(&self) -> u64 {
        self.provider.renders()
    }

    /// Starts no more effects, waits for those under way, and releases the lease.
    pub async fn stop(mut self) -> Result<(), StopError> {
        self.provider.stop_renderers();
        drop(self.hang_up.take());
        // The socket's task owns a handle until it ends; its result no longer matters.
        let _ = (&mut self.socket).await;
        drop(self.answers);
        let stopped = match Arc::try_unwrap(self.handle) {
            Ok(handle) => handle.stop().await,
            Err(_) => Err(StopError::Crashed),
        };
        self.provider.close().await;
        stopped
    }
}

/// Returns a function that opens the ledger again after a failure; its first call returns the
/// ledger that is already open. A failed ledger can still be read, so it is dropped only when the
/// disk accepts writes again: without space, a ledger cannot even be opened for reading.
fn opener((folder, origin): (DataFolder, Origin), options: Options, first: SqlLedger, open_now: OpenNow) -> OpenLedger {
    let first = Mutex::new(Some(first));
    Box::new(move || {
        let (folder, origin) = (folder.clone(), origin.clone());
        let (options, open_now) = (options.clone(), Arc::clone(&open_now));
        let first = first.lock().unwrap_or_else(PoisonError::into_inner).take();
        Box::pin(async move {
            let ledger = match first {
                Some(ledger) => ledger,
                None => {
                    folder.refuse_unless_of(&origin)?;
                    folder.try_writing()?;
                    // Its directory is locked as long as it is open.
                    drop(open_now.send_replace(None));
                    let lock = DirectoryLock::take(folder.path()).await.map_err(boxed)?;
                    // Until the lock was taken, another process may have set up a new installation
                    // here.
                    folder.refuse_unless_of(&origin)?;
                    SqlLedger::open_locked(lock, options).await.map_err(opened_again)?
                }
            };
            let ledger: Arc<dyn Ledger> = Arc::new(ledger);
            open_now.send_replace(Some(Arc::clone(&ledger)));
            Ok(ledger)
        })
    })
}

type BoxedError = Box<dyn Error + Send + Sync>;

fn boxed(error: OpenError) -> BoxedError {
    Box::new(error)
}

/// Converts an error of opening the ledger again. A missing database was removed while the agent
/// ran, since it existed at the start.
fn opened_again(error: OpenError) -> BoxedError {
    match error {
        OpenError::Vanished { path } => Box::new(LedgerError::Removed { path }),
        other => boxed(other),
    }
}
