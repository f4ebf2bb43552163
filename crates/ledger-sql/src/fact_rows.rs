//! The rows of the facts: brought to where the facts are after a batch, in as few statements as it takes.
//!
//! Only the outcome is written: an intent that a batch opens and closes never reaches its table.

use std::collections::BTreeSet;

use serde::Serialize;
use setpoint_core::facts::{Change, Facts};
use setpoint_core::intent::IntentId;
use setpoint_core::key::Key;
use setpoint_core::name::{AppId, TargetIdentity};
use setpoint_ledger::record::{Entry, canonical_bytes};
use setpoint_ledger::{LedgerError, Origin};
use sqlx::QueryBuilder;
use sqlx::sqlite::{Sqlite, SqliteConnection};

use crate::columns::integer;
use crate::writing::Failure;

/// Rows of one statement: enough that the way to SQLite's thread and back no longer counts.
const MOST_ROWS: usize = 64;

/// Cuts rows into pieces whose lengths are powers of two: few different statements, so that all stay prepared.
pub(crate) fn pieces<T>(mut rows: &[T]) -> impl Iterator<Item = &[T]> {
    std::iter::from_fn(move || {
        let length = 1 << rows.len().min(MOST_ROWS).checked_ilog2()?;
        let (piece, rest) = rows.split_at(length);
        rows = rest;
        Some(piece)
    })
}

/// What a batch has touched.
#[derive(Debug, Default)]
pub(crate) struct Touched {
    installed: bool,
    claims: BTreeSet<(TargetIdentity, Key)>,
    intents: BTreeSet<IntentId>,
    apps: BTreeSet<AppId>,
}

impl Touched {
    pub(crate) fn by(entries: &[Entry]) -> Self {
        let mut touched = Self::default();
        for change in entries.iter().flat_map(|entry| &entry.changes) {
            match change {
                Change::Installed { .. } => touched.installed = true,
                Change::PutClaim { claim, .. } => touched.claims.extend([(claim.target.clone(), claim.key.clone())]),
                Change::DropClaim { target, key, .. } => touched.claims.extend([(target.clone(), key.clone())]),
                Change::OpenIntent { intent } => touched.intents.extend([intent.id]),
                Change::CloseIntent { intent, .. } => touched.intents.extend([*intent]),
                Change::PutApp { app, .. } | Change::ForgetApp { app } => touched.apps.extend([app.clone()]),
            }
        }
        touched
    }

    /// Writes what `facts` say now about everything that was touched.
    pub(crate) async fn store(self, connection: &mut SqliteConnection, log: i64, facts: &Facts) -> Result<(), Failure> {
        if let Some(at) = facts.installed_at.filter(|_| self.installed) {
            let set =
                sqlx::query("UPDATE logs SET installed = ? WHERE log = ?").bind(integer(at.as_millis())).bind(log);
            set.execute(&mut *connection).await?;
        }
        store_claims(connection, log, facts, self.claims).await?;
        let (mut put, mut gone) = (Vec::new(), Vec::new());
        for id in self.intents {
            match facts.intents.get(&id) {
                Some(intent) => put.push((id.to_string(), stored_text(intent)?)),
                None => gone.push(id.to_string()),
            }
        }
        put_rows(connection, "INSERT OR REPLACE INTO intents (log, id, intent) ", log, &put).await?;
        delete_rows(connection, "DELETE FROM intents WHERE log = ", " AND id IN (", log, &gone).await?;
        let (mut put, mut gone) = (Vec::new(), Vec::new());
        for app in self.apps {
            match facts.apps.get(&app) {
                Some(facts) => put.push((app.to_string(), stored_text(facts)?)),
                None => gone.push(app.to_string()),
            }
        }
        put_rows(connection, "INSERT OR REPLACE INTO apps (log, app, facts) ", log, &put).await?;
        delete_rows(connection, "DELETE FROM apps WHERE log = ", " AND app IN (", log, &gone).await
    }
}

async fn put_rows(
    connection: &mut SqliteConnection,
    insert: &'static str,
    log: i64,
    rows: &[(String, String)],
) -> Result<(), Failure> {
    for piece in pieces(rows) {
        let mut query = QueryBuilder::<Sqlite>::new(insert);
        query.push_values(piece, |mut row, (name, text)| {
            row.push_bind(log).push_bind(name).push_bind(text);
        });
        query.build().execute(&mut *connection).await?;
    }
    Ok(())
}

async fn delete_rows(
    connection: &mut SqliteConnection,
    delete: &'static str,
    named: &'static str,
    log: i64,
    names: &[String],
) -> Result<(), Failure> {
    for piece in pieces(names) {
        let mut query = QueryBuilder::<Sqlite>::new(delete);
        query.push_bind(log).push(named);
        let mut list = query.separated(", ");
        for name in piece {
            list.push_bind(name);
        }
        query.push(")");
        query.build().execute(&mut *connection).await?;
    }
    Ok(())
}

/// A claim that another log holds is not overwritten: it changes no row, and the batch is refused.
async fn store_claims(
    connection: &mut SqliteConnection,
    log: i64,
    facts: &Facts,
    places: BTreeSet<(TargetIdentity, Key)>,
) -> Result<(), Failure> {
    let mut put = Vec::new();
    for place in places {
        match facts.claims.get(&place) {
            Some(claim) => put.push((place, stored_text(claim)?)),
            None => {
                let drop = sqlx::query("DELETE FROM claims WHERE target = ? AND key = ? AND log = ?");
                let drop = drop.bind(place.0.as_str()).bind(place.1.to_text()).bind(log);
                drop.execute(&mut *connection).await?;
            }
        }
    }
    for piece in pieces(&put) {
        let mut query = QueryBuilder::<Sqlite>::new("INSERT INTO claims (target, key, log, claim) ");
        query.push_values(piece, |mut row, ((target, key), text)| {
            row.push_bind(target.as_str()).push_bind(key.to_text()).push_bind(log).push_bind(text);
        });
        query.push(" ON CONFLICT (target, key) DO UPDATE SET claim = excluded.claim WHERE log = excluded.log");
        let rows = query.build().execute(&mut *connection).await?.rows_affected();
        if rows != piece.len() as u64 {
            return Err(claimed_elsewhere(connection, log, piece).await);
        }
    }
    Ok(())
}

async fn claimed_elsewhere(
    connection: &mut SqliteConnection,
    log: i64,
    piece: &[((TargetIdentity, Key), String)],
) -> Failure {
    for ((target, key), _) in piece {
        let holder: Result<Option<String>, _> = sqlx::query_scalar(
            "SELECT origin FROM claims JOIN logs ON logs.log = claims.log
             WHERE target = ? AND key = ? AND claims.log <> ?",
        )
        .bind(target.as_str())
        .bind(key.to_text())
        .bind(log)
        .fetch_optional(&mut *connection)
        .await;
        match holder.map(|holder| holder.map(|holder| Origin::new(&holder))) {
            Err(error) => return error.into(),
            Ok(None) => {}
            Ok(Some(Err(error))) => return LedgerError::corrupt("a log has no valid origin", error).into(),
            Ok(Some(Ok(holder))) => {
                return LedgerError::Claimed { target: target.clone(), key: key.clone(), holder }.into();
            }
        }
    }
    LedgerError::Corrupt { what: "a claim belongs to no log".to_owned(), source: None }.into()
}

/// Facts are stored in the same canonical form in which their records hold them: a verifier compares bytes.
fn stored_text<T: Serialize>(fact: &T) -> Result<String, LedgerError> {
    let bytes = canonical_bytes(fact)?;
    Ok(String::from_utf8(bytes).expect("canonical JSON is UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_cut_into_powers_of_two() {
        let lengths = |rows: usize| pieces(&vec![(); rows]).map(<[_]>::len).collect::<Vec<_>>();
        assert_eq!(lengths(0), [0_usize; 0]);
        assert_eq!(lengths(100), [64, 32, 4]);
        assert_eq!(lengths(131), [64, 64, 2, 1]);
    }
}
