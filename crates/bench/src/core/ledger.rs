//! The ledger on a real disk: a fill with a million records, synced batches, and a start and a
//! verification with all records.
//!
//! The files are in the system's directory for temporary files: point `TMPDIR` at the disk to be
//! measured.

use std::io::{Seek as _, Write as _};
use std::time::Duration;

use anyhow::{anyhow, ensure};
use setpoint_ledger_sql::workload::{Failed, Workload};
use setpoint_ledger_verify::{Key, verify};
use tempfile::TempDir;
use tokio::runtime::Builder;

use crate::stopwatch::time;
use crate::table::{Bar, Peer, Row, Table, Unit};

const RECORDS: u64 = 1_000_000;
const BATCH: usize = 100;
/// The batches built at a time: building them is not measured, and not all of them fit into memory.
const PREPARED: u64 = 200;
/// The records of a batch in the measurement of syncs: the steps of one small plan.
const SMALL: usize = 4;
const SYNCED: u64 = 2_000;
/// A page of the database.
const BLOCK: usize = 4_096;
const CALLERS: u64 = 16;
/// The full bar of 1,000 batches a second applies only to a disk that is fast enough; see `synced`.
const SYNCED_BAR: f64 = 1_000.0;
const SHARE_OF_RAW: f64 = 0.5;

pub(super) fn append_open_verify(table: &mut Table) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let workload = Workload::new(folder.path()).map_err(failed)?;
    fill(&workload, table)?;
    start(&workload, table)?;
    verify_all(&workload, table)?;
    synced(table)
}

fn failed(error: Failed) -> anyhow::Error {
    anyhow!(error)
}

fn rate(count: u64, time: Duration) -> f64 {
    count as f64 / time.as_secs_f64()
}

/// Measures one caller, which waits for each batch to be durable: the average from an empty ledger
/// to a full one.
fn fill(workload: &Workload, table: &mut Table) -> anyhow::Result<()> {
    let mut opened = workload.open().map_err(failed)?;
    let mut appending = Duration::ZERO;
    for _ in 0..RECORDS / (PREPARED * BATCH as u64) {
        let batches = opened.prepare(PREPARED, BATCH);
        let (appended, taken) = time(|| workload.append(&opened, batches));
        appended.map_err(failed)?;
        appending += taken;
    }
    workload.close(opened).map_err(failed)?;
    table.add(Row {
        what: format!("ledger, append in batches of {BATCH}, one caller, up to {RECORDS} records"),
        unit: Unit::Rate("records/s"),
        ours: rate(RECORDS, appending),
        peer: Peer::None,
        bar: Bar::Figure(20_000.0),
    });
    Ok(())
}

/// Measures a start up to the first lease: check of the logs, load of the facts.
fn start(workload: &Workload, table: &mut Table) -> anyhow::Result<()> {
    let (opened, taken) = time(|| workload.open());
    workload.close(opened.map_err(failed)?).map_err(failed)?;
    table.add(Row {
        what: format!("ledger, start with {RECORDS} records"),
        unit: Unit::Cost("s"),
        ours: taken.as_secs_f64(),
        peer: Peer::None,
        bar: Bar::Figure(2.0),
    });
    Ok(())
}

fn verify_all(workload: &Workload, table: &mut Table) -> anyhow::Result<()> {
    let runtime = Builder::new_current_thread().build()?;
    let key: Key = workload.verification_key().parse()?;
    let database = workload.database();
    let (report, taken) = time(|| runtime.block_on(verify(&database, &[], &[key])));
    let report = report?;
    let records: u64 = report.logs.iter().map(|log| log.records).sum();
    ensure!(report.is_sound() && records == RECORDS, "the ledger of the bench is not sound: {report:?}");
    table.add(Row {
        what: format!("ledger, verify {RECORDS} records"),
        unit: Unit::Cost("s"),
        ours: taken.as_secs_f64(),
        peer: Peer::None,
        bar: Bar::Figure(10.0),
    });
    Ok(())
}

/// Measures batches whose cost is the sync: one caller that waits for each, and many that share
/// syncs. No ledger is faster than its disk, so the bar is 1,000 a second, or half of the raw
/// disk's rate if that is less.
fn synced(table: &mut Table) -> anyhow::Result<()> {
    let folder: TempDir = tempfile::tempdir()?;
    let workload = Workload::new(folder.path()).map_err(failed)?;
    let raw = raw_syncs(&folder)?;
    let mut opened = workload.open().map_err(failed)?;
    let batches = opened.prepare(SYNCED, SMALL);
    let (appended, alone) = time(|| workload.append(&opened, batches));
    appended.map_err(failed)?;
    let callers = (0..CALLERS).map(|_| opened.prepare(SYNCED / CALLERS, SMALL)).collect();
    let (appended, together) = time(|| workload.append_together(&opened, callers));
    appended.map_err(failed)?;
    workload.close(opened).map_err(failed)?;
    let bar = SYNCED_BAR.min(SHARE_OF_RAW * raw).floor();
    for (who, taken) in [("one caller".to_owned(), alone), (format!("{CALLERS} callers"), together)] {
        table.add(Row {
            what: format!("ledger, synced batches of {SMALL}, {who} (fsync alone: {:.2} ms)", 1e3 / raw),
            unit: Unit::Rate("batches/s"),
            ours: rate(SYNCED, taken),
            peer: Peer::Measured { name: "raw fsync", figure: raw },
            bar: Bar::Figure(bar),
        });
    }
    Ok(())
}

/// Measures the syncs per second of the disk itself: a block is written over a file that already
/// has its size, as the write-ahead log mostly has, and synced.
fn raw_syncs(folder: &TempDir) -> anyhow::Result<f64> {
    let mut file = tempfile::tempfile_in(folder)?;
    file.write_all(&vec![0; BLOCK * SYNCED as usize])?;
    file.sync_all()?;
    file.rewind()?;
    let (synced, taken) = time(|| {
        (0..SYNCED).try_for_each(|_| {
            file.write_all(&[1; BLOCK])?;
            file.sync_data()
        })
    });
    synced?;
    Ok(rate(SYNCED, taken))
}
