//! A ledger that a checkpoint kept outside of it shows to have lost records, as after an older copy
//! was restored: what is lost, and a person's word that it is. Until that is recorded the agent
//! changes nothing.

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

/// A person's word that records are lost.
#[derive(Clone, Debug)]
pub struct Loss {
    /// How many, as that person was told.
    pub lost: u64,
    pub actor: Actor,
    pub reason: String,
}

/// What the checkpoints that are kept outside of a ledger show of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    pub origin: Origin,
    /// The file with the newest of these checkpoints, if there is any.
    pub witness: Option<PathBuf>,
    /// How many records there are.
    pub present: u64,
    /// How it was found.
    pub standing: Standing,
    /// Whether the gap was recorded.
    pub recorded: bool,
    /// Where the former anchor is kept then, if there was one.
    pub former: Option<PathBuf>,
}

/// Why nothing can be shown or recorded.
#[derive(Debug, thiserror::Error)]
pub enum GapError {
    #[error(transparent)]
    Opening(#[from] OpeningError),
    #[error("the ledger cannot say where it stands")]
    Unread { source: LedgerError },
    #[error("{found} records are lost, not {named}: look again without `--lost`; nothing was recorded")]
    OtherLoss { named: u64, found: u64 },
    #[error("the anchor {} cannot be kept beside itself: make its folder writable; nothing was recorded", path.display())]
    NotKept { path: PathBuf, source: io::Error },
    #[error("the gap could not be recorded")]
    NotRecorded { source: LedgerError },
    #[error(
        "the gap is recorded, but the ledger stays read-only until its anchor is written too: {trouble}; then run this again"
    )]
    NotAnchored { trouble: String },
}

/// Holds the ledger against its anchor and, given a person's word for exactly what is lost, records
/// that. The agent may not be running.
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

/// The file with the newest checkpoint, of those that hold one: the ledger was opened, so that all
/// of them are believed. Of two equal ones the first.
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
        // The anchor follows before the ledger is closed.
        ledger.close().await?;
        ledger.head(origin).await
    };
    let head = recorded.await.map_err(|source| GapError::NotRecorded { source })?;
    match head.anchor_trouble {
        None => Ok(former),
        Some(trouble) => Err(GapError::NotAnchored { trouble }),
    }
}
