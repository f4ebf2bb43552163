//! The file `access.db`: for one user only, in WAL mode, every commit synced.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;
use std::time::Duration;

use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection, SqlitePool, SqlitePoolOptions};
use sqlx::{ConnectOptions as _, Connection as _, Executor as _};

use crate::columns::array;
use crate::errors::OpenError;
use crate::randomness;
use crate::secrets::StoreKey;

/// "SPAC" in ASCII: distinguishes this file from any other SQLite file.
const APPLICATION: i64 = 0x5350_4143;

/// The migrations. Each one raises the schema by one version, and is never changed once released.
/// Times are milliseconds since 1970.
const MIGRATIONS: &[&str] = &[
    "
    CREATE TABLE store (
        one INTEGER PRIMARY KEY CHECK (one = 1),
        key BLOB NOT NULL
    ) STRICT;

    -- The token of the set-up link: at most one.
    CREATE TABLE set_up (
        one INTEGER PRIMARY KEY CHECK (one = 1),
        hash BLOB NOT NULL,
        expires INTEGER NOT NULL
    ) STRICT;

    -- AUTOINCREMENT: a new account never has the number of a deleted one.
    CREATE TABLE accounts (
        account INTEGER PRIMARY KEY AUTOINCREMENT,
        name TEXT NOT NULL,
        -- The name in lower case.
        key TEXT NOT NULL UNIQUE,
        administrator INTEGER NOT NULL,
        disabled INTEGER NOT NULL DEFAULT 0,
        groups TEXT NOT NULL,
        created INTEGER NOT NULL,
        password_set INTEGER NOT NULL,
        last_sign_in INTEGER,
        salt BLOB NOT NULL,
        hash BLOB NOT NULL,
        memory_kib INTEGER NOT NULL,
        passes INTEGER NOT NULL
    ) STRICT;

    -- Keyed hashes of accounts with the addresses that signed in to them.
    CREATE TABLE known_addresses (
        account INTEGER NOT NULL REFERENCES accounts ON DELETE CASCADE,
        pair BLOB NOT NULL,
        last_use INTEGER NOT NULL,
        PRIMARY KEY (account, pair)
    ) STRICT, WITHOUT ROWID;

    -- Local accounts have their groups in `accounts`, people of a provider have them here.
    CREATE TABLE sessions (
        session TEXT NOT NULL PRIMARY KEY,
        actor TEXT NOT NULL,
        account INTEGER REFERENCES accounts ON DELETE CASCADE,
        provider TEXT,
        name TEXT NOT NULL,
        email TEXT,
        groups TEXT NOT NULL,
        signed_in INTEGER NOT NULL,
        last_use INTEGER NOT NULL,
        address TEXT NOT NULL,
        agent TEXT NOT NULL,
        -- Hashes of the cookie's values: the present one, one that was given out and not used yet,
        -- and the replaced one.
        cookie BLOB NOT NULL,
        cookie_since INTEGER NOT NULL,
        next_cookie BLOB,
        next_since INTEGER,
        former_cookie BLOB,
        former_until INTEGER
    ) STRICT, WITHOUT ROWID;
    CREATE UNIQUE INDEX sessions_cookie ON sessions (cookie);
    CREATE UNIQUE INDEX sessions_next_cookie ON sessions (next_cookie);
    CREATE UNIQUE INDEX sessions_former_cookie ON sessions (former_cookie);
    CREATE INDEX sessions_actor ON sessions (actor);
    CREATE INDEX sessions_account ON sessions (account);

    CREATE TABLE tokens (
        token TEXT NOT NULL PRIMARY KEY,
        hash BLOB NOT NULL,
        name TEXT NOT NULL,
        key TEXT NOT NULL,
        grants TEXT NOT NULL,
        created_by TEXT NOT NULL,
        created INTEGER NOT NULL,
        expires INTEGER NOT NULL,
        last_use INTEGER,
        revoked INTEGER
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX tokens_key ON tokens (key);
",
    "
    -- Changes that are not in the ledger yet. AUTOINCREMENT: no number is used twice.
    CREATE TABLE journal (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        at INTEGER NOT NULL,
        author TEXT NOT NULL,
        via TEXT NOT NULL,
        reason TEXT NOT NULL,
        change TEXT NOT NULL
    ) STRICT;
",
];

/// Opens or creates the database, and returns it with the key of the store.
pub(crate) async fn open(path: &Path) -> Result<(SqlitePool, StoreKey), OpenError> {
    let failed = |source| OpenError::Database { path: path.to_owned(), source };
    private_file(path).map_err(|source| OpenError::File { path: path.to_owned(), source })?;
    let mut connection = connect_options(path).connect().await.map_err(failed)?;
    // In WAL mode EXTRA equals FULL. Before WAL mode is on, only EXTRA makes the switch durable, as
    // the ledger's tests with a disk that loses data found; so it is set before the mode.
    connection.execute("PRAGMA synchronous = EXTRA; PRAGMA journal_mode = WAL;").await.map_err(failed)?;
    migrate(&mut connection, path).await?;
    // A damaged file is never replaced by an empty one: that would open the set-up again.
    let sound: String = sqlx::query_scalar("PRAGMA quick_check(1)").fetch_one(&mut connection).await.map_err(failed)?;
    if sound != "ok" {
        return Err(OpenError::Damaged { path: path.to_owned() });
    }
    let key = store_key(&mut connection, path).await?;
    let options = connect_options(path).pragma("synchronous", "EXTRA");
    // A connection to a file needs no test before each use: every request would wait for it twice.
    let pool = SqlitePoolOptions::new()
        .max_connections(3)
        .test_before_acquire(false)
        .connect_with(options)
        .await
        .map_err(failed)?;
    // Closed after the pool has opened: the last connection of a database removes its log.
    connection.close().await.map_err(failed)?;
    Ok((pool, key))
}

fn connect_options(path: &Path) -> SqliteConnectOptions {
    SqliteConnectOptions::new()
        .filename(path)
        .create_if_missing(false)
        .busy_timeout(Duration::from_secs(5))
        .foreign_keys(true)
        // Hashes of removed accounts must not stay in free pages.
        .pragma("secure_delete", "ON")
        .disable_statement_logging()
}

/// Migrates the tables to the newest version. Another process may do the same: the version is read
/// within the transaction that changes it.
async fn migrate(connection: &mut SqliteConnection, path: &Path) -> Result<(), OpenError> {
    let failed = |source| OpenError::Database { path: path.to_owned(), source };
    let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await.map_err(failed)?;
    let pragma = async |connection: &mut SqliteConnection, sql: &'static str| {
        sqlx::query_scalar::<_, i64>(sql).fetch_one(connection).await.map_err(failed)
    };
    let found = pragma(&mut transaction, "PRAGMA user_version").await?;
    let application = pragma(&mut transaction, "PRAGMA application_id").await?;
    let tables = pragma(&mut transaction, "SELECT count(*) FROM sqlite_schema").await?;
    let known = MIGRATIONS.len() as i64;
    if tables > 0 && application != APPLICATION {
        return Err(OpenError::NotAccounts { path: path.to_owned() });
    }
    if found > known {
        return Err(OpenError::TooNew { path: path.to_owned(), found, known });
    }
    let Some(steps) = usize::try_from(found).ok().and_then(|found| MIGRATIONS.get(found..)) else {
        return Err(OpenError::Damaged { path: path.to_owned() });
    };
    let script = format!("{} PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {known};", steps.concat());
    transaction.execute(sqlx::raw_sql(sqlx::AssertSqlSafe(script))).await.map_err(failed)?;
    transaction.commit().await.map_err(failed)
}

/// Returns the key of the store, created with the store.
async fn store_key(connection: &mut SqliteConnection, path: &Path) -> Result<StoreKey, OpenError> {
    let failed = |source| OpenError::Database { path: path.to_owned(), source };
    let unkeyed = |source| OpenError::Key { path: path.to_owned(), source: Box::new(source) };
    let new = randomness::bytes::<32>().map_err(unkeyed)?;
    let create = "INSERT INTO store (one, key) VALUES (1, ?) ON CONFLICT DO NOTHING";
    sqlx::query(create).bind(&new[..]).execute(&mut *connection).await.map_err(failed)?;
    let key: Vec<u8> = sqlx::query_scalar("SELECT key FROM store").fetch_one(connection).await.map_err(failed)?;
    array(&key, "key").map(StoreKey::new).map_err(unkeyed)
}

/// Opens or creates a file that only this user can read. SQLite gives its side files the same
/// permissions.
fn private_file(path: &Path) -> io::Result<()> {
    let file = OpenOptions::new().create(true).truncate(false).read(true).write(true).mode(0o600).open(path)?;
    // A file from elsewhere, for example a restored copy, may have wider permissions.
    if file.metadata()?.permissions().mode() & 0o077 != 0 {
        fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
    }
    match path.parent() {
        Some(directory) if !directory.as_os_str().is_empty() => File::open(directory)?.sync_all(),
        _ => File::open(".")?.sync_all(),
    }
}
