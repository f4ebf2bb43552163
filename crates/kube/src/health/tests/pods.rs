//! Pods.

use setpoint_core::live::Health::{Degraded, Healthy, Progressing, Unknown};

use super::{assessed, check};

const POD: &str = "
apiVersion: v1
kind: Pod
metadata: {name: web}";

#[test]
fn a_pod_is_healthy_when_it_is_ready() {
    check(
        POD,
        &[
            ("", Progressing, "no node"),
            ("status: {phase: Pending}", Progressing, "being prepared"),
            ("status: {phase: Running}", Progressing, "not ready"),
            ("status: {phase: Running, conditions: [{type: Ready, status: 'True'}]}", Healthy, "ready"),
            ("status: {phase: Unknown}", Unknown, "`Unknown`"),
        ],
    );
}

#[test]
fn a_pod_without_a_node_waits_with_the_words_of_the_scheduler() {
    let status = "status: {phase: Pending, conditions: [{type: PodScheduled, status: 'False', reason: Unschedulable, message: 0/3 nodes are available}]}";
    check(POD, &[(status, Progressing, "0/3 nodes are available")]);
}

#[test]
fn containers_that_wait_after_an_error_degrade_a_pod() {
    for reason in
        ["CrashLoopBackOff", "ImagePullBackOff", "ErrImagePull", "CreateContainerConfigError", "InvalidImageName"]
    {
        let status = format!(
            "status: {{phase: Running, containerStatuses: [{{name: app, state: {{waiting: {{reason: {reason}, message: look here}}}}}}]}}"
        );
        check(POD, &[(&status, Degraded, &format!("container `app` waits: {reason}: look here"))]);
    }
    check(
        POD,
        &[
            (
                "status: {phase: Pending, initContainerStatuses: [{name: init, state: {waiting: {reason: CrashLoopBackOff}}}]}",
                Degraded,
                "container `init` waits",
            ),
            (
                "status: {phase: Pending, containerStatuses: [{name: app, state: {waiting: {reason: ContainerCreating}}}]}",
                Progressing,
                "prepared",
            ),
        ],
    );
}

#[test]
fn a_pod_that_crashed_is_degraded_until_it_is_ready_again() {
    let crashed = |rest: &str| {
        format!(
            "status: {{phase: Running, containerStatuses: [{{name: app, ready: false, lastState: {{terminated: {{exitCode: 137}}}}}}]{rest}}}"
        )
    };
    check(
        POD,
        &[
            (&crashed(""), Degraded, "exit code 137"),
            (&crashed(", conditions: [{type: Ready, status: 'True'}]"), Healthy, "ready"),
        ],
    );
}

#[test]
fn a_pod_that_ends_is_healthy_only_when_it_ended_well() {
    let running = assessed(&format!(
        "{POD}\nspec: {{restartPolicy: Never}}\nstatus: {{phase: Running, conditions: [{{type: Ready, status: 'True'}}]}}"
    ));
    assert_eq!((running.health, running.terminal), (Progressing, false));
    let succeeded = assessed(&format!("{POD}\nstatus: {{phase: Succeeded}}"));
    assert_eq!((succeeded.health, succeeded.terminal), (Healthy, true));
    let failed = assessed(&format!(
        "{POD}\nstatus: {{phase: Failed, containerStatuses: [{{name: app, state: {{terminated: {{exitCode: 2, reason: Error}}}}}}]}}"
    ));
    assert_eq!((failed.health, failed.terminal), (Degraded, true));
    assert_eq!(failed.reason, "container `app` ended with exit code 2: Error");
}

#[test]
fn a_failed_pod_tells_what_the_server_says_first() {
    check(
        POD,
        &[
            (
                "status: {phase: Failed, message: The node was low on memory, reason: Evicted}",
                Degraded,
                "low on memory",
            ),
            ("status: {phase: Failed, reason: Evicted}", Degraded, "Evicted"),
            ("status: {phase: Failed}", Degraded, "it has failed"),
        ],
    );
}
