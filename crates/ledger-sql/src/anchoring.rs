//! Writes the anchor of a log. A disk that fails or hangs delays the log briefly, once, and never
//! blocks it.

use std::io;
use std::time::Duration;

use setpoint_ledger::anchor::AnchorFile;
use setpoint_ledger::checkpoint::Checkpoint;
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::timeout;

/// How long the log waits for its anchor. An anchor on an unreachable network file system may never
/// respond.
const PATIENCE: Duration = Duration::from_secs(2);

/// An anchor and its pending write.
#[derive(Debug)]
pub(crate) struct Anchoring {
    file: AnchorFile,
    /// A write that exceeded [`PATIENCE`]. No second write starts meanwhile: the two could overtake
    /// each other.
    overdue: Option<(Checkpoint, JoinHandle<io::Result<()>>)>,
}

impl Anchoring {
    pub(crate) fn new(file: AnchorFile) -> Self {
        Self { file, overdue: None }
    }

    /// Writes the checkpoint, unless an earlier write is still running. The error is a text for
    /// people.
    #[expect(clippy::disallowed_methods, reason = "the door: one write at a time for each anchor, waited for a moment")]
    pub(crate) async fn bring_to(&mut self, checkpoint: &Checkpoint) -> Result<(), String> {
        if let Some((earlier, writing)) = self.overdue.take() {
            if !writing.is_finished() {
                self.overdue = Some((earlier, writing));
                return Err(self.silent());
            }
            // Whatever its result, the file holds an earlier checkpoint or this one: it is written
            // now.
            if matches!(writing.await, Ok(Ok(()))) && earlier == *checkpoint {
                return Ok(());
            }
        }
        let (file, written) = (self.file.clone(), checkpoint.clone());
        let mut writing = spawn_blocking(move || file.write(&written));
        match timeout(PATIENCE, &mut writing).await {
            Ok(Ok(Ok(()))) => Ok(()),
            Ok(Ok(Err(error))) => Err(self.refused(&error)),
            Ok(Err(_panicked)) => Err(self.refused(&io::Error::other("the write ended without a result"))),
            Err(_elapsed) => {
                self.overdue = Some((checkpoint.clone(), writing));
                Err(self.silent())
            }
        }
    }

    fn refused(&self, error: &io::Error) -> String {
        let path = self.file.path().display();
        format!(
            "the anchor {path} cannot be written ({error}): free disk space and check its directory; the write is retried"
        )
    }

    fn silent(&self) -> String {
        let path = self.file.path().display();
        format!("the anchor {path} does not respond: check its disk; the anchor is written as soon as it responds")
    }
}
