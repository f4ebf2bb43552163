//! At rest: apps of ten objects that are all as declared, for a minute without changes. Measures
//! their cost in memory, processor time and requests, for growing numbers of apps.

use std::time::Duration;

use anyhow::Context;
use tokio::time::interval;

use super::progress::tell;
use super::server::Server;
use super::workload::resting;
use crate::agent::inside::runtime;
use crate::agent::lab::Lab;
use crate::agent::process::Agent;
use crate::agent::program::shipped;
use crate::stopwatch::Stopwatch;
use crate::table::{Bar, Peer, Row, Table, Unit};

/// The quiet time before the measurement, and its length.
const REST: Duration = Duration::from_secs(60);
const MEBIBYTE: f64 = 1024.0 * 1024.0;
/// The bars of the largest fleet, which also hold for the smaller ones.
const MEMORY_BAR: f64 = 300.0;
/// Percent of one core.
const PROCESSOR_BAR: f64 = 5.0;
const REQUESTS_BAR: f64 = 2.0;
const OBJECTS: usize = 10;
/// Filling the largest fleet takes many minutes.
const PATIENCE: Duration = Duration::from_secs(3600);

pub(super) fn stand_still(largest: usize, table: &mut Table) -> anyhow::Result<()> {
    shipped()?;
    for apps in [largest / 100, largest / 10, largest] {
        runtime()?.block_on(rested(apps.max(1), table))?;
    }
    Ok(())
}

/// Creates a lab of this many apps of ten objects in their own namespace.
pub(super) fn fleet(server: &Server, apps: usize) -> anyhow::Result<Lab> {
    server.make_namespace("held");
    let of = |number| (format!("app-{number:05}"), resting(number));
    Lab::of_cluster(&server.kubeconfig(), "held", (0..apps).map(of))
}

async fn rested(apps: usize, table: &mut Table) -> anyhow::Result<()> {
    let server = Server::start(false);
    let lab = fleet(&server, apps)?;
    tell(&format!("filling a cluster with {apps} apps × {OBJECTS} objects"));
    let begun = Stopwatch::start();
    let agent = Agent::start(&lab)?;
    filled(&agent, apps).await.with_context(|| lab.complaints())?;
    let filled = begun.elapsed().as_secs_f64();
    let row = |what: &str, unit, ours, bar| Row {
        what: format!("{apps} apps × {OBJECTS} objects, {what}"),
        unit: Unit::Cost(unit),
        ours,
        peer: Peer::None,
        bar,
    };
    let each = filled * 1e3 / (apps * OBJECTS) as f64;
    table.add(row(&format!("first convergence ({each:.1} ms an object)"), "s", filled, Bar::None));

    pause(REST).await;
    let (before, requests, begun) = (agent.used()?, server.requests()?, Stopwatch::start());
    pause(REST).await;
    let (after, requests, elapsed) =
        (agent.used()?, server.requests()?.since(&requests), begun.elapsed().as_secs_f64());
    tell(&format!("{apps} apps at rest for {elapsed:.0} s: the server counts {requests}"));
    let share = 100.0 * (after.processor - before.processor).as_secs_f64() / elapsed;
    let (resident, peak) = (after.resident as f64 / MEBIBYTE, after.peak as f64 / MEBIBYTE);
    let what = format!("at rest, resident ({peak:.0} MiB at the most while filling)");
    table.add(row(&what, "MiB", resident, Bar::Figure(MEMORY_BAR)));
    table.add(row("at rest, of one core", "%", share, Bar::Figure(PROCESSOR_BAR)));
    let what = "at rest, requests to the server, its own to itself included";
    table.add(row(what, "requests/s", requests.all() as f64 / elapsed, Bar::Figure(REQUESTS_BAR)));
    agent.stop()
}

async fn pause(span: Duration) {
    let mut turns = interval(span);
    turns.tick().await;
    turns.tick().await;
}

/// Waits until all apps have converged, and prints the progress now and then. It polls seldom,
/// because an overview of 10,000 apps is long.
async fn filled(agent: &Agent, apps: usize) -> anyhow::Result<()> {
    let every = Duration::from_millis(if apps > 1_000 { 2_000 } else { 250 });
    agent.until_converged(apps, every, PATIENCE).await
}
