//! Work for benches: fills a ledger with records like those of real rounds. It measures nothing
//! itself.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::json;
use setpoint_core::digest::Digest;
use setpoint_core::facts::Change;
use setpoint_core::intent::{IntentEnd, IntentId};
use setpoint_core::name::{Actor, Scope};
use setpoint_core::time::{Span, Timestamp};
use setpoint_ledger::checkpoint::Signer;
use setpoint_ledger::{Batch, Entry, Kind, Lease, LeaseRequest, Ledger as _, Origin};
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinSet;

use crate::{Options, SqlLedger};

/// The reason why a bench failed.
pub type Failed = Box<dyn std::error::Error + Send + Sync>;

/// A data directory and the runtime of a bench.
#[derive(Debug)]
pub struct Workload {
    folder: PathBuf,
    runtime: Runtime,
    signer: Signer,
    origin: Origin,
}

/// An open ledger with the lease on its log.
#[derive(Debug)]
pub struct Opened {
    ledger: Arc<SqlLedger>,
    lease: Lease,
    /// The number of the next intent, so that none is opened twice.
    next: u64,
}

impl Workload {
    pub fn new(folder: &Path) -> Result<Self, Failed> {
        let origin = Origin::new("setpoint.bench")?;
        let signer = Signer::new(origin.clone(), &[1; 32]);
        let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
        Ok(Self { folder: folder.to_owned(), runtime, signer, origin })
    }

    /// Returns the path of the database, for the verifier.
    pub fn database(&self) -> PathBuf {
        self.folder.join("ledger.db")
    }

    /// Returns the key that verifies its checkpoints, in the form of signed notes.
    pub fn verification_key(&self) -> String {
        self.signer.public().to_text()
    }

    /// Opens the ledger as the engine does at its start: checks every log and loads its facts.
    pub fn open(&self) -> Result<Opened, Failed> {
        self.runtime.block_on(async {
            let ledger = SqlLedger::open(Options::new(&self.folder, self.signer.clone())).await?;
            ledger.load(&self.origin).await?;
            let request = LeaseRequest {
                origin: self.origin.clone(),
                holder: "bench".to_owned(),
                now: Timestamp::default(),
                length: Span::hours(1_000_000),
            };
            let lease = ledger.acquire(request).await?;
            Ok(Opened { ledger: Arc::new(ledger), lease, next: 0 })
        })
    }

    /// Closes the ledger and waits until its files are free.
    pub fn close(&self, opened: Opened) -> Result<(), Failed> {
        self.runtime.block_on(opened.ledger.close())?;
        drop(opened);
        let lock = File::open(self.folder.join("lock"))?;
        lock.lock()?;
        Ok(())
    }

    /// Appends batches one after the other, each waiting for its own sync.
    pub fn append(&self, opened: &Opened, batches: Vec<Batch>) -> Result<(), Failed> {
        self.runtime.block_on(async {
            for batch in batches {
                opened.ledger.append(batch).await?;
            }
            Ok(())
        })
    }

    /// Appends batches from many callers at once, which share syncs. Each inner list belongs to one
    /// caller.
    pub fn append_together(&self, opened: &Opened, callers: Vec<Vec<Batch>>) -> Result<(), Failed> {
        self.runtime.block_on(async {
            let mut running = JoinSet::new();
            for batches in callers {
                let ledger = Arc::clone(&opened.ledger);
                running.spawn(async move {
                    for batch in batches {
                        ledger.append(batch).await?;
                    }
                    Ok::<_, setpoint_ledger::LedgerError>(())
                });
            }
            while let Some(done) = running.join_next().await {
                done??;
            }
            Ok(())
        })
    }
}

impl Opened {
    /// Builds batches of `records` records each, to be appended in this order. They are built in
    /// advance, so that building them is not measured.
    ///
    /// Four records belong together (plan, intent, result, drift). With several callers, each batch
    /// must hold a multiple of four records, or a result could overtake its intent.
    pub fn prepare(&mut self, batches: u64, records: usize) -> Vec<Batch> {
        (0..batches).map(|_| self.batch(records)).collect()
    }

    /// Builds plans, intents with their claims, and results, as a round of the engine writes them.
    fn batch(&mut self, records: usize) -> Batch {
        let entries = (0..records).map(|_| self.entry()).collect();
        Batch::new(&self.lease, Timestamp::default(), entries)
    }

    fn entry(&mut self) -> Entry {
        let (number, step) = (self.next / 4, self.next % 4);
        self.next += 1;
        let id = IntentId { epoch: self.lease.epoch, number };
        let (kind, changes) = match step {
            0 => (Kind::Plan, Vec::new()),
            1 => (Kind::Intent, open_intent(id)),
            2 => (Kind::EffectResult, vec![Change::CloseIntent { intent: id, end: IntentEnd::Done }]),
            _ => (Kind::DriftObserved, Vec::new()),
        };
        let actor = Actor::new("engine").expect("a valid actor");
        let entry = Entry::new(
            kind,
            Scope::default_scope(),
            format!("web/app-{}", number % 1_000),
            actor,
            Timestamp::default(),
        );
        let entry = entry.with_data("plan", Digest::of(&number.to_le_bytes()).to_string()).with_data("step", step);
        changes.into_iter().fold(entry, Entry::with_change)
    }
}

/// Returns the claim on one of ten thousand files, and the intent to change it.
fn open_intent(id: IntentId) -> Vec<Change> {
    let digest = Digest::of(b"bundle");
    let (key, app) = (format!("file::/srv/app/{}", id.number % 10_000), "web/shop");
    let claim = json!({ "target": "machine-1", "key": key, "app": app, "origin": "created" });
    let intent = json!({
        "id": id, "app": app, "target": "machine-1", "key": key, "verb": "create",
        "plan": digest, "bundle": digest, "at": 0, "leave_by": 5, "land_by": 35,
    });
    let claim = serde_json::from_value(claim).expect("a claim's stored form");
    let intent = serde_json::from_value(intent).expect("an intent's stored form");
    vec![Change::PutClaim { claim: Arc::new(claim), from: None }, Change::OpenIntent { intent }]
}
