//! A fleet: 1,000 apps of 10 files in one repository. Measures the time to converge, the cost at
//! rest, and the cost of a commit that changes one of them.

use std::time::Duration;

use anyhow::Context;
use setpoint_api::answer::AppState;
use tokio::time::interval;

use super::workload::{Workload, declared, document};
use crate::agent::inside::{Inside, is_at, is_at_rest, runtime};
use crate::agent::lab::{Lab, app, app_document, write};
use crate::agent::process::Agent;
use crate::agent::program::shipped;
use crate::stopwatch::Stopwatch;
use crate::table::{Bar, Peer, Row, Table, Unit};

const APPS: usize = 1_000;
const FILES: usize = 10;
/// The app that is changed: the one in the middle.
const TOUCHED: usize = APPS / 2;
/// The poll interval of stores in the lab, in milliseconds.
const POLL: f64 = 1_000.0;
/// The time from the commit, beyond the wait for the poll, in milliseconds.
const COMMIT_BAR: f64 = 1_000.0;
const REST: Duration = Duration::from_secs(60);
/// Percent of one core.
const REST_BAR: f64 = 1.0;
const MEBIBYTE: f64 = 1024.0 * 1024.0;
const MEMORY_BAR: f64 = 100.0;
const PATIENCE: Duration = Duration::from_secs(300);

pub(super) fn follow_and_rest(table: &mut Table) -> anyhow::Result<()> {
    let lab = fleet()?;
    let runtime = runtime()?;
    runtime.block_on(as_a_process(&lab, table)).with_context(|| lab.complaints())?;
    runtime.block_on(counting_renders(&lab, table))
}

fn name(number: usize) -> String {
    format!("app-{number:04}")
}

/// Returns the files of an app.
fn files(number: usize) -> std::ops::Range<usize> {
    number * FILES..(number + 1) * FILES
}

fn fleet() -> anyhow::Result<Lab> {
    let lab = Lab::of_files()?;
    Workload { files: APPS * FILES }.make_folders(&lab.managed())?;
    let mut changes = Vec::new();
    for number in 0..APPS {
        let name = name(number);
        changes.push(app_document(&name)?);
        changes.push(write(&format!("apps/{name}/files.yaml"), declared(files(number)))?);
    }
    lab.commit(&changes)?;
    Ok(lab)
}

/// Commits a version that changes one app.
fn touch(lab: &Lab, text: &str) -> anyhow::Result<setpoint_core::name::VersionId> {
    let mut documents: Vec<String> = vec![document(files(TOUCHED).start, text)];
    documents.push(declared(files(TOUCHED).skip(1)));
    lab.commit(&[write(&format!("apps/{}/files.yaml", name(TOUCHED)), documents.join("---\n"))?])
}

/// Runs `setpoint run`: everything converges, one app is changed, and then nothing happens.
async fn as_a_process(lab: &Lab, table: &mut Table) -> anyhow::Result<()> {
    // The build is not part of the start.
    shipped()?;
    let begun = Stopwatch::start();
    let agent = Agent::start(lab)?;
    agent.until_converged(APPS, Duration::from_millis(250), PATIENCE).await?;
    table.add(row("first convergence, `setpoint run` from its start", "s", begun.elapsed().as_secs_f64(), Bar::None));

    let begun = Stopwatch::start();
    let version = touch(lab, "touched\n")?;
    let touched = app(&name(TOUCHED))?;
    let look = async |client: &setpoint_api::Client| {
        let detail = client.app(touched.clone()).await.ok()?;
        let accepted = detail.summary.accepted?;
        let is_at = accepted.revision.versions().any(|accepted| *accepted == version);
        (is_at && detail.summary.state == AppState::Converged).then_some(())
    };
    agent.until("the touched app converges", Duration::from_millis(5), PATIENCE, look).await?;
    let taken = begun.elapsed().as_secs_f64() * 1e3;
    table.add(row("one is touched, commit → converged, poll every 1 s", "ms", taken, Bar::Figure(POLL + COMMIT_BAR)));

    agent.until_converged(APPS, Duration::from_millis(250), PATIENCE).await?;
    at_rest(&agent, table).await?;
    agent.stop()
}

async fn at_rest(agent: &Agent, table: &mut Table) -> anyhow::Result<()> {
    let (before, begun) = (agent.used()?, Stopwatch::start());
    let mut turns = interval(REST);
    turns.tick().await;
    turns.tick().await;
    let (after, elapsed) = (agent.used()?, begun.elapsed());
    let share = 100.0 * (after.processor - before.processor).as_secs_f64() / elapsed.as_secs_f64();
    table.add(row("at rest for 60 s, of one core", "%", share, Bar::Figure(REST_BAR)));
    table.add(row("at rest, resident", "MiB", after.resident as f64 / MEBIBYTE, Bar::Figure(MEMORY_BAR)));
    Ok(())
}

/// Runs the same fleet in this process, to count renders and to hint at the store, so that no wait
/// for a poll is included.
async fn counting_renders(lab: &Lab, table: &mut Table) -> anyhow::Result<()> {
    let begun = Stopwatch::start();
    let mut agent = Inside::start(lab).await?;
    agent.until_at_rest().await?;
    table.add(row("started again until at rest", "s", begun.elapsed().as_secs_f64(), Bar::None));
    let before = agent.renders();
    let begun = Stopwatch::start();
    let version = touch(lab, "touched again\n")?;
    agent.hint().await?;
    agent.until_app(&name(TOUCHED), |status| is_at(status, &version) && is_at_rest(status)).await?;
    let taken = begun.elapsed().as_secs_f64() * 1e3;
    table.add(row("one is touched, commit → converged beyond the poll", "ms", taken, Bar::Figure(COMMIT_BAR)));
    agent.until_at_rest().await?;
    let renders = (agent.renders() - before) as f64;
    table.add(row("one is touched, apps rendered", "renders", renders, Bar::Figure(1.0)));
    agent.stop().await
}

fn row(what: &str, unit: &'static str, ours: f64, bar: Bar) -> Row {
    let what = format!("{APPS} apps × {FILES} files, {what}");
    Row { what, unit: Unit::Cost(unit), ours, peer: Peer::None, bar }
}
