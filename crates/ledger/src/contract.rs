//! The [`Ledger`] trait: what the engine may ask of a ledger, and what crash recovery relies on.

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::ops::Range;
use std::pin::Pin;

use setpoint_core::digest::Digest;
use setpoint_core::facts::Facts;
use setpoint_core::name::{Actor, Scope};
use setpoint_core::time::{Span, Timestamp};

use crate::checkpoint::Checkpoint;
use crate::error::LedgerError;
use crate::origin::Origin;
use crate::proof::{Consistency, Inclusion};
use crate::record::{Entry, Kind};

/// An answer on its way.
pub type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T, LedgerError>> + Send + 'a>>;

/// A request to be the one writer of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaseRequest {
    pub origin: Origin,
    /// Who asks. The same holder may ask again after a crash without waiting, and gets a new epoch.
    pub holder: String,
    pub now: Timestamp,
    pub length: Span,
}

/// The right to write a log, until it runs out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    pub origin: Origin,
    pub holder: String,
    /// Larger than every epoch of this log before.
    pub epoch: u64,
    pub expires: Timestamp,
}

/// Entries that are recorded together or not at all.
#[derive(Clone, Debug)]
pub struct Batch {
    pub origin: Origin,
    pub epoch: u64,
    pub now: Timestamp,
    pub entries: Vec<Entry>,
    /// Bundles the entries speak of, by digest.
    pub bundles: BTreeMap<Digest, Vec<u8>>,
}

impl Batch {
    /// Most entries of one batch: a transaction must not starve its neighbours.
    pub const MOST_ENTRIES: usize = 10_000;
    /// The longest bundle.
    pub const LONGEST_BUNDLE: usize = 64 << 20;

    pub fn new(lease: &Lease, now: Timestamp, entries: Vec<Entry>) -> Self {
        Self { origin: lease.origin.clone(), epoch: lease.epoch, now, entries, bundles: BTreeMap::new() }
    }

    /// Refuses what no ledger records.
    pub fn check(&self) -> Result<(), LedgerError> {
        if self.entries.is_empty() {
            return Err(LedgerError::input("a batch without entries"));
        }
        if self.entries.len() > Self::MOST_ENTRIES {
            return Err(LedgerError::input(format!("a batch of more than {} entries: split it", Self::MOST_ENTRIES)));
        }
        if self.bundles.values().any(|bytes| bytes.len() > Self::LONGEST_BUNDLE) {
            return Err(LedgerError::input("a bundle longer than 64 MiB: split its app"));
        }
        match self.bundles.iter().find(|(digest, bytes)| Digest::of(bytes) != **digest) {
            Some((digest, _)) => {
                Err(LedgerError::input(format!("bundle {digest} has other bytes than its digest says")))
            }
            None => Ok(()),
        }
    }
}

/// Where a batch was recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Appended {
    /// The sequence numbers of its records.
    pub seqs: Range<u64>,
}

/// Whether a log's past agrees with the checkpoints that are kept outside of it: its anchor, and
/// what a data directory remembers of its ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It does, or there is no such checkpoint.
    Sound,
    /// The checkpoint covers more records than there are: an older copy was restored.
    Behind { anchored: u64, present: u64 },
    /// The checkpoint was signed over other records.
    Forked { anchored: u64 },
}

impl fmt::Display for Standing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sound => f.write_str("sound"),
            Self::Behind { anchored, present } => {
                write!(f, "behind its newest known checkpoint ({present} records here, {anchored} signed)")
            }
            Self::Forked { anchored } => {
                write!(f, "not the log that its checkpoint at {anchored} records was signed for")
            }
        }
    }
}

impl Standing {
    /// The records that are lost, of a log with this anchor.
    pub fn lost(self) -> Range<u64> {
        match self {
            Self::Sound => 0..0,
            Self::Behind { anchored, present } => present..anchored,
            // Which of the anchored records are gone cannot be told: all of them may be.
            Self::Forked { anchored } => 0..anchored,
        }
    }

    /// What a person can do about it.
    pub fn remedy(self) -> &'static str {
        match self {
            Self::Sound => "there is nothing to do",
            Self::Behind { present: 0, .. } => {
                "restore a copy of the data folder, or stop the agent and begin anew with `setpoint recover`"
            }
            Self::Behind { .. } | Self::Forked { .. } => {
                "restore the newer copy, or stop the agent and record the gap with `setpoint ledger gap`"
            }
        }
    }
}

/// Where a log stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    pub origin: Origin,
    /// The newest epoch that was given out; 0 before the first.
    pub epoch: u64,
    pub size: u64,
    pub root: Digest,
    /// How many records the newest checkpoint covers.
    pub checkpointed: u64,
    /// How many records the anchor covers; `None` without an anchor.
    pub anchored: Option<u64>,
    /// Why the anchor does not follow. Records are made all the same; what it does not cover can be
    /// cut off unseen.
    pub anchor_trouble: Option<String>,
    /// When [`Ledger::checkpoint`] is due if nothing more is written.
    pub checkpoint_due: Option<Timestamp>,
    pub standing: Standing,
}

/// A log's facts and where it stands, read at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loaded {
    pub facts: Facts,
    pub head: Head,
}

/// What is left of a record's body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// The record has none.
    None,
    /// It was erased, and a later record says so.
    Erased,
    Bytes(Vec<u8>),
}

/// A request to erase a body. It is itself recorded: nothing disappears silently.
#[derive(Clone, Debug)]
pub struct Erasure {
    pub origin: Origin,
    pub epoch: u64,
    pub now: Timestamp,
    pub seq: u64,
    pub scope: Scope,
    pub actor: Actor,
    pub reason: String,
}

impl Erasure {
    /// The record of the erasure. `erased` is what a verifier looks for.
    pub fn entry(&self) -> Entry {
        let subject = format!("record {}", self.seq);
        Entry::new(Kind::Override, self.scope.clone(), subject, self.actor.clone(), self.now)
            .with_data("erased", self.seq)
            .with_data("reason", self.reason.clone())
    }
}

/// An operator's statement that records were lost, which makes a read-only log writable again.
#[derive(Clone, Debug)]
pub struct Gap {
    /// The lease that the new epoch begins with.
    pub lease: LeaseRequest,
    pub actor: Actor,
    pub reason: String,
    /// The lost range as the operator read it: must be the one the anchor shows.
    pub lost: Range<u64>,
}

impl Gap {
    /// The record of the gap, if it names what `anchor` shows to be lost from a log that stands so.
    pub fn entry(&self, standing: Standing, present: u64, anchor: &Checkpoint) -> Result<Entry, LedgerError> {
        if standing == Standing::Sound {
            return Err(LedgerError::input("there is no gap: the log agrees with every checkpoint kept outside of it"));
        }
        let lost = standing.lost();
        if lost != self.lost {
            let (named, found) = (&self.lost, lost);
            return Err(LedgerError::input(format!("the gap names records {named:?}, but lost are {found:?}")));
        }
        Ok(self.further_entry(standing, present, anchor))
    }

    /// The record of the same gap for another checkpoint that shows it, so that a verifier accepts
    /// that one too.
    pub fn further_entry(&self, standing: Standing, present: u64, checkpoint: &Checkpoint) -> Entry {
        gap_entry(checkpoint, standing.lost(), self.actor.clone(), &self.reason, self.lease.now)
            .with_data("present", present)
    }
}

/// The record of a log that is lost as a whole, with the key that signed it: all that is left of it
/// is what its anchor says. It stands in the log that takes its place.
pub fn lost_log_entry(anchor: &Checkpoint, actor: Actor, reason: &str, now: Timestamp) -> Entry {
    gap_entry(anchor, 0..anchor.size, actor, reason, now)
}

fn gap_entry(anchor: &Checkpoint, lost: Range<u64>, actor: Actor, reason: &str, now: Timestamp) -> Entry {
    Entry::new(Kind::LedgerGap, Scope::default_scope(), anchor.origin.to_string(), actor, now)
        .with_data("lostFrom", lost.start)
        .with_data("lostTo", lost.end)
        .with_data("anchorSize", anchor.size)
        .with_data("anchorRoot", anchor.root.to_string())
        .with_data("anchorEpoch", anchor.epoch)
        .with_data("reason", reason)
}

/// A set of logs, one writer each, with the facts their records make.
///
/// Crash recovery relies on this, and every implementation shows it by passing the suite in
/// `conformance`:
///
/// 1. **An answered append is durable.** When [`append`](Self::append) answers `Ok`, the batch
///    survives loss of power.
/// 2. **All or nothing.** A batch is there with its records, facts, bodies and bundles, or nothing
///    of it is. One that was answered with an error may be there after a crash (the error came
///    after the sync), but never in part.
/// 3. **One order.** Records of a log are numbered from 0 without gaps; epochs never fall along
///    them.
/// 4. **Fencing.** After [`acquire`](Self::acquire) gave out an epoch, no batch of an earlier one
///    is recorded; nor is one whose lease has run out.
/// 5. **Facts are a fold.** [`load`](Self::load) answers what folding the changes of all records
///    gives.
/// 6. **Doubt stops writing.** After an error while making records durable nothing more is recorded
///    until the ledger is opened again: the operating system may have dropped the pages it could
///    not write. Reading goes on.
/// 7. **A claim has one holder**: a `(target identity, key)` claimed in one log is refused in
///    another.
/// 8. **In the order of the calls.** Whoever calls [`append`](Self::append) twice finds the first
///    batch before the second, whichever answer is awaited first; so a batch may rest on one whose
///    answer is still on its way. A call is a request: dropping its answer does not take it back.
///
/// An error never stands for "nothing there".
pub trait Ledger: Send + Sync + fmt::Debug {
    /// Becomes the writer of a log, in a new epoch. Refused while another holder's lease runs.
    fn acquire(&self, request: LeaseRequest) -> Answer<'_, Lease>;

    /// Extends a lease that has not run out. One that has must be acquired again, in a new epoch.
    fn renew(&self, lease: &Lease, now: Timestamp, length: Span) -> Answer<'_, Lease>;

    /// Gives a lease up, so that another holder need not wait.
    fn release(&self, lease: &Lease) -> Answer<'_, ()>;

    /// Records a batch: one transaction, one sync.
    fn append(&self, batch: Batch) -> Answer<'_, Appended>;

    /// A log's facts. A log nobody ever wrote has none and size 0.
    fn load(&self, origin: &Origin) -> Answer<'_, Loaded>;

    /// Where a log stands, without its facts.
    fn head(&self, origin: &Origin) -> Answer<'_, Head>;

    /// The stored bytes of the records in `range`, which must lie within the log.
    fn records(&self, origin: &Origin, range: Range<u64>) -> Answer<'_, Vec<Vec<u8>>>;

    /// The body of one record.
    fn body(&self, origin: &Origin, seq: u64) -> Answer<'_, Body>;

    /// Erases a body and records that, in one transaction.
    fn erase_body(&self, erasure: Erasure) -> Answer<'_, Appended>;

    /// A bundle's bytes; `None` if no batch brought it.
    fn bundle(&self, digest: &Digest) -> Answer<'_, Option<Vec<u8>>>;

    /// Signs the head if there are records since the last checkpoint. The newest checkpoint, if
    /// there is any.
    fn checkpoint(&self, origin: &Origin) -> Answer<'_, Option<Checkpoint>>;

    /// Proves that record `seq` is among the first `size`.
    fn prove_inclusion(&self, origin: &Origin, seq: u64, size: u64) -> Answer<'_, Inclusion>;

    /// Proves that the first `old` records are a prefix of the first `new`.
    fn prove_consistency(&self, origin: &Origin, old: u64, new: u64) -> Answer<'_, Consistency>;

    /// Records what was lost, in a new epoch, and so makes a read-only log writable again.
    fn record_gap(&self, gap: Gap) -> Answer<'_, Lease>;

    /// Folds the changes of all records and compares with the facts. The first difference, in
    /// words.
    fn replay_check(&self, origin: &Origin) -> Answer<'_, Option<String>>;

    /// Signs every head that needs it. Afterwards nothing more is recorded.
    fn close(&self) -> Answer<'_, ()>;
}
