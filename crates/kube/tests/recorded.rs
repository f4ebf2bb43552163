//! Recorded responses of a real API server (1.36.4, etcd 3.6): a Deployment that we applied, that a
//! person then edited with strategic merge patches and an autoscaler scaled, and the refusal of our
//! next apply.

use setpoint_core::digest::DigestKey;
use setpoint_core::value::Value;
use setpoint_kube::attribute::holders;
use setpoint_kube::compare::{additions, drifted};
use setpoint_kube::conflict::{Ground, conflicts, outside};
use setpoint_kube::field_set::FieldSet;
use setpoint_kube::managed::managed_fields;
use setpoint_kube::object;
use setpoint_kube::path::FieldPath;
use setpoint_kube::project::{AppliedFields, HashKey, take};
use setpoint_kube::shape::in_declared_shape;
use setpoint_kube::status::Status;

const MANAGER: &str = "setpoint-one";
const CONFLICT: &[u8] = include_bytes!("recorded/conflict.json");

fn declared() -> Value {
    object::read(include_bytes!("recorded/declared.json")).expect("a recorded object")
}

fn answer() -> Value {
    object::read(include_bytes!("recorded/answer.json")).expect("a recorded object")
}

fn edited() -> Value {
    object::read(include_bytes!("recorded/edited.json")).expect("a recorded object")
}

fn digest_key() -> DigestKey {
    DigestKey::new([5; 32])
}

fn taken(co_owned: &[&str]) -> AppliedFields {
    let co_owned: Vec<_> = co_owned.iter().map(|path| path.parse().expect("a path")).collect();
    take(&answer(), MANAGER, &declared(), &co_owned, &HashKey::derived(&digest_key())).expect("our entry")
}

fn texts(paths: &[FieldPath]) -> Vec<String> {
    paths.iter().map(ToString::to_string).collect()
}

#[test]
fn what_the_server_stored_is_in_place_though_it_is_written_otherwise() {
    let taken = taken(&[]);
    assert_eq!(drifted(&answer(), &taken.ours, &taken.baseline, &HashKey::derived(&digest_key())), []);
    assert!(taken.beside.is_empty(), "{:?}", texts(&taken.beside.paths()));
    assert_eq!(FieldSet::from_bytes(&taken.ours.to_bytes()), Ok(taken.ours), "it is stored and read back");
}

#[test]
fn edits_of_ours_are_named_and_additions_are_told_or_undone() {
    let taken = taken(&[]);
    let drift = drifted(&edited(), &taken.ours, &taken.baseline, &HashKey::derived(&digest_key()));
    let shown: Vec<_> = drift.iter().map(ToString::to_string).collect();
    assert!(shown.contains(&r#"metadata.labels["app.kubernetes.io/name"] changed"#.to_owned()), "{shown:?}");
    assert!(shown.contains(&"spec.replicas changed".to_owned()), "{shown:?}");
    assert!(shown.contains(&r#"spec.template.spec.containers[name="app"].image changed"#.to_owned()), "{shown:?}");
    let found = additions(&edited(), &taken.ours, &taken.beside, &[]).expect("entries");
    assert_eq!(texts(&found.complete), [r#"spec.template.spec.containers[name="miner"]"#]);
    assert_eq!(
        texts(&found.beside),
        [
            r#"metadata.annotations["example.com/x"]"#,
            "metadata.annotations.who",
            r#"metadata.finalizers[="other.com/f"]"#,
            "spec.template.spec.nodeSelector",
            r#"spec.template.spec.volumes[name="tmp"].emptyDir.medium"#,
        ],
        "another writer filled the field that was declared as empty"
    );
    assert_ne!(in_declared_shape(&declared(), &edited(), &drift, &found.complete, &digest_key()), declared());
}

#[test]
fn each_edit_has_its_writer() {
    let entries = managed_fields(&edited()).expect("entries");
    let paths = ["spec.replicas", r#"spec.template.spec.containers[name="app"].image"#]
        .map(|path| path.parse().expect("a path"));
    let who: Vec<_> =
        holders(&entries, &paths, MANAGER).into_iter().map(|holder| (holder.manager, texts(&holder.paths))).collect();
    assert!(who.contains(&("hpa".into(), vec!["spec.replicas".to_owned()])), "{who:?}");
    assert!(who.iter().any(|(manager, paths)| &**manager == "kubectl-edit" && paths[0].ends_with("image")), "{who:?}");
}

#[test]
fn all_that_was_ours_may_be_taken_back_and_a_co_owners_share_may_not() {
    let found = conflicts(&Status::read(409, CONFLICT));
    assert_eq!(found.len(), 5);
    assert_eq!(outside(&found, &Ground::Fields(&taken(&[]).ours)), Vec::<&_>::new(), "what was declared as empty too");
    assert_eq!(outside(&found, &Ground::Declared(&declared())), Vec::<&_>::new());
    let left = outside(&found, &Ground::Fields(&taken(&["spec.replicas"]).ours));
    assert_eq!(
        left.iter().map(ToString::to_string).collect::<Vec<_>>(),
        ["spec.replicas is held by hpa (update of scale)"]
    );
}
