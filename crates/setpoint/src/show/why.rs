//! The page of `setpoint why`: every obstacle of an app, each with the way to resolve it.

use std::collections::BTreeMap;

use setpoint_api::answer::{AppDetail, AppState, AppSummary, SetBack};
use setpoint_core::hold::HoldReason;
use setpoint_core::key::Key;
use setpoint_core::report::Withheld;

use super::app::{drifts, hold, remarks, shadow, suspension, unhealthy, unsettled};
use super::page::Page;
use super::paint::{Paint, Painted};
use super::{Screen, time, words};

/// The number of keys that are named per reason; `setpoint get` shows all of them.
const NAMED: usize = 5;

pub(crate) fn why(detail: &AppDetail, screen: &Screen) -> String {
    let mut page = Page::new(screen);
    page.line(0, headline(&detail.summary));
    obstacles(detail, &mut page);
    target(detail, &mut page);
    unhealthy(&detail.unhealthy, &mut page);
    reasons(detail, &mut page);
    drifts(&detail.drifts, &mut page);
    remarks(&detail.remarks, &mut page);
    unsettled(detail, &mut page);
    shadow(detail, &mut page);
    page.into_text()
}

fn headline(summary: &AppSummary) -> Painted {
    let AppSummary { app, state, note, .. } = summary;
    let text = match state {
        AppState::Converged if !summary.problems.is_empty() => {
            "everything that the accepted version declares is in place and healthy"
        }
        AppState::Converged => "everything declared is in place and healthy",
        AppState::Progressing => "it is being changed or observed, or its objects are not healthy yet",
        AppState::OutOfSync => "some objects are not as declared, and are not being changed",
        AppState::Degraded => "everything declared is in place, but not healthy",
        AppState::Suspended => "nothing is written to it for now",
        AppState::Held => "it stays at its bundle until it is released",
        AppState::Frozen if summary.moved_to.is_some() => {
            "nothing of it is changed or deleted; it continues by itself once its target is again the one with its objects"
        }
        AppState::Frozen => {
            "its document is gone from the store; nothing of it is changed or deleted until the document returns or the app is retired"
        }
        AppState::Retiring => "its objects are being deleted",
        AppState::Waiting => "no version of it has been accepted yet",
        AppState::Unknown => "its target could not be observed",
    };
    let Painted { text: word, paint } = words::condition(summary);
    let note = note.as_ref().map_or_else(String::new, |note| format!(" ({note})"));
    Painted::new(format!("{app} is {word}: {text}{note}."), paint)
}

/// Writes the obstacles to the whole app that come from a person or a gate.
fn obstacles(detail: &AppDetail, page: &mut Page<'_>) {
    let app = &detail.summary.app;
    if detail.summary.moved_to.is_some() {
        page.heading("Another target");
        page.line(
            2,
            "the kubeconfig or address of the Target leads to another system, or the App names another Target: correct that",
        );
        page.line(2, "to move it there: retire it first, or declare it under another name");
    }
    if let Some(opens) = detail.window_opens {
        page.heading("Window closed");
        page.line(2, format!("new versions and deletes wait until it opens {}", time::end(opens, page.screen.now)));
    }
    if let Some(suspended) = &detail.suspension {
        page.heading("Suspended");
        page.line(2, suspension(suspended, page.screen));
        page.line(2, format!("to end it now: setpoint resume {app}"));
    }
    if let Some(held) = &detail.hold {
        page.heading("Held");
        page.line(2, hold(held, page.screen));
        page.line(
            2,
            match &held.why {
                HoldReason::Asked { .. } => format!("to release it: setpoint release {app} --reason …"),
                HoldReason::RolledBack { .. } => format!(
                    "it ends when a newer version is accepted; to try the failed one again: setpoint release {app} --reason …"
                ),
                HoldReason::Rewritten { accepted, offered } => {
                    let commit = offered.moved_from(accepted).or(offered.versions().next());
                    let commit = commit.map_or("COMMIT", words::short);
                    format!("find out who rewrote it, then: setpoint release {app} --accept {commit} --reason …")
                }
            },
        );
    }
    if let Some(SetBack { offered, command }) = &detail.summary.set_back {
        page.heading("Set back");
        page.line(
            2,
            Painted::new(format!("the stores offer {offered}, which is older than the accepted version"), Paint::Warn),
        );
        page.line(2, "the branch was reset, or a mirror lags; the accepted version stays in force");
        page.line(2, format!("to follow it: {command}"));
    }
    if let Some(refused) = &detail.refused {
        page.heading("Refused");
        page.line(2, format!("{}, {}", refused.revision, time::both(refused.at, page.screen.now)));
        page.line(2, Painted::new(&refused.problem, Paint::Bad));
        page.line(2, "the version accepted before stays in force; correct the error with a new commit");
    }
}

/// Writes the obstacles at the target.
fn target(detail: &AppDetail, page: &mut Page<'_>) {
    if let Some(why) = &detail.target_degraded {
        page.heading("Degraded");
        page.line(2, Painted::new(why, Paint::Warn));
    }
    if let Some(until) = detail.left_alone_until {
        page.heading("Failing");
        page.line(2, words::left_alone(until, page.screen.now));
    }
}

/// Writes the changes that are not made, grouped by reason: a hundred files that wait for one
/// window are one reason.
fn reasons(detail: &AppDetail, page: &mut Page<'_>) {
    // Failures and decisions first; changes that only wait for these follow.
    let mut reasons: BTreeMap<(bool, String), Vec<&Key>> = BTreeMap::new();
    for Withheld { key, cause, why } in &detail.report {
        let reason = format!("{cause}: {}", words::reason(why, page.screen.now));
        reasons.entry((why.is_consequence(), reason)).or_default().push(key);
    }
    if reasons.is_empty() {
        return;
    }
    page.heading(&format!("Not done: {}", detail.report.len()));
    for ((_, reason), keys) in &reasons {
        page.line(2, Painted::new(reason, Paint::Warn));
        for key in keys.iter().take(NAMED) {
            page.line(4, key.to_string());
        }
        if keys.len() > NAMED {
            let more = keys.len() - NAMED;
            page.line(4, Painted::new(format!("and {more} more: setpoint get {}", detail.summary.app), Paint::Faint));
        }
    }
}
