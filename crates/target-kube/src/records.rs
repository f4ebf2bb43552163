//! What is remembered of each object as it stood right after it was applied: whose fields are
//! whose, and hashes of ours. No values.

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
use crate::memory::{Changes, Remembered};
use crate::remarks::Aside;

/// No object ever has this version.
const NO_VERSION: &str = "0";

/// What is remembered of one object.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    pub(crate) uid: Uid,
    /// The newest version that is known to be as the record says.
    pub(crate) version: LiveVersion,
    /// The one before it: a stream that lags behind our own writes may still tell of it.
    passed: Option<LiveVersion>,
    /// Digest of the declaration.
    pub(crate) declared: Digest,
    /// Digest of the declared body: what an object in place answers with.
    pub(crate) fingerprint: Digest,
    /// Our fields.
    pub(crate) ours: FieldSet,
    /// Those of others at that moment.
    pub(crate) beside: FieldSet,
    pub(crate) baseline: Baseline,
    /// What is declared and co-owners held then: not among ours.
    pub(crate) lent: FieldSet,
    /// Who had set the scale then, with an autoscaler aiming at the object.
    pub(crate) scaler: Option<Arc<str>>,
    /// What is lent is an autoscaler's, and only for as long as there is one.
    pub(crate) autoscaled: bool,
    pub(crate) standing: Standing,
    /// The schema the baseline was taken under, if it was known.
    pub(crate) schema: Option<Digest>,
    /// It was applied: the server names us as the owner of our fields, unless somebody cleared
    /// that.
    pub(crate) owned: bool,
    /// The declaration itself where the app has rules about what others set or add: what streams
    /// tell of the object is judged by it.
    pub(crate) kept: Option<Arc<Resource>>,
    /// What is left alone of what others hold.
    aside: Option<Box<Aside>>,
    /// What a stream told that does not fit. Only a look clears it, and only if nothing was told
    /// meanwhile.
    pub(crate) suspicions: u32,
}

/// What else an answer needs of an object that is in place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Standing {
    pub(crate) health: Health,
    pub(crate) controlled: bool,
    /// A delete of it was accepted.
    pub(crate) deleting: bool,
    /// It has run to its end and is going to be removed.
    pub(crate) ended: bool,
    /// The second in which it was made, by the server's clock.
    pub(crate) made: Option<u32>,
    /// Tells whether only the status moved, where a stream brings no more than metadata.
    pub(crate) generation: Option<i64>,
    pub(crate) metadata: u64,
}

impl Record {
    /// What the answer of an apply gives, or that of a dry-run, for the declaration that was sent.
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

    /// What was ours and others hold still, if there is anything.
    pub(crate) fn left(&self) -> Option<&FieldSet> {
        self.aside.as_ref().map(|aside| &aside.left).filter(|left| !left.is_empty())
    }

    pub(crate) fn set_left(&mut self, left: FieldSet) {
        self.aside = Aside::of(self.remarks(), left);
    }

    pub(crate) fn set_remarks(&mut self, remarks: Arc<[Remark]>) {
        self.aside = Aside::of(remarks, self.left().cloned().unwrap_or_default());
    }

    /// The same, seen in a later version.
    pub(crate) fn at(mut self, version: LiveVersion, standing: Standing) -> Self {
        self.move_to(version);
        Self { standing, ..self }
    }

    pub(crate) fn move_to(&mut self, version: LiveVersion) {
        if self.version != version {
            self.passed = Some(std::mem::replace(&mut self.version, version));
        }
    }

    /// Whether this version is what is remembered, or what was before it. Versions never come back,
    /// so nothing is news in either.
    pub(crate) fn knows(&self, version: &LiveVersion) -> bool {
        self.version == *version || self.passed.as_ref() == Some(version)
    }

    /// Remembers what co-owners hold.
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

    /// It is of no declaration that anybody knows, of which this was ours too.
    pub(crate) fn be_of_an_earlier_declaration(&mut self, undeclared: &[FieldPath]) {
        self.declared = Digest::of(b"");
        self.ours = self.ours.union(&FieldSet::from_paths(undeclared.iter().cloned()));
    }

    /// Whether it is of this declaration.
    pub(crate) fn is_of(&self, resource: &Resource) -> bool {
        self.declared == resource.digest()
    }
}

/// How a look found an object that is in place.
#[derive(Clone, Debug)]
pub(crate) struct Seen<'a> {
    pub(crate) resource: &'a Arc<Resource>,
    pub(crate) version: &'a LiveVersion,
    pub(crate) standing: Standing,
    /// It bears our label, so that the stream of its kind tells of it.
    pub(crate) covered: bool,
    /// The server names us as the owner of something.
    pub(crate) owned: bool,
    pub(crate) remarks: Arc<[Remark]>,
}

/// A look at an object that is under way.
#[derive(Debug)]
pub(crate) struct Look<'a> {
    records: &'a Records,
    number: (Key, u64),
    /// How many suspicions there were when it began.
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
    /// Boxed: the nodes of a tree are half empty, and there may be a hundred thousand.
    records: BTreeMap<Key, Box<Record>>,
    /// Most looks are about the very same declaration: that need not be found out by its digest.
    latest: Latest,
    sets: FieldSets,
    /// What has to be remembered or forgotten beyond our life.
    moved: BTreeSet<Key>,
    /// What is being looked at, with the version in which a stream told of it meanwhile though
    /// there is no record of it: the look may have seen an older one. By who looks.
    looks: BTreeMap<(Key, u64), Option<LiveVersion>>,
    /// How many looks have begun.
    begun: u64,
    /// Objects that are being deleted, with the finalizers they wait for: streams tell when they
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

    /// Looks at a record in its place.
    pub(crate) fn with<T>(&self, key: &Key, look: impl FnOnce(&mut Record) -> T) -> Option<T> {
        self.state().records.get_mut(key).map(|record| look(record))
    }

    /// What is remembered of an object that is in place by all that was told of it, for this
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

    /// Those of the keys whose scale was an autoscaler's when they were last looked at.
    pub(crate) fn autoscaled<'k>(&self, keys: impl Iterator<Item = &'k Key>) -> Vec<Key> {
        let state = self.state();
        let is_autoscaled = |key: &&Key| state.records.get(*key).is_some_and(|record| record.autoscaled);
        keys.filter(is_autoscaled).cloned().collect()
    }

    /// The same for all of a namespace.
    pub(crate) fn autoscaled_in(&self, namespace: &str) -> Vec<Key> {
        let state = self.state();
        let autoscaled = state.records.iter().filter(|(key, record)| key.namespace() == namespace && record.autoscaled);
        autoscaled.map(|(key, _)| key.clone()).collect()
    }

    /// A look begins: what streams tell of the object until it ends may be news to it.
    pub(crate) fn begin_look(&self, key: &Key) -> Look<'_> {
        let mut state = self.state();
        state.begun += 1;
        let number = (key.clone(), state.begun);
        state.looks.insert(number.clone(), None);
        let told = state.records.get(key).map_or(0, |record| record.suspicions);
        Look { records: self, number, told }
    }

    /// Takes the record of a look. Whether a stream has told of another version while there was
    /// none: then it stays suspect.
    pub(crate) fn put_seen(&self, look: &Look<'_>, mut record: Record) -> bool {
        let key = &look.number.0;
        let mut state = self.state();
        let meanwhile = state.looks.get(&look.number).and_then(Option::as_ref);
        let news = meanwhile.is_some_and(|version| *version != record.version);
        record.suspicions = record.suspicions.max(u32::from(news));
        state.put(key, record);
        news
    }

    /// Takes the record of a write of ours.
    pub(crate) fn put(&self, key: &Key, record: Record) {
        self.state().put(key, record);
    }

    /// A stream tells of an object that there is no record of. Whether there still is none.
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

    /// A look found it in place. `told` is how many suspicions there were before the look began:
    /// later ones are about what came after. What no stream tells of stays suspect.
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

    /// Something does not fit: the next answer needs a look.
    pub(crate) fn suspect(&self, key: &Key) {
        self.count_suspicions(key, |suspicions| suspicions.wrapping_add(1).max(1));
    }

    /// A look has found that it is not as it is remembered, or could not see whether it is.
    pub(crate) fn doubt(&self, key: &Key) {
        self.count_suspicions(key, |suspicions| suspicions.max(1));
    }

    fn count_suspicions(&self, key: &Key, count: impl FnOnce(u32) -> u32) {
        let State { records, moved, .. } = &mut *self.state();
        let Some(record) = records.get_mut(key) else { return };
        if record.suspicions == 0 {
            // Whoever goes on with these records has to know it too.
            moved.insert(key.clone());
        }
        record.suspicions = count(record.suspicions);
    }

    /// The keys of a kind, in a namespace or in all.
    pub(crate) fn keys_of(&self, class: &str, namespace: &str) -> BTreeSet<Key> {
        let within = |key: &&Key| key.class() == class && (namespace.is_empty() || key.namespace() == namespace);
        let state = self.state();
        state.records.keys().chain(state.leaving.keys()).filter(within).cloned().collect()
    }

    /// Whether a stream told of another version while a look was under way, of an object without a
    /// record.
    pub(crate) fn has_news(&self, look: &Look<'_>, version: &LiveVersion) -> bool {
        self.state().looks.get(&look.number).is_some_and(|told| told.as_ref().is_some_and(|told| told != version))
    }

    /// Notes whether an object is being deleted, and what it waits for. Returns whether that is
    /// news.
    pub(crate) fn note_leaving(&self, key: &Key, finalizers: Option<Arc<[Arc<str>]>>) -> bool {
        let leaving = &mut self.state().leaving;
        match finalizers {
            Some(finalizers) => leaving.insert(key.clone(), Arc::clone(&finalizers)).as_ref() != Some(&finalizers),
            None => leaving.remove(key).is_some(),
        }
    }

    /// Whether an object is known to be being deleted.
    pub(crate) fn is_leaving(&self, key: &Key) -> bool {
        self.state().leaving.contains_key(key)
    }

    /// The newest version that is known of an object of a kind, where versions are numbers.
    pub(crate) fn newest(&self, class: &str, namespace: &str) -> Option<u64> {
        let within = |key: &Key| key.class() == class && (namespace.is_empty() || key.namespace() == namespace);
        let state = self.state();
        let versions = state.records.iter().filter(|(key, _)| within(key)).map(|(_, record)| &record.version);
        versions.filter_map(|version| version.as_str().parse().ok()).max()
    }

    /// Versions of this kind mean nothing any more: what is told next is compared, whatever its
    /// version is.
    pub(crate) fn forget_versions(&self, class: &str, namespace: &str) {
        let within = |key: &Key| key.class() == class && (namespace.is_empty() || key.namespace() == namespace);
        let State { records, moved, .. } = &mut *self.state();
        for (key, record) in records.iter_mut().filter(|(key, _)| within(key)) {
            record.version = LiveVersion::new(NO_VERSION).expect("it is short");
            record.passed = None;
            // Whether only the status moved cannot be said either.
            record.standing.generation = None;
            moved.insert(key.clone());
        }
    }

    /// Whether there are records of more than so many objects of a key's kind and namespace.
    pub(crate) fn are_beyond(&self, key: &Key, most: usize) -> bool {
        // No object's name begins with a space, or with anything before it.
        let Ok(first) = Key::new(key.class(), key.namespace(), " ") else { return false };
        let beside = |other: &&Key| other.class() == key.class() && other.namespace() == key.namespace();
        let state = self.state();
        state.records.range(first..).map(|(other, _)| other).take_while(beside).nth(most).is_some()
    }

    /// What has moved since this was last asked, in the form that is stored. `judged`: the rule of
    /// a user by which an object's health is judged.
    pub(crate) fn take_moved(&self, judged: impl Fn(&Key) -> Option<Digest>) -> Changes {
        let mut state = self.state();
        let moved = std::mem::take(&mut state.moved);
        let stored = |key: &Key| state.records.get(key).map(|record| written(record, judged(key)));
        moved.into_iter().map(|key| (key.to_text(), stored(&key))).collect()
    }

    /// Takes these, which could not be stored, for moved again. Names of other things are left.
    pub(crate) fn store_again(&self, names: &[String]) {
        self.state().moved.extend(names.iter().filter_map(|name| name.parse::<Key>().ok()));
    }

    /// Takes over what was remembered; what cannot be read was never there. Nothing of it is
    /// believed before it was compared. Answers those whose health was judged by another rule than
    /// today's: they need a look.
    pub(crate) fn recall(&self, stored: Remembered, judged: impl Fn(&Key) -> Option<Digest>) -> Vec<Key> {
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
        // Each change is complete before the next begins, and all of it may be lost.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Bytes in base64.
type Text = String;

/// The stored form.
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
    /// What was ours and others hold still.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    left: Option<Text>,
    /// The rule of a user by which its health was judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    judged: Option<Digest>,
    /// It was not as the record says, or nobody knew: only a look clears that.
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
        // Earlier versions have stored the scaler alone.
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
