//! Attribution: the likely author of a change, which is the writer that owns the changed fields.
//! Read before Setpoint corrects a drift, since the correction takes the fields back.

use std::fmt;
use std::sync::Arc;

use setpoint_core::live::Writer;
use setpoint_core::value::Value;

use crate::managed::{ManagedFields, Operation, applied_by, is_applied_by};
use crate::object;
use crate::path::FieldPath;
use crate::request::{INSTALLATION_LABEL, installation_of, intent_of};

/// A writer that owns some of the requested fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    pub manager: Arc<str>,
    pub operation: Operation,
    pub time: Option<Arc<str>>,
    /// The subresource that it wrote through; empty for the object itself.
    pub subresource: Arc<str>,
    /// Set if the writer uses our name without being us.
    pub as_us: bool,
    pub paths: Vec<FieldPath>,
}

impl Holder {
    fn of(entry: &ManagedFields, ours: &str, paths: Vec<FieldPath>) -> Self {
        Self {
            manager: Arc::clone(&entry.manager),
            operation: entry.operation,
            time: entry.time.clone(),
            subresource: Arc::clone(&entry.subresource),
            as_us: *entry.manager == *ours,
            paths,
        }
    }

    /// Describes the writer without the fields: `kubectl-edit (update, 2026-11-15T11:00:00Z)`.
    pub fn who(&self) -> String {
        let other = installation_of(&self.manager).filter(|_| !self.as_us);
        let writer = other.map_or_else(|| self.manager.to_string(), named);
        let mut who = format!("{writer} ({}", self.operation);
        if !self.subresource.is_empty() {
            who.push_str(&format!(" of {}", self.subresource));
        }
        if let Some(time) = &self.time {
            who.push_str(&format!(", {time}"));
        }
        who.push_str(if self.as_us { ", by our name but not by us)" } else { ")" });
        who
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let paths: Vec<String> = self.paths.iter().map(ToString::to_string).collect();
        write!(f, "{}: {}", self.who(), paths.join(", "))
    }
}

/// Names another installation of Setpoint, as reports do.
fn named(installation: &str) -> String {
    format!("the Setpoint installation `{installation}`")
}

/// Returns the other installation of Setpoint that applied an object last, if any.
pub fn other_installation(entries: &[ManagedFields], ours: &str) -> Option<Holder> {
    let is_other = |entry: &&ManagedFields| {
        entry.operation == Operation::Apply && *entry.manager != *ours && installation_of(&entry.manager).is_some()
    };
    let latest = entries.iter().filter(is_other).max_by(|a, b| a.time.cmp(&b.time))?;
    Some(Holder::of(latest, ours, Vec::new()))
}

/// Adds the intent of the write to a writer that is an installation of Setpoint, if the object
/// bears that installation's mark. With it, the write can be found in the history of that
/// installation.
pub fn with_intent(writer: Writer, object: &Value) -> Writer {
    let installation = object::label(object, INSTALLATION_LABEL);
    match (writer, installation, intent_of(object)) {
        (Writer::Likely { who }, Some(installation), Some(intent)) if who.starts_with(&named(installation)) => {
            Writer::Likely { who: format!("{who}, intent {intent}") }
        }
        (writer, ..) => writer,
    }
}

/// Returns the writers that own the paths, the newest first. `ours` is our field manager.
///
/// The paths are fields that differ from our last apply: if only our own name owns one, another
/// client used it. We own fields by applies alone, so an update under our name is of another client
/// too.
pub fn holders(entries: &[ManagedFields], paths: &[FieldPath], ours: &str) -> Vec<Holder> {
    let is_ours = |entry: &ManagedFields| is_applied_by(entry, ours);
    let held_by_others = |path: &FieldPath| entries.iter().any(|entry| !is_ours(entry) && entry.fields.touches(path));
    let mut holders = Vec::new();
    for entry in entries {
        let asked = paths.iter().filter(|path| !is_ours(entry) || !held_by_others(path));
        let held: Vec<FieldPath> = asked.filter(|path| entry.fields.touches(path)).cloned().collect();
        if !held.is_empty() {
            holders.push(Holder::of(entry, ours, held));
        }
    }
    // Times are RFC 3339 in UTC, so their text order is their time order.
    holders.sort_by(|a, b| b.time.cmp(&a.time));
    holders
}

/// Returns the likely writer of the paths. A removed field has no owner: then it is the manager
/// that wrote anything since our last write, if one is known.
pub fn writer(entries: &[ManagedFields], paths: &[FieldPath], ours: &str) -> Writer {
    if let Some(holder) = holders(entries, paths, ours).first() {
        return Writer::Likely { who: holder.who() };
    }
    let since = applied_by(entries, ours).and_then(|entry| entry.time.clone());
    let later = entries
        .iter()
        .filter(|entry| *entry.manager != *ours && !entry.is_status() && since.is_some() && entry.time >= since);
    match later.max_by(|a, b| a.time.cmp(&b.time)) {
        Some(entry) => Writer::Likely { who: Holder::of(entry, ours, Vec::new()).who() },
        None => Writer::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::managed::managed_fields;
    use crate::samples::deployment;

    fn asked(paths: &[&str]) -> (Vec<String>, Writer) {
        let entries = managed_fields(&deployment()).unwrap();
        let paths: Vec<FieldPath> = paths.iter().map(|path| path.parse().unwrap()).collect();
        let holders = holders(&entries, &paths, "setpoint-one").iter().map(ToString::to_string).collect();
        (holders, writer(&entries, &paths, "setpoint-one"))
    }

    #[test]
    fn a_changed_field_names_its_writer_operation_and_time() {
        let (holders, writer) = asked(&["spec.replicas"]);
        assert_eq!(holders, ["kubectl-edit (update, 2026-11-15T11:00:00Z): spec.replicas"]);
        assert_eq!(writer, Writer::Likely { who: "kubectl-edit (update, 2026-11-15T11:00:00Z)".into() });
    }

    #[test]
    fn a_changed_field_that_only_our_name_holds_was_written_under_our_name() {
        let (holders, _) = asked(&["spec.selector"]);
        assert_eq!(holders, ["setpoint-one (apply, 2026-11-15T10:00:00Z, by our name but not by us): spec.selector"]);
    }

    #[test]
    fn an_update_by_our_name_is_told_to_be_not_by_us() {
        let entries = managed_fields(&deployment()).unwrap();
        let told = writer(&entries, &["spec.replicas".parse().unwrap()], "kubectl-edit");
        assert_eq!(told.name(), "kubectl-edit (update, 2026-11-15T11:00:00Z, by our name but not by us)");
    }

    #[test]
    fn another_installation_is_named_with_its_intent() {
        let object = object::read(
            br#"{"metadata":{"labels":{"setpoint.dev/installation":"two"},"annotations":{"setpoint.dev/intent":"7-31"},
            "managedFields":[{"manager":"setpoint-two","operation":"Apply","time":"2026-11-15T12:00:00Z","fieldsV1":{"f:data":{"f:a":{}}}}]}}"#,
        )
        .unwrap();
        let entries = managed_fields(&object).unwrap();
        let expected = "the Setpoint installation `two` (apply, 2026-11-15T12:00:00Z)";
        assert_eq!(other_installation(&entries, "setpoint-one").map(|other| other.who()).as_deref(), Some(expected));
        assert_eq!(other_installation(&entries, "setpoint-two"), None);
        let by = |ours| writer(&entries, &["data.a".parse().unwrap()], ours);
        assert_eq!(by("setpoint-one").name(), expected);
        let intent = intent_of(&object).unwrap();
        assert_eq!(with_intent(by("setpoint-one"), &object).name(), format!("{expected}, intent {intent}"));
        assert!(!with_intent(by("setpoint-two"), &object).name().contains("intent"), "our own name in other hands");
        let kubectl = Writer::Likely { who: "kubectl-edit (update)".into() };
        assert_eq!(with_intent(kubectl.clone(), &object), kubectl, "the mark of an earlier write");
    }

    #[test]
    fn a_removed_field_is_likely_the_newest_writers_since_us() {
        let (holders, writer) = asked(&["spec.gone"]);
        assert_eq!(holders, [] as [&str; 0]);
        assert_eq!(writer.name(), "kubectl-edit (update, 2026-11-15T11:00:00Z)");
    }

    #[test]
    fn nobody_is_accused_without_a_trace() {
        let mut entries = managed_fields(&deployment()).unwrap();
        entries.pop();
        assert_eq!(writer(&entries, &["spec.gone".parse().unwrap()], "setpoint-one"), Writer::Unknown);
        assert_eq!(writer(&[], &["spec.gone".parse().unwrap()], "setpoint-one"), Writer::Unknown);
    }

    #[test]
    fn a_write_through_a_subresource_says_so() {
        let (holders, _) = asked(&["metadata.annotations[deployment.kubernetes.io/revision]"]);
        assert!(holders[0].starts_with("kube-controller-manager (update of status, "), "{holders:?}");
    }
}
