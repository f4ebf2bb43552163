//! Logs the results of changes: one line for a batch, and one for each failed step.

use std::collections::BTreeMap;

use setpoint_core::intent::Verb;
use setpoint_core::key::Key;
use setpoint_core::modes::Cause;
use setpoint_core::name::AppId;
use setpoint_target::{Outcome, Work};
use tracing::{debug, info, warn};

use crate::log::Log;

/// The most failed steps of a batch that have a line of their own: a target that fails fails for
/// all of them.
const MOST_FAILURES: usize = 20;
/// The most objects that one line names.
const MOST_NAMED: usize = 5;

/// The steps of one batch. They belong to one app.
pub(super) struct Batch {
    app: Option<AppId>,
    steps: Vec<(Key, Verb, Cause)>,
}

impl Batch {
    pub(super) fn of(work: &[Work]) -> Self {
        let step = |Work { step, .. }: &Work| (step.key.clone(), step.verb, step.cause);
        Self { app: work.first().map(|work| work.step.claim.app.clone()), steps: work.iter().map(step).collect() }
    }

    /// Logs the outcomes, in the order of the steps. `target` is the name of the target.
    pub(super) fn log(self, log: &Log, target: &str, outcomes: &[Outcome]) {
        let Some(app) = &self.app else { return };
        let app = app.to_string();
        log.with(|| {
            let failed = self.log_steps(&app, target, outcomes);
            self.log_sum(&app, target, outcomes, failed);
        });
    }

    /// Logs each failed step, up to a limit, and returns the number of failed steps.
    fn log_steps(&self, app: &str, target: &str, outcomes: &[Outcome]) -> usize {
        let mut failed = 0;
        for ((key, verb, cause), outcome) in self.steps.iter().zip(outcomes) {
            let (message, reason) = match outcome {
                Outcome::Done { .. } => {
                    debug!(app, target, object = %key, change = %verb, cause = %cause, "changed");
                    continue;
                }
                Outcome::Refused { refusal } => ("change failed", &refusal.detail),
                Outcome::Unknown { detail } => ("the outcome of a change is unknown", detail),
            };
            failed += 1;
            if failed <= MOST_FAILURES {
                warn!(app, target, object = %key, change = %verb, reason, "{message}");
            }
        }
        failed
    }

    fn log_sum(&self, app: &str, target: &str, outcomes: &[Outcome], failed: usize) {
        let done = || {
            let both = self.steps.iter().zip(outcomes);
            both.filter(|(_, outcome)| matches!(outcome, Outcome::Done { .. })).map(|(step, _)| step)
        };
        let mut verbs: BTreeMap<&str, u64> = BTreeMap::new();
        for (_, verb, _) in done() {
            *verbs.entry(name(*verb)).or_default() += 1;
        }
        let [created, updated, deleted] = [Verb::Create, Verb::Update, Verb::Delete].map(|verb| verbs.get(name(verb)));
        match failed {
            0 => info!(app, target, created, updated, deleted, "changes made"),
            _ => warn!(app, target, created, updated, deleted, failed = failed as u64, "changes failed"),
        }
        let healed: Vec<String> =
            done().filter(|(.., cause)| *cause == Cause::Drift).map(|(key, ..)| key.to_string()).collect();
        if !healed.is_empty() {
            let keys = healed.iter().take(MOST_NAMED).cloned().collect::<Vec<_>>().join(", ");
            info!(app, target, objects = healed.len() as u64, keys, "drift healed");
        }
    }
}

fn name(verb: Verb) -> &'static str {
    match verb {
        Verb::Create => "created",
        Verb::Update => "updated",
        Verb::Delete => "deleted",
    }
}

#[cfg(test)]
mod tests {
    use setpoint_target::{Refusal, RefusalClass};

    use super::*;
    use crate::log::CollectedLines;

    fn logged(steps: Vec<(Key, Verb, Cause)>, outcomes: &[Outcome]) -> Vec<String> {
        let lines = CollectedLines::default();
        let batch = Batch { app: Some("web/shop".parse().unwrap()), steps };
        batch.log(&Log::collecting(&lines), "machine", outcomes);
        lines.all().into_iter().filter(|line| !line.starts_with("DEBUG")).collect()
    }

    fn steps(count: usize, cause: Cause) -> Vec<(Key, Verb, Cause)> {
        (0..count).map(|number| (Key::new("File", "", &format!("/{number}")).unwrap(), Verb::Update, cause)).collect()
    }

    #[test]
    fn many_changes_have_one_line() {
        let done = vec![Outcome::Done { live: None }; 500];
        assert_eq!(
            logged(steps(500, Cause::Declared), &done),
            ["INFO  changes made app=web/shop target=machine updated=500"]
        );
    }

    #[test]
    fn a_healed_object_is_named() {
        let lines = logged(steps(1, Cause::Drift), &[Outcome::Done { live: None }]);
        assert_eq!(lines[1..], ["INFO  drift healed app=web/shop target=machine objects=1 keys=\"File /0\""]);
    }

    #[test]
    fn a_failed_step_has_its_reason_and_very_many_do_not_flood_the_log() {
        let detail = "the directory /etc does not exist".to_owned();
        let refusal = Refusal { class: RefusalClass::Unready, detail, retry_after: None };
        let lines = logged(steps(500, Cause::Declared), &vec![Outcome::Refused { refusal }; 500]);
        assert_eq!(lines.len(), MOST_FAILURES + 1);
        assert_eq!(
            lines[0],
            "WARN  change failed app=web/shop target=machine object=\"File /0\" change=update reason=\"the directory /etc does not exist\""
        );
        assert_eq!(lines[MOST_FAILURES], "WARN  changes failed app=web/shop target=machine failed=500");
    }
}
