//! A plan: the steps that Setpoint would take, and why it does not take others.

use setpoint_api::answer::{AppPlan, PlanStep};
use setpoint_core::intent::Verb;
use setpoint_core::report::{Setback, Why};
use setpoint_core::time::Timestamp;

use super::super::difference::Change;
use super::super::marks::{Mark, Tone};
use super::super::{moment, words};
use super::obstacles::{Obstacle, withheld};

/// The most steps that are shown. The command line shows all of them.
const MOST_STEPS: usize = 200;

/// A plan as a page shows it.
#[derive(Clone, Debug)]
pub(super) struct PlanPanel {
    pub(super) revision: String,
    pub(super) summary: String,
    /// The conditions that keep the steps from being taken now.
    pub(super) obstacles: Vec<Mark>,
    pub(super) steps: Vec<StepRow>,
    pub(super) more: usize,
    pub(super) deletes: usize,
    pub(super) report: Vec<Obstacle>,
}

/// One step.
#[derive(Clone, Debug)]
pub(super) struct StepRow {
    pub(super) verb: Mark,
    pub(super) object: String,
    pub(super) cause: String,
    pub(super) changes: Vec<Change>,
    pub(super) notes: Vec<Mark>,
}

impl PlanPanel {
    pub(super) fn of(plan: &AppPlan, now: Timestamp) -> Self {
        Self {
            revision: plan.revision.as_ref().map_or_else(String::new, ToString::to_string),
            summary: summary(plan),
            obstacles: obstacles(plan, now),
            steps: plan.steps.iter().take(MOST_STEPS).map(|step| StepRow::of(step, now)).collect(),
            more: plan.steps.len().saturating_sub(MOST_STEPS),
            deletes: plan.steps.iter().filter(|step| step.verb == Verb::Delete).count(),
            report: withheld(&plan.report, now),
        }
    }
}

impl StepRow {
    fn of(step: &PlanStep, now: Timestamp) -> Self {
        let wait = |why: &Why| match why {
            Why::BackingOff { setback: Setback::Failure { .. }, .. } => {
                Mark::bad(format!("Failed: {}", words::reason(why, now)))
            }
            _ => Mark::new(Tone::Mute, "clock", format!("Waits: {}", words::reason(why, now))),
        };
        let refused = step.refused.iter().map(|problem| Mark::bad(format!("The target would refuse it: {problem}")));
        Self {
            verb: verb(step.verb),
            object: step.key.to_string(),
            cause: step.cause.to_string(),
            changes: step.differences.iter().map(Change::of).collect(),
            notes: step.waits.iter().map(wait).chain(refused).collect(),
        }
    }
}

fn verb(verb: Verb) -> Mark {
    match verb {
        Verb::Create => Mark::new(Tone::Good, "plus", "create"),
        Verb::Update => Mark::new(Tone::Busy, "tilde", "update"),
        Verb::Delete => Mark::new(Tone::Bad, "minus-sign", "delete"),
    }
}

/// Returns `1 to create, 2 to update, 0 to delete; 1 of these waits`.
fn summary(plan: &AppPlan) -> String {
    if plan.steps.is_empty() {
        return "There is nothing to do.".to_owned();
    }
    let count = |verb: Verb| plan.steps.iter().filter(|step| step.verb == verb).count();
    let (create, update, delete) = (count(Verb::Create), count(Verb::Update), count(Verb::Delete));
    let waiting = match plan.steps.iter().filter(|step| !step.waits.is_empty()).count() {
        0 => String::new(),
        1 => "; 1 of these waits".to_owned(),
        some => format!("; {some} of these wait"),
    };
    format!("{create} to create, {update} to update, {delete} to delete{waiting}.")
}

fn obstacles(plan: &AppPlan, now: Timestamp) -> Vec<Mark> {
    let mut found = Vec::new();
    if plan.observed && !plan.steps.is_empty() {
        found.push(Mark::warn("The app is only observed: Setpoint makes none of these changes."));
    }
    found.extend(plan.refused.iter().map(|reason| Mark::bad(format!("Would be refused: {reason}"))));
    if let Some(refused) = &plan.newest_refused {
        found.push(Mark::bad(format!("Version {} is refused: {}", refused.revision, refused.problem)));
    }
    if let Some(suspension) = &plan.suspension {
        let text = format!("Suspended: {}", words::suspension(suspension, now));
        found.push(Mark::new(Tone::Hold, "pause", text));
    }
    if let Some(hold) = &plan.hold {
        found.push(Mark::new(Tone::Hold, "lock", format!("Held: {}", words::hold(hold, now))));
    }
    if let Some(set_back) = &plan.set_back {
        found.push(Mark::warn(format!("Set back: {set_back}")));
    }
    if let Some(opens) = plan.window_opens {
        let text = format!("The window of the app is closed, and opens {}", moment::end(opens, now));
        found.push(Mark::new(Tone::Mute, "clock", text));
    }
    found
}
