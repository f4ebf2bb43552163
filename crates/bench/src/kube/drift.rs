//! Drift: another manager edits an object, or deletes it, and `setpoint run` sees it, records it with who did it, puts it right and records
//! that. One object after the other, each of them once.
//!
//! The edit counts from when the server has answered it. Seen and healed are the times in the agent's records, on its own clock, which is
//! compared with ours first; a record tells milliseconds.

use std::time::Duration;

use anyhow::{Context, bail, ensure};
use serde_json::json;
use setpoint_api::answer::DriftRecord;
use setpoint_api::question::DriftQuestion;
use setpoint_core::live::Writer;
use setpoint_target_kube::wire::Request;
use tokio::time::interval;

use super::bare::{Bare, delete, merge};
use super::progress::tell;
use super::server::Server;
use super::workload::{Object, config_map};
use crate::agent::inside::runtime;
use crate::agent::lab::{Lab, app};
use crate::agent::process::Agent;
use crate::agent::program::shipped;
use crate::percentile::percentile;
use crate::stopwatch::{Stopwatch, since_epoch};
use crate::table::{Bar, Peer, Row, Table, Unit};

const PER_APP: usize = 10;
const BYTES: usize = 200;
const HEALED_BAR: f64 = 1_000.0;
const GLANCE: Duration = Duration::from_millis(5);
const PATIENCE: Duration = Duration::from_secs(120);
/// Who edits.
const PAINTER: &str = "painter";
/// Objects that are edited by somebody who uses our own manager's name.
const IMPOSTURES: usize = 20;

pub(super) fn edit_and_heal(objects: usize, table: &mut Table) -> anyhow::Result<()> {
    shipped()?;
    let server = Server::start(false);
    server.make_namespace("held");
    let apps = objects.div_ceil(PER_APP);
    let of = |number| (app_name(number), (0..PER_APP).map(|part| object(number * PER_APP + part)).collect());
    let lab = Lab::of_cluster(&server.kubeconfig(), "held", (0..apps).map(of))?;
    runtime()?.block_on(heal_all(&server, &lab, objects, table)).with_context(|| lab.complaints())
}

fn app_name(number: usize) -> String {
    format!("app-{number:04}")
}

fn object(number: usize) -> Object {
    config_map(format!("map-{number:05}"), BYTES)
}

fn path(number: usize) -> String {
    object(number).path("held")
}

async fn heal_all(server: &Server, lab: &Lab, objects: usize, table: &mut Table) -> anyhow::Result<()> {
    let agent = Agent::start(lab)?;
    agent.until_converged(objects.div_ceil(PER_APP), Duration::from_millis(250), PATIENCE).await?;
    let healing = Healing { ahead: agent.ahead().await?, bare: Bare::new(&server.kubeconfig())?, agent };

    let edit = |manager: &str, number| merge(&path(number), manager, &json!({"data": {"number": "painted"}}));
    let before = server.requests()?;
    let mut edited = healing.all(0..objects, |number| edit(PAINTER, number)).await?;
    tell(&format!("{objects} edits healed: the server counts {}", server.requests()?.since(&before)));
    edited.add(table, "edited by another manager", &["likely", "proven"]);
    let named = edited.writers.iter().filter(|writer| writer.name().contains(PAINTER)).count();
    ensure!(named == objects, "{named} of {objects} edits are told of the one who made them");

    let mut deleted = healing.all(0..objects, |number| Ok(delete(path(number)))).await?;
    deleted.add(table, "deleted", &["unknown", "proven"]);

    let ours = healing.our_manager().await?;
    let mut impostures = healing.all(0..IMPOSTURES.min(objects), |number| edit(&ours, number)).await?;
    impostures.add(table, "edited under our own manager's name", &["likely", "unknown", "proven"]);
    healing.agent.stop()
}

struct Healing {
    agent: Agent,
    bare: Bare,
    /// By how many milliseconds the agent's clock is ahead of ours.
    ahead: f64,
}

/// Milliseconds from each change, and who it is told of.
#[derive(Default)]
struct Healed {
    seen: Vec<f64>,
    healed: Vec<f64>,
    writers: Vec<Writer>,
}

impl Healing {
    async fn all(
        &self,
        numbers: std::ops::Range<usize>,
        change: impl Fn(usize) -> anyhow::Result<Request>,
    ) -> anyhow::Result<Healed> {
        let mut all = Healed::default();
        for number in numbers {
            let last = self.last_drift(number).await?.map(|record| record.seq);
            self.bare.send(change(number)?).await?;
            let changed = since_epoch().as_secs_f64() * 1e3 + self.ahead;
            let record = self.healed(number, last).await?;
            let healed = record.healed.context("it was waited for until it is healed")?;
            all.seen.push(record.seen.as_millis() as f64 - changed);
            all.healed.push(healed.as_millis() as f64 - changed);
            all.writers.push(record.writer);
            let live = self.bare.read(path(number)).await?;
            ensure!(live["data"] == object(number).body["data"], "{} is told to be healed and is not", path(number));
        }
        Ok(all)
    }

    async fn last_drift(&self, number: usize) -> anyhow::Result<Option<DriftRecord>> {
        let question = DriftQuestion { app: Some(app(&app_name(number / PER_APP))?), limit: 1 };
        Ok(self.agent.client.drift(&question).await?.pop())
    }

    /// Waits until the newest drift of the app is a new one of this object, and put right.
    async fn healed(&self, number: usize, last: Option<u64>) -> anyhow::Result<DriftRecord> {
        let (begun, mut glances) = (Stopwatch::start(), interval(GLANCE));
        let name = format!("map-{number:05}");
        loop {
            glances.tick().await;
            let record = self.last_drift(number).await?;
            let record = record.filter(|record| Some(record.seq) != last && record.key.name() == name);
            if let Some(record) = record.filter(|record| record.healed.is_some()) {
                return Ok(record);
            }
            if begun.elapsed() > PATIENCE {
                bail!("{name} was not healed within {} s", PATIENCE.as_secs());
            }
        }
    }

    /// The name under which the agent applies.
    async fn our_manager(&self) -> anyhow::Result<String> {
        let live = self.bare.read(path(0)).await?;
        let managers = live["metadata"]["managedFields"].as_array().context("the server tells managers")?;
        let ours = managers.iter().filter_map(|entry| entry["manager"].as_str());
        ours.into_iter().find(|name| name.starts_with("setpoint")).map(str::to_owned).context("one of them is ours")
    }
}

impl Healed {
    /// Rows for the time until it is seen and healed, and for the share whose writer is told in one of these ways.
    fn add(&mut self, table: &mut Table, what: &str, ways: &[&str]) {
        let count = self.writers.len();
        for (step, millis) in [("seen", &mut self.seen), ("healed and recorded", &mut self.healed)] {
            millis.sort_by(f64::total_cmp);
            let (middle, worst) = (percentile(millis, 50), percentile(millis, 100));
            table.add(Row {
                what: format!("{what}, {step}, p99 of {count} objects (p50 {middle:.0}, worst {worst:.0} ms)"),
                unit: Unit::Cost("ms"),
                ours: percentile(millis, 99),
                peer: Peer::None,
                bar: Bar::Figure(HEALED_BAR),
            });
        }
        let told = self.writers.iter().filter(|writer| ways.contains(&way(writer))).count();
        table.add(Row {
            what: format!("{what}, the writer is {}", ways.join(" or ")),
            unit: Unit::Rate("%"),
            ours: 100.0 * told as f64 / count as f64,
            peer: Peer::None,
            bar: Bar::Figure(100.0),
        });
    }
}

fn way(writer: &Writer) -> &'static str {
    match writer {
        Writer::Proven(_) => "proven",
        Writer::Likely { .. } => "likely",
        Writer::Unknown => "unknown",
    }
}
