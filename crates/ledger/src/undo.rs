//! Applies the changes of a batch reversibly: if one change does not fit, the others leave no
//! trace.

use std::sync::Arc;

use setpoint_core::claim::Claim;
use setpoint_core::facts::{AppFacts, Change, Facts, Misfit};
use setpoint_core::intent::{Intent, IntentEnd, IntentId};
use setpoint_core::key::Key;
use setpoint_core::name::{AppId, TargetIdentity};

use crate::record::Entry;

/// The steps that revert applied changes; the last change is reverted first.
#[derive(Debug, Default)]
#[must_use = "a batch that is not recorded must be taken back"]
pub struct Undo(Vec<Step>);

/// The state before one change.
#[derive(Debug)]
enum Step {
    Installed,
    Claim { place: (TargetIdentity, Key), before: Option<Arc<Claim>> },
    Opened { id: IntentId },
    Closed { intent: Box<Intent> },
    App { app: AppId, before: Option<Arc<AppFacts>> },
}

/// Applies the changes of all entries, or none of them.
pub fn apply(facts: &mut Facts, entries: &[Entry]) -> Result<Undo, Misfit> {
    let mut undo = Undo::default();
    for change in entries.iter().flat_map(|entry| &entry.changes) {
        let step = Step::before(facts, change);
        if let Err(misfit) = facts.apply(change) {
            undo.take_back(facts);
            return Err(misfit);
        }
        undo.0.extend(step);
    }
    Ok(undo)
}

impl Undo {
    /// Reverts `facts` to their state before. Nothing else may have changed them since.
    pub fn take_back(self, facts: &mut Facts) {
        self.0.into_iter().rev().for_each(|step| step.take_back(facts));
    }
}

impl Step {
    /// Records the state before a change. Returns `None` if there is none to record: the change
    /// will not fit.
    fn before(facts: &Facts, change: &Change) -> Option<Self> {
        let claim =
            |place: (TargetIdentity, Key)| Self::Claim { before: facts.claims.get(&place.0, &place.1).cloned(), place };
        let app = |app: &AppId| Self::App { before: facts.apps.get(app).cloned(), app: app.clone() };
        Some(match change {
            Change::Installed { .. } => Self::Installed,
            Change::PutClaim { claim: put, .. } => claim((put.target.clone(), put.key.clone())),
            Change::DropClaim { target, key, .. } => claim((target.clone(), key.clone())),
            Change::OpenIntent { intent } => Self::Opened { id: intent.id },
            Change::CloseIntent { intent, .. } => Self::Closed { intent: Box::new(facts.intents.get(intent)?.clone()) },
            Change::PutApp { app: put, .. } => app(put),
            Change::ForgetApp { app: forgotten } => app(forgotten),
        })
    }

    fn take_back(self, facts: &mut Facts) {
        match self {
            Self::Installed => facts.installed_at = None,
            Self::Claim { before: Some(claim), .. } => facts.claims.put(claim),
            Self::Claim { place: (target, key), before: None } => drop(facts.claims.remove(&target, &key)),
            Self::Opened { id } => facts
                .apply(&Change::CloseIntent { intent: id, end: IntentEnd::Done })
                .expect("it was opened by the change that is taken back"),
            Self::Closed { intent } => {
                facts
                    .apply(&Change::OpenIntent { intent: *intent })
                    .expect("it was open until the change that is taken back");
            }
            Self::App { app, before: Some(before) } => drop(facts.apps.insert(app, before)),
            Self::App { app, before: None } => drop(facts.apps.remove(&app)),
        }
    }
}
