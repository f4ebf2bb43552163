//! Volumes and claims.

use setpoint_core::live::Health::{Degraded, Healthy, Progressing, Unknown};

use super::check;

#[test]
fn a_claim_is_healthy_when_it_is_bound_and_not_being_resized() {
    check(
        "
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}",
        &[
            ("", Progressing, "not bound"),
            ("status: {phase: Pending}", Progressing, "first consumer"),
            ("status: {phase: Bound}", Healthy, "bound"),
            ("status: {phase: Bound, conditions: [{type: Resizing, status: 'True'}]}", Progressing, "Resizing"),
            (
                "status: {phase: Bound, conditions: [{type: ModifyVolumeError, status: 'True', message: no such class}]}",
                Degraded,
                "no such class",
            ),
            ("status: {phase: Lost}", Degraded, "gone"),
            ("status: {phase: Strange}", Unknown, "`Strange`"),
        ],
    );
}

#[test]
fn a_volume_is_healthy_when_it_can_be_or_is_claimed() {
    check(
        "
apiVersion: v1
kind: PersistentVolume
metadata: {name: data}",
        &[
            ("", Progressing, "not available"),
            ("status: {phase: Available}", Healthy, "claimed"),
            ("status: {phase: Bound}", Healthy, "bound"),
            ("spec: {persistentVolumeReclaimPolicy: Retain}\nstatus: {phase: Released}", Degraded, "claimRef"),
            ("spec: {persistentVolumeReclaimPolicy: Delete}\nstatus: {phase: Released}", Progressing, "reclaimed"),
            ("status: {phase: Failed, message: no plugin}", Degraded, "no plugin"),
        ],
    );
}
