//! Kinds that run a number of pods: healthy when the declared number runs the declared template.

use super::Verdict;
use super::status::Object;

/// The server's default if nothing is declared.
const DEFAULT_REPLICAS: i64 = 1;
/// The value that the server stores for "no deadline"; the controller then never writes the
/// condition `Progressing`.
const NO_DEADLINE: i64 = i32::MAX as i64;

pub(super) fn deployment(object: Object<'_>) -> Verdict {
    if let Some(verdict) = object.unobserved() {
        return verdict;
    }
    let progress = object.condition("Progressing");
    if let Some(given_up) = progress.filter(|progress| progress.reason == "ProgressDeadlineExceeded") {
        return Verdict::degraded(given_up.told()).for_good();
    }
    if let Some(failure) = object.holds("ReplicaFailure") {
        return Verdict::degraded(failure.told());
    }
    let wanted = object.int("spec.replicas").unwrap_or(DEFAULT_REPLICAS);
    let running = object.count("status.replicas");
    let short = fewer(
        wanted,
        &[
            (running, "created"),
            (object.count("status.updatedReplicas"), "updated"),
            (object.count("status.availableReplicas"), "available"),
            (object.count("status.readyReplicas"), "ready"),
        ],
    );
    if let Some(waits_for) = short.or_else(|| more(wanted, running)) {
        let paused = if object.is_set("spec.paused") { "paused by its declaration: " } else { "" };
        return Verdict::progressing(format!("{paused}{waits_for}"));
    }
    let has_deadline = object.int("spec.progressDeadlineSeconds").is_some_and(|seconds| seconds != NO_DEADLINE);
    if has_deadline && object.holds("Progressing").is_none_or(|progress| progress.reason != "NewReplicaSetAvailable") {
        return Verdict::progressing("its new pods have not been available for long enough");
    }
    if object.holds("Available").is_none() {
        return Verdict::progressing("too few of its pods are available");
    }
    Verdict::healthy(all_run(wanted))
}

/// The controller of stateful sets writes no conditions, so a failure shows only as missing pods.
pub(super) fn stateful_set(object: Object<'_>) -> Verdict {
    if let Some(verdict) = object.unobserved() {
        return verdict;
    }
    let wanted = object.int("spec.replicas").unwrap_or(DEFAULT_REPLICAS);
    let running = object.count("status.replicas");
    let short = fewer(
        wanted,
        &[
            (running, "created"),
            (object.count("status.readyReplicas"), "ready"),
            (object.int("status.availableReplicas").unwrap_or(wanted), "available"),
        ],
    );
    if let Some(waits_for) = short.or_else(|| more(wanted, running)) {
        return Verdict::progressing(waits_for);
    }
    if object.text("spec.updateStrategy.type") == Some("OnDelete") {
        return Verdict::healthy(format!("{}; they are updated when they are deleted", all_run(wanted)));
    }
    // Pods below the partition keep the old template on purpose.
    if let Some(partition) = object.int("spec.updateStrategy.rollingUpdate.partition") {
        let (updated, due) = (object.count("status.updatedReplicas"), wanted - partition);
        return match fewer(due, &[(updated, "updated")]) {
            Some(waits_for) => Verdict::progressing(waits_for),
            None => Verdict::healthy(all_run(wanted)),
        };
    }
    if let Some(waits_for) = fewer(wanted, &[(object.count("status.currentReplicas"), "current")]) {
        return Verdict::progressing(waits_for);
    }
    if object.text("status.currentRevision") != object.text("status.updateRevision") {
        return Verdict::progressing("its pods are being replaced by a new revision");
    }
    Verdict::healthy(all_run(wanted))
}

pub(super) fn daemon_set(object: Object<'_>) -> Verdict {
    if let Some(verdict) = object.unobserved() {
        return verdict;
    }
    let Some(wanted) = object.int("status.desiredNumberScheduled") else {
        return Verdict::progressing("its controller has not counted the nodes yet");
    };
    let on_delete = object.text("spec.updateStrategy.type") == Some("OnDelete");
    let updated = if on_delete { wanted } else { object.count("status.updatedNumberScheduled") };
    let short = fewer(
        wanted,
        &[
            (object.count("status.currentNumberScheduled"), "created"),
            (updated, "updated"),
            (object.count("status.numberAvailable"), "available"),
            (object.count("status.numberReady"), "ready"),
        ],
    );
    match short {
        Some(waits_for) => Verdict::progressing(waits_for),
        None => Verdict::healthy(all_run(wanted)),
    }
}

/// Judges a replica set or a replication controller, which has the same status.
pub(super) fn replica_set(object: Object<'_>) -> Verdict {
    if let Some(verdict) = object.unobserved() {
        return verdict;
    }
    if let Some(failure) = object.holds("ReplicaFailure") {
        return Verdict::degraded(failure.told());
    }
    let wanted = object.int("spec.replicas").unwrap_or(DEFAULT_REPLICAS);
    let short = fewer(
        wanted,
        &[
            (object.count("status.fullyLabeledReplicas"), "labelled"),
            (object.count("status.availableReplicas"), "available"),
            (object.count("status.readyReplicas"), "ready"),
        ],
    );
    match short.or_else(|| more(wanted, object.count("status.replicas"))) {
        Some(waits_for) => Verdict::progressing(waits_for),
        None => Verdict::healthy(all_run(wanted)),
    }
}

/// Describes the first step at which pods are missing.
fn fewer(wanted: i64, steps: &[(i64, &str)]) -> Option<String> {
    steps.iter().find(|(count, _)| *count < wanted).map(|(count, step)| format!("{count} of {wanted} pods are {step}"))
}

/// Describes the pods beyond the declared number.
fn more(wanted: i64, running: i64) -> Option<String> {
    (running > wanted).then(|| format!("{} pods are still to be stopped", running - wanted))
}

fn all_run(wanted: i64) -> String {
    match wanted {
        0 => "no pods are declared, and none run".to_owned(),
        1 => "its pod is ready".to_owned(),
        _ => format!("all {wanted} pods are ready"),
    }
}
