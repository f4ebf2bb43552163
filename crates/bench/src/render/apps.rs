//! 1,000 apps that overlay one base, in an agent: the time until all are accepted, and the renders
//! after commits to one overlay and to the base. The apps only observe, so that nothing but
//! reading, rendering, deciding and recording is measured.

use std::time::Duration;

use anyhow::{Context, ensure};
use setpoint_core::name::VersionId;
use setpoint_store_git::Change;
use tokio::time::timeout;

use super::clock::process;
use crate::agent::inside::{Inside, is_at, runtime};
use crate::agent::lab::{Lab, app_document_held, write};
use crate::stopwatch::Stopwatch;
use crate::table::{Bar, Peer, Row, Table, Unit};

const APPS: usize = 1_000;
const FILES: usize = 5;
/// The app that is changed: the one in the middle.
const TOUCHED: usize = APPS / 2;
/// Milliseconds until all are accepted.
const BAR: f64 = 2_000.0;
/// Busy cores, of two: one thread reads commits and records acceptances.
const BUSY: f64 = 1.5;
const PATIENCE: Duration = Duration::from_secs(300);

pub(super) fn render(table: &mut Table) -> anyhow::Result<()> {
    let lab = Lab::of_files()?;
    let mut changes = base("first")?;
    for number in 0..APPS {
        changes.push(app_document_held(&name(number), "observe")?);
        changes.push(overlay(number, "first")?);
    }
    let version = lab.commit(&changes)?;
    runtime()?.block_on(measure(&lab, &version, table))
}

async fn measure(lab: &Lab, first: &VersionId, table: &mut Table) -> anyhow::Result<()> {
    let begun = Stopwatch::start();
    let mut agent = Inside::start(lab).await?;
    accepted(&mut agent, 0, first).await?;
    table.add(row("an agent's start → all accepted", "ms", milliseconds(&begun), Bar::Figure(BAR)));

    let (before, begun) = (agent.renders(), Stopwatch::start());
    let version = lab.commit(&[overlay(TOUCHED, "second")?])?;
    agent.hint().await?;
    agent.until_app(&name(TOUCHED), |status| is_at(status, &version)).await?;
    table.add(row("a commit to one overlay → accepted", "ms", milliseconds(&begun), Bar::None));
    agent.until_quiet().await?;
    let renders = agent.renders() - before;
    ensure!(renders > 0, "the touched overlay was not rendered");
    table.add(row("a commit to one overlay, apps rendered", "renders", renders as f64, Bar::Figure(1.0)));

    let (before, begun, busy) = (agent.renders(), Stopwatch::start(), process());
    let version = lab.commit(&base("second")?)?;
    agent.hint().await?;
    accepted(&mut agent, before, &version).await?;
    let (took, busy) = (milliseconds(&begun), (process() - busy).as_secs_f64() * 1e3);
    table.add(row("a commit to the base → all accepted", "ms", took, Bar::Figure(BAR)));
    let cores = row("a commit to the base, cores that are kept busy", "cores", busy / took, Bar::Figure(BUSY));
    table.add(Row { unit: Unit::Rate("cores"), ..cores });
    let renders = (agent.renders() - before) as f64;
    table.add(row("a commit to the base, apps rendered", "renders", renders, Bar::Figure(APPS as f64)));
    agent.stop().await
}

/// Waits until every app was rendered since, and accepted at a version.
async fn accepted(agent: &mut Inside, before: u64, version: &VersionId) -> anyhow::Result<()> {
    let waiting = async {
        // The state of all apps is expensive to read: it is requested only after the last render.
        while agent.renders() - before < APPS as u64 {
            agent.stepped().await?;
        }
        for number in 0..APPS {
            agent.until_app(&name(number), |status| is_at(status, version)).await?;
        }
        anyhow::Ok(())
    };
    timeout(PATIENCE, waiting).await.context("the apps were not accepted in time")?
}

fn milliseconds(begun: &Stopwatch) -> f64 {
    begun.elapsed().as_secs_f64() * 1e3
}

fn name(number: usize) -> String {
    format!("app-{number:04}")
}

fn base(text: &str) -> anyhow::Result<Vec<Change>> {
    let file = |number| {
        format!(
            "apiVersion: host.setpoint.dev/v1\nkind: File\nmetadata: {{ name: file-{number} }}\nspec:\n  path: /file-{number}\n  content: {text}\n"
        )
    };
    let files: Vec<String> = (0..FILES).map(file).collect();
    Ok(vec![
        write("base/kustomization.yaml", "resources: [files.yaml]\n".to_owned())?,
        write("base/files.yaml", files.join("---\n"))?,
    ])
}

/// Each overlay has its own prefix, label and path for each file.
fn overlay(number: usize, label: &str) -> anyhow::Result<Change> {
    let name = name(number);
    let patch = |file| {
        format!(
            "- target: {{ kind: File, name: file-{file} }}\n  patch: '[{{\"op\": \"replace\", \"path\": \"/spec/path\", \"value\": \"/{name}-{file}\"}}]'\n"
        )
    };
    let patches: String = (0..FILES).map(patch).collect();
    let text = format!(
        "resources: [../../base]\nnamePrefix: {name}-\nlabels:\n- pairs: {{ is: {label} }}\npatches:\n{patches}"
    );
    write(&format!("apps/{name}/kustomization.yaml"), text)
}

fn row(what: &str, unit: &'static str, ours: f64, bar: Bar) -> Row {
    let what = format!("{APPS} apps that overlay one base of {FILES} resources, in an agent, {what}");
    Row { what, unit: Unit::Cost(unit), ours, peer: Peer::None, bar }
}
