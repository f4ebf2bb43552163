//! What an event means: that all is as it was, that only the health moved, or that somebody has to
//! look.

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

/// What a line of a stream says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// It is there, new or changed.
    Present,
    Gone,
    /// How far the stream is.
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

/// The key of an object a stream tells of: what it calls itself may be no more than "metadata".
pub(super) fn key_of(id: &StreamId, object: &Value) -> Option<Key> {
    Key::new(&id.class, object::namespace(object).unwrap_or_default(), object::name(object)?).ok()
}

/// What a stream told of an object.
#[derive(Debug)]
pub(super) struct WatchedObject {
    pub(super) kind: Kind,
    pub(super) form: Form,
    pub(super) object: Value,
}

/// What an event makes of what is remembered.
enum Judgement {
    /// It is what is remembered.
    Known,
    /// It fits; what else is remembered moves on.
    Fits {
        standing: Standing,
    },
    Suspect,
}

impl Cluster {
    /// Somebody, perhaps we, wrote or removed an object with our label.
    pub(super) fn told(&self, key: &Key, told: WatchedObject) {
        // While a write of ours is under way, nobody can say whose this is.
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
                // Health is for the engine to hear of, and so is that what was suspect may be well
                // again.
                if standing.health != record.standing.health || record.suspicions > 0 {
                    self.watches.tell(key.clone());
                }
            }
            Judgement::Suspect => self.suspect(key),
        }
    }

    /// Whoever waits for an object to go hears when it goes, and when it waits for something else
    /// than before. There may be no record of it.
    fn told_of_leaving(&self, key: &Key, kind: Kind, object: &Value) {
        let is_news = match kind {
            Kind::Gone => self.records.is_leaving(key),
            _ => self.records.is_leaving(key) && self.records.note_leaving(key, deleting(object)),
        };
        if is_news {
            self.watches.tell(key.clone());
        }
    }

    /// A definition was made, established, changed or removed. Before anything else is known of it:
    /// whoever goes by that must not be told of the time before.
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
        // What says how well it is may have other names in another version, too: a look in ours
        // tells.
        let is_certain = is_in_ours || standing.health == record.standing.health;
        if is_same && is_certain { Judgement::Fits { standing } } else { Judgement::Suspect }
    }

    /// Whether an object is in the version we applied it in. A stream speaks the preferred one, in
    /// which our fields may have other names.
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

    /// Marks a write of ours as under way, until it is dropped.
    pub(crate) fn writing(&self, key: &Key) -> Writing<'_> {
        let mut state = self.watches.state();
        state.writing.entry(key.clone()).or_default().0 += 1;
        // From here on the stream of its kind tells of it, or the next look finds that it does not.
        state.let_go(key);
        drop(state);
        Writing { cluster: self, key: key.clone() }
    }
}

/// Whether nothing but the status has moved, as far as metadata tells.
fn is_but_for_status(record: &Record, object: &Value) -> bool {
    let standing = &record.standing;
    standing.generation.is_some()
        && object::generation(object) == standing.generation
        && metadata_hash(object) == standing.metadata
}

/// A write of ours is under way.
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
    /// Keeps what was told while a write of ours is under way; gives it back where none is.
    fn kept_for_later(&self, key: &Key, told: WatchedObject) -> Option<WatchedObject> {
        match self.state().writing.get_mut(key) {
            Some((_, last)) => {
                *last = Some(told);
                None
            }
            None => Some(told),
        }
    }

    /// A write has ended; the last that was told of meanwhile, if it was the last write.
    fn written(&self, key: &Key) -> Option<WatchedObject> {
        let mut state = self.state();
        let (writes, _) = state.writing.get_mut(key)?;
        *writes -= 1;
        if *writes > 0 {
            return None;
        }
        state.writing.remove(key).and_then(|(_, last)| last)
    }

    /// A kind may be watched only where we have rights: one stream for each namespace that was
    /// asked about. `false`: it is watched so already, and what may not be watched has no
    /// namespace.
    pub(super) fn restrict(&self, id: &StreamId) -> bool {
        let mut state = self.state();
        if state.restricted.contains(&id.class) {
            // Whoever else was refused at the same time may have said so before.
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
