//! Pages, searches and the change feed of growing fleets, and the memory of a reader. The apps have
//! one object each. Each fleet has a process of its own, with the agent inside: memory that one fleet
//! leaves behind would hide that of the next.

use std::fmt::Write;
use std::fs;
use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use futures_util::StreamExt;
use setpoint_api::agent::Parts;
use setpoint_api::answer::{AppsPage, Change as FeedChange, FeedEvent};
use setpoint_api::question::{AppsOrder, AppsQuestion, OrderKind, OrderRequest};
use setpoint_api::{Agent, Caller};
use setpoint_core::name::{Actor, VersionId};
use setpoint_core::time::Span;
use setpoint_store_git::Change;
use setpoint_testbed::kube::free_ports;
use tokio::time::timeout;

use super::web;
use crate::agent::inside::{Inside, runtime};
use crate::agent::lab::{Lab, app, control, write as document};
use crate::agent::program::{output_of, program};
use crate::percentile::percentile;
use crate::stopwatch::Stopwatch;
use crate::table::{Bar, Peer, Row, Table, Unit};

const FLEETS: [usize; 4] = [100, 1_000, 10_000, 50_000];
/// Requests of each kind.
pub(super) const REQUESTS: usize = 50;
/// Orders whose events are awaited.
const ORDERS: usize = 20;
/// Documents in one file.
const TOGETHER: usize = 500;
/// Milliseconds.
const PAGE_BAR: f64 = 50.0;
const SEARCH_BAR: f64 = 100.0;
/// Kilobytes.
const SIZE_BAR: f64 = 100.0;
const PATIENCE: Duration = Duration::from_secs(60);

pub(super) fn read_fleets(largest: usize, table: &mut Table) -> anyhow::Result<()> {
    ensure!(largest >= FLEETS[0], "the smallest fleet has {} apps", FLEETS[0]);
    for apps in FLEETS.into_iter().filter(|apps| *apps <= largest) {
        let mut alone = program(std::env::current_exe().context("this program is not to be found")?);
        alone.args(["server", "rows", &apps.to_string()]);
        let output = output_of(alone)?;
        let text = String::from_utf8_lossy(&output.stdout);
        ensure!(output.status.success(), "with {apps} apps: {text}");
        for (what, unit, ours, bar) in serde_json::from_str::<Vec<Figure>>(&text)? {
            let unit = UNITS.into_iter().find(|known| *known == unit).context("a unit of this suite")?;
            table.add(row(apps, &what, unit, ours, bar.map_or(Bar::None, Bar::Figure)));
        }
    }
    Ok(())
}

/// A row on its way between two processes: the subject, the unit, our figure, and its bar.
type Figure = (String, String, f64, Option<f64>);

/// The units of the suite.
const UNITS: [&str; 5] = ["s", "ms", "kB", "MB", "polls"];

/// Measures one fleet in this process. Returns its rows as JSON.
pub fn rows_of(apps: usize) -> anyhow::Result<String> {
    let mut figures = Vec::new();
    runtime()?.block_on(read(apps, &mut figures))?;
    Ok(serde_json::to_string(&figures)?)
}

fn name(number: usize) -> String {
    format!("app-{number:05}")
}

/// Creates a lab with this many apps. Every tenth is in production.
fn lab(apps: usize) -> anyhow::Result<(Lab, VersionId)> {
    let lab = Lab::new()?;
    let mut changes: Vec<Change> = vec![control("machine", "Target", "{ kind: memory }")?];
    let numbers: Vec<usize> = (0..apps).collect();
    for (file, numbers) in numbers.chunks(TOGETHER).enumerate() {
        let mut documents = String::new();
        for number in numbers {
            let (name, component) = (name(*number), number % 50);
            let environment = if number % 10 == 0 { "production" } else { "staging" };
            write!(
                documents,
                "---\napiVersion: setpoint.dev/v1\nkind: App\nmetadata: {{ name: {name} }}\nspec:\n  component: component-{component}\n  environment: {environment}\n  inputs: [{{ name: main, store: bootstrap, path: apps/{name} }}]\n  target: machine\n"
            )?;
            let object =
                format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{ name: {name} }}\ndata: {{ level: info }}\n");
            changes.push(document(&format!("apps/{name}/object.yaml"), object)?);
        }
        changes.push(document(&format!("setpoint/apps-{file}.yaml"), documents)?);
    }
    let head = lab.commit(&changes)?;
    Ok((lab, head))
}

async fn read(apps: usize, figures: &mut Vec<Figure>) -> anyhow::Result<()> {
    let (lab, head) = lab(apps)?;
    let [port] = free_ports();
    let address = SocketAddr::from(([127, 0, 0, 1], port));
    lab.serve(&web::settings(&lab, address)?)?;
    let before = resident()?;
    let begun = Stopwatch::start();
    let agent = Inside::start(&lab).await?;
    agent.until_converged(apps + 1).await?;
    let mut add = |what: &str, unit: &str, ours, bar| figures.push((what.to_owned(), unit.to_owned(), ours, bar));
    add("first convergence", "s", begun.elapsed().as_secs_f64(), None);
    let at_rest = resident()?;
    add("memory per app without a reader", "kB", per_app(before, at_rest, apps), None);

    let caller = Caller::local(Actor::new("bench")?);
    let begun = Stopwatch::start();
    let page = agent.api().apps(&caller, AppsQuestion::default()).await?;
    add("the first request, which reads all apps", "ms", milliseconds(&begun), None);
    ensure!(page.total == apps + 1, "{} apps are listed", page.total);
    let with_reader = resident()?;
    add("memory per app that a reader adds", "kB", per_app(at_rest, with_reader, apps), None);
    let size = serde_json::to_vec(&page)?.len() as f64 / 1e3;
    add("the first page, size of its JSON", "kB", size, Some(SIZE_BAR));

    let sorted = AppsQuestion { sort: AppsOrder::Worst, ..AppsQuestion::default() };
    let filtered = AppsQuestion {
        environment: Some("production".to_owned()),
        component: Some("component-20".to_owned()),
        ..AppsQuestion::default()
    };
    let search = AppsQuestion { q: Some("STAGING 77".to_owned()), ..AppsQuestion::default() };
    for (what, question, bar) in [
        ("the first page, the worst first", sorted, PAGE_BAR),
        ("a page with filters", filtered, PAGE_BAR),
        ("a search for two words", search, SEARCH_BAR),
    ] {
        let (half, most) = time_pages(agent.api().as_ref(), &caller, &question).await?;
        add(&format!("{what}, p50"), "ms", half, None);
        add(&format!("{what}, p99 of {REQUESTS}"), "ms", most, Some(bar));
    }
    let (half, most) = time_events(&agent, &caller, apps).await?;
    add("an order is recorded → its event, p50", "ms", half, None);
    add(&format!("an order is recorded → its event, worst of {ORDERS}"), "ms", most, None);
    web::measure(&agent, &lab, address, head.as_str(), &mut add).await?;
    agent.stop().await
}

/// Returns the median and the 99th percentile of the times that a page takes, in milliseconds.
async fn time_pages(agent: &dyn Agent, caller: &Caller, question: &AppsQuestion) -> anyhow::Result<(f64, f64)> {
    let mut times = Vec::new();
    for _ in 0..REQUESTS {
        let begun = Stopwatch::start();
        let page: AppsPage = agent.apps(caller, question.clone()).await?;
        times.push(milliseconds(&begun));
        ensure!(page.total > 0, "the page is empty");
    }
    times.sort_by(f64::total_cmp);
    Ok((percentile(&times, 50), percentile(&times, 99)))
}

/// Returns the median and the longest time from the response to an order until the feed reports the
/// app, in milliseconds.
async fn time_events(agent: &Inside, caller: &Caller, apps: usize) -> anyhow::Result<(f64, f64)> {
    let mut events = agent.api().events(caller, None).await?;
    let first = timeout(PATIENCE, events.next()).await?.context("the feed has ended")?;
    ensure!(first.change == FeedChange::Reload, "the feed began with {first:?}");
    let mut times = Vec::new();
    for number in 0..ORDERS {
        let app = app(&name(number * (apps / ORDERS)))?;
        let order = OrderKind::Suspend { length: Span::hours(1) };
        let request = OrderRequest { app: app.clone(), reason: "a measurement".to_owned(), order };
        agent.api().order(caller, request).await?;
        let begun = Stopwatch::start();
        timeout(PATIENCE, until_change(&mut events, &FeedChange::App { app })).await??;
        times.push(milliseconds(&begun));
    }
    times.sort_by(f64::total_cmp);
    Ok((percentile(&times, 50), percentile(&times, 100)))
}

async fn until_change(events: &mut Parts<FeedEvent>, wanted: &FeedChange) -> anyhow::Result<()> {
    while let Some(event) = events.next().await {
        if event.change == *wanted {
            return Ok(());
        }
    }
    bail!("the feed has ended")
}

pub(super) fn milliseconds(begun: &Stopwatch) -> f64 {
    begun.elapsed().as_secs_f64() * 1e3
}

/// Returns the resident memory of this process, in kilobytes.
pub(super) fn resident() -> anyhow::Result<f64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let size = status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.trim().strip_suffix(" kB")?.parse().ok());
    size.context("the kernel reports memory in another form than expected")
}

fn per_app(before: f64, after: f64, apps: usize) -> f64 {
    (after - before) * 1.024 / apps as f64
}

fn row(apps: usize, what: &str, unit: &'static str, ours: f64, bar: Bar) -> Row {
    Row { what: format!("{apps} apps, {what}"), unit: Unit::Cost(unit), ours, peer: Peer::None, bar }
}
