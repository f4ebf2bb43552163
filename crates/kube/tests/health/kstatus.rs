//! kstatus: the table of objects in its own test of `Compute`.

use std::collections::BTreeMap;

use setpoint_core::live::Health;
use setpoint_kube::health::{Rules, assess};

use super::corpus::{folder, read, tell, text};
use crate::tally::Tally;

const TABLE: &str = "pkg/kstatus/status/status_compute_test.go";

/// A case of the table: its name, its object, the expected status.
struct Case<'a> {
    name: &'a str,
    object: &'a str,
    expected: &'a str,
}

#[test]
fn kstatus_agrees_but_for_what_is_meant_to_differ() {
    let holds = "the table of kstatus (kubernetes-sigs/cli-utils)";
    let Some(folder) = folder("SETPOINT_KSTATUS", holds) else { return };
    let source = text(&folder.join(TABLE));
    let cases = cases(&source);
    assert!(cases.len() >= 50, "only {} cases were found in {TABLE}", cases.len());
    let mut tally = Tally::default();
    for case in &cases {
        // One object contains the time of the run; no rule here reads it.
        let object = read(case.name, &case.object.replace("%s", "2026-11-15T12:00:00Z"));
        let ours = assess(&object, &Rules::default());
        tally.add(case.name, case.expected, &ours, ours.health == meant(case.expected), design(case.name));
    }
    tell(&tally.told("kstatus"));
    tally.assert_counts_in("health.md", "kstatus, its table");
    assert!(tally.different.is_empty() && tally.not_covered.is_empty(), "see above");
}

fn meant(status: &str) -> Health {
    match status {
        "Current" => Health::Healthy,
        "InProgress" | "Terminating" => Health::Progressing,
        "Failed" => Health::Degraded,
        "Unknown" => Health::Unknown,
        other => panic!("kstatus has a new status {other}"),
    }
}

/// Returns the reason of a difference that is by design.
fn design(name: &str) -> Option<&'static str> {
    Some(match name {
        "podCompletedFailed" => "a pod that failed is degraded",
        "podUnschedulable" => "a pod without a node waits: only a deadline could end that, and there is no clock here",
        "rsReplicaFailure" => "pods that the server refuses degrade their replica set at once",
        "jobInProgress" => "a job is healthy when it has completed, not when it has started",
        "serviceLBok" => "a load balancer is healthy when it has an address, not when it has a cluster IP",
        "crdNoStatus" => "without a report of its controller, an object is unknown",
        "crdNoCondition" => "a status that is not understood leaves its object unknown",
        _ => return None,
    })
}

/// Finds `var name = ` + "`…`" + `, and "case": { spec: name, expectedStatus: XStatus`.
fn cases(source: &str) -> Vec<Case<'_>> {
    let mut objects = BTreeMap::new();
    for part in source.split("\nvar ").skip(1) {
        let Some((name, rest)) = part.split_once(" = `") else { continue };
        objects.insert(name, rest.split('`').next().expect("a split has a first part"));
    }
    let mut cases = Vec::new();
    let mut lines = source.lines().map(str::trim).peekable();
    let mut name = "";
    while let Some(line) = lines.next() {
        if let Some(case) = line.strip_prefix('"').and_then(|rest| rest.strip_suffix("\": {")) {
            name = case;
        }
        let Some(spec) = line.strip_prefix("spec:") else { continue };
        let expected = lines.peek().and_then(|next| next.strip_prefix("expectedStatus:"));
        let Some(expected) = expected.map(|rest| rest.trim().trim_end_matches("Status,")) else { continue };
        let object = objects
            .iter()
            .find(|(known, _)| spec.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| word == **known));
        let (_, object) = object.unwrap_or_else(|| panic!("{name}: no object for `{spec}`"));
        cases.push(Case { name, object, expected });
    }
    cases
}
