//! Interprets events: the object is unchanged, only its health changed, or it has to be read.

use setpoint_core::key::Key;
use setpoint_core::value::Value;
use setpoint_kube::key::group_and_kind;
use setpoint_kube::kinds::is_awaited;
use setpoint_kube::managed::{ManagedFields, applied_by};
use setpoint_kube::object;
use setpoint_kube::path::FieldPath;
use setpoint_kube::shared::Holding;

use super::{StreamId, Watches};
use crate::cluster::{Cluster, Named, metadata_hash};
use crate::compared::{deleting, entries_of};
use crate::records::{Record, Standing};
use crate::remarks::are_same;
use crate::requests::Form;

/// The type of an event in a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// The object exists, new or changed.
    Present,
    Gone,
    /// The progress of the stream.
    Bookmark,
    Error,
}

impl Kind {
    pub(super) fn read(word: Option<&str>) -> Option<Self> {
        match word? {
            "ADDED" | "MODIFIED" => Some(Self::Present),
            "DELETED" => Some(Self::Gone),
            "BOOKMARK" => Some(Self::Bookmark),
            "ERROR" => Some(Self::Error),
            _ => None,
        }
    }
}

/// Returns the key of an object in a stream. The kind comes from the stream, because the object's
/// own may be no more than "metadata".
pub(super) fn key_of(id: &StreamId, object: &Value) -> Option<Key> {
    Key::new(&id.class, object::namespace(object).unwrap_or_default(), object::name(object)?).ok()
}

/// An object as a stream reported it.
#[derive(Debug)]
pub(super) struct WatchedObject {
    pub(super) kind: Kind,
    pub(super) form: Form,
    pub(super) object: Value,
}

/// The result of comparing an event with the record.
enum Judgement {
    /// The object has a recorded version.
    Known,
    /// The object agrees with its record, whose other properties are updated.
    Fits {
        standing: Standing,
    },
    Suspect,
}

impl Cluster {
    /// Handles an event: a client, perhaps we, wrote or removed an object with our label.
    pub(super) fn told(&self, key: &Key, told: WatchedObject) {
        // While a write of ours is in progress, the origin of this event is unknown.
        let Some(told) = self.watches.kept_for_later(key, told) else { return };
        self.may_serve_others(key);
        if told.kind == Kind::Gone {
            self.autoscaler_gone(key);
        }
        let WatchedObject { kind, form, object } = told;
        self.told_of_leaving(key, kind, &object);
        let Ok(named) = Named::of(&object) else { return self.suspect(key) };
        let Some(record) = self.records.get(key) else {
            if !self.records.told_of_unknown(key, &named.version) {
                self.suspect(key);
            }
            return;
        };
        let judgement =
            if kind == Kind::Gone { Judgement::Suspect } else { self.judge(&record, &named, form, &object) };
        match judgement {
            Judgement::Known => {}
            Judgement::Fits { standing } => {
                self.records.with(key, |record| {
                    record.move_to(named.version);
                    record.standing = standing;
                });
                // The engine needs to know a changed health, and also that a suspect object may be
                // in order again.
                if standing.health != record.standing.health || record.suspicions > 0 {
                    self.watches.tell(key.clone());
                }
            }
            Judgement::Suspect => self.suspect(key),
        }
    }

    /// Notifies the engine when an object in deletion is gone, or waits for other finalizers than
    /// before. There may be no record of it.
    fn told_of_leaving(&self, key: &Key, kind: Kind, object: &Value) {
        let is_news = match kind {
            Kind::Gone => self.records.is_leaving(key),
            _ => self.records.is_leaving(key) && self.records.note_leaving(key, deleting(object)),
        };
        if is_news {
            self.watches.tell(key.clone());
        }
    }

    /// Discards the catalogue after a definition was created, established, changed or removed. This
    /// comes before the notification, whose receiver must not use the older catalogue.
    pub(super) fn may_serve_others(&self, key: &Key) {
        let (group, kind) = group_and_kind(key.class());
        if is_awaited(group, kind) {
            self.discovery.forget();
        }
    }

    fn judge(&self, record: &Record, named: &Named, form: Form, object: &Value) -> Judgement {
        if named.uid != record.uid {
            return Judgement::Suspect;
        }
        // Versions are compared for equality only.
        if record.knows(&named.version) {
            return Judgement::Known;
        }
        let Ok(entries) = entries_of(object) else { return Judgement::Suspect };
        let is_in_ours = self.is_as_applied(object, &entries);
        let is_same = match form {
            Form::Whole if is_in_ours => self.is_as_recorded(record, object, &entries),
            _ => is_but_for_status(record, object),
        };
        let standing = match form {
            Form::Whole => self.standing(object),
            Form::Metadata => record.standing,
        };
        // The fields from which health is judged may also have other names in another version: a
        // read in ours decides.
        let is_certain = is_in_ours || standing.health == record.standing.health;
        if is_same && is_certain { Judgement::Fits { standing } } else { Judgement::Suspect }
    }

    /// Reports whether an object has the version in which we applied it. A stream uses the
    /// preferred version, in which our fields may have other names.
    fn is_as_applied(&self, object: &Value, entries: &[ManagedFields]) -> bool {
        let version = applied_by(entries, &self.api.manager).map(|entry| &*entry.api_version);
        version.is_none_or(|version| object::api_version(object) == Some(version))
    }

    fn is_as_recorded(&self, record: &Record, object: &Value, entries: &[ManagedFields]) -> bool {
        let sharing = self.sharing_as_recorded(record, Holding { object, entries });
        let beside = sharing.and_then(|sharing| self.strayed(object, record, entries, &sharing).ok());
        let is_same =
            |beside: Vec<FieldPath>| are_same(&self.remarks(object, record, entries, &beside), &record.remarks());
        beside.is_some_and(is_same) && !self.lost_ownership(record, entries)
    }

    pub(super) fn suspect(&self, key: &Key) {
        self.records.suspect(key);
        self.watches.tell(key.clone());
    }

    /// Marks a write of ours as in progress, until the guard is dropped.
    pub(crate) fn writing(&self, key: &Key) -> Writing<'_> {
        let mut state = self.watches.state();
        state.writing.entry(key.clone()).or_default().0 += 1;
        // From now on the stream of its kind reports the object, or the next read finds that it
        // does not.
        state.let_go(key);
        drop(state);
        Writing { cluster: self, key: key.clone() }
    }
}

/// Reports whether nothing except the status changed, by the metadata.
fn is_but_for_status(record: &Record, object: &Value) -> bool {
    let standing = &record.standing;
    standing.generation.is_some()
        && object::generation(object) == standing.generation
        && metadata_hash(object) == standing.metadata
}

/// A write of ours in progress.
pub(crate) struct Writing<'c> {
    cluster: &'c Cluster,
    key: Key,
}

impl Drop for Writing<'_> {
    fn drop(&mut self) {
        if let Some(told) = self.cluster.watches.written(&self.key) {
            self.cluster.told(&self.key, told);
        }
    }
}

impl Watches {
    /// Keeps an event until the write of ours that is in progress has ended; returns it if there is
    /// no such write.
    fn kept_for_later(&self, key: &Key, told: WatchedObject) -> Option<WatchedObject> {
        match self.state().writing.get_mut(key) {
            Some((_, last)) => {
                *last = Some(told);
                None
            }
            None => Some(told),
        }
    }

    /// Ends a write. Returns the last event that was kept meanwhile, if no other write is in
    /// progress.
    fn written(&self, key: &Key) -> Option<WatchedObject> {
        let mut state = self.state();
        let (writes, _) = state.writing.get_mut(key)?;
        *writes -= 1;
        if *writes > 0 {
            return None;
        }
        state.writing.remove(key).and_then(|(_, last)| last)
    }

    /// Splits the stream of a kind that may only be watched by namespace: one stream for each
    /// namespace that was asked for. Returns `false` if the kind is split already and this stream
    /// is one of the parts, as that of a kind without namespaces which may not be watched at all.
    pub(super) fn restrict(&self, id: &StreamId) -> bool {
        let mut state = self.state();
        if state.restricted.contains(&id.class) {
            // Another stream that was refused at the same time may have done so already.
            return !state.streams.contains_key(id) && !state.polled.contains(id);
        }
        self.spread(&mut state, &id.class);
        state.close(&StreamId::of_ours(&id.class, ""));
        let namespaces: Vec<StreamId> = state.asked.iter().filter(|asked| asked.class == id.class).cloned().collect();
        for id in namespaces {
            self.open(&mut state, id);
        }
        state.wake_listeners();
        drop(state);
        self.wanted.raise();
        true
    }
}
