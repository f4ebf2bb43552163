//! The tables, their migrations, and the configuration of connections.

use std::path::Path;
use std::time::Duration;

use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{ConnectOptions as _, Executor as _};

use crate::options::OpenError;

/// "SPLG" in ASCII: distinguishes a ledger from any other SQLite file.
const APPLICATION: i64 = 0x5350_4c47;

/// The migrations. Each one raises the schema by one version, and is never changed once released.
const MIGRATIONS: &[&str] = &["
    CREATE TABLE logs (
        log INTEGER PRIMARY KEY,
        origin TEXT NOT NULL UNIQUE,
        epoch INTEGER NOT NULL,
        holder TEXT,
        expires INTEGER,
        installed INTEGER
    ) STRICT;

    -- The log itself: canonical bytes, hashed as they stand here. The hash beside them names the record whose bytes are damaged; that
    -- nothing was changed is shown by the tree alone.
    CREATE TABLE records (
        log INTEGER NOT NULL,
        seq INTEGER NOT NULL,
        bytes BLOB NOT NULL,
        leaf BLOB NOT NULL,
        PRIMARY KEY (log, seq)
    ) STRICT, WITHOUT ROWID;

    -- Roots of complete subtrees of 1,024 records, so that opening and proving need not read them.
    CREATE TABLE segments (
        log INTEGER NOT NULL,
        segment INTEGER NOT NULL,
        root BLOB NOT NULL,
        PRIMARY KEY (log, segment)
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE checkpoints (
        log INTEGER NOT NULL,
        number INTEGER NOT NULL,
        size INTEGER NOT NULL,
        text TEXT NOT NULL,
        PRIMARY KEY (log, number)
    ) STRICT, WITHOUT ROWID;

    -- Salt and bytes are NULL once erased.
    CREATE TABLE bodies (
        log INTEGER NOT NULL,
        seq INTEGER NOT NULL,
        salt BLOB,
        bytes BLOB,
        PRIMARY KEY (log, seq)
    ) STRICT;

    CREATE TABLE bundles (
        digest BLOB NOT NULL PRIMARY KEY,
        bytes BLOB NOT NULL
    ) STRICT;

    -- The facts: the fold of all records, changed in the same transaction as they are written.
    CREATE TABLE claims (
        target TEXT NOT NULL,
        key TEXT NOT NULL,
        log INTEGER NOT NULL,
        claim TEXT NOT NULL,
        PRIMARY KEY (target, key)
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE intents (
        log INTEGER NOT NULL,
        id TEXT NOT NULL,
        intent TEXT NOT NULL,
        PRIMARY KEY (log, id)
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE apps (
        log INTEGER NOT NULL,
        app TEXT NOT NULL,
        facts TEXT NOT NULL,
        PRIMARY KEY (log, app)
    ) STRICT, WITHOUT ROWID;
"];

/// Returns the options of every connection to a ledger.
pub(crate) fn connection(path: &Path, vfs: Option<&'static str>) -> SqliteConnectOptions {
    let options = SqliteConnectOptions::new()
        .filename(path)
        .create_if_missing(true)
        .busy_timeout(Duration::from_secs(5))
        // Erased bytes must not stay in free pages.
        .pragma("secure_delete", "ON")
        .disable_statement_logging();
    match vfs {
        Some(vfs) => options.vfs(vfs),
        None => options,
    }
}

/// Makes commits of this connection durable.
///
/// In WAL mode EXTRA equals FULL: one sync per commit. Before WAL mode is on, there is a rollback
/// journal, and only EXTRA syncs the directory after removing it. With FULL, a journal that
/// reappears after a power failure undoes the switch to WAL, and with it every later commit (found
/// by the disk-truth tests). So `synchronous` is set before the mode.
pub(crate) async fn make_durable(connection: &mut SqliteConnection) -> Result<(), sqlx::Error> {
    connection.execute("PRAGMA synchronous = EXTRA; PRAGMA journal_mode = WAL;").await?;
    // 16 MiB instead of 4: pages of claims that change often are copied into the database once, not
    // four times.
    connection.execute("PRAGMA wal_autocheckpoint = 4000").await?;
    Ok(())
}

/// Migrates the tables to the newest version, in one transaction.
pub(crate) async fn migrate(connection: &mut SqliteConnection, path: &Path) -> Result<(), OpenError> {
    let failed = |source| OpenError::Database { path: path.to_owned(), source };
    let pragma = async |connection: &mut SqliteConnection, sql: &'static str| {
        sqlx::query_scalar::<_, i64>(sql).fetch_one(connection).await.map_err(failed)
    };
    let found = pragma(connection, "PRAGMA user_version").await?;
    let application = pragma(connection, "PRAGMA application_id").await?;
    let tables = pragma(connection, "SELECT count(*) FROM sqlite_schema").await?;
    let known = MIGRATIONS.len() as i64;
    if tables > 0 && application != APPLICATION {
        return Err(OpenError::NotALedger { path: path.to_owned() });
    }
    if found > known {
        return Err(OpenError::TooNew { path: path.to_owned(), found, known });
    }
    if found == known {
        return Ok(());
    }
    let steps = MIGRATIONS[found as usize..].concat();
    let script = format!(
        "BEGIN IMMEDIATE; {steps} PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {known}; COMMIT;"
    );
    connection.execute(sqlx::raw_sql(sqlx::AssertSqlSafe(script))).await.map_err(failed)?;
    Ok(())
}
