//! Jobs, which finish, and cron jobs, which only start them.

use super::Verdict;
use super::status::Object;

pub(super) fn job(object: Object<'_>) -> Verdict {
    if let Some(failed) = object.holds("Failed").or_else(|| object.holds("FailureTarget")) {
        return Verdict::degraded(failed.told()).for_good();
    }
    if object.holds("Complete").is_some() {
        return Verdict::healthy("it has completed").for_good();
    }
    if object.is_set("spec.suspend") && object.holds("Suspended").is_some() {
        return Verdict::healthy("suspended, as declared");
    }
    if object.text("status.startTime").is_none() {
        return Verdict::progressing("it has not started yet");
    }
    let (active, succeeded, failed) =
        (object.count("status.active"), object.count("status.succeeded"), object.count("status.failed"));
    Verdict::progressing(format!("{active} pods run, {succeeded} have succeeded, {failed} have failed"))
}

/// Cron jobs are healthy if they exist: the controller writes nothing before the first run, which
/// may be a year away. A failed run is reported but does not count against the cron job: otherwise
/// a version that fixes the run would not be healthy before the next run.
pub(super) fn cron_job(object: Object<'_>) -> Verdict {
    if object.is_set("spec.suspend") {
        return Verdict::healthy("suspended, as declared");
    }
    let scheduled = object.text("status.lastScheduleTime");
    let succeeded = object.text("status.lastSuccessfulTime");
    let runs = object.items("status.active").next().is_some();
    Verdict::healthy(match (scheduled, succeeded) {
        (None, _) => "it has not run yet".to_owned(),
        (Some(_), _) if runs => "a run is in progress".to_owned(),
        (Some(scheduled), None) => format!("the run of {scheduled} did not succeed, nor did one before"),
        // One controller writes both in one form of RFC 3339, in which text order is time order.
        (Some(scheduled), Some(succeeded)) if succeeded < scheduled => {
            format!("the run of {scheduled} did not succeed; the last success was at {succeeded}")
        }
        (Some(scheduled), Some(_)) => format!("the run of {scheduled} succeeded"),
    })
}
