//! [`SqlLedger`]: the [`Ledger`] trait over the writer's queue and a pool of readers.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use setpoint_core::digest::Digest;
use setpoint_core::facts::Facts;
use setpoint_core::time::{Span, Timestamp};
use setpoint_ledger::checkpoint::Checkpoint;
use setpoint_ledger::memory::out_of_log;
use setpoint_ledger::merkle::{Tree, leaf_hash};
use setpoint_ledger::proof::{Consistency, Inclusion, plan_consistency, plan_inclusion};
use setpoint_ledger::{
    Answer, Appended, Batch, Body, Erasure, Gap, Head, Lease, LeaseRequest, Ledger, LedgerError, Loaded, Origin,
    Standing,
};
use sqlx::pool::PoolConnection;
use sqlx::sqlite::{Sqlite, SqlitePool, SqlitePoolOptions};
use sqlx::{ConnectOptions as _, Connection as _};
use tokio::sync::{mpsc, oneshot};

use crate::anchoring::Anchoring;
use crate::columns::unread;
use crate::folder::DirectoryLock;
use crate::memory::{self, Memory, Trouble};
use crate::opening;
use crate::options::{OpenError, Options};
use crate::reading;
use crate::schema;
use crate::writer::{Heads, Message, Run, Work, Writer};
use crate::writing::Writing;

/// The number of connections for reading, in addition to the writer's.
const READERS: u32 = 4;
/// How many snapshots are tried until one is as recent as the published head.
const MOST_SNAPSHOTS: u32 = 1_000;
/// The name of the database in a data directory.
const DATABASE: &str = "ledger.db";
/// The number of a log that was never written, which is empty: SQLite numbers rows from 1.
const NO_LOG: i64 = 0;

/// The ledger in a data directory.
#[derive(Debug)]
pub struct SqlLedger {
    queue: mpsc::UnboundedSender<Message>,
    readers: SqlitePool,
    heads: Heads,
    /// The reason why the newest checkpoint could not be stored.
    trouble: Trouble,
}

impl SqlLedger {
    /// Opens the ledger, creates it if it is missing, and compares every log with its anchor. Must
    /// be called within a tokio runtime, which runs the writer.
    pub async fn open(options: Options) -> Result<Self, OpenError> {
        let folder = DirectoryLock::take(&options.folder).await?;
        Self::open_locked(folder, options).await
    }

    /// Opens the ledger in a data directory that is already locked. The lock is released when the
    /// ledger is closed.
    pub async fn open_locked(folder: DirectoryLock, mut options: Options) -> Result<Self, OpenError> {
        folder.path().clone_into(&mut options.folder);
        options.refuse_anchors_inside()?;
        opening::refuse_vanished(&options.folder.join(DATABASE), &options)?;
        let path = folder.database(DATABASE)?;
        folder.write_keys(&options.keys())?;
        let failed = |source| OpenError::Database { path: path.clone(), source };
        let connection = schema::connection(&path, options.vfs);
        let mut writer = connection.connect().await.map_err(failed)?;
        schema::make_durable(&mut writer).await.map_err(failed)?;
        schema::migrate(&mut writer, &path).await?;
        let logs = opening::logs(&mut writer, &path, &options).await?;
        let facts = opening::facts(&mut writer, &path, &logs).await?;
        let readers = SqlitePoolOptions::new().max_connections(READERS).connect_lazy_with(connection.read_only(true));
        let heads = logs.iter().map(|(origin, log)| (origin.clone(), (log.id, log.head()))).collect();
        let heads: Heads = Arc::new(Mutex::new(heads));
        let presence = folder.presence(&path).map_err(|source| OpenError::Folder { path: path.clone(), source })?;
        let trouble = Trouble::default();
        let memory = match options.remembered.take() {
            Some(origin) => {
                let kept = memory::read(&options.folder, &origin, &options.keys())?;
                Some(Memory::start(&options.folder, origin, kept, presence.clone(), Arc::clone(&trouble)))
            }
            None => None,
        };
        let writer = Writer {
            connection: writer,
            logs,
            facts,
            heads: Arc::clone(&heads),
            signer: options.signer,
            anchors: options.anchors.into_iter().map(|(origin, file)| (origin, Anchoring::new(file))).collect(),
            memory,
            stopped: None,
            presence,
            folder,
        };
        Ok(Self { queue: writer.start(), readers, heads, trouble })
    }

    /// Queues a request for the writer. The result arrives when the request is durable or refused.
    ///
    /// The call itself queues it, not the first poll of the result: requests are carried out in the
    /// order of the calls.
    fn write<T, F>(&self, origin: Origin, run: F) -> Answer<'_, T>
    where
        T: Send + 'static,
        F: for<'a> FnOnce(Writing<'a>) -> Run<'a, T> + Send + 'static,
    {
        let (reply, answer) = oneshot::channel();
        let work = Work { origin, run: Some(run), answer: None, reply };
        self.ask(Message::Job(Box::new(work)), answer)
    }

    fn ask<T: Send + 'static>(
        &self,
        message: Message,
        answer: oneshot::Receiver<Result<T, LedgerError>>,
    ) -> Answer<'_, T> {
        let queued = self.queue.send(message).map_err(|_| writer_is_gone());
        Box::pin(async move {
            queued?;
            answer.await.map_err(|_| writer_is_gone())?
        })
    }

    fn published(&self, origin: &Origin) -> Option<(i64, Head)> {
        self.heads.lock().unwrap_or_else(PoisonError::into_inner).get(origin).cloned()
    }

    fn published_head(&self, origin: &Origin) -> Head {
        let mut head = self.published(origin).map_or_else(|| empty_head(origin), |(_, head)| head);
        let trouble = || self.trouble.lock().unwrap_or_else(PoisonError::into_inner).clone();
        head.anchor_trouble = head.anchor_trouble.or_else(trouble);
        head
    }

    /// Returns the log's row, if `range` lies within it.
    fn within(&self, origin: &Origin, range: &Range<u64>) -> Result<i64, LedgerError> {
        match self.published(origin) {
            Some((log, head)) if range.end <= head.size && range.start <= range.end => Ok(log),
            Some((_, head)) => Err(out_of_log(origin, head.size, range)),
            None if *range == (0..0) => Ok(NO_LOG),
            None => Err(out_of_log(origin, 0, range)),
        }
    }

    async fn reader(&self) -> Result<PoolConnection<Sqlite>, LedgerError> {
        self.readers.acquire().await.map_err(unread)
    }

    async fn hashes(&self, log: i64, ranges: Vec<Range<u64>>) -> Result<Vec<Digest>, LedgerError> {
        let mut reader = self.reader().await?;
        let mut hashes = Vec::with_capacity(ranges.len());
        for range in ranges {
            hashes.push(reading::range_hash(&mut reader, log, range).await?);
        }
        Ok(hashes)
    }

    /// Loads facts and size in one snapshot, and again if a commit came between the snapshot and
    /// the head.
    async fn load_consistently(&self, origin: &Origin) -> Result<Loaded, LedgerError> {
        let mut reader = self.reader().await?;
        for _ in 0..MOST_SNAPSHOTS {
            let Some((log, head)) = self.published(origin) else {
                return Ok(Loaded { facts: Facts::default(), head: empty_head(origin) });
            };
            let mut snapshot = reader.begin().await.map_err(unread)?;
            let last: Option<i64> = sqlx::query_scalar("SELECT max(seq) FROM records WHERE log = ?")
                .bind(log)
                .fetch_one(&mut *snapshot)
                .await
                .map_err(unread)?;
            if last.map_or(0, |last| last.unsigned_abs() + 1) == head.size {
                let facts = reading::facts(&mut snapshot, log).await?;
                return Ok(Loaded { facts, head });
            }
            drop(snapshot);
            tokio::task::yield_now().await;
        }
        let what = format!("log {origin} changed each time its facts were read");
        Err(LedgerError::Unavailable { what, source: None })
    }
}

fn writer_is_gone() -> LedgerError {
    LedgerError::NotDurable { what: "its writer has ended".to_owned(), source: None }
}

fn empty_head(origin: &Origin) -> Head {
    Head {
        origin: origin.clone(),
        epoch: 0,
        size: 0,
        root: Tree::default().root(),
        checkpointed: 0,
        anchored: None,
        anchor_trouble: None,
        checkpoint_due: None,
        standing: Standing::Sound,
    }
}

impl Ledger for SqlLedger {
    fn acquire(&self, request: LeaseRequest) -> Answer<'_, Lease> {
        self.write(request.origin.clone(), |mut w| Box::pin(async move { w.acquire(&request) }))
    }

    fn renew(&self, lease: &Lease, now: Timestamp, length: Span) -> Answer<'_, Lease> {
        let lease = lease.clone();
        self.write(lease.origin.clone(), move |mut w| Box::pin(async move { w.renew(&lease, now, length) }))
    }

    fn release(&self, lease: &Lease) -> Answer<'_, ()> {
        let lease = lease.clone();
        self.write(lease.origin.clone(), |mut w| Box::pin(async move { w.release(&lease) }))
    }

    fn append(&self, batch: Batch) -> Answer<'_, Appended> {
        self.write(batch.origin.clone(), |mut w| Box::pin(async move { w.append(batch) }))
    }

    fn load(&self, origin: &Origin) -> Answer<'_, Loaded> {
        let origin = origin.clone();
        Box::pin(async move { self.load_consistently(&origin).await })
    }

    fn head(&self, origin: &Origin) -> Answer<'_, Head> {
        let head = self.published_head(origin);
        Box::pin(async { Ok(head) })
    }

    fn records(&self, origin: &Origin, range: Range<u64>) -> Answer<'_, Vec<Vec<u8>>> {
        let log = self.within(origin, &range);
        Box::pin(async move { reading::records(&mut *self.reader().await?, log?, range).await })
    }

    fn body(&self, origin: &Origin, seq: u64) -> Answer<'_, Body> {
        let log = self.within(origin, &(seq..seq + 1));
        Box::pin(async move { reading::body(&mut *self.reader().await?, log?, seq).await })
    }

    fn erase_body(&self, erasure: Erasure) -> Answer<'_, Appended> {
        match self.within(&erasure.origin, &(erasure.seq..erasure.seq + 1)) {
            Ok(_) => {
                self.write(erasure.origin.clone(), move |mut w| Box::pin(async move { w.erase_body(&erasure).await }))
            }
            Err(error) => Box::pin(async { Err(error) }),
        }
    }

    fn bundle(&self, digest: &Digest) -> Answer<'_, Option<Vec<u8>>> {
        let digest = *digest;
        Box::pin(async move { reading::bundle(&mut *self.reader().await?, &digest).await })
    }

    fn checkpoint(&self, origin: &Origin) -> Answer<'_, Option<Checkpoint>> {
        if self.published(origin).is_none() {
            return Box::pin(async { Ok(None) });
        }
        self.write(origin.clone(), |mut w| Box::pin(async move { w.checkpoint() }))
    }

    fn prove_inclusion(&self, origin: &Origin, seq: u64, size: u64) -> Answer<'_, Inclusion> {
        let log = self.within(origin, &(seq..size));
        let origin = origin.clone();
        Box::pin(async move {
            let log = log?;
            let plan = plan_inclusion(seq, size).ok_or_else(|| out_of_log(&origin, size, &(seq..seq + 1)))?;
            let path = self.hashes(log, plan).await?;
            let record = reading::records(&mut *self.reader().await?, log, seq..seq + 1).await?.concat();
            Ok(Inclusion { seq, size, leaf: leaf_hash(&record), path })
        })
    }

    fn prove_consistency(&self, origin: &Origin, old: u64, new: u64) -> Answer<'_, Consistency> {
        let log = self.within(origin, &(old..new));
        let origin = origin.clone();
        Box::pin(async move {
            let log = log?;
            let plan = plan_consistency(old, new).ok_or_else(|| out_of_log(&origin, new, &(old..new)))?;
            Ok(Consistency { old, new, path: self.hashes(log, plan).await? })
        })
    }

    fn record_gap(&self, gap: Gap) -> Answer<'_, Lease> {
        self.write(gap.lease.origin.clone(), |mut w| Box::pin(async move { w.record_gap(&gap) }))
    }

    fn replay_check(&self, origin: &Origin) -> Answer<'_, Option<String>> {
        let origin = origin.clone();
        Box::pin(async move {
            let mut reader = self.reader().await?;
            let mut snapshot = reader.begin().await.map_err(unread)?;
            reading::replay_check(&mut snapshot, &origin).await
        })
    }

    fn close(&self) -> Answer<'_, ()> {
        let (reply, answer) = oneshot::channel();
        self.ask(Message::Close(reply), answer)
    }
}
