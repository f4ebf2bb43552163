//! Tests of schema and reference.

use setpoint_documents::{UnknownKind, kind_pages};

use crate::targets::targets;

fn schema(kind: Option<&str>) -> Result<String, UnknownKind> {
    setpoint_documents::schema(&kind_pages(&targets()), kind)
}

#[test]
fn the_schema_of_a_kind_has_type_default_and_meaning() {
    let text = schema(Some("store")).unwrap();
    let expected = "  spec.interval: duration, 1s to 1d (default 30s)\n      The interval at which the branch or tag is polled. A webhook only triggers an earlier poll.\n";
    assert!(text.contains(expected), "{text}");
    assert!(text.contains("  spec.url: URL (required)\n"), "{text}");
    assert!(text.contains("  metadata.scope: scope name (default default)\n"), "{text}");
}

#[test]
fn every_kind_is_in_the_whole_schema() {
    let text = schema(None).unwrap();
    for kind in ["Bootstrap", "Store", "Target", "App", "Scope", "Policy", "Notifier", "Access"] {
        assert!(text.contains(&format!("{kind} (setpoint.dev/v1)\n")), "{kind}");
    }
}

#[test]
fn an_unknown_kind_is_reported_with_the_nearest() {
    assert_eq!(schema(Some("Stroe")).unwrap_err().to_string(), "unknown kind `Stroe`; did you mean `Store`?");
    assert!(schema(Some("Deployment")).unwrap_err().to_string().contains("expected `Bootstrap`"));
}

#[test]
fn only_kinds_that_can_have_labels_list_them() {
    for (kind, expected) in [("App", true), ("Store", true), ("Target", true), ("Scope", false), ("Access", false)] {
        let text = schema(Some(kind)).unwrap();
        assert_eq!(text.contains("metadata.labels"), expected, "{kind}");
    }
}

#[test]
fn the_values_of_a_list_are_explained_like_those_of_a_single_enum() {
    let text = schema(Some("access")).unwrap();
    assert!(text.contains("  spec.rules[].verbs: list of enum (required)\n"), "{text}");
    assert!(text.contains("`suspend`: Suspend an app, or resume it. `hold`:"), "{text}");
}
