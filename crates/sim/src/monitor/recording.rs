//! What must be so when something becomes durable: budgets, history, ownership.

use std::collections::{BTreeMap, BTreeSet};

use setpoint_core::facts::{Change, Facts};
use setpoint_core::intent::Verb;
use setpoint_core::key::Key;
use setpoint_core::name::{AppId, TargetIdentity, VersionId};
use setpoint_core::prune::{app_budget, fleet_budget};
use setpoint_core::time::{Span, Timestamp};
use setpoint_core::version::Ancestry;
use setpoint_ledger::{Entry, Kind};

use super::{Bundles, DAY, FleetDelete, Ledgered, Monitor};
use crate::universe::Universe;

impl Monitor {
    /// Entries have become durable; `scene` is how things stood before.
    pub fn recording(&mut self, scene: &Ledgered<'_>, entries: &[Entry]) {
        for (entry, change) in entries.iter().flat_map(|entry| entry.changes.iter().map(move |change| (entry, change)))
        {
            match change {
                Change::OpenIntent { intent } if intent.verb == Verb::Delete => {
                    self.delete_undoubted(scene.writer, intent);
                    let uid = intent.expect.as_ref().map(|expect| expect.uid.clone());
                    // What is declared is deleted only to be made anew.
                    let anew = intent.declared.is_some();
                    let first = !anew && uid.is_none_or(|uid| self.paid.insert((intent.key.clone(), uid)));
                    let retiring = scene.facts.apps.get(&intent.app).is_some_and(|facts| facts.retiring);
                    // Taking the whole app down is what was declared: that lifts the app's own budget, and not the fleet's.
                    if first && !retiring {
                        self.delete_intended(scene, &intent.app);
                    }
                    if first {
                        self.fleet_deletes(&intent.app, intent.at);
                    }
                    self.intended(scene.now, intent);
                }
                Change::OpenIntent { intent } => self.intended(scene.now, intent),
                Change::PutClaim { claim, from: None } => self.made_by_us(scene, claim),
                Change::PutApp { app, facts } => {
                    self.acceptance(scene, app, facts);
                    self.document_followed(scene, app, facts);
                    self.accepted.extend(facts.accepted.iter().map(|accepted| (app.clone(), accepted.bundle)));
                    self.let_through.extend(facts.let_through.map(|bundle| (app.clone(), bundle)));
                    if let Some(leave) = facts.allowance.as_ref().filter(|_| entry.kind == Kind::Approval) {
                        *self.allowed.entry(app.clone()).or_default() += leave.left;
                    }
                }
                Change::PutClaim { claim, from: Some(from) } => {
                    let since = self
                        .declared_since
                        .get(from)
                        .filter(|(_, keys)| keys.contains(&claim.key))
                        .map(|(since, _)| *since);
                    let stolen = since.is_some_and(|since| scene.now > since + 30_000);
                    self.holds("S5", !stolen, || {
                        format!("{} takes {} from {from}, which declares it", claim.app, claim.key)
                    });
                }
                // An app of that name that comes later is another one, with a budget of its own.
                Change::ForgetApp { app } => {
                    self.deletes.retain(|(_, by)| by != app);
                    self.fleet.iter_mut().filter(|delete| delete.by == *app).for_each(|delete| delete.forgotten = true);
                }
                Change::DropClaim { target, key, app } => self.claim_dropped(scene, target, key, app),
                _ => {}
            }
        }
    }

    fn delete_intended(&mut self, scene: &Ledgered<'_>, app: &AppId) {
        self.deletes.push((scene.now, app.clone()));
        let since = scene.now.saturating_sub(DAY);
        let spent = self.deletes.iter().filter(|(at, by)| *at >= since && by == app).count() as u32;
        let leave = self.allowed.get(app).copied().unwrap_or(0);
        let budget = app_budget(self.most_owned.get(app).copied().unwrap_or(0));
        self.holds("S3", spent <= budget + leave, || {
            format!("{app} deletes {spent}, allowed are {budget} and {leave}")
        });
    }

    /// By the writers' own clocks: one that starts hours ahead ends the hour early, and nothing can be done about it.
    fn fleet_deletes(&mut self, app: &AppId, at: Timestamp) {
        self.fleet.push(FleetDelete { at, by: app.clone(), forgotten: false });
        let spent = self.fleet.iter().filter(|delete| at.since(delete.at) < Span::hours(1)).count() as u32;
        let leave: u32 = self.allowed.values().sum();
        let budget = fleet_budget(self.most_fleet);
        self.holds("S3", spent <= budget + leave, || {
            format!("the fleet deletes {spent}, allowed are {budget} and {leave}")
        });
    }

    /// A new acceptance descends from the one before, unless a person said which version is right.
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
            let right = |blessed: &VersionId| {
                matches!(scene.stores[n].ancestry(Some(blessed), version), Ancestry::Same | Ancestry::Descendant)
            };
            let blessed = self.blessed.iter().any(|(of, blessed)| of == app && right(blessed));
            self.holds("S6", sound || blessed, || {
                format!("{app} moves from {accepted:?} to {version}, which is {ancestry:?}")
            });
        }
    }

    /// Ownership is forgotten only where the object was truly gone or another's.
    fn claim_dropped(&mut self, scene: &Ledgered<'_>, target: &TargetIdentity, key: &Key, app: &AppId) {
        let claim = scene.facts.claims.get(target, key);
        let Some(uid) = claim.and_then(|claim| claim.uid.clone()) else { return };
        let Some(world) = scene.targets.iter().find(|world| world.identity() == target) else { return };
        let object = world.objects().find(|(at, object)| *at == key && object.live.uid == uid);
        let retired = scene.facts.apps.get(app).is_some_and(|facts| facts.retiring);
        if object.is_some() && retired {
            self.let_go.insert((key.clone(), uid.clone()));
        }
        self.holds("S2", object.is_none() || retired, || format!("{key} is there and its claim is dropped"));
    }

    fn count_owned(&mut self, facts: &Facts) {
        let mut owned = BTreeMap::<&AppId, u32>::new();
        for claim in facts.claims.iter() {
            *owned.entry(&claim.app).or_default() += 1;
        }
        for (app, count) in owned {
            let most = self.most_owned.entry(app.clone()).or_default();
            *most = count.max(*most);
        }
        self.most_fleet = self.most_fleet.max(facts.claims.len() as u32);
    }

    /// An app that was forgotten and comes back is another owner: it does not know what was fought over before.
    fn begin_anew(&mut self, forgotten: &AppId) {
        for tries in [&mut self.heals, &mut self.refusals] {
            tries.retain(|(app, ..), _| app != forgotten);
        }
    }

    /// Entries are durable: what they make true is what later budgets and claims are judged by.
    pub fn recorded(&mut self, universe: &Universe, facts: &Facts, bundles: &Bundles, now: u64, entries: &[Entry]) {
        let mut changes = entries.iter().flat_map(|entry| &entry.changes);
        if changes.any(|change| matches!(change, Change::PutClaim { .. })) {
            self.count_owned(facts);
        }
        for change in entries.iter().flat_map(|entry| &entry.changes) {
            if let Change::ForgetApp { app } = change {
                self.begin_anew(app);
            }
            let Change::PutApp { app, facts } = change else { continue };
            let declared = universe.held_at(app, facts).and_then(|digest| bundles.get(&digest));
            let keys: BTreeSet<Key> = declared.iter().flat_map(|bundle| bundle.resources().keys().cloned()).collect();
            // Who is taken down, or has no document, declares nothing.
            let keys = if facts.retiring || facts.frozen { BTreeSet::new() } else { keys };
            if self.declared_since.get(app).is_none_or(|(_, before)| *before != keys) {
                self.declared_since.insert(app.clone(), (now, keys));
            }
        }
    }
}
