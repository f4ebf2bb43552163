//! The verifier's own, read-only access to the database.

use std::path::{Path, PathBuf};
use std::time::Duration;

use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{ConnectOptions as _, Executor as _};

use crate::error::VerifyError;

/// "SPLG": the application id of a ledger's file.
const APPLICATION: i64 = 0x5350_4c47;
const FORMAT: i64 = 1;

/// An open ledger, read at one moment even while others write.
#[derive(Debug)]
pub(crate) struct Database {
    connection: SqliteConnection,
    path: PathBuf,
}

/// One row of `logs`.
#[derive(Clone, Debug)]
pub(crate) struct LogRow {
    pub(crate) id: i64,
    pub(crate) origin: String,
    pub(crate) epoch: i64,
    pub(crate) installed: Option<i64>,
}

pub(crate) type BodyRow = (i64, Option<Vec<u8>>, Option<Vec<u8>>);

impl Database {
    pub(crate) async fn open(path: &Path) -> Result<Self, VerifyError> {
        let failed = |source| VerifyError::Unreadable { path: path.to_owned(), source };
        let options = SqliteConnectOptions::new()
            .filename(path)
            .read_only(true)
            .busy_timeout(Duration::from_secs(10))
            // Rows are buffered for the reader: a small buffer would cost a thread switch every few
            // records.
            .row_buffer_size(2_048)
            .disable_statement_logging();
        let mut connection = options.connect().await.map_err(failed)?;
        connection.execute("BEGIN").await.map_err(failed)?;
        let mut database = Self { connection, path: path.to_owned() };
        let application = database.number("PRAGMA application_id").await?;
        let format = database.number("PRAGMA user_version").await?;
        if application == APPLICATION && format == FORMAT {
            Ok(database)
        } else {
            Err(VerifyError::NotALedger { path: path.to_owned() })
        }
    }

    fn failed(&self, source: sqlx::Error) -> VerifyError {
        VerifyError::Unreadable { path: self.path.clone(), source }
    }

    async fn number(&mut self, sql: &'static str) -> Result<i64, VerifyError> {
        let number = sqlx::query_scalar(sql).fetch_one(&mut self.connection).await;
        number.map_err(|error| self.failed(error))
    }

    /// Returns all rows of a query about one log.
    pub(crate) async fn rows<T>(&mut self, sql: &'static str, log: i64) -> Result<Vec<T>, VerifyError>
    where
        T: for<'r> sqlx::FromRow<'r, sqlx::sqlite::SqliteRow> + Send + Unpin,
    {
        let rows = sqlx::query_as(sql).bind(log).fetch_all(&mut self.connection).await;
        rows.map_err(|error| self.failed(error))
    }

    /// Returns the rows of a query about the records of one log in the range `start..end`.
    pub(crate) async fn range<T>(
        &mut self,
        sql: &'static str,
        log: i64,
        start: i64,
        end: i64,
    ) -> Result<Vec<T>, VerifyError>
    where
        T: for<'r> sqlx::FromRow<'r, sqlx::sqlite::SqliteRow> + Send + Unpin,
    {
        let rows = sqlx::query_as(sql).bind(log).bind(start).bind(end).fetch_all(&mut self.connection).await;
        rows.map_err(|error| self.failed(error))
    }

    pub(crate) async fn logs(&mut self) -> Result<Vec<LogRow>, VerifyError> {
        let rows: Vec<(i64, String, i64, Option<i64>)> =
            self.rows("SELECT log, origin, epoch, installed FROM logs WHERE ? = 0 ORDER BY origin", 0).await?;
        Ok(rows.into_iter().map(|(id, origin, epoch, installed)| LogRow { id, origin, epoch, installed }).collect())
    }

    pub(crate) async fn log(&mut self, origin: &str) -> Result<LogRow, VerifyError> {
        let found = self.logs().await?.into_iter().find(|log| log.origin == origin);
        found.ok_or_else(|| VerifyError::NoSuchLog { origin: origin.to_owned() })
    }

    /// Returns the smallest value above `last`. This walks the logs that a table mentions without
    /// reading its rows.
    pub(crate) async fn next_log(&mut self, sql: &'static str, last: i64) -> Result<Option<i64>, VerifyError> {
        let next = sqlx::query_scalar(sql).bind(last).fetch_one(&mut self.connection).await;
        next.map_err(|error| self.failed(error))
    }
}
