//! Unknown kinds: the common conditions of their controllers.

use setpoint_core::live::Health::{Degraded, Healthy, Progressing, Unknown};

use super::{assessed, check};
use crate::health::Basis;

const WIDGET: &str = "
apiVersion: example.com/v1
kind: Widget
metadata: {name: a, generation: 2}";

#[test]
fn a_controller_that_has_not_spoken_leaves_its_object_unknown() {
    check(
        WIDGET,
        &[
            ("", Unknown, "has not reported"),
            ("status:", Unknown, "has not reported"),
            ("status: {}", Unknown, "has not reported"),
        ],
    );
}

#[test]
fn ready_sums_an_object_up() {
    check(
        WIDGET,
        &[
            ("status: {conditions: [{type: Ready, status: 'True', reason: Done}]}", Healthy, "Ready is true: Done"),
            ("status: {conditions: [{type: Ready, status: 'False', reason: Starting}]}", Progressing, "Starting"),
            ("status: {conditions: [{type: Ready, status: Unknown}]}", Progressing, "Ready is unknown"),
            (
                "status: {conditions: [{type: Ready, status: 'False', reason: SecretSyncedError, message: no such key}]}",
                Degraded,
                "Ready is false: SecretSyncedError: no such key",
            ),
            ("status: {conditions: [{type: Ready, status: 'False', reason: ErrRegisterAccount}]}", Degraded, "Err"),
        ],
    );
}

#[test]
fn trouble_comes_before_work_and_work_before_success() {
    let ready = "{type: Ready, status: 'True'}";
    let with = |other: &str| format!("status: {{conditions: [{ready}, {{type: {other}, status: 'True'}}]}}");
    check(
        WIDGET,
        &[
            (&with("Reconciling"), Progressing, "Reconciling"),
            (&with("Issuing"), Progressing, "Issuing"),
            (&with("Degraded"), Degraded, "Degraded"),
            (&with("Stalled"), Degraded, "Stalled"),
            (&with("Reconciling, status: 'True'}, {type: Stalled"), Degraded, "Stalled"),
            (&with("InvalidSpec"), Degraded, "InvalidSpec"),
            (&with("NoErrors"), Healthy, "Ready"),
        ],
    );
}

#[test]
fn what_is_needed_beside_a_summary_must_not_be_denied_and_is_not_enough_alone() {
    check(
        WIDGET,
        &[
            (
                "status: {conditions: [{type: Ready, status: 'True'}, {type: Synced, status: 'False'}]}",
                Progressing,
                "Synced",
            ),
            (
                "status: {conditions: [{type: Ready, status: 'True'}, {type: Synced, status: 'False', reason: ReconcileError}]}",
                Degraded,
                "ReconcileError",
            ),
            (
                "status: {conditions: [{type: Healthy, status: 'True'}, {type: Installed, status: 'False'}]}",
                Progressing,
                "Installed",
            ),
            ("status: {conditions: [{type: Synced, status: 'True'}]}", Unknown, "Synced"),
        ],
    );
}

#[test]
fn a_word_counts_against_an_object_and_never_for_it() {
    let ready = "conditions: [{type: Ready, status: 'True'}]";
    check(
        WIDGET,
        &[
            ("status: {phase: Creating}", Progressing, "its phase is `Creating`"),
            ("status: {state: in-progress}", Progressing, "its state is `in-progress`"),
            ("status: {state: ConfigError}", Degraded, "ConfigError"),
            ("status: {phase: FAILED}", Degraded, "FAILED"),
            ("status: {phase: Ready}", Unknown, "`phase: Ready`"),
            (&format!("status: {{phase: Ready, {ready}}}"), Healthy, "Ready is true"),
            (&format!("status: {{phase: Odd, {ready}}}"), Healthy, "Ready is true"),
            (&format!("status: {{phase: Provisioning, {ready}}}"), Progressing, "Provisioning"),
            ("status: {phase: Creating, conditions: [{type: Stalled, status: 'True'}]}", Degraded, "Stalled"),
        ],
    );
}

#[test]
fn only_what_a_controller_has_given_up_on_is_final() {
    for (name, terminal) in [("Stalled", true), ("Failed", true), ("Degraded", false)] {
        let assessment = assessed(&format!("{WIDGET}\nstatus: {{conditions: [{{type: {name}, status: 'True'}}]}}"));
        assert_eq!((assessment.health, assessment.terminal), (Degraded, terminal), "{name}");
    }
    let succeeded = assessed(&format!("{WIDGET}\nstatus: {{conditions: [{{type: Succeeded, status: 'True'}}]}}"));
    assert_eq!((succeeded.health, succeeded.terminal), (Healthy, true));
    let failed = assessed(&format!("{WIDGET}\nstatus: {{conditions: [{{type: Succeeded, status: 'False'}}]}}"));
    assert_eq!((failed.health, failed.terminal), (Degraded, true));
}

#[test]
fn available_waits_for_a_change_under_way() {
    let with = |reason: &str| {
        format!(
            "status: {{conditions: [{{type: Available, status: 'True'}}, {{type: Progressing, status: 'True', reason: {reason}}}]}}"
        )
    };
    check(
        WIDGET,
        &[
            (&with("Updating"), Progressing, "Updating"),
            (&with("NewReplicaSetAvailable"), Healthy, "Available"),
            (
                "status: {conditions: [{type: Available, status: 'True'}, {type: Progressing, status: 'False'}]}",
                Healthy,
                "",
            ),
            (
                "status: {conditions: [{type: Available, status: 'True'}, {type: Progressing, status: 'False', reason: ProgressDeadlineExceeded}]}",
                Degraded,
                "Exceeded",
            ),
            (
                "status: {conditions: [{type: Ready, status: 'True'}, {type: Progressing, status: 'True'}]}",
                Healthy,
                "Ready",
            ),
        ],
    );
}

#[test]
fn a_condition_of_another_generation_is_not_believed() {
    let with = |generation: i64| {
        format!("status: {{conditions: [{{type: Ready, status: 'True', observedGeneration: {generation}}}]}}")
    };
    check(WIDGET, &[(&with(1), Progressing, "another generation"), (&with(2), Healthy, "Ready is true")]);
}

#[test]
fn a_generation_written_as_text_is_read() {
    check(WIDGET, &[("status: {observedGeneration: '1'}", Progressing, "generation 1")]);
}

#[test]
fn having_looked_and_found_nothing_is_healthy_but_an_unread_word_is_not() {
    check(
        WIDGET,
        &[
            ("status: {observedGeneration: 2}", Healthy, "no problem"),
            ("status: {observedGeneration: 2, phase: Odd}", Unknown, "`phase: Odd`"),
            ("status: {observedGeneration: 2, healthy: false}", Unknown, "no condition"),
            ("status: {observedGeneration: 2, conditions: [{type: Odd, status: 'False'}]}", Unknown, "Odd"),
            ("status: {replicas: 3}", Unknown, "expressions for example.com/Widget"),
        ],
    );
    let unread = assessed(&format!("{WIDGET}\nstatus: {{phase: Running}}"));
    assert_eq!(unread.basis, Basis::Nothing);
}
