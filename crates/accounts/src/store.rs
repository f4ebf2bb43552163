//! The handle of a store, and its transactions.

use std::path::{Path, PathBuf};

use sqlx::Sqlite;
use sqlx::sqlite::{SqliteConnection, SqlitePool};
use tokio::sync::{Mutex, MutexGuard, Notify};

use crate::database;
use crate::errors::{AccountsError, OpenError};
use crate::hashing::Hasher;
use crate::limits::Limiter;
use crate::options::Options;
use crate::secrets::StoreKey;

/// The accounts, sessions and machine tokens of an installation.
#[derive(Debug)]
pub struct Accounts {
    pub(crate) pool: SqlitePool,
    pub(crate) key: StoreKey,
    pub(crate) hasher: Hasher,
    pub(crate) limiter: Limiter,
    pub(crate) options: Options,
    /// One writer at a time: others wait here in order, and not within SQLite, which polls.
    turn: Mutex<()>,
    /// Wakes the reader of the journal.
    pub(crate) journal: Notify,
    path: PathBuf,
}

impl Accounts {
    /// Opens `access.db` in the data directory, and creates it if it is missing.
    pub async fn open(directory: &Path) -> Result<Self, OpenError> {
        Self::open_with(directory, Options::default()).await
    }

    /// Opens the store with other limits and costs than the default.
    pub async fn open_with(directory: &Path, options: Options) -> Result<Self, OpenError> {
        let path = directory.join("access.db");
        let hasher = Hasher::new(options.hashing)?;
        let (pool, key) = database::open(&path).await?;
        let limiter = Limiter::new(options.limits);
        Ok(Self { pool, key, hasher, limiter, options, turn: Mutex::new(()), journal: Notify::new(), path })
    }

    /// Closes the database and waits until its files are closed.
    pub async fn close(&self) {
        self.pool.close().await;
    }

    /// Returns the path of the database.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the number of password hashes computed since the start, for metrics.
    pub fn hashes_computed(&self) -> u64 {
        self.hasher.computed()
    }

    /// Returns the number of limits in memory, for metrics.
    pub fn limits_in_memory(&self) -> usize {
        self.limiter.size()
    }

    /// Begins a transaction that writes. Its reads and its writes are one step for other processes
    /// too. Dropped without [`Writing::commit`], it has no effect.
    pub(crate) async fn write(&self) -> Result<Writing<'_>, AccountsError> {
        let turn = self.turn.lock().await;
        let transaction = self.pool.begin_with("BEGIN IMMEDIATE").await?;
        Ok(Writing { transaction, _turn: turn })
    }
}

/// An open transaction. Fields are dropped in order: the transaction ends before the turn.
#[derive(Debug)]
pub(crate) struct Writing<'a> {
    transaction: sqlx::Transaction<'static, Sqlite>,
    _turn: MutexGuard<'a, ()>,
}

impl Writing<'_> {
    pub(crate) fn connection(&mut self) -> &mut SqliteConnection {
        &mut self.transaction
    }

    pub(crate) async fn commit(self) -> Result<(), AccountsError> {
        Ok(self.transaction.commit().await?)
    }
}
