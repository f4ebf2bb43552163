//! The properties that must hold after every step, checked against what the world truly is: the
//! monitor sees everything, the engine only what it is told. Named as in the research (reliability
//! §1.2).

mod budgets;
mod clusters;
mod documents;
mod doubts;
mod landing;
mod orders;
mod recording;
mod scene;
mod turns;

use std::collections::{BTreeMap, BTreeSet};

use setpoint_core::digest::Digest;
use setpoint_core::intent::IntentId;
use setpoint_core::key::Key;
use setpoint_core::name::{AppId, LiveVersion, TargetIdentity, Uid, VersionId};
use setpoint_core::resource::Resource;
use setpoint_core::time::Timestamp;
use setpoint_engine::NoteKind;
use setpoint_target::memory::MemoryWorld;
use setpoint_target::{Fence, Work};

use budgets::Budgets;
pub use clusters::Change;
use documents::Governed;
use doubts::Doubts;
use orders::Orders;
pub use orders::reason_of;
pub use scene::{Bundles, Ledgered, Scene};
use turns::ShownWell;

/// A property that does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    pub property: &'static str,
    pub detail: String,
}

/// What the monitor remembers of a run.
#[derive(Debug, Default)]
pub struct Monitor {
    /// The world's time.
    pub now: u64,
    /// The clock of an instance ran fast at some time.
    pub clocks_ran_fast: bool,
    /// The newest epoch whose effect landed on each target, on a cluster on each object.
    newest_epoch: BTreeMap<(TargetIdentity, Option<Key>), u64>,
    /// The newest epoch whose effect reached a target, also where it was refused there: a target
    /// lets no older one act.
    newest_seen: u64,
    budgets: Budgets,
    orders: Orders,
    /// Every intent that was ever durable.
    opened: BTreeSet<(IntentId, Key)>,
    /// Versions of which a store could not say to an instance whether they descend from what was
    /// accepted.
    unknown_history: BTreeSet<(usize, AppId, VersionId)>,
    /// Heals per key and refused tries per key and input, with the world's time: bounded effort
    /// (L3). When an instance became the writer: what it remembered of setbacks, it has forgotten
    /// then.
    tenures: Vec<u64>,
    heals: BTreeMap<Input, Vec<u64>>,
    /// Effects intended for each object, looks of each app and requests about each object of a
    /// cluster, with the world's time: a loop without a pause shows in one of them, whatever it is
    /// about (L4).
    intents: BTreeMap<(AppId, Key), Vec<u64>>,
    looks: BTreeMap<AppId, Vec<u64>>,
    requests: BTreeMap<String, Vec<u64>>,
    refusals: BTreeMap<Input, Vec<u64>>,
    /// When each app's durable bundle began to declare what it declares.
    declared_since: BTreeMap<AppId, (u64, BTreeSet<Key>)>,
    /// What was recorded as accepted, and what a person let through.
    accepted: BTreeSet<(AppId, Digest)>,
    let_through: BTreeSet<(AppId, Digest)>,
    /// What retired apps left standing, because it is another's: nobody has to remember it.
    pub let_go: BTreeSet<(Key, Uid)>,
    /// When a target last said that it would take a declaration as a new object, and in which
    /// version the old one was then.
    proven: BTreeMap<(Key, LiveVersion, Digest), u64>,
    /// Objects whose change into a declaration was refused, because they cannot be changed.
    immutable: BTreeSet<(Key, Uid, Digest)>,
    governed: Governed,
    doubts: Doubts,
    shown_well: ShownWell,
    /// How often an instance began to leave a target alone, because it failed too often.
    pub left_alone: u64,
    /// The script lets renders lose resources.
    pub renders_lie: bool,
    pub violation: Option<Violation>,
    /// Notes of each kind that reached people.
    pub notes: BTreeMap<NoteKind, u32>,
    /// Creates and updates that landed.
    pub writes: u64,
    /// What our deletes removed. One that is repeated, because a lagging look still showed it,
    /// removes nothing more.
    pub deleted: BTreeSet<(Key, Uid)>,
}

/// What of it is true because the ledger says so.
#[derive(Clone, Debug)]
pub struct Durable {
    budgets: Budgets,
    orders: Orders,
    governed: Governed,
    declared_since: BTreeMap<AppId, (u64, BTreeSet<Key>)>,
    let_through: BTreeSet<(AppId, Digest)>,
}

const MINUTE: u64 = 60_000;
const DAY: u64 = 24 * 60 * MINUTE;
/// How long after a fresh render and look a delete may land: both may be a minute old, the effect
/// is 35 s under way.
const DELETE_WINDOW: u64 = 100_000;

impl Monitor {
    fn holds(&mut self, property: &'static str, holds: bool, detail: impl FnOnce() -> String) {
        if !holds && self.violation.is_none() {
            self.violation = Some(Violation { property, detail: detail() });
        }
    }

    /// A new installation knows of nothing that came before; it may leave all of it. Gives the
    /// newest epoch that targets know of.
    pub fn installed_anew(&mut self, targets: &[MemoryWorld]) -> u64 {
        let objects = targets.iter().flat_map(MemoryWorld::objects);
        self.let_go.extend(objects.map(|(key, object)| (key.clone(), object.live.uid.clone())));
        self.governed = Governed::default();
        self.budgets = Budgets::default();
        self.all_orders_forgotten();
        self.let_through.clear();
        self.declared_since.clear();
        self.newest_seen
    }

    /// What of the monitor's memory is true because the ledger says so.
    pub fn durable(&self) -> Durable {
        Durable {
            budgets: self.budgets.clone(),
            orders: self.orders.clone(),
            governed: self.governed.clone(),
            declared_since: self.declared_since.clone(),
            let_through: self.let_through.clone(),
        }
    }

    /// An old copy of the ledger is in its place: what came after it is forgotten, and so is who
    /// made these objects.
    pub fn brought_back(&mut self, durable: Durable, forgotten: Vec<(Key, Uid)>) {
        self.budgets = durable.budgets;
        self.orders.brought_back(durable.orders);
        self.governed = durable.governed;
        self.declared_since = durable.declared_since;
        self.let_through = durable.let_through;
        self.let_go.extend(forgotten);
    }

    /// An instance became the writer.
    pub fn tenure_begins(&mut self, instance: usize, now: u64) {
        self.forget_doubts(instance);
        self.tenures.push(now);
        self.forgotten_apps_cost_nothing();
    }

    /// A fight is remembered for ten minutes. An engine whose clock runs twice as fast takes five
    /// for them.
    fn fight_window(&self) -> u64 {
        if self.clocks_ran_fast { 5 * MINUTE } else { 10 * MINUTE }
    }

    fn recent_tenures(&self, now: u64) -> usize {
        self.tenures.iter().rev().take_while(|at| now - **at < 10 * MINUTE).count()
    }

    /// A target said that it would take what is declared as a new object.
    pub fn replacement_proven(&mut self, now: u64, target: &MemoryWorld, resource: &Resource) {
        for (_, object) in target.objects().filter(|(key, _)| **key == resource.key) {
            self.proven.insert((resource.key.clone(), object.live.version.clone(), resource.digest()), now);
        }
    }

    /// A store said, or could not say, to an instance whether a version descends from what was
    /// accepted.
    pub fn history_told(&mut self, instance: usize, app: &AppId, version: &VersionId, known: bool) {
        let place = (instance, app.clone(), version.clone());
        if known {
            self.unknown_history.remove(&place);
        } else {
            self.unknown_history.insert(place);
        }
    }

    /// An engine lets effects go: late ones might land when a new holder no longer waits for them.
    pub fn leaves(&mut self, now: Timestamp, fence: Fence) {
        self.holds("S8", now <= fence.leave_by, || {
            format!("an effect leaves at {now:?}, its time was {:?}", fence.leave_by)
        });
    }

    /// An effect on an object was intended: no object is changed more often than this in a minute,
    /// whatever the reason.
    fn effort(&mut self, app: &AppId, key: &Key, now: u64) {
        let most = self.most_in_a_minute(30, now);
        let often = too_often(self.intents.entry((app.clone(), key.clone())).or_default(), now, MINUTE, most);
        self.holds("L4", !often, || format!("{key} of {app} is changed more than {most} times in a minute"));
    }

    /// An app is about to be looked at.
    pub fn looks_at(&mut self, app: &AppId, now: u64) {
        let most = self.most_in_a_minute(240, now);
        let often = too_often(self.looks.entry(app.clone()).or_default(), now, MINUTE, most);
        self.holds("L4", !often, || format!("{app} is looked at more than {most} times in a minute"));
    }

    /// A request about one object reaches a cluster.
    pub fn asked(&mut self, about: &str, now: u64) {
        let most = self.most_in_a_minute(240, now);
        let often = too_often(self.requests.entry(about.to_owned()).or_default(), now, MINUTE, most);
        self.holds("L4", !often, || format!("more than {most} requests in a minute are about {about}"));
    }

    /// Every new writer has forgotten the pauses of the one before it, and to a fast clock a minute
    /// is half as long.
    fn most_in_a_minute(&self, most: usize, now: u64) -> usize {
        let times = if self.clocks_ran_fast { 2 } else { 1 };
        most * times * (1 + self.recent_tenures(now))
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

/// Notes one more at `now`; whether that makes more than `most` within the window.
fn too_often(times: &mut Vec<u64>, now: u64, window: u64, most: usize) -> bool {
    times.retain(|at| now - *at < window);
    times.push(now);
    times.len() > most
}

/// An intent whose end a person has to tell.
pub fn truth_of(target: &MemoryWorld, intent: IntentId, key: &Key) -> bool {
    target
        .objects()
        .any(|(at, object)| at == key && (object.created_by == Some(intent) || object.written_by == Some(intent)))
}
