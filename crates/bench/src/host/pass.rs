//! One pass over files that are all as declared: every file is opened and its bytes compared, or
//! only its stat.
//!
//! A pass is measured by itself, as the agent calls it (`HostTarget::observe`), for growing numbers
//! of files; and in a running agent, from the order to check an app until nothing more is to be
//! done, which includes the engine's decision and a record of the order.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, anyhow, ensure};
use setpoint_api::question::{OrderKind, OrderRequest};
use setpoint_core::digest::DigestKey;
use setpoint_core::live::Presence;
use setpoint_core::resource::Resource;
use setpoint_core::value::Value;
use setpoint_target::{Asker, Target, Wanted};
use setpoint_target_host::{API_VERSION, HostOptions, HostTarget, check};
use tokio::runtime::Runtime;

use super::lab::FIRST_APP;
use super::peers::{PUPPET_FILES, ansible, puppet, puppet_catalog};
use super::workload::Workload;
use crate::agent::inside::{Inside, is_at_rest, runtime};
use crate::agent::lab::{Lab, app};
use crate::agent::process::apply_once;
use crate::stopwatch::{Stopwatch, shortest_of, wall};
use crate::table::{Bar, Peer, Row, Table, Unit};

/// Numbers of files. The bar holds for the first, and for the others in proportion: the cost grows
/// linearly.
const SIZES: [usize; 3] = [PUPPET_FILES, 10_000, 100_000];
const BAR_PER_FILE: f64 = 0.02;
const TIMES_PUPPET: f64 = 200.0;
const RUNS: u32 = 5;
/// The passes in a running agent; the median counts.
const PASSES: usize = 21;
const COLD_RUNS: usize = 3;
/// The exit code of `setpoint apply --once` if nothing had to be changed.
const NOTHING_CHANGED: i32 = 0;
/// The exit code if something was changed and everything is as declared.
pub(super) const CHANGED: i32 = 2;

pub(super) fn look_at_all(table: &mut Table) -> anyhow::Result<()> {
    in_an_agent(table)?;
    let runtime = runtime()?;
    for files in SIZES {
        let folder = tempfile::tempdir()?;
        let workload = Workload { files };
        workload.make_files(folder.path())?;
        let full = shortest_look(&runtime, folder.path(), workload, false)?;
        table.add(alone(files, full, "every file opened and compared", Bar::Figure(BAR_PER_FILE * files as f64)));
        let cached = shortest_look(&runtime, folder.path(), workload, true)?;
        table.add(alone(files, cached, "by stat: ctime, inode and the racy rule", Bar::None));
    }
    Ok(())
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// Measures a pass in a running agent, and one by a process that starts for it.
fn in_an_agent(table: &mut Table) -> anyhow::Result<()> {
    let lab = Lab::with_files(Workload { files: PUPPET_FILES })?;
    apply_once(&lab, CHANGED)?;
    let warm = runtime()?.block_on(passes(&lab))?;
    let what = format!("{PUPPET_FILES} files, nothing to do, a full pass in a running agent (`sync` to rest)");
    let row = |what: &str, peer, bar, time| Row {
        what: what.to_owned(),
        unit: Unit::Cost("ms"),
        ours: millis(time),
        peer,
        bar,
    };
    table.add(row(&what, Peer::None, Bar::Figure(BAR_PER_FILE * PUPPET_FILES as f64), warm));
    table.add(row(&what, puppet(|taken| taken.quiet), Bar::TimesPeer(TIMES_PUPPET), warm));
    table.add(row(&what, puppet_catalog(), Bar::None, warm));
    table.add(row(&what, ansible(|taken| taken.quiet), Bar::None, warm));
    let cold: Result<Vec<Duration>, _> = (0..COLD_RUNS).map(|_| apply_once(&lab, NOTHING_CHANGED)).collect();
    let what = format!("{PUPPET_FILES} files, nothing to do, `apply --once`, process and all");
    table.add(row(&what, puppet(|taken| taken.quiet), Bar::None, middle(cold?)?));
    Ok(())
}

fn middle(mut times: Vec<Duration>) -> anyhow::Result<Duration> {
    times.sort();
    times.get(times.len() / 2).copied().context("nothing was measured")
}

async fn passes(lab: &Lab) -> anyhow::Result<Duration> {
    let mut agent = Inside::start(lab).await?;
    agent.until_at_rest().await?;
    let order = OrderRequest {
        app: app(FIRST_APP)?,
        reason: "a pass is measured".to_owned(),
        order: OrderKind::Sync { allow_prune: 0 },
    };
    let mut times = Vec::new();
    for _ in 0..PASSES {
        let begun = Stopwatch::start();
        agent.client.order(&order).await?;
        agent.until_app(FIRST_APP, is_at_rest).await?;
        times.push(begun.elapsed());
    }
    agent.stop().await?;
    middle(times)
}

fn alone(files: usize, time: Duration, how: &str, bar: Bar) -> Row {
    let micros = time.as_secs_f64() * 1e6 / files as f64;
    Row {
        what: format!("{files} files, nothing to do, the observation alone, {how} ({micros:.1} µs a file)"),
        unit: Unit::Cost("ms"),
        ours: millis(time),
        peer: Peer::None,
        bar,
    }
}

fn shortest_look(runtime: &Runtime, root: &Path, workload: Workload, trust_stat: bool) -> anyhow::Result<Duration> {
    let data = tempfile::tempdir()?;
    let key = DigestKey::new([1; 32]);
    let mut options = HostOptions::new(Some(root.to_owned()), data.path().to_owned(), Arc::new(wall), key);
    options.trust_stat = trust_stat;
    let target = HostTarget::open(options)?;
    let wanted = wanted(workload)?;
    let look = || runtime.block_on(target.observe(wanted.clone(), Asker::default(), wall()));
    let seen = look();
    for (key, state) in &seen.states {
        let Some(Presence::Present(live)) = state.as_known() else { return Err(anyhow!("{key} was not seen")) };
        let declared = wanted.get(key).and_then(Option::as_ref).context("only what was asked for is answered")?;
        ensure!(live.value == declared.body, "{key} was not seen as it is declared");
    }
    ensure!(seen.states.len() == workload.files, "{} of {} files were seen", seen.states.len(), workload.files);
    Ok(shortest_of(RUNS, look))
}

/// Returns what an agent observes to hold the files.
fn wanted(workload: Workload) -> anyhow::Result<Wanted> {
    (0..workload.files)
        .map(|number| {
            let resource = resource(number)?;
            Ok((resource.key.clone(), Some(Arc::new(resource))))
        })
        .collect()
}

fn resource(number: usize) -> anyhow::Result<Resource> {
    let (path, content) = (Workload::path(number), Workload::content(number));
    let spec = Value::map([("path", Value::str(&path)), ("content", Value::str(&content))]);
    let metadata = Value::map([("name", Value::str(&format!("file-{number}")))]);
    let body = Value::map([
        ("apiVersion", Value::str(API_VERSION)),
        ("kind", Value::str("File")),
        ("metadata", metadata),
        ("spec", spec),
    ]);
    let checked = check("File", &body).map_err(|problems| anyhow!("the bench declares a bad file: {problems:?}"))?;
    Ok(Resource::new(checked.key(), API_VERSION, "File", body))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_as_declared_are_seen_so_and_an_edited_one_is_an_error() {
        let (folder, workload) = (tempfile::tempdir().unwrap(), Workload { files: 3 });
        workload.make_files(folder.path()).unwrap();
        let runtime = runtime().unwrap();
        shortest_look(&runtime, folder.path(), workload, false).unwrap();
        std::fs::write(Workload::place(folder.path(), 1), Workload::edited(1)).unwrap();
        let error = shortest_look(&runtime, folder.path(), workload, true).unwrap_err();
        assert!(error.to_string().contains("file-000001 was not seen as it is declared"), "{error}");
    }
}
