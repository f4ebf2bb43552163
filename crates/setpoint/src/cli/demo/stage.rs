//! The stage of the demo: a temporary directory with a repository, a managed directory, and an
//! agent in its own process.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use setpoint_api::answer::{AppDetail, AppState, DriftRecord};
use setpoint_api::question::{DriftQuestion, OrderRequest};
use setpoint_api::{Client, socket_in};
use setpoint_core::name::AppId;
use setpoint_core::time::{Span, Timestamp};
use setpoint_store_git::{Branch, Change, LocalRepository, Parent};
use tokio::process::{Child, Command};
use tokio::time::{interval, timeout};

use super::super::init::{Starter, author, free_address};
use crate::complaint::told;
use crate::doors::{self, Clock, duration};

/// The interval at which the demo polls the agent.
const GLANCE: Span = Span::millis(10);
/// The longest wait for any event of the story.
const PATIENCE: Span = Span::seconds(60);

/// The file with what the agent prints: its addresses.
const PRINTED: &str = "agent.out";

#[derive(Debug)]
pub(super) struct Stage {
    pub(super) clock: Clock,
    folder: PathBuf,
    starter: Starter,
    repository: LocalRepository,
    branch: Branch,
    agent: Option<Child>,
}

impl Stage {
    /// Creates the directory, the repository and the first commit. The agent serves web pages if it
    /// is to stay.
    pub(super) fn set(with_pages: bool) -> Result<Self, String> {
        let clock = Clock::start();
        let folder = doors::temporary_folder("setpoint-demo")
            .map_err(|error| format!("cannot create a temporary directory: {error}"))?;
        let starter = Starter::make(&folder, with_pages.then(free_address), clock)?;
        let repository = LocalRepository::open(&starter.repository).map_err(|error| told(&error))?;
        let branch = Branch::parse("main").map_err(|error| told(&error))?;
        Ok(Self { clock, folder, starter, repository, branch, agent: None })
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(super) fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    /// Returns a path in the managed directory.
    pub(super) fn managed(&self, path: &str) -> PathBuf {
        self.starter.managed.join(path)
    }

    pub(super) fn client(&self) -> Client {
        Client::new(socket_in(&self.data()))
    }

    /// Starts the agent as a user would. Its standard error goes to a file next to its data.
    #[expect(clippy::disallowed_methods, reason = "the demo starts the agent as a user would")]
    pub(super) fn start_agent(&mut self) -> Result<(), String> {
        let file = |name: &str| {
            let file = fs::OpenOptions::new().create(true).append(true).open(self.folder.join(name));
            file.map_err(|error| format!("cannot write the agent's log: {error}"))
        };
        let (printed, logged) = (file(PRINTED)?, file("agent.log")?);
        let program = doors::this_program().map_err(|error| format!("cannot find the setpoint program: {error}"))?;
        let agent = Command::new(program)
            .args(["run", "--config"])
            .arg(&self.starter.bootstrap)
            .arg("--data")
            .arg(self.data())
            .stdin(Stdio::null())
            .stdout(printed)
            .stderr(logged)
            .kill_on_drop(true)
            .spawn();
        self.agent = Some(agent.map_err(|error| format!("cannot start the agent: {error}"))?);
        Ok(())
    }

    /// Returns the link that the agent printed last, which creates the first account.
    pub(super) fn set_up_link(&self) -> Option<String> {
        let printed = fs::read_to_string(self.folder.join(PRINTED)).ok()?;
        let link =
            printed.lines().rev().find_map(|line| line.split_whitespace().find(|word| word.contains("/set-up?")));
        link.map(ToOwned::to_owned)
    }

    /// Sends SIGKILL: the agent gets no chance to clean up.
    pub(super) async fn kill_agent(&mut self) -> Result<(), String> {
        let Some(mut agent) = self.agent.take() else { return Ok(()) };
        agent.kill().await.map_err(|error| format!("cannot kill the agent: {error}"))
    }

    /// Sends SIGTERM, and waits until the agent has exited.
    pub(super) async fn stop_agent(&mut self) -> Result<(), String> {
        let Some(mut agent) = self.agent.take() else { return Ok(()) };
        let pid = agent.id().and_then(|id| i32::try_from(id).ok()).and_then(rustix::process::Pid::from_raw);
        if let Some(pid) = pid {
            rustix::process::kill_process(pid, rustix::process::Signal::TERM)
                .map_err(|error| format!("cannot stop the agent: {error}"))?;
        }
        agent.wait().await.map(drop).map_err(|error| format!("the agent did not stop: {error}"))
    }

    /// Runs a child process, neither the agent nor this one, that changes the managed files.
    #[expect(clippy::disallowed_methods, reason = "another process must make the change")]
    pub(super) async fn stranger(&self, script: &str) -> Result<Timestamp, String> {
        let before = self.clock.now();
        let child = Command::new("/bin/sh").arg("-c").arg(script).current_dir(&self.starter.managed).status().await;
        match child {
            Ok(status) if status.success() => Ok(before),
            Ok(status) => Err(format!("`{script}` ended with {status}")),
            Err(error) => Err(format!("cannot start /bin/sh: {error}")),
        }
    }

    pub(super) fn commit(&self, changes: &[Change], message: &str, parent: Parent) -> Result<String, String> {
        let author = author(self.clock);
        let version = self.repository.commit(&self.branch, changes, &author, message, parent);
        version.map(|version| version.to_string()[..12].to_owned()).map_err(|error| told(&error))
    }

    /// Waits until an app fulfils a condition.
    pub(super) async fn until(&self, app: &AppId, wanted: impl Fn(&AppDetail) -> bool) -> Result<AppDetail, String> {
        let client = self.client();
        let look = async || client.app(app.clone()).await.ok().filter(&wanted);
        self.glance(look)
            .await
            .ok_or_else(|| format!("{app} took too long; see {}", self.folder.join("agent.log").display()))
    }

    pub(super) async fn until_converged(&self, app: &AppId, resources: usize) -> Result<AppDetail, String> {
        self.until(app, |detail| detail.summary.state == AppState::Converged && detail.summary.resources == resources)
            .await
    }

    /// Waits for a drift that was detected after an instant and has been healed.
    pub(super) async fn drift_since(&self, app: &AppId, since: Timestamp) -> Result<DriftRecord, String> {
        let client = self.client();
        let question = DriftQuestion { app: Some(app.clone()), limit: 5 };
        let look = async || {
            let drifts = client.drift(&question).await.ok()?;
            drifts.into_iter().find(|drift| drift.seen >= since && drift.healed.is_some())
        };
        self.glance(look).await.ok_or_else(|| "no drift was recorded".to_owned())
    }

    /// Waits until a file exists, and returns at once.
    pub(super) async fn until_there(&self, path: &Path) -> Result<(), String> {
        let look = async || path.exists().then_some(());
        let seen = self.glance_every(Span::millis(1), look).await;
        seen.ok_or_else(|| format!("{} did not appear in time", path.display()))
    }

    pub(super) async fn order(&self, request: &OrderRequest) -> Result<(), String> {
        self.client().order(request).await.map(drop).map_err(|error| told(&error))
    }

    async fn glance<T>(&self, look: impl AsyncFn() -> Option<T>) -> Option<T> {
        self.glance_every(GLANCE, look).await
    }

    async fn glance_every<T>(&self, pause: Span, look: impl AsyncFn() -> Option<T>) -> Option<T> {
        let mut glances = interval(duration(pause));
        let looking = async {
            loop {
                glances.tick().await;
                if let Some(seen) = look().await {
                    return seen;
                }
            }
        };
        timeout(duration(PATIENCE), looking).await.ok()
    }

    /// Stops the agent and removes the directory.
    pub(super) async fn clear(mut self) -> Result<(), String> {
        self.stop_agent().await?;
        fs::remove_dir_all(&self.folder).map_err(|error| format!("cannot remove {}: {error}", self.folder.display()))
    }
}
