//! Taking changes of the facts back, so that a batch whose last change does not fit leaves no trace.

use setpoint_core::claim::Claim;
use setpoint_core::facts::{AppFacts, Change, Facts};
use setpoint_core::intent::{Intent, IntentId};
use setpoint_core::key::Key;
use setpoint_core::name::{AppId, TargetIdentity};

/// What was there before a change.
#[derive(Debug)]
pub(crate) enum Undo {
    Installed,
    Claim { place: (TargetIdentity, Key), before: Option<Claim> },
    Intent { id: IntentId, before: Option<Intent> },
    App { app: AppId, before: Option<Box<AppFacts>> },
}

impl Undo {
    /// How to take `change` back, if it is applied to `facts` now.
    pub(crate) fn of(facts: &Facts, change: &Change) -> Self {
        let claim = |place: (TargetIdentity, Key)| Self::Claim { before: facts.claims.get(&place).cloned(), place };
        let intent = |id: IntentId| Self::Intent { before: facts.intents.get(&id).cloned(), id };
        let app = |app: &AppId| Self::App { before: facts.apps.get(app).cloned().map(Box::new), app: app.clone() };
        match change {
            Change::Installed { .. } => Self::Installed,
            Change::PutClaim { claim: put } => claim((put.target.clone(), put.key.clone())),
            Change::DropClaim { target, key } => claim((target.clone(), key.clone())),
            Change::OpenIntent { intent: opened } => intent(opened.id),
            Change::CloseIntent { intent: closed, .. } => intent(*closed),
            Change::PutApp { app: put, .. } => app(put),
            Change::ForgetApp { app: forgotten } => app(forgotten),
        }
    }

    pub(crate) fn apply(self, facts: &mut Facts) {
        match self {
            Self::Installed => facts.installed_at = None,
            Self::Claim { place, before: Some(claim) } => drop(facts.claims.insert(place, claim)),
            Self::Claim { place, before: None } => drop(facts.claims.remove(&place)),
            Self::Intent { id, before: Some(intent) } => drop(facts.intents.insert(id, intent)),
            Self::Intent { id, before: None } => drop(facts.intents.remove(&id)),
            Self::App { app, before: Some(before) } => drop(facts.apps.insert(app, *before)),
            Self::App { app, before: None } => drop(facts.apps.remove(&app)),
        }
    }
}
