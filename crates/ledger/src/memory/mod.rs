//! The ledger in memory. [`MemoryLog`] is plain, synchronous and deterministic: the simulator calls
//! it directly, and a clone of it is a backup. [`MemoryLedger`] implements the [`crate::Ledger`]
//! trait with it.

use std::collections::BTreeMap;
use std::ops::Range;

use setpoint_core::digest::Digest;
use setpoint_core::facts::{Change, Facts};
use setpoint_core::time::{Span, Timestamp};

use crate::cadence::Unsigned;
use crate::checkpoint::{Checkpoint, Signer};
use crate::contract::{Appended, Batch, Body, Erasure, Gap, Head, Lease, LeaseRequest, Loaded, Standing};
use crate::error::LedgerError;
use crate::merkle::Tree;
use crate::origin::Origin;
use crate::proof::{Consistency, Inclusion, plan_consistency, plan_inclusion};
use crate::record::{Entry, Salt, SaltedBody, Sealed, seal};
use crate::replay;
use crate::tenure::{Tenure, UNSEEN_EPOCHS};
use crate::undo;

mod mark;
mod shared;

use mark::Mark;
pub use shared::MemoryLedger;

/// The newest checkpoint of each log, as remembered outside the ledger.
pub type Anchors = BTreeMap<Origin, Checkpoint>;

/// A set of logs in memory.
#[derive(Clone, Debug)]
pub struct MemoryLog {
    signer: Signer,
    logs: BTreeMap<Origin, Log>,
    bundles: BTreeMap<Digest, Vec<u8>>,
    anchors: BTreeMap<Origin, Mark>,
    writable: Result<(), &'static str>,
}

#[derive(Clone, Debug)]
struct Log {
    tenure: Tenure,
    records: Vec<Vec<u8>>,
    leaves: Vec<Digest>,
    tree: Tree,
    facts: Facts,
    /// The bodies by record; `None` if erased.
    bodies: BTreeMap<u64, Option<SaltedBody>>,
    checkpointed: Option<Mark>,
    unsigned: Unsigned,
    standing: Standing,
}

impl Default for Log {
    fn default() -> Self {
        Self {
            tenure: Tenure::default(),
            records: Vec::new(),
            leaves: Vec::new(),
            tree: Tree::default(),
            facts: Facts::default(),
            bodies: BTreeMap::new(),
            checkpointed: None,
            unsigned: Unsigned::default(),
            standing: Standing::Sound,
        }
    }
}

impl MemoryLog {
    pub fn new(signer: Signer) -> Self {
        Self { signer, logs: BTreeMap::new(), bundles: BTreeMap::new(), anchors: BTreeMap::new(), writable: Ok(()) }
    }

    /// Returns the checkpoints that an anchor outside would hold now.
    pub fn anchors(&self) -> Anchors {
        let signed = |(origin, mark): (&Origin, &Mark)| (origin.clone(), mark.signed(origin, &self.signer));
        self.anchors.iter().map(signed).collect()
    }

    /// Opens the ledger again. Its disk works again, and each log is compared with `anchors`.
    pub fn reopen(&mut self, anchors: &Anchors) {
        self.writable = Ok(());
        self.anchors = Mark::given(anchors);
        for origin in anchors.keys() {
            self.logs.entry(origin.clone()).or_default();
        }
        for (origin, log) in &mut self.logs {
            log.standing = log.standing_against(anchors.get(origin));
        }
    }

    /// Breaks the disk: nothing can be made durable, as on a full disk, until
    /// [`reopen`](Self::reopen).
    pub fn break_disk(&mut self) {
        self.writable = Err("the disk refuses writes");
    }

    pub fn acquire(&mut self, request: &LeaseRequest) -> Result<Lease, LedgerError> {
        let log = self.writable_log(&request.origin)?;
        log.tenure.acquire(request, 0)
    }

    pub fn renew(&mut self, lease: &Lease, now: Timestamp, length: Span) -> Result<Lease, LedgerError> {
        self.writable_log(&lease.origin)?.tenure.renew(lease, now, length)
    }

    pub fn release(&mut self, lease: &Lease) -> Result<(), LedgerError> {
        self.writable_log(&lease.origin)?.tenure.release(lease);
        Ok(())
    }

    pub fn append(&mut self, batch: Batch) -> Result<Appended, LedgerError> {
        batch.check()?;
        self.writable_log(&batch.origin)?.tenure.admit(&batch.origin, batch.epoch, batch.now)?;
        self.refuse_claims_of_others(&batch)?;
        let appended = self.record(&batch.origin, batch.epoch, batch.now, batch.entries)?;
        self.bundles.extend(batch.bundles);
        Ok(appended)
    }

    pub fn load(&self, origin: &Origin) -> Loaded {
        let facts = self.logs.get(origin).map(|log| log.facts.clone()).unwrap_or_default();
        Loaded { facts, head: self.head(origin) }
    }

    /// Returns a log's facts, without copying them.
    pub fn facts(&self, origin: &Origin) -> &Facts {
        &self.log(origin).facts
    }

    pub fn head(&self, origin: &Origin) -> Head {
        let log = self.log(origin);
        Head {
            origin: origin.clone(),
            epoch: log.tenure.epoch,
            size: log.tree.size(),
            root: log.tree.root(),
            checkpointed: log.checkpointed.as_ref().map_or(0, Mark::size),
            anchored: self.anchors.get(origin).map(Mark::size),
            anchor_trouble: None,
            checkpoint_due: log.unsigned.due_at(),
            standing: log.standing,
        }
    }

    pub fn records(&self, origin: &Origin, range: Range<u64>) -> Result<Vec<Vec<u8>>, LedgerError> {
        let log = self.log(origin);
        let (start, end) = (range.start as usize, range.end as usize);
        log.records.get(start..end).map(<[_]>::to_vec).ok_or_else(|| out_of_log(origin, log.tree.size(), &range))
    }

    pub fn body(&self, origin: &Origin, seq: u64) -> Result<Body, LedgerError> {
        let log = self.log(origin);
        if seq >= log.tree.size() {
            return Err(out_of_log(origin, log.tree.size(), &(seq..seq + 1)));
        }
        Ok(match log.bodies.get(&seq) {
            None => Body::None,
            Some(None) => Body::Erased,
            Some(Some(body)) => Body::Bytes(body.bytes.clone()),
        })
    }

    pub fn erase_body(&mut self, erasure: &Erasure) -> Result<Appended, LedgerError> {
        if !matches!(self.body(&erasure.origin, erasure.seq)?, Body::Bytes(_)) {
            return Err(LedgerError::input(format!("record {} has no body to erase", erasure.seq)));
        }
        let mut batch = Batch {
            origin: erasure.origin.clone(),
            epoch: erasure.epoch,
            now: erasure.now,
            entries: Vec::new(),
            bundles: BTreeMap::new(),
        };
        batch.entries.push(erasure.entry());
        let appended = self.append(batch)?;
        self.writable_log(&erasure.origin)?.bodies.insert(erasure.seq, None);
        Ok(appended)
    }

    pub fn bundle(&self, digest: &Digest) -> Option<&[u8]> {
        self.bundles.get(digest).map(Vec::as_slice)
    }

    pub fn checkpoint(&mut self, origin: &Origin) -> Result<Option<Checkpoint>, LedgerError> {
        if !self.log(origin).unsigned.is_empty() {
            self.writable_log(origin)?;
            self.mark(origin);
        }
        Ok(self.log(origin).checkpointed.as_ref().map(|mark| mark.signed(origin, &self.signer)))
    }

    pub fn prove_inclusion(&self, origin: &Origin, seq: u64, size: u64) -> Result<Inclusion, LedgerError> {
        let log = self.log(origin);
        let plan = (size <= log.tree.size()).then(|| plan_inclusion(seq, size)).flatten();
        let plan = plan.ok_or_else(|| out_of_log(origin, log.tree.size(), &(seq..size)))?;
        Ok(Inclusion { seq, size, leaf: log.leaves[seq as usize], path: log.hashes(&plan) })
    }

    pub fn prove_consistency(&self, origin: &Origin, old: u64, new: u64) -> Result<Consistency, LedgerError> {
        let log = self.log(origin);
        let plan = (new <= log.tree.size()).then(|| plan_consistency(old, new)).flatten();
        let plan = plan.ok_or_else(|| out_of_log(origin, log.tree.size(), &(old..new)))?;
        Ok(Consistency { old, new, path: log.hashes(&plan) })
    }

    pub fn record_gap(&mut self, gap: &Gap) -> Result<Lease, LedgerError> {
        self.writable.map_err(not_durable)?;
        let origin = &gap.lease.origin;
        let log = self.log(origin);
        let Some(anchor) = self.anchors.get(origin).map(|mark| mark.signed(origin, &self.signer)) else {
            return Err(LedgerError::input("there is no gap: the log has no anchor"));
        };
        let entry = gap.entry(log.standing, log.tree.size(), &anchor)?;
        let log = self.logs.entry(origin.clone()).or_default();
        let before = (log.tenure.clone(), log.standing);
        let lease = log.tenure.acquire(&gap.lease, anchor.epoch + UNSEEN_EPOCHS)?;
        log.standing = Standing::Sound;
        if let Err(error) = self.record(origin, lease.epoch, gap.lease.now, vec![entry]) {
            let log = self.logs.entry(origin.clone()).or_default();
            (log.tenure, log.standing) = before;
            return Err(error);
        }
        Ok(lease)
    }

    pub fn replay_check(&self, origin: &Origin) -> Result<Option<String>, LedgerError> {
        let log = self.log(origin);
        let mut facts = Facts::default();
        for (seq, bytes) in log.records.iter().enumerate() {
            replay::fold(&mut facts, origin, seq as u64, bytes)?;
        }
        Ok(replay::first_difference(&facts, &log.facts))
    }

    pub fn close(&mut self) -> Result<(), LedgerError> {
        // A log whose past is in doubt is not signed.
        let to_sign = self.logs.iter().filter(|(_, log)| !log.unsigned.is_empty() && log.standing == Standing::Sound);
        let unsigned: Vec<_> = to_sign.map(|(origin, _)| origin.clone()).collect();
        for origin in unsigned {
            self.checkpoint(&origin)?;
        }
        self.writable = Err("it was closed");
        Ok(())
    }

    fn log(&self, origin: &Origin) -> &Log {
        static EMPTY: std::sync::LazyLock<Log> = std::sync::LazyLock::new(Log::default);
        self.logs.get(origin).unwrap_or(&EMPTY)
    }

    fn writable_log(&mut self, origin: &Origin) -> Result<&mut Log, LedgerError> {
        self.writable.map_err(not_durable)?;
        let log = self.logs.entry(origin.clone()).or_default();
        match log.standing {
            Standing::Sound => Ok(log),
            standing => Err(LedgerError::ReadOnly { origin: origin.clone(), standing }),
        }
    }

    fn refuse_claims_of_others(&self, batch: &Batch) -> Result<(), LedgerError> {
        let changes = batch.entries.iter().flat_map(|entry| &entry.changes);
        for change in changes {
            let Change::PutClaim { claim, .. } = change else { continue };
            let mut others = self.logs.iter().filter(|(origin, _)| **origin != batch.origin);
            if let Some((holder, _)) = others.find(|(_, log)| log.facts.claims.contains(&claim.target, &claim.key)) {
                let (target, key) = (claim.target.clone(), claim.key.clone());
                return Err(LedgerError::Claimed { target, key, holder: holder.clone() });
            }
        }
        Ok(())
    }

    fn record(
        &mut self,
        origin: &Origin,
        epoch: u64,
        now: Timestamp,
        entries: Vec<Entry>,
    ) -> Result<Appended, LedgerError> {
        let log = self.logs.entry(origin.clone()).or_default();
        let first = log.tree.size();
        let misfit = |source| LedgerError::Misfit { origin: origin.clone(), source };
        let undo = undo::apply(&mut log.facts, &entries).map_err(misfit)?;
        let places = (first..).zip(entries);
        let sealed: Result<Vec<_>, _> =
            places.map(|(seq, entry)| seal(entry, origin, epoch, seq, || Ok(salt(origin, seq)))).collect();
        match sealed {
            Ok(records) => records.into_iter().for_each(|record| log.push(record)),
            Err(error) => {
                undo.take_back(&mut log.facts);
                return Err(error);
            }
        }
        let appended = Appended { seqs: first..log.tree.size() };
        if log.unsigned.is_due(now) {
            self.mark(origin);
        }
        Ok(appended)
    }

    /// Creates a due checkpoint. Its content is fixed here; it is signed later.
    fn mark(&mut self, origin: &Origin) {
        let log = self.logs.entry(origin.clone()).or_default();
        let mark = Mark::Due { epoch: log.tenure.epoch, size: log.tree.size(), root: log.tree.root() };
        log.unsigned = Unsigned::default();
        log.checkpointed = Some(mark.clone());
        self.anchors.insert(origin.clone(), mark);
    }
}

impl Log {
    fn push(&mut self, record: Sealed) {
        if let Some(body) = record.body {
            self.bodies.insert(record.seq, Some(body));
        }
        self.unsigned.note(record.kind, record.time);
        self.tree.push(record.leaf);
        self.leaves.push(record.leaf);
        self.records.push(record.bytes);
    }

    fn hashes(&self, ranges: &[Range<u64>]) -> Vec<Digest> {
        ranges.iter().map(|range| self.hash(range)).collect()
    }

    fn hash(&self, range: &Range<u64>) -> Digest {
        let mut tree = Tree::default();
        for leaf in &self.leaves[range.start as usize..range.end as usize] {
            tree.push(*leaf);
        }
        tree.root()
    }

    fn standing_against(&self, anchor: Option<&Checkpoint>) -> Standing {
        match anchor {
            Some(anchor) if anchor.size > self.tree.size() => {
                Standing::Behind { anchored: anchor.size, present: self.tree.size() }
            }
            Some(anchor) if self.hash(&(0..anchor.size)) != anchor.root => Standing::Forked { anchored: anchor.size },
            _ => Standing::Sound,
        }
    }
}

/// Derives the salt from the position: equal simulated runs must be equal, and nothing in them is
/// secret.
fn salt(origin: &Origin, seq: u64) -> Salt {
    *Digest::of(format!("{origin} {seq}").as_bytes()).as_bytes()
}

fn not_durable(what: &'static str) -> LedgerError {
    LedgerError::NotDurable { what: what.to_owned(), source: None }
}

/// Builds the error for records outside the log. Reading them is a mistake of the caller and must
/// not return an empty list.
pub fn out_of_log(origin: &Origin, size: u64, range: &Range<u64>) -> LedgerError {
    LedgerError::input(format!("records {range:?} are not within log {origin}, which has {size}"))
}
