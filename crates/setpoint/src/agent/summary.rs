//! Summaries of apps: the state of each, what is wrong although it may be converged, and the most
//! important fact for a person.

use std::collections::BTreeMap;

use setpoint_api::answer::{AppProblem, AppState, AppSummary, RefusedVersion, SetBack};
use setpoint_core::hold::{Hold, HoldReason};
use setpoint_core::live::Health;
use setpoint_core::modes::Cause;
use setpoint_core::name::AppId;
use setpoint_core::report::{RetentionReason, Why, Withheld};
use setpoint_engine::machine::{AppStatus, Refused};

use super::fleet::{Place, Places};
use crate::show;

/// Returns the summary of an app, without the number of requests for it.
pub(super) fn summary(app: &AppId, status: &AppStatus, places: &Places) -> AppSummary {
    let Place { component, environment, labels } = places.place_of(app);
    AppSummary {
        app: app.clone(),
        component,
        environment,
        labels,
        state: state_of(status),
        problems: problems(status),
        target: status.facts.target.clone(),
        target_name: places.name_of(app, &status.facts.target),
        moved_to: status.moved_to.clone(),
        accepted: status.facts.accepted.clone(),
        health: status.health,
        resources: status.bundle.map_or(0, |(_, resources)| resources),
        drifts: status.drifts.len(),
        remarks: status.remarks.len(),
        withheld: status.report.len(),
        note: note_of(app, status),
        set_back: set_back_of(app, status),
        requests: BTreeMap::new(),
    }
}

fn state_of(status: &AppStatus) -> AppState {
    let facts = &status.facts;
    if facts.retiring {
        AppState::Retiring
    } else if facts.frozen {
        AppState::Frozen
    } else if facts.suspension.is_some() {
        AppState::Suspended
    } else if facts.hold.is_some() {
        AppState::Held
    } else if facts.accepted.is_none() {
        AppState::Waiting
    } else if waits(status).is_some() || status.set_back.is_some() {
        AppState::OutOfSync
    } else if status.unwatched.is_some() {
        AppState::Unknown
    } else if status.converged {
        AppState::Converged
    } else if status.pending {
        AppState::Progressing
    } else if status.report.iter().any(|withheld| matches!(withheld.why, Why::NotSeen { .. })) {
        AppState::Unknown
    } else if status.report.is_empty() && status.health == Health::Degraded {
        AppState::Degraded
    } else if status.report.is_empty() {
        AppState::Progressing
    } else {
        AppState::OutOfSync
    }
}

/// Returns everything that is wrong although the app may be as its accepted version declares.
fn problems(status: &AppStatus) -> Vec<AppProblem> {
    let rewritten = |hold: &Hold| matches!(hold.why, HoldReason::Rewritten { .. });
    [
        (status.refused.is_some(), AppProblem::VersionRefused),
        (status.unrendered.is_some(), AppProblem::VersionNotRendered),
        (status.facts.hold.as_ref().is_some_and(rewritten), AppProblem::HistoryRewritten),
        (status.set_back.is_some(), AppProblem::StoreSetBack),
        (!status.stale.is_empty(), AppProblem::StoreStale),
        (status.report.iter().any(is_delete_withheld), AppProblem::DeletesWithheld),
    ]
    .into_iter()
    .filter_map(|(holds, problem)| holds.then_some(problem))
    .collect()
}

/// Reports whether an object that is no longer declared stays for longer than a moment.
fn is_delete_withheld(Withheld { cause, why, .. }: &Withheld) -> bool {
    let passing = matches!(
        why,
        Why::PerhapsGone
            | Why::HandOver { .. }
            | Why::RetentionReason(
                RetentionReason::FreshRenderPending
                    | RetentionReason::OldObservation
                    | RetentionReason::OthersNotConsidered
            )
    );
    matches!(cause, Cause::Prune | Cause::Retire) && !passing
}

/// Returns the hold of an app. If history was rewritten, it names the revision that the stores offer
/// now: the one at the time of the hold may be gone.
pub(super) fn hold_of(status: &AppStatus) -> Option<Hold> {
    let mut hold = status.facts.hold.clone()?;
    if let (HoldReason::Rewritten { offered, .. }, Some(now)) = (&mut hold.why, &status.offered) {
        offered.clone_from(now);
    }
    Some(hold)
}

/// Returns the newest version, if it is refused.
pub(super) fn refused_of(status: &AppStatus) -> Option<RefusedVersion> {
    let Refused { revision, problem, at } = status.refused.clone()?;
    Some(RefusedVersion { revision, problem, at })
}

/// Returns the most important fact for a person.
fn note_of(app: &AppId, status: &AppStatus) -> Option<String> {
    let facts = &status.facts;
    let refused = status.refused.as_ref().map(|refused| {
        let first = refused.problem.lines().next().unwrap_or_default();
        format!("{} is refused: {first}", refused.revision)
    });
    let hold = hold_of(status).map(|hold| hold.why.to_string());
    let moved =
        status.moved_to.as_ref().map(|to| format!("its target is now {to}, but what it owns is on {}", facts.target));
    let suspension =
        facts.suspension.as_ref().map(|suspension| format!("suspended by {}: {}", suspension.by, suspension.reason));
    let withheld = status.report.first().map(|withheld| format!("{}: {}", withheld.key, withheld.why));
    let stale = status.stale.first().map(|(store, problem)| {
        let then =
            if facts.accepted.is_some() { "the app stays at the accepted version" } else { "no version is accepted" };
        format!("store {store} cannot be read: {problem}; until it can, {then}")
    });
    let unrendered = status.unrendered.as_ref().map(|why| format!("the newest version cannot be rendered now: {why}"));
    let unwatched = status.unwatched.as_ref().map(|unwatched| {
        let (class, since, why) = (&unwatched.class, unwatched.since, &unwatched.why);
        let since = show::time::absolute(since);
        format!("unknown since {since}: changes of {class} are not noticed: {why}")
    });
    let set_back = || set_back_of(app, status).map(|set_back| set_back.to_string());
    let versions = suspension.or(hold).or(refused).or(unrendered).or_else(set_back);
    moved.or(versions).or(withheld).or(unwatched).or_else(|| waits(status)).or(stale)
}

/// Returns the older version that the stores of an app have now, and the command that follows it.
pub(crate) fn set_back_of(app: &AppId, status: &AppStatus) -> Option<SetBack> {
    let (offered, accepted) = (status.set_back.clone()?, status.facts.accepted.as_ref()?);
    let version = offered.moved_from(&accepted.revision)?;
    // Versions are hexadecimal, so any index is a boundary. This prefix identifies one.
    let commit = &version.as_str()[..version.as_str().len().min(12)];
    let command = format!("setpoint release {app} --accept {commit} --reason …");
    Some(SetBack { offered, command })
}

/// Returns a note if an accepted version is not in effect yet, although no one has pinned the app.
fn waits(status: &AppStatus) -> Option<String> {
    let (accepted, held) = (status.facts.accepted.as_ref()?, status.bundle?.0);
    let waits = accepted.bundle != held && status.facts.hold.is_none() && !status.facts.retiring;
    let revision = &accepted.revision;
    waits.then(|| format!("{revision} is accepted and waits: in manual mode for `setpoint sync`, else for its window"))
}
