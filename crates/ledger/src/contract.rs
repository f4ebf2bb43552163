//! The [`Ledger`] trait: the operations the engine needs, and the guarantees crash recovery relies
//! on.

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

/// The pending result of a ledger operation.
pub type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T, LedgerError>> + Send + 'a>>;

/// A request to be the one writer of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaseRequest {
    pub origin: Origin,
    /// The name of the requester. The same holder may acquire again after a crash without waiting,
    /// and gets a new epoch.
    pub holder: String,
    pub now: Timestamp,
    pub length: Span,
}

/// The right to write a log, until it expires.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    pub origin: Origin,
    pub holder: String,
    /// The epoch, larger than every earlier one of this log.
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
    /// The bundles that the entries refer to, by digest.
    pub bundles: BTreeMap<Digest, Vec<u8>>,
}

impl Batch {
    /// The most entries of one batch: a long transaction would delay other writers.
    pub const MOST_ENTRIES: usize = 10_000;
    /// The longest bundle.
    pub const LONGEST_BUNDLE: usize = 64 << 20;

    pub fn new(lease: &Lease, now: Timestamp, entries: Vec<Entry>) -> Self {
        Self { origin: lease.origin.clone(), epoch: lease.epoch, now, entries, bundles: BTreeMap::new() }
    }

    /// Refuses a batch that no ledger records.
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
                Err(LedgerError::input(format!("the bytes of bundle {digest} do not match its digest")))
            }
            None => Ok(()),
        }
    }
}

/// The place where a batch was recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Appended {
    /// The sequence numbers of its records.
    pub seqs: Range<u64>,
}

/// The agreement of a log's past with the checkpoints outside it: its anchor, and the newest
/// checkpoint that a data directory remembers of its ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// The log agrees, or there is no such checkpoint.
    Sound,
    /// The checkpoint covers more records than the log has: an older copy was restored.
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
    /// Returns the lost records of a log with this anchor.
    pub fn lost(self) -> Range<u64> {
        match self {
            Self::Sound => 0..0,
            Self::Behind { anchored, present } => present..anchored,
            // Which of the anchored records are lost is unknown: it may be all of them.
            Self::Forked { anchored } => 0..anchored,
        }
    }

    /// Returns the action that corrects the problem.
    pub fn remedy(self) -> &'static str {
        match self {
            Self::Sound => "there is nothing to do",
            Self::Behind { present: 0, .. } => {
                "restore a copy of the data directory, or stop the agent and start a new ledger with `setpoint recover`"
            }
            Self::Behind { .. } | Self::Forked { .. } => {
                "restore the newer copy, or stop the agent and record the gap with `setpoint ledger gap`"
            }
        }
    }
}

/// The newest state of a log: its epoch, size and root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    pub origin: Origin,
    /// The newest acquired epoch; 0 before the first.
    pub epoch: u64,
    pub size: u64,
    pub root: Digest,
    /// The number of records that the newest checkpoint covers.
    pub checkpointed: u64,
    /// The number of records that the anchor covers; `None` without an anchor.
    pub anchored: Option<u64>,
    /// The reason why the anchor cannot be updated. Records are still appended, but records that
    /// the anchor does not cover can be cut off unnoticed.
    pub anchor_trouble: Option<String>,
    /// The time when [`Ledger::checkpoint`] is due if nothing more is written.
    pub checkpoint_due: Option<Timestamp>,
    pub standing: Standing,
}

/// A log's facts and its head, read at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loaded {
    pub facts: Facts,
    pub head: Head,
}

/// The state of a record's body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// The record has none.
    None,
    /// The body was erased, and a later record documents it.
    Erased,
    Bytes(Vec<u8>),
}

/// A request to erase a body. The erasure is recorded, so that nothing disappears silently.
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
    /// Returns the record of the erasure. Verifiers read its field `erased`.
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
    /// The lost range, as the operator entered it. It must be the range that the anchor shows.
    pub lost: Range<u64>,
}

impl Gap {
    /// Returns the record of the gap. Refuses a range that differs from the one `anchor` shows as
    /// lost.
    pub fn entry(&self, standing: Standing, present: u64, anchor: &Checkpoint) -> Result<Entry, LedgerError> {
        if standing == Standing::Sound {
            return Err(LedgerError::input("there is no gap: the log agrees with every checkpoint outside it"));
        }
        let lost = standing.lost();
        if lost != self.lost {
            let (named, found) = (&self.lost, lost);
            return Err(LedgerError::input(format!("the gap names records {named:?}, but {found:?} are lost")));
        }
        Ok(self.further_entry(standing, present, anchor))
    }

    /// Returns the record of the same gap for another checkpoint that shows it, so that a verifier
    /// accepts that checkpoint too.
    pub fn further_entry(&self, standing: Standing, present: u64, checkpoint: &Checkpoint) -> Entry {
        gap_entry(checkpoint, standing.lost(), self.actor.clone(), &self.reason, self.lease.now)
            .with_data("present", present)
    }
}

/// Returns the record of a log that is lost together with its signing key: only its anchor is left.
/// The record is part of the log that replaces it.
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

/// A set of logs, each with one writer, and the facts that result from their records.
///
/// Crash recovery relies on these guarantees. Every implementation proves them by passing the suite
/// in `conformance`:
///
/// 1. **A confirmed append is durable.** When [`append`](Self::append) returns `Ok`, the batch
///    survives loss of power.
/// 2. **All or nothing.** A batch is stored with its records, facts, bodies and bundles, or not at
///    all. A batch whose append returned an error may be stored after a crash (the error came after
///    the sync), but never in part.
/// 3. **One order.** Records of a log are numbered from 0 without gaps; epochs never fall along
///    them.
/// 4. **Fencing.** After [`acquire`](Self::acquire) returned an epoch, no batch of an earlier epoch
///    is recorded, and no batch whose lease has expired.
/// 5. **Facts are a fold.** [`load`](Self::load) returns the fold of the changes of all records.
/// 6. **Doubt stops writing.** After an error while making records durable, nothing more is
///    recorded until the ledger is opened again: the operating system may have dropped the pages it
///    could not write. Reading still works.
/// 7. **A claim has one holder**: a `(target identity, key)` claimed in one log is refused in
///    another.
/// 8. **In the order of the calls.** Of two calls of [`append`](Self::append), the first batch is
///    recorded first, in whatever order the results are awaited. So a batch may depend on one whose
///    result is still pending. A call is a request: dropping its future does not cancel it.
///
/// An error never means that something is absent.
pub trait Ledger: Send + Sync + fmt::Debug {
    /// Acquires a log for writing, in a new epoch. Fails while the lease of another holder is
    /// valid.
    fn acquire(&self, request: LeaseRequest) -> Answer<'_, Lease>;

    /// Extends a lease that has not expired. An expired lease must be acquired again, in a new
    /// epoch.
    fn renew(&self, lease: &Lease, now: Timestamp, length: Span) -> Answer<'_, Lease>;

    /// Releases a lease, so that another holder need not wait.
    fn release(&self, lease: &Lease) -> Answer<'_, ()>;

    /// Records a batch: one transaction, one sync.
    fn append(&self, batch: Batch) -> Answer<'_, Appended>;

    /// Returns a log's facts. A log that was never written has none, and size 0.
    fn load(&self, origin: &Origin) -> Answer<'_, Loaded>;

    /// Returns a log's head, without its facts.
    fn head(&self, origin: &Origin) -> Answer<'_, Head>;

    /// Returns the stored bytes of the records in `range`, which must lie within the log.
    fn records(&self, origin: &Origin, range: Range<u64>) -> Answer<'_, Vec<Vec<u8>>>;

    /// Returns the body of one record.
    fn body(&self, origin: &Origin, seq: u64) -> Answer<'_, Body>;

    /// Erases a body and records the erasure, in one transaction.
    fn erase_body(&self, erasure: Erasure) -> Answer<'_, Appended>;

    /// Returns a bundle's bytes, or `None` if no batch contained it.
    fn bundle(&self, digest: &Digest) -> Answer<'_, Option<Vec<u8>>>;

    /// Signs the head if there are records since the last checkpoint. Returns the newest
    /// checkpoint, if there is one.
    fn checkpoint(&self, origin: &Origin) -> Answer<'_, Option<Checkpoint>>;

    /// Proves that record `seq` is among the first `size`.
    fn prove_inclusion(&self, origin: &Origin, seq: u64, size: u64) -> Answer<'_, Inclusion>;

    /// Proves that the first `old` records are a prefix of the first `new`.
    fn prove_consistency(&self, origin: &Origin, old: u64, new: u64) -> Answer<'_, Consistency>;

    /// Records the lost range, in a new epoch, and so makes a read-only log writable again.
    fn record_gap(&self, gap: Gap) -> Answer<'_, Lease>;

    /// Compares the fold of all records with the stored facts. Returns a description of the first
    /// difference.
    fn replay_check(&self, origin: &Origin) -> Answer<'_, Option<String>>;

    /// Signs every head that has unsigned records. After that, nothing more is recorded.
    fn close(&self) -> Answer<'_, ()>;
}
