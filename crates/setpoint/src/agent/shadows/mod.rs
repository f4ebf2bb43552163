//! Renders versions of apps with another program too, for comparison: differences are recorded,
//! logged and shown, and have no other effect.
//!
//! A version is first rendered and judged by Setpoint itself. Then it waits here, at most one for
//! each app, for the single thread that compares; a newer version replaces it. The results of each
//! app are a small file. If it is lost, counting starts from the beginning.

mod outcome;
#[cfg(test)]
mod tests;
mod written;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use setpoint_api::answer::{ShadowStanding, ShadowedVersion};
use setpoint_core::name::AppId;
use setpoint_core::version::Revision;
use setpoint_documents::Shadow;
use setpoint_engine::accept::{AppSource, Trees};
use setpoint_render::{Limits, Request, both_sides};
use tracing::info;

use self::outcome::Outcome;
use self::written::{ComparisonFiles, Comparisons};
use super::renderers::Renderers;
use crate::complaint::told;
use crate::doors::Clock;
use crate::log::Log;
use crate::sides::TRIED_AGAIN;

/// A version that Setpoint has rendered.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) source: AppSource,
    pub(super) shadow: Shadow,
    pub(super) revision: Revision,
    pub(super) trees: Trees,
}

#[derive(Debug)]
pub(super) struct Shadows {
    shelf: ComparisonFiles,
    renderers: Arc<Renderers>,
    clock: Clock,
    log: Log,
    desk: Mutex<ComparisonQueue>,
}

#[derive(Debug, Default)]
struct ComparisonQueue {
    waiting: BTreeMap<AppId, Box<Job>>,
    /// A thread is comparing the waiting versions.
    working: bool,
    known: BTreeMap<AppId, Comparisons>,
    /// The reason why the last comparison of an app failed.
    troubles: BTreeMap<AppId, String>,
}

impl ComparisonQueue {
    /// Reports whether a dequeued version must still be compared. Meanwhile, the app may have
    /// another shadow or none, it may be rendered from other inputs, and the version may have been
    /// enqueued again while it was compared.
    fn still_wants(&self, app: &AppId, job: &Job) -> bool {
        let Job { source, shadow, revision, .. } = job;
        self.known.get(app).is_some_and(|known| {
            known.is_of(source, shadow) && !known.is_over(shadow.versions.get()) && !known.has(revision)
        })
    }
}

impl Shadows {
    pub(super) fn new(folder: PathBuf, renderers: Arc<Renderers>, clock: Clock, log: Log) -> Self {
        Self { shelf: ComparisonFiles { folder }, renderers, clock, log, desk: Mutex::default() }
    }

    /// Reports whether a version of an app is still to be compared.
    pub(super) fn wants(&self, source: &AppSource, shadow: &Shadow, revision: &Revision) -> bool {
        let mut desk = self.desk();
        let known = self.known(&mut desk, source, shadow);
        !known.is_over(shadow.versions.get()) && !known.has(revision)
    }

    /// Enqueues a version. Returns whether the caller must start [`Shadows::work`].
    pub(super) fn take(&self, job: Job) -> bool {
        let mut desk = self.desk();
        self.put(&mut desk, job);
        !std::mem::replace(&mut desk.working, true)
    }

    /// Enqueues the last accepted version, which other versions may have followed. It does not
    /// replace a version that waits.
    pub(super) fn take_accepted(&self, job: Job) -> bool {
        let mut desk = self.desk();
        self.known(&mut desk, &job.source, &job.shadow);
        let app = &job.source.app;
        if !desk.waiting.get(app).is_some_and(|waiting| desk.still_wants(app, waiting)) {
            self.put(&mut desk, job);
        }
        !std::mem::replace(&mut desk.working, true)
    }

    /// Enqueues a version in place of the one that waits.
    fn put(&self, desk: &mut ComparisonQueue, job: Job) {
        let (app, revision) = (job.source.app.clone(), job.revision.clone());
        self.known(desk, &job.source, &job.shadow);
        let passed = desk.waiting.insert(app.clone(), Box::new(job));
        let passed = passed.filter(|passed| passed.revision != revision && desk.still_wants(&app, passed));
        if let Some(passed) = passed.map(|passed| passed.revision) {
            self.say(&app, &format!("{passed} is skipped, because {revision} came before it could be compared"));
            if let Some(known) = desk.known.get_mut(&app) {
                known.passed_over += 1;
                self.keep(known);
            }
        }
    }

    /// Compares all waiting versions, including those that come meanwhile. Takes as long as the
    /// other program does.
    pub(super) fn work(&self) {
        let _unless_it_panics = Working(self);
        loop {
            let next = {
                let mut desk = self.desk();
                let next = desk.waiting.pop_first().filter(|_| !self.renderers.is_stopped());
                // Under the same lock: versions enqueued from now on find no running thread.
                desk.working = next.is_some();
                next
            };
            let Some((app, job)) = next else { return };
            if !self.desk().still_wants(&app, &job) {
                continue;
            }
            let outcome = self.compared(&job);
            self.note(&app, &job, outcome);
        }
    }

    /// Returns the state of an app's shadow.
    pub(super) fn standing(&self, source: &AppSource, shadow: &Shadow) -> ShadowStanding {
        let mut desk = self.desk();
        let known = self.known(&mut desk, source, shadow);
        let different = known.different().map(|one| ShadowedVersion {
            revision: one.revision.clone(),
            at: one.at,
            differences: one.differences.clone(),
        });
        let standing = ShadowStanding {
            renderer: known.digest.clone(),
            versions: shadow.versions.get(),
            compared: known.compared.len(),
            passed_over: known.passed_over,
            refused_by_both: known.refused,
            different: different.collect(),
            trouble: None,
        };
        // Last, because a changed program has removed both the earlier comparisons and their
        // problem.
        ShadowStanding { trouble: desk.troubles.get(&source.app).cloned(), ..standing }
    }

    /// Forgets the apps that no longer have a shadow.
    pub(super) fn keep_only(&self, apps: &BTreeSet<&AppId>) {
        let mut desk = self.desk();
        desk.waiting.retain(|app, _| apps.contains(app));
        desk.known.retain(|app, _| apps.contains(app));
        desk.troubles.retain(|app, _| apps.contains(app));
        self.shelf.keep_only(apps.iter().copied());
    }

    /// Returns the result of a comparison, or the reason why it failed.
    fn compared(&self, job: &Job) -> Result<Outcome, String> {
        let source = &job.source;
        let request = Request {
            inputs: &source.inputs,
            parameters: &source.parameters,
            kustomize: &source.kustomize,
            trees: &job.trees,
            check: &|_, _, _| Vec::new(),
            external: Some(self.renderers.as_ref()),
            limits: Limits::default(),
            stop: None,
        };
        let sides = both_sides(&request, job.shadow.digest.as_str()).map_err(|error| told(&error))?;
        Outcome::of(&sides).ok_or_else(|| "none of its inputs is a kustomization".to_owned())
    }

    fn note(&self, app: &AppId, job: &Job, outcome: Result<Outcome, String>) {
        let mut desk = self.desk();
        if desk.known.get(app).is_none_or(|known| !known.is_of(&job.source, &job.shadow)) {
            // Meanwhile, the app has another shadow or none, or is rendered from other inputs: the
            // result is not needed.
            return;
        }
        let outcome = match outcome {
            Ok(outcome) => outcome,
            // The program was stopped, which is not its fault.
            Err(_) if self.renderers.is_stopped() => return,
            Err(error) => {
                let trouble = format!("{} could not be compared: {error}", job.revision);
                self.say(app, &format!("{trouble}; {TRIED_AGAIN}"));
                desk.troubles.insert(app.clone(), trouble);
                return;
            }
        };
        desk.troubles.remove(app);
        let versions = job.shadow.versions.get();
        let known = self.known(&mut desk, &job.source, &job.shadow);
        let (what, lines) = match &outcome {
            Outcome::Alike => ("rendered alike", [].as_slice()),
            Outcome::Different(lines) => ("rendered otherwise by the other program", lines.as_slice()),
            Outcome::Refused(lines) => ("refused by both, and not counted", lines.as_slice()),
        };
        let lines = if lines.is_empty() { String::new() } else { format!(": {}", lines.join("; ")) };
        known.add(&job.revision, self.clock.now(), outcome);
        self.say(app, &format!("{} is {what} ({} of {versions}){lines}", job.revision, known.compared.len()));
        self.keep(known);
        if known.is_over(versions) {
            self.say(app, &known.verdict());
        }
    }

    /// Returns the comparisons with this program so far. Starts over for another program, or if the
    /// app is rendered from other inputs.
    fn known<'d>(&self, desk: &'d mut ComparisonQueue, source: &AppSource, shadow: &Shadow) -> &'d mut Comparisons {
        let app = &source.app;
        let known = desk.known.entry(app.clone()).or_insert_with(|| {
            let read = self.shelf.read(app).unwrap_or_else(|unusable| {
                self.begins_anew(app, &told(&unusable));
                None
            });
            read.unwrap_or_else(|| Comparisons::new(source, shadow))
        });
        if !known.is_of(source, shadow) {
            if known.digest == shadow.digest.as_str() {
                self.begins_anew(app, "it is rendered from other inputs now, or differently by Setpoint");
            }
            *known = Comparisons::new(source, shadow);
            desk.troubles.remove(app);
        }
        known
    }

    fn begins_anew(&self, app: &AppId, why: &str) {
        self.say(app, &format!("earlier comparisons no longer count, and counting starts over: {why}"));
    }

    fn keep(&self, known: &Comparisons) {
        if let Err(error) = self.shelf.write(known) {
            self.say(&known.app, &format!("comparisons are not stored for the next start: {error}"));
        }
    }

    fn say(&self, app: &AppId, line: &str) {
        self.log.with(|| info!(app = %app, "shadow: {line}"));
    }

    fn desk(&self) -> MutexGuard<'_, ComparisonQueue> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Marks the thread as running. If it panics, the next enqueued version starts another one. A
/// thread that ends normally has already cleared the mark, and another one may be running.
struct Working<'s>(&'s Shadows);

impl Drop for Working<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.desk().working = false;
        }
    }
}
