//! The ledger on a real disk: filling it to a million records, synced batches, a start and a
//! verification with all of them.
//!
//! Everything is done in a folder of the system's folder for temporary files: point `TMPDIR` at the
//! disk to be measured.

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
/// Batches made at a time: making them is not measured, and all of them would not fit into memory.
const PREPARED: u64 = 200;
/// Records of a batch whose sync is what is measured: the steps of one small plan.
const SMALL: usize = 4;
const SYNCED: u64 = 2_000;
/// A page of the database.
const BLOCK: usize = 4_096;
const CALLERS: u64 = 16;
/// What the disk must be able to do for the bar of 1,000 batches a second to be asked in full.
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

/// One caller, which waits for each batch to be durable: the average over the whole way from an
/// empty ledger.
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

/// From nothing to the first lease: logs checked, facts loaded.
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

/// Batches whose cost is the sync: one caller that waits for each, and many that share syncs. No
/// ledger is faster than its disk, so the bar is 1,000 a second or half of what the disk does
/// without one, whichever is less.
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

/// What the disk itself does in a second: a block written over a file that has its size already, as
/// the write-ahead log has most of the time, and synced.
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
