//! The journal: changes that wait for the ledger. Each is stored in the transaction that makes the
//! change, so none is lost if the process ends, or if the ledger cannot be written for a while.

use setpoint_core::name::Actor;
use setpoint_core::time::Timestamp;
use sqlx::Row as _;
use sqlx::sqlite::{SqliteConnection, SqliteRow};

use crate::change::Change;
use crate::columns::{millis, timestamp};
use crate::errors::AccountsError;
use crate::store::{Accounts, Writing};

/// The longest reason, in bytes: every reader of the ledger reads it.
const LONGEST_REASON: usize = 4 * 1024;

/// The author of a change: who asks for it, when, why, and how this person signed in.
#[derive(Clone, Copy, Debug)]
pub struct Author<'a> {
    pub actor: &'a Actor,
    /// The way in which the author was identified, such as `password` or `set-up link`.
    pub via: &'a str,
    /// Empty if none was given.
    pub reason: &'a str,
    pub now: Timestamp,
}

/// A change that is not in the ledger yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JournalEntry {
    /// Rises with each change, and is never used again.
    pub number: i64,
    pub at: Timestamp,
    pub author: Actor,
    pub via: String,
    pub reason: String,
    pub change: Change,
}

impl Writing<'_> {
    /// Adds the change to the journal and commits both. Refuses a reason that is too long; then
    /// nothing is changed.
    pub(crate) async fn commit_change(
        mut self,
        change: Change,
        author: &Author<'_>,
        accounts: &Accounts,
    ) -> Result<Change, AccountsError> {
        if author.reason.len() > LONGEST_REASON {
            return Err(AccountsError::ReasonTooLong { limit: LONGEST_REASON });
        }
        insert(self.connection(), &change, author).await?;
        self.commit().await?;
        accounts.journal.notify_one();
        Ok(change)
    }
}

async fn insert(connection: &mut SqliteConnection, change: &Change, author: &Author<'_>) -> Result<(), AccountsError> {
    let text = serde_json::to_string(change).expect("a change is names and numbers");
    sqlx::query("INSERT INTO journal (at, author, via, reason, change) VALUES (?, ?, ?, ?, ?)")
        .bind(millis(author.now))
        .bind(author.actor.as_str())
        .bind(author.via)
        .bind(author.reason)
        .bind(text)
        .execute(connection)
        .await?;
    Ok(())
}

impl Accounts {
    /// Returns the oldest entries of the journal.
    pub async fn journal(&self, limit: u32) -> Result<Vec<JournalEntry>, AccountsError> {
        let select = sqlx::query("SELECT * FROM journal ORDER BY number LIMIT ?").bind(limit);
        select.fetch_all(&self.pool).await?.iter().map(read).collect()
    }

    /// Removes the entries up to this number: they are in the ledger.
    pub async fn forget_journal(&self, number: i64) -> Result<(), AccountsError> {
        let mut writing = self.write().await?;
        sqlx::query("DELETE FROM journal WHERE number <= ?").bind(number).execute(writing.connection()).await?;
        writing.commit().await
    }

    /// Waits until this process has added to the journal since the last call.
    pub async fn journal_grown(&self) {
        self.journal.notified().await;
    }
}

fn read(row: &SqliteRow) -> Result<JournalEntry, AccountsError> {
    let change: String = row.try_get("change")?;
    Ok(JournalEntry {
        number: row.try_get("number")?,
        at: timestamp(row.try_get("at")?)?,
        author: Actor::new(row.try_get("author")?)?,
        via: row.try_get("via")?,
        reason: row.try_get("reason")?,
        change: serde_json::from_str(&change).map_err(|_| AccountsError::damaged("change"))?,
    })
}
