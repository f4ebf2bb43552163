//! Records the journal of the accounts in the ledger: each change of an account, a session or a
//! token, in its order. What the ledger does not take now stays in the journal and is tried again.

use std::future::pending;
use std::time::Duration;

use setpoint_accounts::{Accounts, JournalEntry};
use setpoint_core::name::Scope;
use setpoint_core::time::Timestamp;
use setpoint_engine::Statement;
use setpoint_ledger::{Entry, Kind};
use tokio::time::timeout;
use tracing::warn;

use super::answers::Answers;
use crate::log::Log;

/// The number of entries that are read at once.
const PAGE: u32 = 100;

/// The time after which entries of other processes are recorded.
const LOOK: Duration = Duration::from_secs(10);

/// The time between two tries, for example while another agent holds the ledger.
const AGAIN: Duration = Duration::from_secs(1);

impl Answers {
    /// Records the journal for as long as the server runs.
    pub(super) async fn record_journal(&self, accounts: &Accounts, log: &Log) {
        loop {
            match self.record_oldest(accounts).await {
                // Commands on this machine add to the journal, too.
                Ok(Progress::Done) => drop(timeout(LOOK, accounts.journal_grown()).await),
                Ok(Progress::More) => {}
                Ok(Progress::Later) => wait().await,
                Err(reason) => {
                    log.with(|| warn!(reason, "cannot record changes of access in the ledger"));
                    wait().await;
                }
            }
        }
    }

    /// Records the oldest entries. If the process ends before they are forgotten, they are recorded
    /// again, with the same numbers.
    async fn record_oldest(&self, accounts: &Accounts) -> Result<Progress, String> {
        let entries = accounts.journal(PAGE).await.map_err(|error| error.to_string())?;
        for entry in &entries {
            let statement = Statement { id: self.next_order(), entry: entry_of(entry) };
            match self.handle.state(statement).await {
                Ok(Ok(())) => accounts.forget_journal(entry.number).await.map_err(|error| error.to_string())?,
                Ok(Err(_)) | Err(_) => return Ok(Progress::Later),
            }
        }
        Ok(if entries.is_empty() { Progress::Done } else { Progress::More })
    }
}

enum Progress {
    /// The journal is empty.
    Done,
    More,
    /// The ledger takes no records now.
    Later,
}

async fn wait() {
    timeout(AGAIN, pending::<()>()).await.ok();
}

/// Returns the record of a change. Its details, such as the address of a sign-in, are personal data,
/// so they are in the body, which can be erased.
fn entry_of(entry: &JournalEntry) -> Entry {
    let body = serde_json::json!({ "at": entry.at, "change": entry.change });
    let subject = entry.change.subject().to_string();
    // The machine sets the time.
    let unset = Timestamp::from_millis(0);
    let record = Entry::new(Kind::AccessChanged, Scope::default_scope(), subject, entry.author.clone(), unset)
        .with_data("what", entry.change.to_string())
        .with_data("via", entry.via.as_str())
        .with_data("number", entry.number)
        .with_body(body.to_string());
    if entry.reason.is_empty() { record } else { record.with_data("reason", entry.reason.as_str()) }
}
