//! The agent: one process that holds this installation's apps, and the composition root of
//! everything it needs.
//!
//! | file | what it sees to |
//! | --- | --- |
//! | [`folder`], [`bootstrap`], [`opening`] | who the installation is; where its control documents are; opening both with the ledger |
//! | [`connect`], [`cluster`], [`sources`] | stores and targets as documents name them; the accept plane in production |
//! | [`footprints`], [`renders`], [`lineage`] | what need not be rendered again; what earlier renders gave; how versions relate |
//! | [`renderers`], [`shadows`] | other programs that render; what they do otherwise than we do |
//! | [`messages`], [`log`] | telling people; telling whoever reads the log |
//! | [`answers`], [`planning`], [`showing`] | what the socket is asked |
//! | [`recovering`], [`gap`] | beginning anew after the data folder was lost; going on after an older copy was restored |
//! | [`erasing`] | taking away what a record says in its body |

mod answers;
pub mod bootstrap;
mod cluster;
mod connect;
pub mod erasing;
mod explaining;
pub mod folder;
mod footprints;
pub mod gap;
mod history;
mod lineage;
pub mod log;
mod messages;
pub mod opening;
mod planning;
pub mod recovering;
mod renderers;
mod renders;
mod shadows;
mod showing;
mod sources;

use std::collections::BTreeMap;
use std::error::Error;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use setpoint_api::server::{BindError, Server};
use setpoint_engine::Settings;
use setpoint_engine::machine::Standing;
use setpoint_ledger::{Ledger, LedgerError, Origin};
use setpoint_ledger_sql::{DirectoryLock, OpenError, Options, SqlLedger};
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;

use self::answers::Answers;
pub(crate) use self::answers::set_back_of;
use self::bootstrap::Bootstrap;
use self::folder::DataFolder;
use self::log::Log;
use self::messages::Messages;
use self::opening::{Opened, OpeningError, Purpose};
use self::sources::Provider;
use crate::doors::{Clock, OwnCluster};
use crate::interpreter::{self, Ended, Environment, Handle, Limits, OpenLedger, Steps, StopError};

/// What an agent is started with.
#[derive(Debug)]
pub struct AgentOptions {
    pub bootstrap: Bootstrap,
    pub data: PathBuf,
    pub clock: Clock,
    pub settings: Settings,
    /// The cluster the agent runs in, if it does.
    pub own_cluster: Option<OwnCluster>,
    /// This program, to start another process of it.
    pub program: PathBuf,
    pub log: Arc<dyn Log>,
}

/// Why an agent does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error(transparent)]
    Opening(#[from] OpeningError),
    #[error("the socket cannot be opened")]
    Socket { source: BindError },
    #[error(transparent)]
    Ended(#[from] Ended),
}

/// The ledger that is open now, for those who read it. They keep it no longer than they read: after
/// a failure it is opened anew.
type OpenNow = Arc<watch::Sender<Option<Arc<dyn Ledger>>>>;

/// A running agent.
#[derive(Debug)]
pub struct RunningAgent {
    handle: Arc<Handle>,
    /// Ends the socket.
    hang_up: Option<oneshot::Sender<()>>,
    socket: JoinHandle<()>,
    steps: Steps,
    folder: DataFolder,
    provider: Arc<Provider>,
}

/// Targets of this family are changed by the process itself.
const HOSTS: &str = "host-";

/// Who writes the ledger.
const HOLDER: &str = "agent";

impl RunningAgent {
    /// Starts holding. The data folder is locked: there is one agent for it.
    #[expect(clippy::disallowed_methods, reason = "the door: one task for the socket, ended by `stop`")]
    pub async fn start(options: AgentOptions) -> Result<Self, StartError> {
        let AgentOptions { bootstrap, data, clock, mut settings, own_cluster, program, log } = options;
        // A folder in use or a damaged ledger is said at once and not retried for ever.
        let Opened { folder, installation, ledger, ledger_options, provider, .. } =
            opening::open(bootstrap, &data, Purpose::Hold, clock, (own_cluster, program), &log).await?;
        let origin = installation.origin.clone();
        let open_now: OpenNow = Arc::new(watch::Sender::new(None));
        // The lock of the ledger's folder makes this process the only one: what a predecessor did
        // with its own hands is over.
        settings.own_hands = Some(HOSTS.to_owned());
        settings.fencing = Some(setpoint_target_kube::IDENTITIES.to_owned());
        let messages = Arc::new(Messages {
            clock,
            installation: origin.to_string(),
            provider: Arc::clone(&provider),
            log,
            courier: Mutex::default(),
        });
        let surroundings = Environment {
            clock,
            origin: origin.clone(),
            holder: HOLDER.to_owned(),
            open_ledger: opener((folder.clone(), origin.clone()), ledger_options, ledger, Arc::clone(&open_now)),
            targets: BTreeMap::new(),
            sources: Arc::clone(&provider) as _,
            messenger: Arc::clone(&messages) as _,
        };
        let handle = Arc::new(interpreter::start(surroundings, settings, Limits::default()));
        handle.control(provider.first_controls()).await?;
        let answers =
            Answers::new(clock, origin, Arc::clone(&handle), Arc::clone(&provider), messages, Arc::clone(&open_now));
        let server = Server::bind(&folder.socket()).await.map_err(|source| StartError::Socket { source })?;
        let (hang_up, hung_up) = oneshot::channel::<()>();
        let socket = tokio::spawn(server.serve(Arc::new(answers), async {
            // Dropped or sent: either way it is over.
            let _ = hung_up.await;
        }));
        let steps = handle.steps();
        Ok(Self { handle, hang_up: Some(hang_up), socket, steps, folder, provider })
    }

    pub fn folder(&self) -> &DataFolder {
        &self.folder
    }

    pub fn handle(&self) -> &Handle {
        &self.handle
    }

    /// Waits until something has happened since this was last asked.
    pub async fn stepped(&mut self) -> Result<(), Ended> {
        self.steps.next().await
    }

    /// Waits until the engine has ended by itself; [`stop`](Self::stop) says why.
    pub async fn ended(&self) {
        let mut steps = self.handle.steps();
        while steps.next().await.is_ok() {}
    }

    pub async fn standing(&self) -> Result<Standing, Ended> {
        self.handle.standing().await
    }

    /// How many apps were rendered since the start. A commit costs one for each app that it
    /// touches, and none for the others.
    pub fn renders(&self) -> u64 {
        self.provider.renders()
    }

    /// Lets nothing new leave, waits for what has left, gives the lease back.
    pub async fn stop(mut self) -> Result<(), StopError> {
        self.provider.stop_renderers();
        drop(self.hang_up.take());
        // The socket's task holds a handle until it has ended; what it ended with does not matter
        // any more.
        let _ = (&mut self.socket).await;
        let stopped = match Arc::try_unwrap(self.handle) {
            Ok(handle) => handle.stop().await,
            Err(_) => Err(StopError::Crashed),
        };
        self.provider.close().await;
        stopped
    }
}

/// Opens the ledger again after it failed; the first time it is the one that is open already. One
/// that failed can still be read, so it is let go only when the disk takes something again: without
/// room not even a ledger that is only read could be opened.
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
                    // Its folder is locked as long as it is open.
                    drop(open_now.send_replace(None));
                    let lock = DirectoryLock::take(folder.path()).await.map_err(boxed)?;
                    // Until the lock was taken another process may have begun here.
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

/// A database that was there when the agent started and is not any more was removed under it.
fn opened_again(error: OpenError) -> BoxedError {
    match error {
        OpenError::Vanished { path } => Box::new(LedgerError::Removed { path }),
        other => boxed(other),
    }
}
