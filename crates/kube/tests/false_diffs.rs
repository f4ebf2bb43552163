//! The classes of false differences that users of other engines report (numbers as in the summary
//! of their trackers: class 1 is a default that the declaration lacks), from the response to an
//! apply to the value that the engine compares. Each object is compared ten times in a row: nothing
//! may differ from the declaration.

use setpoint_core::digest::DigestKey;
use setpoint_core::value::Value;
use setpoint_kube::compare::{additions, drifted};
use setpoint_kube::object;
use setpoint_kube::pattern::FieldPattern;
use setpoint_kube::project::{AppliedFields, HashKey, take};
use setpoint_kube::shape::{in_declared_shape, moved};

const MANAGER: &str = "setpoint-one";

fn digest_key() -> DigestKey {
    DigestKey::new([3; 32])
}

fn read(text: &str) -> Value {
    object::read(text.as_bytes()).expect("a test's object")
}

/// Builds an object with managedFields: ours first, then those of others by name.
fn with_fields(body: &str, ours: &str, others: &[(&str, &str)]) -> Value {
    let entry = |manager: &str, operation: &str, fields: &str| {
        format!(r#"{{"manager":"{manager}","operation":"{operation}","apiVersion":"v1","fieldsV1":{fields}}}"#)
    };
    let mut entries = vec![entry(MANAGER, "Apply", ours)];
    entries.extend(others.iter().map(|(manager, fields)| entry(manager, "Update", fields)));
    let managed = format!(r#""managedFields":[{}],"#, entries.join(","));
    read(&body.replacen(r#""metadata":{"#, &format!(r#""metadata":{{{managed}"#), 1))
}

struct Held {
    declared: Value,
    taken: AppliedFields,
}

impl Held {
    fn new(declared: &str, answer: &Value, co_owned: &[&str]) -> Self {
        let declared = read(declared);
        let co_owned: Vec<FieldPattern> = co_owned.iter().map(|path| path.parse().expect("a test's path")).collect();
        let taken = take(answer, MANAGER, &declared, &co_owned, &HashKey::derived(&digest_key())).expect("our entry");
        Self { declared, taken }
    }

    /// Returns the value that the engine would compare the declaration with.
    fn seen(&self, live: &Value) -> Value {
        let key = HashKey::derived(&digest_key());
        let drifted = drifted(live, &self.taken.ours, &self.taken.baseline, &key);
        let added = additions(live, &self.taken.ours, &self.taken.beside, &[]).expect("entries of the test");
        in_declared_shape(&self.declared, live, &drifted, &added.complete, &digest_key())
    }

    #[track_caller]
    fn is_in_place(&self, live: &Value) {
        assert_eq!(self.seen(live), self.declared);
    }

    #[track_caller]
    fn is_drifted(&self, live: &Value) {
        assert_ne!(self.seen(live), self.declared);
    }
}

#[test]
fn class_8_templates_of_claims_are_compared_in_the_servers_form() {
    let declared = r#"{"apiVersion":"apps/v1","kind":"StatefulSet","metadata":{"name":"db"},"spec":{"volumeClaimTemplates":[
        {"metadata":{"name":"data"},"spec":{"resources":{"requests":{"storage":"1024Mi"}}}}]}}"#;
    let stored = r#"{"apiVersion":"apps/v1","kind":"StatefulSet","metadata":{"name":"db"},"spec":{"volumeClaimTemplates":[
        {"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"data"},"spec":{"resources":{"requests":{"storage":"1Gi"}},"volumeMode":"Filesystem"},
        "status":{"phase":"Pending"}}]}}"#;
    let fields = r#"{"f:spec":{"f:volumeClaimTemplates":{}}}"#;
    let held = Held::new(declared, &with_fields(stored, fields, &[]), &[]);
    held.is_in_place(&with_fields(stored, fields, &[]));
    held.is_drifted(&with_fields(&stored.replace("1Gi", "2Gi"), fields, &[]));
}

#[test]
fn class_10_a_field_that_no_schema_of_ours_knows_is_held_like_any_other() {
    let object =
        r#"{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"j"},"spec":{"podReplacementPolicy":"Failed"}}"#;
    let fields = r#"{"f:spec":{"f:podReplacementPolicy":{}}}"#;
    let held = Held::new(object, &with_fields(object, fields, &[]), &[]);
    held.is_in_place(&with_fields(object, fields, &[]));
    held.is_drifted(&with_fields(&object.replace("Failed", "Never"), fields, &[]));
}

#[test]
fn class_15_and_17_what_is_ignored_or_co_owned_is_not_compared() {
    let object =
        r#"{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d"},"spec":{"replicas":3,"paused":false}}"#;
    let fields = r#"{"f:spec":{"f:paused":{},"f:replicas":{}}}"#;
    let held = Held::new(object, &with_fields(object, fields, &[]), &["spec.replicas"]);
    let scaled = object.replace(":3", ":9");
    held.is_in_place(&with_fields(
        &scaled,
        r#"{"f:spec":{"f:paused":{}}}"#,
        &[("hpa", r#"{"f:spec":{"f:replicas":{}}}"#)],
    ));
    held.is_drifted(&with_fields(&object.replace("false", "true"), fields, &[]));
}

#[test]
fn class_5_and_19_a_secret_in_place_has_no_difference_however_it_was_written() {
    let declared =
        r#"{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s"},"stringData":{"a":"hi"},"data":{"b":"aG8="}}"#;
    let stored =
        r#"{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s"},"data":{"a":"aGk=","b":"aG8="},"type":"Opaque"}"#;
    let fields = r#"{"f:data":{"f:a":{},"f:b":{}}}"#;
    let held = Held::new(declared, &with_fields(stored, fields, &[]), &[]);
    held.is_in_place(&with_fields(stored, fields, &[]));
    assert_eq!(moved(&held.declared, &read(stored), &held.taken.ours, &[], &digest_key()), held.declared);
    let other = held.seen(&with_fields(&stored.replace("aGk=", "aGE="), fields, &[]));
    assert!(matches!(object::at(&other, &["stringData", "a"]), Some(Value::Secret(_))), "{other:?}");
}

#[test]
fn class_3_null_and_absent_are_one_from_one_version_of_the_server_to_the_next() {
    let declared = r#"{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d","annotations":{}},
        "spec":{"template":{"metadata":{"creationTimestamp":null}}}}"#;
    let with_null = r#"{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d"},"spec":{"template":{"metadata":{"creationTimestamp":null}}}}"#;
    let without =
        r#"{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d"},"spec":{"template":{"metadata":{}}}}"#;
    let fields =
        r#"{"f:metadata":{"f:annotations":{}},"f:spec":{"f:template":{"f:metadata":{"f:creationTimestamp":{}}}}}"#;
    let held = Held::new(declared, &with_fields(with_null, fields, &[]), &[]);
    held.is_in_place(&with_fields(without, fields, &[]));
    let noted =
        without.replacen(r#""name":"d""#, r#""name":"d","annotations":{"deployment.kubernetes.io/revision":"1"}"#, 1);
    held.is_in_place(&with_fields(&noted, fields, &[]));
}

#[test]
fn class_7_a_sidecar_that_a_webhook_put_in_is_the_webhooks() {
    let declared = r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"containers":[{"name":"app","image":"a:1"}]}}"#;
    let stored = r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"containers":[{"name":"proxy","image":"p"},
        {"name":"app","image":"mirror/a:1","imagePullPolicy":"Always"}]}}"#;
    let fields = r#"{"f:spec":{"f:containers":{"k:{\"name\":\"app\"}":{".":{},"f:name":{},"f:image":{}}}}}"#;
    let held = Held::new(declared, &with_fields(stored, fields, &[]), &[]);
    held.is_in_place(&with_fields(stored, fields, &[]));
    let miner = r#"{"f:spec":{"f:containers":{"k:{\"name\":\"miner\"}":{".":{},"f:name":{}}}}}"#;
    let mined = stored.replacen(r#"{"name":"proxy""#, r#"{"name":"miner"},{"name":"proxy""#, 1);
    held.is_drifted(&with_fields(&mined, fields, &[("kubectl-edit", miner)]));
}

#[test]
fn class_12_an_aggregated_role_may_be_declared_with_empty_rules() {
    let declared = r#"{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":"r"},"aggregationRule":{"a":1},"rules":[]}"#;
    let fields = r#"{"f:aggregationRule":{"f:a":{}}}"#;
    let filled = declared.replace("[]", r#"[{"verbs":["get"]}]"#);
    let held = Held::new(declared, &with_fields(declared, fields, &[]), &[]);
    let live = with_fields(&filled, fields, &[("clusterrole-aggregation-controller", r#"{"f:rules":{}}"#)]);
    held.is_in_place(&live);
    assert_eq!(moved(&held.declared, &live, &held.taken.ours, &[], &digest_key()), held.declared);
}

#[test]
fn class_21_below_a_free_form_field_only_what_was_declared_is_compared() {
    let declared =
        r#"{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"name":"t"},"spec":{"free":{"a":{"b":1}}}}"#;
    let fields = r#"{"f:spec":{"f:free":{"f:a":{"f:b":{}}}}}"#;
    let held = Held::new(declared, &with_fields(declared, fields, &[]), &[]);
    held.is_in_place(&with_fields(&declared.replace(r#""b":1"#, r#""b":1,"c":2"#), fields, &[]));
    held.is_drifted(&with_fields(&declared.replace(r#""b":1"#, r#""b":2"#), fields, &[]));
}
