//! The target in memory: [`MemoryWorld`] is plain, synchronous and deterministic (the simulator
//! calls it directly; a clone of it is a snapshot), [`MemoryTarget`] puts it behind the
//! [`crate::Target`] trait and adds faults.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use setpoint_core::intent::{IntentId, Verb};
use setpoint_core::key::Key;
use setpoint_core::live::{Health, Live, Observation, Presence, Writer};
use setpoint_core::name::{LiveVersion, TargetIdentity, Uid};
use setpoint_core::observed::{Observed, UnknownReason};
use setpoint_core::resource::Resource;
use setpoint_core::time::Timestamp;
use setpoint_core::value::Value;

use crate::contract::{Capabilities, Granularity, Refusal, RefusalClass};

mod effect;
mod naming;
mod settling;
mod shared;

pub use shared::{Fault, MemoryTarget};

/// A field that is what it was when the object was made, whoever writes.
pub const FIXED: &str = "fixed";

/// What kind of system the world is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryOptions {
    pub granularity: Granularity,
    /// It refuses effects of an epoch older than the newest it has seen.
    pub checks_epochs: bool,
    /// A repeated create under the same intent answers with the object it made. Without it, as with
    /// a cloud that hands out ids, each create that arrives makes one *more* object: such a system
    /// breaks the contract, and the engine must survive it by never repeating a create.
    pub idempotent_create: bool,
    /// Objects carry the intents they were made and last written under, so that settling can tell
    /// whose they are.
    pub marks: bool,
    /// The health of a new object until [`MemoryWorld::set_health`] speaks for its controller.
    pub first_health: Health,
}

impl Default for MemoryOptions {
    fn default() -> Self {
        Self {
            granularity: Granularity::Resource,
            checks_epochs: true,
            idempotent_create: true,
            marks: true,
            first_health: Health::Healthy,
        }
    }
}

/// One object of the world.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    pub live: Live,
    /// The intent it was created under; `None` when someone else made it.
    pub created_by: Option<IntentId>,
    /// The intent of our last write to it.
    pub written_by: Option<IntentId>,
}

/// A system under management, in memory.
#[derive(Clone, Debug)]
pub struct MemoryWorld {
    identity: TargetIdentity,
    options: MemoryOptions,
    /// No list is empty; more than one object only where creates are not idempotent.
    objects: BTreeMap<Key, Vec<Object>>,
    denials: BTreeMap<(Key, Verb), RefusalClass>,
    newest_epoch: u64,
    /// Writes and removals so far: the source of versions.
    changes: u64,
    /// Objects made so far: the source of UIDs, so that none is used twice.
    incarnations: u64,
    changed: BTreeSet<Key>,
}

impl MemoryWorld {
    pub fn new(identity: TargetIdentity, options: MemoryOptions) -> Self {
        Self {
            identity,
            options,
            objects: BTreeMap::new(),
            denials: BTreeMap::new(),
            newest_epoch: 0,
            changes: 0,
            incarnations: 0,
            changed: BTreeSet::new(),
        }
    }

    pub fn identity(&self) -> &TargetIdentity {
        &self.identity
    }

    pub fn capabilities(&self) -> Capabilities {
        Capabilities {
            granularity: self.options.granularity,
            checks_epochs: self.options.checks_epochs,
            fresh_reads: true,
            previews: true,
            incarnations: true,
            attributes: false,
        }
    }

    /// All objects, in the order of their keys.
    pub fn objects(&self) -> impl Iterator<Item = (&Key, &Object)> {
        self.objects.iter().flat_map(|(key, standing)| standing.iter().map(move |object| (key, object)))
    }

    /// How many objects stand under a key: more than one means a create was repeated.
    pub fn instances(&self, key: &Key) -> usize {
        self.standing(key).len()
    }

    /// How often anything was written or removed, by anyone.
    pub fn change_count(&self) -> u64 {
        self.changes
    }

    /// The keys something happened to since this was last asked: what a watch would have hinted at.
    pub fn take_changed(&mut self) -> BTreeSet<Key> {
        std::mem::take(&mut self.changed)
    }

    /// Looks at the given keys.
    pub fn observe<'k>(&self, keys: impl IntoIterator<Item = &'k Key>, now: Timestamp) -> Observation {
        let states = keys.into_iter().map(|key| (key.clone(), self.presence(key, now))).collect();
        Observation { at: now, states }
    }

    fn presence(&self, key: &Key, now: Timestamp) -> Observed<Presence> {
        match self.standing(key) {
            [] => Observed::known(Presence::Absent, now),
            [object] => Observed::known(Presence::Present(object.live.clone()), now),
            several => Observed::unknown(UnknownReason::Malformed { detail: ambiguity(key, several.len()) }),
        }
    }

    /// Whether the declaration would be accepted over what is there now.
    pub fn preview(&self, resource: &Resource) -> Result<(), Refusal> {
        let verb = match self.standing(&resource.key) {
            [] => Verb::Create,
            [_] => Verb::Update,
            several => return Err(refusal(RefusalClass::Conflict, ambiguity(&resource.key, several.len()))),
        };
        self.check_denials(&resource.key, verb)?;
        self.standing(&resource.key).iter().try_for_each(|object| check_fixed(resource, &object.live))
    }

    /// Whether the declaration would be accepted were nothing there.
    pub fn preview_replacement(&self, resource: &Resource) -> Result<(), Refusal> {
        self.check_denials(&resource.key, Verb::Create)
    }

    fn standing(&self, key: &Key) -> &[Object] {
        self.objects.get(key).map_or(&[], Vec::as_slice)
    }

    fn check_denials(&self, key: &Key, verb: Verb) -> Result<(), Refusal> {
        if self.denials.is_empty() {
            return Ok(());
        }
        match self.denials.get(&(key.clone(), verb)) {
            None => Ok(()),
            Some(class) => Err(refusal(*class, format!("a rule of the target forbids to {verb} {key}"))),
        }
    }
}

/// The hands of the outside world: what happens to the system without the engine.
impl MemoryWorld {
    /// Someone writes what stands under a key. `false`: nothing stands there.
    pub fn edit(&mut self, key: &Key, value: &Arc<Value>, who: &str) -> bool {
        self.write_each(key, |live| {
            live.value = keeping_fixed(value, &live.value);
            live.fingerprint = Live::fingerprint_of(&live.value);
            live.writer = Writer::Likely { who: who.to_owned() };
        })
    }

    /// Someone removes whatever stands under a key. `false`: nothing stood there.
    pub fn remove(&mut self, key: &Key) -> bool {
        let removed = self.objects.remove(key).is_some();
        if removed {
            self.note_change(key);
        }
        removed
    }

    /// Someone puts a new object, with a UID of its own, in place of whatever stands under a key.
    pub fn recreate(&mut self, key: &Key, value: Arc<Value>, who: &str) {
        self.remove(key);
        self.insert(key, value, Writer::Likely { who: who.to_owned() }, None);
    }

    /// Another object of the target begins or ceases to control this one.
    pub fn set_controlled(&mut self, key: &Key, controlled: bool) -> bool {
        self.write_each(key, |live| live.controlled = controlled)
    }

    /// The controller of what stands under a key speaks.
    pub fn set_health(&mut self, key: &Key, health: Health) -> bool {
        self.write_each(key, |live| live.health = health)
    }

    /// Shows what stands under a key of a system that somebody else simulates: this world is then
    /// the image of that one.
    pub fn mirror(&mut self, key: &Key, object: Option<Object>) {
        self.changes += 1;
        match object {
            Some(object) => drop(self.objects.insert(key.clone(), vec![object])),
            None => drop(self.objects.remove(key)),
        }
    }

    /// Another system answers at this address from now on.
    pub fn become_another(&mut self, identity: TargetIdentity) {
        self.identity = identity;
    }

    pub fn deny_create(&mut self, key: &Key) {
        self.denials.insert((key.clone(), Verb::Create), RefusalClass::Denied);
    }

    pub fn deny_update(&mut self, key: &Key) {
        self.denials.insert((key.clone(), Verb::Update), RefusalClass::Denied);
    }

    pub fn deny_delete(&mut self, key: &Key) {
        self.denials.insert((key.clone(), Verb::Delete), RefusalClass::Denied);
    }

    /// Whatever is declared under this key is found invalid.
    pub fn find_invalid(&mut self, key: &Key) {
        for verb in [Verb::Create, Verb::Update] {
            self.denials.insert((key.clone(), verb), RefusalClass::Invalid);
        }
    }

    /// Lifts every rule on a key.
    pub fn allow(&mut self, key: &Key) {
        self.denials.retain(|(denied, _), _| denied != key);
    }

    fn write_each(&mut self, key: &Key, mut write: impl FnMut(&mut Live)) -> bool {
        if !self.objects.contains_key(key) {
            return false;
        }
        let version = self.note_change(key);
        for object in self.objects.get_mut(key).into_iter().flatten() {
            write(&mut object.live);
            object.live.version = version.clone();
        }
        true
    }

    fn insert(&mut self, key: &Key, value: Arc<Value>, writer: Writer, intent: Option<IntentId>) -> Live {
        let version = self.note_change(key);
        self.incarnations += 1;
        let uid = Uid::new(&format!("uid-{}", self.incarnations)).expect("a short ASCII text");
        let fingerprint = Live::fingerprint_of(&value);
        let health = self.options.first_health;
        let live = Live {
            uid,
            version,
            value,
            fingerprint,
            controlled: false,
            writer,
            health,
            ended: false,
            deleting: None,
            remarks: None,
            holders: None,
        };
        let object = Object { live: live.clone(), created_by: intent, written_by: intent };
        self.objects.entry(key.clone()).or_default().push(object);
        live
    }

    /// Counts a change and answers the version it leads to.
    fn note_change(&mut self, key: &Key) -> LiveVersion {
        self.changes += 1;
        self.changed.insert(key.clone());
        LiveVersion::new(&self.changes.to_string()).expect("digits are a version")
    }
}

fn check_fixed(resource: &Resource, live: &Live) -> Result<(), Refusal> {
    if live.value.get(FIXED) == resource.body.get(FIXED) {
        return Ok(());
    }
    Err(refusal(RefusalClass::Immutable, format!("`{FIXED}` of {} cannot be changed", resource.key)))
}

/// A new value with what cannot be changed of the old one.
fn keeping_fixed(new: &Arc<Value>, old: &Value) -> Arc<Value> {
    let Some(kept) = old.get(FIXED).filter(|kept| new.get(FIXED) != Some(*kept)) else { return Arc::clone(new) };
    let mut value = Value::clone(new);
    if let Value::Map(fields) = &mut value {
        fields.insert(FIXED.into(), kept.clone());
    }
    Arc::new(value)
}

fn ambiguity(key: &Key, count: usize) -> String {
    format!("{count} objects stand under {key}: remove all but one")
}

fn refusal(class: RefusalClass, detail: String) -> Refusal {
    Refusal { class, detail, retry_after: None }
}
