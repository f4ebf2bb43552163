//! A restart: an agent that held 1,000 apps is started again on its data directory. It is ready
//! when every app is known to be as declared.

use std::time::Duration;

use anyhow::Context;

use super::progress::tell;
use super::rest::fleet;
use super::server::Server;
use crate::agent::inside::runtime;
use crate::agent::process::Agent;
use crate::agent::program::shipped;
use crate::stopwatch::Stopwatch;
use crate::table::{Bar, Peer, Row, Table, Unit};

const SERVING_BAR: f64 = 5.0;
const GLANCE: Duration = Duration::from_millis(50);
const PATIENCE: Duration = Duration::from_secs(900);
/// The resources that could be written: the objects of the apps.
pub(super) const RESOURCES: [&str; 3] = ["configmaps", "serviceaccounts", "services"];

pub(super) fn start_again(apps: usize, table: &mut Table) -> anyhow::Result<()> {
    shipped()?;
    runtime()?.block_on(restarted(apps, table))
}

async fn restarted(apps: usize, table: &mut Table) -> anyhow::Result<()> {
    let server = Server::start(false);
    let lab = fleet(&server, apps)?;
    let agent = Agent::start(&lab)?;
    agent.until_converged(apps, Duration::from_millis(250), PATIENCE).await.with_context(|| lab.complaints())?;
    agent.stop()?;

    let (before, begun) = (server.requests()?, Stopwatch::start());
    let agent = Agent::start(&lab)?;
    let answers = async |client: &setpoint_api::Client| client.overview().await.ok().map(drop);
    agent.until("the agent answers", GLANCE, PATIENCE, answers).await?;
    let answering = begun.elapsed().as_secs_f64();
    agent.until_converged(apps, GLANCE, PATIENCE).await.with_context(|| lab.complaints())?;
    let serving = begun.elapsed().as_secs_f64();
    let requests = server.requests()?.since(&before);
    agent.stop()?;

    tell(&format!(
        "a restart with {apps} apps: the server counts {requests}, of which {} on objects",
        requests.on(&RESOURCES)
    ));
    let row = |what: &str, unit, ours, bar| Row {
        what: format!("{apps} apps × 10 objects, started again, {what}"),
        unit: Unit::Cost(unit),
        ours,
        peer: Peer::None,
        bar: Bar::Figure(bar),
    };
    let what = format!("until every app is known to be as declared (its socket answers after {answering:.1} s)");
    table.add(row(&what, "s", serving, SERVING_BAR));
    table.add(row("writes", "requests", requests.writes() as f64, 0.0));
    Ok(())
}
