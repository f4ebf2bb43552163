//! Reports: everything that a plan does *not* do, each with a typed reason. "Why is nothing
//! happening?" always has an answer.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::boundary::Lacking;
use crate::intent::IntentId;
use crate::key::Key;
use crate::modes::{Cause, State};
use crate::name::AppId;
use crate::observed::UnknownReason;
use crate::time::Timestamp;

/// A difference that is not acted on, with the reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Withheld {
    /// The resource in question.
    pub key: Key,
    pub cause: Cause,
    pub why: Why,
}

/// The reason why a change is withheld. Every variant states what would let it happen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "why", rename_all = "kebab-case")]
pub enum Why {
    #[error("the app is {state}")]
    State { state: State },
    #[error("its state is unknown: {reason}")]
    NotSeen { reason: UnknownReason },
    #[error("it seems to be gone, but the target may lag behind; it will be observed again")]
    PerhapsGone,
    #[error(
        "it has a time to live, was created as declared, and is gone: it counts as ended, although its end was not observed and it may have been deleted before. To run it again, change its declaration"
    )]
    NotSeenToEnd,
    #[error("the outcome of an earlier change ({intent}) is not known yet; Setpoint is finding it out")]
    OpenIntent { intent: IntentId },
    #[error("{setback}")]
    BackingOff { until: Timestamp, setback: Setback },
    #[error("app {app} owns it and still declares it: remove it from one of the two")]
    OwnedByOther { app: AppId },
    #[error("the app's scope may not write it: {0}")]
    OutsideScope(Lacking),
    #[error("it exists and is not ours: set `sync.adopt: true` to take it over, or remove it")]
    NotOurs,
    #[error("{}", being_deleted(finalizers))]
    Deleting { finalizers: Arc<[Arc<str>]> },
    #[error("another object of the target controls it: change that one instead")]
    Controlled,
    #[error("waiting for the target to confirm that it can be taken over")]
    PreviewPending,
    #[error("the target would refuse the change: {problem}")]
    PreviewRefused { problem: String },
    #[error("it cannot be changed in place: {problem}")]
    Immutable { problem: String, until: Timestamp },
    #[error(
        "it cannot be changed in place: {problem}. To have it deleted and created again, name it in `sync.replace`"
    )]
    ReplaceNotAllowed { problem: String, until: Timestamp },
    #[error("waiting for the target to confirm that it can be created again; until then it stays")]
    ReplacementPending,
    #[error("it stays, because the target would not accept the new one: {problem}")]
    ReplacementRefused { problem: String, until: Timestamp },
    #[error("it waits for {key}, which is not in place")]
    DependencyNotReady { key: Key },
    #[error("it waits for {key} to be healthy")]
    DependencyNotHealthy { key: Key },
    #[error("it waits for wave {wave}: {key} is not in place or not healthy")]
    EarlierWave { wave: i32, key: Key },
    #[error("it waits for app {app} to converge")]
    AppNotReady { app: AppId },
    #[error("app {app} declares it now and will take it over")]
    HandOver { app: AppId },
    #[error(
        "it would have to be deleted and created again, but app {app} declares it too: remove it from one of the two"
    )]
    DeclaredElsewhere { app: AppId },
    #[error("not deleted: {0}")]
    RetentionReason(#[from] RetentionReason),
}

/// The event after which a resource is left alone for a while.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "kebab-case")]
pub enum Setback {
    /// The last change failed. The problem is the target's own text.
    #[error("{problem}")]
    Failure { problem: Arc<str> },
    #[error(
        "another writer keeps changing it, so Setpoint corrects it ever more slowly: `setpoint drift` names the writer"
    )]
    Fight,
}

impl Why {
    /// Reports whether the change only waits for another object or app, which has the reason that a
    /// person needs.
    pub fn is_consequence(&self) -> bool {
        matches!(
            self,
            Self::DependencyNotReady { .. }
                | Self::DependencyNotHealthy { .. }
                | Self::EarlierWave { .. }
                | Self::AppNotReady { .. }
                | Self::RetentionReason(RetentionReason::OtherChangesFirst | RetentionReason::DependentStands)
        )
    }

    /// Returns the time of the next attempt, or the end of the wait, if it is known.
    pub fn until(&self) -> Option<Timestamp> {
        match self {
            Self::BackingOff { until, .. }
            | Self::Immutable { until, .. }
            | Self::ReplaceNotAllowed { until, .. }
            | Self::ReplacementRefused { until, .. }
            | Self::RetentionReason(RetentionReason::Quarantine { until }) => Some(*until),
            _ => None,
        }
    }
}

fn being_deleted(finalizers: &[Arc<str>]) -> String {
    if finalizers.is_empty() {
        return "the target accepted the delete and is still removing it".to_owned();
    }
    format!(
        "the target accepted the delete; the object remains until its finalizers are removed: {}. If it stays, check the controllers that set them",
        finalizers.join(", ")
    )
}

/// The reason why an object of ours that is no longer declared is retained. One variant per guard;
/// each guard exists because of an incident.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "guard", rename_all = "kebab-case")]
pub enum RetentionReason {
    #[error("pruning is off for this app (`sync.prune: false`)")]
    PruneOff,
    #[error("the app declares nothing at all; an empty render never prunes. To remove the app set `spec.retire: true`")]
    EmptyBundle,
    #[error("some of the app's objects could not be observed")]
    IncompleteObservation,
    #[error("the last observation is too old")]
    OldObservation,
    #[error("deletes are withheld for a while after installation")]
    Quarantine { until: Timestamp },
    #[error("the target failed too often; a complete observation of it is needed first")]
    BreakerOpen,
    #[error("other changes of the app come first; prune is last")]
    OtherChangesFirst,
    #[error("it was not created by this app, or was replaced: run `setpoint sync --allow-prune` to delete it")]
    Adopted,
    #[error("its claim was rebuilt after a loss of the ledger: run `setpoint release` first")]
    Recovered,
    #[error("another object of the target controls it: delete that one instead")]
    Controlled,
    #[error(
        "deleting it would delete other objects with it (protected): run `setpoint sync --allow-prune` with a reason"
    )]
    Protected,
    #[error("the app's budget of {budget} deletes a day is spent ({spent} used): run `setpoint sync --allow-prune`")]
    OverBudget { budget: u32, spent: u32 },
    #[error(
        "the fleet's budget of {budget} deletes an hour is spent ({spent} used): wait, or run `setpoint sync --allow-prune`"
    )]
    OverFleetBudget { budget: u32, spent: u32 },
    #[error("an object that depends on it still exists")]
    DependentStands,
    #[error("another app may be about to declare it: the stores' heads are still being rendered")]
    OthersNotConsidered,
    #[error("waiting for a fresh render from the store")]
    FreshRenderPending,
    #[error("a fresh render from the store differs from the accepted bundle; the store is read again")]
    FreshRenderDiffers,
}
