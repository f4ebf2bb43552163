//! Executes one request on the tables, inside a transaction that [`crate::writer`] opens and
//! commits.

use std::collections::BTreeMap;

use setpoint_core::facts::Facts;
use setpoint_core::time::{Span, Timestamp};
use setpoint_ledger::checkpoint::{Checkpoint, Signer};
use setpoint_ledger::record::{Entry, Salt, Sealed, seal};
use setpoint_ledger::tenure::UNSEEN_EPOCHS;
use setpoint_ledger::undo::{self, Undo};
use setpoint_ledger::{Appended, Batch, Body, Erasure, Gap, Lease, LeaseRequest, LedgerError, Origin};
use sqlx::sqlite::SqliteConnection;

use crate::columns::integer;
use crate::fact_rows::Touched;
use crate::reading;
use crate::script::{Form, Script};
use crate::state::LogState;

/// The reason why a request was not carried out.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The request is invalid. Other requests of the transaction are not affected.
    Refused(LedgerError),
    /// The database failed. Whether any part of this transaction is durable is unknown.
    Broken(sqlx::Error),
}

impl From<LedgerError> for Failure {
    fn from(error: LedgerError) -> Self {
        Self::Refused(error)
    }
}

impl From<sqlx::Error> for Failure {
    fn from(error: sqlx::Error) -> Self {
        Self::Broken(error)
    }
}

type Outcome<T> = Result<T, Failure>;

const RECORDS: Form =
    Form { before: "INSERT INTO records (log, seq, bytes, leaf) VALUES ", row: "(?, ?, ?, ?)", after: "" };

/// An open transaction on one log.
#[derive(Debug)]
pub(crate) struct Writing<'a> {
    /// The connection for reading; writes go into the script.
    pub(crate) connection: &'a mut SqliteConnection,
    pub(crate) script: &'a mut Script,
    pub(crate) log: &'a mut LogState,
    /// The facts as they are within the transaction. They decide which changes fit, and the tables
    /// follow.
    pub(crate) facts: &'a mut Facts,
    /// The facts of all other logs.
    pub(crate) others: &'a BTreeMap<Origin, Facts>,
    /// The changes to revert if the request is refused after all.
    pub(crate) undo: &'a mut Undo,
    pub(crate) signer: &'a Signer,
}

/// Creates a log's row at the first request for the log.
pub(crate) fn new_log(script: &mut Script, logs: &BTreeMap<Origin, LogState>, origin: &Origin) -> LogState {
    let id = logs.values().map(|log| log.id).max().unwrap_or(0) + 1;
    script.push("INSERT INTO logs (log, origin, epoch) VALUES (?, ?, 0)", [id.into(), origin.to_string().into()]);
    LogState::new(id, origin.clone())
}

impl Writing<'_> {
    pub(crate) fn acquire(&mut self, request: &LeaseRequest) -> Outcome<Lease> {
        self.log.refuse_unless_sound()?;
        let lease = self.log.tenure.acquire(request, 0)?;
        self.store_tenure();
        Ok(lease)
    }

    pub(crate) fn renew(&mut self, lease: &Lease, now: Timestamp, length: Span) -> Outcome<Lease> {
        self.log.refuse_unless_sound()?;
        let lease = self.log.tenure.renew(lease, now, length)?;
        self.store_tenure();
        Ok(lease)
    }

    pub(crate) fn release(&mut self, lease: &Lease) -> Outcome<()> {
        self.log.refuse_unless_sound()?;
        self.log.tenure.release(lease);
        self.store_tenure();
        Ok(())
    }

    fn store_tenure(&mut self) {
        let (holder, expires) = self.log.tenure.holder.clone().unzip();
        let expires = expires.map(|expires| integer(expires.as_millis()));
        let values = [integer(self.log.tenure.epoch).into(), holder.into(), expires.into(), self.log.id.into()];
        self.script.push("UPDATE logs SET epoch = ?, holder = ?, expires = ? WHERE log = ?", values);
    }

    pub(crate) fn append(&mut self, batch: Batch) -> Outcome<Appended> {
        batch.check()?;
        self.log.refuse_unless_sound()?;
        self.log.tenure.admit(&batch.origin, batch.epoch, batch.now)?;
        for (digest, bytes) in batch.bundles {
            let store = "INSERT INTO bundles (digest, bytes) VALUES (?, ?) ON CONFLICT DO NOTHING";
            self.script.push(store, [digest.as_bytes().to_vec().into(), bytes.into()]);
        }
        self.record(batch.epoch, batch.now, batch.entries)
    }

    pub(crate) async fn erase_body(&mut self, erasure: &Erasure) -> Outcome<Appended> {
        self.log.refuse_unless_sound()?;
        self.log.tenure.admit(&erasure.origin, erasure.epoch, erasure.now)?;
        // A body that an earlier request of the same transaction erased must read as erased here.
        self.script.send(self.connection).await?;
        let body = reading::body(self.connection, self.log.id, erasure.seq).await?;
        if !matches!(body, Body::Bytes(_)) {
            return Err(LedgerError::input(format!("record {} has no body to erase", erasure.seq)).into());
        }
        let erase = "UPDATE bodies SET salt = NULL, bytes = NULL WHERE log = ? AND seq = ?";
        self.script.push(erase, [self.log.id.into(), integer(erasure.seq).into()]);
        self.log.purge = true;
        self.record(erasure.epoch, erasure.now, vec![erasure.entry()])
    }

    pub(crate) fn record_gap(&mut self, gap: &Gap) -> Outcome<Lease> {
        let present = self.log.tree.size();
        let Some((largest, others)) = self.log.doubts.split_first() else {
            return Err(LedgerError::input("there is no gap: no checkpoint outside the log shows one").into());
        };
        let mut entries = vec![gap.entry(largest.standing, present, &largest.checkpoint)?];
        let others = others.iter().filter(|other| other.checkpoint != largest.checkpoint);
        entries.extend(others.map(|other| gap.further_entry(other.standing, present, &other.checkpoint)));
        let newest_epoch = self.log.doubts.iter().map(|doubt| doubt.checkpoint.epoch).max().unwrap_or(0);
        self.log.doubts.clear();
        let lease = self.log.tenure.acquire(&gap.lease, newest_epoch + UNSEEN_EPOCHS)?;
        self.store_tenure();
        self.record(lease.epoch, gap.lease.now, entries)?;
        Ok(lease)
    }

    /// Signs the head if there are records since the last checkpoint.
    pub(crate) fn checkpoint(&mut self) -> Outcome<Option<Checkpoint>> {
        if !self.log.unsigned.is_empty() {
            self.log.refuse_unless_sound()?;
            self.log.sign(self.script, self.signer);
        }
        Ok(self.log.newest.clone())
    }

    fn record(&mut self, epoch: u64, now: Timestamp, entries: Vec<Entry>) -> Outcome<Appended> {
        let first = self.log.tree.size();
        let misfit = |source| LedgerError::Misfit { origin: self.log.origin.clone(), source };
        *self.undo = undo::apply(self.facts, &entries).map_err(misfit)?;
        let touched = Touched::by(&entries);
        touched.refuse_claims_of_others(self.facts, self.others)?;
        touched.store(self.script, self.log.id, self.facts)?;
        let mut sealed = Vec::with_capacity(entries.len());
        for (seq, entry) in (first..).zip(entries) {
            sealed.push(seal(entry, &self.log.origin, epoch, seq, random_salt)?);
        }
        for record in &sealed {
            self.log.unsigned.note(record.kind, record.time);
            if let Some(segment) = self.log.tree.push(record.leaf) {
                let root = segment.root.as_bytes().to_vec();
                let values = [self.log.id.into(), integer(segment.index).into(), root.into()];
                self.script.push("INSERT INTO segments (log, segment, root) VALUES (?, ?, ?)", values);
            }
        }
        self.store_records(sealed);
        if self.log.unsigned.is_due(now) {
            self.log.sign(self.script, self.signer);
        }
        Ok(Appended { seqs: first..self.log.tree.size() })
    }

    fn store_records(&mut self, sealed: Vec<Sealed>) {
        let log = self.log.id;
        let (mut records, mut bodies) = (Vec::with_capacity(sealed.len()), Vec::new());
        for record in sealed {
            let seq = integer(record.seq);
            records.push([log.into(), seq.into(), record.bytes.into(), record.leaf.as_bytes().to_vec().into()]);
            if let Some(body) = record.body {
                bodies.push([log.into(), seq.into(), body.salt.to_vec().into(), body.bytes.into()]);
            }
        }
        self.script.push_rows(RECORDS, records);
        for body in bodies {
            self.script.push("INSERT INTO bodies (log, seq, salt, bytes) VALUES (?, ?, ?, ?)", body);
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "the door: a salt that nobody can guess")]
fn random_salt() -> Result<Salt, LedgerError> {
    let mut salt = Salt::default();
    getrandom::fill(&mut salt).map_err(|error| LedgerError::unavailable("the system has no random numbers", error))?;
    Ok(salt)
}
