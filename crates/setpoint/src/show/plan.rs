//! The page of `setpoint plan`.

use setpoint_api::answer::{AppPlan, PlanAnswer, PlanStep, RefusedVersion};
use setpoint_core::hold::HoldReason;
use setpoint_core::intent::Verb;
use setpoint_core::report::{Setback, Why, Withheld};

use super::app::{hold, suspension};
use super::difference::difference;
use super::page::Page;
use super::paint::{Paint, Painted};
use super::{Screen, time, words};

pub(crate) fn plan(answer: &PlanAnswer, screen: &Screen) -> String {
    let mut page = Page::new(screen);
    let has_nothing_to_do = |app: &AppPlan| app.steps.is_empty() && app.refused.is_empty() && app.report.is_empty();
    let quiet = |app: &&AppPlan| has_nothing_to_do(app) && !is_behind(app);
    for app in answer.apps.iter().filter(|app| !quiet(app)) {
        app_plan(app, &mut page);
    }
    page.heading(&summary(answer));
    page.into_text()
}

/// Reports whether the stores offer another version, which is not followed.
fn is_behind(plan: &AppPlan) -> bool {
    let rewritten = plan.hold.as_ref().is_some_and(|hold| matches!(hold.why, HoldReason::Rewritten { .. }));
    rewritten || plan.set_back.is_some() || plan.newest_refused.is_some()
}

fn app_plan(plan: &AppPlan, page: &mut Page<'_>) {
    let revision = plan.revision.as_ref().map_or_else(String::new, |revision| format!(" at {revision}"));
    page.heading(&format!("{}{revision}", plan.app));
    if plan.observed && !plan.steps.is_empty() {
        page.line(
            2,
            Painted::new(
                "only observed: the agent would make these changes, but makes none in observe mode",
                Paint::Warn,
            ),
        );
    }
    obstacles(plan, page);
    if let Some(set_back) = &plan.set_back {
        page.line(2, Painted::new(format!("! set back: {set_back}"), Paint::Warn));
    }
    if let Some(RefusedVersion { revision, problem, .. }) = &plan.newest_refused {
        page.line(2, Painted::new(format!("! {revision} is refused: {problem}"), Paint::Bad));
    }
    for reason in &plan.refused {
        page.line(2, Painted::new(format!("refused: {reason}"), Paint::Bad));
    }
    for step in &plan.steps {
        step_lines(step, page);
    }
    for Withheld { key, cause, why } in &plan.report {
        page.line(
            2,
            Painted::new(format!("! not done ({cause}): {key}: {}", words::reason(why, page.screen.now)), Paint::Warn),
        );
    }
}

/// Writes what keeps the app from changes for a while.
fn obstacles(AppPlan { app, hold: held, suspension: suspended, window_opens, .. }: &AppPlan, page: &mut Page<'_>) {
    if let Some(suspended) = suspended {
        page.line(2, Painted::new(format!("! suspended: {}", suspension(suspended, page.screen)), Paint::Warn));
    }
    if let Some(held) = held {
        page.line(2, Painted::new(format!("! held: {}", hold(held, page.screen)), Paint::Warn));
        if let HoldReason::Rewritten { accepted, offered } = &held.why
            && let Some(version) = offered.moved_from(accepted)
        {
            let commit = words::short(version);
            page.line(4, format!("for the changes of the offered version: setpoint plan {app} --rev {commit}"));
        }
    }
    if let Some(opens) = window_opens {
        let opens = time::end(*opens, page.screen.now);
        page.line(2, Painted::new(format!("! its window is closed, and opens {opens}"), Paint::Warn));
    }
}

fn step_lines(step: &PlanStep, page: &mut Page<'_>) {
    let PlanStep { key, verb, cause, differences, waits, refused } = step;
    let Painted { text, paint } = words::verb(*verb);
    page.line(2, Painted::new(format!("{text} {key} ({cause})"), paint));
    for why in waits {
        let (mark, paint) = match why {
            Why::BackingOff { setback: Setback::Failure { .. }, .. } => ("failed", Paint::Bad),
            _ => ("waits", Paint::Warn),
        };
        page.line(6, Painted::new(format!("{mark}: {}", words::reason(why, page.screen.now)), paint));
    }
    for each in differences {
        difference(each, 6, None, page);
    }
    if let Some(problem) = refused {
        page.line(6, Painted::new(format!("the target would refuse it: {problem}"), Paint::Bad));
    }
}

/// Returns `2 apps: 1 to create, 2 to update, 0 to delete; 1 not done`.
fn summary(answer: &PlanAnswer) -> String {
    let steps = || answer.apps.iter().flat_map(|app| &app.steps);
    let withheld: usize = answer.apps.iter().map(|app| app.report.len()).sum();
    let refused = answer.apps.iter().filter(|app| !app.refused.is_empty()).count();
    let count = |verb: Verb| steps().filter(|step| step.verb == verb).count();
    let apps = words::counted(answer.apps.len(), "app");
    let mut text = if steps().next().is_none() {
        format!("{apps}: nothing to do")
    } else {
        let (create, update, delete) = (count(Verb::Create), count(Verb::Update), count(Verb::Delete));
        format!("{apps}: {create} to create, {update} to update, {delete} to delete")
    };
    let observed: usize = answer.apps.iter().filter(|app| app.observed).map(|app| app.steps.len()).sum();
    if observed > 0 {
        text.push_str(&format!("; {observed} only observed"));
    }
    let waiting = steps().filter(|step| !step.waits.is_empty()).count();
    if waiting > 0 {
        text.push_str(&format!("; {waiting} of these {}", if waiting == 1 { "waits" } else { "wait" }));
    }
    let behind = answer.apps.iter().filter(|app| is_behind(app)).count();
    if behind > 0 {
        text.push_str(&format!("; {} not at the version that the stores offer", words::counted(behind, "app")));
    }
    if withheld > 0 {
        text.push_str(&format!("; {withheld} not done"));
    }
    if refused > 0 {
        text.push_str(&format!("; {} would be refused", words::counted(refused, "app")));
    }
    text
}
