//! The shipped binary as a separate process: `setpoint run`, with requests over its socket, and
//! `setpoint apply --once`.

use std::fs::{self, File};
use std::process::{Child, Stdio};
use std::time::Duration;

use anyhow::{Context, bail};
use rustix::process::{Pid, Signal};
use setpoint_api::answer::AppState;
use setpoint_api::{Client, socket_in};
use tokio::time::interval;

use super::lab::Lab;
use super::program::{output_of, program, shipped};
use crate::stopwatch::{Stopwatch, since_epoch, time};

/// The kernel's unit for a process's time, in ticks a second: the same wherever Linux runs today.
const TICKS: f64 = 100.0;

/// The comparisons of the clocks, of which the quickest counts.
const COMPARISONS: usize = 20;

/// A running agent; killed when it is dropped.
pub(crate) struct Agent {
    child: Child,
    pub(crate) client: Client,
}

/// The resources that a process used.
pub(crate) struct Used {
    /// Processor time, in user and kernel mode.
    pub(crate) processor: Duration,
    /// Bytes of resident memory.
    pub(crate) resident: u64,
    /// The peak of resident memory.
    pub(crate) peak: u64,
}

impl Agent {
    pub(crate) fn start(lab: &Lab) -> anyhow::Result<Self> {
        let said = File::options().create(true).append(true).open(lab.log())?;
        let mut run = program(shipped()?);
        run.args(["run", "--config"]).arg(lab.bootstrap()).arg("--data").arg(lab.data());
        let child = run.stdout(Stdio::null()).stderr(said).spawn().context("the agent cannot be started")?;
        Ok(Self { child, client: Client::new(socket_in(&lab.data())) })
    }

    /// Polls at an interval until a condition yields a value.
    pub(crate) async fn until<T>(
        &self,
        what: &str,
        every: Duration,
        patience: Duration,
        look: impl AsyncFn(&Client) -> Option<T>,
    ) -> anyhow::Result<T> {
        let waited = Stopwatch::start();
        let mut turns = interval(every);
        loop {
            turns.tick().await;
            if let Some(found) = look(&self.client).await {
                return Ok(found);
            }
            if waited.elapsed() > patience {
                bail!("{what}: not within {} s", patience.as_secs());
            }
        }
    }

    /// Waits until exactly this many apps have converged.
    pub(crate) async fn until_converged(&self, apps: usize, every: Duration, patience: Duration) -> anyhow::Result<()> {
        self.until(&format!("{apps} apps converge"), every, patience, async |client| {
            let overview = client.overview().await.ok()?;
            let converged = overview.apps.iter().filter(|app| app.state == AppState::Converged).count();
            // The root app, which holds the control documents, is one more.
            (converged == apps + 1 && overview.apps.len() == apps + 1).then_some(())
        })
        .await
    }

    /// Returns the milliseconds by which the agent's clock is ahead of ours.
    pub(crate) async fn ahead(&self) -> anyhow::Result<f64> {
        let mut best = (f64::MAX, 0.0);
        for _ in 0..COMPARISONS {
            let asked = since_epoch().as_secs_f64() * 1e3;
            let told = self.client.overview().await?.now.as_millis() as f64;
            let answered = since_epoch().as_secs_f64() * 1e3;
            if answered - asked < best.0 {
                // Its time is cut to a millisecond: half of one is lost on average.
                best = (answered - asked, told + 0.5 - f64::midpoint(asked, answered));
            }
        }
        Ok(best.1)
    }

    pub(crate) fn used(&self) -> anyhow::Result<Used> {
        let process = format!("/proc/{}", self.child.id());
        let stat = fs::read_to_string(format!("{process}/stat"))?;
        let status = fs::read_to_string(format!("{process}/status"))?;
        used(&stat, &status).context("the kernel tells about a process in another form than expected")
    }

    /// Sends SIGTERM, and waits until the process has exited.
    pub(crate) fn stop(mut self) -> anyhow::Result<()> {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw).context("a process has an id")?;
        rustix::process::kill_process(pid, Signal::TERM).context("the agent cannot be stopped")?;
        let status = self.child.wait().context("the agent cannot be waited for")?;
        if !status.success() {
            bail!("the agent ended with {status}");
        }
        Ok(())
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        // The process may have ended already; either way nothing of it is left.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reads `stat` and `status` of a process as proc(5) describes them.
fn used(stat: &str, status: &str) -> Option<Used> {
    // The second field is a name that may contain anything; no parentheses follow it.
    let (_, fields) = stat.rsplit_once(')')?;
    let mut ticks = fields.split_whitespace().skip(11).map(|field| field.parse::<u64>().ok());
    let ticks = ticks.next()?? + ticks.next()??;
    let bytes = |name: &str| {
        let size = status.lines().find_map(|line| line.strip_prefix(name))?;
        let kibibytes: u64 = size.trim().strip_suffix("kB")?.trim().parse().ok()?;
        Some(kibibytes * 1024)
    };
    let processor = Duration::from_secs_f64(ticks as f64 / TICKS);
    Some(Used { processor, resident: bytes("VmRSS:")?, peak: bytes("VmHWM:")? })
}

/// Runs `setpoint apply --once` and returns the duration of the process, which must end with this
/// exit code.
pub(crate) fn apply_once(lab: &Lab, expected: i32) -> anyhow::Result<Duration> {
    let mut apply = program(shipped()?);
    apply.args(["apply", "--once", "--config"]).arg(lab.bootstrap()).arg("--data").arg(lab.data());
    let (output, taken) = time(|| output_of(apply));
    let output = output?;
    if output.status.code() != Some(expected) {
        let (said, complained) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        bail!("`setpoint apply --once` ended with {}, not {expected}:\n{said}{complained}", output.status);
    }
    Ok(taken)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_and_memory_are_read_even_if_the_process_has_an_odd_name() {
        let stat = "7 (a) b) S 1 7 7 0 -1 4194304 100 0 0 0 30 12 0 0 20 0 1 0 5 1000 200 18446744073709551615";
        let used = used(stat, "Name:\ta\nVmHWM:\t    3072 kB\nVmRSS:\t    2048 kB\n").unwrap();
        assert_eq!((used.resident, used.peak), (2 * 1024 * 1024, 3 * 1024 * 1024));
        assert_eq!(used.processor, Duration::from_millis(420));
    }
}
