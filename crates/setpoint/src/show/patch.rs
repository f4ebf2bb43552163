//! The page of `setpoint diff`: the live objects against their declarations, as a patch.

use setpoint_api::answer::{AppPlan, PlanAnswer, PlanStep};
use setpoint_core::diff::Difference;
use setpoint_core::intent::Verb;
use setpoint_core::report::Withheld;
use setpoint_core::value::Value;

use super::difference::patch_of_texts;
use super::page::Page;
use super::paint::{Paint, Painted};
use super::{Screen, words};

/// The side of an object that does not exist.
const ABSENT: &str = "(absent)";

pub(crate) fn patch(answer: &PlanAnswer, screen: &Screen) -> String {
    let mut page = Page::new(screen);
    for plan in &answer.apps {
        for reason in &plan.refused {
            page.heading(&plan.app.to_string());
            page.line(0, Painted::new(format!("refused: {reason}"), Paint::Bad));
        }
        plan.steps.iter().for_each(|step| object(plan, step, &mut page));
        for Withheld { key, cause, why } in &plan.report {
            page.heading(&format!("{} {key}", plan.app));
            let text = format!("not changed ({cause}): {}", words::reason(why, page.screen.now));
            page.line(0, Painted::new(text, Paint::Warn));
        }
    }
    page.into_text()
}

fn object(plan: &AppPlan, step: &PlanStep, page: &mut Page<'_>) {
    let PlanStep { key, verb, cause, differences, refused, .. } = step;
    page.heading(&format!("{} {key} ({cause})", plan.app));
    let declared = plan.revision.as_ref().map_or_else(|| "declared".to_owned(), |at| format!("declared at {at}"));
    let (live, declared) = match verb {
        Verb::Create => (ABSENT, declared.as_str()),
        Verb::Update => ("live", declared.as_str()),
        Verb::Delete => ("live", ABSENT),
    };
    page.line(0, Painted::new(format!("--- {live}"), Paint::Bad));
    page.line(0, Painted::new(format!("+++ {declared}"), Paint::Good));
    differences.iter().for_each(|difference| field(difference, page));
    if let Some(problem) = refused {
        page.line(0, Painted::new(format!("the target would refuse the change: {problem}"), Paint::Bad));
    }
}

fn field(difference: &Difference, page: &mut Page<'_>) {
    let Difference { path, before, after } = difference;
    // The object as a whole: the two headers say it.
    if path.0.is_empty() && (before.is_none() || after.is_none()) {
        return;
    }
    if patch_of_texts(difference, page) {
        return;
    }
    page.line(0, Painted::new(format!("@@ {path} @@"), Paint::Faint));
    side('-', before.as_ref(), Paint::Bad, page);
    side('+', after.as_ref(), Paint::Good, page);
}

/// Writes one side of a value. Secrets are digests here, as in the JSON output.
fn side(mark: char, value: Option<&Value>, paint: Paint, page: &mut Page<'_>) {
    let Some(value) = value else { return };
    let text = serde_json::to_string_pretty(value).expect("values are texts, numbers, lists and maps");
    text.lines().for_each(|line| page.verbatim(0, mark, &setpoint_yaml::visible_text(line), paint));
}
