//! Facts: the durable state that the engine works from, and the changes that produce it.
//!
//! Every ledger record carries the changes it makes. The tables of the ledger, the engine's memory
//! and a replay of the records are all folds of the same changes by [`Facts::apply`], so they can
//! be compared.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::acting::ActingAs;
use crate::claim::Claim;
use crate::claims::Claims;
use crate::digest::Digest;
use crate::hold::{Hold, Suspension};
use crate::intent::{Intent, IntentEnd, IntentId};
use crate::key::Key;
use crate::mutant::Mutant;
use crate::name::{Actor, AppId, TargetIdentity};
use crate::time::Timestamp;
use crate::version::Revision;

/// The durable memory of the engine. Claims and facts of apps are shared: the engine, its indexes
/// and the ledger hold the same ones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// The time at which this installation first opened its ledger. Deletes are withheld for a
    /// while after it.
    pub installed_at: Option<Timestamp>,
    pub claims: Claims,
    /// Intents whose end is not recorded. At most one per key: see [`Facts::busy`].
    pub intents: BTreeMap<IntentId, Intent>,
    pub apps: BTreeMap<AppId, Arc<AppFacts>>,
    /// The open intent on each key: an index of `intents`.
    busy: BTreeMap<(TargetIdentity, Key), IntentId>,
}

/// The durable facts about one app.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AppFacts {
    pub target: TargetIdentity,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub accepted: Option<Accepted>,
    /// The last bundle at which the app converged and stayed healthy: the destination of an
    /// automatic rollback.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub last_good: Option<Accepted>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub hold: Option<Hold>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub suspension: Option<Suspension>,
    /// Deletes of the last day, oldest first: the spent part of the prune budget.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub deletions: Vec<Deletions>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub allowance: Option<PruneAllowance>,
    /// The bundle that a person let through. In manual mode no other one is applied.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub let_through: Option<Digest>,
    /// The versions that a person confirmed although history was rewritten. Ends with the next
    /// acceptance.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub blessed: Option<Revision>,
    /// Set if the app's document is gone from the store: nothing is changed or deleted until it
    /// returns or the app is retired.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub frozen: bool,
    /// Set if the app is being retired.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub retiring: bool,
    /// The user that the app's changes are made as, from its last documents: an app that is being
    /// retired may have no documents any more.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub acting_as: Option<Arc<ActingAs>>,
}

impl AppFacts {
    pub fn new(target: TargetIdentity) -> Self {
        Self {
            target,
            accepted: None,
            last_good: None,
            hold: None,
            suspension: None,
            deletions: Vec::new(),
            allowance: None,
            let_through: None,
            blessed: None,
            frozen: false,
            retiring: false,
            acting_as: None,
        }
    }

    /// Returns the bundle at which the app is to be held: the hold's, if there is a hold.
    pub fn held_at(&self) -> Option<Digest> {
        match &self.hold {
            Some(hold) => hold.bundle,
            None => self.accepted.as_ref().map(|accepted| accepted.bundle),
        }
    }

    /// Returns the change from `base` to these facts, applied to `onto`.
    #[must_use]
    pub fn rebased(&self, base: &Self, onto: &Self) -> Self {
        fn moved<T: Clone + PartialEq>(new: &T, base: &T, onto: &T) -> T {
            if new == base { onto.clone() } else { new.clone() }
        }
        Self {
            target: moved(&self.target, &base.target, &onto.target),
            accepted: moved(&self.accepted, &base.accepted, &onto.accepted),
            last_good: moved(&self.last_good, &base.last_good, &onto.last_good),
            hold: moved(&self.hold, &base.hold, &onto.hold),
            suspension: moved(&self.suspension, &base.suspension, &onto.suspension),
            deletions: moved(&self.deletions, &base.deletions, &onto.deletions),
            allowance: moved(&self.allowance, &base.allowance, &onto.allowance),
            let_through: moved(&self.let_through, &base.let_through, &onto.let_through),
            blessed: moved(&self.blessed, &base.blessed, &onto.blessed),
            frozen: moved(&self.frozen, &base.frozen, &onto.frozen),
            retiring: moved(&self.retiring, &base.retiring, &onto.retiring),
            acting_as: moved(&self.acting_as, &base.acting_as, &onto.acting_as),
        }
    }

    /// Returns every bundle that these facts refer to.
    pub fn bundles(&self) -> impl Iterator<Item = Digest> {
        let accepted = self.accepted.as_ref().map(|accepted| accepted.bundle);
        let last_good = self.last_good.as_ref().map(|accepted| accepted.bundle);
        [self.held_at(), accepted, last_good, self.let_through].into_iter().flatten()
    }
}

/// A bundle that passed its gates.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Accepted {
    pub bundle: Digest,
    /// The number of this acceptance: each acceptance of the app adds one.
    pub sequence: u64,
    pub revision: Revision,
    pub at: Timestamp,
}

/// The number of deletes that were intended at one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Deletions {
    pub at: Timestamp,
    pub count: u32,
}

/// A person's permission to delete more than the budget allows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PruneAllowance {
    /// The number of deletes still allowed.
    pub left: u32,
    /// The bundle that the permission is for: a newer one needs a new permission.
    pub bundle: Digest,
    pub by: Actor,
    pub reason: String,
}

/// One change of the facts, as recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "change", rename_all = "kebab-case")]
pub enum Change {
    /// The ledger was opened for the first time.
    Installed {
        at: Timestamp,
    },
    /// A claim is created, or its UID or tombstone changes. Moving a resource between apps is this
    /// one change too: it names the app it is taken `from`, and does not apply if another app holds
    /// the claim by then.
    PutClaim {
        claim: Arc<Claim>,
        #[serde(skip_serializing_if = "Option::is_none", default)]
        from: Option<AppId>,
    },
    /// Absence was observed, or the object belongs to another app now: we own nothing there any
    /// more.
    DropClaim {
        target: TargetIdentity,
        key: Key,
        app: AppId,
    },
    OpenIntent {
        intent: Intent,
    },
    CloseIntent {
        intent: IntentId,
        end: IntentEnd,
    },
    PutApp {
        app: AppId,
        facts: Arc<AppFacts>,
    },
    /// A retired app is forgotten once none of its objects are left.
    ForgetApp {
        app: AppId,
    },
}

/// A change that does not fit the facts: the ledger is damaged, or its writer is wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Misfit {
    #[error("intent {intent} is opened twice")]
    OpenedTwice { intent: IntentId },
    #[error("{key} at {target} is being changed under intent {intent}")]
    Busy { target: TargetIdentity, key: Key, intent: IntentId },
    #[error("{key} at {target} is claimed by {holder}")]
    Claimed { target: TargetIdentity, key: Key, holder: AppId },
    #[error("intent {intent} is closed but was never open")]
    NotOpen { intent: IntentId },
    #[error("the claim on {key} at {target} is dropped but was never made")]
    NoClaim { target: TargetIdentity, key: Key },
    #[error("app {app} is forgotten but was never known")]
    NoApp { app: AppId },
    #[error("the ledger is installed twice")]
    InstalledTwice,
}

impl Facts {
    /// Builds facts from the rows of a ledger's tables.
    pub fn from_rows(
        installed_at: Option<Timestamp>,
        claims: impl IntoIterator<Item = Claim>,
        intents: impl IntoIterator<Item = Intent>,
        apps: impl IntoIterator<Item = (AppId, AppFacts)>,
    ) -> Self {
        let intents: BTreeMap<_, _> = intents.into_iter().map(|intent| (intent.id, intent)).collect();
        let busy = intents.values().map(|intent| ((intent.target.clone(), intent.key.clone()), intent.id)).collect();
        let claims = claims.into_iter().map(Arc::new);
        let apps = apps.into_iter().map(|(app, facts)| (app, Arc::new(facts)));
        Self { installed_at, claims: claims.collect(), intents, apps: apps.collect(), busy }
    }

    /// Returns every bundle that is needed to continue from these facts.
    pub fn bundles(&self) -> BTreeSet<Digest> {
        let of_apps = self.apps.values().flat_map(|facts| facts.bundles());
        of_apps.chain(self.intents.values().map(|intent| intent.bundle)).collect()
    }

    /// Returns the open intent on a key.
    pub fn busy(&self, target: &TargetIdentity, key: &Key) -> Option<IntentId> {
        if self.busy.is_empty() {
            return None;
        }
        self.busy.get(&(target.clone(), key.clone())).copied()
    }

    /// Applies one change. On a misfit nothing is changed.
    pub fn apply(&mut self, change: &Change) -> Result<(), Misfit> {
        match change {
            Change::Installed { at } => {
                if self.installed_at.is_some() {
                    return Err(Misfit::InstalledTwice);
                }
                self.installed_at = Some(*at);
            }
            Change::PutClaim { claim, from } => self.put_claim(claim, from.as_ref())?,
            Change::DropClaim { target, key, app } => self.drop_claim(target, key, app)?,
            Change::OpenIntent { intent } => self.open_intent(intent)?,
            Change::CloseIntent { intent, .. } => {
                let closed = self.intents.remove(intent).ok_or(Misfit::NotOpen { intent: *intent })?;
                self.busy.remove(&(closed.target, closed.key));
            }
            Change::PutApp { app, facts } => {
                self.apps.insert(app.clone(), Arc::clone(facts));
            }
            Change::ForgetApp { app } => {
                self.apps.remove(app).ok_or_else(|| Misfit::NoApp { app: app.clone() })?;
            }
        }
        Ok(())
    }

    /// Records a claim. It moves to another app only from the app that the change names, and never
    /// while that app is changing the object.
    fn put_claim(&mut self, claim: &Arc<Claim>, from: Option<&AppId>) -> Result<(), Misfit> {
        let Claim { target, key, .. } = &**claim;
        let holder = self.claims.get(target, key).map(|held| &held.app);
        if let Some(holder) = holder.filter(|holder| **holder != claim.app) {
            if from != Some(holder) {
                return Err(Misfit::Claimed { target: target.clone(), key: key.clone(), holder: holder.clone() });
            }
            if let Some(intent) = self.busy(target, key).filter(|_| !Mutant::TakeBusyClaim.is_on()) {
                return Err(Misfit::Busy { target: target.clone(), key: key.clone(), intent });
            }
        }
        self.claims.put(Arc::clone(claim));
        Ok(())
    }

    fn drop_claim(&mut self, target: &TargetIdentity, key: &Key, app: &AppId) -> Result<(), Misfit> {
        let (target, key) = (target.clone(), key.clone());
        match self.claims.get(&target, &key).map(|held| &held.app) {
            Some(holder) if holder == app => {
                self.claims.remove(&target, &key);
                Ok(())
            }
            Some(holder) => Err(Misfit::Claimed { target, key, holder: holder.clone() }),
            None => Err(Misfit::NoClaim { target, key }),
        }
    }

    fn open_intent(&mut self, intent: &Intent) -> Result<(), Misfit> {
        if self.intents.contains_key(&intent.id) {
            return Err(Misfit::OpenedTwice { intent: intent.id });
        }
        let place = (intent.target.clone(), intent.key.clone());
        if let Some(other) = self.busy.get(&place).copied() {
            let (target, key) = place;
            return Err(Misfit::Busy { target, key, intent: other });
        }
        self.busy.insert(place, intent.id);
        self.intents.insert(intent.id, intent.clone());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claim::ClaimOrigin;
    use crate::hold::HoldReason;
    use crate::intent::Verb;

    fn app(name: &str) -> AppId {
        name.parse().unwrap()
    }

    fn target() -> TargetIdentity {
        TargetIdentity::new("one").unwrap()
    }

    fn key() -> Key {
        Key::new("file", "", "/etc/motd").unwrap()
    }

    fn put_claim(of: &str, from: Option<&str>) -> Change {
        let claim = Claim::new(target(), key(), app(of), None, ClaimOrigin::Created);
        Change::PutClaim { claim: Arc::new(claim), from: from.map(app) }
    }

    fn open_intent(of: &str) -> Change {
        let (digest, at) = (Digest::of(b""), Timestamp::from_millis(0));
        let intent = Intent {
            id: IntentId { epoch: 1, number: 1 },
            app: app(of),
            target: target(),
            key: key(),
            verb: Verb::Create,
            folds: None,
            plan: digest,
            bundle: digest,
            declared: None,
            expect: None,
            acting_as: None,
            at,
            leave_by: at,
            land_by: at,
        };
        Change::OpenIntent { intent }
    }

    #[test]
    fn a_claim_does_not_change_hands_while_its_object_is_being_changed() {
        let mut facts = Facts::default();
        facts.apply(&put_claim("web/old", None)).unwrap();
        facts.apply(&open_intent("web/old")).unwrap();
        let taken = facts.apply(&put_claim("web/new", Some("web/old")));
        assert!(matches!(taken, Err(Misfit::Busy { .. })), "{taken:?}");
        assert_eq!(facts.claims.get(&target(), &key()).unwrap().app, app("web/old"));
        facts.apply(&put_claim("web/old", None)).expect("its holder may go on changing it");

        let intent = IntentId { epoch: 1, number: 1 };
        facts.apply(&Change::CloseIntent { intent, end: IntentEnd::Done }).unwrap();
        facts.apply(&put_claim("web/new", Some("web/old"))).unwrap();
        assert_eq!(facts.claims.get(&target(), &key()).unwrap().app, app("web/new"));
    }

    #[test]
    fn a_claim_changes_hands_only_from_the_app_that_holds_it() {
        let mut facts = Facts::default();
        facts.apply(&put_claim("web/old", None)).unwrap();
        for from in [None, Some("web/other"), Some("web/new")] {
            let taken = facts.apply(&put_claim("web/new", from));
            assert!(matches!(taken, Err(Misfit::Claimed { .. })), "{from:?}: {taken:?}");
        }
    }

    #[test]
    fn a_change_of_facts_is_made_from_others_without_what_it_was_made_from() {
        let onto = AppFacts { retiring: true, ..AppFacts::new(target()) };
        let by = Actor::new("ada").unwrap();
        let why = HoldReason::Asked { reason: "a sale".to_owned() };
        let hold = Some(Hold { bundle: None, why, by, at: Timestamp::from_millis(0) });
        let base = AppFacts { hold: hold.clone(), frozen: true, ..AppFacts::new(target()) };
        let facts = AppFacts { let_through: Some(Digest::of(b"")), frozen: false, ..base.clone() };
        let expected = AppFacts { let_through: Some(Digest::of(b"")), ..onto.clone() };
        assert_eq!(facts.rebased(&base, &onto), expected);
        assert_eq!(facts.rebased(&AppFacts::new(target()), &onto).hold, hold, "what it changes itself stays");
    }
}
