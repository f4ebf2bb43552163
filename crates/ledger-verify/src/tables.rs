//! Checks the tables next to the records: facts, bundles, and rows or objects that belong to no
//! log.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;

use data_encoding::HEXLOWER;
use sha2::{Digest as _, Sha256};

use crate::database::{Database, LogRow};
use crate::error::VerifyError;
use crate::record::AppFacts;
use crate::replay::Facts;
use crate::report::Report;

const TABLES: [&str; 9] =
    ["apps", "bodies", "bundles", "checkpoints", "claims", "intents", "logs", "records", "segments"];

/// The queries that walk the logs mentioned in each table: the smallest above the last one.
const MENTIONED: [(&str, &str); 7] = [
    ("records", "SELECT min(log) FROM records WHERE log > ?"),
    ("segments", "SELECT min(log) FROM segments WHERE log > ?"),
    ("checkpoints", "SELECT min(log) FROM checkpoints WHERE log > ?"),
    ("bodies", "SELECT min(log) FROM bodies WHERE log > ?"),
    ("claims", "SELECT min(log) FROM claims WHERE log > ?"),
    ("intents", "SELECT min(log) FROM intents WHERE log > ?"),
    ("apps", "SELECT min(log) FROM apps WHERE log > ?"),
];

/// Checks that a ledger has its tables and nothing else: a trigger or a view could change reads or
/// writes.
pub(crate) async fn check_schema(database: &mut Database, report: &mut Report) -> Result<(), VerifyError> {
    let sql = "SELECT type, name FROM sqlite_schema WHERE ? = 0 AND name NOT LIKE 'sqlite_autoindex_%'";
    let objects: Vec<(String, String)> = database.rows(sql, 0).await?;
    for (kind, name) in &objects {
        if kind != "table" || !TABLES.contains(&name.as_str()) {
            report.find("", None, format!("the {kind} `{}` does not belong to a ledger", name.escape_debug()));
        }
    }
    for table in TABLES.iter().filter(|table| objects.iter().all(|(_, name)| name != **table)) {
        report.find("", None, format!("the table `{table}` is missing"));
    }
    Ok(())
}

/// Reports rows of logs that do not exist.
pub(crate) async fn check_strays(
    database: &mut Database,
    logs: &[LogRow],
    report: &mut Report,
) -> Result<(), VerifyError> {
    for (table, sql) in MENTIONED {
        let mut last = i64::MIN;
        while let Some(log) = database.next_log(sql, last).await? {
            if logs.iter().all(|known| known.id != log) {
                report.find("", None, format!("the table `{table}` has rows of log {log}, which does not exist"));
            }
            last = log;
        }
    }
    Ok(())
}

/// Checks that each bundle matches its digest. Returns the digests, in hex.
pub(crate) async fn check_bundles(
    database: &mut Database,
    report: &mut Report,
) -> Result<BTreeSet<String>, VerifyError> {
    let sql = "SELECT rowid FROM bundles WHERE ? = 0";
    let rows: Vec<(i64,)> = database.rows(sql, 0).await?;
    let mut digests = BTreeSet::new();
    for (row,) in rows {
        let sql = "SELECT digest, bytes FROM bundles WHERE rowid = ?";
        for (digest, bytes) in database.rows::<(Vec<u8>, Vec<u8>)>(sql, row).await? {
            if Sha256::digest(&bytes)[..] != digest[..] {
                report.find("", None, format!("bundle {} does not match its digest", HEXLOWER.encode(&digest)));
            }
            digests.insert(HEXLOWER.encode(&digest));
        }
    }
    Ok(digests)
}

/// Compares the facts tables with the facts of the records, byte for byte.
pub(crate) async fn compare_facts(
    database: &mut Database,
    log: &LogRow,
    facts: &Facts,
    bundles: &BTreeSet<String>,
    report: &mut Report,
) -> Result<(), VerifyError> {
    if facts.installed.map(i64::try_from) != log.installed.map(Ok) {
        report.find(&log.origin, None, "the time of installation differs from the recorded one");
    }
    let sql = "SELECT target, key, claim FROM claims WHERE log = ?";
    let rows: Vec<(String, String, String)> = database.rows(sql, log.id).await?;
    let claims = rows.into_iter().map(|(target, key, claim)| ((target, key), claim)).collect();
    compare("claim", log, &facts.claims, &claims, report);
    let rows: Vec<(String, String)> = database.rows("SELECT id, intent FROM intents WHERE log = ?", log.id).await?;
    compare("intent", log, &facts.intents, &rows.into_iter().collect(), report);
    let rows: Vec<(String, String)> = database.rows("SELECT app, facts FROM apps WHERE log = ?", log.id).await?;
    compare("app", log, &facts.apps, &rows.into_iter().collect(), report);
    for (app, text) in &facts.apps {
        check_accepted(app, text, log, bundles, report);
    }
    Ok(())
}

fn compare<K: Ord + Debug>(
    what: &str,
    log: &LogRow,
    recorded: &BTreeMap<K, String>,
    stored: &BTreeMap<K, String>,
    report: &mut Report,
) {
    for (key, text) in recorded {
        match stored.get(key) {
            None => report.find(&log.origin, None, format!("{what} {key:?} is recorded, but not in its table")),
            Some(other) if other != text => {
                report.find(&log.origin, None, format!("{what} {key:?} is not in its table as it was recorded"));
            }
            Some(_) => {}
        }
    }
    for key in stored.keys().filter(|key| !recorded.contains_key(key)) {
        report.find(&log.origin, None, format!("{what} {key:?} is in its table, but not recorded"));
    }
}

/// Checks that the accepted bundle of an app exists: without it the app cannot be held.
fn check_accepted(app: &str, text: &str, log: &LogRow, bundles: &BTreeSet<String>, report: &mut Report) {
    match serde_json::from_str::<AppFacts>(text) {
        Err(error) => report.find(&log.origin, None, format!("the facts of app {app} cannot be read: {error}")),
        Ok(facts) => {
            if let Some(accepted) = facts.accepted.filter(|accepted| !bundles.contains(&accepted.bundle)) {
                report.find(&log.origin, None, format!("bundle {} of app {app} is missing", accepted.bundle));
            }
        }
    }
}
