//! Words for values that several pages show.

use setpoint_api::answer::{AppState, AppSummary, Tally};
use setpoint_core::facts::Accepted;
use setpoint_core::intent::Verb;
use setpoint_core::live::{Health, Proof, Writer};
use setpoint_core::modes::Cause;
use setpoint_core::name::{TargetIdentity, TargetName, VersionId};
use setpoint_core::report::Why;
use setpoint_core::time::Timestamp;

use super::paint::{Paint, Painted};
use super::time;

fn state(state: AppState) -> Painted {
    let (word, paint) = match state {
        AppState::Converged => ("converged", Paint::Good),
        AppState::Progressing => ("progressing", Paint::Warn),
        AppState::OutOfSync => ("out-of-sync", Paint::Bad),
        AppState::Degraded => ("degraded", Paint::Bad),
        AppState::Suspended => ("suspended", Paint::Warn),
        AppState::Held => ("held", Paint::Warn),
        AppState::Frozen => ("frozen", Paint::Warn),
        AppState::Retiring => ("retiring", Paint::Warn),
        AppState::Waiting => ("waiting", Paint::Warn),
        AppState::Unknown => ("unknown", Paint::Bad),
    };
    Painted::new(word, paint)
}

/// Returns the state of an app with everything else that is wrong.
pub(super) fn condition(AppSummary { state: of, problems, .. }: &AppSummary) -> Painted {
    let Painted { text, paint } = state(*of);
    let paint = if problems.is_empty() || paint == Paint::Bad { paint } else { Paint::Warn };
    let problems: String = problems.iter().map(|problem| format!(", {problem}")).collect();
    Painted::new(format!("{text}{problems}"), paint)
}

/// Returns the state of an app with the first problem, and the number of further ones.
pub(super) fn condition_in_short(summary: &AppSummary) -> Painted {
    let Painted { paint, .. } = condition(summary);
    let Painted { text, .. } = state(summary.state);
    let shown = match summary.problems.as_slice() {
        [] => text,
        [problem] => format!("{text}, {problem}"),
        [problem, more @ ..] => format!("{text}, {problem} +{}", more.len()),
    };
    Painted::new(shown, paint)
}

pub(super) fn health(health: Health) -> Painted {
    let (word, paint) = match health {
        Health::Healthy => ("healthy", Paint::Good),
        Health::Progressing => ("progressing", Paint::Warn),
        Health::Degraded => ("degraded", Paint::Bad),
        Health::Unknown => ("unknown", Paint::Warn),
    };
    Painted::new(word, paint)
}

/// Returns the verb of a step, with a sign that is recognised before the word is read.
pub(super) fn verb(verb: Verb) -> Painted {
    match verb {
        Verb::Create => Painted::new("+ create", Paint::Good),
        Verb::Update => Painted::new("~ update", Paint::Warn),
        Verb::Delete => Painted::new("- delete", Paint::Bad),
    }
}

pub(super) fn writer(writer: &Writer) -> String {
    match writer {
        Writer::Proven(proof) => {
            let Proof { who, acting_as, address, audit_id, how } = &**proof;
            let acting = acting_as.as_ref().map_or_else(String::new, |name| format!(" acting as {name}"));
            let from = address.as_ref().map_or_else(String::new, |address| format!(" from {address}"));
            let audit = audit_id.as_ref().map_or_else(String::new, |id| format!("; audit id {id}"));
            format!("by {who}{acting}{from} ({how}{audit})")
        }
        Writer::Likely { who } => format!("likely by {who}"),
        Writer::Unknown => "by an unknown writer".to_owned(),
    }
}

/// Returns the same for a cause. No one caused a leftover, but a writer still holds it.
pub(super) fn whose(cause: Cause, by: &Writer) -> String {
    match cause {
        Cause::Leftover => format!("held by {}", by.name()),
        _ => writer(by),
    }
}

/// Returns why a change is not made, with the end of the wait if it is known.
pub(crate) fn reason(why: &Why, now: Timestamp) -> String {
    let Some(until) = why.until() else { return why.to_string() };
    let end = time::end(until, now);
    match why {
        Why::RetentionReason(_) => format!("{why}; this ends {end}"),
        _ => format!("{why}; next attempt {end}"),
    }
}

/// Describes a target of which at least half of the requests failed.
pub(super) fn left_alone(until: Timestamp, now: Timestamp) -> Painted {
    let next = match until > now {
        true => format!("the agent pauses, and tries again {}", time::both(until, now)),
        false => "the agent tries again".to_owned(),
    };
    let text = format!(
        "at least half of the requests failed: {next}; nothing is deleted there until everything on it has been read once"
    );
    Painted::new(text, Paint::Bad)
}

/// Returns the beginning of a version's name: enough for a person to distinguish two.
pub(super) fn short(version: &VersionId) -> &str {
    // Names are ASCII: any place is a boundary.
    &version.as_str()[..version.as_str().len().min(12)]
}

/// Returns `prod (kube-0f6a1c52)`, or the identity alone if no document leads to the target.
pub(super) fn target(name: Option<&TargetName>, identity: &TargetIdentity) -> String {
    name.map_or_else(|| identity.to_string(), |name| format!("{name} ({identity})"))
}

/// Returns the beginning of an identity: enough for a person to distinguish two.
pub(super) fn short_identity(identity: &TargetIdentity) -> String {
    let text = identity.as_str();
    let family = text.find('-').map_or(0, |dash| dash + 1);
    text.chars().take(family + 8).collect()
}

/// Returns `#12 platform@3f2a91c0b1de, bundle 8a1c09d2be77`.
pub(super) fn accepted(accepted: &Accepted) -> String {
    let Accepted { bundle, sequence, revision, .. } = accepted;
    format!("#{sequence} {revision}, bundle {}", bundle.short())
}

/// Returns `1 app`, `3 apps`.
pub(super) fn counted(count: usize, word: &str) -> String {
    if count == 1 { format!("1 {word}") } else { format!("{count} {word}s") }
}

/// Returns `12 apply, 3 get`, with the most frequent first.
pub(super) fn tally(tally: &Tally) -> String {
    let mut counts: Vec<_> = tally.iter().collect();
    counts.sort_by_key(|(call, count)| (std::cmp::Reverse(**count), *call));
    counts.into_iter().map(|(call, count)| format!("{count} {call}")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proven_writer_is_named_with_all_that_is_known() {
        let mut proof = Proof {
            who: "jane".into(),
            acting_as: Some("bob".into()),
            address: Some("10.0.0.7".into()),
            audit_id: Some("8d2f".into()),
            how: "delete, 2026-11-16T10:00:01Z".into(),
        };
        let shown = writer(&Writer::Proven(Box::new(proof.clone())));
        assert_eq!(shown, "by jane acting as bob from 10.0.0.7 (delete, 2026-11-16T10:00:01Z; audit id 8d2f)");
        (proof.acting_as, proof.address, proof.audit_id) = (None, None, None);
        assert_eq!(writer(&Writer::Proven(Box::new(proof))), "by jane (delete, 2026-11-16T10:00:01Z)");
    }
}
