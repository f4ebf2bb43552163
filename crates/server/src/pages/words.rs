//! Words for values that several pages show. The command line uses the same words.

use std::borrow::Borrow;

use setpoint_api::answer::{AppProblem, AppState, AppSummary, Tally};
use setpoint_core::hold::{Hold, HoldReason, Suspension};
use setpoint_core::key::Key;
use setpoint_core::live::{Health, Writer};
use setpoint_core::modes::Cause;
use setpoint_core::name::{TargetIdentity, TargetName, VersionId};
use setpoint_core::report::Why;
use setpoint_core::time::Timestamp;
use setpoint_core::version::Revision;

use super::marks::{Mark, Tone};
use super::moment;

/// All states, worst first.
pub(crate) const STATES: [AppState; 10] = [
    AppState::Degraded,
    AppState::OutOfSync,
    AppState::Unknown,
    AppState::Frozen,
    AppState::Held,
    AppState::Suspended,
    AppState::Waiting,
    AppState::Progressing,
    AppState::Retiring,
    AppState::Converged,
];

pub(crate) fn state_word(state: AppState) -> &'static str {
    match state {
        AppState::Converged => "converged",
        AppState::Progressing => "progressing",
        AppState::OutOfSync => "out-of-sync",
        AppState::Degraded => "degraded",
        AppState::Suspended => "suspended",
        AppState::Held => "held",
        AppState::Frozen => "frozen",
        AppState::Retiring => "retiring",
        AppState::Waiting => "waiting",
        AppState::Unknown => "unknown",
    }
}

fn state_look(state: AppState) -> (Tone, &'static str) {
    match state {
        AppState::Converged => (Tone::Good, "check"),
        AppState::Progressing => (Tone::Busy, "ring"),
        AppState::OutOfSync => (Tone::Warn, "diamond"),
        AppState::Degraded => (Tone::Bad, "triangle"),
        AppState::Suspended => (Tone::Hold, "pause"),
        AppState::Held => (Tone::Hold, "lock"),
        AppState::Frozen => (Tone::Hold, "hexagon"),
        AppState::Retiring => (Tone::Mute, "minus"),
        AppState::Waiting => (Tone::Mute, "dash"),
        AppState::Unknown => (Tone::Warn, "question"),
    }
}

/// Reports whether an app is converged, healthy, and has no problem, drift or note.
pub(crate) fn is_quiet(app: &AppSummary) -> bool {
    let quiet = app.state == AppState::Converged && app.health == Health::Healthy && app.drifts == 0;
    quiet && app.problems.is_empty() && app.note.is_none()
}

/// Returns the state of an app. A converged app with a problem has the tone and shape of a problem.
pub(crate) fn condition(app: &AppSummary) -> Mark {
    let (tone, icon) = condition_look(app);
    Mark::new(tone, icon, state_word(app.state))
}

/// Returns the tone and the shape of [`condition`].
pub(crate) fn condition_look(app: &AppSummary) -> (Tone, &'static str) {
    match app.state {
        AppState::Converged if !app.problems.is_empty() => (Tone::Warn, "alert"),
        other => state_look(other),
    }
}

/// Returns the place of an app in lists that show the worst first.
pub(crate) fn severity(app: &AppSummary) -> usize {
    let rank = STATES.iter().position(|state| *state == app.state).unwrap_or_default();
    match app.state {
        // Problems of a converged app come after states that stop the app.
        AppState::Converged if !app.problems.is_empty() => 6,
        AppState::Converged if !is_quiet(app) => 10,
        AppState::Converged => 11,
        _ if rank >= 6 => rank + 1,
        _ => rank,
    }
}

pub(crate) fn problems(problems: &[AppProblem]) -> String {
    problems.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

pub(crate) fn health_word(health: Health) -> &'static str {
    match health {
        Health::Healthy => "healthy",
        Health::Progressing => "progressing",
        Health::Degraded => "degraded",
        Health::Unknown => "unknown",
    }
}

pub(crate) fn health(health: Health) -> Mark {
    let (tone, icon) = match health {
        Health::Healthy => (Tone::Good, "check"),
        Health::Progressing => (Tone::Busy, "ring"),
        Health::Degraded => (Tone::Bad, "triangle"),
        Health::Unknown => (Tone::Warn, "question"),
    };
    Mark::new(tone, icon, health_word(health))
}

/// Returns a name for a writer, with the strength of the evidence.
pub(crate) fn writer(writer: &Writer) -> String {
    match writer {
        Writer::Proven(proof) => {
            let acting = proof.acting_as.as_ref().map_or_else(String::new, |name| format!(" acting as {name}"));
            let from = proof.address.as_ref().map_or_else(String::new, |address| format!(" from {address}"));
            let audit = proof.audit_id.as_ref().map_or_else(String::new, |id| format!("; audit id {id}"));
            format!("by {}{acting}{from} ({}{audit})", proof.who, proof.how)
        }
        Writer::Likely { who } => format!("likely by {who}"),
        Writer::Unknown => "by an unknown writer".to_owned(),
    }
}

/// Returns the same for a cause. No one caused a leftover, but a writer still holds it.
pub(crate) fn whose(cause: Cause, by: &Writer) -> String {
    match cause {
        Cause::Leftover => format!("held by {}", by.name()),
        _ => writer(by),
    }
}

/// Returns why a change is not made, with the end of the wait if it is known.
pub(crate) fn reason(why: &Why, now: Timestamp) -> String {
    let Some(until) = why.until() else { return why.to_string() };
    let end = moment::end(until, now);
    match why {
        Why::RetentionReason(_) => format!("{why}; this ends {end}"),
        _ => format!("{why}; next attempt {end}"),
    }
}

/// Returns why an app is held, and by whom.
pub(crate) fn hold(hold: &Hold, now: Timestamp) -> String {
    let why = match &hold.why {
        HoldReason::Asked { reason } => reason.clone(),
        HoldReason::RolledBack { failed } => format!("#{failed} failed and was rolled back"),
        HoldReason::Rewritten { accepted, offered } if accepted == offered => {
            format!("history was rewritten, or a tag was moved; {accepted}, the accepted version, is offered again")
        }
        HoldReason::Rewritten { accepted, offered } => {
            format!("history was rewritten, or a tag was moved: {accepted} was accepted, {offered} is offered instead")
        }
    };
    format!("{why}; by {}, {}", hold.by, moment::relative(hold.at, now))
}

/// Returns why an app is suspended, by whom, and until when.
pub(crate) fn suspension(suspension: &Suspension, now: Timestamp) -> String {
    let Suspension { reason, by, at, until } = suspension;
    format!("{reason}; by {by}, {}, ends {}", moment::relative(*at, now), moment::end(*until, now))
}

/// Describes a target of which at least half of the requests failed.
pub(crate) fn left_alone(until: Timestamp, now: Timestamp) -> String {
    let next = match until > now {
        true => format!("Setpoint pauses, and tries again {}", moment::end(until, now)),
        false => "Setpoint tries again now".to_owned(),
    };
    format!(
        "At least half of the requests failed: {next}. Nothing is deleted there until everything on it has been read once."
    )
}

/// Returns the beginning of a version's name: enough for a person to distinguish two.
pub(crate) fn short(version: &VersionId) -> &str {
    // Names are ASCII: any place is a boundary.
    &version.as_str()[..version.as_str().len().min(SHORT)]
}

const SHORT: usize = 12;

/// Returns the beginning of the first version of a revision, and the number of further ones.
pub(crate) fn tiny(revision: &Revision) -> String {
    let mut versions = revision.versions();
    let Some(first) = versions.next() else { return String::new() };
    let prefix = &first.as_str()[..first.as_str().len().min(8)];
    match versions.count() {
        0 => prefix.to_owned(),
        more => format!("{prefix} +{more}"),
    }
}

/// Returns the name of a target, or its identity if no document leads to it.
pub(crate) fn target<'a>(name: Option<&'a TargetName>, identity: &'a TargetIdentity) -> &'a str {
    name.map_or_else(|| identity.as_str(), TargetName::as_str)
}

/// Returns `1 app`, `3 apps`, `12,000 apps`.
pub(crate) fn counted(count: impl Borrow<usize>, word: &str) -> String {
    match count.borrow() {
        1 => format!("1 {word}"),
        count => format!("{} {word}s", number(count)),
    }
}

/// Returns a number with separators between thousands.
pub(crate) fn number(count: impl Borrow<usize>) -> String {
    let digits = count.borrow().to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Returns the requests by verb, with the most frequent first.
pub(crate) fn by_frequency(tally: &Tally) -> Vec<(&str, u64)> {
    let mut counts: Vec<_> = tally.iter().map(|(call, count)| (call.as_str(), *count)).collect();
    counts.sort_by_key(|(call, count)| (std::cmp::Reverse(*count), *call));
    counts
}

/// Returns the kind of an object: the last part of its class.
pub(crate) fn kind(key: &Key) -> &str {
    key.class().rsplit('/').next().unwrap_or_default()
}

/// Returns a text with a full stop at its end and its first letter in upper case, unless a name such
/// as `git.example` begins it.
pub(crate) fn sentence(text: &str) -> String {
    let word = text.split(' ').next().unwrap_or_default();
    let is_word = word.trim_end_matches([',', ';', ':']).bytes().all(|byte| byte.is_ascii_lowercase());
    let mut letters = text.chars();
    let first = letters.next().map_or_else(String::new, |first| match is_word {
        true => first.to_uppercase().collect(),
        false => first.to_string(),
    });
    let stop = if text.ends_with(['.', '?', '!', '…']) { "" } else { "." };
    format!("{first}{}{stop}", letters.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_separated() {
        assert_eq!(["0", "999", "1,000", "50,000", "1,234,567"], [0, 999, 1_000, 50_000, 1_234_567].map(number));
        assert_eq!((counted(1, "app"), counted(2, "app")), ("1 app".to_owned(), "2 apps".to_owned()));
    }

    #[test]
    fn a_sentence_begins_with_an_upper_case_letter_and_ends_once() {
        assert_eq!(sentence("history was rewritten"), "History was rewritten.");
        assert_eq!(sentence("Done."), "Done.");
        assert_eq!(sentence("git.example did not respond"), "git.example did not respond.");
        assert_eq!(sentence(""), ".");
    }
}
