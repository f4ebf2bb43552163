//! Common conditions of custom kinds: `Ready`, the problems and the progress that kstatus names
//! (`Stalled`, `Reconciling`) and their relatives, and the one word of `words`. Conditions without
//! a common meaning can count against an object, never for it.

use setpoint_core::live::Health;
use setpoint_core::value::Value;

use super::status::{Condition, Object, State};
use super::words::{self, names_an_error};
use super::{Assessment, Basis, Verdict};

/// Problems that, according to the controller, do not pass without a change.
const GIVEN_UP: [&str; 2] = ["Stalled", "Failed"];
/// Work in progress, whatever else is true.
const AT_WORK: [&str; 2] = ["Reconciling", "Issuing"];
/// Conditions that summarize an object and suffice for health; the first one present counts.
/// `Succeeded` is for kinds that finish.
const SUMMARIES: [&str; 4] = ["Ready", "Succeeded", "Available", "Healthy"];
/// Conditions that must not be false, but do not suffice: an installed provider need not be
/// healthy.
const NEEDED: [&str; 6] = ["Synced", "Installed", "Accepted", "Valid", "Established", "Programmed"];

pub(super) fn judge(object: Object<'_>) -> Assessment {
    if object.is_silent() {
        return Verdict::unknown("its controller has not reported: it has no status").resting_on(Basis::Nothing);
    }
    let conditions: Vec<Condition<'_>> = object.conditions_at("status.conditions").collect();
    if let Some(old) = conditions.iter().find(|condition| is_old(object, **condition)) {
        return Verdict::progressing(format!("{} is about another generation", old.name)).resting_on(Basis::Generation);
    }
    let spoken = spoken(&conditions).or_else(|| nothing_else(object));
    let verdict = match words::judge(object) {
        // A summary may lag behind the word that the controller writes while it works.
        Some(word) if spoken.as_ref().is_none_or(|spoken| spoken.health == Health::Healthy) => Some(word),
        _ => spoken,
    };
    match verdict {
        Some(verdict) => verdict.resting_on(Basis::Conditions),
        None => unspoken(object, &conditions),
    }
}

/// Reports whether a relevant condition is about another generation than the present one.
fn is_old(object: Object<'_>, condition: Condition<'_>) -> bool {
    let lists: [&[&str]; 5] = [&GIVEN_UP, &AT_WORK, &SUMMARIES, &NEEDED, &["Degraded", "Progressing"]];
    lists.iter().any(|names| names.contains(&condition.name))
        && condition.generation.is_some_and(|seen| object.generation().is_some_and(|stands| seen != stands))
}

/// Judges the conditions: problems before progress, progress before success.
fn spoken(conditions: &[Condition<'_>]) -> Option<Verdict> {
    let holds = |names: &[&str]| {
        conditions.iter().find(|condition| names.contains(&condition.name) && condition.state == State::True)
    };
    if let Some(given_up) = holds(&GIVEN_UP) {
        return Some(Verdict::degraded(given_up.told()).for_good());
    }
    if let Some(trouble) = conditions.iter().find(|condition| is_trouble(**condition)) {
        return Some(Verdict::degraded(trouble.told()));
    }
    if let Some(work) = holds(&AT_WORK) {
        return Some(Verdict::progressing(work.told()));
    }
    if let Some(denied) = conditions.iter().find(|condition| is_denied(**condition)) {
        return Some(sum_up(*denied));
    }
    let summary = SUMMARIES.iter().find_map(|name| conditions.iter().find(|condition| condition.name == *name));
    // An `Available` object serves requests, perhaps still in its old version.
    match conditions.iter().find(|condition| is_unfinished(**condition)) {
        Some(rollout) if summary.is_none_or(|summary| summary.name == "Available") => {
            Some(Verdict::progressing(rollout.told()))
        }
        _ => summary.map(|summary| sum_up(*summary)),
    }
}

/// Reports whether a condition is true whose name is an error (`InvalidSpec`), or a rollout has
/// ended in an error.
fn is_trouble(condition: Condition<'_>) -> bool {
    match condition.state {
        State::True => condition.name == "Degraded" || names_an_error(condition.name),
        State::False => condition.name == "Progressing" && names_an_error(condition.reason),
        State::Unknown => false,
    }
}

/// Reports whether a rollout is in progress. `Progressing` stays true afterwards, with a reason
/// that marks the end: `NewReplicaSetAvailable`.
fn is_unfinished(condition: Condition<'_>) -> bool {
    let is_over = ["Available", "Complete", "Completed"].iter().any(|word| condition.reason.ends_with(word));
    condition.name == "Progressing" && condition.state != State::False && !is_over
}

fn is_denied(condition: Condition<'_>) -> bool {
    condition.state == State::False && (SUMMARIES.contains(&condition.name) || NEEDED.contains(&condition.name))
}

fn sum_up(condition: Condition<'_>) -> Verdict {
    match (condition.name, condition.state) {
        ("Succeeded", State::True) => Verdict::healthy(condition.told()).for_good(),
        ("Succeeded", State::False) => Verdict::degraded(condition.told()).for_good(),
        (_, State::True) => Verdict::healthy(condition.told()),
        (_, State::False) if names_an_error(condition.reason) => Verdict::degraded(condition.told()),
        (_, State::False | State::Unknown) => Verdict::progressing(condition.told()),
    }
}

/// A controller that reports this observed generation and nothing else has found no problem.
fn nothing_else(object: Object<'_>) -> Option<Verdict> {
    let generation = object.observed_generation()?;
    match object.at("status") {
        Some(Value::Map(fields)) if fields.len() == 1 => Some(Verdict::healthy(format!(
            "its controller has observed generation {generation} and reports no problem"
        ))),
        _ => None,
    }
}

fn unspoken(object: Object<'_>, conditions: &[Condition<'_>]) -> Assessment {
    let (group, kind) = object.group_and_kind();
    let class = if group.is_empty() { kind.to_owned() } else { format!("{group}/{kind}") };
    let names: Vec<&str> = conditions.iter().map(|condition| condition.name).collect();
    let said = words::word(object).map(|(field, word)| format!("`{field}: {word}`"));
    let said = said.unwrap_or_else(|| if names.is_empty() { "no condition".to_owned() } else { names.join(", ") });
    Verdict::unknown(format!("its status ({said}) is not understood: define its health with expressions for {class}"))
        .resting_on(Basis::Nothing)
}
