//! The newest checkpoint of a ledger, in a file of its own in the data directory.
//!
//! Without an anchor, which is optional, a missing database or an older copy of it cannot be
//! recognised. This file reveals both where no anchor is configured. It is written after the
//! checkpoint is durable in the database, so it may lag behind the ledger and is never ahead of it.
//! The writer of the log does not wait for it. It is written at most once a second.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use setpoint_ledger::anchor::AnchorFile;
use setpoint_ledger::checkpoint::{Checkpoint, PublicKey};
use setpoint_ledger::{LedgerError, Origin};
use tokio::sync::watch;
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::timeout;

use crate::folder::{Presence, private_file};
use crate::options::OpenError;

/// The name of the file. It does not begin with `ledger`, so that removing the database by a
/// pattern does not remove this file too.
const NAME: &str = "newest.checkpoint";
/// The shortest time between two writes: a busy ledger signs many checkpoints a second.
const PAUSE: Duration = Duration::from_secs(1);
/// How long closing waits for the last write.
const PATIENCE: Duration = Duration::from_secs(2);

/// Returns the path of the remembered checkpoint in a data directory.
pub fn path_in(directory: &Path) -> PathBuf {
    directory.join(NAME)
}

/// Reads the remembered checkpoint. Returns `None` only if there is no file.
pub(crate) fn read(directory: &Path, origin: &Origin, keys: &[PublicKey]) -> Result<Option<Checkpoint>, OpenError> {
    let path = path_in(directory);
    let text = match AnchorFile::new(&path).read() {
        Ok(Some(text)) => text,
        Ok(None) => return Ok(None),
        Err(source) => return Err(OpenError::Folder { path, source }),
    };
    match Checkpoint::read_unproven(&text) {
        Ok(of) if of.origin != *origin => {
            Err(OpenError::MemoryOfAnotherLog { path, found: of.origin, wanted: origin.clone() })
        }
        _ => Checkpoint::open(&text, keys).map(Some).map_err(|source| OpenError::MemoryForged { path, source }),
    }
}

/// Stores the newest checkpoint of one log.
#[derive(Debug)]
pub(crate) struct Memory {
    pub(crate) origin: Origin,
    newest: watch::Sender<Option<Checkpoint>>,
    task: JoinHandle<()>,
    trouble: Trouble,
}

/// The reason why the last write failed, as a text for people.
pub(crate) type Trouble = Arc<Mutex<Option<String>>>;

impl Memory {
    /// Starts the task that writes. `remembered` is the content of the file.
    #[expect(clippy::disallowed_methods, reason = "the door: one task for each open ledger, ended by its writer")]
    pub(crate) fn start(
        directory: &Path,
        origin: Origin,
        remembered: Option<Checkpoint>,
        presence: Presence,
        trouble: Trouble,
    ) -> Self {
        let newest = watch::Sender::new(remembered.clone());
        let file = AnchorFile::new(path_in(directory));
        let task = keep(file, newest.subscribe(), remembered, presence, Arc::clone(&trouble));
        Self { origin, newest, task: tokio::spawn(task), trouble }
    }

    /// Queues a checkpoint that is durable in the ledger for writing.
    pub(crate) fn keep(&self, checkpoint: &Checkpoint) {
        self.newest.send_if_modified(|newest| {
            let is_new = newest.as_ref() != Some(checkpoint);
            if is_new {
                *newest = Some(checkpoint.clone());
            }
            is_new
        });
    }

    /// Waits for the last write, and returns the reason if it failed.
    pub(crate) async fn close(self) -> Option<String> {
        drop(self.newest);
        let closed = timeout(PATIENCE, self.task).await;
        let trouble = self.trouble.lock().unwrap_or_else(PoisonError::into_inner).clone();
        trouble.or_else(|| closed.is_err().then(|| "the newest checkpoint was not stored in time".to_owned()))
    }
}

/// Writes the newest checkpoint until the sender is dropped, then once more if one is unwritten.
async fn keep(
    file: AnchorFile,
    mut newest: watch::Receiver<Option<Checkpoint>>,
    mut kept: Option<Checkpoint>,
    presence: Presence,
    trouble: Trouble,
) {
    let mut open = true;
    while open {
        open = newest.changed().await.is_ok();
        loop {
            let wanted = newest.borrow_and_update().clone();
            let Some(checkpoint) = wanted.clone().filter(|_| wanted != kept) else { break };
            let written = write(file.clone(), checkpoint, presence.clone()).await;
            let failed = written.as_ref().err().map(|error| said(&file, error));
            *trouble.lock().unwrap_or_else(PoisonError::into_inner) = failed;
            if written.is_ok() {
                kept = wanted;
            } else if !open {
                break;
            }
            open = open && pause(&newest).await;
        }
    }
}

/// Waits before the next write, or until the sender is dropped. Reports whether more may follow.
async fn pause(newest: &watch::Receiver<Option<Checkpoint>>) -> bool {
    let mut closed = newest.clone();
    timeout(PAUSE, closed.wait_for(|_| false)).await.is_err()
}

#[expect(clippy::disallowed_methods, reason = "the door: one write at a time, waited for")]
async fn write(file: AnchorFile, checkpoint: Checkpoint, presence: Presence) -> io::Result<()> {
    let written = spawn_blocking(move || {
        // Another installation may have replaced this one: its checkpoint must not be overwritten.
        presence.check().map_err(|error: LedgerError| io::Error::other(error.to_string()))?;
        // The file is created for this user only before it is written.
        private_file(&file.next())?;
        file.write(&checkpoint)
    });
    written.await.unwrap_or_else(|_| Err(io::Error::other("the write ended without a result")))
}

fn said(file: &AnchorFile, error: &io::Error) -> String {
    let path = file.path().display();
    format!(
        "the newest checkpoint cannot be stored in {path} ({error}): free disk space and check the directory; the write is retried"
    )
}
