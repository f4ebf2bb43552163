//! Reads the tables: facts, records, bodies, bundles, and the hashes that proofs need.

use std::ops::Range;

use setpoint_core::claim::Claim;
use setpoint_core::digest::Digest;
use setpoint_core::facts::{AppFacts, Facts};
use setpoint_core::intent::Intent;
use setpoint_core::name::AppId;
use setpoint_ledger::merkle::{SEGMENT, Tree, leaf_hash, segments_within};
use setpoint_ledger::{Body, LedgerError, Origin, replay};
use sqlx::sqlite::SqliteConnection;

use crate::columns::{digest, integer, number, timestamp, unread};

/// The number of records read at a time when all are read: bounds memory, not the log.
const CHUNK: u64 = 4_096;

pub(crate) async fn facts(connection: &mut SqliteConnection, log: i64) -> Result<Facts, LedgerError> {
    let installed: Option<i64> = sqlx::query_scalar("SELECT installed FROM logs WHERE log = ?")
        .bind(log)
        .fetch_one(&mut *connection)
        .await
        .map_err(unread)?;
    let claims = column(connection, "SELECT claim FROM claims WHERE log = ?", log).await?;
    let claims: Vec<Claim> = claims.iter().map(|text| parse("claim", text)).collect::<Result<_, _>>()?;
    let intents = column(connection, "SELECT intent FROM intents WHERE log = ?", log).await?;
    let intents: Vec<Intent> = intents.iter().map(|text| parse("intent", text)).collect::<Result<_, _>>()?;
    let rows: Vec<(String, String)> = sqlx::query_as("SELECT app, facts FROM apps WHERE log = ?")
        .bind(log)
        .fetch_all(&mut *connection)
        .await
        .map_err(unread)?;
    let mut apps: Vec<(AppId, AppFacts)> = Vec::with_capacity(rows.len());
    for (app, text) in rows {
        let app = app.parse().map_err(|error| LedgerError::corrupt("a stored app has no valid name", error))?;
        apps.push((app, parse("app", &text)?));
    }
    Ok(Facts::from_rows(installed.map(timestamp).transpose()?, claims, intents, apps))
}

async fn column(connection: &mut SqliteConnection, sql: &'static str, log: i64) -> Result<Vec<String>, LedgerError> {
    sqlx::query_scalar(sql).bind(log).fetch_all(connection).await.map_err(unread)
}

fn parse<T: serde::de::DeserializeOwned>(what: &str, text: &str) -> Result<T, LedgerError> {
    serde_json::from_str(text).map_err(|error| LedgerError::corrupt(format!("a stored {what} cannot be read"), error))
}

/// Returns the bytes of the records in `range`: all of them, or an error.
pub(crate) async fn records(
    connection: &mut SqliteConnection,
    log: i64,
    range: Range<u64>,
) -> Result<Vec<Vec<u8>>, LedgerError> {
    let rows: Vec<(i64, Vec<u8>)> =
        sqlx::query_as("SELECT seq, bytes FROM records WHERE log = ? AND seq >= ? AND seq < ? ORDER BY seq")
            .bind(log)
            .bind(integer(range.start))
            .bind(integer(range.end))
            .fetch_all(connection)
            .await
            .map_err(unread)?;
    let complete = rows.iter().map(|(seq, _)| *seq).eq(integer(range.start)..integer(range.end));
    if complete { Ok(rows.into_iter().map(|(_, bytes)| bytes).collect()) } else { Err(missing("records", &range)) }
}

/// Returns the root of the tree over the records in `range`. Uses segment roots where the range
/// covers whole segments.
pub(crate) async fn range_hash(
    connection: &mut SqliteConnection,
    log: i64,
    range: Range<u64>,
) -> Result<Digest, LedgerError> {
    range_tree(connection, log, range).await.map(|tree| tree.root())
}

pub(crate) async fn range_tree(
    connection: &mut SqliteConnection,
    log: i64,
    range: Range<u64>,
) -> Result<Tree, LedgerError> {
    let mut tree = Tree::default();
    let whole = segments_within(&range);
    let roots: Vec<Vec<u8>> =
        sqlx::query_scalar("SELECT root FROM segments WHERE log = ? AND segment >= ? AND segment < ? ORDER BY segment")
            .bind(log)
            .bind(integer(whole.start))
            .bind(integer(whole.end))
            .fetch_all(&mut *connection)
            .await
            .map_err(unread)?;
    if roots.len() as u64 != whole.end - whole.start {
        return Err(missing("segments", &whole));
    }
    for root in &roots {
        tree.push_segment(digest(root)?);
    }
    for bytes in records(connection, log, range.start.max(whole.end * SEGMENT)..range.end).await? {
        tree.push(leaf_hash(&bytes));
    }
    Ok(tree)
}

fn missing<T: std::fmt::Debug>(what: &str, range: &T) -> LedgerError {
    LedgerError::Corrupt { what: format!("some {what} of {range:?} are missing"), source: None }
}

pub(crate) async fn body(connection: &mut SqliteConnection, log: i64, seq: u64) -> Result<Body, LedgerError> {
    let row: Option<Option<Vec<u8>>> = sqlx::query_scalar("SELECT bytes FROM bodies WHERE log = ? AND seq = ?")
        .bind(log)
        .bind(integer(seq))
        .fetch_optional(connection)
        .await
        .map_err(unread)?;
    Ok(match row {
        None => Body::None,
        Some(None) => Body::Erased,
        Some(Some(bytes)) => Body::Bytes(bytes),
    })
}

pub(crate) async fn bundle(connection: &mut SqliteConnection, digest: &Digest) -> Result<Option<Vec<u8>>, LedgerError> {
    let bytes: Option<Vec<u8>> = sqlx::query_scalar("SELECT bytes FROM bundles WHERE digest = ?")
        .bind(&digest.as_bytes()[..])
        .fetch_optional(connection)
        .await
        .map_err(unread)?;
    match bytes {
        Some(bytes) if Digest::of(&bytes) != *digest => {
            Err(LedgerError::Corrupt { what: format!("bundle {digest} does not match its digest"), source: None })
        }
        bytes => Ok(bytes),
    }
}

/// Folds all records of a log, and describes the first difference from its tables. Must be called
/// within a snapshot.
pub(crate) async fn replay_check(
    connection: &mut SqliteConnection,
    origin: &Origin,
) -> Result<Option<String>, LedgerError> {
    let row: Option<(i64, Option<i64>)> = sqlx::query_as(
        "SELECT log, (SELECT max(seq) FROM records WHERE records.log = logs.log) FROM logs WHERE origin = ?",
    )
    .bind(origin.as_str())
    .fetch_optional(&mut *connection)
    .await
    .map_err(unread)?;
    // A log that was never written has no records and no facts: they agree.
    let Some((log, last)) = row else { return Ok(None) };
    let size = last.map_or(Ok(0), |last| number(last).map(|last| last + 1))?;
    let mut replayed = Facts::default();
    let mut next = 0;
    while next < size {
        for bytes in records(connection, log, next..size.min(next + CHUNK)).await? {
            replay::fold(&mut replayed, origin, next, &bytes)?;
            next += 1;
        }
    }
    Ok(replay::first_difference(&replayed, &facts(connection, log).await?))
}
