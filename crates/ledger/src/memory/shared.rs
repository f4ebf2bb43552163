//! The ledger in memory behind the [`Ledger`] trait, shared by its clones.

use std::future::ready;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use setpoint_core::digest::Digest;
use setpoint_core::time::{Span, Timestamp};

use super::MemoryLog;
use crate::checkpoint::Checkpoint;
use crate::contract::{Answer, Appended, Batch, Body, Erasure, Gap, Head, Lease, LeaseRequest, Ledger, Loaded};
use crate::error::LedgerError;
use crate::origin::Origin;
use crate::proof::{Consistency, Inclusion};

/// [`MemoryLog`] behind the [`Ledger`] trait. Clones share it.
#[derive(Clone, Debug)]
pub struct MemoryLedger(Arc<Mutex<MemoryLog>>);

impl MemoryLedger {
    pub fn new(log: MemoryLog) -> Self {
        Self(Arc::new(Mutex::new(log)))
    }

    /// Locks and returns the log.
    pub fn log(&self) -> MutexGuard<'_, MemoryLog> {
        // A panic elsewhere cannot leave the log half changed: every change is made at once or
        // undone.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn answer<'a, T: Send + 'a>(result: Result<T, LedgerError>) -> Answer<'a, T> {
    Box::pin(ready(result))
}

impl Ledger for MemoryLedger {
    fn acquire(&self, request: LeaseRequest) -> Answer<'_, Lease> {
        answer(self.log().acquire(&request))
    }

    fn renew(&self, lease: &Lease, now: Timestamp, length: Span) -> Answer<'_, Lease> {
        answer(self.log().renew(lease, now, length))
    }

    fn release(&self, lease: &Lease) -> Answer<'_, ()> {
        answer(self.log().release(lease))
    }

    fn append(&self, batch: Batch) -> Answer<'_, Appended> {
        answer(self.log().append(batch))
    }

    fn load(&self, origin: &Origin) -> Answer<'_, Loaded> {
        answer(Ok(self.log().load(origin)))
    }

    fn head(&self, origin: &Origin) -> Answer<'_, Head> {
        answer(Ok(self.log().head(origin)))
    }

    fn records(&self, origin: &Origin, range: Range<u64>) -> Answer<'_, Vec<Vec<u8>>> {
        answer(self.log().records(origin, range))
    }

    fn body(&self, origin: &Origin, seq: u64) -> Answer<'_, Body> {
        answer(self.log().body(origin, seq))
    }

    fn erase_body(&self, erasure: Erasure) -> Answer<'_, Appended> {
        answer(self.log().erase_body(&erasure))
    }

    fn bundle(&self, digest: &Digest) -> Answer<'_, Option<Vec<u8>>> {
        answer(Ok(self.log().bundle(digest).map(<[u8]>::to_vec)))
    }

    fn checkpoint(&self, origin: &Origin) -> Answer<'_, Option<Checkpoint>> {
        answer(self.log().checkpoint(origin))
    }

    fn prove_inclusion(&self, origin: &Origin, seq: u64, size: u64) -> Answer<'_, Inclusion> {
        answer(self.log().prove_inclusion(origin, seq, size))
    }

    fn prove_consistency(&self, origin: &Origin, old: u64, new: u64) -> Answer<'_, Consistency> {
        answer(self.log().prove_consistency(origin, old, new))
    }

    fn record_gap(&self, gap: Gap) -> Answer<'_, Lease> {
        answer(self.log().record_gap(&gap))
    }

    fn replay_check(&self, origin: &Origin) -> Answer<'_, Option<String>> {
        answer(self.log().replay_check(origin))
    }

    fn close(&self) -> Answer<'_, ()> {
        answer(self.log().close())
    }
}
