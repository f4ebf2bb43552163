//! The properties that must hold after every step, checked against what the world truly is: the monitor sees everything, the engine
//! only what it is told. Named as in the research (reliability §1.2).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use setpoint_core::bundle::Bundle;
use setpoint_core::claim::ClaimOrigin;
use setpoint_core::digest::Digest;
use setpoint_core::facts::{Change, Facts};
use setpoint_core::intent::{Intent, IntentId, Verb};
use setpoint_core::key::Key;
use setpoint_core::modes::Cause;
use setpoint_core::name::{AppId, TargetIdentity, Uid, VersionId};
use setpoint_core::plan::Step;
use setpoint_core::prune::{app_budget, fleet_budget};
use setpoint_core::version::Ancestry;
use setpoint_ledger::{Entry, Kind};
use setpoint_target::memory::MemoryWorld;
use setpoint_target::{Fence, Outcome, RefusalClass, Work};

use crate::store::{Folder, SimStore};
use crate::universe::{Universe, settings};

/// A property that does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    pub property: &'static str,
    pub detail: String,
}

/// What the monitor remembers of a run.
#[derive(Debug, Default)]
pub struct Monitor {
    /// The newest epoch whose effect landed on each target.
    newest_epoch: BTreeMap<TargetIdentity, u64>,
    /// Deletes intended, with the world's time.
    deletes: Vec<(u64, AppId)>,
    paid: BTreeSet<(Key, Uid)>,
    /// The most each app and all apps owned, ever: budgets were fair against at most this.
    most_owned: BTreeMap<AppId, u32>,
    most_fleet: u32,
    /// Deletes people allowed.
    allowed: BTreeMap<AppId, u32>,
    pub blessed: BTreeSet<(AppId, VersionId)>,
    /// Heals per key and refused tries per key and input, with the world's time: bounded effort (L3).
    /// When an instance became the writer: what it remembered of setbacks, it has forgotten then.
    tenures: Vec<u64>,
    heals: BTreeMap<Input, Vec<u64>>,
    refusals: BTreeMap<Input, Vec<u64>>,
    /// When each app's durable bundle began to declare what it declares.
    declared_since: BTreeMap<AppId, (u64, BTreeSet<Key>)>,
    /// What was recorded as accepted, and what a person let through.
    accepted: BTreeSet<(AppId, Digest)>,
    let_through: BTreeSet<(AppId, Digest)>,
    pub violation: Option<Violation>,
    /// Creates and updates that landed.
    pub writes: u64,
    /// What our deletes removed. One that is repeated, because a lagging look still showed it, removes nothing more.
    pub deleted: BTreeSet<(Key, Uid)>,
}

const MINUTE: u64 = 60_000;
const DAY: u64 = 24 * 60 * MINUTE;
/// How long after a fresh render and look a delete may land: both may be a minute old, the effect is 35 s under way.
const DELETE_WINDOW: u64 = 100_000;

impl Monitor {
    fn holds(&mut self, property: &'static str, holds: bool, detail: impl FnOnce() -> String) {
        if !holds && self.violation.is_none() {
            self.violation = Some(Violation { property, detail: detail() });
        }
    }

    /// An effect is about to land: everything it rests on must be so.
    pub fn landing(&mut self, scene: &Scene<'_>, work: &Work) {
        let step = &work.step;
        self.holds("S9", !scene.makes_one_more(work), || format!("one more object is made for {}", step.key));
        let intent = scene.facts.intents.get(&work.intent);
        self.holds("S7", intent.is_some(), || format!("{:?} {} without a durable intent", step.verb, step.key));
        if let Some(intent) = intent {
            self.gates_passed(scene, step, intent);
        }
        match step.verb {
            Verb::Create => {}
            Verb::Update => self.update_landing(scene, work),
            Verb::Delete => self.delete_landing(scene, work, intent),
        }
    }

    /// What is applied is what was accepted, byte for byte, and in manual mode what a person let through.
    fn gates_passed(&mut self, scene: &Scene<'_>, step: &Step, intent: &Intent) {
        let (app, bundle) = (&intent.app, intent.bundle);
        let passed = (app.clone(), bundle);
        self.holds("S10", self.accepted.contains(&passed), || format!("{app} moves to {bundle}, never accepted"));
        let declared = scene.bundles.get(&bundle).and_then(|bundle| bundle.resources().get(&step.key));
        let same = step.resource.as_ref().is_none_or(|resource| {
            declared.is_some_and(|declared| intent.declared == Some(declared.digest) && declared.resource == *resource)
        });
        self.holds("S10", same, || format!("{} is not what {bundle} declares", step.key));
        let manual = scene.universe.is_manual(app);
        let moves = matches!(step.cause, Cause::Declared | Cause::Prune);
        let let_through = !manual || !moves || self.let_through.contains(&passed);
        self.holds("S10", let_through, || format!("{app} moves to {bundle}, which nobody let through"));
    }

    fn update_landing(&mut self, scene: &Scene<'_>, work: &Work) {
        let step = &work.step;
        let object = scene.target.objects().find(|(key, _)| **key == step.key);
        let Some((_, object)) = object else { return };
        let version = step.expect.as_ref().and_then(|expect| expect.version.as_ref());
        let uid = step.expect.as_ref().map(|expect| &expect.uid);
        if uid == Some(&object.live.uid) && version.is_none_or(|version| *version == object.live.version) {
            self.holds("S5", version.is_some(), || format!("{} is overwritten whatever was written since", step.key));
            let same = step.resource.as_ref().is_some_and(|resource| resource.body == *object.live.value);
            self.holds("S4", !same, || format!("{} is written although it is as declared", step.key));
        }
    }

    fn delete_landing(&mut self, scene: &Scene<'_>, work: &Work, intent: Option<&Intent>) {
        let (step, app) = (&work.step, &work.step.claim.app);
        let object = scene.target.objects().find(|(key, object)| {
            **key == step.key && step.expect.as_ref().is_some_and(|expect| expect.uid == object.live.uid)
        });
        let Some((_, object)) = object else { return };
        let claim = scene.facts.claims.get(&(scene.target.identity().clone(), step.key.clone()));
        let owned = claim.is_some_and(|claim| claim.app == *app && claim.uid.as_ref() == Some(&object.live.uid));
        self.holds("S1", owned, || {
            format!("{} is deleted and not owned: {claim:?}, it is {}", step.key, object.live.uid)
        });
        self.holds("S1", !object.live.controlled, || {
            format!("{} is deleted and controlled by another object", step.key)
        });
        let allowed = self.allowed.get(app).copied().unwrap_or(0) > 0;
        let adopted = claim.is_some_and(|claim| claim.origin != ClaimOrigin::Created);
        self.holds("S1", !adopted || allowed, || format!("{} is deleted and was there before us", step.key));
        self.holds("S1", allowed || !claim.is_some_and(|claim| claim.protected), || {
            format!("{} is protected", step.key)
        });
        // By the writers' own clocks: one that starts hours ahead ends the quarantine early, and nothing can be done about it.
        let quarantine = |installed| installed + settings().quarantine;
        let over =
            scene.facts.installed_at.zip(intent).is_some_and(|(installed, intent)| intent.at >= quarantine(installed));
        self.holds("S2", over, || format!("{} is deleted in quarantine", step.key));
        if step.cause == Cause::Prune {
            let bundle = intent.and_then(|intent| scene.bundles.get(&intent.bundle));
            let empty = bundle.is_some_and(|bundle| bundle.is_empty());
            self.holds("S2", !empty, || format!("{} is deleted for an empty render", step.key));
            let known = scene.undeclared_lately(app, &step.key);
            self.holds("S2", known, || format!("{} is deleted although the store declares it", step.key));
        }
    }

    /// An effect has landed.
    pub fn landed(&mut self, scene: &Scene<'_>, work: &Work, fence: Fence, outcome: &Outcome) {
        let key = &work.step.key;
        match outcome {
            Outcome::Done { .. } => {
                // A delete may come late for good reasons (budget, quarantine); the others may not.
                self.writes += u64::from(work.step.verb != Verb::Delete);
                if let (Verb::Delete, Some(expect)) = (work.step.verb, &work.step.expect) {
                    self.deleted.insert((key.clone(), expect.uid.clone()));
                }
                let newest = self.newest_epoch.entry(scene.target.identity().clone()).or_default();
                let before = *newest;
                *newest = fence.epoch.max(before);
                self.holds("S8", fence.epoch >= before, || format!("epoch {} acts after epoch {before}", fence.epoch));
                if matches!(work.step.cause, Cause::Drift | Cause::Addition) {
                    let most = 20 * (1 + self.recent_tenures(scene.now));
                    let often = too_often(self.heals.entry(input(work)).or_default(), scene.now, most);
                    self.holds("L3", !often, || format!("{key} is healed again and again without slowing down"));
                }
            }
            Outcome::Refused { refusal } if matches!(refusal.class, RefusalClass::Denied | RefusalClass::Invalid) => {
                let most = 20 * (1 + self.recent_tenures(scene.now));
                let often = too_often(self.refusals.entry(input(work)).or_default(), scene.now, most);
                self.holds("L3", !often, || format!("{key} is refused again and again and tried again and again"));
            }
            Outcome::Refused { .. } | Outcome::Unknown { .. } => {}
        }
        let made_by_us =
            scene.target.objects().filter(|(at, object)| *at == key && object.created_by.is_some()).count();
        self.holds("S9", made_by_us <= 1, || format!("{made_by_us} objects were made for {key}"));
    }

    /// Entries have become durable; `scene` is how things stood before.
    pub fn recording(&mut self, scene: &Ledgered<'_>, entries: &[Entry]) {
        for (entry, change) in entries.iter().flat_map(|entry| entry.changes.iter().map(move |change| (entry, change)))
        {
            match change {
                Change::OpenIntent { intent } if intent.verb == Verb::Delete => {
                    let uid = intent.expect.as_ref().map(|expect| expect.uid.clone());
                    let first = uid.is_none_or(|uid| self.paid.insert((intent.key.clone(), uid)));
                    let retiring = scene.facts.apps.get(&intent.app).is_some_and(|facts| facts.retiring);
                    if first && !retiring {
                        self.delete_intended(scene, &intent.app);
                    }
                }
                Change::PutApp { app, facts } => {
                    self.acceptance(scene, app, facts);
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
        let hour = scene.now.saturating_sub(60 * MINUTE);
        let spent = self.deletes.iter().filter(|(at, _)| *at >= hour).count() as u32;
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
        for (store, version) in &after.revision.0 {
            let accepted = before.and_then(|before| before.revision.0.get(store));
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
        let claim = scene.facts.claims.get(&(target.clone(), key.clone()));
        let Some(uid) = claim.and_then(|claim| claim.uid.clone()) else { return };
        let Some(world) = scene.targets.iter().find(|world| world.identity() == target) else { return };
        let object = world.objects().find(|(at, object)| *at == key && object.live.uid == uid);
        let retired = scene.facts.apps.get(app).is_some_and(|facts| facts.retiring);
        self.holds("S2", object.is_none() || retired, || format!("{key} is there and its claim is dropped"));
    }

    /// Entries are durable: what they make true is what later budgets and claims are judged by.
    pub fn recorded(&mut self, universe: &Universe, facts: &Facts, bundles: &Bundles, now: u64, entries: &[Entry]) {
        let mut owned = BTreeMap::<&AppId, u32>::new();
        for claim in facts.claims.values() {
            *owned.entry(&claim.app).or_default() += 1;
        }
        for (app, count) in owned {
            let most = self.most_owned.entry(app.clone()).or_default();
            *most = count.max(*most);
        }
        self.most_fleet = self.most_fleet.max(facts.claims.len() as u32);
        for change in entries.iter().flat_map(|entry| &entry.changes) {
            let Change::PutApp { app, facts } = change else { continue };
            let declared = universe.held_at(app, facts).and_then(|digest| bundles.get(&digest));
            let keys: BTreeSet<Key> = declared.iter().flat_map(|bundle| bundle.resources().keys().cloned()).collect();
            let keys = if facts.retiring { BTreeSet::new() } else { keys };
            if self.declared_since.get(app).is_none_or(|(_, before)| *before != keys) {
                self.declared_since.insert(app.clone(), (now, keys));
            }
        }
    }

    /// An instance became the writer.
    pub fn tenure_begins(&mut self, now: u64) {
        self.tenures.push(now);
    }

    fn recent_tenures(&self, now: u64) -> usize {
        self.tenures.iter().rev().take_while(|at| now - **at < 10 * MINUTE).count()
    }

    /// Something broke a rule that no plan may break: the engine found it itself.
    pub fn rule_broken(&mut self, text: &str) {
        self.holds("check", false, || text.to_owned());
    }

    pub fn not_live(&mut self, detail: String) {
        self.holds("L1", false, || detail);
    }
}

/// Who declares what for which resource: each has a back-off of its own.
type Input = (AppId, Key, Option<Digest>);

fn input(work: &Work) -> Input {
    let declared = work.step.resource.as_ref().map(|resource| resource.digest());
    (work.step.claim.app.clone(), work.step.key.clone(), declared)
}

/// Notes one more at `now`; whether that makes more than `most` within ten minutes.
fn too_often(times: &mut Vec<u64>, now: u64, most: usize) -> bool {
    times.retain(|at| now - *at < 10 * MINUTE);
    times.push(now);
    times.len() > most
}

/// What the monitor sees when an effect lands.
#[derive(Debug)]
pub struct Scene<'a> {
    pub now: u64,
    pub universe: &'a Universe,
    pub stores: &'a [SimStore],
    pub target: &'a MemoryWorld,
    pub facts: &'a Facts,
    pub bundles: &'a Bundles,
}

/// Every bundle that was ever recorded.
pub type Bundles = BTreeMap<Digest, Arc<Bundle>>;

impl Scene<'_> {
    /// A create that lands where something of ours stands, on a target that makes one more object for each.
    fn makes_one_more(&self, work: &Work) -> bool {
        let kind = self.universe.targets.iter().find(|kind| kind.identity == *self.target.identity());
        let again = work.step.verb == Verb::Create && kind.is_some_and(|kind| !kind.options.idempotent_create);
        again && self.target.objects().any(|(key, object)| *key == work.step.key && object.created_by.is_some())
    }

    /// Whether the app's folder was whole and did not declare the key at some instant the engine may have looked.
    fn undeclared_lately(&self, app: &AppId, key: &Key) -> bool {
        let Some(n) = self.universe.apps.iter().position(|known| known == app) else { return false };
        let store = &self.stores[self.universe.store_of(n)];
        let since = self.now.saturating_sub(DELETE_WINDOW);
        let lacks = |folder: &Folder| matches!(folder, Folder::Declares(declared) if !declared.contains_key(key));
        store.recent_folders(app, since).any(lacks)
    }
}

/// What the monitor sees when something is recorded.
#[derive(Debug)]
pub struct Ledgered<'a> {
    pub now: u64,
    pub universe: &'a Universe,
    pub stores: &'a [SimStore],
    pub targets: &'a [MemoryWorld],
    pub facts: &'a Facts,
}

/// An intent whose end a person has to tell.
pub fn truth_of(target: &MemoryWorld, intent: IntentId, key: &Key) -> bool {
    target
        .objects()
        .any(|(at, object)| at == key && (object.created_by == Some(intent) || object.written_by == Some(intent)))
}
