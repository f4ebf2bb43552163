//! An agent inside this process: the same code as `setpoint run`, for facts that the socket does
//! not report. These are the number of renders, and the moment when nothing more will happen by
//! itself.

use std::time::Duration;

use anyhow::Context;
use setpoint::agent::bootstrap::Bootstrap;
use setpoint::agent::{AgentOptions, RunningAgent};
use setpoint::doors::Clock;
use setpoint::families::families;
use setpoint::log::Log;
use setpoint_api::{Client, socket_in};
use setpoint_core::name::VersionId;
use setpoint_engine::Settings;
use setpoint_engine::machine::AppStatus;
use tokio::runtime::Runtime;
use tokio::time::{interval, timeout};

use super::lab::{Lab, app};

/// Longer than any wait here.
const PATIENCE: Duration = Duration::from_secs(300);

pub(crate) struct Inside {
    running: RunningAgent,
    pub(crate) client: Client,
}

/// Uses as many threads as `setpoint run`.
pub(crate) fn runtime() -> anyhow::Result<Runtime> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    runtime.context("the runtime cannot start its threads")
}

impl Inside {
    pub(crate) async fn start(lab: &Lab) -> anyhow::Result<Self> {
        let options = AgentOptions {
            bootstrap: Bootstrap::read(&lab.bootstrap())?,
            data: lab.data(),
            clock: Clock::start(),
            settings: Settings::default(),
            families: families(None),
            program: "/proc/self/exe".into(),
            log: Log::silent(),
        };
        let running = RunningAgent::start(options).await?;
        Ok(Self { running, client: Client::new(socket_in(&lab.data())) })
    }

    /// Returns the link that creates the first account.
    pub(crate) fn set_up_link(&self) -> Option<&str> {
        self.running.links()?.set_up.as_deref()
    }

    /// Returns the API, without a socket.
    pub(crate) fn api(&self) -> std::sync::Arc<dyn setpoint_api::Agent> {
        self.running.api()
    }

    /// Waits until exactly this many apps exist and are at rest. Reads the status of a fleet in
    /// portions, a few times a second: all at once would be most of the memory of a large one.
    pub(crate) async fn until_converged(&self, apps: usize) -> anyhow::Result<()> {
        let waiting = async {
            let mut turns = interval(Duration::from_millis(500));
            loop {
                turns.tick().await;
                if self.at_rest().await? == Some(apps) {
                    return anyhow::Ok(());
                }
            }
        };
        timeout(PATIENCE * 4, waiting).await.with_context(|| format!("{apps} apps did not converge in time"))?
    }

    /// Returns the number of apps; `None` if some are not at rest.
    async fn at_rest(&self) -> anyhow::Result<Option<usize>> {
        let (mut apps, mut last) = (0, None);
        loop {
            let portion = self.running.handle().statuses_after(last.take()).await?;
            let Some((app, _)) = portion.last() else { return Ok(Some(apps)) };
            last = Some(app.clone());
            if !portion.iter().all(|(_, status)| status.as_ref().is_some_and(is_at_rest)) {
                return Ok(None);
            }
            apps += portion.len();
        }
    }

    /// Returns the number of renders since the start.
    pub(crate) fn renders(&self) -> u64 {
        self.running.renders()
    }

    /// Sends the hint of a webhook: the repository has moved, poll it now.
    pub(crate) async fn hint(&self) -> anyhow::Result<()> {
        Ok(self.running.handle().hint_store(Bootstrap::store()).await?)
    }

    /// Waits until one app fulfils a condition, and checks it after every step of the engine.
    pub(crate) async fn until_app(&mut self, name: &str, is: impl Fn(&AppStatus) -> bool) -> anyhow::Result<()> {
        let app = app(name)?;
        let waiting = async {
            loop {
                if self.running.handle().status(&app).await?.is_some_and(|status| is(&status)) {
                    return anyhow::Ok(());
                }
                self.running.stepped().await?;
            }
        };
        timeout(PATIENCE, waiting).await.with_context(|| format!("{name} did not get there in time"))?
    }

    /// Waits until every app has converged and nothing more happens by itself.
    pub(crate) async fn until_at_rest(&mut self) -> anyhow::Result<()> {
        self.until_all(is_at_rest).await.context("the apps did not converge in time")
    }

    /// Waits until nothing more happens by itself, converged or not.
    pub(crate) async fn until_quiet(&mut self) -> anyhow::Result<()> {
        self.until_all(|status| !status.pending).await.context("the apps did not come to rest in time")
    }

    async fn until_all(&mut self, is: impl Fn(&AppStatus) -> bool) -> anyhow::Result<()> {
        let waiting = async {
            loop {
                let standing = self.running.standing().await?;
                if standing.controlled && standing.apps.values().all(&is) {
                    return anyhow::Ok(());
                }
                self.running.stepped().await?;
            }
        };
        timeout(PATIENCE, waiting).await?
    }

    /// Waits for the next step of the engine.
    pub(crate) async fn stepped(&mut self) -> anyhow::Result<()> {
        Ok(self.running.stepped().await?)
    }

    pub(crate) async fn stop(self) -> anyhow::Result<()> {
        Ok(self.running.stop().await?)
    }
}

pub(crate) fn is_at_rest(status: &AppStatus) -> bool {
    status.converged && !status.pending
}

/// Reports whether an app was accepted at this version.
pub(crate) fn is_at(status: &AppStatus, version: &VersionId) -> bool {
    let accepted = status.facts.accepted.as_ref();
    accepted.is_some_and(|accepted| accepted.revision.versions().any(|accepted| accepted == version))
}
