//! Tests of `setpoint schema`.

use crate::setpoint::run;

#[test]
fn the_reference_page_is_what_the_binary_writes() {
    let run = run(&["schema", "--markdown"]);
    assert_eq!((run.code, run.complaints.as_str()), (Some(0), ""));
    assert_eq!(run.output, include_str!("../../../docs/reference.md"));
}

#[test]
fn a_kind_may_be_written_in_any_case() {
    let run = run(&["schema", "scope"]);
    assert_eq!((run.code, run.complaints.as_str()), (Some(0), ""));
    assert_eq!(run.output, include_str!("golden/schema-scope.txt"));
}

#[test]
fn without_a_kind_all_are_explained() {
    let run = run(&["schema"]);
    for kind in ["Bootstrap", "Store", "Target", "App", "Policy", "Scope", "Notifier", "Access"] {
        assert!(run.output.contains(&format!("{kind} (setpoint.dev/v1)")), "no {kind} in:\n{}", run.output);
    }
}

#[test]
fn what_an_app_declares_for_a_host_is_explained_too() {
    let run = run(&["schema", "file"]);
    assert_eq!((run.code, run.complaints.as_str()), (Some(0), ""));
    for line in
        ["File (host.setpoint.dev/v1)", "spec.path: absolute path (required)", "spec.mode: octal text (default 0644)"]
    {
        assert!(run.output.contains(line), "no {line} in:\n{}", run.output);
    }
    assert!(run.output.contains("spec.contentFrom") && run.output.contains("metadata.name: name (required)"));
}

#[test]
fn an_unknown_kind_is_exit_1_and_the_nearest_is_named() {
    let run = run(&["schema", "ap"]);
    assert_eq!((run.code, run.output.as_str()), (Some(1), ""));
    assert_eq!(run.complaints, "error: unknown kind `ap`; did you mean `App`?\n");
}
