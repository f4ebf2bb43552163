//! The sentences in the header of an app: is it as declared, since when, who changed it last, and
//! what happens next.

use setpoint_api::answer::{AppDetail, AppState, AppSummary};
use setpoint_core::hold::HoldReason;
use setpoint_core::time::Timestamp;

use super::super::moment;
use super::super::words;

/// Returns whether the app is as declared, and since when.
pub(super) fn condition(detail: &AppDetail) -> String {
    let summary = &detail.summary;
    let text = match summary.state {
        AppState::Converged if !summary.problems.is_empty() => {
            "Everything that the accepted version declares is in place and healthy, but a newer state is not reached"
        }
        AppState::Converged => "Everything declared is in place and healthy",
        AppState::Progressing => "Setpoint is changing it, or observes it for the first time",
        AppState::OutOfSync => "Some objects are not as declared, and Setpoint does not change them",
        AppState::Degraded => "Everything declared is in place, but not all of it is healthy",
        AppState::Suspended => "Setpoint writes nothing to it for now",
        AppState::Held => "It stays at its accepted version until it is released",
        AppState::Frozen if summary.moved_to.is_some() => {
            "Its document leads to another system than the one with its objects, so Setpoint changes nothing"
        }
        AppState::Frozen => "Its document is gone from the store, so Setpoint changes and deletes nothing",
        AppState::Retiring => "Setpoint deletes its objects",
        AppState::Waiting => "No version of it has been accepted yet",
        AppState::Unknown => "Setpoint could not observe its target",
    };
    let note = summary.note.as_ref().filter(|_| summary.state != AppState::Held);
    match note {
        Some(note) => format!("{text}: {note}."),
        None => format!("{text}{}.", deviations(summary)),
    }
}

/// Returns `; 1 object is not as declared`.
fn deviations(summary: &AppSummary) -> String {
    match (summary.drifts, summary.state) {
        (0, _) | (_, AppState::OutOfSync) => String::new(),
        (1, _) => "; 1 object is not as declared".to_owned(),
        (some, _) => format!("; {} are not as declared", words::counted(some, "object")),
    }
}

/// Returns what Setpoint or a person does next.
pub(super) fn next(detail: &AppDetail, now: Timestamp) -> String {
    let until = |at| moment::relative(at, now);
    if let Some(suspension) = &detail.suspension {
        let held = if detail.hold.is_some() { "; it is also held" } else { ", then continues by itself" };
        return format!("Setpoint writes nothing until the suspension ends {}{held}.", until(suspension.until));
    }
    if let Some(hold) = &detail.hold {
        return match &hold.why {
            HoldReason::Asked { .. } => "It follows its store again when a person releases it.".to_owned(),
            HoldReason::RolledBack { .. } => "It continues when a newer version is accepted.".to_owned(),
            HoldReason::Rewritten { .. } => {
                "A person decides which version is right, and releases it with that version.".to_owned()
            }
        };
    }
    if let Some(at) = detail.left_alone_until.filter(|at| *at > now) {
        return format!("Its target failed too often; Setpoint tries again {}.", until(at));
    }
    if let Some(refused) = &detail.refused {
        return format!("Version {} is refused; a new commit has to correct it.", refused.revision);
    }
    if let Some(opens) = detail.window_opens {
        return format!("New versions and deletes wait until its window opens {}.", until(opens));
    }
    if let Some(at) = detail.report.iter().filter_map(|withheld| withheld.why.until()).filter(|at| *at > now).min() {
        return format!("Setpoint makes the next attempt {}.", until(at));
    }
    by_state(detail)
}

fn by_state(detail: &AppDetail) -> String {
    let text = match detail.summary.state {
        AppState::Converged if !detail.report.is_empty() => "Some changes are withheld; the reasons are below.",
        AppState::Converged => "Setpoint follows its store and corrects drift; nothing waits for you.",
        AppState::Progressing => "Setpoint continues until everything declared is in place and healthy.",
        AppState::OutOfSync => "The reasons are below; some of them need a person.",
        AppState::Degraded => "Setpoint keeps it as declared; the unhealthy objects are below.",
        AppState::Frozen => "It continues by itself when its document is correct again, or retire it.",
        AppState::Retiring => "The app disappears from this list when its objects are gone.",
        AppState::Waiting => "Setpoint applies the first version that its store offers and that renders.",
        AppState::Unknown => "Setpoint observes its target again, and changes nothing until that succeeds.",
        AppState::Suspended | AppState::Held => "It continues after an order.",
    };
    text.to_owned()
}

#[cfg(test)]
mod tests {
    use setpoint_api::canned::{CannedAgent, NOON};
    use setpoint_core::time::Span;

    use super::*;

    fn calm() -> AppDetail {
        let agent = CannedAgent::example();
        AppDetail {
            summary: agent.overview.apps[0].clone(),
            hold: None,
            suspension: None,
            refused: None,
            report: Vec::new(),
            left_alone_until: None,
            ..agent.detail
        }
    }

    #[test]
    fn a_converged_app_needs_no_one() {
        assert_eq!(condition(&calm()), "Everything declared is in place and healthy.");
        assert_eq!(next(&calm(), NOON), "Setpoint follows its store and corrects drift; nothing waits for you.");
    }

    #[test]
    fn the_nearest_obstacle_is_named_first() {
        let troubled = CannedAgent::example().detail;
        assert_eq!(
            next(&troubled, NOON),
            "Setpoint writes nothing until the suspension ends in 1 h 50 min; it is also held."
        );
        let held = AppDetail { suspension: None, ..troubled };
        assert_eq!(next(&held, NOON), "A person decides which version is right, and releases it with that version.");
        let paused = AppDetail { left_alone_until: Some(NOON + Span::seconds(20)), ..calm() };
        assert_eq!(next(&paused, NOON), "Its target failed too often; Setpoint tries again in 20 s.");
    }

    #[test]
    fn a_note_explains_the_state() {
        let mut detail = calm();
        detail.summary.state = AppState::Unknown;
        detail.summary.note = Some("connection refused".to_owned());
        assert_eq!(condition(&detail), "Setpoint could not observe its target: connection refused.");
    }
}
