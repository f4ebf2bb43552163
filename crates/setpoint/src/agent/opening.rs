//! Opens an installation: its data directory, its ledger and its stores. The first step of both
//! running and recovering.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use setpoint_core::digest::Digest;
use setpoint_ledger::Origin;
use setpoint_ledger::anchor::AnchorFile;
use setpoint_ledger::checkpoint::Checkpoint;
use setpoint_ledger_sql::{DirectoryLock, OpenError, Options, Scratch, ScratchError, SqlLedger};
use setpoint_store::StoreError;
use setpoint_store_git::GitCache;
use setpoint_target::{Agent, Families};
use tracing::warn;

use super::AgentOptions;
use super::bootstrap::Bootstrap;
use super::connect::Connector;
use super::folder::{DataFolder, FolderError, Installation};
use super::footprints::Footprints;
use super::renderers::Renderers;
use super::renders::Renders;
use super::shadows::Shadows;
use super::sources::{Provider, Renderings};
use super::target_cache::target_cache;
use crate::complaint::told;
use crate::doors::{self, Clock};
use crate::log::Log;

/// The reason why an installation cannot be opened. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum OpeningError {
    #[error(transparent)]
    Folder(#[from] FolderError),
    #[error("cannot use the store of the bootstrap document")]
    Store { source: StoreError },
    #[error("cannot open the ledger")]
    Ledger { source: setpoint_ledger_sql::OpenError },
}

/// An installation with an open ledger, whose lock excludes every other process.
pub(super) struct Opened {
    pub(super) folder: DataFolder,
    pub(super) installation: Installation,
    pub(super) ledger: SqlLedger,
    /// The options for opening the ledger again.
    pub(super) ledger_options: Options,
    pub(super) provider: Arc<Provider>,
    /// The checkpoint in the anchor, if it belongs to another log, whose key is lost. Only for a
    /// recovery.
    pub(super) lost: Option<Checkpoint>,
}

/// The purpose of opening an installation.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// To manage apps. A missing ledger is an error.
    Hold,
    /// To start over after a loss. The ledger may be missing, and the anchor may belong to another
    /// log.
    Recover,
}

pub(super) async fn open(
    bootstrap: Bootstrap,
    data: &Path,
    purpose: Purpose,
    clock: Clock,
    (families, program): (Families, PathBuf),
    log: &Log,
) -> Result<Opened, OpeningError> {
    let failed = |source| OpeningError::Ledger { source };
    // The lock comes first: of two processes that find no identity here, only one creates one.
    let lock = DirectoryLock::take(data).await.map_err(failed)?;
    let folder = DataFolder::open(data)?;
    let (installation, new) = folder.installation_or_new()?;
    let anchor = bootstrap.anchor();
    let lost = match purpose {
        Purpose::Hold => None,
        Purpose::Recover => lost_log(anchor.as_ref(), &installation.origin)?,
    };
    let ledger_options = ledger_options(&folder, &installation, anchor.filter(|_| lost.is_none()));
    let expected = match (purpose, &new) {
        (Purpose::Hold, None) => ledger_options.clone().must_exist(),
        _ => ledger_options.clone(),
    };
    let ledger = SqlLedger::open_locked(lock, expected).await.map_err(failed)?;
    if let Some(new) = &new {
        folder.install(new)?;
    }
    let ledger_options = ledger_options.must_exist();
    let scratch = Scratch::open(folder.path()).await;
    let unusable = |error: &ScratchError| {
        log.with(|| warn!(reason = told(error), "every app is rendered and observed again"));
    };
    let scratch = scratch.inspect_err(unusable).ok().map(Arc::new);
    let own_file = doors::this_program().ok();
    let anchor = bootstrap.anchor().map(|anchor| anchor.path().to_owned());
    let own = [folder.path().to_owned(), bootstrap.path.clone()].into_iter().chain(own_file).chain(anchor).collect();
    let log_of_targets = log.clone();
    let agent = Agent {
        clock: Arc::new(move || clock.now()),
        digest_key: installation.digest_key.clone(),
        data: folder.path().to_owned(),
        own,
        installation: installation_name(&installation.origin.to_string()).into(),
        log: Arc::new(move |problem: &str| log_of_targets.with(|| warn!("{problem}"))),
        cache: target_cache(scratch.clone()),
    };
    let connector = Connector { clock, agent, families, stores: GitCache::at(folder.stores()) };
    let footprints = Footprints::new(scratch, log.clone());
    let renders = Renders::open(folder.renders(), installation.digest_key.clone(), log.clone());
    let renderers = Renderers::new(bootstrap.spec.renderers.clone(), folder.trees(), program);
    let renderers = Arc::new(renderers);
    let shadows = Shadows::new(folder.shadows(), Arc::clone(&renderers), clock, log.clone());
    let rendering = Renderings { footprints, renders, renderers, shadows };
    let provider = Provider::new(connector, bootstrap, rendering, log.clone());
    let provider = Arc::new(provider.map_err(|source| OpeningError::Store { source })?);
    Ok(Opened { folder, installation, ledger, ledger_options, provider, lost })
}

/// A ledger that is opened for a single command, while no agent runs.
pub(super) struct Alone {
    pub(super) ledger: SqlLedger,
    pub(super) origin: Origin,
    pub(super) folder: DataFolder,
    pub(super) anchor: Option<AnchorFile>,
    pub(super) clock: Clock,
}

/// Opens the ledger of an existing installation. Its lock prevents an agent from running meanwhile.
pub(super) async fn open_alone(options: AgentOptions) -> Result<Alone, OpeningError> {
    let AgentOptions { bootstrap, data, clock, .. } = options;
    let folder = DataFolder::existing(&data)?;
    let installation = folder.installation()?;
    let (origin, anchor) = (installation.origin.clone(), bootstrap.anchor());
    let opened = SqlLedger::open(ledger_options(&folder, &installation, anchor.clone()).must_exist()).await;
    let ledger = opened.map_err(|source| OpeningError::Ledger { source })?;
    Ok(Alone { ledger, origin, folder, anchor, clock })
}

pub(super) fn ledger_options(folder: &DataFolder, installation: &Installation, anchor: Option<AnchorFile>) -> Options {
    let options = Options::new(folder.path(), installation.signer.clone()).remembering(installation.origin.clone());
    match anchor {
        Some(anchor) => options.with_anchor(installation.origin.clone(), anchor),
        None => options,
    }
}

/// Returns the checkpoint in the anchor if it belongs to another log. Opening the ledger reports an
/// anchor that is not a checkpoint, or one of this log that does not match it.
fn lost_log(anchor: Option<&AnchorFile>, origin: &Origin) -> Result<Option<Checkpoint>, OpeningError> {
    let Some(anchor) = anchor else { return Ok(None) };
    let text = anchor.read().map_err(|source| {
        let source = OpenError::AnchorUnreadable { path: anchor.path().to_owned(), source };
        OpeningError::Ledger { source }
    })?;
    let said = text.and_then(|text| Checkpoint::read_unproven(&text).ok());
    Ok(said.filter(|said| said.origin != *origin))
}

/// Returns the name of an installation on its targets: short, and valid as a label.
fn installation_name(origin: &str) -> String {
    Digest::of(origin.as_bytes()).to_string().chars().filter(char::is_ascii_hexdigit).take(12).collect()
}
