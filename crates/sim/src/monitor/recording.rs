//! The properties of records when they become durable: budgets, history, ownership.

use std::collections::BTreeSet;

use setpoint_core::claim::Claim;
use setpoint_core::facts::{Change, Facts};
use setpoint_core::key::Key;
use setpoint_core::name::{AppId, TargetIdentity};
use setpoint_core::version::Ancestry;
use setpoint_ledger::Entry;

use super::budgets::intended_delete;
use super::{Bundles, Ledgered, Monitor};
use crate::universe::Universe;

impl Monitor {
    /// Checks entries that have become durable; `scene` is the state before.
    pub fn recording(&mut self, scene: &Ledgered<'_>, entries: &[Entry]) {
        let mut closed = BTreeSet::new();
        for (entry, change) in entries.iter().flat_map(|entry| entry.changes.iter().map(move |change| (entry, change)))
        {
            if let Some(intent) = intended_delete(change) {
                self.delete_undoubted(scene.writer, intent);
                self.delete_paid(scene, entry, intent);
            }
            if let Change::OpenIntent { intent } = change {
                self.effort(&intent.app, &intent.key, scene.now);
            }
            match change {
                Change::OpenIntent { intent } => self.intended(scene.now, intent),
                Change::PutClaim { claim, from: None } => self.made_by_us(scene, claim),
                Change::PutApp { app, facts } => {
                    self.orders_followed(scene, entry, app, facts);
                    self.acceptance(scene, app, facts);
                    self.document_followed(scene, app, facts);
                    self.blessing_spent(scene, app, facts);
                    self.good_was_healthy(scene, app, facts);
                    self.accepted.extend(facts.accepted.iter().map(|accepted| (app.clone(), accepted.bundle)));
                    self.let_through.extend(facts.let_through.map(|bundle| (app.clone(), bundle)));
                }
                Change::PutClaim { claim, from: Some(from) } => {
                    let busy = scene.facts.busy(&claim.target, &claim.key).filter(|busy| !closed.contains(busy));
                    self.holds("S5", busy.is_none(), || {
                        format!("{} takes {} from {from}, which is changing it", claim.app, claim.key)
                    });
                    self.claim_taken(scene, entry, claim, from);
                }
                Change::CloseIntent { intent, .. } => drop(closed.insert(*intent)),
                Change::ForgetApp { app } => {
                    self.deletes_forgotten(app);
                    self.orders_forgotten(app);
                }
                Change::DropClaim { target, key, app } => self.claim_dropped(scene, target, key, app),
                _ => {}
            }
        }
    }

    /// Checks a claim that changes hands: its holder must not have declared the resource for a
    /// while.
    fn claim_taken(&mut self, scene: &Ledgered<'_>, entry: &Entry, claim: &Claim, from: &AppId) {
        let declared = self.declared_since.get(from).filter(|(_, keys)| keys.contains(&claim.key));
        // While its window is closed, an app declares the content of its last good bundle. A
        // document that has just returned brings the window back.
        let good = scene.facts.apps.get(from).and_then(|facts| facts.last_good.as_ref());
        let good = good.and_then(|good| scene.bundles.get(&good.bundle));
        let lacks = good.is_some_and(|good| !good.resources().contains_key(&claim.key));
        let waits = lacks && self.may_be_closed(scene.universe, from, entry.time);
        let stolen = !waits && declared.is_some_and(|(since, _)| scene.now > since + 30_000);
        self.holds("S5", !stolen, || format!("{} takes {} from {from}, which declares it", claim.app, claim.key));
    }

    /// Checks that a new acceptance descends from the previous one, unless a person has approved
    /// the version.
    fn acceptance(&mut self, scene: &Ledgered<'_>, app: &AppId, facts: &setpoint_core::facts::AppFacts) {
        let before = scene.facts.apps.get(app).and_then(|facts| facts.accepted.as_ref());
        let Some(after) = &facts.accepted else { return };
        if before.is_some_and(|before| before.sequence == after.sequence) {
            return;
        }
        for (store, version) in after.revision.iter() {
            let accepted = before.and_then(|before| before.revision.get(store));
            let Some(n) = scene.universe.stores.iter().position(|name| name == store) else { continue };
            let ancestry = scene.stores[n].ancestry(accepted, version);
            let sound = matches!(ancestry, Ancestry::First | Ancestry::Same | Ancestry::Descendant);
            let blessed = self.is_blessed(scene, n, app, &after.revision);
            self.holds("S6", sound || blessed, || {
                format!("{app} moves from {accepted:?} to {version}, which is {ancestry:?}")
            });
            let unknown = self.unknown_history.contains(&(scene.writer, app.clone(), version.clone()));
            self.holds("S6", !unknown, || {
                format!("{app} moves to {version}, and its store did not know the history of that")
            });
        }
    }

    /// Checks that a claim is dropped only if the object was truly gone or another's.
    fn claim_dropped(&mut self, scene: &Ledgered<'_>, target: &TargetIdentity, key: &Key, app: &AppId) {
        let claim = scene.facts.claims.get(target, key);
        let Some(uid) = claim.and_then(|claim| claim.uid.clone()) else { return };
        let Some(world) = scene.targets.iter().find(|world| world.identity() == target) else { return };
        let object = world.objects().find(|(at, object)| *at == key && object.live.uid == uid);
        let retired = scene.facts.apps.get(app).is_some_and(|facts| facts.retiring);
        if object.is_some() && retired {
            self.let_go.insert((key.clone(), uid.clone()));
        }
        // An object that a backup restored may have been observed as gone before.
        let came_back = self.let_go.contains(&(key.clone(), uid.clone()));
        self.holds("S2", object.is_none() || retired || came_back, || {
            format!("{key} is there and its claim is dropped")
        });
    }

    /// Forgets the tries of an app that was forgotten. A later app of that name is another owner,
    /// which does not know the earlier fights.
    fn begin_anew(&mut self, forgotten: &AppId) {
        for tries in [&mut self.heals, &mut self.refusals] {
            tries.retain(|(app, ..), _| app != forgotten);
        }
    }

    /// Records durable entries: later budgets and claims are judged by them.
    pub fn recorded(&mut self, universe: &Universe, facts: &Facts, bundles: &Bundles, now: u64, entries: &[Entry]) {
        let mut changes = entries.iter().flat_map(|entry| &entry.changes);
        if changes.any(|change| matches!(change, Change::PutClaim { .. } | Change::DropClaim { .. })) {
            self.count_owned(now, facts);
        }
        for change in entries.iter().flat_map(|entry| &entry.changes) {
            if let Change::ForgetApp { app } = change {
                self.begin_anew(app);
            }
            let Change::PutApp { app, facts } = change else { continue };
            let declared = universe.held_at(app, facts).and_then(|digest| bundles.get(&digest));
            let keys: BTreeSet<Key> = declared.iter().flat_map(|bundle| bundle.resources().keys().cloned()).collect();
            // An app that is retired or has no document declares nothing.
            let keys = if facts.retiring || facts.frozen { BTreeSet::new() } else { keys };
            if self.declared_since.get(app).is_none_or(|(_, before)| *before != keys) {
                self.declared_since.insert(app.clone(), (now, keys));
            }
        }
    }
}
