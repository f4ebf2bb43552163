//! Opening an installation: its data folder, its ledger, its stores. What running and recovering begin with.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use setpoint_ledger::Origin;
use setpoint_ledger::anchor::AnchorFile;
use setpoint_ledger_sql::{Options, Scratch, ScratchError, SqlLedger};
use setpoint_store::StoreError;
use setpoint_store_git::GitCache;

use super::AgentOptions;
use super::bootstrap::Bootstrap;
use super::cluster::installation_name;
use super::connect::Connector;
use super::folder::{DataFolder, FolderError, Installation};
use super::footprints::Footprints;
use super::log::Log;
use super::renderers::Renderers;
use super::renders::Renders;
use super::shadows::Shadows;
use super::sources::{Provider, Renderings};
use crate::complaint::told;
use crate::doors::{self, Clock, OwnCluster};

/// Why an installation cannot be opened. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum OpeningError {
    #[error(transparent)]
    Folder(#[from] FolderError),
    #[error("the store of the bootstrap document cannot be used")]
    Store { source: StoreError },
    #[error("the ledger cannot be opened")]
    Ledger { source: setpoint_ledger_sql::OpenError },
}

/// An installation whose ledger is open: its lock keeps every other process out.
pub(super) struct Opened {
    pub(super) folder: DataFolder,
    pub(super) installation: Installation,
    pub(super) ledger: SqlLedger,
    /// How the ledger is opened again.
    pub(super) ledger_options: Options,
    pub(super) provider: Arc<Provider>,
}

/// `anchor` is what the ledger is held against: the one of the bootstrap document, unless another log is there.
pub(super) async fn open(
    bootstrap: Bootstrap,
    data: &Path,
    anchor: Option<AnchorFile>,
    clock: Clock,
    (own_cluster, program): (Option<OwnCluster>, PathBuf),
    log: &Arc<dyn Log>,
) -> Result<Opened, OpeningError> {
    let folder = DataFolder::open(data)?;
    let installation = folder.installation()?;
    let ledger_options = ledger_options(&folder, &installation, anchor);
    // First of all, so that a folder in use or a damaged ledger is said at once.
    let ledger = SqlLedger::open(ledger_options.clone()).await.map_err(|source| OpeningError::Ledger { source })?;
    let scratch = Scratch::open(folder.path()).await;
    let lost = |error: &ScratchError| log.say(&format!("every app is rendered and looked at anew: {}", told(error)));
    let scratch = scratch.inspect_err(lost).ok().map(Arc::new);
    let own_file = doors::this_program().ok();
    let anchor = bootstrap.anchor().map(|anchor| anchor.path().to_owned());
    let own = [folder.path().to_owned(), bootstrap.path.clone()].into_iter().chain(own_file).chain(anchor).collect();
    let connector = Connector {
        clock,
        own,
        own_cluster,
        digest_key: installation.digest_key.clone(),
        data: folder.path().to_owned(),
        cache: GitCache::at(folder.stores()),
        installation: installation_name(&installation.origin.to_string()),
        log: Arc::clone(log),
        scratch: scratch.clone(),
    };
    let footprints = Footprints::new(scratch, Arc::clone(log));
    let renders = Renders::open(folder.renders(), installation.digest_key.clone(), Arc::clone(log));
    let renderers = Renderers::new(bootstrap.spec.renderers.clone(), folder.trees(), program);
    let renderers = Arc::new(renderers);
    let shadows = Shadows::new(folder.shadows(), Arc::clone(&renderers), clock, Arc::clone(log));
    let rendering = Renderings { footprints, renders, renderers, shadows };
    let provider = Provider::new(connector, bootstrap, rendering, Arc::clone(log));
    let provider = Arc::new(provider.map_err(|source| OpeningError::Store { source })?);
    Ok(Opened { folder, installation, ledger, ledger_options, provider })
}

/// A ledger that is opened for one thing, while no agent runs.
pub(super) struct Alone {
    pub(super) ledger: SqlLedger,
    pub(super) origin: Origin,
    pub(super) anchor: Option<AnchorFile>,
    pub(super) clock: Clock,
}

/// Opens the ledger of an installation that is there already. Its lock keeps an agent from running meanwhile.
pub(super) async fn open_alone(options: AgentOptions) -> Result<Alone, OpeningError> {
    let AgentOptions { bootstrap, data, clock, .. } = options;
    let folder = DataFolder::existing(&data)?;
    let installation = folder.installation()?;
    let (origin, anchor) = (installation.origin.clone(), bootstrap.anchor());
    let opened = SqlLedger::open(ledger_options(&folder, &installation, anchor.clone())).await;
    let ledger = opened.map_err(|source| OpeningError::Ledger { source })?;
    Ok(Alone { ledger, origin, anchor, clock })
}

pub(super) fn ledger_options(folder: &DataFolder, installation: &Installation, anchor: Option<AnchorFile>) -> Options {
    let options = Options::new(folder.path(), installation.signer.clone());
    match anchor {
        Some(anchor) => options.with_anchor(installation.origin.clone(), anchor),
        None => options,
    }
}
