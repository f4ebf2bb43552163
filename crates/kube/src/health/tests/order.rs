//! The order of the rules, and the form of every reason.

use proptest::prelude::*;
use setpoint_core::live::Health;
use setpoint_core::value::Value;

use super::{assess, assessed, object};
use crate::health::{Basis, Expressions, Rules};

#[test]
fn what_is_being_deleted_is_progressing_whatever_it_says() {
    let text = "
apiVersion: v1
kind: ConfigMap
metadata: {name: a, deletionTimestamp: '2026-11-15T10:00:00Z', finalizers: [example.com/keep, example.com/count]}";
    let assessment = assessed(text);
    assert_eq!((assessment.health, assessment.basis), (Health::Progressing, Basis::Deletion));
    assert_eq!(assessment.reason, "terminating: waits for example.com/keep, example.com/count");
}

#[test]
fn a_status_of_another_generation_is_not_believed() {
    let text = "
apiVersion: example.com/v1
kind: Widget
metadata: {name: a, generation: 4}
status: {observedGeneration: 3, conditions: [{type: Ready, status: 'True'}]}";
    let assessment = assessed(text);
    assert_eq!((assessment.health, assessment.basis), (Health::Progressing, Basis::Generation));
    assert!(assessment.reason.contains("generation 3"), "{}", assessment.reason);
}

#[test]
fn a_rule_of_a_user_does_not_believe_a_status_of_another_generation_either() {
    let mut rules = Rules::default();
    rules.set("Widget", Expressions { healthy: "true", progressing: None, degraded: None }).unwrap();
    let text = "
apiVersion: v1
kind: Widget
metadata: {name: a, generation: 4}
status: {observedGeneration: 3}";
    assert_eq!(assess(&object(text), &rules).basis, Basis::Generation);
}

#[test]
fn a_rule_of_a_user_stands_before_the_rule_for_the_kind() {
    let text = "
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: a}
status: {loadBalancer: {}}";
    assert_eq!(assessed(text).health, Health::Progressing);
    let mut rules = Rules::default();
    rules.set("networking.k8s.io/Ingress", Expressions { healthy: "true", progressing: None, degraded: None }).unwrap();
    let assessment = assess(&object(text), &rules);
    assert_eq!((assessment.health, assessment.basis), (Health::Healthy, Basis::Expressions));
}

#[test]
fn only_listed_kinds_are_well_by_being_there() {
    for (api_version, kind) in [
        ("v1", "ConfigMap"),
        ("v1", "Secret"),
        ("v1", "ServiceAccount"),
        ("rbac.authorization.k8s.io/v1", "ClusterRole"),
        ("storage.k8s.io/v1", "StorageClass"),
        ("networking.k8s.io/v1", "NetworkPolicy"),
        ("gateway.networking.k8s.io/v1", "ReferenceGrant"),
    ] {
        let assessment = assessed(&format!("{{apiVersion: {api_version}, kind: {kind}, metadata: {{name: a}}}}"));
        assert_eq!((assessment.health, assessment.basis), (Health::Healthy, Basis::Existence), "{kind}");
    }
    for (api_version, kind) in [("example.com/v1", "ConfigMap"), ("v1", "Widget"), ("bitnami.com/v1", "SealedSecret")] {
        let assessment = assessed(&format!("{{apiVersion: {api_version}, kind: {kind}, metadata: {{name: a}}}}"));
        assert_eq!((assessment.health, assessment.basis), (Health::Unknown, Basis::Nothing), "{kind}");
    }
}

#[test]
fn a_reason_is_one_line_of_bounded_length() {
    let long = "many words ".repeat(100);
    let text = format!(
        "
apiVersion: example.com/v1
kind: Widget
status:
  conditions:
  - type: Ready
    status: 'False'
    message: |
      first line
      second line {long}"
    );
    let reason = assessed(&text).reason;
    assert!(reason.starts_with("Ready is false: first line second line many words"), "{reason}");
    assert!(reason.ends_with('…') && reason.chars().count() == 301, "{}", reason.chars().count());
}

#[test]
fn what_is_no_object_at_all_is_unknown() {
    for text in ["[]", "null", "{}", "{apiVersion: 3, kind: [x], status: 5}", "{kind: Pod, status: {phase: {}}}"] {
        assert_ne!(assessed(text).health, Health::Healthy, "{text}");
    }
}

/// Generates objects from the words that rules search for, in any place.
fn any_object() -> impl Strategy<Value = Value> {
    let word = prop::sample::select(vec![
        "True",
        "False",
        "Ready",
        "Available",
        "Progressing",
        "Stalled",
        "Pending",
        "Running",
        "Failed",
        "apps/v1",
        "v1",
        "Deployment",
        "Pod",
        "Job",
        "CustomResourceDefinition",
        "gateway.networking.k8s.io/v1",
        "HTTPRoute",
        "",
    ]);
    let name = prop::sample::select(vec![
        "apiVersion",
        "kind",
        "metadata",
        "spec",
        "status",
        "conditions",
        "type",
        "reason",
        "message",
        "generation",
        "observedGeneration",
        "phase",
        "replicas",
        "readyReplicas",
        "containerStatuses",
        "state",
        "waiting",
        "parents",
        "listeners",
        "annotations",
        "deletionTimestamp",
        "finalizers",
        "active",
        "loadBalancer",
        "ingress",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<i64>().prop_map(Value::int),
        word.prop_map(Value::str),
    ];
    leaf.prop_recursive(5, 64, 8, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Seq),
            prop::collection::vec((name.clone(), inner), 0..8).prop_map(Value::map),
        ]
    })
}

proptest! {
    #[test]
    fn every_object_is_assessed_in_one_line(object in any_object()) {
        let assessment = assess(&object, &Rules::default());
        prop_assert!(!assessment.reason.is_empty() && !assessment.reason.contains('\n'));
        prop_assert!(!assessment.terminal || assessment.health != Health::Progressing);
        prop_assert!(assessment.basis != Basis::Nothing || assessment.health == Health::Unknown);
        prop_assert_eq!(assess(&object, &Rules::default()), assessment);
    }

    #[test]
    fn without_a_status_only_kinds_that_need_none_are_healthy(object in any_object()) {
        let Value::Map(mut fields) = object else { return Ok(()) };
        fields.remove("status");
        fields.insert("apiVersion".into(), Value::str("example.com/v1"));
        fields.insert("kind".into(), Value::str("Widget"));
        prop_assert_ne!(assess(&Value::Map(fields), &Rules::default()).health, Health::Healthy);
    }
}
