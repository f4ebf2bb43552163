//! Records of objects, each as it was right after it was applied: the managers of its fields, and
//! hashes of our values. Records hold no values.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use data_encoding::BASE64;
use serde::{Deserialize, Serialize};
use setpoint_core::digest::Digest;
use setpoint_core::key::Key;
use setpoint_core::live::{Health, Remark};
use setpoint_core::name::{LiveVersion, Uid};
use setpoint_core::resource::Resource;
use setpoint_kube::field_set::{FieldSet, FieldSets};
use setpoint_kube::path::FieldPath;
use setpoint_kube::project::{AppliedFields, Baseline};
use setpoint_kube::shared::{Autoscaler, Sharing};

use crate::latest::Latest;
use crate::remarks::Aside;
use setpoint_target::{CacheChanges, CachedBytes};

/// A version that no object ever has.
const NO_VERSION: &str = "0";

/// The record of one object.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    pub(crate) uid: Uid,
    /// The newest version that is known to agree with the record.
    pub(crate) version: LiveVersion,
    /// The version before that one: a stream that lags behind our own writes may still report it.
    passed: Option<LiveVersion>,
    /// The digest of the declaration.
    pub(crate) declared: Digest,
    /// The digest of the declared body, which is the fingerprint of an object in place.
    pub(crate) fingerprint: Digest,
    /// The fields that we own.
    pub(crate) ours: FieldSet,
    /// The fields that others held when the record was taken.
    pub(crate) beside: FieldSet,
    pub(crate) baseline: Baseline,
    /// The declared fields that co-owners held when the record was taken. They are not in `ours`.
    pub(crate) lent: FieldSet,
    /// The manager that had set the scale then, while an autoscaler targeted the object.
    pub(crate) scaler: Option<Arc<str>>,
    /// The lent fields belong to an autoscaler, and only for as long as it exists.
    pub(crate) autoscaled: bool,
    pub(crate) standing: Standing,
    /// The schema under which the baseline was taken, if it was known.
    pub(crate) schema: Option<Digest>,
    /// We have applied the object: the server names us as the owner of our fields, unless a client
    /// cleared that.
    pub(crate) owned: bool,
    /// The declaration itself, if the app has rules about fields that others set or add. Events of
    /// streams are judged by it.
    pub(crate) kept: Option<Arc<Resource>>,
    /// The fields of others that are left alone.
    aside: Option<Box<Aside>>,
    /// The number of events that do not agree with the record. Only a read of the object clears it,
    /// and only if no event arrived meanwhile.
    pub(crate) suspicions: u32,
}

/// The other properties that an observation of an object in place needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Standing {
    pub(crate) health: Health,
    pub(crate) controlled: bool,
    /// A delete of the object was accepted.
    pub(crate) deleting: bool,
    /// The object has run to its end and will be removed.
    pub(crate) ended: bool,
    /// The second in which the object was created, by the server's clock.
    pub(crate) made: Option<u32>,
    /// The generation. Where a stream brings only metadata, it shows whether only the status
    /// changed.
    pub(crate) generation: Option<i64>,
    pub(crate) metadata: u64,
}

impl Record {
    /// Builds the record from the response to an apply or a dry-run of this declaration.
    pub(crate) fn new(
        resource: &Arc<Resource>,
        (uid, version): (Uid, LiveVersion),
        taken: AppliedFields,
        standing: Standing,
    ) -> Self {
        let AppliedFields { ours, beside, baseline } = taken;
        let fingerprint = setpoint_core::live::Live::fingerprint_of(&resource.body);
        let declared = resource.digest();
        Self {
            uid,
            version,
            passed: None,
            declared,
            fingerprint,
            ours,
            beside,
            baseline,
            lent: FieldSet::empty(),
            scaler: None,
            autoscaled: false,
            standing,
            schema: None,
            owned: false,
            kept: None,
            aside: None,
            suspicions: 0,
        }
    }

    pub(crate) fn remarks(&self) -> Arc<[Remark]> {
        self.aside.as_ref().map(|aside| Arc::clone(&aside.remarks)).unwrap_or_default()
    }

    /// Returns the fields that were ours and that others still hold, if there are any.
    pub(crate) fn left(&self) -> Option<&FieldSet> {
        self.aside.as_ref().map(|aside| &aside.left).filter(|left| !left.is_empty())
    }

    pub(crate) fn set_left(&mut self, left: FieldSet) {
        self.aside = Aside::of(self.remarks(), left);
    }

    pub(crate) fn set_remarks(&mut self, remarks: Arc<[Remark]>) {
        self.aside = Aside::of(remarks, self.left().cloned().unwrap_or_default());
    }

    /// Returns the record for a later version of the object.
    pub(crate) fn at(mut self, version: LiveVersion, standing: Standing) -> Self {
        self.move_to(version);
        Self { standing, ..self }
    }

    pub(crate) fn move_to(&mut self, version: LiveVersion) {
        if self.version != version {
            self.passed = Some(std::mem::replace(&mut self.version, version));
        }
    }

    /// Reports whether the version is the recorded one or the one before it. Versions never come
    /// back, so neither brings news.
    pub(crate) fn knows(&self, version: &LiveVersion) -> bool {
        self.version == *version || self.passed.as_ref() == Some(version)
    }

    /// Records the fields that co-owners hold.
    pub(crate) fn share(&mut self, resource: &Arc<Resource>, sharing: &Sharing) {
        self.lent = sharing.lent().clone();
        self.scaler.clone_from(&sharing.scaler);
        self.autoscaled = sharing.autoscaler == Autoscaler::Aims && !self.lent.is_empty();
        self.be_of(resource);
    }

    fn be_of(&mut self, resource: &Arc<Resource>) {
        let has_rules = !resource.shared.is_empty() || !resource.additions.is_empty();
        self.kept = (has_rules || !self.lent.is_empty()).then(|| Arc::clone(resource));
    }

    /// Marks the record as belonging to an earlier, unknown declaration, to which these fields
    /// belonged too.
    pub(crate) fn be_of_an_earlier_declaration(&mut self, undeclared: &[FieldPath]) {
        self.declared = Digest::of(b"");
        self.ours = self.ours.union(&FieldSet::from_paths(undeclared.iter().cloned()));
    }

    /// Reports whether the record belongs to this declaration.
    pub(crate) fn is_of(&self, resource: &Resource) -> bool {
        self.declared == resource.digest()
    }
}

/// The result of reading an object that is in place.
#[derive(Clone, Debug)]
pub(crate) struct Seen<'a> {
    pub(crate) resource: &'a Arc<Resource>,
    pub(crate) version: &'a LiveVersion,
    pub(crate) standing: Standing,
    /// The object has our label, so the stream of its kind reports it.
    pub(crate) covered: bool,
    /// The server names us as the owner of at least one field.
    pub(crate) owned: bool,
    pub(crate) remarks: Arc<[Remark]>,
}

/// A read of an object in progress.
#[derive(Debug)]
pub(crate) struct Look<'a> {
    records: &'a Records,
    number: (Key, u64),
    /// The number of suspicions when the read began.
    pub(crate) told: u32,
}

impl Look<'_> {
    pub(crate) fn key(&self) -> &Key {
        &self.number.0
    }
}

impl Drop for Look<'_> {
    fn drop(&mut self) {
        self.records.state().looks.remove(&self.number);
    }
}

/// The records of one cluster.
#[derive(Debug, Default)]
pub(crate) struct Records(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// Boxed, because the nodes of a tree are half empty, and there may be a hundred thousand
    /// records.
    records: BTreeMap<Key, Box<Record>>,
    /// The latest declarations. Most observations are about the very same declaration, which is
    /// recognized here without its digest.
    latest: Latest,
    sets: FieldSets,
    /// The keys whose records have to be stored or removed for the next process.
    moved: BTreeSet<Key>,
    /// The reads in progress. The value is the version that a stream reported meanwhile for an
    /// object without a record: the read may return an older one.
    looks: BTreeMap<(Key, u64), Option<LiveVersion>>,
    /// The number of reads that have begun.
    begun: u64,
    /// Objects that are being deleted, with the finalizers they wait for: streams report when they
    /// are gone.
    leaving: BTreeMap<Key, Arc<[Arc<str>]>>,
}

impl State {
    fn put(&mut self, key: &Key, mut record: Record) {
        record.ours = self.sets.intern(record.ours);
        record.beside = self.sets.intern(record.beside);
        record.lent = self.sets.intern(record.lent);
        if let Some(before) = self.records.get(key).filter(|before| before.uid == record.uid) {
            let moved = before.version != record.version;
            record.passed = if moved { Some(before.version.clone()) } else { before.passed.clone() };
        }
        self.records.insert(key.clone(), Box::new(record));
        self.latest.forget(key);
        self.moved.insert(key.clone());
    }
}

impl Records {
    pub(crate) fn get(&self, key: &Key) -> Option<Record> {
        self.state().records.get(key).map(|record| Record::clone(record))
    }

    pub(crate) fn has(&self, key: &Key) -> bool {
        self.state().records.contains_key(key)
    }

    /// Calls a function with a record, without copying it.
    pub(crate) fn with<T>(&self, key: &Key, look: impl FnOnce(&mut Record) -> T) -> Option<T> {
        self.state().records.get_mut(key).map(|record| look(record))
    }

    /// Returns the record of an object that is in place by all reports about it, for this
    /// declaration or for none.
    pub(crate) fn trusted(&self, key: &Key, resource: Option<&Arc<Resource>>) -> Option<Record> {
        let State { records, latest, .. } = &mut *self.state();
        let record = records.get_mut(key).filter(|record| record.suspicions == 0)?;
        if let Some(resource) = resource {
            if !latest.is(key, resource) {
                if !record.is_of(resource) {
                    return None;
                }
                latest.put(key, resource);
            }
            record.be_of(resource);
        }
        Some(Record::clone(record))
    }

    /// Returns the keys whose scale belonged to an autoscaler at their last read.
    pub(crate) fn autoscaled<'k>(&self, keys: impl Iterator<Item = &'k Key>) -> Vec<Key> {
        let state = self.state();
        let is_autoscaled = |key: &&Key| state.records.get(*key).is_some_and(|record| record.autoscaled);
        keys.filter(is_autoscaled).cloned().collect()
    }

    /// Returns the same for all keys of a namespace.
    pub(crate) fn autoscaled_in(&self, namespace: &str) -> Vec<Key> {
        let state = self.state();
        let autoscaled = state.records.iter().filter(|(key, record)| key.namespace() == namespace && record.autoscaled);
        autoscaled.map(|(key, _)| key.clone()).collect()
    }

    /// Begins a read. Changes that streams report until its end may be news to it.
    pub(crate) fn begin_look(&self, key: &Key) -> Look<'_> {
        let mut state = self.state();
        state.begun += 1;
        let number = (key.clone(), state.begun);
        state.looks.insert(number.clone(), None);
        let told = state.records.get(key).map_or(0, |record| record.suspicions);
        Look { records: self, number, told }
    }

    /// Stores the record that a read took. Returns whether a stream reported another version while
    /// there was no record: then the record stays suspect.
    pub(crate) fn put_seen(&self, look: &Look<'_>, mut record: Record) -> bool {
        let key = &look.number.0;
        let mut state = self.state();
        let meanwhile = state.looks.get(&look.number).and_then(Option::as_ref);
        let news = meanwhile.is_some_and(|version| *version != record.version);
        record.suspicions = record.suspicions.max(u32::from(news));
        state.put(key, record);
        news
    }

    /// Stores the record of one of our own writes.
    pub(crate) fn put(&self, key: &Key, record: Record) {
        self.state().put(key, record);
    }

    /// Notes that a stream reported an object without a record. Returns whether it still has none.
    pub(crate) fn told_of_unknown(&self, key: &Key, version: &LiveVersion) -> bool {
        let mut state = self.state();
        let unknown = !state.records.contains_key(key);
        if unknown {
            let looks = state.looks.range_mut((key.clone(), 0)..=(key.clone(), u64::MAX));
            looks.for_each(|(_, told)| *told = Some(version.clone()));
        }
        unknown
    }

    pub(crate) fn forget(&self, key: &Key) {
        let mut state = self.state();
        state.latest.forget(key);
        if state.records.remove(key).is_some() {
            state.moved.insert(key.clone());
        }
    }

    /// Notes that a read found the object in place. `told` is the number of suspicions before the
    /// read began: later ones are about later changes. An object that no stream reports stays
    /// suspect.
    pub(crate) fn seen_in_place(&self, key: &Key, seen: Seen<'_>, told: u32) {
        let mut state = self.state();
        let Some(record) = state.records.get_mut(key) else { return };
        if !seen.covered {
            record.suspicions = record.suspicions.max(1);
        } else if record.suspicions == told {
            record.suspicions = 0;
        }
        record.move_to(seen.version.clone());
        record.standing = seen.standing;
        record.owned |= seen.owned;
        record.set_remarks(seen.remarks);
        record.be_of(seen.resource);
        state.moved.insert(key.clone());
    }

    pub(crate) fn suspicions(&self, key: &Key) -> u32 {
        self.state().records.get(key).map_or(0, |record| record.suspicions)
    }

    /// Notes an event that does not agree with the record: the next observation needs a read.
    pub(crate) fn suspect(&self, key: &Key) {
        self.count_suspicions(key, |suspicions| suspicions.wrapping_add(1).max(1));
    }

    /// Notes that a read found the object different from its record, or failed.
    pub(crate) fn doubt(&self, key: &Key) {
        self.count_suspicions(key, |suspicions| suspicions.max(1));
    }

    fn count_suspicions(&self, key: &Key, count: impl FnOnce(u32) -> u32) {
        let State { records, moved, .. } = &mut *self.state();
        let Some(record) = records.get_mut(key) else { return };
        if record.suspicions == 0 {
            // The next process that uses these records must know it too.
            moved.insert(key.clone());
        }
        record.suspicions = count(record.suspicions);
    }

    /// Returns the keys of a kind, in one namespace or in all.
    pub(crate) fn keys_of(&self, class: &str, namespace: &str) -> BTreeSet<Key> {
        let within = |key: &&Key| key.class() == class && (namespace.is_empty() || key.namespace() == namespace);
        let state = self.state();
        state.records.keys().chain(state.leaving.keys()).filter(within).cloned().collect()
    }

    /// Reports whether a stream reported another version of an object without a record while a read
    /// was in progress.
    pub(crate) fn has_news(&self, look: &Look<'_>, version: &LiveVersion) -> bool {
        self.state().looks.get(&look.number).is_some_and(|told| told.as_ref().is_some_and(|told| told != version))
    }

    /// Notes whether an object is being deleted, and the finalizers it waits for. Returns whether
    /// that is news.
    pub(crate) fn note_leaving(&self, key: &Key, finalizers: Option<Arc<[Arc<str>]>>) -> bool {
        let leaving = &mut self.state().leaving;
        match finalizers {
            Some(finalizers) => leaving.insert(key.clone(), Arc::clone(&finalizers)).as_ref() != Some(&finalizers),
            None => leaving.remove(key).is_some(),
        }
    }

    /// Reports whether an object is known to be in deletion.
    pub(crate) fn is_leaving(&self, key: &Key) -> bool {
        self.state().leaving.contains_key(key)
    }

    /// Returns the newest known version among the objects of a kind, if versions are numbers.
    pub(crate) fn newest(&self, class: &str, namespace: &str) -> Option<u64> {
        let within = |key: &Key| key.class() == class && (namespace.is_empty() || key.namespace() == namespace);
        let state = self.state();
        let versions = state.records.iter().filter(|(key, _)| within(key)).map(|(_, record)| &record.version);
        versions.filter_map(|version| version.as_str().parse().ok()).max()
    }

    /// Forgets the versions of a kind, because they no longer mean anything: the next event of each
    /// object is compared, whatever its version is.
    pub(crate) fn forget_versions(&self, class: &str, namespace: &str) {
        let within = |key: &Key| key.class() == class && (namespace.is_empty() || key.namespace() == namespace);
        let State { records, moved, .. } = &mut *self.state();
        for (key, record) in records.iter_mut().filter(|(key, _)| within(key)) {
            record.version = LiveVersion::new(NO_VERSION).expect("it is short");
            record.passed = None;
            // The generation cannot show any more whether only the status changed.
            record.standing.generation = None;
            moved.insert(key.clone());
        }
    }

    /// Reports whether there are records of more than this many objects of a key's kind and
    /// namespace.
    pub(crate) fn are_beyond(&self, key: &Key, most: usize) -> bool {
        // No object's name begins with a space, or with a character before it.
        let Ok(first) = Key::new(key.class(), key.namespace(), " ") else { return false };
        let beside = |other: &&Key| other.class() == key.class() && other.namespace() == key.namespace();
        let state = self.state();
        state.records.range(first..).map(|(other, _)| other).take_while(beside).nth(most).is_some()
    }

    /// Returns the changes since the previous call, in the form that is stored. `judged` returns
    /// the user's rule by which an object's health is judged.
    pub(crate) fn take_moved(&self, judged: impl Fn(&Key) -> Option<Digest>) -> CacheChanges {
        let mut state = self.state();
        let moved = std::mem::take(&mut state.moved);
        let stored = |key: &Key| state.records.get(key).map(|record| written(record, judged(key)));
        moved.into_iter().map(|key| (key.to_text(), stored(&key))).collect()
    }

    /// Marks keys as changed again because they could not be stored. Ignores names that are not
    /// keys.
    pub(crate) fn store_again(&self, names: &[String]) {
        self.state().moved.extend(names.iter().filter_map(|name| name.parse::<Key>().ok()));
    }

    /// Loads the stored records, and ignores unreadable ones. None of them is believed before it
    /// was compared. Returns the keys whose health was judged by another rule than today's: they
    /// need a read.
    pub(crate) fn recall(&self, stored: CachedBytes, judged: impl Fn(&Key) -> Option<Digest>) -> Vec<Key> {
        let mut outdated = Vec::new();
        for (name, bytes) in stored {
            let (Ok(key), Some((record, rule))) = (name.parse::<Key>(), read(&bytes)) else { continue };
            let is_outdated = rule != judged(&key);
            let mut state = self.state();
            let (ours, beside) = (state.sets.intern(record.ours), state.sets.intern(record.beside));
            let lent = state.sets.intern(record.lent);
            let suspicions = record.suspicions.max(u32::from(is_outdated));
            if is_outdated {
                outdated.push(key.clone());
            }
            state.records.entry(key).or_insert_with(|| Box::new(Record { ours, beside, lent, suspicions, ..record }));
        }
        outdated
    }

    pub(crate) fn len(&self) -> usize {
        self.state().records.len()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Each change is complete before the next begins, and all of the state may be lost.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Bytes in base64.
type Text = String;

/// The stored form of a record.
#[derive(Serialize, Deserialize)]
struct Stored {
    uid: Uid,
    version: LiveVersion,
    declared: Digest,
    fingerprint: Digest,
    ours: Text,
    beside: Text,
    baseline: Text,
    lent: Text,
    scaler: Option<Arc<str>>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    autoscaled: bool,
    health: Health,
    controlled: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    deleting: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    ended: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    made: Option<u32>,
    generation: Option<i64>,
    metadata: u64,
    schema: Option<Digest>,
    owned: bool,
    #[serde(default, skip_serializing_if = "<[Remark]>::is_empty")]
    remarks: Vec<Remark>,
    /// The fields that were ours and that others still hold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    left: Option<Text>,
    /// The user's rule by which the object's health was judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    judged: Option<Digest>,
    /// The object differed from the record, or could not be read: only a read clears that.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    suspect: bool,
}

fn written(record: &Record, judged: Option<Digest>) -> Vec<u8> {
    let Record { uid, version, declared, fingerprint, ours, beside, baseline, lent, scaler, autoscaled, .. } =
        record.clone();
    let Standing { health, controlled, deleting, ended, made, generation, metadata } = record.standing;
    let [ours, beside, baseline, lent] =
        [ours.to_bytes(), beside.to_bytes(), baseline.to_bytes(), lent.to_bytes()].map(|bytes| BASE64.encode(&bytes));
    let stored = Stored {
        uid,
        version,
        declared,
        fingerprint,
        ours,
        beside,
        baseline,
        lent,
        scaler,
        autoscaled,
        health,
        controlled,
        deleting,
        ended,
        made,
        generation,
        metadata,
        schema: record.schema,
        owned: record.owned,
        remarks: record.remarks().to_vec(),
        left: record.left().map(|left| BASE64.encode(&left.to_bytes())),
        judged,
        suspect: record.suspicions > 0,
    };
    serde_json::to_vec(&stored).expect("it has string keys and no failing serializers")
}

fn read(bytes: &[u8]) -> Option<(Record, Option<Digest>)> {
    let stored: Stored = serde_json::from_slice(bytes).ok()?;
    let Stored { uid, version, declared, fingerprint, health, controlled, deleting, ended, made, .. } = stored;
    let (generation, metadata) = (stored.generation, stored.metadata);
    let left = match stored.left {
        Some(left) => FieldSet::from_bytes(&BASE64.decode(left.as_bytes()).ok()?).ok()?,
        None => FieldSet::empty(),
    };
    let record = Record {
        uid,
        version,
        passed: None,
        declared,
        fingerprint,
        ours: FieldSet::from_bytes(&BASE64.decode(stored.ours.as_bytes()).ok()?).ok()?,
        beside: FieldSet::from_bytes(&BASE64.decode(stored.beside.as_bytes()).ok()?).ok()?,
        baseline: Baseline::from_bytes(&BASE64.decode(stored.baseline.as_bytes()).ok()?).ok()?,
        lent: FieldSet::from_bytes(&BASE64.decode(stored.lent.as_bytes()).ok()?).ok()?,
        // Earlier versions of Setpoint stored only the scaler.
        autoscaled: stored.autoscaled || stored.scaler.is_some(),
        scaler: stored.scaler,
        standing: Standing { health, controlled, deleting, ended, made, generation, metadata },
        schema: stored.schema,
        owned: stored.owned,
        kept: None,
        aside: Aside::of(stored.remarks.into(), left),
        suspicions: u32::from(stored.suspect),
    };
    Some((record, stored.judged))
}
