//! Flux's own benchmark: 1,000 apps of a ServiceAccount, a Service, a Deployment without pods and
//! an Ingress. Measures the first sync, and an upgrade that changes every Deployment, until all
//! objects are applied and recorded. It runs without controllers, so that only our time and the
//! server's counts; and once more with them, until all objects are healthy.

use std::time::Duration;

use anyhow::{Context, ensure};
use serde_json::json;
use setpoint_core::name::VersionId;
use setpoint_core::time::Timestamp;
use setpoint_target_kube::wire::Request;

use super::bare::{Bare, apply, get, merge};
use super::progress::tell;
use super::records::Records;
use super::server::{Requests, Server};
use super::workload::{Object, documents, flux};
use crate::agent::inside::runtime;
use crate::agent::lab::{Lab, write};
use crate::agent::process::Agent;
use crate::agent::program::shipped;
use crate::stopwatch::{Stopwatch, wall};
use crate::table::{Bar, Peer, Row, Table, Unit};

const RESOURCES: [&str; 4] = ["serviceaccounts", "services", "deployments", "ingresses"];
/// At most 1.3 times as long as the bare client.
const TIMES_BARE: f64 = 0.77;
const SECONDS_BAR: f64 = 30.0;
const MEMORY_BAR: f64 = 150.0;
const MEBIBYTE: f64 = 1024.0 * 1024.0;
/// The apps that are created before the measurement, so that the server has done everything once.
const WARMING: usize = 20;
const PATIENCE: Duration = Duration::from_secs(900);

pub(super) fn install_and_upgrade(apps: usize, table: &mut Table) -> anyhow::Result<()> {
    // The build is not part of the start.
    shipped()?;
    runtime()?.block_on(without_controllers(apps, table))
}

pub(super) fn install_to_healthy(apps: usize, table: &mut Table) -> anyhow::Result<()> {
    shipped()?;
    runtime()?.block_on(to_healthy(apps, table))
}

fn objects(apps: usize, millicores: usize) -> Vec<Object> {
    (0..apps).flat_map(|number| flux(number, millicores)).collect()
}

fn lab(server: &Server, apps: usize) -> anyhow::Result<Lab> {
    let of = |number| (format!("podinfo-{number:05}"), flux(number, 1).to_vec());
    Lab::of_cluster(&server.kubeconfig(), "held", (0..apps).map(of))
}

/// Commits a version that changes every Deployment.
fn upgrade(lab: &Lab, apps: usize) -> anyhow::Result<VersionId> {
    let change = |number| write(&format!("apps/podinfo-{number:05}/objects.yaml"), documents(&flux(number, 2)));
    lab.commit(&(0..apps).map(change).collect::<anyhow::Result<Vec<_>>>()?)
}

async fn without_controllers(apps: usize, table: &mut Table) -> anyhow::Result<()> {
    let server = Server::start(false);
    for namespace in ["warm", "bare", "bare-reading", "held"] {
        server.make_namespace(namespace);
    }
    let bare = Bare::new(&server.kubeconfig())?;
    bare.send_all(applies(&objects(WARMING, 1), "warm", 0)?).await?;
    let rows = Rows { apps };
    let lab = lab(&server, apps)?;

    let (before, begun) = (server.requests()?, wall());
    let agent = Agent::start(&lab)?;
    let mut records = Records::default();
    let recorded = records.until(&agent, apps * 4, PATIENCE).await.with_context(|| lab.complaints())?;
    let requests = server.requests()?.since(&before);
    let taken = BareTaken::of(&bare, &objects(apps, 1), &requests).await?;
    rows.add(table, "first sync, `setpoint run` from its start", seconds(begun, recorded), &taken);
    let dry = requests.dry();

    let deployments: Vec<Object> = objects(apps, 2).into_iter().filter(|object| object.is("deployments")).collect();
    let (before, used) = (server.requests()?, agent.used()?.processor);
    let begun = upgraded_when_seen(&agent, &lab, apps).await?;
    let recorded = records.until(&agent, apps * 5, PATIENCE).await.with_context(|| lab.complaints())?;
    let used = agent.used()?.processor.saturating_sub(used).as_secs_f64();
    let requests = server.requests()?.since(&before);
    let taken = BareTaken::of(&bare, &deployments, &requests).await?;
    rows.add(table, "every Deployment upgraded, from the store's answer", seconds(begun, recorded), &taken);
    table.add(rows.row("the agent's processor time for it", Unit::Cost("s"), used, Peer::None, Bar::None));

    let dry = dry + requests.dry();
    table.add(rows.row("both: dry-runs", Unit::Cost("requests"), dry as f64, Peer::None, Bar::Figure(0.0)));
    let peak = agent.used()?.peak as f64 / MEBIBYTE;
    table.add(rows.row("both: resident at the most", Unit::Cost("MiB"), peak, Peer::None, Bar::Figure(MEMORY_BAR)));
    agent.stop()
}

/// Commits the upgrade and waits until the agent knows the version; returns the time of the store's
/// response. The wait for the poll is not measured.
async fn upgraded_when_seen(agent: &Agent, lab: &Lab, apps: usize) -> anyhow::Result<Timestamp> {
    let version = upgrade(lab, apps)?;
    let look = async |client: &setpoint_api::Client| {
        let stores = client.overview().await.ok()?.stores;
        stores.iter().find(|store| store.head.as_ref() == Some(&version)).and_then(|store| store.answered)
    };
    // The store is polled every second: this interval is short enough to observe the poll that
    // brought the version, not a later one.
    agent.until("the agent sees the version", Duration::from_millis(100), PATIENCE, look).await
}

/// The time of the bare client for the requests that the agent sent.
struct BareTaken {
    applies: u64,
    reads: u64,
    applying: Duration,
    /// With as many reads of each object before its apply.
    same: Duration,
}

impl BareTaken {
    async fn of(bare: &Bare, objects: &[Object], requests: &Requests) -> anyhow::Result<Self> {
        let (applies, reads) = (requests.of("APPLY", &RESOURCES), requests.of("GET", &RESOURCES));
        let each = usize::try_from(reads)? / objects.len();
        let applying = bare.send_all(self::applies(objects, "bare", 0)?).await?;
        let same = bare.send_all(self::applies(objects, "bare-reading", each)?).await?;
        tell(&format!(
            "the server counts {requests}; the bare client, {} objects: applies alone {applying:.1?}, each after {each} reads {same:.1?}; \
             12 in flight at first, one more for each round of quick answers, at most 102",
            objects.len()
        ));
        Ok(Self { applies, reads, applying, same })
    }
}

/// Builds an apply of each object, after this many reads of each.
fn applies(objects: &[Object], namespace: &str, reads: usize) -> anyhow::Result<Vec<Request>> {
    let mut requests = Vec::with_capacity(objects.len() * (reads + 1));
    for object in objects {
        requests.extend((0..reads).map(|_| get(object.path(namespace))));
        requests.push(apply(object, namespace)?);
    }
    Ok(requests)
}

struct Rows {
    apps: usize,
}

impl Rows {
    fn row(&self, what: &str, unit: Unit, ours: f64, peer: Peer, bar: Bar) -> Row {
        Row { what: format!("Flux's workload, {} apps × 4 objects, {what}", self.apps), unit, ours, peer, bar }
    }

    /// Compares our time with the bare client that sends the same requests, with the one that only
    /// applies, and with the bar in seconds.
    fn add(&self, table: &mut Table, what: &str, ours: f64, taken: &BareTaken) {
        let what = format!("{what} ({} applies, {} reads)", taken.applies, taken.reads);
        let row = |peer, bar| self.row(&what, Unit::Cost("s"), ours, peer, bar);
        let peer = |name, time: Duration| Peer::Measured { name, figure: time.as_secs_f64() };
        table.add(row(peer("bare client, the same requests", taken.same), Bar::TimesPeer(TIMES_BARE)));
        table.add(row(peer("bare client, the applies alone", taken.applying), Bar::None));
        table.add(row(Peer::None, Bar::Figure(SECONDS_BAR)));
    }
}

fn seconds(from: Timestamp, to: Timestamp) -> f64 {
    to.since(from).as_millis() as f64 / 1e3
}

/// Measures with kube-controller-manager, until every app has converged. No controller here assigns
/// addresses to Ingresses, so this function does so once all exist.
async fn to_healthy(apps: usize, table: &mut Table) -> anyhow::Result<()> {
    let server = Server::start(true);
    server.make_namespace("held");
    let lab = lab(&server, apps)?;
    let (begun, begun_at) = (Stopwatch::start(), wall());
    let agent = Agent::start(&lab)?;
    let recorded = Records::default().until(&agent, apps * 4, PATIENCE).await.with_context(|| lab.complaints())?;
    let applied = seconds(begun_at, recorded);
    let bare = Bare::new(&server.kubeconfig())?;
    let address = json!({"status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}}});
    let ingresses = objects(apps, 1).into_iter().filter(|object| object.is("ingresses"));
    let requests = ingresses.map(|ingress| merge(&format!("{}/status", ingress.path("held")), "bench", &address));
    bare.send_all(requests.collect::<anyhow::Result<Vec<_>>>()?).await?;
    agent.until_converged(apps, Duration::from_millis(250), PATIENCE).await.with_context(|| lab.complaints())?;
    let taken = begun.elapsed().as_secs_f64();
    ensure!(taken > applied, "what is healthy was applied before");
    let what = format!("first sync to healthy, with controllers running (all applied after {applied:.1} s)");
    table.add(Rows { apps }.row(&what, Unit::Cost("s"), taken, Peer::None, Bar::None));
    agent.stop()
}
