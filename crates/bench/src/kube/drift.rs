//! Drift: another manager edits an object, or deletes it, and `setpoint run` detects it, records it
//! with its author, heals it and records that. One object after the other, each once.
//!
//! The time of the edit is that of the server's response. The times of detection and healing are
//! those of the agent's records, on its own clock, which is first compared with ours; records have
//! milliseconds.
//!
//! The second pass edits Deployments while the cluster's own controllers run, which write them
//! right after each edit: a heal that was decided before that is refused, and decided again. The
//! third pass uses a server with an audit log, the fourth one that posts its audit events to the
//! agent. There the author is recorded later, and nothing waits for it: it is requested when all
//! objects are healed.

use std::collections::{BTreeMap, BTreeSet};
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
use super::workload::{Object, config_map, deployment};
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
/// The bar with controllers that write the same objects.
const CONTENDED_BAR: f64 = 100.0;
/// Controllers send 20 requests a second, and all Deployments have to be available first, so this
/// many times fewer are edited.
const FEWER_DEPLOYMENTS: usize = 5;
const GLANCE: Duration = Duration::from_millis(5);
const PATIENCE: Duration = Duration::from_secs(120);
/// The longest wait for the author of a drift: the agent waits two minutes for audit events.
const ATTRIBUTED: Duration = Duration::from_secs(150);
/// The field that an edit changes, for each kind.
const EDITED: [&str; 2] = ["/data", "/spec/template/spec/containers/0/image"];
/// The author of the edits, as a user and as a manager.
const PAINTER: &str = "painter";
/// The agent's text for a likely writer who uses the manager's name of Setpoint.
const NOT_US: &str = "by our name but not by us";

/// A server with audit events, and the `audit` of a Target that receives them.
type Audited = fn() -> (Server, String);

/// The ways in which a server can send audit events.
const AUDITED: [(&str, Audited); 2] =
    [("with an audit log", Server::with_audit_log), ("with an audit webhook", Server::with_audit_webhook)];

pub(super) fn edit_and_heal(objects: usize, table: &mut Table) -> anyhow::Result<()> {
    shipped()?;
    let server = Server::start(false);
    let lab = lab(&server, None, objects, config_map_of)?;
    runtime()?.block_on(heal_all(&server, &lab, objects, table)).with_context(|| lab.complaints())?;
    drop((lab, server));

    let (server, deployments) = (Server::start(true), objects.div_ceil(FEWER_DEPLOYMENTS));
    let lab = self::lab(&server, None, deployments, deployment_of)?;
    let healing = heal_deployments(&server, &lab, deployments, table);
    runtime()?.block_on(healing).with_context(|| lab.complaints())?;
    drop((lab, server));

    for (how, audited) in AUDITED {
        let (server, audit) = audited();
        let lab = self::lab(&server, Some(&audit), objects, config_map_of)?;
        let proving = prove_all(&server, &lab, objects, how, table);
        runtime()?.block_on(proving).with_context(|| lab.complaints())?;
    }
    Ok(())
}

/// The managed object with a number.
type Held = fn(usize) -> Object;

fn lab(server: &Server, audit: Option<&str>, objects: usize, held: Held) -> anyhow::Result<Lab> {
    server.make_namespace("held");
    let apps = objects.div_ceil(PER_APP);
    let of = |number| (app_name(number), (0..PER_APP).map(|part| held(number * PER_APP + part)).collect());
    Lab::of_audited_cluster(&server.kubeconfig(), "held", audit, (0..apps).map(of))
}

fn app_name(number: usize) -> String {
    format!("app-{number:04}")
}

fn config_map_of(number: usize) -> Object {
    config_map(format!("map-{number:05}"), BYTES)
}

fn deployment_of(number: usize) -> Object {
    deployment(format!("web-{number:05}"))
}

fn path(number: usize) -> String {
    config_map_of(number).path("held")
}

fn edit(manager: &str, number: usize) -> anyhow::Result<Request> {
    merge(&path(number), manager, &json!({"data": {"number": "painted"}}))
}

/// Sets another image, so that the controller has a rollout to do.
fn edit_deployment(manager: &str, number: usize) -> anyhow::Result<Request> {
    let containers = json!([{"name": "main", "image": "example.com/painted:1"}]);
    let change = json!({"spec": {"template": {"spec": {"containers": containers}}}});
    merge(&deployment_of(number).path("held"), manager, &change)
}

async fn heal_deployments(server: &Server, lab: &Lab, objects: usize, table: &mut Table) -> anyhow::Result<()> {
    let healing = Healing::start(server, lab, objects, deployment_of).await?;
    let mut edited = healing.all(0..objects, |number| edit_deployment(PAINTER, number)).await?;
    edited.add_times(
        table,
        "with controllers that write it too, a Deployment edited by another manager",
        CONTENDED_BAR,
    );
    healing.agent.stop()
}

async fn heal_all(server: &Server, lab: &Lab, objects: usize, table: &mut Table) -> anyhow::Result<()> {
    let healing = Healing::start(server, lab, objects, config_map_of).await?;
    let before = server.requests()?;
    let mut edited = healing.all(0..objects, |number| edit(PAINTER, number)).await?;
    tell(&format!("{objects} edits healed: the server counts {}", server.requests()?.since(&before)));
    edited.add(
        table,
        "edited by another manager",
        "likely the one who made it",
        |writer| matches!(writer, Writer::Likely { who } if who.starts_with(&format!("{PAINTER} ("))),
    );

    let mut deleted = healing.all(0..objects, |number| Ok(delete(path(number)))).await?;
    deleted.add(table, "deleted", "unknown", |writer| *writer == Writer::Unknown);

    let ours = healing.our_manager().await?;
    let mut impostures = healing.all(0..objects, |number| edit(&ours, number)).await?;
    impostures.add(table, "edited under our own manager's name", "likely another writer", |writer| {
        matches!(writer, Writer::Likely { who } if who.starts_with(&format!("{ours} (")) && who.contains(NOT_US))
    });
    healing.agent.stop()
}

/// With audit events, every author is proven: the user who sent the request, whatever manager's
/// name was in it.
async fn prove_all(server: &Server, lab: &Lab, objects: usize, how: &str, table: &mut Table) -> anyhow::Result<()> {
    let healing = Healing::start(server, lab, objects, config_map_of).await?;
    let edited = healing.all(0..objects, |number| edit(PAINTER, number)).await?;
    healing.proven(edited, &format!("{how}, edited by another manager"), table).await?;
    let deleted = healing.all(0..objects, |number| Ok(delete(path(number)))).await?;
    healing.proven(deleted, &format!("{how}, deleted"), table).await?;
    let ours = healing.our_manager().await?;
    let impostures = healing.all(0..objects, |number| edit(&ours, number)).await?;
    healing.proven(impostures, &format!("{how}, edited under our own manager's name"), table).await?;
    healing.agent.stop()
}

struct Healing {
    agent: Agent,
    bare: Bare,
    held: Held,
    /// The milliseconds by which the agent's clock is ahead of ours.
    ahead: f64,
}

/// The milliseconds since each change, and the recorded author.
#[derive(Default)]
struct Healed {
    seen: Vec<f64>,
    healed: Vec<f64>,
    records: Vec<DriftRecord>,
}

impl Healing {
    async fn start(server: &Server, lab: &Lab, objects: usize, held: Held) -> anyhow::Result<Self> {
        let agent = Agent::start(lab)?;
        agent.until_converged(objects.div_ceil(PER_APP), Duration::from_millis(250), PATIENCE).await?;
        Ok(Self { ahead: agent.ahead().await?, bare: Bare::new(&server.kubeconfig_of(PAINTER))?, held, agent })
    }

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
            all.records.push(record);
            let declared = (self.held)(number);
            let path = declared.path("held");
            let live = self.bare.read(path.clone()).await?;
            let is_healed = |field| live.pointer(field) == declared.body.pointer(field);
            ensure!(EDITED.into_iter().all(is_healed), "{path} is reported as healed and is not");
        }
        Ok(all)
    }

    async fn last_drift(&self, number: usize) -> anyhow::Result<Option<DriftRecord>> {
        let question = DriftQuestion { app: Some(app(&app_name(number / PER_APP))?), limit: 1 };
        Ok(self.agent.client.drift(&question).await?.pop())
    }

    /// Waits until the newest drift of the app is a new one of this object, and healed.
    async fn healed(&self, number: usize, last: Option<u64>) -> anyhow::Result<DriftRecord> {
        let (begun, mut glances) = (Stopwatch::start(), interval(GLANCE));
        let declared = (self.held)(number);
        let name = declared.name();
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

    /// Waits until the authors of all drifts are recorded, and adds the rows of a pass with audit
    /// events.
    async fn proven(&self, mut healed: Healed, what: &str, table: &mut Table) -> anyhow::Result<()> {
        let (begun, mut glances) = (Stopwatch::start(), interval(Duration::from_secs(1)));
        while healed.proofs() < healed.records.len() && begun.elapsed() < ATTRIBUTED {
            glances.tick().await;
            self.ask_again(&mut healed.records).await?;
        }
        tell(&format!("{what}: {} of {} proven", healed.proofs(), healed.records.len()));
        healed.add_proven(table, what);
        Ok(())
    }

    async fn ask_again(&self, records: &mut [DriftRecord]) -> anyhow::Result<()> {
        let apps: BTreeSet<_> = records.iter().map(|record| record.app.clone()).collect();
        let mut now = BTreeMap::new();
        for app in apps {
            let question = DriftQuestion { app: Some(app), limit: PER_APP };
            let told = self.agent.client.drift(&question).await?;
            now.extend(told.into_iter().map(|record| ((record.seq, record.key.clone()), record.writer)));
        }
        for record in records {
            if let Some(writer) = now.remove(&(record.seq, record.key.clone())) {
                record.writer = writer;
            }
        }
        Ok(())
    }

    /// Returns the manager's name under which the agent applies.
    async fn our_manager(&self) -> anyhow::Result<String> {
        let live = self.bare.read(path(0)).await?;
        let managers = live["metadata"]["managedFields"].as_array().context("the server tells managers")?;
        let ours = managers.iter().filter_map(|entry| entry["manager"].as_str());
        ours.into_iter().find(|name| name.starts_with("setpoint")).map(str::to_owned).context("one of them is ours")
    }
}

impl Healed {
    /// Returns the number of drifts with a proven author, each by its own request.
    fn proofs(&self) -> usize {
        let proofs = self.records.iter().filter_map(|record| match &record.writer {
            Writer::Proven(proof) if proof.who == PAINTER && proof.address.is_some() => proof.audit_id.as_ref(),
            _ => None,
        });
        proofs.collect::<BTreeSet<_>>().len()
    }

    fn add_proven(&mut self, table: &mut Table, what: &str) {
        self.add_times(table, what, HEALED_BAR);
        let ours = 100.0 * self.proofs() as f64 / self.records.len() as f64;
        add_share(table, format!("{what}, the writer is proven with user, address and audit id"), ours);
    }

    /// Adds the rows for the times until detection and healing, and for the share of drifts with
    /// the correct author.
    fn add(&mut self, table: &mut Table, what: &str, told: &str, is_told: impl Fn(&Writer) -> bool) {
        self.add_times(table, what, HEALED_BAR);
        let right = self.records.iter().filter(|record| is_told(&record.writer)).count();
        let ours = 100.0 * right as f64 / self.records.len() as f64;
        if let Some(other) = self.records.iter().find(|record| !is_told(&record.writer)) {
            tell(&format!("{what}: for {} another writer is recorded: {:?}", other.key.name(), other.writer));
        }
        add_share(table, format!("{what}, the writer is {told}"), ours);
    }

    fn add_times(&mut self, table: &mut Table, what: &str, bar: f64) {
        let count = self.records.len();
        for (step, millis) in [("detected", &mut self.seen), ("healed and recorded", &mut self.healed)] {
            millis.sort_by(f64::total_cmp);
            let (middle, worst) = (percentile(millis, 50), percentile(millis, 100));
            table.add(Row {
                what: format!("{what}, {step}, p99 of {count} objects (p50 {middle:.0}, worst {worst:.0} ms)"),
                unit: Unit::Cost("ms"),
                ours: percentile(millis, 99),
                peer: Peer::None,
                bar: Bar::Figure(bar),
            });
        }
    }
}

fn add_share(table: &mut Table, what: String, ours: f64) {
    table.add(Row { what, unit: Unit::Rate("%"), ours, peer: Peer::None, bar: Bar::Figure(100.0) });
}
