//! The properties that must hold after every step, checked against what the world truly is: the monitor sees everything, the engine
//! only what it is told. Named as in the research (reliability §1.2).

mod clusters;
mod documents;
mod doubts;
mod landing;
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
use setpoint_target::Work;
use setpoint_target::memory::MemoryWorld;

pub use clusters::Change;
use documents::Governed;
use doubts::Doubts;
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
    /// The clock of an instance ran fast at some time.
    pub clocks_ran_fast: bool,
    /// The newest epoch whose effect landed on each target, on a cluster on each object.
    newest_epoch: BTreeMap<(TargetIdentity, Option<Key>), u64>,
    /// Deletes intended, with the world's time.
    deletes: Vec<(u64, AppId)>,
    /// Deletes intended, those of apps that are taken down among them: what counts against the fleet's budget.
    fleet: Vec<FleetDelete>,
    paid: BTreeSet<(Key, Uid)>,
    /// Every intent that was ever durable.
    opened: BTreeSet<(IntentId, Key)>,
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
    /// What retired apps left standing, because it is another's: nobody has to remember it.
    pub let_go: BTreeSet<(Key, Uid)>,
    /// When a target last said that it would take a declaration as a new object, and in which version the old one was then.
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
    /// Creates and updates that landed.
    pub writes: u64,
    /// What our deletes removed. One that is repeated, because a lagging look still showed it, removes nothing more.
    pub deleted: BTreeSet<(Key, Uid)>,
}

/// A delete that counts for the fleet, at an instant of its writer's clock.
#[derive(Debug)]
struct FleetDelete {
    at: Timestamp,
    by: AppId,
    /// The app was forgotten since.
    forgotten: bool,
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

    /// A new installation knows of nothing that came before; it may leave all of it. Gives the newest epoch that acted.
    pub fn installed_anew(&mut self, targets: &[MemoryWorld]) -> u64 {
        let objects = targets.iter().flat_map(MemoryWorld::objects);
        self.let_go.extend(objects.map(|(key, object)| (key.clone(), object.live.uid.clone())));
        self.governed = Governed::default();
        self.newest_epoch.values().copied().max().unwrap_or(0)
    }

    /// An instance became the writer.
    pub fn tenure_begins(&mut self, instance: usize, now: u64) {
        self.forget_doubts(instance);
        self.tenures.push(now);
        // What is durable about an app that was taken down goes with it, and a new writer knows only what is durable.
        self.fleet.retain(|delete| !delete.forgotten);
    }

    /// A fight is remembered for ten minutes. An engine whose clock runs twice as fast takes five for them.
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
