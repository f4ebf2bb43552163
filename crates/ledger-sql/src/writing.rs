//! What one request does to the tables, inside a transaction that [`crate::writer`] opens and commits.

use setpoint_core::facts::Facts;
use setpoint_core::time::{Span, Timestamp};
use setpoint_ledger::cadence::Unsigned;
use setpoint_ledger::checkpoint::{Checkpoint, Signer};
use setpoint_ledger::record::{Entry, Salt, Sealed, seal};
use setpoint_ledger::undo::{self, Undo};
use setpoint_ledger::{Appended, Batch, Body, Erasure, Gap, Lease, LeaseRequest, LedgerError, Origin, Standing};
use sqlx::QueryBuilder;
use sqlx::sqlite::{Sqlite, SqliteConnection};

use crate::columns::integer;
use crate::fact_rows::{Touched, pieces};
use crate::opening::insert_log;
use crate::reading;
use crate::state::LogState;

/// Why a request was not carried out.
#[derive(Debug)]
pub(crate) enum Failure {
    /// It cannot be right; its neighbours in the transaction are not affected.
    Refused(LedgerError),
    /// The database failed: whether anything of this transaction is safe is unknown.
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

/// An open transaction on one log.
#[derive(Debug)]
pub(crate) struct Writing<'a> {
    pub(crate) connection: &'a mut SqliteConnection,
    pub(crate) log: &'a mut LogState,
    /// The facts as they are within the transaction: what fits is decided by them, and the tables follow.
    pub(crate) facts: &'a mut Facts,
    /// How to take the facts back if the request is refused after all.
    pub(crate) undo: &'a mut Undo,
    pub(crate) signer: &'a Signer,
}

/// Makes the log's row if this is the first time anyone asks for it.
pub(crate) async fn new_log(connection: &mut SqliteConnection, origin: &Origin) -> Result<LogState, sqlx::Error> {
    Ok(LogState::new(insert_log(connection, origin).await?, origin.clone()))
}

impl Writing<'_> {
    pub(crate) async fn acquire(&mut self, request: &LeaseRequest) -> Outcome<Lease> {
        self.log.refuse_unless_sound()?;
        let lease = self.log.tenure.acquire(request, 0)?;
        self.store_tenure().await?;
        Ok(lease)
    }

    pub(crate) async fn renew(&mut self, lease: &Lease, now: Timestamp, length: Span) -> Outcome<Lease> {
        self.log.refuse_unless_sound()?;
        let lease = self.log.tenure.renew(lease, now, length)?;
        self.store_tenure().await?;
        Ok(lease)
    }

    pub(crate) async fn release(&mut self, lease: &Lease) -> Outcome<()> {
        self.log.refuse_unless_sound()?;
        self.log.tenure.release(lease);
        self.store_tenure().await
    }

    async fn store_tenure(&mut self) -> Outcome<()> {
        let (holder, expires) = self.log.tenure.holder.clone().unzip();
        sqlx::query("UPDATE logs SET epoch = ?, holder = ?, expires = ? WHERE log = ?")
            .bind(integer(self.log.tenure.epoch))
            .bind(holder)
            .bind(expires.map(|expires| integer(expires.as_millis())))
            .bind(self.log.id)
            .execute(&mut *self.connection)
            .await?;
        Ok(())
    }

    pub(crate) async fn append(&mut self, batch: Batch) -> Outcome<Appended> {
        batch.check()?;
        self.log.refuse_unless_sound()?;
        self.log.tenure.admit(&batch.origin, batch.epoch, batch.now)?;
        for (digest, bytes) in &batch.bundles {
            sqlx::query("INSERT INTO bundles (digest, bytes) VALUES (?, ?) ON CONFLICT DO NOTHING")
                .bind(&digest.as_bytes()[..])
                .bind(bytes)
                .execute(&mut *self.connection)
                .await?;
        }
        self.record(batch.epoch, batch.now, batch.entries).await
    }

    pub(crate) async fn erase_body(&mut self, erasure: &Erasure) -> Outcome<Appended> {
        self.log.refuse_unless_sound()?;
        self.log.tenure.admit(&erasure.origin, erasure.epoch, erasure.now)?;
        let body = reading::body(self.connection, self.log.id, erasure.seq).await?;
        if !matches!(body, Body::Bytes(_)) {
            return Err(LedgerError::input(format!("record {} has no body to erase", erasure.seq)).into());
        }
        sqlx::query("UPDATE bodies SET salt = NULL, bytes = NULL WHERE log = ? AND seq = ?")
            .bind(self.log.id)
            .bind(integer(erasure.seq))
            .execute(&mut *self.connection)
            .await?;
        self.log.purge = true;
        self.record(erasure.epoch, erasure.now, vec![erasure.entry()]).await
    }

    pub(crate) async fn record_gap(&mut self, gap: &Gap) -> Outcome<Lease> {
        let Some(anchor) = self.log.anchor.clone() else {
            return Err(LedgerError::input("there is no gap: the log has no anchor").into());
        };
        let entry = gap.entry(self.log.standing, self.log.tree.size(), &anchor)?;
        self.log.standing = Standing::Sound;
        let lease = self.log.tenure.acquire(&gap.lease, anchor.epoch)?;
        self.store_tenure().await?;
        self.record(lease.epoch, gap.lease.now, vec![entry]).await?;
        Ok(lease)
    }

    /// Signs the head if there are records since the last checkpoint.
    pub(crate) async fn checkpoint(&mut self) -> Outcome<Option<Checkpoint>> {
        if !self.log.unsigned.is_empty() {
            self.log.refuse_unless_sound()?;
            self.sign().await?;
        }
        Ok(self.log.newest.clone())
    }

    async fn record(&mut self, epoch: u64, now: Timestamp, entries: Vec<Entry>) -> Outcome<Appended> {
        let first = self.log.tree.size();
        let misfit = |source| LedgerError::Misfit { origin: self.log.origin.clone(), source };
        *self.undo = undo::apply(self.facts, &entries).map_err(misfit)?;
        Touched::by(&entries).store(self.connection, self.log.id, self.facts).await?;
        let mut sealed = Vec::with_capacity(entries.len());
        for (seq, entry) in (first..).zip(entries) {
            sealed.push(seal(entry, &self.log.origin, epoch, seq, random_salt)?);
        }
        self.store_records(&sealed).await?;
        self.store_bodies(&sealed).await?;
        for record in &sealed {
            self.log.unsigned.note(record.kind, record.time);
            if let Some(segment) = self.log.tree.push(record.leaf) {
                sqlx::query("INSERT INTO segments (log, segment, root) VALUES (?, ?, ?)")
                    .bind(self.log.id)
                    .bind(integer(segment.index))
                    .bind(&segment.root.as_bytes()[..])
                    .execute(&mut *self.connection)
                    .await?;
            }
        }
        if self.log.unsigned.is_due(now) {
            self.sign().await?;
        }
        Ok(Appended { seqs: first..self.log.tree.size() })
    }

    async fn store_records(&mut self, sealed: &[Sealed]) -> Outcome<()> {
        for piece in pieces(sealed) {
            let mut insert = QueryBuilder::<Sqlite>::new("INSERT INTO records (log, seq, bytes) ");
            insert.push_values(piece, |mut row, record| {
                row.push_bind(self.log.id).push_bind(integer(record.seq)).push_bind(&record.bytes);
            });
            insert.build().execute(&mut *self.connection).await?;
        }
        Ok(())
    }

    async fn store_bodies(&mut self, sealed: &[Sealed]) -> Outcome<()> {
        for (seq, body) in sealed.iter().filter_map(|record| Some((record.seq, record.body.as_ref()?))) {
            sqlx::query("INSERT INTO bodies (log, seq, salt, bytes) VALUES (?, ?, ?, ?)")
                .bind(self.log.id)
                .bind(integer(seq))
                .bind(&body.salt[..])
                .bind(&body.bytes)
                .execute(&mut *self.connection)
                .await?;
        }
        Ok(())
    }

    async fn sign(&mut self) -> Outcome<()> {
        let log = &mut *self.log;
        let (size, root) = (log.tree.size(), log.tree.root());
        let checkpoint = Checkpoint::sign(log.origin.clone(), log.tenure.epoch, size, root, self.signer);
        sqlx::query("INSERT INTO checkpoints (log, number, size, text) VALUES (?, ?, ?, ?)")
            .bind(log.id)
            .bind(log.checkpoints)
            .bind(integer(size))
            .bind(&checkpoint.text)
            .execute(&mut *self.connection)
            .await?;
        log.checkpoints += 1;
        log.unsigned = Unsigned::default();
        log.newest = Some(checkpoint);
        Ok(())
    }
}

fn random_salt() -> Result<Salt, LedgerError> {
    let mut salt = Salt::default();
    getrandom::fill(&mut salt).map_err(|error| LedgerError::unavailable("the system has no random numbers", error))?;
    Ok(salt)
}
