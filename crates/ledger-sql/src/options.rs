//! The options for opening a ledger, and the errors of opening.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use setpoint_ledger::anchor::AnchorFile;
use setpoint_ledger::checkpoint::{BadCheckpoint, PublicKey, Signer};
use setpoint_ledger::{LedgerError, Origin};

/// The options for opening a ledger.
#[derive(Clone, Debug)]
pub struct Options {
    pub(crate) folder: PathBuf,
    pub(crate) signer: Signer,
    pub(crate) former_keys: Vec<PublicKey>,
    pub(crate) anchors: BTreeMap<Origin, AnchorFile>,
    pub(crate) vfs: Option<&'static str>,
    pub(crate) remembered: Option<Origin>,
    pub(crate) must_exist: bool,
}

impl Options {
    /// Builds options. `folder` is the data directory, created if missing; `signer` signs
    /// checkpoints.
    pub fn new(folder: impl Into<PathBuf>, signer: Signer) -> Self {
        Self {
            folder: folder.into(),
            signer,
            former_keys: Vec::new(),
            anchors: BTreeMap::new(),
            vfs: None,
            remembered: None,
            must_exist: false,
        }
    }

    /// Adds keys that verify checkpoints from before a key rotation.
    #[must_use]
    pub fn with_former_keys(mut self, keys: Vec<PublicKey>) -> Self {
        self.former_keys = keys;
        self
    }

    /// Anchors one log in a file outside the data directory.
    #[must_use]
    pub fn with_anchor(mut self, origin: Origin, file: AnchorFile) -> Self {
        self.anchors.insert(origin, file);
        self
    }

    /// Stores the newest checkpoint of one log in a file next to the database, and compares the log
    /// with it when it is opened. So a database that vanished, or an older copy of it, is noticed
    /// without an anchor.
    #[must_use]
    pub fn remembering(mut self, origin: Origin) -> Self {
        self.remembered = Some(origin);
        self
    }

    /// Refuses to begin a new ledger, because this data directory had one.
    #[must_use]
    pub fn must_exist(mut self) -> Self {
        self.must_exist = true;
        self
    }

    /// Sets the SQLite file layer. Tests run the ledger on a disk that loses unsynced data.
    #[must_use]
    pub fn with_vfs(mut self, name: &'static str) -> Self {
        self.vfs = Some(name);
        self
    }

    pub(crate) fn keys(&self) -> Vec<PublicKey> {
        [&[self.signer.public()][..], &self.former_keys].concat()
    }

    /// Refuses an anchor in the data directory: it is restored, truncated or rewritten together
    /// with the directory, and would prove nothing.
    pub(crate) fn refuse_anchors_inside(&self) -> Result<(), OpenError> {
        let folder = real(&self.folder);
        let inside = |path: &Path| {
            real(path).starts_with(&folder) || path.parent().map(real).is_some_and(|parent| parent.starts_with(&folder))
        };
        match self.anchors.values().find(|file| inside(file.path())) {
            Some(file) => Err(OpenError::AnchorInside { path: file.path().to_owned(), folder: self.folder.clone() }),
            None => Ok(()),
        }
    }
}

/// Resolves the links of the existing part of a path; the rest stays as given.
fn real(path: &Path) -> PathBuf {
    let there = path.ancestors().find_map(|ancestor| Some((ancestor, fs::canonicalize(ancestor).ok()?)));
    match there {
        Some((ancestor, real)) => path.strip_prefix(ancestor).map_or_else(|_| real.clone(), |rest| real.join(rest)),
        None => path.to_owned(),
    }
}

/// The reason why a ledger could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("the data directory {path} is in use by another process: stop that process first")]
    InUse { path: PathBuf },
    #[error("the data directory {path} cannot be used: check that it exists and belongs to this user")]
    Folder { path: PathBuf, source: io::Error },
    #[error("the ledger {path} cannot be opened: check the disk, then restore a copy")]
    Database { path: PathBuf, source: sqlx::Error },
    #[error("the ledger {path} has format {found}, this program knows up to {known}: use a newer program")]
    TooNew { path: PathBuf, found: i64, known: i64 },
    #[error("the file {path} is not a ledger: move it out of the data directory")]
    NotALedger { path: PathBuf },
    #[error(
        "the anchor {path} is in the data directory {folder} and would be lost with it: name a file on another disk in the \
         bootstrap document"
    )]
    AnchorInside { path: PathBuf, folder: PathBuf },
    #[error("the anchor {path} cannot be read: make it readable, or point the ledger at another anchor")]
    AnchorUnreadable { path: PathBuf, source: io::Error },
    #[error("the anchor {path} cannot be trusted: find out who changed it before you use another")]
    AnchorForged { path: PathBuf, source: BadCheckpoint },
    #[error(
        "the anchor {path} belongs to log {found}, not to {wanted}: if the data directory of that log was lost, start a new ledger with \
         `setpoint recover`; if another installation anchors there, name another file in the bootstrap document"
    )]
    AnchorOfAnotherLog { path: PathBuf, found: Origin, wanted: Origin },
    #[error(
        "the newest checkpoint in {path} cannot be trusted: restore it from a copy, or check the ledger with \
         `setpoint ledger verify` and remove the file"
    )]
    MemoryForged { path: PathBuf, source: BadCheckpoint },
    #[error(
        "the checkpoint in {path} belongs to log {found}, not to {wanted}: restore the `installation.json` of that log, or move \
         the file away and start a new ledger with `setpoint recover`"
    )]
    MemoryOfAnotherLog { path: PathBuf, found: Origin, wanted: Origin },
    #[error(
        "the ledger {path} is missing, but this installation had one: restore it from a copy, or start a new ledger with `setpoint recover`"
    )]
    Vanished { path: PathBuf },
    #[error("the ledger {path} contradicts itself: run `setpoint ledger verify` and restore a copy")]
    Damaged { path: PathBuf, source: Box<LedgerError> },
}
