//! Jobs and cron jobs.

use setpoint_core::live::Health::{Degraded, Healthy, Progressing};

use super::{assessed, check};

const JOB: &str = "
apiVersion: batch/v1
kind: Job
metadata: {name: migrate, generation: 1}";

#[test]
fn a_job_is_healthy_when_it_has_completed() {
    check(
        JOB,
        &[
            ("", Progressing, "not started"),
            (
                "status: {startTime: '2026-11-15T10:00:00Z', active: 2, succeeded: 3, failed: 1}",
                Progressing,
                "2 pods run, 3 have succeeded, 1 have failed",
            ),
            (
                "status: {startTime: '2026-11-15T10:00:00Z', conditions: [{type: Failed, status: 'False'}, {type: Complete, status: 'False'}]}",
                Progressing,
                "0 pods run",
            ),
        ],
    );
    let done = assessed(&format!("{JOB}\nstatus: {{conditions: [{{type: Complete, status: 'True'}}]}}"));
    assert_eq!((done.health, done.terminal), (Healthy, true));
}

#[test]
fn a_job_that_gave_up_is_degraded_for_good() {
    for name in ["Failed", "FailureTarget"] {
        let status =
            format!("status: {{conditions: [{{type: {name}, status: 'True', reason: BackoffLimitExceeded}}]}}");
        let failed = assessed(&format!("{JOB}\n{status}"));
        assert_eq!((failed.health, failed.terminal), (Degraded, true));
        assert!(failed.reason.contains("BackoffLimitExceeded"), "{}", failed.reason);
    }
}

#[test]
fn a_job_suspended_by_its_declaration_is_as_declared() {
    check(
        JOB,
        &[
            ("spec: {suspend: true}\nstatus: {conditions: [{type: Suspended, status: 'True'}]}", Healthy, "suspended"),
            (
                "spec: {suspend: false}\nstatus: {conditions: [{type: Suspended, status: 'True'}]}",
                Progressing,
                "started",
            ),
        ],
    );
}

#[test]
fn a_cron_job_is_healthy_and_tells_of_its_last_run() {
    let early = "'2026-11-14T03:00:09Z'";
    let late = "'2026-11-15T03:00:00Z'";
    check(
        "
apiVersion: batch/v1
kind: CronJob
metadata: {name: report}",
        &[
            ("", Healthy, "not run yet"),
            ("spec: {suspend: true}", Healthy, "suspended"),
            (&format!("status: {{lastScheduleTime: {late}, active: [{{name: x}}]}}"), Healthy, "in progress"),
            (&format!("status: {{lastScheduleTime: {late}}}"), Healthy, "did not succeed, nor"),
            (
                &format!("status: {{lastScheduleTime: {late}, lastSuccessfulTime: {early}}}"),
                Healthy,
                "did not succeed; the last success was at 2026-11-14",
            ),
            (&format!("status: {{lastScheduleTime: {early}, lastSuccessfulTime: {late}}}"), Healthy, "succeeded"),
        ],
    );
}
