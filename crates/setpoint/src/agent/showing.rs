//! Serves requests that read targets: trees, logs, unhealthy objects, numbers of requests. No
//! decision depends on them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream;
use setpoint_api::agent::Parts;
use setpoint_api::answer::{AppSummary, AppTree, LogPart, Tally, TargetStanding, TreeObject, Unhealthy};
use setpoint_api::question::{LogQuestion, ObjectName};
use setpoint_api::{Problem, ProblemKind};
use setpoint_core::key::Key;
use setpoint_core::live::Health;
use setpoint_core::name::{AppId, TargetIdentity};
use setpoint_engine::machine::AppStatus;
use setpoint_target::{RefusalClass, Target, Wanted};
use tokio::time::timeout;

use super::answers::{Answers, ended};
use super::bootstrap::Bootstrap;
use super::fleet::Places;
use super::rights::View;
use super::sources::Connection;

/// The time limit for the reasons of unhealthy objects. Without them, the objects are still shown.
const REASONS: Duration = Duration::from_secs(10);

/// The time limit for a tree, which takes many reads.
const TREE: Duration = Duration::from_secs(90);

fn words(tally: &setpoint_target::Tally) -> Tally {
    tally.iter().map(|(call, count)| ((*call).to_owned(), *count)).collect()
}

impl Answers {
    /// Returns the documents and connections that summaries take names from.
    pub(super) fn places(&self) -> Places {
        Places::new(&self.provider, &self.provider.connections())
    }

    /// Adds the requests for each of these apps to its summary.
    pub(super) fn count_requests(&self, apps: &mut [AppSummary]) {
        let targets =
            self.provider.connections().into_iter().map(|connection| (connection.identity, connection.target));
        let targets: BTreeMap<TargetIdentity, Arc<dyn Target>> = targets.collect();
        for app in apps {
            app.requests =
                targets.get(&app.target).map(|target| words(&target.requests_for(&app.app))).unwrap_or_default();
        }
    }

    /// Adds the requests to each of these targets.
    pub(super) fn count_target_requests(&self, targets: &mut [TargetStanding]) {
        let mut targets: BTreeMap<_, _> =
            targets.iter_mut().map(|standing| (standing.target.clone(), standing)).collect();
        for Connection { name, target, .. } in self.provider.connections() {
            if let Some(standing) = targets.get_mut(&name) {
                standing.requests = words(&target.request_counts());
            }
        }
    }

    /// Returns the unhealthy objects of an app, as far as its target gives reasons. Empty if all
    /// are healthy, or if the target does not respond in time.
    pub(super) async fn unhealthy(&self, app: &AppId, status: &AppStatus) -> Result<Vec<Unhealthy>, Problem> {
        if status.health == Health::Healthy {
            return Ok(Vec::new());
        }
        let Some(target) = self.provider.target_of(&status.facts.target) else { return Ok(Vec::new()) };
        let keys: BTreeSet<Key> = self.wanted(app).await?.into_keys().collect();
        let unwell = timeout(REASONS, target.unwell(keys)).await.unwrap_or_default();
        let unhealthy = unwell.into_iter().map(|it| Unhealthy { key: it.key, health: it.health, reason: it.reason });
        Ok(unhealthy.collect())
    }

    /// Returns all objects that an app declares or owns.
    async fn wanted(&self, app: &AppId) -> Result<Wanted, Problem> {
        self.handle.wanted(app).await.map_err(ended)
    }

    pub(super) async fn tree_of(&self, app: AppId, view: &View) -> Result<AppTree, Problem> {
        let status = self.status(&app, view).await?;
        let target = self.target_of(&app, &status)?;
        let now = self.clock.now();
        let wanted = self.wanted(&app).await?;
        let declared = wanted.iter().filter(|(_, declared)| declared.is_some()).map(|(key, _)| key.clone());
        let declared: BTreeSet<Key> = declared.collect();
        let tree = timeout(TREE, target.tree(wanted, now)).await;
        let tree = tree.map_err(|_| {
            let message = format!("the target of {app} did not respond within {} s: try again", TREE.as_secs());
            Problem::new(ProblemKind::Unavailable, message)
        })?;
        let owned = self.handle.owned(&app).await.map_err(ended)?;
        let object = |it: setpoint_target::TreeObject| TreeObject {
            declared: declared.contains(&it.key),
            owned: owned.contains(&it.key),
            key: it.key,
            depth: it.depth,
            owner: it.owner,
            present: it.present,
            health: it.health,
            reason: it.reason,
            created: it.created,
        };
        let objects = tree.objects.into_iter().map(object).collect();
        let AppStatus { facts, observed, drifts, remarks, .. } = status;
        let target = facts.target.clone();
        let target_name = self.places().name_of(&app, &target);
        Ok(AppTree { app, target, target_name, now, objects, observed, drifts, remarks, unseen: tree.unseen })
    }

    pub(super) async fn logs_of(&self, question: LogQuestion, view: &View) -> Result<Parts<LogPart>, Problem> {
        let LogQuestion { app, object, follow, since, tail, container, previous } = question;
        let status = self.status(&app, view).await?;
        let target = self.target_of(&app, &status)?;
        let object = object.map(|ObjectName { kind, name }| (kind, name));
        let asked = setpoint_target::LogQuestion { object, follow, since, tail, container, previous };
        let reader = target.logs(self.wanted(&app).await?, asked).await.map_err(|refusal| {
            let kind = match refusal.class {
                RefusalClass::Unavailable => ProblemKind::Unavailable,
                _ => ProblemKind::Conflict,
            };
            Problem::new(kind, refusal.detail)
        })?;
        let parts = stream::unfold(reader, async |mut reader| {
            let part = reader.next().await?;
            Some((told(part), reader))
        });
        Ok(parts.boxed())
    }

    fn target_of(&self, app: &AppId, status: &AppStatus) -> Result<Arc<dyn Target>, Problem> {
        if *app == Bootstrap::root() {
            let message = format!("{app} declares control documents, which are on no target: there is nothing to show");
            return Err(Problem::new(ProblemKind::Conflict, message));
        }
        self.provider.target_of(&status.facts.target).ok_or_else(|| {
            let identity = &status.facts.target;
            let message = format!("the target {identity} of {app} is not connected: check the agent's log");
            Problem::new(ProblemKind::Unavailable, message)
        })
    }
}

fn told(part: setpoint_target::LogPart) -> LogPart {
    match part {
        setpoint_target::LogPart::Sources { names } => LogPart::Sources { names },
        setpoint_target::LogPart::Line { source, text } => LogPart::Line { source, text },
        setpoint_target::LogPart::Note { text } => LogPart::Note { text },
    }
}
