//! Apps whose versions another program renders, too: what it does otherwise is remembered, said and
//! shown, and never acted on.
//!
//! Ours is rendered and judged first. Then the version waits here, one for each app, for the one
//! thread that compares; a newer one takes its place. What came of each is a small file for each
//! app, which may be lost: then it is counted from the start again.

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

use self::outcome::Outcome;
use self::written::{ComparisonFiles, Comparisons};
use super::log::Log;
use super::renderers::Renderers;
use crate::complaint::told;
use crate::doors::Clock;
use crate::sides::TRIED_AGAIN;

/// A version that was rendered by us.
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
    log: Arc<dyn Log>,
    desk: Mutex<ComparisonQueue>,
}

#[derive(Debug, Default)]
struct ComparisonQueue {
    waiting: BTreeMap<AppId, Box<Job>>,
    /// Somebody works through those that wait.
    working: bool,
    known: BTreeMap<AppId, Comparisons>,
    /// Why the last comparison of an app came to nothing.
    troubles: BTreeMap<AppId, String>,
}

impl ComparisonQueue {
    /// Whether a version that was taken is to be compared by now: the app may have another shadow,
    /// or none, it may be rendered from something else, and the version may have been taken again
    /// while it was compared.
    fn still_wants(&self, app: &AppId, job: &Job) -> bool {
        let Job { source, shadow, revision, .. } = job;
        self.known.get(app).is_some_and(|known| {
            known.is_of(source, shadow) && !known.is_over(shadow.versions.get()) && !known.has(revision)
        })
    }
}

impl Shadows {
    pub(super) fn new(folder: PathBuf, renderers: Arc<Renderers>, clock: Clock, log: Arc<dyn Log>) -> Self {
        Self { shelf: ComparisonFiles { folder }, renderers, clock, log, desk: Mutex::default() }
    }

    /// Whether a version of an app is still to be compared.
    pub(super) fn wants(&self, source: &AppSource, shadow: &Shadow, revision: &Revision) -> bool {
        let mut desk = self.desk();
        let known = self.known(&mut desk, source, shadow);
        !known.is_over(shadow.versions.get()) && !known.has(revision)
    }

    /// Takes a version. Whether whoever asks has to see to it that [`Shadows::work`] is called.
    pub(super) fn take(&self, job: Job) -> bool {
        let mut desk = self.desk();
        self.put(&mut desk, job);
        !std::mem::replace(&mut desk.working, true)
    }

    /// The same for the version that was accepted last, which others may have followed: one that
    /// waits is not passed over for it.
    pub(super) fn take_accepted(&self, job: Job) -> bool {
        let mut desk = self.desk();
        self.known(&mut desk, &job.source, &job.shadow);
        let app = &job.source.app;
        if !desk.waiting.get(app).is_some_and(|waiting| desk.still_wants(app, waiting)) {
            self.put(&mut desk, job);
        }
        !std::mem::replace(&mut desk.working, true)
    }

    /// Lets a version wait, in the place of the one that does.
    fn put(&self, desk: &mut ComparisonQueue, job: Job) {
        let (app, revision) = (job.source.app.clone(), job.revision.clone());
        self.known(desk, &job.source, &job.shadow);
        let passed = desk.waiting.insert(app.clone(), Box::new(job));
        let passed = passed.filter(|passed| passed.revision != revision && desk.still_wants(&app, passed));
        if let Some(passed) = passed.map(|passed| passed.revision) {
            self.say(&app, &format!("{passed} is passed over, because {revision} came before it could be compared"));
            if let Some(known) = desk.known.get_mut(&app) {
                known.passed_over += 1;
                self.keep(known);
            }
        }
    }

    /// Works through what waits, and through what comes meanwhile. Takes as long as the other
    /// program does.
    pub(super) fn work(&self) {
        let _unless_it_panics = Working(self);
        loop {
            let next = {
                let mut desk = self.desk();
                let next = desk.waiting.pop_first().filter(|_| !self.renderers.is_stopped());
                // Under the same lock: what is taken from now on finds nobody who works.
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

    /// How an app's shadow stands.
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
        // Last: trouble with a program that the app no longer names went with what was compared
        // with it.
        ShadowStanding { trouble: desk.troubles.get(&source.app).cloned(), ..standing }
    }

    /// Forgets those of apps that have none any more.
    pub(super) fn keep_only(&self, apps: &BTreeSet<&AppId>) {
        let mut desk = self.desk();
        desk.waiting.retain(|app, _| apps.contains(app));
        desk.known.retain(|app, _| apps.contains(app));
        desk.troubles.retain(|app, _| apps.contains(app));
        self.shelf.keep_only(apps.iter().copied());
    }

    /// What came of a version; or why nobody knows.
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
            // The app has another by now, or none, or is rendered from something else: nobody asks
            // any more.
            return;
        }
        let outcome = match outcome {
            Ok(outcome) => outcome,
            // It is stopped, and not its fault.
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
        let lines: String = lines.iter().map(|line| format!("\n  {line}")).collect();
        known.add(&job.revision, self.clock.now(), outcome);
        self.say(app, &format!("{} is {what} ({} of {versions}){lines}", job.revision, known.compared.len()));
        self.keep(known);
        if known.is_over(versions) {
            self.say(app, &known.verdict());
        }
    }

    /// What was compared so far with this program; that of another, or of an app that was rendered
    /// from something else, is begun anew.
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
                self.begins_anew(app, "it is rendered from something else by now, or otherwise by us");
            }
            *known = Comparisons::new(source, shadow);
            desk.troubles.remove(app);
        }
        known
    }

    fn begins_anew(&self, app: &AppId, why: &str) {
        self.say(app, &format!("what was compared before is not used any more, and is counted anew: {why}"));
    }

    fn keep(&self, known: &Comparisons) {
        if let Err(error) = self.shelf.write(known) {
            self.say(&known.app, &format!("what was compared is not kept for the next start: {error}"));
        }
    }

    fn say(&self, app: &AppId, line: &str) {
        self.log.say(&format!("shadow of {app}: {line}"));
    }

    fn desk(&self) -> MutexGuard<'_, ComparisonQueue> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Somebody works through what waits. If a panic ends that, the next one who takes a version has
/// somebody work again; who ends by himself has said so, and another may be at it already.
struct Working<'s>(&'s Shadows);

impl Drop for Working<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.desk().working = false;
        }
    }
}
