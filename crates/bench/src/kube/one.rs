//! One app of 1,000 ConfigMaps of 2 kB, against `kubectl apply --server-side` and `kubectl diff`:
//! all at once, and again with nothing to do.

use std::fs;
use std::time::Duration;

use anyhow::{Context, ensure};
use setpoint_api::question::{OrderKind, OrderRequest};

use super::progress::tell;
use super::server::{Requests, Server};
use super::workload::{Object, config_map, documents};
use crate::agent::inside::{Inside, is_at_rest, runtime};
use crate::agent::lab::{Lab, app};
use crate::agent::process::apply_once;
use crate::agent::program::shipped;
use crate::percentile::percentile;
use crate::stopwatch::{Stopwatch, time};
use crate::table::{Bar, Peer, Row, Table, Unit};

const BYTES: usize = 2_000;
const APP: &str = "maps";
const TIMES_KUBECTL: f64 = 2.0;
const PASS_BAR: f64 = 50.0;
/// The runs on an empty namespace, of which the shortest counts, ours and kubectl's.
const RUNS: usize = 2;
/// The passes in a running agent; the median counts.
const PASSES: usize = 21;
/// The exit code of `setpoint apply --once` if something was changed and everything is as declared.
const CHANGED: i32 = 2;
/// The resources that an agent with nothing to do may request: its objects, and the identity of the
/// cluster.
const ASKED_FOR: [&str; 2] = ["configmaps", "namespaces"];

pub(super) fn apply_and_look(size: usize, table: &mut Table) -> anyhow::Result<()> {
    shipped()?;
    let server = Server::start(false);
    let objects: Vec<Object> = (0..size).map(|number| config_map(format!("map-{number:05}"), BYTES)).collect();
    let kubectl = Kubectl::measure(&server, &objects)?;
    let row = |what: &str, ours: Duration, peer, bar| Row {
        what: format!("one app of {size} ConfigMaps of 2 kB, {what}"),
        unit: Unit::Cost("ms"),
        ours: ours.as_secs_f64() * 1e3,
        peer,
        bar,
    };
    let millis = |name, time: Duration| Peer::Measured { name, figure: time.as_secs_f64() * 1e3 };

    let (lab, first) = converged(&server, &objects)?;
    let peer = millis("kubectl apply --server-side", kubectl.first);
    table.add(row("first convergence, `apply --once`, process and all", first, peer, Bar::TimesPeer(TIMES_KUBECTL)));

    let (pass, requests) = runtime()?.block_on(passes(&lab, &server)).with_context(|| lab.complaints())?;
    tell(&format!("{PASSES} passes with nothing to do: the server counts {requests}"));
    let what = "nothing to do, a pass in a running agent (`sync` to rest)";
    table.add(row(what, pass, Peer::None, Bar::Figure(PASS_BAR)));
    table.add(row(what, pass, millis("kubectl apply --server-side", kubectl.again), Bar::None));
    table.add(row(what, pass, millis("kubectl diff --server-side", kubectl.diff), Bar::None));
    table.add(Row {
        unit: Unit::Cost("requests"),
        ours: requests.on(&ASKED_FOR) as f64,
        ..row(&format!("nothing to do, requests of {PASSES} passes"), pass, Peer::None, Bar::Figure(0.0))
    });
    Ok(())
}

/// The times of kubectl, with the start of its process.
struct Kubectl {
    first: Duration,
    again: Duration,
    diff: Duration,
}

impl Kubectl {
    fn measure(server: &Server, objects: &[Object]) -> anyhow::Result<Self> {
        let folder = tempfile::tempdir()?;
        let file = folder.path().join("objects.yaml");
        fs::write(&file, documents(objects))?;
        let file = file.to_str().context("the folder has a plain name")?;
        let mut first = Duration::MAX;
        let apply = |namespace: &str| {
            let (said, taken) = time(|| server.kubectl(&["apply", "--server-side", "-n", namespace, "-f", file]));
            let lines = said?.lines().count();
            ensure!(lines == objects.len(), "kubectl applied {lines} of {} objects", objects.len());
            Ok(taken)
        };
        for run in 0..RUNS {
            let namespace = format!("kubectl-{run}");
            server.make_namespace(&namespace);
            first = first.min(apply(&namespace)?);
        }
        let again = apply("kubectl-0")?;
        // With a difference it exits with 1, which is an error here.
        let (said, diff) = time(|| server.kubectl(&["diff", "--server-side", "-n", "kubectl-0", "-f", file]));
        said?;
        Ok(Self { first, again, diff })
    }
}

/// Returns the shortest of several first convergences, and the lab of the last.
fn converged(server: &Server, objects: &[Object]) -> anyhow::Result<(Lab, Duration)> {
    let mut best: Option<(Lab, Duration)> = None;
    for run in 0..RUNS {
        let namespace = format!("held-{run}");
        server.make_namespace(&namespace);
        let apps = std::iter::once((APP.to_owned(), objects.to_vec()));
        let lab = Lab::of_cluster(&server.kubeconfig(), &namespace, apps)?;
        let taken = apply_once(&lab, CHANGED)?;
        let shortest = best.as_ref().map_or(taken, |(_, before)| taken.min(*before));
        best = Some((lab, shortest));
    }
    best.context("it runs at least once")
}

async fn passes(lab: &Lab, server: &Server) -> anyhow::Result<(Duration, Requests)> {
    let mut agent = Inside::start(lab).await?;
    agent.until_at_rest().await?;
    let order = OrderRequest {
        app: app(APP)?,
        reason: "a pass is measured".to_owned(),
        order: OrderKind::Sync { allow_prune: 0 },
    };
    let before = server.requests()?;
    let mut times = Vec::new();
    for _ in 0..PASSES {
        let begun = Stopwatch::start();
        agent.client.order(&order).await?;
        agent.until_app(APP, is_at_rest).await?;
        times.push(begun.elapsed().as_secs_f64());
    }
    let requests = server.requests()?.since(&before);
    agent.stop().await?;
    times.sort_by(f64::total_cmp);
    Ok((Duration::from_secs_f64(percentile(&times, 50)), requests))
}
