//! The server over HTTP with the fleet: pages, streams that are open, and a storm of webhooks.

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, ensure};
use futures_util::future::{join, try_join_all};
use setpoint_testbed::node::{Node, chromium};
use tokio::time::{MissedTickBehavior, interval};

use super::connection::Connection;
use super::fleet::{REQUESTS, milliseconds, resident};
use crate::agent::inside::Inside;
use crate::agent::lab::Lab;
use crate::agent::program::output_of;
use crate::percentile::percentile;
use crate::stopwatch::Stopwatch;

const PASSWORD: &str = "four hundred quiet turtles";
/// The secret of the webhook.
const SECRET: &str = "the secret of this measurement";

/// One account may have 32 streams.
const STREAMS: usize = 200;
const STREAMS_OF_ONE: usize = 25;

/// Webhooks of one repository, and the seconds in which they arrive.
const WEBHOOKS: usize = 10_000;
const SECONDS: usize = 10;
/// The connections that send them.
const SENDERS: usize = 8;

/// Milliseconds.
const PAGE_BAR: f64 = 100.0;
const PAINT_BAR: f64 = 500.0;
const STORM_BAR: f64 = 300.0;
/// Kilobytes.
const SIZE_BAR: f64 = 100.0;
/// Megabytes.
const STREAMS_BAR: f64 = 50.0;
const POLLS_BAR: f64 = 2.0;

/// Adds a row: the subject, its unit, the figure, and its bar.
type Add<'a> = dyn FnMut(&str, &str, f64, Option<f64>) + 'a;

/// Returns the fields of the server in the bootstrap document.
pub(super) fn settings(lab: &Lab, address: SocketAddr) -> anyhow::Result<String> {
    let secret = lab.folder().join("webhook.secret");
    std::fs::write(&secret, SECRET)?;
    let webhook = format!("{{ name: storm, from: gitlab, secretFile: {} }}", secret.display());
    Ok(format!("{{ listen: '{address}', webhooks: [{webhook}] }}"))
}

pub(super) async fn measure(
    agent: &Inside,
    lab: &Lab,
    address: SocketAddr,
    head: &str,
    add: &mut Add<'_>,
) -> anyhow::Result<()> {
    let cookie = sign_in(agent, address).await?;
    let mut connection = Connection::open(address, &cookie).await?;
    for (what, path) in [("the page of apps", "/apps"), ("the page of apps with a search", "/apps?q=staging+77")] {
        let (half, most, size) = time_page(&mut connection, path).await?;
        add(&format!("{what} over HTTP, p50"), "ms", half, None);
        add(&format!("{what} over HTTP, p99 of {REQUESTS}"), "ms", most, Some(PAGE_BAR));
        add(&format!("{what} over HTTP, size"), "kB", size, Some(SIZE_BAR));
    }
    let paint = paint(lab, address, &cookie).await?;
    add("the page of apps, first contentful paint in Chromium, median of 5", "ms", paint, Some(PAINT_BAR));
    // The server closes a connection that was idle meanwhile.
    let mut connection = Connection::open(address, &cookie).await?;
    let streams = streams(&mut connection, address).await?;
    add(&format!("memory of {STREAMS} open streams"), "MB", streams, Some(STREAMS_BAR));
    let (polls, most) = storm(lab, address, &cookie, head).await?;
    let what = format!("{WEBHOOKS} webhooks in {SECONDS} s");
    add(&format!("{what}, polls of the store"), "polls", polls, Some(POLLS_BAR));
    add(&format!("{what}, p99 of an API page meanwhile"), "ms", most, Some(STORM_BAR));
    Ok(())
}

/// Creates the first account. Returns the cookie of its session.
async fn sign_in(agent: &Inside, address: SocketAddr) -> anyhow::Result<String> {
    let link = agent.set_up_link().context("the agent offers no set-up link")?;
    let (_, token) = link.split_once("token=").context("the link has a token")?;
    let mut connection = Connection::open(address, "").await?;
    let password = PASSWORD.replace(' ', "+");
    let form = format!("token={token}&account=bench&password={password}&again={password}");
    connection.post("/set-up", &form).await?;
    Ok(connection.cookie)
}

/// Returns the median, the 99th percentile and the size of a page.
async fn time_page(connection: &mut Connection, path: &str) -> anyhow::Result<(f64, f64, f64)> {
    let (mut times, mut size) = (Vec::new(), 0.0);
    for _ in 0..REQUESTS {
        let begun = Stopwatch::start();
        let page = connection.get(path).await?;
        times.push(milliseconds(&begun));
        ensure!(page.status == 200, "{path} answered {}", page.status);
        size = page.body.len() as f64 / 1e3;
    }
    times.sort_by(f64::total_cmp);
    Ok((percentile(&times, 50), percentile(&times, 99), size))
}

/// Opens the page in a browser, and returns the median time until it shows something.
async fn paint(lab: &Lab, address: SocketAddr, cookie: &str) -> anyhow::Result<f64> {
    let node = Node::find().map_err(anyhow::Error::msg)?;
    let chromium = chromium().map_err(anyhow::Error::msg)?;
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/server/paint.mjs");
    let mut command = node.script(&script, lab.folder());
    command.env("CHROMIUM", chromium).env("ADDRESS", format!("http://{address}/apps")).env("COOKIE", cookie);
    let output = tokio::task::block_in_place(|| output_of(command))?;
    let text = String::from_utf8_lossy(&output.stdout);
    ensure!(output.status.success(), "the browser failed: {text}{}", String::from_utf8_lossy(&output.stderr));
    text.trim().parse().with_context(|| format!("`{text}` is not a time"))
}

/// Returns the memory that open streams of several accounts add, in megabytes.
async fn streams(connection: &mut Connection, address: SocketAddr) -> anyhow::Result<f64> {
    let page = connection.get("/access").await?;
    let page = String::from_utf8_lossy(&page.body).into_owned();
    let csrf = page.split("name=\"csrf\" value=\"").nth(1).and_then(|rest| rest.split('"').next());
    let csrf = csrf.context("the page has a form")?.to_owned();
    let password = PASSWORD.replace(' ', "+");
    let mut cookies = Vec::new();
    for number in 0..STREAMS / STREAMS_OF_ONE {
        let form = format!("csrf={csrf}&action=create&name=reader-{number}&password={password}&administrator=on");
        connection.post("/access/accounts", &form).await?;
        let mut reader = Connection::open(address, "").await?;
        reader.post("/sign-in", &format!("account=reader-{number}&password={password}")).await?;
        cookies.push(reader.cookie);
    }
    let before = resident()?;
    let mut open = Vec::new();
    for cookie in cookies.iter().flat_map(|cookie| vec![cookie; STREAMS_OF_ONE]) {
        open.push(Connection::open(address, cookie).await?.stream("/api/v1/events").await?);
    }
    let after = resident()?;
    ensure!(open.len() == STREAMS, "{} streams are open", open.len());
    Ok((after - before) * 1.024 / 1e3)
}

/// Sends many webhooks of one push. Returns the polls that they cause, and the 99th percentile of
/// the times of an API page meanwhile.
async fn storm(lab: &Lab, address: SocketAddr, cookie: &str, head: &str) -> anyhow::Result<(f64, f64)> {
    let before = polls(address, cookie).await?;
    let repository = lab.folder().join("state.git");
    let body = format!(
        r#"{{"ref":"refs/heads/main","after":"{head}","project":{{"git_http_url":"{}"}}}}"#,
        repository.display()
    );
    let senders = (0..SENDERS).map(|_| send(address, &body));
    let (sent, times) = join(try_join_all(senders), read_meanwhile(address, cookie)).await;
    sent?;
    let mut times = times?;
    times.sort_by(f64::total_cmp);
    let after = polls(address, cookie).await?;
    Ok((after - before, percentile(&times, 99)))
}

/// Sends the share of one connection, evenly over the time.
async fn send(address: SocketAddr, body: &str) -> anyhow::Result<()> {
    let mut connection = Connection::open(address, "").await?;
    let mut turns = interval(Duration::from_micros((SECONDS * 1_000_000 * SENDERS / WEBHOOKS) as u64));
    turns.set_missed_tick_behavior(MissedTickBehavior::Burst);
    let headers =
        format!("content-type: application/json\r\nx-gitlab-token: {SECRET}\r\nx-gitlab-event: Push Hook\r\n");
    for _ in 0..WEBHOOKS / SENDERS {
        turns.tick().await;
        let answer = connection.send("POST", "/webhooks/storm", &headers, body).await?;
        ensure!(answer.status == 202, "a webhook was answered with {}", answer.status);
    }
    Ok(())
}

/// Returns the times of requests for a page of the API during the storm.
async fn read_meanwhile(address: SocketAddr, cookie: &str) -> anyhow::Result<Vec<f64>> {
    let mut connection = Connection::open(address, cookie).await?;
    let mut turns = interval(Duration::from_millis(100));
    let mut times = Vec::new();
    for _ in 0..SECONDS * 10 {
        turns.tick().await;
        let begun = Stopwatch::start();
        let page = connection.get("/api/v1/apps?sort=worst").await?;
        times.push(milliseconds(&begun));
        ensure!(page.status == 200, "the API answered {}", page.status);
    }
    Ok(times)
}

/// Returns the number of polls since the start.
async fn polls(address: SocketAddr, cookie: &str) -> anyhow::Result<f64> {
    let metrics = Connection::open(address, cookie).await?.get("/metrics").await?;
    let text = String::from_utf8_lossy(&metrics.body).into_owned();
    let of_polls = text.lines().filter(|line| line.starts_with("setpoint_store_polls_total{"));
    let counts = of_polls.filter_map(|line| line.rsplit(' ').next()).map(str::parse::<f64>);
    Ok(counts.collect::<Result<Vec<_>, _>>()?.into_iter().sum())
}
