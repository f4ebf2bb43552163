//! Compares a live object with its declaration: the fields that the server records as ours
//! ([`Record`]). For a declaration without a record, a dry-run asks the server for the result of
//! applying it, which changes nothing.

use std::sync::Arc;

use setpoint_core::intent::Expect;
use setpoint_core::key::Key;
use setpoint_core::live::{Holders, Live, Remark, Writer};
use setpoint_core::mutant::Mutant;
use setpoint_core::observed::UnknownReason;
use setpoint_core::resource::Resource;
use setpoint_core::time::Span;
use setpoint_core::value::Value;
use setpoint_kube::adopt::holders;
use setpoint_kube::attribute::{other_installation, with_intent};
use setpoint_kube::compare::{Additions, Drifted, drifted, dropped};
use setpoint_kube::field_set::FieldSet;
use setpoint_kube::managed::{ManagedFields, applied_by, managed_fields};
use setpoint_kube::path::FieldPath;
use setpoint_kube::pattern::FieldPattern;
use setpoint_kube::request::{Sending, for_request};
use setpoint_kube::shared::Sharing;
use setpoint_kube::{object, project, shape};

use crate::cluster::{Cluster, Named};
use crate::look::identifying;
use crate::records::{Look, Record, Seen};
use crate::remarks::additions;
use crate::requests::{Applied, Behalf, Deadline, Failure, Manner, Place};

const DRY_RUN_TIME: Span = Span::seconds(10);

/// The remarks on an object that is in place; otherwise the object in the declaration's shape, and
/// the paths that differ.
pub(crate) type Difference = Result<Arc<[Remark]>, (Value, Vec<FieldPath>)>;

impl Cluster {
    /// Compares a live object with its declaration.
    pub(crate) async fn compared(
        &self,
        look: &Look<'_>,
        declared: Option<&Arc<Resource>>,
        place: &Place,
        object: &Value,
        on: Behalf<'_>,
    ) -> Result<Live, UnknownReason> {
        let key = look.key();
        let named = Named::of(object)?;
        let Some(resource) = declared else {
            let value = Arc::new(identifying(key));
            return Ok(self.live_of(named, object, value, Writer::Unknown));
        };
        let sharing = self.sharing(resource, object).await?;
        match self.records.get(key).filter(|record| record.uid == named.uid) {
            Some(record) if record.is_of(resource) => {
                // If co-owners hold other fields than before, the set of our fields is taken again.
                if record.lent == *sharing.lent()
                    && let Some(live) = self.by_record(look, resource, object, &record, &sharing)?
                    && (live.value == resource.body || !self.has_schema_moved(resource, &record).await)
                {
                    return Ok(live);
                }
            }
            Some(record) => {
                let value = shape::moved(&resource.body, object, &record.ours, &sharing.not_ours(), &self.digest_key);
                if value != *resource.body {
                    let entries = entries_of(object)?;
                    let holders = self.holders_of(resource, object, &record, &entries, &sharing);
                    let writer = self.writer_as_written(&entries, resource, &value, &sharing);
                    let live = self.live_of(named, object, Arc::new(value), writer);
                    return Ok(Live { holders, ..live });
                }
            }
            None => {}
        }
        self.by_dry_run(look, resource, place, (object, &sharing), on).await
    }

    /// Compares with the record of this declaration. Returns `None` if the object equals the
    /// declaration literally but not the record: then the record has to be taken again.
    fn by_record(
        &self,
        look: &Look<'_>,
        resource: &Arc<Resource>,
        object: &Value,
        record: &Record,
        sharing: &Sharing,
    ) -> Result<Option<Live>, UnknownReason> {
        let key = look.key();
        let named = Named::of(object)?;
        let entries = entries_of(object)?;
        let (value, paths) = match self.difference(resource, object, record, &entries, sharing) {
            difference if self.lost_ownership(record, &entries) => {
                return Ok(Some(self.disowned(key, (resource, object), difference, &entries, sharing)?));
            }
            Err(difference) => difference,
            Ok(remarks) => {
                let (standing, covered) = (self.standing(object), self.is_covered(object));
                self.file_additions(key, &named, &entries, record, &remarks);
                let mut record = record.clone().at(named.version.clone(), standing);
                record.set_remarks(Arc::clone(&remarks));
                let owned = self.has_applied(&entries);
                let seen = Seen { resource, version: &named.version, standing, covered, owned, remarks };
                self.records.seen_in_place(key, seen, look.told);
                return Ok(Some(Live {
                    holders: self.holders_of(resource, object, &record, &entries, sharing),
                    ..in_place(resource, &record)
                }));
            }
        };
        if value == *resource.body {
            return Ok(None);
        }
        let writer = self.writer_of(&entries, &paths, sharing);
        self.file_edit(key, &named, &entries, &paths);
        let holders = self.holders_of(resource, object, record, &entries, sharing);
        Ok(Some(Live { holders, ..self.live_of(named, object, Arc::new(value), writer) }))
    }

    /// Builds the state of an object on which the server no longer names us as the owner of any
    /// field: the fields that differ, and who likely took it over.
    fn disowned(
        &self,
        key: &Key,
        (resource, object): (&Resource, &Value),
        difference: Difference,
        entries: &[ManagedFields],
        sharing: &Sharing,
    ) -> Result<Live, UnknownReason> {
        let named = Named::of(object)?;
        let other = other_installation(entries, &self.api.manager);
        let (value, paths) = match difference {
            Err((value, paths)) if value != *resource.body => (value, paths),
            _ => (unowned(&resource.body, other.is_some()), Vec::new()),
        };
        let writer = match (self.writer_of(entries, &paths, sharing), other) {
            (Writer::Unknown, Some(other)) => Writer::Likely { who: other.who() },
            (writer, _) => writer,
        };
        self.file_edit(key, &named, entries, &paths);
        Ok(self.live_of(named, object, Arc::new(value), writer))
    }

    fn has_applied(&self, entries: &[ManagedFields]) -> bool {
        applied_by(entries, &self.api.manager).is_some()
    }

    /// Returns the tools that declared an object which we have not applied.
    fn holders_of(
        &self,
        resource: &Resource,
        object: &Value,
        record: &Record,
        entries: &[ManagedFields],
        sharing: &Sharing,
    ) -> Option<Box<Holders>> {
        if record.owned || self.has_applied(entries) {
            return None;
        }
        let undone = additions(object, record, entries, sharing).complete;
        let undone: Vec<FieldPattern> = undone.into_iter().map(FieldPattern::from).collect();
        Some(Box::new(holders(entries, Some(&record.ours), &undone, &resource.api_version)))
    }

    /// Reports whether the schema has changed since the record was taken. If so, an apparent drift
    /// may be only a changed default: then the object has to be compared with the result of
    /// applying it now.
    async fn has_schema_moved(&self, resource: &Resource, record: &Record) -> bool {
        let Some(before) = record.schema else { return false };
        self.schemas.current(&self.api, &resource.api_version).await.is_some_and(|now| now != before)
    }

    /// Reports whether the server no longer names us as the owner of any field: a client cleared
    /// the ownership, or a write was too large to keep it. Fields that are then removed from the
    /// declaration would stay.
    pub(crate) fn lost_ownership(&self, record: &Record, entries: &[ManagedFields]) -> bool {
        record.owned && !self.has_applied(entries)
    }

    /// Compares an object with its record.
    pub(crate) fn difference(
        &self,
        resource: &Resource,
        object: &Value,
        record: &Record,
        entries: &[ManagedFields],
        sharing: &Sharing,
    ) -> Difference {
        let (drifted, added) = match self.strayed(object, record, entries, sharing) {
            Ok(beside) => return Ok(self.remarks(object, record, entries, &beside)),
            Err(strayed) => strayed,
        };
        let value = shape::in_declared_shape(&resource.body, object, &drifted, &added, &self.digest_key);
        Err((value, drifted.into_iter().map(|drifted| drifted.path).chain(added).collect()))
    }

    /// Returns the fields of ours that differ from what was applied, and the additions of strangers
    /// that have to be removed. If there are none, returns the additions that are only reported.
    pub(crate) fn strayed(
        &self,
        object: &Value,
        record: &Record,
        entries: &[ManagedFields],
        sharing: &Sharing,
    ) -> Result<Vec<FieldPath>, (Vec<Drifted>, Vec<FieldPath>)> {
        let drifted = drifted(object, &record.ours, &record.baseline, &self.hash_key);
        let Additions { complete, beside } = additions(object, record, entries, sharing);
        if drifted.is_empty() && complete.is_empty() { Ok(beside) } else { Err((drifted, complete)) }
    }

    /// Compares an object with the result of applying the declaration, which a dry-run asks the
    /// server for.
    async fn by_dry_run(
        &self,
        look: &Look<'_>,
        resource: &Arc<Resource>,
        place: &Place,
        (object, sharing): (&Value, &Sharing),
        on: Behalf<'_>,
    ) -> Result<Live, UnknownReason> {
        let key = look.key();
        let named = Named::of(object)?;
        let answer = match self.dry_run(resource, place, Some((object, sharing)), on).await {
            Ok(applied) if Mutant::BaselineFromLook.is_on() => held_as(object, &applied.object),
            Ok(applied) => applied.object,
            // The apply would be refused, and its caller will get the reason. Until then the object
            // is compared as it is written.
            Err(failure) if failure.refusal().is_some() && !failure.is_passing() => {
                return self.as_written(named, resource, object, sharing);
            }
            Err(failure) => return Err(failure.blindness()),
        };
        let not_ours = sharing.not_ours();
        let taken = match project::take(&answer, &self.api.manager, &resource.body, &not_ours, &self.hash_key) {
            Ok(taken) => taken,
            // The server does not record the field owners of objects that are too large for it.
            // These are compared as they are written.
            Err(_) => return self.as_written(named, resource, object, sharing),
        };
        let standing = self.standing(object);
        let mut record = Record::new(resource, (named.uid.clone(), named.version.clone()), taken, standing);
        record.share(resource, sharing);
        let entries = entries_of(object)?;
        let before = self.records.get(key).filter(|before| before.uid == named.uid);
        self.go_on_from(before.as_ref(), &mut record, &entries, sharing);
        let difference = self.difference(resource, object, &record, &entries, sharing);
        let gone = dropped(object, &entries, &answer, &record.ours, &self.api.manager, &not_ours);
        let difference = self.with_dropped(resource, object, difference, &gone, &mut record);
        if let Ok(remarks) = &difference {
            self.file_additions(key, &named, &entries, before.as_ref().unwrap_or(&record), remarks);
            record.set_remarks(Arc::clone(remarks));
        }
        // The baseline holds every current value. Only an object that is in place with them may be
        // reported without a read.
        let settled = difference.is_ok() && self.is_covered(object) && self.records.suspicions(key) == look.told;
        record.suspicions = u32::from(!settled);
        record.schema = self.schemas.known(&resource.api_version);
        record.owned = self.has_applied(&entries);
        let holders = self.holders_of(resource, object, &record, &entries, sharing);
        let in_place = in_place(resource, &record);
        if self.records.put_seen(look, record) {
            self.watches.tell(key.clone());
        }
        let live = match difference {
            Ok(_) => in_place,
            Err((value, paths)) => {
                let writer = self.writer_of(&entries, &paths, sharing);
                self.file_edit(key, &named, &entries, &paths);
                self.live_of(named, object, Arc::new(value), writer)
            }
        };
        Ok(Live { holders, ..live })
    }

    /// Compares an object with the declaration leaf by leaf, as both are written.
    fn as_written(
        &self,
        named: Named,
        resource: &Resource,
        object: &Value,
        sharing: &Sharing,
    ) -> Result<Live, UnknownReason> {
        let not_ours = sharing.not_ours();
        let value = shape::moved(&resource.body, object, &FieldSet::empty(), &not_ours, &self.digest_key);
        let entries = entries_of(object)?;
        // An object that equals its declaration is left alone: the server may not record that we
        // wrote it, and we would write it again for ever.
        let unwritten = value != *resource.body && !self.has_applied(&entries);
        let holders = unwritten.then(|| Box::new(holders(&entries, None, &[], &resource.api_version)));
        let writer = self.writer_as_written(&entries, resource, &value, sharing);
        Ok(Live { holders, ..self.live_of(named, object, Arc::new(value), writer) })
    }

    /// Returns the object that an apply would make of the live one. Changes nothing.
    pub(crate) async fn dry_run(
        &self,
        resource: &Resource,
        place: &Place,
        over: Option<(&Value, &Sharing)>,
        on: Behalf<'_>,
    ) -> Result<Applied, Failure> {
        let malformed = |reason: UnknownReason| Failure::Malformed { detail: reason.to_string() };
        let named = over.map(|(object, _)| Named::of(object)).transpose().map_err(malformed)?;
        let expect = named.map(|named| Expect { uid: named.uid, version: None });
        let sending = Sending { installation: &self.installation, intent: None, expect: expect.as_ref() };
        let body = for_request(resource, &sending);
        let body = match over {
            Some((object, sharing)) => sharing.fitted(body, object),
            None => body,
        };
        let manner = Manner { force: true, dry_run: true };
        self.api.apply(place, &body, manner, self.dry_run_deadline(), on).await
    }

    pub(crate) fn dry_run_deadline(&self) -> Deadline {
        let until = self.now() + DRY_RUN_TIME;
        Deadline { leave_by: until, land_by: until }
    }

    pub(crate) fn live_of(&self, named: Named, object: &Value, value: Arc<Value>, writer: Writer) -> Live {
        let standing = self.standing(object);
        Live {
            controlled: standing.controlled,
            writer: with_intent(writer, object),
            health: standing.health,
            ended: standing.ended,
            deleting: deleting(object),
            ..Live::new(named.uid, named.version, value)
        }
    }
}

/// Builds a wrong baseline for a mutant: the live object, with the field owners that the dry-run
/// returned.
fn held_as(object: &Value, answer: &Value) -> Value {
    let mut taken = object.clone();
    if let (Value::Map(fields), Some(held)) = (&mut taken, object::at(answer, &["metadata", "managedFields"]))
        && let Some(Value::Map(metadata)) = fields.get_mut("metadata")
    {
        metadata.insert("managedFields".into(), held.clone());
    }
    taken
}

pub(crate) fn entries_of(object: &Value) -> Result<Vec<ManagedFields>, UnknownReason> {
    managed_fields(object).map_err(|error| UnknownReason::Malformed { detail: error.to_string() })
}

/// Returns the declared value of an object that no longer names us as an owner, with the problem in
/// it: applying the same values again corrects that.
fn unowned(declared: &Value, by_other_installation: bool) -> Value {
    let problem = match by_other_installation {
        true => "another installation of Setpoint owns the fields",
        false => "somebody cleared who owns which field",
    };
    let mut value = declared.clone();
    if let Value::Map(fields) = &mut value
        && let Some(Value::Map(metadata)) = fields.get_mut("metadata")
    {
        metadata.insert("managedFields".into(), Value::str(problem));
    }
    value
}

/// Returns the finalizers of an object that is being deleted.
pub(crate) fn deleting(object: &Value) -> Option<Arc<[Arc<str>]>> {
    object::deletion_timestamp(object)?;
    Some(object::finalizers(object).into_iter().map(Arc::from).collect())
}

/// Builds the state of an object that is in place: its value is the declared one.
pub(crate) fn in_place(resource: &Resource, record: &Record) -> Live {
    Live {
        controlled: record.standing.controlled,
        health: record.standing.health,
        ended: record.standing.ended,
        remarks: Some(record.remarks()),
        ..Live::with_fingerprint(
            record.uid.clone(),
            record.version.clone(),
            Arc::clone(&resource.body),
            record.fingerprint,
        )
    }
}
