//! The disposable database next to the ledger: fingerprints, cursors and caches by key.
//!
//! Losing it costs time, never correctness. So it is not synced, and a damaged one is replaced by
//! an empty one.

use std::path::{Path, PathBuf};
use std::time::Duration;

use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{ConnectOptions as _, Executor as _};

use crate::folder::private_file;

const PUT: &str = "INSERT INTO scratch (area, key, value) VALUES (?, ?, ?)
                   ON CONFLICT (area, key) DO UPDATE SET value = excluded.value";
const REMOVE: &str = "DELETE FROM scratch WHERE area = ? AND key = ?";

/// The error for a scratch database that cannot be used, even when new.
#[derive(Debug, thiserror::Error)]
#[error("the scratch database {path} cannot be used: check the disk, or delete the file")]
pub struct ScratchError {
    pub path: PathBuf,
    pub source: sqlx::Error,
}

/// Values by area and key, which may be lost at any time.
#[derive(Debug)]
pub struct Scratch {
    pool: SqlitePool,
    path: PathBuf,
}

impl Scratch {
    /// Opens `state.db` in the data directory. Replaces a file that cannot be read.
    pub async fn open(folder: &Path) -> Result<Self, ScratchError> {
        let path = folder.join("state.db");
        if let Ok(pool) = connect(&path).await {
            return Ok(Self { pool, path });
        }
        for suffix in ["", "-wal", "-shm"] {
            let mut file = path.clone().into_os_string();
            file.push(suffix);
            // If it cannot be removed, connecting fails again and reports the error.
            drop(std::fs::remove_file(file));
        }
        match connect(&path).await {
            Ok(pool) => Ok(Self { pool, path }),
            Err(source) => Err(ScratchError { path, source }),
        }
    }

    pub async fn get(&self, area: &str, key: &str) -> Result<Option<Vec<u8>>, ScratchError> {
        sqlx::query_scalar("SELECT value FROM scratch WHERE area = ? AND key = ?")
            .bind(area)
            .bind(key)
            .fetch_optional(&self.pool)
            .await
            .map_err(|source| self.failed(source))
    }

    pub async fn remove(&self, area: &str, key: &str) -> Result<(), ScratchError> {
        self.run(sqlx::query(REMOVE).bind(area).bind(key)).await
    }

    /// Returns all values of one area.
    pub async fn all(&self, area: &str) -> Result<Vec<(String, Vec<u8>)>, ScratchError> {
        sqlx::query_as("SELECT key, value FROM scratch WHERE area = ? ORDER BY key")
            .bind(area)
            .fetch_all(&self.pool)
            .await
            .map_err(|source| self.failed(source))
    }

    /// Sets many values at once. An entry without a value is removed.
    pub async fn change(&self, area: &str, changes: Vec<(String, Option<Vec<u8>>)>) -> Result<(), ScratchError> {
        let changed = async {
            let mut transaction = self.pool.begin().await?;
            for (key, value) in changes {
                let query = match value {
                    Some(value) => sqlx::query(PUT).bind(area).bind(key).bind(value),
                    None => sqlx::query(REMOVE).bind(area).bind(key),
                };
                query.execute(&mut *transaction).await?;
            }
            transaction.commit().await
        };
        changed.await.map_err(|source| self.failed(source))
    }

    /// Closes the database and waits until its files are closed.
    pub async fn close(&self) {
        self.pool.close().await;
    }

    /// Removes all values of one area.
    pub async fn clear(&self, area: &str) -> Result<(), ScratchError> {
        self.run(sqlx::query("DELETE FROM scratch WHERE area = ?").bind(area)).await
    }

    async fn run(
        &self,
        query: sqlx::query::Query<'_, sqlx::Sqlite, sqlx::sqlite::SqliteArguments>,
    ) -> Result<(), ScratchError> {
        query.execute(&self.pool).await.map(drop).map_err(|source| self.failed(source))
    }

    fn failed(&self, source: sqlx::Error) -> ScratchError {
        ScratchError { path: self.path.clone(), source }
    }
}

async fn connect(path: &Path) -> Result<SqlitePool, sqlx::Error> {
    private_file(path)?;
    let options = SqliteConnectOptions::new()
        .filename(path)
        .create_if_missing(false)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Off)
        .busy_timeout(Duration::from_secs(5))
        .disable_statement_logging();
    let pool = SqlitePoolOptions::new().max_connections(2).connect_with(options).await?;
    pool.execute(
        "CREATE TABLE IF NOT EXISTS scratch (
            area TEXT NOT NULL, key TEXT NOT NULL, value BLOB NOT NULL, PRIMARY KEY (area, key)
        ) STRICT, WITHOUT ROWID",
    )
    .await?;
    // Damage shows here rather than in the middle of work.
    let sound: String = sqlx::query_scalar("PRAGMA quick_check(1)").fetch_one(&pool).await?;
    if sound == "ok" { Ok(pool) } else { Err(sqlx::Error::Protocol(sound)) }
}
