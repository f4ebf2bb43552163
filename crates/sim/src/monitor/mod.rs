//! The properties that must hold after every step, checked against the true state of the world: the
//! monitor sees everything, the engine only its events. Named as in the research (reliability
//! §1.2).

mod budgets;
mod clusters;
mod documents;
mod doubts;
mod landing;
mod marks;
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
pub use marks::Shown;
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

/// The monitor's memory of a run.
#[derive(Debug, Default)]
pub struct Monitor {
    /// The world's time.
    pub now: u64,
    /// Set if the clock of an instance ever ran fast.
    pub clocks_ran_fast: bool,
    /// The newest epoch whose effect landed on each target, on a cluster on each object.
    newest_epoch: BTreeMap<(TargetIdentity, Option<Key>), u64>,
    /// The newest epoch whose effect reached a target, even if it was refused there: a target
    /// refuses older ones.
    newest_seen: u64,
    budgets: Budgets,
    orders: Orders,
    /// Every intent that was ever durable.
    opened: BTreeSet<(IntentId, Key)>,
    /// The versions for which a store could not determine for an instance whether they descend from
    /// the accepted one.
    unknown_history: BTreeSet<(usize, AppId, VersionId)>,
    /// The limits of effort (L3): heals per key, and refused tries per key and input, with the
    /// world's time. `tenures` are the times at which an instance became the writer, and so forgot
    /// its setbacks.
    tenures: Vec<u64>,
    heals: BTreeMap<Input, Vec<u64>>,
    /// Effects intended for each object, observations of each app and requests about each object of
    /// a cluster, with the world's time: a loop without a pause shows in one of them, whatever it
    /// is about (L4).
    intents: BTreeMap<(AppId, Key), Vec<u64>>,
    looks: BTreeMap<AppId, Vec<u64>>,
    requests: BTreeMap<String, Vec<u64>>,
    refusals: BTreeMap<Input, Vec<u64>>,
    /// The keys that each app's durable bundle declares, and since when.
    declared_since: BTreeMap<AppId, (u64, BTreeSet<Key>)>,
    /// The bundles that were recorded as accepted, and the ones that a person released.
    accepted: BTreeSet<(AppId, Digest)>,
    let_through: BTreeSet<(AppId, Digest)>,
    /// Objects that retired apps left behind because they belong to others: no claim of them has to
    /// exist.
    pub let_go: BTreeSet<(Key, Uid)>,
    /// The time at which a target last reported that it would accept a declaration as a new object,
    /// by the version of the old object.
    proven: BTreeMap<(Key, LiveVersion, Digest), u64>,
    /// Objects whose change into a declaration was refused because of immutable fields.
    immutable: BTreeSet<(Key, Uid, Digest)>,
    governed: Governed,
    doubts: Doubts,
    shown_well: ShownWell,
    /// The number of times an instance paused a target because it failed too often.
    pub left_alone: u64,
    /// Set if the script lets renders lose resources.
    pub renders_lie: bool,
    pub violation: Option<Violation>,
    /// The number of notes of each kind that reached people.
    pub notes: BTreeMap<NoteKind, u32>,
    /// The number of creates and updates that landed.
    pub writes: u64,
    /// The objects that our deletes removed. A repeated delete, because a lagging observation still
    /// contained the object, removes nothing more.
    pub deleted: BTreeSet<(Key, Uid)>,
}

/// The part of the monitor's memory that the ledger records.
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
/// The maximum time between a fresh render and observation and the landing of a delete: both may be
/// a minute old, and the effect takes up to 35 s.
const DELETE_WINDOW: u64 = 100_000;

impl Monitor {
    fn holds(&mut self, property: &'static str, holds: bool, detail: impl FnOnce() -> String) {
        if !holds && self.violation.is_none() {
            self.violation = Some(Violation { property, detail: detail() });
        }
    }

    /// Handles a new installation. It knows nothing of earlier objects, and may leave all of them
    /// behind. Returns the newest epoch that targets know of.
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

    /// Returns the part of the monitor's memory that the ledger records.
    pub fn durable(&self) -> Durable {
        Durable {
            budgets: self.budgets.clone(),
            orders: self.orders.clone(),
            governed: self.governed.clone(),
            declared_since: self.declared_since.clone(),
            let_through: self.let_through.clone(),
        }
    }

    /// Handles an old copy of the ledger that was restored: everything after it is forgotten, also
    /// the creator of these objects.
    pub fn brought_back(&mut self, durable: Durable, forgotten: Vec<(Key, Uid)>) {
        self.budgets = durable.budgets;
        self.orders.brought_back(durable.orders);
        self.governed = durable.governed;
        self.declared_since = durable.declared_since;
        self.let_through = durable.let_through;
        self.let_go.extend(forgotten);
    }

    /// Records that an instance became the writer.
    pub fn tenure_begins(&mut self, instance: usize, now: u64) {
        self.forget_doubts(instance);
        self.tenures.push(now);
        self.forgotten_apps_cost_nothing();
    }

    /// Returns the time for which a fight is remembered: ten minutes. An engine whose clock runs
    /// twice as fast takes five for them.
    fn fight_window(&self) -> u64 {
        if self.clocks_ran_fast { 5 * MINUTE } else { 10 * MINUTE }
    }

    fn recent_tenures(&self, now: u64) -> usize {
        self.tenures.iter().rev().take_while(|at| now - **at < 10 * MINUTE).count()
    }

    /// Records that a target would accept the declared object as a new one.
    pub fn replacement_proven(&mut self, now: u64, target: &MemoryWorld, resource: &Resource) {
        for (_, object) in target.objects().filter(|(key, _)| **key == resource.key) {
            self.proven.insert((resource.key.clone(), object.live.version.clone(), resource.digest()), now);
        }
    }

    /// Records whether a store could determine for an instance if a version descends from the
    /// accepted one.
    pub fn history_told(&mut self, instance: usize, app: &AppId, version: &VersionId, known: bool) {
        let place = (instance, app.clone(), version.clone());
        if known {
            self.unknown_history.remove(&place);
        } else {
            self.unknown_history.insert(place);
        }
    }

    /// Checks that an engine sends effects in time: late ones might land when a new holder no
    /// longer waits for them.
    pub fn leaves(&mut self, now: Timestamp, fence: Fence) {
        self.holds("S8", now <= fence.leave_by, || {
            format!("an effect leaves at {now:?}, its time was {:?}", fence.leave_by)
        });
    }

    /// Checks an intended effect on an object: no object is changed more often than this in a
    /// minute, whatever the reason.
    fn effort(&mut self, app: &AppId, key: &Key, now: u64) {
        let most = self.most_in_a_minute(30, now);
        let often = too_often(self.intents.entry((app.clone(), key.clone())).or_default(), now, MINUTE, most);
        self.holds("L4", !often, || format!("{key} of {app} is changed more than {most} times in a minute"));
    }

    /// Records that an app is about to be observed.
    pub fn looks_at(&mut self, app: &AppId, now: u64) {
        let most = self.most_in_a_minute(240, now);
        let often = too_often(self.looks.entry(app.clone()).or_default(), now, MINUTE, most);
        self.holds("L4", !often, || format!("{app} is observed more than {most} times in a minute"));
    }

    /// Records a request about one object that reaches a cluster.
    pub fn asked(&mut self, about: &str, now: u64) {
        let most = self.most_in_a_minute(240, now);
        let often = too_often(self.requests.entry(about.to_owned()).or_default(), now, MINUTE, most);
        self.holds("L4", !often, || format!("more than {most} requests in a minute are about {about}"));
    }

    /// Returns the limit per minute. Every new writer has forgotten the pauses of the one before
    /// it, and to a fast clock a minute is half as long.
    fn most_in_a_minute(&self, most: usize, now: u64) -> usize {
        let times = if self.clocks_ran_fast { 2 } else { 1 };
        most * times * (1 + self.recent_tenures(now))
    }

    /// Reports that the engine itself found a plan that breaks a rule.
    pub fn rule_broken(&mut self, text: &str) {
        self.holds("check", false, || text.to_owned());
    }

    pub fn not_live(&mut self, detail: String) {
        self.holds("L1", false, || detail);
    }
}

/// The app, the key and the declaration: each such input has its own back-off.
type Input = (AppId, Key, Option<Digest>);

fn input(work: &Work) -> Input {
    let declared = work.step.resource.as_ref().map(|resource| resource.digest());
    (work.step.claim.app.clone(), work.step.key.clone(), declared)
}

/// Records a further time; reports whether there are now more than `most` within the window.
fn too_often(times: &mut Vec<u64>, now: u64, window: u64, most: usize) -> bool {
    times.retain(|at| now - *at < window);
    times.push(now);
    times.len() > most
}

/// Returns the true result of an intent, which a person has to enter.
pub fn truth_of(target: &MemoryWorld, intent: IntentId, key: &Key) -> bool {
    target
        .objects()
        .any(|(at, object)| at == key && (object.created_by == Some(intent) || object.written_by == Some(intent)))
}
