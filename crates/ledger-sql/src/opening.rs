//! Opening: restores the newest state of each log, without reading its records.
//!
//! The tree is rebuilt from one hash per 1,024 records and the records after the last whole
//! segment, so that a log of ten million opens in milliseconds. The newest checkpoint and the
//! anchor are checked against it. Reading every record is left to the verifier.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use setpoint_core::facts::Facts;
use setpoint_ledger::anchor::AnchorFile;
use setpoint_ledger::cadence::Unsigned;
use setpoint_ledger::checkpoint::{Checkpoint, PublicKey};
use setpoint_ledger::tenure::Tenure;
use setpoint_ledger::{LedgerError, Origin, Standing};
use sqlx::sqlite::SqliteConnection;

use crate::columns::{number, timestamp, unread};
use crate::memory;
use crate::options::{OpenError, Options};
use crate::reading::{self, range_hash, range_tree};
use crate::script::Script;
use crate::state::{Doubt, LogState};
use crate::writing::new_log;

/// Returns all logs of a database, each compared with its newest checkpoint and its anchor.
pub(crate) async fn logs(
    connection: &mut SqliteConnection,
    path: &Path,
    options: &Options,
) -> Result<BTreeMap<Origin, LogState>, OpenError> {
    let damaged = |source| OpenError::Damaged { path: path.to_owned(), source: Box::new(source) };
    let keys = options.keys();
    let mut logs = stored_logs(connection, &keys).await.map_err(damaged)?;
    for Witness { origin, checkpoint, is_anchor } in witnesses(options, &keys)? {
        if !logs.contains_key(&origin) {
            // The database has lost all records of this log. A row for it lets the log be reported as
            // behind its checkpoint.
            let mut script = Script::default();
            let log = new_log(&mut script, &logs, &origin);
            script.send(connection).await.map_err(|error| damaged(unread(error)))?;
            logs.insert(origin.clone(), log);
        }
        if let Some(log) = logs.get_mut(&origin) {
            log.anchor = is_anchor.then(|| checkpoint.clone()).or(log.anchor.take());
            let standing = standing(connection, log, &checkpoint).await.map_err(damaged)?;
            if standing != Standing::Sound {
                log.doubts.push(Doubt { standing, checkpoint });
                // The sort is stable: of two that cover the same size, the anchor counts.
                log.doubts.sort_by_key(|doubt| Reverse(doubt.checkpoint.size));
            }
        }
    }
    Ok(logs)
}

/// A checkpoint of a log, stored outside its database.
struct Witness {
    origin: Origin,
    checkpoint: Checkpoint,
    is_anchor: bool,
}

/// Returns the anchors, then the checkpoint that the data directory remembers.
fn witnesses(options: &Options, keys: &[PublicKey]) -> Result<Vec<Witness>, OpenError> {
    let mut witnesses = Vec::new();
    for (origin, file) in &options.anchors {
        let anchor = read_anchor(file, origin, keys)?;
        witnesses.extend(anchor.map(|checkpoint| Witness { origin: origin.clone(), checkpoint, is_anchor: true }));
    }
    if let Some(origin) = &options.remembered {
        let kept = memory::read(&options.folder, origin, keys)?;
        witnesses.extend(kept.map(|checkpoint| Witness { origin: origin.clone(), checkpoint, is_anchor: false }));
    }
    Ok(witnesses)
}

/// Refuses to begin a ledger where one existed, unless a checkpoint remains that shows the loss.
pub(crate) fn refuse_vanished(path: &Path, options: &Options) -> Result<(), OpenError> {
    let failed = |path: &Path, source| OpenError::Folder { path: path.to_owned(), source };
    let is_there = |path: &Path| match fs::metadata(path) {
        Ok(metadata) => Ok(metadata.len() > 0),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(source) => Err(failed(path, source)),
    };
    if !options.must_exist || is_there(path)? {
        return Ok(());
    }
    let anchors = options.anchors.values().map(|file| file.path().to_owned());
    for witness in anchors.chain([memory::path_in(&options.folder)]) {
        if is_there(&witness)? {
            return Ok(());
        }
    }
    Err(OpenError::Vanished { path: path.to_owned() })
}

/// Returns the facts of all logs.
pub(crate) async fn facts(
    connection: &mut SqliteConnection,
    path: &Path,
    logs: &BTreeMap<Origin, LogState>,
) -> Result<BTreeMap<Origin, Facts>, OpenError> {
    let mut facts = BTreeMap::new();
    for (origin, log) in logs {
        let damaged = |source| OpenError::Damaged { path: path.to_owned(), source: Box::new(source) };
        facts.insert(origin.clone(), reading::facts(connection, log.id).await.map_err(damaged)?);
    }
    Ok(facts)
}

async fn stored_logs(
    connection: &mut SqliteConnection,
    keys: &[PublicKey],
) -> Result<BTreeMap<Origin, LogState>, LedgerError> {
    type Row = (i64, String, i64, Option<String>, Option<i64>);
    let rows: Vec<Row> = sqlx::query_as("SELECT log, origin, epoch, holder, expires FROM logs")
        .fetch_all(&mut *connection)
        .await
        .map_err(unread)?;
    let mut logs = BTreeMap::new();
    for (id, origin, epoch, holder, expires) in rows {
        let origin = Origin::new(&origin).map_err(|error| LedgerError::corrupt("a log has no valid origin", error))?;
        let mut log = LogState::new(id, origin.clone());
        let holder = holder.zip(expires.map(timestamp).transpose()?);
        log.tenure = Tenure { epoch: number(epoch)?, holder };
        restore_tree(connection, &mut log).await?;
        restore_checkpoint(connection, &mut log, keys).await?;
        logs.insert(origin, log);
    }
    Ok(logs)
}

async fn restore_tree(connection: &mut SqliteConnection, log: &mut LogState) -> Result<(), LedgerError> {
    let last: Option<i64> = sqlx::query_scalar("SELECT max(seq) FROM records WHERE log = ?")
        .bind(log.id)
        .fetch_one(&mut *connection)
        .await
        .map_err(unread)?;
    let size = last.map_or(Ok(0), |last| number(last).map(|last| last + 1))?;
    log.tree = range_tree(connection, log.id, 0..size).await?;
    Ok(())
}

async fn restore_checkpoint(
    connection: &mut SqliteConnection,
    log: &mut LogState,
    keys: &[PublicKey],
) -> Result<(), LedgerError> {
    let newest: Option<(i64, String)> =
        sqlx::query_as("SELECT number, text FROM checkpoints WHERE log = ? ORDER BY number DESC LIMIT 1")
            .bind(log.id)
            .fetch_optional(&mut *connection)
            .await
            .map_err(unread)?;
    let Some((number, text)) = newest else {
        log.unsigned = Unsigned::found(log.tree.size());
        return Ok(());
    };
    let bad = |source| LedgerError::corrupt(format!("the newest checkpoint of {} is wrong", log.origin), source);
    let checkpoint = Checkpoint::open(&text, keys).map_err(bad)?;
    let fits = checkpoint.origin == log.origin
        && checkpoint.size <= log.tree.size()
        && range_hash(connection, log.id, 0..checkpoint.size).await? == checkpoint.root;
    if !fits {
        let what = format!("log {} does not match its newest checkpoint", log.origin);
        return Err(LedgerError::Corrupt { what, source: None });
    }
    log.checkpoints = number + 1;
    log.unsigned = Unsigned::found(log.tree.size() - checkpoint.size);
    log.newest = Some(checkpoint);
    Ok(())
}

fn read_anchor(file: &AnchorFile, origin: &Origin, keys: &[PublicKey]) -> Result<Option<Checkpoint>, OpenError> {
    let path = || file.path().to_owned();
    let text = file.read().map_err(|source| OpenError::AnchorUnreadable { path: path(), source })?;
    let Some(text) = text else { return Ok(None) };
    // The origin is compared first: the anchor of a lost data directory has a signature that cannot
    // be verified here.
    match Checkpoint::read_unproven(&text) {
        Ok(of) if of.origin != *origin => {
            Err(OpenError::AnchorOfAnotherLog { path: path(), found: of.origin, wanted: origin.clone() })
        }
        _ => match Checkpoint::open(&text, keys) {
            Ok(anchor) => Ok(Some(anchor)),
            Err(source) => Err(OpenError::AnchorForged { path: path(), source }),
        },
    }
}

async fn standing(
    connection: &mut SqliteConnection,
    log: &LogState,
    anchor: &Checkpoint,
) -> Result<Standing, LedgerError> {
    let present = log.tree.size();
    if anchor.size > present {
        return Ok(Standing::Behind { anchored: anchor.size, present });
    }
    let root = range_hash(connection, log.id, 0..anchor.size).await?;
    Ok(if root == anchor.root { Standing::Sound } else { Standing::Forked { anchored: anchor.size } })
}
