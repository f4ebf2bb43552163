//! Deployments, stateful sets, daemon sets and replica sets.

use setpoint_core::live::Health::{Degraded, Healthy, Progressing};

use super::{assessed, check};

const DEPLOYMENT: &str = "
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, generation: 2}";

#[test]
fn a_deployment_is_healthy_when_all_pods_of_its_template_are_available() {
    check(
        DEPLOYMENT,
        &[
            ("spec: {replicas: 3}", Progressing, "has not observed it"),
            ("spec: {replicas: 3}\nstatus: {observedGeneration: 1}", Progressing, "generation 2 is declared"),
            ("spec: {replicas: 3}\nstatus: {observedGeneration: 2}", Progressing, "0 of 3 pods are created"),
            (
                "spec: {replicas: 3}\nstatus: {observedGeneration: 2, replicas: 4, updatedReplicas: 2}",
                Progressing,
                "2 of 3 pods are updated",
            ),
            (
                "spec: {replicas: 3}\nstatus: {observedGeneration: 2, replicas: 4, updatedReplicas: 3, availableReplicas: 3, readyReplicas: 3}",
                Progressing,
                "1 pods are still to be stopped",
            ),
            (
                "spec: {replicas: 3}\nstatus: {observedGeneration: 2, replicas: 3, updatedReplicas: 3, availableReplicas: 3, readyReplicas: 3}",
                Progressing,
                "too few of its pods are available",
            ),
            (
                "spec: {replicas: 3}\nstatus: {observedGeneration: 2, replicas: 3, updatedReplicas: 3, availableReplicas: 3, readyReplicas: 3, conditions: [{type: Available, status: 'True'}]}",
                Healthy,
                "all 3 pods are ready",
            ),
            (
                "spec: {replicas: 0}\nstatus: {observedGeneration: 2, conditions: [{type: Available, status: 'True'}]}",
                Healthy,
                "none run",
            ),
        ],
    );
}

#[test]
fn a_deployment_with_a_deadline_waits_for_its_controllers_last_word() {
    let complete = "replicas: 1, updatedReplicas: 1, availableReplicas: 1, readyReplicas: 1, observedGeneration: 2";
    let with = |progress: &str| {
        format!(
            "spec: {{progressDeadlineSeconds: 600}}\nstatus: {{{complete}, conditions: [{{type: Available, status: 'True'}}, {progress}]}}"
        )
    };
    let (updating, done) = (
        with("{type: Progressing, status: 'True', reason: ReplicaSetUpdated}"),
        with("{type: Progressing, status: 'True', reason: NewReplicaSetAvailable}"),
    );
    check(DEPLOYMENT, &[(&updating, Progressing, "long enough"), (&done, Healthy, "its pod is ready")]);
}

#[test]
fn a_deployment_that_passed_its_deadline_is_degraded_for_good() {
    let assessment = assessed(&format!(
        "{DEPLOYMENT}
spec: {{replicas: 1}}
status: {{observedGeneration: 2, conditions: [{{type: Progressing, status: 'False', reason: ProgressDeadlineExceeded, message: timed out}}]}}"
    ));
    assert_eq!((assessment.health, assessment.terminal), (Degraded, true));
    assert!(assessment.reason.contains("timed out"), "{}", assessment.reason);
}

#[test]
fn pods_that_the_server_refuses_degrade_what_wants_them() {
    let refused = "
status: {observedGeneration: 2, conditions: [{type: ReplicaFailure, status: 'True', reason: FailedCreate, message: exceeded quota}]}";
    check(DEPLOYMENT, &[(refused, Degraded, "exceeded quota")]);
    check(&DEPLOYMENT.replace("Deployment", "ReplicaSet"), &[(refused, Degraded, "exceeded quota")]);
}

#[test]
fn a_paused_deployment_that_is_not_done_says_so() {
    check(
        DEPLOYMENT,
        &[("spec: {paused: true}\nstatus: {observedGeneration: 2}", Progressing, "paused by its declaration: 0 of 1")],
    );
}

const STATEFUL_SET: &str = "
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db, generation: 1}";

#[test]
fn a_stateful_set_is_healthy_when_all_pods_are_of_one_revision() {
    check(
        STATEFUL_SET,
        &[
            (
                "spec: {replicas: 2}\nstatus: {observedGeneration: 1, replicas: 1}",
                Progressing,
                "1 of 2 pods are created",
            ),
            (
                "spec: {replicas: 2}\nstatus: {observedGeneration: 1, replicas: 2, readyReplicas: 2, availableReplicas: 1}",
                Progressing,
                "1 of 2 pods are available",
            ),
            (
                "spec: {replicas: 2}\nstatus: {observedGeneration: 1, replicas: 2, readyReplicas: 2, currentReplicas: 1}",
                Progressing,
                "1 of 2 pods are current",
            ),
            (
                "spec: {replicas: 2}\nstatus: {observedGeneration: 1, replicas: 2, readyReplicas: 2, currentReplicas: 2, currentRevision: a, updateRevision: b}",
                Progressing,
                "new revision",
            ),
            (
                "spec: {replicas: 2}\nstatus: {observedGeneration: 1, replicas: 2, readyReplicas: 2, currentReplicas: 2, currentRevision: a, updateRevision: a}",
                Healthy,
                "all 2 pods are ready",
            ),
        ],
    );
}

#[test]
fn a_stateful_set_may_keep_old_pods_where_its_strategy_says_so() {
    let status = "status: {observedGeneration: 1, replicas: 3, readyReplicas: 3, updatedReplicas: 1, currentRevision: a, updateRevision: b}";
    let with = |strategy: &str| format!("spec: {{replicas: 3, updateStrategy: {strategy}}}\n{status}");
    let (partitioned, behind, on_delete) = (
        with("{type: RollingUpdate, rollingUpdate: {partition: 2}}"),
        with("{type: RollingUpdate, rollingUpdate: {partition: 1}}"),
        with("{type: OnDelete}"),
    );
    check(
        STATEFUL_SET,
        &[
            (&partitioned, Healthy, "all 3"),
            (&behind, Progressing, "1 of 2 pods are updated"),
            (&on_delete, Healthy, "updated when they are deleted"),
        ],
    );
}

#[test]
fn a_daemon_set_is_healthy_when_every_node_runs_its_pod() {
    let head = "
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: log, generation: 1}";
    let all = "currentNumberScheduled: 5, numberAvailable: 5, numberReady: 5, observedGeneration: 1";
    let (counted, old, on_delete, done) = (
        "status: {observedGeneration: 1}".to_owned(),
        format!("status: {{desiredNumberScheduled: 5, updatedNumberScheduled: 2, {all}}}"),
        format!("spec: {{updateStrategy: {{type: OnDelete}}}}\nstatus: {{desiredNumberScheduled: 5, {all}}}"),
        format!("status: {{desiredNumberScheduled: 5, updatedNumberScheduled: 5, {all}}}"),
    );
    check(
        head,
        &[
            (&counted, Progressing, "not counted the nodes"),
            (&old, Progressing, "2 of 5 pods are updated"),
            (&on_delete, Healthy, "all 5"),
            (&done, Healthy, "all 5"),
            ("status: {desiredNumberScheduled: 0, observedGeneration: 1}", Healthy, "none run"),
        ],
    );
}

#[test]
fn replica_sets_and_replication_controllers_count_their_pods() {
    for head in [
        "{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: a, generation: 1}, spec: {replicas: 2}, status: STATUS}",
        "{apiVersion: v1, kind: ReplicationController, metadata: {name: a, generation: 1}, spec: {replicas: 2}, status: STATUS}",
    ] {
        for (status, health) in [
            (
                "{observedGeneration: 1, replicas: 2, fullyLabeledReplicas: 2, readyReplicas: 2, availableReplicas: 1}",
                Progressing,
            ),
            (
                "{observedGeneration: 1, replicas: 3, fullyLabeledReplicas: 3, readyReplicas: 3, availableReplicas: 3}",
                Progressing,
            ),
            (
                "{observedGeneration: 1, replicas: 2, fullyLabeledReplicas: 2, readyReplicas: 2, availableReplicas: 2}",
                Healthy,
            ),
        ] {
            assert_eq!(assessed(&head.replace("STATUS", status)).health, health, "{status}");
        }
    }
}
