//! Drift: another process overwrites a file, and `setpoint run` detects it, records it, heals it
//! and records that. One file after the other, each once.
//!
//! The time of the edit is just before its write begins. The time of detection is that of the
//! agent's record, on its own clock, which is first compared with ours; records have milliseconds.
//! The time of healing is when the file holds its declared content *and* the agent's socket reports
//! the heal, on our clock: it includes the time for the request.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use setpoint_api::Client;
use setpoint_api::answer::DriftRecord;
use setpoint_api::question::DriftQuestion;
use tokio::time::interval;

use super::lab::FIRST_APP;
use super::workload::Workload;
use crate::agent::inside::runtime;
use crate::agent::lab::{Lab, app};
use crate::agent::process::Agent;
use crate::percentile::percentile;
use crate::stopwatch::{Stopwatch, since_epoch};
use crate::table::{Bar, Peer, Row, Table, Unit};

const FILES: usize = 1_000;
const SEEN_BAR: f64 = 50.0;
const HEALED_BAR: f64 = 250.0;
/// The interval at which a file and the socket are polled.
const GLANCE: Duration = Duration::from_millis(1);
const PATIENCE: Duration = Duration::from_secs(60);

pub(super) fn edit_and_heal(table: &mut Table) -> anyhow::Result<()> {
    let lab = Lab::with_files(Workload { files: FILES })?;
    let mut told = runtime()?.block_on(heal_all(&lab)).with_context(|| lab.complaints())?;
    table.add(row("an edit is detected", &mut told.seen, SEEN_BAR));
    table.add(row("an edit is healed and recorded", &mut told.healed, HEALED_BAR));
    Ok(())
}

/// Milliseconds since each edit.
#[derive(Default)]
struct Reported {
    seen: Vec<f64>,
    healed: Vec<f64>,
}

async fn heal_all(lab: &Lab) -> anyhow::Result<Reported> {
    let agent = Agent::start(lab)?;
    agent.until_converged(1, Duration::from_millis(20), PATIENCE).await?;
    let ahead = agent.ahead().await?;
    let mut told = Reported::default();
    for number in 0..FILES {
        let place = Workload::place(&lab.managed(), number);
        let (edited, begun) = (since_epoch().as_secs_f64() * 1e3, Stopwatch::start());
        overwrite(&place, &Workload::edited(number))?;
        let record = healed(&agent.client, &place, number, begun).await?;
        told.healed.push(begun.elapsed().as_secs_f64() * 1e3);
        told.seen.push(record.seen.as_millis() as f64 - (edited + ahead));
    }
    agent.stop()?;
    Ok(told)
}

/// Overwrites a file in place, in one call: it is never empty or half written.
fn overwrite(place: &Path, text: &str) -> anyhow::Result<()> {
    let mut file =
        OpenOptions::new().write(true).open(place).with_context(|| format!("opening {}", place.display()))?;
    file.write_all(text.as_bytes()).with_context(|| format!("writing {}", place.display()))
}

/// Waits until the file is as declared and the agent reports that it has healed it.
async fn healed(client: &Client, place: &Path, number: usize, begun: Stopwatch) -> anyhow::Result<DriftRecord> {
    let (mut glances, declared) = (interval(GLANCE), Workload::content(number));
    let question = DriftQuestion { app: Some(app(FIRST_APP)?), limit: 1 };
    let path = Workload::path(number);
    loop {
        glances.tick().await;
        if fs::read_to_string(place).is_ok_and(|text| text == declared) {
            let mut records = client.drift(&question).await?;
            ensure!(records.len() <= 1, "{} drifts were reported where one was requested", records.len());
            let record = records.pop().filter(|record| record.key.to_string().ends_with(&path));
            if let Some(record) = record.filter(|record| record.healed.is_some()) {
                return Ok(record);
            }
        }
        if begun.elapsed() > PATIENCE {
            bail!("{path} was not healed within {} s", PATIENCE.as_secs());
        }
    }
}

fn row(what: &str, millis: &mut [f64], bar: f64) -> Row {
    millis.sort_by(f64::total_cmp);
    let (middle, worst) = (percentile(millis, 50), percentile(millis, 100));
    Row {
        what: format!("{what}, p99 of {} files of one app (p50 {middle:.1}, worst {worst:.1} ms)", millis.len()),
        unit: Unit::Cost("ms"),
        ours: percentile(millis, 99),
        peer: Peer::None,
        bar: Bar::Figure(bar),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overwriting_keeps_the_file_and_changes_all_of_it() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("file");
        fs::write(&place, Workload::content(1)).unwrap();
        overwrite(&place, &Workload::edited(1)).unwrap();
        assert_eq!(fs::read_to_string(&place).unwrap(), Workload::edited(1));
    }
}
