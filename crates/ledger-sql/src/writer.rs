//! The only writer: a task that takes all waiting requests from its queue, carries them out in one
//! transaction, syncs once, and replies to each caller.
//!
//! A refused request leaves the transaction unchanged (none of its statements were sent yet), and
//! the other requests are committed. A failure of the database fails the whole group and every
//! later request, until the ledger is opened again: after a failed sync the operating system may
//! have dropped the pages, and a second sync would report success although nothing was written.

use std::collections::BTreeMap;
use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};

use setpoint_core::facts::Facts;
use setpoint_ledger::checkpoint::Signer;
use setpoint_ledger::undo::Undo;
use setpoint_ledger::{Head, LedgerError, Origin};
use sqlx::sqlite::SqliteConnection;
use sqlx::{Connection as _, Executor as _};
use tokio::sync::{mpsc, oneshot};

use crate::anchoring::Anchoring;
use crate::folder::{DirectoryLock, Presence};
use crate::memory::Memory;
use crate::script::Script;
use crate::state::LogState;
use crate::writing::{Failure, Writing, new_log};

const BEGIN: &str = "BEGIN IMMEDIATE";
/// The statement that syncs.
const COMMIT: &str = "COMMIT";

/// The most requests of one transaction.
const GROUP: usize = 128;

pub(crate) type Heads = Arc<Mutex<BTreeMap<Origin, (i64, Head)>>>;
type Carried<'a> = Pin<Box<dyn Future<Output = Result<(), Failure>> + Send + 'a>>;

/// One request in the queue.
pub(crate) trait Job: Send {
    fn origin(&self) -> &Origin;
    /// Carries the request out and stores the result.
    fn run<'a>(&'a mut self, writing: Writing<'a>) -> Carried<'a>;
    /// Stores the reason of a refusal as the result.
    fn refuse(&mut self, error: LedgerError);
    /// Sends the result, which counts only if the transaction is durable.
    fn settle(self: Box<Self>, durable: Result<(), LedgerError>);
}

/// A message in the queue.
pub(crate) enum Message {
    Job(Box<dyn Job>),
    /// Sign all unsigned heads, then record nothing more.
    Close(oneshot::Sender<Result<(), LedgerError>>),
}

/// A [`Job`] that runs a closure within the open transaction.
pub(crate) struct Work<T, F> {
    pub(crate) origin: Origin,
    pub(crate) run: Option<F>,
    pub(crate) answer: Option<Result<T, LedgerError>>,
    pub(crate) reply: oneshot::Sender<Result<T, LedgerError>>,
}

pub(crate) type Run<'a, T> = Pin<Box<dyn Future<Output = Result<T, Failure>> + Send + 'a>>;

impl<T, F> Job for Work<T, F>
where
    T: Send,
    F: for<'a> FnOnce(Writing<'a>) -> Run<'a, T> + Send,
{
    fn origin(&self) -> &Origin {
        &self.origin
    }

    fn run<'a>(&'a mut self, writing: Writing<'a>) -> Carried<'a> {
        let run = self.run.take().expect("a job is run once");
        let answer = &mut self.answer;
        Box::pin(async move {
            *answer = Some(Ok(run(writing).await?));
            Ok(())
        })
    }

    fn refuse(&mut self, error: LedgerError) {
        self.answer = Some(Err(error));
    }

    fn settle(self: Box<Self>, durable: Result<(), LedgerError>) {
        let answer = match (durable, self.answer) {
            // A refusal is valid whether or not the transaction is durable; a success only if it
            // is.
            (_, Some(Err(refused))) => Err(refused),
            (Ok(()), Some(Ok(value))) => Ok(value),
            (Err(error), _) => Err(error),
            (Ok(()), None) => Err(LedgerError::NotDurable { what: "it was never written".to_owned(), source: None }),
        };
        // A caller that no longer waits has dropped the receiver.
        drop(self.reply.send(answer));
    }
}

pub(crate) struct Writer {
    pub(crate) connection: SqliteConnection,
    pub(crate) logs: BTreeMap<Origin, LogState>,
    pub(crate) facts: BTreeMap<Origin, Facts>,
    pub(crate) heads: Heads,
    pub(crate) signer: Signer,
    pub(crate) anchors: BTreeMap<Origin, Anchoring>,
    pub(crate) memory: Option<Memory>,
    /// The reason why nothing more is recorded.
    pub(crate) stopped: Option<Stop>,
    pub(crate) presence: Presence,
    /// Held until the connection is closed.
    pub(crate) folder: DirectoryLock,
}

/// The reason why a writer records nothing more.
pub(crate) enum Stop {
    Failed(String),
    /// The open files are no longer the files under their names.
    Removed(PathBuf),
}

impl Writer {
    /// Starts the task. It ends when every sender of its queue is dropped.
    ///
    /// The queue is unbounded: a caller waits for each request in it, so it uses no more memory
    /// than callers that wait in front of it.
    #[expect(clippy::disallowed_methods, reason = "the door: exactly one task per open ledger")]
    pub(crate) fn start(self) -> mpsc::UnboundedSender<Message> {
        let (queue, messages) = mpsc::unbounded_channel();
        tokio::spawn(self.serve(messages));
        queue
    }

    async fn serve(mut self, mut messages: mpsc::UnboundedReceiver<Message>) {
        let mut group = Vec::new();
        while messages.recv_many(&mut group, GROUP).await > 0 {
            let mut jobs = Vec::new();
            let mut closing = Vec::new();
            for message in group.drain(..) {
                match message {
                    Message::Job(job) => jobs.push(job),
                    Message::Close(reply) => closing.push(reply),
                }
            }
            self.commit_group(jobs).await;
            self.anchor().await;
            for reply in closing {
                drop(reply.send(self.close().await));
            }
        }
        self.close_memory().await;
        // The directory is unlocked only after SQLite has closed its files.
        drop(self.connection.close().await);
        drop(self.folder);
    }

    async fn commit_group(&mut self, mut jobs: Vec<Box<dyn Job>>) {
        self.check_presence();
        if self.stopped.is_none()
            && let Err(error) = self.transact(&mut jobs).await
        {
            self.stop(&error).await;
        }
        // A commit to a file that no one can find again is not durable.
        self.check_presence();
        if self.stopped.is_none() {
            self.publish();
            self.purge().await;
        }
        for job in jobs {
            job.settle(self.durable());
        }
    }

    /// Truncates the write-ahead log after an erasure: erased data must not survive in it.
    async fn purge(&mut self) {
        if !self.logs.values().any(|log| log.purge) {
            return;
        }
        let emptied = sqlx::query_scalar::<_, i64>("PRAGMA wal_checkpoint(TRUNCATE)").fetch_one(&mut self.connection);
        match emptied.await {
            Ok(0) => self.logs.values_mut().for_each(|log| log.purge = false),
            // A reader blocks it: the next group tries again.
            Ok(_) => {}
            Err(error) => self.stop(&error).await,
        }
    }

    /// Executes all jobs in one transaction with one sync.
    async fn transact(&mut self, jobs: &mut [Box<dyn Job>]) -> Result<(), sqlx::Error> {
        if jobs.is_empty() {
            return Ok(());
        }
        let mut script = Script::default();
        script.push(BEGIN, []);
        for job in jobs {
            self.run(&mut **job, &mut script).await?;
        }
        script.push(COMMIT, []);
        script.send(&mut self.connection).await
    }

    /// Runs one job within the transaction. A refused job leaves no trace.
    async fn run(&mut self, job: &mut dyn Job, script: &mut Script) -> Result<(), sqlx::Error> {
        let origin = job.origin().clone();
        let end = script.end();
        let before = self.logs.remove(&origin);
        let mut log = before.clone().unwrap_or_else(|| new_log(script, &self.logs, &origin));
        let mut facts = self.facts.remove(&origin).unwrap_or_default();
        let mut undo = Undo::default();
        let (connection, signer) = (&mut self.connection, &self.signer);
        let writing = Writing {
            connection,
            script,
            log: &mut log,
            facts: &mut facts,
            others: &self.facts,
            undo: &mut undo,
            signer,
        };
        let after = match job.run(writing).await {
            Ok(()) => Some(log),
            Err(Failure::Broken(error)) => return Err(error),
            Err(Failure::Refused(error)) => {
                job.refuse(error);
                undo.take_back(&mut facts);
                script.cut(end);
                before
            }
        };
        self.logs.extend(after.map(|log| (origin.clone(), log)));
        self.facts.insert(origin, facts);
        Ok(())
    }

    fn check_presence(&mut self) {
        if self.stopped.is_none()
            && let Err(error) = self.presence.check()
        {
            self.stopped = Some(match error {
                LedgerError::Removed { path } => Stop::Removed(path),
                other => Stop::Failed(other.to_string()),
            });
        }
    }

    async fn stop(&mut self, error: &sqlx::Error) {
        self.stopped = Some(Stop::Failed(error.to_string()));
        // Best effort, to release SQLite's lock. After an error SQLite has usually rolled back
        // already.
        drop(self.connection.execute("ROLLBACK").await);
    }

    fn durable(&self) -> Result<(), LedgerError> {
        match &self.stopped {
            None => Ok(()),
            Some(Stop::Failed(what)) => Err(LedgerError::NotDurable { what: what.clone(), source: None }),
            Some(Stop::Removed(path)) => Err(LedgerError::Removed { path: path.clone() }),
        }
    }

    fn publish(&self) {
        let heads = self.logs.iter().map(|(origin, log)| (origin.clone(), (log.id, log.head())));
        let mut published = self.heads.lock().unwrap_or_else(PoisonError::into_inner);
        *published = heads.collect();
    }

    /// Updates anchors to the newest durable checkpoints. An anchor that cannot be written does not
    /// stop the log: `Head` reports the reason and how far it is behind. The write is retried after
    /// every group.
    async fn anchor(&mut self) {
        if self.stopped.is_some() {
            return;
        }
        let mut changed = false;
        for (origin, anchoring) in &mut self.anchors {
            let Some(log) = self.logs.get_mut(origin) else { continue };
            // A log that is behind its anchor must not move the anchor back: only `record_gap` may.
            let sound = log.refuse_unless_sound().is_ok();
            let newest = log.newest.clone().filter(|newest| sound && log.anchor.as_ref() != Some(newest));
            let Some(newest) = newest else { continue };
            let before = (log.anchor.clone(), log.anchor_trouble.clone());
            match anchoring.bring_to(&newest).await {
                Ok(()) => (log.anchor, log.anchor_trouble) = (Some(newest), None),
                Err(trouble) => log.anchor_trouble = Some(trouble),
            }
            changed |= before != (log.anchor.clone(), log.anchor_trouble.clone());
        }
        if changed {
            self.publish();
        }
        self.remember();
    }

    /// Queues the newest checkpoint, which is durable by now, for its file. A log in doubt must not
    /// overwrite the evidence of that doubt.
    fn remember(&self) {
        if let Some(memory) = &self.memory
            && let Some(log) = self.logs.get(&memory.origin)
            && let (Some(newest), true) = (&log.newest, log.doubts.is_empty())
        {
            memory.keep(newest);
        }
    }

    async fn close(&mut self) -> Result<(), LedgerError> {
        self.durable()?;
        if let Err(error) = self.sign_all().await {
            self.stop(&error).await;
            return self.durable();
        }
        self.anchor().await;
        self.close_memory().await;
        self.stopped = Some(Stop::Failed("it was closed".to_owned()));
        // This merges the write-ahead log into the database file. Best effort: the write-ahead log
        // is already durable.
        drop(self.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").await);
        Ok(())
    }

    /// Waits for the last write, so that it cannot overwrite a write of the next process.
    async fn close_memory(&mut self) {
        if let Some(memory) = self.memory.take() {
            // A checkpoint that is not stored costs no record; the next start stores it.
            drop(memory.close().await);
        }
    }

    async fn sign_all(&mut self) -> Result<(), sqlx::Error> {
        let mut script = Script::default();
        script.push(BEGIN, []);
        for log in self.logs.values_mut().filter(|log| !log.unsigned.is_empty()) {
            // A log whose past is in doubt is not signed.
            if log.refuse_unless_sound().is_ok() {
                log.sign(&mut script, &self.signer);
            }
        }
        script.push(COMMIT, []);
        script.send(&mut self.connection).await
    }
}
