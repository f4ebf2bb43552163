//! Additions of others next to our fields, and their treatment: undone or only reported.

use setpoint_core::resource::Treat;
use setpoint_core::value::Value;

use crate::field_set::{FieldSet, Node};
use crate::key::group_of;
use crate::kinds::pod_spec;
use crate::managed::{BadManagedFields, ManagedFields, is_applied_by, managed_fields, present};
use crate::object;
use crate::path::{Element, FieldPath, at};
use crate::pattern::FieldPattern;
use crate::project::marks;
use crate::shared::SCALE;

/// The additions of others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Additions {
    /// Additions to be undone, since the declaration is meant to be complete there.
    pub complete: Vec<FieldPath>,
    /// All other additions, to be reported.
    pub beside: Vec<FieldPath>,
}

/// A rule for additions at a path, which precedes the built-in rule of the kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdditionRule {
    pub path: FieldPattern,
    pub treat: Treat,
}

/// Returns the additions of others to an object. `beside` are the fields that others owned when we
/// applied it.
///
/// The additions to be undone do not depend on `beside`: a lost record must not make an intruder's
/// container a legitimate one.
pub fn additions(
    object: &Value,
    ours: &FieldSet,
    beside: &FieldSet,
    rules: &[AdditionRule],
) -> Result<Additions, BadManagedFields> {
    Ok(additions_among(object, &managed_fields(object)?, ours, beside, rules))
}

/// Does the same as [`additions`] with entries that are already read.
pub fn additions_among(
    object: &Value,
    entries: &[ManagedFields],
    ours: &FieldSet,
    beside: &FieldSet,
    rules: &[AdditionRule],
) -> Additions {
    let ours = &ours.compared();
    let added = present(entries).without(&marks()).difference(ours);
    let areas = complete_areas(object, ours);
    let filled = filled_by_the_cluster(object);
    let is_the_clusters =
        |path: &FieldPath| is_the_clusters_own(path) || filled.iter().any(|pattern| pattern.covers(path));
    let ruled = |path: &FieldPath| {
        let about = rules.iter().filter(|rule| rule.path.covers(path));
        let rule = about.max_by_key(|rule| (rule.path.len(), rule.treat))?;
        // A rule that makes a map complete should not fight the cluster's controllers, unless it
        // names their field.
        let spares = rule.treat == Treat::Heal && rule.path.len() < path.0.len() && is_the_clusters(path);
        Some(if spares { Treat::Ignore } else { rule.treat })
    };
    // An added field that contains an ignored one is not reported as a whole, but by its other
    // parts.
    let left_alone = added.paths().into_iter().filter(|path| ruled(path) == Some(Treat::Ignore));
    let left_alone = FieldSet::from_paths(left_alone.filter(|_| !rules.is_empty()));
    let (added, ours) = (added.difference(&left_alone), &ours.union(&left_alone));
    let treat = |path: &FieldPath| {
        let complete = areas.iter().any(|area| area.covers(path) && path.0.len() <= area.len() + 1);
        match ruled(path) {
            Some(treat) => treat,
            None if complete => Treat::Heal,
            None if is_the_clusters(path) => Treat::Ignore,
            None => Treat::Report,
        }
    };
    let there = |path: &FieldPath| at(object, path).is_some();
    let known = ours.union(beside);
    let complete = tops(&added, ours).into_iter().filter(|path| treat(path) == Treat::Heal && there(path)).collect();
    // A number of replicas that is not declared is no addition.
    let scaled = entries.iter().filter(|entry| *entry.subresource == *SCALE);
    let scaled = scaled.fold(FieldSet::empty(), |all, entry| all.union(&entry.fields));
    let strange = tops(&added.difference(beside).difference(&scaled), &known);
    let beside = strange.into_iter().filter(|path| treat(path) == Treat::Report && there(path)).collect();
    Additions { complete, beside }
}

/// Returns the fields that were ours, are no longer declared, and that others own: they stay when
/// we give them up. `before` are our previous fields, `ours` the present ones.
pub fn left_over(entries: &[ManagedFields], before: &FieldSet, ours: &FieldSet, manager: &str) -> FieldSet {
    let others = entries.iter().filter(|entry| !entry.is_status() && !is_applied_by(entry, manager));
    let held = others.fold(FieldSet::empty(), |all, entry| all.union(&entry.fields));
    let dropped = before.compared().without(&marks()).difference(&ours.compared());
    dropped.difference(&dropped.difference(&held))
}

/// Returns the topmost left-over paths that still exist.
pub fn leftovers(object: &Value, left: &FieldSet, ours: &FieldSet) -> Vec<FieldPath> {
    tops(left, &ours.compared()).into_iter().filter(|path| at(object, path).is_some()).collect()
}

/// Returns the topmost paths of a set that have nothing known below them: a whole container, not
/// each of its fields.
pub(super) fn tops(added: &FieldSet, known: &FieldSet) -> Vec<FieldPath> {
    fn collect(added: &Node, known: Option<&Node>, path: &mut Vec<Element>, found: &mut Vec<FieldPath>) {
        if added.owns() && known.is_none() && !is_of_marks(added, path) {
            found.push(FieldPath(path.clone()));
            return;
        }
        for (element, child) in &added.children {
            path.push(element.clone());
            collect(child, known.and_then(|known| known.child(element)), path, found);
            path.pop();
        }
    }
    let mut found = Vec::new();
    collect(&added.0, Some(&known.0), &mut Vec::new(), &mut found);
    found
}

/// Reports whether the path is a map of labels or annotations, or the finalizers. Several writers
/// share these, so each entry is one addition, also for the first writer.
fn is_of_marks(node: &Node, path: &[Element]) -> bool {
    let is_map = |name: &str| matches!(name, "annotations" | "labels" | "finalizers");
    !node.children.is_empty() && matches!(path.last(), Some(Element::Field(name)) if is_map(name))
}

/// Returns the lists and maps of this kind in which a declaration is meant to name every item.
/// (Additions *within* an item of ours are only reported.)
fn complete_areas(object: &Value, ours: &FieldSet) -> Vec<FieldPattern> {
    let group = object::api_version(object).map_or("", group_of);
    let kind = object::kind(object).unwrap_or_default();
    let area = |fields: &[&str]| FieldPattern::from(FieldPath::fields(fields));
    // Data that is not declared at all is for others to fill: a CA bundle, the token of a service
    // account.
    let declared = |field: &str| ours.touches(&FieldPath::fields(&[field]));
    match (group, kind) {
        ("", "ConfigMap" | "Secret") => {
            ["data", "binaryData"].into_iter().filter(|field| declared(field)).map(|field| area(&[field])).collect()
        }
        // The cluster fills in the rules of an aggregated role.
        ("rbac.authorization.k8s.io", "ClusterRole") if object.get("aggregationRule").is_some() => Vec::new(),
        ("rbac.authorization.k8s.io", "Role" | "ClusterRole") => vec![area(&["rules"])],
        ("rbac.authorization.k8s.io", "RoleBinding" | "ClusterRoleBinding") => vec![area(&["subjects"])],
        _ => pod_spec(group, kind).map(pod_areas).unwrap_or_default(),
    }
}

/// Returns the fields of a declared object that the cluster's own controllers, and those that issue
/// its certificates, fill in.
fn filled_by_the_cluster(object: &Value) -> Option<FieldPattern> {
    let group = object::api_version(object).map_or("", group_of);
    let filled = match (group, object::kind(object).unwrap_or_default()) {
        ("", "PersistentVolumeClaim") => "spec.volumeName",
        ("", "PersistentVolume") => "spec.claimRef",
        ("", "ServiceAccount") => "secrets",
        ("", "Namespace") => "spec.finalizers",
        ("", "Pod") => "spec.nodeName",
        ("rbac.authorization.k8s.io", "ClusterRole") if object.get("aggregationRule").is_some() => "rules",
        ("admissionregistration.k8s.io", "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration") => {
            "webhooks[*].clientConfig.caBundle"
        }
        ("apiextensions.k8s.io", "CustomResourceDefinition") => "spec.conversion.webhook.clientConfig.caBundle",
        ("apiregistration.k8s.io", "APIService") => "spec.caBundle",
        _ => return None,
    };
    Some(filled.parse().expect("the patterns above can be read"))
}

/// Reports whether the path is a label, annotation or finalizer that the cluster's own controllers
/// write on everything they touch: these are never of interest. Those of `kubectl` count, since a
/// person has run it.
fn is_the_clusters_own(path: &FieldPath) -> bool {
    let [Element::Field(metadata), Element::Field(map), named] = path.0.as_slice() else { return false };
    let name = match named {
        // The annotation contains nothing that the changed fields do not show.
        Element::Field(name) if &**name == "kubectl.kubernetes.io/last-applied-configuration" => return true,
        Element::Field(name) => &**name,
        Element::Member(member) => member.0.as_str().unwrap_or_default(),
        _ => return false,
    };
    let is_finalizer = &**map == "finalizers";
    if is_finalizer && matches!(name, "foregroundDeletion" | "orphan") {
        return &**metadata == "metadata";
    }
    let domain = name.split_once('/').map_or(if is_finalizer { name } else { "" }, |(domain, _)| domain);
    let of_the_cluster = ["kubernetes.io", "k8s.io"].into_iter().any(|owner| {
        domain.strip_suffix(owner).is_some_and(|rest| rest.is_empty() || rest.ends_with('.') && rest != "kubectl.")
    });
    &**metadata == "metadata" && matches!(&**map, "annotations" | "labels" | "finalizers") && of_the_cluster
}

fn pod_areas(pod: &[&str]) -> Vec<FieldPattern> {
    let pod = pod.join(".");
    let lists = ["containers", "containers[*].env", "initContainers", "initContainers[*].env", "volumes"];
    lists.into_iter().filter_map(|list| format!("{pod}.{list}").parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Builds an object with one entry per field set, of which the first is ours. No one else owned
    /// a field when we applied.
    fn found(
        api_version: &str,
        kind: &str,
        body: &str,
        sets: &[&str],
        rules: &[(&str, Treat)],
    ) -> (Vec<String>, Vec<String>) {
        let entry = |(n, set): (usize, &&str)| format!(r#"{{"manager":"m{n}","operation":"Update","fieldsV1":{set}}}"#);
        let entries = sets.iter().enumerate().map(entry).collect::<Vec<_>>().join(",");
        let text = format!(
            r#"{{"apiVersion":"{api_version}","kind":"{kind}","metadata":{{"managedFields":[{entries}]}},{body}}}"#
        );
        let object = object::read(text.as_bytes()).unwrap();
        let ours = FieldSet::from_bytes(sets[0].as_bytes()).unwrap();
        let rules: Vec<_> =
            rules.iter().map(|(path, treat)| AdditionRule { path: path.parse().unwrap(), treat: *treat }).collect();
        let found = additions(&object, &ours, &FieldSet::empty(), &rules).unwrap();
        let text = |paths: Vec<FieldPath>| paths.iter().map(ToString::to_string).collect();
        (text(found.complete), text(found.beside))
    }

    fn some(paths: &[&str]) -> Vec<String> {
        paths.iter().map(ToString::to_string).collect()
    }

    const APP: &str = r#""f:containers":{"k:{\"name\":\"app\"}":{".":{},"f:name":{},"f:image":{}}}"#;

    fn pod_found(spec: &str, theirs: &str) -> (Vec<String>, Vec<String>) {
        let ours = format!(r#"{{"f:spec":{{{APP}}}}}"#);
        found("v1", "Pod", &format!(r#""spec":{spec}"#), &[&ours, theirs], &[])
    }

    #[test]
    fn a_strangers_container_is_undone_and_a_field_within_ours_is_told() {
        let (complete, beside) = pod_found(
            r#"{"containers":[{"name":"app","image":"1","tty":true,"env":[{"name":"A"}]},{"name":"miner","image":"x"}]}"#,
            r#"{"f:spec":{"f:containers":{"k:{\"name\":\"miner\"}":{".":{},"f:image":{},"f:name":{}},
            "k:{\"name\":\"app\"}":{"f:tty":{},"f:env":{".":{},"k:{\"name\":\"A\"}":{".":{},"f:name":{}}}}}}}"#,
        );
        assert_eq!(complete, some(&[r#"spec.containers[name="app"].env"#, r#"spec.containers[name="miner"]"#]));
        assert_eq!(beside, some(&[r#"spec.containers[name="app"].tty"#]));
    }

    #[test]
    fn what_is_no_longer_there_is_no_addition() {
        let theirs = r#"{"f:spec":{"f:containers":{"k:{\"name\":\"miner\"}":{".":{},"f:name":{}}}}}"#;
        assert_eq!(pod_found(r#"{"containers":[{"name":"app","image":"1"}]}"#, theirs), (vec![], vec![]));
    }

    #[test]
    fn keys_of_declared_data_are_undone_and_data_nobody_declared_is_told() {
        let body = r#""data":{"ours":"1","theirs":"2"}"#;
        let theirs = r#"{"f:data":{"f:theirs":{}}}"#;
        let declared = found("v1", "ConfigMap", body, &[r#"{"f:data":{"f:ours":{}}}"#, theirs], &[]);
        assert_eq!(declared, (some(&["data.theirs"]), vec![]));
        let injected = found("v1", "ConfigMap", body, &[r#"{"f:metadata":{"f:labels":{"f:a":{}}}}"#, theirs], &[]);
        assert_eq!(injected, (vec![], some(&["data.theirs"])));
    }

    #[test]
    fn class_12_rules_of_an_aggregated_role_are_the_clusters() {
        let ours = r#"{"f:aggregationRule":{"f:clusterRoleSelectors":{}}}"#;
        let aggregated = r#""aggregationRule":{"clusterRoleSelectors":[]},"rules":[{"verbs":["get"]}]"#;
        let rbac = "rbac.authorization.k8s.io/v1";
        assert_eq!(found(rbac, "ClusterRole", aggregated, &[ours, r#"{"f:rules":{}}"#], &[]).0, some(&[]));
        let plain = r#""rules":[{"verbs":["get"]}]"#;
        let labelled = r#"{"f:metadata":{"f:labels":{"f:a":{}}}}"#;
        assert_eq!(found(rbac, "Role", plain, &[labelled, r#"{"f:rules":{}}"#], &[]).0, some(&["rules"]));
    }

    #[test]
    fn the_nearest_rule_decides() {
        let body = r#""spec":{"a":{"x":1,"y":2,"z":3}}"#;
        let theirs = r#"{"f:spec":{"f:a":{"f:x":{},"f:y":{},"f:z":{}}}}"#;
        let rules = [("spec.a", Treat::Heal), ("spec.a.y", Treat::Report), ("spec.a.z", Treat::Ignore)];
        let found = found("example.com/v1", "Thing", body, &[r#"{"f:spec":{"f:own":{}}}"#, theirs], &rules);
        assert_eq!(found, (some(&["spec.a.x"]), some(&["spec.a.y"])));
    }

    #[test]
    fn what_is_left_alone_keeps_what_it_was_added_in() {
        let (object, theirs) = (
            r#""spec":{"containers":[{"name":"app","image":"1","env":[{"name":"A"},{"name":"B"}]}]}"#,
            r#"{"f:spec":{"f:containers":{"k:{\"name\":\"app\"}":{"f:env":{".":{},"k:{\"name\":\"A\"}":{".":{},"f:name":{}},
            "k:{\"name\":\"B\"}":{".":{},"f:name":{}}}}}}}"#,
        );
        let ours = format!(r#"{{"f:spec":{{{APP}}}}}"#);
        let rules = [("spec.containers[*].env[name=A]", Treat::Ignore)];
        let (complete, _) = found("v1", "Pod", object, &[&ours, theirs], &rules);
        assert_eq!(complete, some(&[r#"spec.containers[name="app"].env[name="B"]"#]));
    }

    #[test]
    fn class_15_and_16_what_others_held_when_we_applied_is_no_addition() {
        let object = object::read(
            br#"{"apiVersion":"apps/v1","kind":"Deployment","spec":{"replicas":9,"paused":true},"metadata":{"managedFields":[
            {"manager":"hpa","operation":"Update","subresource":"scale","fieldsV1":{"f:spec":{"f:replicas":{}}}},
            {"manager":"kubectl-edit","operation":"Update","fieldsV1":{"f:spec":{"f:paused":{}}}}]}}"#,
        )
        .unwrap();
        let beside = FieldSet::from_bytes(br#"{"f:spec":{"f:replicas":{}}}"#).unwrap();
        let found = additions(&object, &FieldSet::empty(), &beside, &[]).unwrap();
        assert_eq!(found.beside, ["spec.paused".parse().unwrap()]);
    }

    #[test]
    fn marks_of_the_clusters_own_controllers_are_not_worth_a_word() {
        let body = r#""spec":{}"#;
        let metadata = r#"{"f:metadata":{"f:annotations":{"f:pv.kubernetes.io/bind-completed":{},"f:kubectl.kubernetes.io/x":{},"f:notkubernetes.io/y":{}},
            "f:finalizers":{"v:\"kubernetes.io/pvc-protection\"":{}}}}"#;
        let ours = r#"{"f:metadata":{"f:annotations":{"f:own":{}}}}"#;
        let annotated = format!(
            r#"{{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{{"annotations":{{"pv.kubernetes.io/bind-completed":"yes",
            "kubectl.kubernetes.io/x":"1","notkubernetes.io/y":"1","own":"1"}},"finalizers":["kubernetes.io/pvc-protection"],
            "managedFields":[{{"manager":"m","operation":"Update","fieldsV1":{metadata}}}]}},{body}}}"#
        );
        let object = object::read(annotated.as_bytes()).unwrap();
        let ours = FieldSet::from_bytes(ours.as_bytes()).unwrap();
        let found = additions(&object, &ours, &FieldSet::empty(), &[]).unwrap();
        let told: Vec<_> = found.beside.iter().map(ToString::to_string).collect();
        assert_eq!(
            told,
            [r#"metadata.annotations["kubectl.kubernetes.io/x"]"#, r#"metadata.annotations["notkubernetes.io/y"]"#]
        );
    }

    #[test]
    fn a_rule_for_a_map_spares_the_clusters_own_marks_unless_it_names_them() {
        let (mark, theirs) = ("deployment.kubernetes.io/revision", "example.com/x");
        let text = format!(
            r#"{{"apiVersion":"apps/v1","kind":"Deployment","metadata":{{"annotations":{{"{mark}":"1","{theirs}":"1"}},"managedFields":[
            {{"manager":"m","operation":"Update","fieldsV1":{{"f:metadata":{{"f:annotations":{{".":{{}},"f:{mark}":{{}},"f:{theirs}":{{}}}}}}}}}}]}}}}"#
        );
        let object = object::read(text.as_bytes()).unwrap();
        let healed = |path: &str| {
            let rule = AdditionRule { path: path.parse().unwrap(), treat: Treat::Heal };
            let found = additions(&object, &FieldSet::empty(), &FieldSet::empty(), &[rule]).unwrap();
            found.complete.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(healed("metadata.annotations"), [r#"metadata.annotations["example.com/x"]"#]);
        let named = format!("metadata.annotations[{mark}]");
        assert_eq!(healed(&named), [format!(r#"metadata.annotations["{mark}"]"#)]);
    }

    #[test]
    fn of_rules_of_the_same_length_the_gentler_holds() {
        let body = r#""spec":{"a":{"x":1}}"#;
        let sets = [r#"{"f:spec":{"f:own":{}}}"#, r#"{"f:spec":{"f:a":{"f:x":{}}}}"#];
        for rules in
            [[("spec.a", Treat::Heal), ("spec.a", Treat::Report)], [("spec.a", Treat::Report), ("spec.a", Treat::Heal)]]
        {
            assert_eq!(found("example.com/v1", "Thing", body, &sets, &rules), (vec![], some(&["spec.a.x"])));
        }
    }

    #[test]
    fn what_the_cluster_fills_in_and_how_many_there_are_is_not_worth_a_word() {
        let claim = found(
            "v1",
            "PersistentVolumeClaim",
            r#""spec":{"volumeName":"v"}"#,
            &["{}", r#"{"f:spec":{"f:volumeName":{}}}"#],
            &[],
        );
        assert_eq!(claim, (vec![], vec![]));
        let rules = r#""aggregationRule":{},"rules":[{"verbs":["get"]}]"#;
        let role = found("rbac.authorization.k8s.io/v1", "ClusterRole", rules, &["{}", r#"{"f:rules":{}}"#], &[]);
        assert_eq!(role, (vec![], vec![]));
        let object = object::read(
            br#"{"apiVersion":"apps/v1","kind":"Deployment","spec":{"replicas":9},"metadata":{"managedFields":[
            {"manager":"hpa","operation":"Update","subresource":"scale","fieldsV1":{"f:spec":{"f:replicas":{}}}}]}}"#,
        )
        .unwrap();
        assert_eq!(additions(&object, &FieldSet::empty(), &FieldSet::empty(), &[]).unwrap(), Additions::default());
        let definition = object::read(
            br#"{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{
            "finalizers":["customresourcecleanup.apiextensions.k8s.io"],"managedFields":[{"manager":"kube-apiserver","operation":"Update",
            "fieldsV1":{"f:metadata":{"f:finalizers":{".":{},"v:\"customresourcecleanup.apiextensions.k8s.io\"":{}}}}}]}}"#,
        )
        .unwrap();
        assert_eq!(additions(&definition, &FieldSet::empty(), &FieldSet::empty(), &[]).unwrap(), Additions::default());
    }

    #[test]
    fn what_we_let_go_of_is_left_over_only_where_others_hold_it() {
        let entry = |manager: &str, operation: &str, fields: &str| {
            format!(r#"{{"manager":"{manager}","operation":"{operation}","fieldsV1":{fields}}}"#)
        };
        let entries = [
            entry("us", "Apply", r#"{"f:spec":{"f:kept":{}}}"#),
            entry("them", "Apply", r#"{"f:spec":{"f:kept":{},"f:paused":{},"f:other":{}}}"#),
        ];
        let text = format!(
            r#"{{"spec":{{"kept":1,"paused":true,"other":1}},"metadata":{{"managedFields":[{}]}}}}"#,
            entries.join(",")
        );
        let object = object::read(text.as_bytes()).unwrap();
        let entries = managed_fields(&object).unwrap();
        let before = FieldSet::from_bytes(br#"{"f:spec":{"f:kept":{},"f:paused":{},"f:gone":{}}}"#).unwrap();
        let ours = FieldSet::from_bytes(br#"{"f:spec":{"f:kept":{}}}"#).unwrap();
        let left = left_over(&entries, &before, &ours, "us");
        assert_eq!(leftovers(&object, &left, &ours), ["spec.paused".parse().unwrap()]);
        assert!(left_over(&entries, &before, &before, "us").is_empty(), "what is declared is not left over");
    }

    #[test]
    fn a_stranger_who_applies_under_our_name_adds_all_the_same() {
        let theirs_as_us = r#"{"f:spec":{"f:containers":{"k:{\"name\":\"app\"}":{".":{},"f:name":{},"f:image":{}},"k:{\"name\":\"b\"}":{".":{},"f:name":{}}}}}"#;
        let (complete, _) = pod_found(r#"{"containers":[{"name":"app","image":"1"},{"name":"b"}]}"#, theirs_as_us);
        assert_eq!(complete, some(&[r#"spec.containers[name="b"]"#]));
    }
}
