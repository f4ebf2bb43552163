//! The stage of the demo: a temporary folder with a repository, a managed folder, and an agent in a
//! process of its own.

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

use super::super::init::{Starter, author};
use crate::complaint::told;
use crate::doors::{self, Clock, duration};

/// How often the agent is asked while something is waited for.
const GLANCE: Span = Span::millis(10);
/// Nothing of the story takes longer.
const PATIENCE: Span = Span::seconds(60);

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
    /// Makes the folder, the repository and the first commit.
    pub(super) fn set() -> Result<Self, String> {
        let clock = Clock::start();
        let folder =
            doors::temporary_folder("setpoint-demo").map_err(|error| format!("no temporary folder: {error}"))?;
        let starter = Starter::make(&folder, clock)?;
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

    /// A path of the managed folder.
    pub(super) fn managed(&self, path: &str) -> PathBuf {
        self.starter.managed.join(path)
    }

    pub(super) fn client(&self) -> Client {
        Client::new(socket_in(&self.data()))
    }

    /// Starts the agent as a user would. What it says goes to a file beside its data.
    #[expect(clippy::disallowed_methods, reason = "the demo starts the agent as a user would")]
    pub(super) fn start_agent(&mut self) -> Result<(), String> {
        let said = fs::OpenOptions::new().create(true).append(true).open(self.folder.join("agent.log"));
        let said = said.map_err(|error| format!("the agent's log cannot be written: {error}"))?;
        let program = doors::this_program().map_err(|error| format!("this program is not to be found: {error}"))?;
        let agent = Command::new(program)
            .args(["run", "--config"])
            .arg(&self.starter.bootstrap)
            .arg("--data")
            .arg(self.data())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(said)
            .kill_on_drop(true)
            .spawn();
        self.agent = Some(agent.map_err(|error| format!("the agent cannot be started: {error}"))?);
        Ok(())
    }

    /// SIGKILL: no good-bye, no clean-up.
    pub(super) async fn kill_agent(&mut self) -> Result<(), String> {
        let Some(mut agent) = self.agent.take() else { return Ok(()) };
        agent.kill().await.map_err(|error| format!("the agent cannot be killed: {error}"))
    }

    /// SIGTERM, and waits until it has gone.
    pub(super) async fn stop_agent(&mut self) -> Result<(), String> {
        let Some(mut agent) = self.agent.take() else { return Ok(()) };
        let pid = agent.id().and_then(|id| i32::try_from(id).ok()).and_then(rustix::process::Pid::from_raw);
        if let Some(pid) = pid {
            rustix::process::kill_process(pid, rustix::process::Signal::TERM)
                .map_err(|error| format!("the agent cannot be stopped: {error}"))?;
        }
        agent.wait().await.map(drop).map_err(|error| format!("the agent did not stop: {error}"))
    }

    /// Lets a child process, not the agent and not this one, do something to the managed files.
    #[expect(clippy::disallowed_methods, reason = "who changes something must be another process")]
    pub(super) async fn stranger(&self, script: &str) -> Result<Timestamp, String> {
        let before = self.clock.now();
        let child = Command::new("/bin/sh").arg("-c").arg(script).current_dir(&self.starter.managed).status().await;
        match child {
            Ok(status) if status.success() => Ok(before),
            Ok(status) => Err(format!("`{script}` ended with {status}")),
            Err(error) => Err(format!("/bin/sh cannot be started: {error}")),
        }
    }

    pub(super) fn commit(&self, changes: &[Change], message: &str, parent: Parent) -> Result<String, String> {
        let author = author(self.clock);
        let version = self.repository.commit(&self.branch, changes, &author, message, parent);
        version.map(|version| version.to_string()[..12].to_owned()).map_err(|error| told(&error))
    }

    /// Waits until something is true of an app.
    pub(super) async fn until(&self, app: &AppId, wanted: impl Fn(&AppDetail) -> bool) -> Result<AppDetail, String> {
        let client = self.client();
        let look = async || client.app(app.clone()).await.ok().filter(&wanted);
        self.glance(look)
            .await
            .ok_or_else(|| format!("{app} did not get there; see {}", self.folder.join("agent.log").display()))
    }

    pub(super) async fn until_converged(&self, app: &AppId, resources: usize) -> Result<AppDetail, String> {
        self.until(app, |detail| detail.summary.state == AppState::Converged && detail.summary.resources == resources)
            .await
    }

    /// Waits for a drift that was seen after an instant and put right.
    pub(super) async fn drift_since(&self, app: &AppId, since: Timestamp) -> Result<DriftRecord, String> {
        let client = self.client();
        let question = DriftQuestion { app: Some(app.clone()), limit: 5 };
        let look = async || {
            let drifts = client.drift(&question).await.ok()?;
            drifts.into_iter().find(|drift| drift.seen >= since && drift.healed.is_some())
        };
        self.glance(look).await.ok_or_else(|| "no drift was recorded".to_owned())
    }

    /// Waits until a file is there, and not a moment longer.
    pub(super) async fn until_there(&self, path: &Path) -> Result<(), String> {
        let look = async || path.exists().then_some(());
        let seen = self.glance_every(Span::millis(1), look).await;
        seen.ok_or_else(|| format!("{} never appeared", path.display()))
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

    /// Ends the agent and removes the folder.
    pub(super) async fn clear(mut self) -> Result<(), String> {
        self.stop_agent().await?;
        fs::remove_dir_all(&self.folder)
            .map_err(|error| format!("{} cannot be removed: {error}", self.folder.display()))
    }
}
