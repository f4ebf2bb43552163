//! Remarks on undeclared fields of our objects that are left alone: additions of strangers where a
//! declaration need not be complete, and formerly declared fields that others still hold.

use std::collections::BTreeSet;
use std::sync::Arc;

use setpoint_core::key::Key;
use setpoint_core::live::{Remark, Writer};
use setpoint_core::modes::Cause;
use setpoint_core::value::Value;
use setpoint_kube::adopt::BEFORE_FIRST_APPLY;
use setpoint_kube::attribute::holders;
use setpoint_kube::compare::{Additions, additions_among, left_over, leftovers};
use setpoint_kube::field_set::FieldSet;
use setpoint_kube::managed::{ManagedFields, applied_by};
use setpoint_kube::path::FieldPath;
use setpoint_kube::shared::Sharing;

use crate::cluster::{Cluster, Named};
use crate::records::Record;

/// The most remarks on one object: they are stored with its claim.
const MOST: usize = 50;

/// The part of a record that remarks need. Few objects have any of it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Aside {
    /// The remarks of the last read.
    pub(crate) remarks: Arc<[Remark]>,
    /// The fields that were ours and that others still hold.
    pub(crate) left: FieldSet,
}

impl Aside {
    pub(crate) fn of(remarks: Arc<[Remark]>, left: FieldSet) -> Option<Box<Self>> {
        (!remarks.is_empty() || !left.is_empty()).then(|| Box::new(Self { remarks, left }))
    }
}

/// Returns the additions of strangers, by the rules of the app. Leftovers are no additions.
pub(crate) fn additions(object: &Value, record: &Record, entries: &[ManagedFields], sharing: &Sharing) -> Additions {
    let known = record.left().map(|left| record.beside.union(left));
    let known = known.as_ref().unwrap_or(&record.beside);
    additions_among(object, entries, &record.ours, known, &sharing.additions())
}

/// Reports whether both lists have the same remarks.
pub(crate) fn are_same(one: &[Remark], other: &[Remark]) -> bool {
    one.len() == other.len() && one.iter().all(|remark| other.iter().any(|other| remark.is_same(other)))
}

impl Cluster {
    /// Builds the remarks on an object that is in place. `added` holds the additions of strangers
    /// that are only reported.
    pub(crate) fn remarks(
        &self,
        object: &Value,
        record: &Record,
        entries: &[ManagedFields],
        added: &[FieldPath],
    ) -> Arc<[Remark]> {
        let left = match record.left() {
            Some(left) => leftovers(object, &self.still_held(entries, left, &record.ours), &record.ours),
            None => Vec::new(),
        };
        if added.is_empty() && left.is_empty() {
            return Arc::default();
        }
        let left = left.iter().map(|path| (Cause::Leftover, path));
        let added = added.iter().map(|path| (Cause::Addition, path));
        left.chain(added).take(MOST).map(|(cause, path)| self.remark(entries, cause, path)).collect()
    }

    fn remark(&self, entries: &[ManagedFields], cause: Cause, path: &FieldPath) -> Remark {
        let holders = holders(entries, std::slice::from_ref(path), &self.api.manager);
        let names: BTreeSet<&str> = holders.iter().map(|holder| &*holder.manager).collect();
        let names: Vec<&str> = names.into_iter().collect();
        let writer = holders.first().map_or(Writer::Unknown, |holder| Writer::Likely { who: holder.who() });
        Remark { cause, path: path.to_string().into(), holder: names.join(", ").into(), writer }
    }

    fn still_held(&self, entries: &[ManagedFields], left: &FieldSet, ours: &FieldSet) -> FieldSet {
        left_over(entries, left, ours, &self.api.manager)
    }

    /// Files new additions for the audit trail to explain. `before` is the earlier record.
    pub(crate) fn file_additions(
        &self,
        key: &Key,
        named: &Named,
        entries: &[ManagedFields],
        before: &Record,
        remarks: &[Remark],
    ) {
        let before = before.remarks();
        let is_new =
            |remark: &&Remark| remark.cause == Cause::Addition && !before.iter().any(|known| known.is_same(remark));
        let new: Vec<FieldPath> = remarks.iter().filter(is_new).filter_map(|remark| remark.path.parse().ok()).collect();
        if !new.is_empty() {
            self.file_edit(key, named, entries, &new);
        }
    }

    /// Continues an earlier record: fields that others held when the object became ours are no
    /// additions, and every field they took since remains one. `entries` are those of the object.
    pub(crate) fn go_on_from(
        &self,
        before: Option<&Record>,
        record: &mut Record,
        entries: &[ManagedFields],
        sharing: &Sharing,
    ) {
        let first = entries.iter().filter(|entry| *entry.manager == *BEFORE_FIRST_APPLY);
        let first = first.fold(FieldSet::empty(), |all, entry| all.union(&entry.fields));
        match before {
            Some(before) => record.beside = before.beside.union(&first),
            // We have applied it but have no record, so it is unknown which fields existed first:
            // then they are reported rather than hidden.
            None if applied_by(entries, &self.api.manager).is_some() => record.beside = first,
            None => {}
        }
        if let Some(before) = before.filter(|before| before.owned) {
            let was_ours = before.left().map(|left| before.ours.union(left));
            let was_ours = was_ours.as_ref().unwrap_or(&before.ours);
            record.set_left(self.still_held(entries, was_ours, &record.ours).without(&sharing.not_ours()));
        }
    }
}
