//! Our comparison on Argo CD's cases: the declared object, the live one and the server's response
//! to a dry-run, against Argo CD's own result. Its files are no part of the project: an environment
//! variable names a clone, and without it the test reports that it checked nothing.

mod cases;

use std::collections::BTreeMap;
use std::path::Path;

use setpoint_core::diff::diff;
use setpoint_core::digest::DigestKey;
use setpoint_core::value::Value;
use setpoint_kube::compare::{additions, drifted, dropped};
use setpoint_kube::field_set::FieldSet;
use setpoint_kube::managed::{applied_by, managed_fields};
use setpoint_kube::object;
use setpoint_kube::project::{HashKey, take};
use setpoint_kube::shape::{in_declared_shape, moved};

use self::cases::{Case, cases, embedded};
use super::corpus::{folder, read, tell, text};
use super::tally::{Came, Tally};

const DATA: &str = "gitops-engine/pkg/diff";
/// The field manager of Argo CD, which represents ours here.
const MANAGER: &str = "argocd-controller";
/// Files without objects.
const NO_OBJECTS: [(&str, &str); 2] = [
    ("data.go", "the program that holds the others"),
    ("openapiv2.bin", "the schema by which Argo CD predicts a server's response; here the server runs a dry-run"),
];

const AGGREGATED: &str = "the rules of an aggregated role are the cluster's, and there is no option to say otherwise";
const COMPLETE: &str = "what others add to the containers and environment of a pod is taken out again";
const UNHELD: &str = "an item without an owner stays: an apply removes only fields of its writer, and no server responds as in this file";
const AS_DECLARED: &str =
    "a field that equals the declaration is in place, though a webhook would remove it at the next apply";

/// Returns the expected differences of a case, in the terms of its declaration. If they differ from
/// those of Argo CD, the reason is included.
fn expected(case: &Case) -> (&'static [&'static str], Option<&'static str>) {
    const ENVIRONMENT: [&str; 4] = [
        "spec.template.spec.containers[0].env[0].name",
        "spec.template.spec.containers[0].env[0].value",
        "spec.template.spec.containers[0].env[0].valueFrom",
        "spec.template.spec.containers[0].env[1]",
    ];
    const PORTS: [&str; 6] = [
        "spec.ports[2].name",
        "spec.ports[2].port",
        "spec.ports[2].protocol",
        "spec.ports[2].targetPort",
        "spec.ports[3]",
        "spec.ports[4]",
    ];
    match case.test.as_str() {
        "TestDiffOptionIgnoreAggregateRoles" => (&[], case.modified.then_some(AGGREGATED)),
        "TestThreeWayDiffExample2WithDifference" => {
            (&["metadata.labels.chart", "metadata.labels.foo", "metadata.labels.release"], None)
        }
        "TestThreeWayDiffExample3" => (&ENVIRONMENT, Some(COMPLETE)),
        "TestRedactedSecretData" => (&["data.smtp-password", "data.wordpress-password"], None),
        "TestStructuredMergeDiff: will apply default values" => (&["spec.ports[1].targetPort"], None),
        "TestStructuredMergeDiff: will remove entries in list" => (&["spec.ports[2]"], None),
        "TestStructuredMergeDiff: will remove previously added fields not present in desired state" => {
            (&["spec.ports[1].targetPort", "spec.type"], None)
        }
        "TestStructuredMergeDiff: will apply service with multiple ports" => (&PORTS, None),
        "TestServerSideDiff: will ignore modifications done by mutation webhook by default"
        | "TestServerSideDiff: will include mutation webhook modifications"
        | "TestServerSideDiff: will respect ignoreDifferences when full normalization is not skipped" => {
            (&[], Some(AS_DECLARED))
        }
        "TestServerSideDiff: will test removing some field with undoing changes done by webhook" => (&[], Some(UNHELD)),
        "TestServerSideDiff: will include nested fields like ports and env" => {
            (&["spec.template.spec.containers[0].env[1]", "spec.template.spec.containers[0].ports[1]"], None)
        }
        "TestServerSideDiff: will add an extra container using kubectl apply and include mutation webhook" => {
            (&["spec.template.spec.containers[0].ports[1]", "spec.template.spec.containers[1]"], Some(COMPLETE))
        }
        "TestServerSideDiff: will reflect deletion of labels in predicted live" => {
            (&["metadata.labels.delete-me"], None)
        }
        "TestServerSideDiff: will preserve composite key fields during diff" => {
            (&["spec.template.spec.containers[0].ports[2]"], None)
        }
        "TestServerSideDiff: will detect ConfigMap data key removal" => (&["data.key3"], None),
        _ => (&[], None),
    }
}

#[test]
fn the_comparisons_of_argo_cd_agree_but_for_what_is_meant_to_differ() {
    let Some(folder) = folder("SETPOINT_ARGOCD", "the diff data of Argo CD (argoproj/argo-cd)") else { return };
    let folder = folder.join(DATA);
    let data = folder.join("testdata");
    let held = text(&data.join("data.go"));
    let cases = cases(&text(&folder.join("diff_test.go")), &embedded(&held));
    let (mut compared, mut files) = (Tally::default(), BTreeMap::new());
    for case in &cases {
        let (line, came) = replayed(case, &data);
        compared.take(line, came);
        for file in &case.files {
            let worst = files.entry(file.clone()).or_insert(came);
            *worst = came.max(*worst);
        }
    }
    let files = accounted(&data, &files);
    tell(&compared.told("Argo CD, comparisons"));
    tell(&files.told("Argo CD, files of diff data"));
    assert!(compared.different.is_empty() && compared.not_covered.is_empty(), "see above");
    compared.assert_counts_in("false-diffs.md", "Comparisons");
    files.assert_counts_in("false-diffs.md", "Files");
}

/// Tallies every file of the directory, by the worst result of a case that reads it.
fn accounted(data: &Path, came: &BTreeMap<String, Came>) -> Tally {
    let mut tally = Tally::default();
    for entry in std::fs::read_dir(data).expect("a directory of a clone can be listed") {
        let name = entry.expect("a directory of a clone can be listed").file_name().display().to_string();
        let reason = NO_OBJECTS.iter().find(|(file, _)| *file == name);
        match (came.get(&name), reason) {
            (Some(came), _) => tally.take(name, *came),
            (None, Some((_, why))) => tally.take(format!("{name}: {why}"), Came::NotCovered),
            (None, None) => panic!("{name} is in no case that was found"),
        }
    }
    tally
}

fn replayed(case: &Case, data: &Path) -> (String, Came) {
    let object = |part: &str| case.file(part).map(|file| read(file, &text(&data.join(file))));
    let declared = object("config").unwrap_or_else(|| panic!("{} declares nothing", case.test));
    let live = object("live").unwrap_or_else(|| panic!("{} has nothing live", case.test));
    let (declared, live) = as_the_test_has_them(&case.test, declared, live);
    let seen = match object("predicted") {
        Some(answer) => by_dry_run(&declared, &live, &answer),
        // Our field ownership, or the annotation of `kubectl`, shows the previous declaration.
        None => moved(&declared, &live, &held_before(&live), &[], &digest_key()),
    };
    let found: Vec<String> = diff(&declared, &seen).iter().map(|difference| difference.path.to_string()).collect();
    let line = format!("{}: theirs {}, ours {found:?}", case.test, if case.modified { "modified" } else { "in place" });
    let came = match expected(case) {
        (places, _) if found != places => Came::Different,
        (_, Some(why)) => Came::ByDesign(why),
        (places, None) if case.modified == places.is_empty() => Came::Different,
        (_, None) => Came::Equal,
    };
    (line, came)
}

/// Applies the changes that two tests make to their objects.
fn as_the_test_has_them(test: &str, mut declared: Value, mut live: Value) -> (Value, Value) {
    let set = |object: &mut Value, path: &[&str], value: Option<&str>| {
        let (last, above) = path.split_last().expect("a path has an end");
        let mut at = object;
        for field in above {
            let Value::Map(fields) = at else { panic!("{path:?} leads nowhere") };
            at = fields.get_mut(field).unwrap_or_else(|| panic!("{path:?} leads nowhere"));
        }
        let Value::Map(fields) = at else { panic!("{path:?} leads nowhere") };
        match value {
            Some(value) => drop(fields.insert((*last).into(), Value::str(value))),
            None => drop(fields.remove(last)),
        }
    };
    match test {
        "TestThreeWayDiffExample2WithDifference" => {
            set(&mut declared, &["metadata", "labels", "foo"], Some("bar"));
            set(&mut declared, &["metadata", "labels", "chart"], Some("elasticsearch-1.7.1"));
            set(&mut declared, &["metadata", "labels", "release"], None);
        }
        "TestRedactedSecretData" => {
            for key in ["wordpress-password", "smtp-password"] {
                set(&mut declared, &["data", key], Some("++++++++"));
                set(&mut live, &["data", key], Some("++++++++++++"));
            }
        }
        _ => {}
    }
    (declared, live)
}

/// Compares by dry-run, as for an object without a record.
fn by_dry_run(declared: &Value, live: &Value, answer: &Value) -> Value {
    let key = HashKey::derived(&digest_key());
    let taken = take(answer, MANAGER, declared, &[], &key).expect("the answer names its writer");
    let entries = managed_fields(live).expect("entries that can be read");
    let drifted = drifted(live, &taken.ours, &taken.baseline, &key);
    let mut undeclared = additions(live, &taken.ours, &taken.beside, &[]).expect("entries that can be read").complete;
    undeclared.extend(dropped(live, &entries, answer, &taken.ours, MANAGER, &[]));
    in_declared_shape(declared, live, &drifted, &undeclared, &digest_key())
}

/// Returns our fields under the previous declaration.
fn held_before(live: &Value) -> FieldSet {
    let entries = managed_fields(live).expect("entries that can be read");
    if let Some(entry) = applied_by(&entries, MANAGER) {
        return entry.fields.clone();
    }
    let last = object::annotation(live, "kubectl.kubernetes.io/last-applied-configuration");
    let last = object::read(last.expect("`kubectl` wrote down what it applied").as_bytes()).expect("an object");
    let held = fields_of(&last, |path| match path {
        ["apiVersion" | "kind" | "type"] | ["metadata", "name" | "namespace" | "creationTimestamp"] => false,
        // Setpoint does not send them: they are the cluster's.
        ["rules"] => last.get("aggregationRule").is_none(),
        _ => true,
    });
    FieldSet::from_fields_v1(&held).expect("a set as servers write it")
}

/// Returns the fields of an applied object, as a server would write them. The keys of lists are
/// unknown, so each list is one value.
fn fields_of(value: &Value, is_held: impl Fn(&[&str]) -> bool) -> Value {
    fn below<'v>(value: &'v Value, path: &mut Vec<&'v str>, is_held: &impl Fn(&[&str]) -> bool) -> Value {
        let Value::Map(fields) = value else { return Value::map::<&str>([]) };
        let mut held = Vec::new();
        for (name, value) in fields.iter() {
            path.push(name);
            // `kubectl` adds empty annotations to its record if none were declared.
            let is_nothing = matches!(value, Value::Map(fields) if fields.is_empty());
            if is_held(path) && !is_nothing {
                held.push((format!("f:{name}"), below(value, path, is_held)));
            }
            path.pop();
        }
        Value::map(held)
    }
    below(value, &mut Vec::new(), &is_held)
}

fn digest_key() -> DigestKey {
    DigestKey::new([4; 32])
}
