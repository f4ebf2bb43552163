//! Durability on a simulated disk: at each operation of a workload the power fails and unsynced
//! data is lost, torn or reordered; and at each of them writes and syncs fail, once or permanently.

use setpoint_ledger::{Class, Ledger, LedgerError, Record, Standing};
use setpoint_ledger_sql::{OpenError, Options, SqlLedger, remembered_in};
use setpoint_ledger_verify::verify;

use crate::disk::vfs::SharedDisk;
use crate::disk::{Fault, Loss, Operation};
use crate::scene::{Place, at, batch, key, opened, origin, request};
use crate::story;

/// The number of batches. An erasure in the middle empties the write-ahead log, and so does
/// closing.
const BATCHES: u64 = 12;

/// The results that a workload got.
#[derive(Debug, Default)]
struct Acknowledged {
    /// The number of acknowledged records.
    records: u64,
    epoch: u64,
    /// The sizes at which a batch ended: the only sizes that may ever be observed.
    ends: Vec<u64>,
    refused: Option<Class>,
}

struct Bench {
    /// Enables the file of the newest checkpoint, whose syncs take time on a real disk.
    remembers: bool,
    disk: SharedDisk,
    place: Place,
}

impl Bench {
    fn new(name: &'static str, remembers: bool) -> Self {
        Self { remembers, disk: SharedDisk::register(name), place: Place::new() }
    }

    fn options(&self) -> Options {
        let options = self.place.options().with_vfs(self.disk.name);
        if self.remembers { options.remembering(origin("a")) } else { options }
    }

    /// Replaces the disk with one that has this fault, and removes the anchor and the remembered
    /// checkpoint.
    fn reset(&self, fault: Option<Fault>) {
        drop(std::fs::remove_file(self.place.anchor()));
        drop(std::fs::remove_file(remembered_in(&self.place.data())));
        self.disk.lock().replace(fault);
    }

    /// Waits until every connection is closed, as after the end of a process.
    async fn all_closed(&self) {
        while self.disk.lock().is_in_use() {
            tokio::task::yield_now().await;
        }
        self.place.settle();
    }

    /// Runs the workload until the end or the first refusal. After a refusal it continues only to
    /// check that all other requests are refused too.
    async fn work(&self) -> Acknowledged {
        let mut told = Acknowledged { ends: vec![0], ..Acknowledged::default() };
        let ledger = loop {
            match SqlLedger::open(self.options()).await {
                Ok(ledger) => break ledger,
                Err(OpenError::InUse { .. }) => tokio::task::yield_now().await,
                Err(_) => return told,
            }
        };
        if let Err(error) = write_all(&ledger, &mut told).await {
            told.refused = Some(error.class());
            self.check_refusal(&ledger, &told).await;
        }
        drop(ledger);
        told
    }

    /// Checks that after a failure nothing more is acknowledged, and that acknowledged records can
    /// still be read (unless the power is off).
    async fn check_refusal(&self, ledger: &SqlLedger, told: &Acknowledged) {
        assert_eq!(told.refused, Some(Class::NotDurable));
        let again = ledger.acquire(request("a", at(2))).await.expect_err("it stays refused until it is opened again");
        assert_eq!(again.class(), Class::NotDurable);
        if !self.disk.lock().has_power() || told.records == 0 {
            return;
        }
        let read = ledger.records(&origin("a"), 0..told.records).await.expect("reading still works");
        assert_eq!(read.len() as u64, told.records);
        ledger.load(&origin("a")).await.expect("loading still works");
    }

    /// Opens the ledger again on a working disk and checks that it holds all acknowledged records.
    async fn check(&self, told: &Acknowledged, what: &str) {
        let ledger = opened(&self.options()).await;
        let head = ledger.head(&origin("a")).await.expect("a head");
        assert!(
            head.size >= told.records,
            "{what}: {} records were acknowledged, {} are there",
            told.records,
            head.size
        );
        assert!(head.epoch >= told.epoch, "{what}: an epoch that was given out is forgotten");
        assert!(told.ends.contains(&head.size), "{what}: half a batch is there ({} records)", head.size);
        assert_eq!(head.standing, Standing::Sound, "{what}: neither anchor nor memory runs ahead of the log");
        for (seq, bytes) in (0..).zip(ledger.records(&origin("a"), 0..head.size).await.expect("the records")) {
            assert_eq!(Record::from_bytes(&bytes).expect("a record").seq, seq, "{what}");
        }
        assert_eq!(ledger.replay_check(&origin("a")).await.expect("a replay"), None, "{what}");
        ledger.close().await.expect("closed");
        drop(ledger);
        self.all_closed().await;
        let copy = self.place.root.path().join("copy.db");
        for side in ["", "-wal"] {
            let content = self.disk.lock().content(&format!("ledger.db{side}"));
            std::fs::write(format!("{}{side}", copy.display()), content).expect("a copy for the verifier");
        }
        let anchors = std::fs::read_to_string(self.place.anchor()).ok();
        let report = verify(&copy, anchors.as_slice(), &[key()]).await.expect("it can be judged");
        assert_eq!(report.findings, [], "{what}");
    }
}

async fn write_all(ledger: &SqlLedger, told: &mut Acknowledged) -> Result<(), LedgerError> {
    let lease = ledger.acquire(request("a", at(0))).await?;
    told.epoch = lease.epoch;
    for n in 0..BATCHES {
        let mut batch = batch(&lease, story::round(lease.epoch, n));
        batch.bundles.insert(setpoint_core::digest::Digest::of(b"bundle"), b"bundle".to_vec());
        told.ends.push(told.records + batch.entries.len() as u64);
        told.records = ledger.append(batch).await?.seqs.end;
        if n == BATCHES / 2 {
            told.ends.push(told.records + 1);
            told.records = ledger.erase_body(story::erasure(lease.epoch)).await?.seqs.end;
        }
    }
    ledger.close().await
}

/// Returns pseudo-random numbers, the same in every run.
fn dice(seed: u64) -> impl FnMut(usize) -> usize {
    let mut state = seed;
    move |bound| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 33) % bound as u64) as usize
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_acknowledged_survives_loss_of_power_at_every_operation() {
    let bench = Bench::new("power-loss", true);
    bench.reset(None);
    let whole = bench.work().await;
    assert_eq!(whole.refused, None);
    bench.all_closed().await;
    let operations = bench.disk.lock().operations();
    assert!(operations > 100, "{operations} operations are too few to mean anything");
    bench.check(&whole, "without a fault").await;
    let mut refused = 0;
    for loss in [Loss::Drop, Loss::Tear, Loss::Reorder] {
        for at in 0..operations {
            bench.reset(Some(Fault::PowerLoss { at }));
            let told = bench.work().await;
            bench.all_closed().await;
            refused += u64::from(told.refused.is_some());
            bench.disk.lock().power_cycle(loss, &mut dice(at));
            bench.check(&told, &format!("power lost at operation {at} of {operations}, {loss:?}")).await;
        }
    }
    assert!(refused > operations, "the faults hit the workload: {refused}");
    println!("{} runs: {operations} operations, three kinds of loss", operations * 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn case_77_a_full_or_failing_disk_acknowledges_nothing_it_cannot_keep() {
    let bench = Bench::new("refusals", false);
    let (mut runs, mut refused) = (0, 0);
    let kinds = [Operation::Write, Operation::Sync].map(|of| [(of, true), (of, false)]);
    // The power fails as well, each time with another loss: only the data on the platter counts.
    let mut losses = [Loss::Drop, Loss::Tear, Loss::Reorder].into_iter().cycle();
    for (of, full) in kinds.into_iter().flatten() {
        for lasting in [false, true] {
            for at in 0.. {
                let fault = Fault::Refusal { of, at, lasting, full };
                bench.reset(Some(fault));
                let told = bench.work().await;
                bench.all_closed().await;
                if !bench.disk.lock().has_struck() {
                    assert!(at > 10, "the workload ended before the fault: {fault:?}");
                    break;
                }
                runs += 1;
                refused += u64::from(told.refused.is_some());
                let loss = losses.next().expect("they go round");
                bench.disk.lock().power_cycle(loss, &mut dice(at));
                bench.check(&told, &format!("{fault:?}, {loss:?}")).await;
            }
        }
    }
    assert!(refused > runs / 2, "most faults must reach the caller: {refused} of {runs}");
    println!("{runs} runs, {refused} of them refused");
}

/// The second half of case 77. A real read-only mount does not refuse pages that SQLite has already
/// mapped, and cannot be switched at a given operation. So the simulated disk turns read-only,
/// before each operation in turn.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn case_77_a_file_system_that_turns_read_only_stops_the_ledger_and_loses_nothing() {
    let bench = Bench::new("read-only", false);
    let mut refused = 0;
    for at in 0.. {
        bench.reset(Some(Fault::ReadOnly { at }));
        let told = bench.work().await;
        bench.all_closed().await;
        if !bench.disk.lock().has_struck() {
            assert!(refused > 10, "the workload ended before the fault: {at}");
            break;
        }
        assert!(told.refused.is_none_or(|class| class == Class::NotDurable), "{:?} at operation {at}", told.refused);
        refused += u64::from(told.refused.is_some());
        bench.disk.lock().power_cycle(Loss::Drop, &mut dice(at));
        bench.check(&told, &format!("read-only from operation {at} on")).await;
    }
}
