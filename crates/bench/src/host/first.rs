//! First convergence: from an empty directory and an empty ledger to every file in place and
//! recorded, durably. The time includes everything: the process starts, clones, renders, records
//! its intents, writes, syncs and records its results.
//!
//! All syncs are included. Their order, and the files left after a kill at any call, are tested in
//! crates/target-host/tests (`batches`, `crashes`); here they only cost their time.

use std::time::Duration;

use anyhow::ensure;

use super::lab::is_in_place;
use super::pass::CHANGED;
use super::peers::{PUPPET_FILES, ansible, puppet};
use super::workload::Workload;
use crate::agent::lab::Lab;
use crate::agent::process::apply_once;
use crate::table::{Bar, Peer, Row, Table, Unit};

/// Larger numbers of files, with a bar in proportion: the cost grows linearly.
const LARGER: [usize; 2] = [10_000, 100_000];
const TIMES_PUPPET: f64 = 20.0;
/// The runs of the smallest number, of which the shortest counts.
const RUNS: u32 = 3;

pub(super) fn converge(table: &mut Table) -> anyhow::Result<()> {
    let mut labs = Vec::new();
    let taken = shortest(PUPPET_FILES, RUNS, &mut labs)?;
    let peer = puppet(|taken| taken.first);
    table.add(row(PUPPET_FILES, taken, peer.clone(), Bar::TimesPeer(TIMES_PUPPET)));
    table.add(row(PUPPET_FILES, taken, ansible(|taken| taken.first), Bar::None));
    for files in LARGER {
        let bar = match peer {
            Peer::Measured { figure, .. } => {
                Bar::Figure((figure / TIMES_PUPPET * files as f64 / PUPPET_FILES as f64).round())
            }
            // Without the peer, the row above reports it as missing, and that fails the suite.
            Peer::None | Peer::Missing { .. } => Bar::None,
        };
        table.add(row(files, shortest(files, 1, &mut labs)?, Peer::None, bar));
    }
    Ok(())
}

/// The labs are passed on and not removed in between: ext4 does not reuse the place of a file that
/// was removed within the last minute, and the search for another place takes longer than the
/// creation.
fn shortest(files: usize, runs: u32, labs: &mut Vec<Lab>) -> anyhow::Result<Duration> {
    let workload = Workload { files };
    let mut shortest = Duration::MAX;
    for _ in 0..runs {
        let lab = Lab::with_files(workload)?;
        shortest = shortest.min(apply_once(&lab, CHANGED)?);
        ensure!(is_in_place(&lab.managed(), workload)?, "it says all is as declared, and the files are not");
        labs.push(lab);
    }
    Ok(shortest)
}

fn row(files: usize, taken: Duration, peer: Peer, bar: Bar) -> Row {
    let micros = taken.as_secs_f64() * 1e6 / files as f64;
    Row {
        what: format!(
            "{files} files, first convergence, durable, `apply --once`, process and all ({micros:.0} µs a file)"
        ),
        unit: Unit::Cost("ms"),
        ours: taken.as_secs_f64() * 1e3,
        peer,
        bar,
    }
}
