//! The server's record of field ownership (`metadata.managedFields`).

use std::fmt;
use std::sync::Arc;

use setpoint_core::value::Value;

use crate::field_set::{BadFieldSet, FieldSet};
use crate::object;
use crate::path::FieldPath;

/// The operation by which a writer came to own fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operation {
    /// Server-side apply.
    Apply,
    /// Any other write.
    Update,
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Apply => "apply",
            Self::Update => "update",
        })
    }
}

/// The fields that one writer owns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManagedFields {
    /// The name that the writer gave itself: any client may use any name.
    pub manager: Arc<str>,
    pub operation: Operation,
    pub api_version: Arc<str>,
    /// The time when the set last grew or a value in it changed, in UTC.
    pub time: Option<Arc<str>>,
    /// The subresource that the writer used; empty for the object itself.
    pub subresource: Arc<str>,
    pub fields: FieldSet,
}

/// The error for `managedFields` that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadManagedFields {
    #[error(
        "`metadata.managedFields` is not a list of entries; apply the object again, so that the server rewrites them"
    )]
    Shape,
    #[error("the fields of the writer `{manager}` cannot be read")]
    Fields { manager: String, source: BadFieldSet },
}

/// Returns all entries of an object. There are none if they were cleared or if the server dropped
/// them.
pub fn managed_fields(object: &Value) -> Result<Vec<ManagedFields>, BadManagedFields> {
    match object::at(object, &["metadata", "managedFields"]) {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Seq(entries)) => entries.iter().map(entry).collect(),
        Some(_) => Err(BadManagedFields::Shape),
    }
}

fn entry(entry: &Value) -> Result<ManagedFields, BadManagedFields> {
    let text = |field| match entry.get(field) {
        Some(Value::Str(text)) => Some(Arc::clone(text)),
        _ => None,
    };
    let manager = text("manager").unwrap_or_default();
    let operation = match entry.get("operation").and_then(Value::as_str) {
        Some("Apply") => Operation::Apply,
        Some("Update") => Operation::Update,
        _ => return Err(BadManagedFields::Shape),
    };
    let fields = match entry.get("fieldsV1") {
        None | Some(Value::Null) => FieldSet::empty(),
        Some(fields) => FieldSet::from_fields_v1(fields)
            .map_err(|source| BadManagedFields::Fields { manager: manager.to_string(), source })?,
    };
    let (api_version, time) = (text("apiVersion").unwrap_or_default(), text("time"));
    Ok(ManagedFields {
        manager,
        operation,
        api_version,
        time,
        subresource: text("subresource").unwrap_or_default(),
        fields,
    })
}

impl ManagedFields {
    /// Reports whether the entry is a controller's status, which no declaration contains.
    pub fn is_status(&self) -> bool {
        &*self.subresource == "status"
    }
}

/// Returns every owned field except the status, of all managers including ours: another client may
/// use our name.
pub fn present(entries: &[ManagedFields]) -> FieldSet {
    let all = entries.iter().filter(|entry| !entry.is_status());
    let union = all.fold(FieldSet::empty(), |union, entry| union.union(&entry.fields));
    union.without(&[FieldPath::fields(&["status"]).into()])
}

/// Returns the entry of a manager's applies to the object itself.
pub fn applied_by<'e>(entries: &'e [ManagedFields], manager: &str) -> Option<&'e ManagedFields> {
    entries.iter().find(|entry| is_applied_by(entry, manager))
}

/// Reports whether an entry is that of a manager's applies to the object itself.
pub fn is_applied_by(entry: &ManagedFields, manager: &str) -> bool {
    *entry.manager == *manager && entry.operation == Operation::Apply && entry.subresource.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::deployment;

    #[test]
    fn entries_are_read_with_writer_time_and_subresource() {
        let entries = managed_fields(&deployment()).unwrap();
        let shown: Vec<_> = entries
            .iter()
            .map(|entry| (&*entry.manager, entry.operation, &*entry.subresource, entry.time.as_deref()))
            .collect();
        assert_eq!(
            shown,
            [
                ("setpoint-one", Operation::Apply, "", Some("2026-11-15T10:00:00Z")),
                ("kube-controller-manager", Operation::Update, "status", Some("2026-11-15T10:00:05Z")),
                ("kubectl-edit", Operation::Update, "", Some("2026-11-15T11:00:00Z")),
            ]
        );
        assert!(applied_by(&entries, "setpoint-one").is_some());
        assert!(applied_by(&entries, "kubectl-edit").is_none(), "it did not apply");
    }

    #[test]
    fn status_is_held_by_nobody_who_matters() {
        let entries = managed_fields(&deployment()).unwrap();
        let present = present(&entries);
        assert!(!present.touches(&FieldPath::fields(&["status"])));
        assert!(present.contains(&FieldPath::fields(&["spec", "paused"])));
    }

    #[test]
    fn cleared_entries_are_none_and_broken_ones_are_an_error() {
        let with = |entries: &str| {
            object::read(format!(r#"{{"metadata":{{"managedFields":{entries}}}}}"#).as_bytes()).unwrap()
        };
        assert_eq!(managed_fields(&with("[]")), Ok(Vec::new()));
        assert_eq!(managed_fields(&object::read(b"{}").unwrap()), Ok(Vec::new()));
        assert!(managed_fields(&with("7")).is_err());
        assert!(managed_fields(&with(r#"[{"operation":"Other"}]"#)).is_err());
        assert!(managed_fields(&with(r#"[{"operation":"Apply","manager":"x","fieldsV1":{"q:a":{}}}]"#)).is_err());
    }
}
