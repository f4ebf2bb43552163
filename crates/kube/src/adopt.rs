//! Adoption of objects that others created: the tools that have declared an object, and how we
//! become the only owner of the declared fields.
//!
//! A field that two writers own with the same value stays until both give it up. So we remove the
//! declared fields once from the entry of the previous tool; no value changes by that. Fields that
//! only the previous tool owns stay with it. The exception are fields inside of a list item: they
//! go with the item, which belongs to the owner of the item itself.

use std::sync::Arc;

use setpoint_core::live::{Holder, Holders};
use setpoint_core::value::Value;

use crate::field_set::FieldSet;
use crate::managed::{BadManagedFields, ManagedFields, applied_by, managed_fields};
use crate::object;
use crate::path::{FieldPath, pointer};
use crate::pattern::FieldPattern;
use crate::project::marks;

/// The server records existing fields under this name at the first apply, if no manager owned them.
pub const BEFORE_FIRST_APPLY: &str = "before-first-apply";

/// The tools that declare objects, by their field managers. Controllers, other installations of
/// Setpoint and unknown managers are not among them: their fields stay theirs.
const TOOLS: [&str; 10] = [
    BEFORE_FIRST_APPLY,
    "argocd-application-controller",
    "argocd-controller",
    "flux",
    "helm",
    "helm-controller",
    "kapp",
    "kubectl",
    "kustomize-controller",
    "Terraform",
];

/// The prefix of `kubectl-client-side-apply`, `kubectl-create`, `kubectl-edit` and the like: all of
/// them are one tool.
const KUBECTL: &str = "kubectl-";

/// The annotation in which client-side `kubectl apply` remembers its last file. By it, `kubectl`
/// deletes fields that are no longer in its file, even if another tool declares them now.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// The maximum number of paths listed for one tool.
const MOST_KEPT: usize = 20;

/// Returns the tools that own some of our fields, for an object that we have not applied yet.
/// `ours` are our fields without those of co-owners; if it is unknown, all tools count. `undone`
/// are additions to a complete declaration: Setpoint removes them, so no tool keeps them.
pub fn holders(
    entries: &[ManagedFields],
    ours: Option<&FieldSet>,
    undone: &[FieldPattern],
    api_version: &str,
) -> Holders {
    if entries.is_empty() {
        // Our apply will be the first.
        return Holders(vec![Holder { name: BEFORE_FIRST_APPLY.into(), kept: Vec::new() }]);
    }
    let mut found: Vec<(Arc<str>, FieldSet)> = Vec::new();
    for entry in entries.iter().filter(|entry| is_tool(&entry.manager) && is_of_object(entry, api_version)) {
        let kept = ours.map(|ours| entry.fields.let_go(ours));
        if kept.as_ref() == Some(&entry.fields) {
            continue;
        }
        let kept = kept.unwrap_or_default();
        // One tool may have applied and edited.
        match found.iter_mut().find(|(name, _)| *name == entry.manager) {
            Some((_, of_it)) => *of_it = of_it.union(&kept),
            None => found.push((Arc::clone(&entry.manager), kept)),
        }
    }
    found.sort_by(|(one, _), (other, _)| one.cmp(other));
    Holders(found.into_iter().map(|(name, kept)| Holder { name, kept: told(&kept.without(undone)) }).collect())
}

/// The result of folding the ownership of other tools into ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folded {
    /// The new `managedFields` of the object.
    pub managed_fields: Value,
    /// The JSON pointer to the annotation that a tool keeps for itself, and must no longer act on.
    pub removed: Option<String>,
}

/// Removes our fields from the entries of these tools; `None` if that changes nothing. Fields in
/// `not_ours` stay with their owners.
pub fn folded(
    value: &Value,
    tools: &[Arc<str>],
    manager: &str,
    not_ours: &[FieldPattern],
) -> Result<Option<Folded>, BadManagedFields> {
    let entries = managed_fields(value)?;
    let Some(applied) = applied_by(&entries, manager) else { return Ok(None) };
    let Some(Value::Seq(raw)) = object::at(value, &["metadata", "managedFields"]) else { return Ok(None) };
    let memory = FieldPath::fields(&["metadata", "annotations", LAST_APPLIED]);
    let ours = applied.fields.without(not_ours);
    let taken = ours.union(&FieldSet::from_paths([memory.clone()]));
    let (mut moved, mut remembers) = (false, false);
    let mut left = Vec::with_capacity(raw.len());
    for (entry, raw) in entries.iter().zip(raw) {
        let folds =
            tools.contains(&entry.manager) && is_tool(&entry.manager) && is_of_object(entry, &applied.api_version);
        let fields = if folds { entry.fields.let_go(&taken) } else { entry.fields.clone() };
        if fields == entry.fields {
            left.push(raw.clone());
            continue;
        }
        moved = true;
        remembers |= entry.fields.contains(&memory);
        if let (false, Value::Map(raw)) = (fields.is_empty(), raw) {
            let mut raw = raw.clone();
            raw.insert("fieldsV1".into(), fields.to_fields_v1());
            left.push(Value::Map(raw));
        }
    }
    let removed = (remembers && !applied.fields.contains(&memory)).then(|| pointer(value, &memory)).flatten();
    Ok(moved.then_some(Folded { managed_fields: Value::Seq(left), removed }))
}

fn is_tool(name: &str) -> bool {
    TOOLS.contains(&name) || name.starts_with(KUBECTL)
}

/// Reports whether an entry is about the object itself, in this API version. Status and scale
/// belong to their own writers, and in another version the same path may have another meaning.
fn is_of_object(entry: &ManagedFields, api_version: &str) -> bool {
    entry.subresource.is_empty() && *entry.api_version == *api_version
}

/// Lists the fields that a tool keeps, for people.
fn told(kept: &FieldSet) -> Vec<Arc<str>> {
    let own = [FieldPath::fields(&["status"]), FieldPath::fields(&["metadata", "annotations", LAST_APPLIED])];
    let paths = kept.without(&marks()).without(&own.map(FieldPattern::from)).values();
    let more = paths.len().saturating_sub(MOST_KEPT);
    let named = paths.iter().take(MOST_KEPT).map(|path| path.to_string().into());
    named.chain((more > 0).then(|| format!("and {more} more").into())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANAGER: &str = "setpoint-one";

    fn read(text: &str) -> Value {
        object::read(text.as_bytes()).unwrap()
    }

    /// Builds an object with these annotations and entries (manager, operation, fields).
    fn object_of(annotations: &str, entries: &[(&str, &str, &str)]) -> Value {
        let entry = |(manager, how, fields): &(&str, &str, &str)| {
            format!(
                r#"{{"manager":"{manager}","operation":{how},"apiVersion":"v1","time":"2026-11-15T10:00:00Z","fieldsV1":{fields}}}"#
            )
        };
        let entries: Vec<String> = entries.iter().map(entry).collect();
        read(&format!(r#"{{"metadata":{{"annotations":{{{annotations}}},"managedFields":[{}]}}}}"#, entries.join(",")))
    }

    const APPLY: &str = r#""Apply""#;
    const UPDATE: &str = r#""Update""#;
    const STATUS: &str = r#""Update","subresource":"status""#;

    /// Builds an object that `kubectl` applied, and that we have applied since.
    fn adopted() -> Value {
        object_of(
            &format!(r#""{LAST_APPLIED}":"data""#),
            &[
                (MANAGER, APPLY, r#"{"f:data":{"f:a":{},"f:b":{}}}"#),
                (
                    "kubectl-client-side-apply",
                    UPDATE,
                    &format!(
                        r#"{{"f:data":{{".":{{}},"f:a":{{}},"f:c":{{}}}},"f:metadata":{{"f:annotations":{{".":{{}},"f:{LAST_APPLIED}":{{}}}}}}}}"#
                    ),
                ),
                ("kubectl-client-side-apply", STATUS, r#"{"f:data":{"f:a":{}}}"#),
                ("kustomize-controller", APPLY, r#"{"f:data":{"f:b":{}}}"#),
                ("kube-controller-manager", UPDATE, r#"{"f:data":{"f:a":{}}}"#),
                ("setpoint-two", APPLY, r#"{"f:data":{"f:a":{}}}"#),
                ("helm", UPDATE, r#"{"f:data":{"f:d":{}}}"#),
            ],
        )
    }

    fn tools(names: &[&str]) -> Vec<Arc<str>> {
        names.iter().map(|name| Arc::from(*name)).collect()
    }

    fn texts(set: &FieldSet) -> String {
        set.paths().iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
    }

    /// Returns the fields of each manager after these tools gave up ours.
    fn after(object: &Value, names: &[&str], not_ours: &[FieldPattern]) -> Vec<(String, String)> {
        let folded = folded(object, &tools(names), MANAGER, not_ours).unwrap().expect("something is taken");
        let after = Value::map([("metadata", Value::map([("managedFields", folded.managed_fields)]))]);
        let entries = managed_fields(&after).unwrap();
        entries.iter().map(|entry| (entry.manager.to_string(), texts(&entry.fields))).collect()
    }

    #[test]
    fn tools_are_told_with_what_they_keep_and_nobody_else_is() {
        let object = adopted();
        let entries = managed_fields(&object).unwrap();
        let ours = &applied_by(&entries, MANAGER).unwrap().fields;
        let shown: Vec<_> = holders(&entries, Some(ours), &[], "v1")
            .0
            .iter()
            .map(|it| (it.name.to_string(), it.kept.join(" ")))
            .collect();
        let kubectl = ("kubectl-client-side-apply".to_owned(), "data.c".to_owned());
        assert_eq!(shown, [kubectl, ("kustomize-controller".to_owned(), String::new())]);
        assert!(
            holders(&entries, Some(ours), &[], "v2").0.is_empty(),
            "paths of another version may mean something else"
        );
        let all: Vec<_> = holders(&entries, None, &[], "v1").names();
        let undone = ["data.c".parse().unwrap()];
        assert!(holders(&entries, Some(ours), &undone, "v1").0.iter().all(|holder| holder.kept.is_empty()));
        assert_eq!(all.join(" "), "helm kubectl-client-side-apply kustomize-controller");
        assert_eq!(
            &*holders(&[], Some(ours), &[], "v1").0[0].name,
            BEFORE_FIRST_APPLY,
            "it is going to hold everything"
        );
    }

    #[test]
    fn what_both_hold_is_ours_alone_and_what_others_hold_stays_theirs() {
        let object = adopted();
        let names = ["kubectl-client-side-apply", "kustomize-controller", "kube-controller-manager"];
        let held = |who: &str, what: &str| (who.to_owned(), what.to_owned());
        assert_eq!(
            after(&object, &names, &[]),
            [
                held(MANAGER, "data.a data.b"),
                held("kubectl-client-side-apply", "data data.c"),
                held("kubectl-client-side-apply", "data.a"),
                held("kube-controller-manager", "data.a"),
                held("setpoint-two", "data.a"),
                held("helm", "data.d"),
            ],
            "status is not touched, and who holds nothing any more is gone"
        );
    }

    #[test]
    fn what_is_lent_stays_with_who_has_it() {
        let lent: FieldPattern = "data.a".parse().unwrap();
        let left = after(&adopted(), &["kubectl-client-side-apply", "kustomize-controller"], &[lent]);
        assert_eq!(left[1].1, "data data.a data.c");
    }

    #[test]
    fn the_rest_of_an_entry_is_as_it_was_and_folding_it_again_changes_nothing() {
        let object = adopted();
        let names = tools(&["kubectl-client-side-apply", "kustomize-controller"]);
        let first = folded(&object, &names, MANAGER, &[]).unwrap().unwrap();
        let after = Value::map([("metadata", Value::map([("managedFields", first.managed_fields)]))]);
        let entries = managed_fields(&after).unwrap();
        assert_eq!(entries[1].time.as_deref(), Some("2026-11-15T10:00:00Z"));
        assert_eq!(folded(&after, &names, MANAGER, &[]), Ok(None));
    }

    #[test]
    fn what_kubectl_remembers_of_its_file_goes_with_it_unless_it_is_declared() {
        let removed = |object: &Value, names: &[&str]| {
            folded(object, &tools(names), MANAGER, &[]).unwrap().and_then(|folded| folded.removed)
        };
        let at = "/metadata/annotations/kubectl.kubernetes.io~1last-applied-configuration";
        assert_eq!(removed(&adopted(), &["kubectl-client-side-apply"]).as_deref(), Some(at));
        assert_eq!(removed(&adopted(), &["kustomize-controller"]), None, "it is not that tool's");
        let annotated = format!(r#"{{"f:metadata":{{"f:annotations":{{"f:{LAST_APPLIED}":{{}}}}}}}}"#);
        let declared = object_of(
            &format!(r#""{LAST_APPLIED}":"data""#),
            &[(MANAGER, APPLY, &annotated), ("kubectl-client-side-apply", UPDATE, &annotated)],
        );
        assert_eq!(removed(&declared, &["kubectl-client-side-apply"]), None);
    }

    #[test]
    fn nothing_is_taken_where_we_hold_nothing_or_nobody_was_named() {
        let object = adopted();
        assert_eq!(folded(&object, &tools(&["helm"]), MANAGER, &[]), Ok(None));
        assert_eq!(folded(&object, &[], MANAGER, &[]), Ok(None));
        assert_eq!(folded(&object, &tools(&["kubectl-client-side-apply"]), "somebody", &[]), Ok(None));
    }

    #[test]
    fn no_more_is_told_than_people_read() {
        let fields: Vec<String> = (0..50).map(|n| format!(r#""f:{n:0>3}":{{}}"#)).collect();
        let theirs = format!(r#"{{"f:data":{{"f:a":{{}},{}}}}}"#, fields.join(","));
        let object = object_of("", &[(MANAGER, APPLY, r#"{"f:data":{"f:a":{}}}"#), ("kubectl", APPLY, &theirs)]);
        let entries = managed_fields(&object).unwrap();
        let ours = &applied_by(&entries, MANAGER).unwrap().fields;
        let kept = &holders(&entries, Some(ours), &[], "v1").0[0].kept;
        assert_eq!((kept.len(), kept.last().map(AsRef::as_ref)), (MOST_KEPT + 1, Some("and 30 more")));
    }
}
