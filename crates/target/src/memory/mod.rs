//! The target in memory. [`MemoryWorld`] is plain, synchronous and deterministic: the simulator
//! calls it directly, and a clone of it is a snapshot. [`MemoryTarget`] implements the
//! [`crate::Target`] trait with it and adds faults. [`MemoryFamily`] lets documents declare it.

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
mod family;
mod naming;
mod settling;
mod shared;

pub use family::{MemoryFamily, MemorySection};
pub use shared::{Fault, MemoryTarget};

/// An immutable field: it keeps its value from the creation of the object.
pub const FIXED: &str = "fixed";

/// The behaviour of the simulated system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryOptions {
    pub granularity: Granularity,
    /// Refuses effects of an epoch older than the newest known one.
    pub checks_epochs: bool,
    /// Returns the existing object for a repeated create under the same intent. Without this, as
    /// with a cloud that assigns ids, each create that arrives creates *another* object: such a
    /// system breaks the contract, and the engine must survive it by never repeating a create.
    pub idempotent_create: bool,
    /// Marks objects with the intents that created and last wrote them, so that settling can
    /// attribute them.
    pub marks: bool,
    /// The health of a new object until [`MemoryWorld::set_health`] changes it.
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
    /// The intent it was created under; `None` if another writer created it.
    pub created_by: Option<IntentId>,
    /// The intent of our last write to it.
    pub written_by: Option<IntentId>,
}

/// A system under management, in memory.
#[derive(Clone, Debug)]
pub struct MemoryWorld {
    identity: TargetIdentity,
    options: MemoryOptions,
    /// The objects by key. No list is empty; several objects exist only where creates are not
    /// idempotent.
    objects: BTreeMap<Key, Vec<Object>>,
    denials: BTreeMap<(Key, Verb), RefusalClass>,
    newest_epoch: u64,
    /// The number of writes and removals so far: the source of versions.
    changes: u64,
    /// The number of objects created so far: the source of UIDs, so that none is used twice.
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

    /// Returns all objects, in the order of their keys.
    pub fn objects(&self) -> impl Iterator<Item = (&Key, &Object)> {
        self.objects.iter().flat_map(|(key, standing)| standing.iter().map(move |object| (key, object)))
    }

    /// Returns the number of objects under a key: more than one means a create was repeated.
    pub fn instances(&self, key: &Key) -> usize {
        self.standing(key).len()
    }

    /// Returns the number of writes and removals so far, by anyone.
    pub fn change_count(&self) -> u64 {
        self.changes
    }

    /// Takes the keys that changed since the last call: a watch would have hinted at them.
    pub fn take_changed(&mut self) -> BTreeSet<Key> {
        std::mem::take(&mut self.changed)
    }

    /// Observes the given keys.
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

    /// Checks whether the declaration would be accepted for the present state.
    pub fn preview(&self, resource: &Resource) -> Result<(), Refusal> {
        let verb = match self.standing(&resource.key) {
            [] => Verb::Create,
            [_] => Verb::Update,
            several => return Err(refusal(RefusalClass::Conflict, ambiguity(&resource.key, several.len()))),
        };
        self.check_denials(&resource.key, verb)?;
        self.standing(&resource.key).iter().try_for_each(|object| check_fixed(resource, &object.live))
    }

    /// Checks whether the declaration would be accepted if the key were free.
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

/// Changes to the system from outside, without the engine.
impl MemoryWorld {
    /// Writes the objects under a key as another writer. Returns `false` if there are none.
    pub fn edit(&mut self, key: &Key, value: &Arc<Value>, who: &str) -> bool {
        self.write_each(key, |live| {
            live.value = keeping_fixed(value, &live.value);
            live.fingerprint = Live::fingerprint_of(&live.value);
            live.writer = Writer::Likely { who: who.to_owned() };
        })
    }

    /// Removes the objects under a key as another writer. Returns `false` if there are none.
    pub fn remove(&mut self, key: &Key) -> bool {
        let removed = self.objects.remove(key).is_some();
        if removed {
            self.note_change(key);
        }
        removed
    }

    /// Replaces the objects under a key by a new one with its own UID, as another writer.
    pub fn recreate(&mut self, key: &Key, value: Arc<Value>, who: &str) {
        self.remove(key);
        self.insert(key, value, Writer::Likely { who: who.to_owned() }, None);
    }

    /// Sets whether another object of the target controls this one.
    pub fn set_controlled(&mut self, key: &Key, controlled: bool) -> bool {
        self.write_each(key, |live| live.controlled = controlled)
    }

    /// Sets the health of the objects under a key, as their controller would.
    pub fn set_health(&mut self, key: &Key, health: Health) -> bool {
        self.write_each(key, |live| live.health = health)
    }

    /// Copies the object under a key from another simulated system: this world is then a mirror of
    /// that one.
    pub fn mirror(&mut self, key: &Key, object: Option<Object>) {
        self.changes += 1;
        match object {
            Some(object) => drop(self.objects.insert(key.clone(), vec![object])),
            None => drop(self.objects.remove(key)),
        }
    }

    /// Replaces the system at this address by another one.
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

    /// Makes every declaration under this key invalid.
    pub fn find_invalid(&mut self, key: &Key) {
        for verb in [Verb::Create, Verb::Update] {
            self.denials.insert((key.clone(), verb), RefusalClass::Invalid);
        }
    }

    /// Removes every rule on a key.
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
        let live = Live { writer, health, ..Live::with_fingerprint(uid, version, value, fingerprint) };
        let object = Object { live: live.clone(), created_by: intent, written_by: intent };
        self.objects.entry(key.clone()).or_default().push(object);
        live
    }

    /// Counts a change and returns the resulting version.
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

/// Returns a new value with the immutable field of the old one.
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
