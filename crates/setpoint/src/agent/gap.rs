//! Handles a ledger that has lost records, as after an older copy was restored: a checkpoint stored
//! elsewhere proves the loss. Shows the lost records, and records a person's confirmation of the
//! loss. Until then the agent changes nothing.

use std::io;
use std::path::PathBuf;

use setpoint_core::name::Actor;
use setpoint_core::time::Span;
use setpoint_ledger::anchor::AnchorFile;
use setpoint_ledger::checkpoint::Checkpoint;
use setpoint_ledger::{Gap, LeaseRequest, Ledger, LedgerError, Origin, Standing};
use setpoint_ledger_sql::{SqlLedger, remembered_in};

use super::opening::{Alone, OpeningError, open_alone};
use super::{AgentOptions, HOLDER};
use crate::doors::Clock;

/// Long enough for one record.
const LEASE: Span = Span::minutes(1);

/// A person's confirmation that records are lost.
#[derive(Clone, Debug)]
pub struct Loss {
    /// The number of records that the person confirms as lost.
    pub lost: u64,
    pub actor: Actor,
    pub reason: String,
}

/// The state of a ledger compared with the checkpoints stored outside of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    pub origin: Origin,
    /// The file with the newest of these checkpoints, if there is one.
    pub witness: Option<PathBuf>,
    /// The number of existing records.
    pub present: u64,
    /// The state of the ledger before the gap was recorded.
    pub standing: Standing,
    /// True if the gap was recorded.
    pub recorded: bool,
    /// The copy of the former anchor that was then made, if there was one.
    pub former: Option<PathBuf>,
}

/// The reason why the gap cannot be shown or recorded.
#[derive(Debug, thiserror::Error)]
pub enum GapError {
    #[error(transparent)]
    Opening(#[from] OpeningError),
    #[error("cannot read the state of the ledger")]
    Unread { source: LedgerError },
    #[error("{found} records are lost, not {named}: run this again without `--lost` to see them; nothing was recorded")]
    OtherLoss { named: u64, found: u64 },
    #[error("cannot copy the anchor {}: make its directory writable; nothing was recorded", path.display())]
    NotKept { path: PathBuf, source: io::Error },
    #[error("cannot record the gap")]
    NotRecorded { source: LedgerError },
    #[error(
        "the gap is recorded, but the ledger stays read-only until its anchor is written too: {trouble}; correct that and run this again"
    )]
    NotAnchored { trouble: String },
}

/// Compares the ledger with its anchor. With a person's confirmation of exactly the lost records,
/// records the gap. Must not be called while the agent runs.
pub async fn gap(options: AgentOptions, loss: Option<Loss>) -> Result<Shown, GapError> {
    let Alone { ledger, origin, folder, anchor, clock } = open_alone(options).await?;
    let head = ledger.head(&origin).await.map_err(|source| GapError::Unread { source })?;
    let witness = newest_of(anchor.iter().cloned().chain([AnchorFile::new(remembered_in(folder.path()))]));
    let mut shown =
        Shown { origin, witness, present: head.size, standing: head.standing, recorded: false, former: None };
    if let (Some(loss), true) = (loss, head.standing != Standing::Sound) {
        shown.former = record(&ledger, &shown.origin, anchor.as_ref(), head.standing, loss, clock).await?;
        shown.recorded = true;
    }
    Ok(shown)
}

/// Returns the file with the newest checkpoint, the first of equal ones. All of them are trusted,
/// because the ledger could be opened.
fn newest_of(files: impl Iterator<Item = AnchorFile>) -> Option<PathBuf> {
    let mut newest: Option<(u64, PathBuf)> = None;
    for file in files {
        let text = file.read().ok().flatten();
        let Some(found) = text.and_then(|text| Checkpoint::read_unproven(&text).ok()) else { continue };
        if newest.as_ref().is_none_or(|(size, _)| found.size > *size) {
            newest = Some((found.size, file.path().to_owned()));
        }
    }
    newest.map(|(_, path)| path)
}

async fn record(
    ledger: &SqlLedger,
    origin: &Origin,
    anchor: Option<&AnchorFile>,
    standing: Standing,
    loss: Loss,
    clock: Clock,
) -> Result<Option<PathBuf>, GapError> {
    let (lost, now) = (standing.lost(), clock.now());
    let found = lost.end - lost.start;
    if loss.lost != found {
        return Err(GapError::OtherLoss { named: loss.lost, found });
    }
    let former = match anchor.filter(|anchor| anchor.path().exists()) {
        Some(anchor) => {
            let not_kept = |source| GapError::NotKept { path: anchor.path().to_owned(), source };
            Some(anchor.keep_former(now).map_err(not_kept)?)
        }
        None => None,
    };
    let lease = LeaseRequest { origin: origin.clone(), holder: HOLDER.to_owned(), now, length: LEASE };
    let gap = Gap { lease, actor: loss.actor, reason: loss.reason, lost };
    let recorded = async {
        let lease = ledger.record_gap(gap).await?;
        ledger.release(&lease).await?;
        // The anchor is updated before the ledger is closed.
        ledger.close().await?;
        ledger.head(origin).await
    };
    let head = recorded.await.map_err(|source| GapError::NotRecorded { source })?;
    match head.anchor_trouble {
        None => Ok(former),
        Some(trouble) => Err(GapError::NotAnchored { trouble }),
    }
}
