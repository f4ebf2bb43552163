//! Argo CD: the objects of its built-in health checks, and those of its Lua checks.

use std::path::{Path, PathBuf};

use setpoint_core::live::Health;
use setpoint_core::value::Value;
use setpoint_kube::health::{Assessment, Basis, Rules, assess};

use super::corpus::{folder, read, tell, text};
use crate::tally::Tally;

const BUILT_IN: &str = "gitops-engine/pkg/health";
pub(super) const LUA: &str = "resource_customizations";

#[test]
fn the_built_in_checks_of_argo_cd_agree_but_for_what_is_meant_to_differ() {
    let Some(folder) = folder("SETPOINT_ARGOCD", "the built-in health checks of Argo CD (argoproj/argo-cd)") else {
        return;
    };
    let folder = folder.join(BUILT_IN);
    let source = text(&folder.join("health_test.go"));
    let mut tally = Tally::default();
    for line in source.lines().map(str::trim) {
        let Some((file, theirs)) = built_in_case(line) else { continue };
        let object = read(file, &text(&folder.join(file)));
        let ours = assess(&object, &Rules::default());
        let name = file.rsplit('/').next().unwrap_or(file);
        tally.add(name, theirs, &ours, is_equal(theirs, &ours), built_in_design(name, theirs));
    }
    tell(&tally.told("Argo CD, built in"));
    tally.assert_counts_in("health.md", "Argo CD, built-in checks");
    assert!(tally.equal >= 40, "only {} cases were found to be equal", tally.equal);
    assert!(tally.different.is_empty() && tally.not_covered.is_empty(), "see above");
}

/// Reads `assertAppHealth(t, "./testdata/x.yaml", HealthStatusHealthy)`, or a nil if there is no
/// check.
fn built_in_case(line: &str) -> Option<(&str, &str)> {
    let rest = line.strip_prefix("assertAppHealth(t, \"")?;
    let (file, rest) = rest.split_once("\", HealthStatus")?;
    Some((file, rest.strip_suffix(')')?))
}

fn built_in_design(name: &str, theirs: &str) -> Option<&'static str> {
    Some(match (name, theirs) {
        (_, "Suspended") => SUSPENDED,
        ("pod-running-restart-onfailure.yaml", _) => {
            "a container that waits after errors degrades its pod under any policy"
        }
        ("pod-running-restart-never-with-ignore-annotation.yaml", _) => "an annotation of Argo CD changes nothing here",
        _ => return None,
    })
}

const SUSPENDED: &str = "there is no `suspended`: an object that is declared to stop is healthy once it has stopped, and progressing before";
const SILENT: &str = "without a report of its controller, an object is unknown";
const DELETED: &str =
    "an object that is being deleted is progressing, whatever its status (in Argo CD too, before the check runs)";
const OUTDATED: &str = "a status of another generation is not believed";
const NOT_READY: &str = "what is denied or left open, without an error for a reason, is progressing, as for kstatus";
const ERROR: &str = "a condition that names an error and holds, or is denied with one, is degraded";
const BELIEVED: &str = "`Ready` and `Available` are believed; the check of Argo CD reads more of this kind";
const CRON: &str = "a run that failed does not count against its cron job";

/// The maximum number of cases that are healthy here and not there: this is the dangerous
/// direction.
const MOST_BELIEVED: usize = 25;

/// A case of `health_test.yaml`.
pub(super) struct Case {
    pub(super) name: String,
    pub(super) input: PathBuf,
    pub(super) theirs: String,
}

#[test]
fn what_the_rules_claim_of_the_lua_checks_of_argo_cd_agrees_but_for_what_is_meant_to_differ() {
    let Some(folder) = folder("SETPOINT_ARGOCD", "the Lua health checks of Argo CD (argoproj/argo-cd)") else { return };
    let mut cases = Vec::new();
    collect(&folder.join(LUA), &mut cases);
    assert!(cases.len() > 1_000, "only {} cases were found below {LUA}", cases.len());
    cases.sort_by(|a, b| a.name.cmp(&b.name));
    let mut tally = Tally::default();
    for case in &cases {
        let object = read(&case.name, &text(&case.input));
        let ours = assess(&object, &Rules::default());
        tally.add(
            &case.name,
            &case.theirs,
            &ours,
            is_equal(&case.theirs, &ours),
            lua_design(&case.theirs, &ours, &object),
        );
    }
    tell(&tally.told("Argo CD, Lua"));
    tally.assert_counts_in("health.md", "Argo CD, Lua checks");
    assert!(tally.different.is_empty(), "see above");
    assert!(tally.equal >= 400, "only {} cases were found to be equal", tally.equal);
    let believed = tally.by_design.get(BELIEVED).map_or(0, Vec::len);
    assert!(believed <= MOST_BELIEVED, "{believed} cases are healthy here and not there");
}

fn collect(folder: &Path, cases: &mut Vec<Case>) {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    for entry in entries {
        let path = entry.expect("a directory of a clone can be listed").path();
        if path.is_dir() {
            collect(&path, cases);
        } else if path.ends_with("health_test.yaml") {
            cases.extend(cases_of(&path));
        }
    }
}

pub(super) fn cases_of(file: &Path) -> Vec<Case> {
    let folder = file.parent().expect("a file is in a directory");
    let kind: PathBuf = folder.components().rev().take(2).collect::<Vec<_>>().into_iter().rev().collect();
    let document = read(&file.display().to_string(), &text(file));
    let Some(Value::Seq(tests)) = document.get("tests") else { panic!("{} has no tests", file.display()) };
    let case = |test: &Value| {
        // Go reads field names without regard to case, and one file relies on it.
        let input = test.get("inputPath").or(test.get("inputpath")).and_then(Value::as_str);
        let theirs = test.get("healthStatus").and_then(|health| health.get("status")).and_then(Value::as_str);
        let input = folder.join(input.unwrap_or_else(|| panic!("{}: a case without input", file.display())));
        let theirs = theirs.unwrap_or_else(|| panic!("{}: a case without a status", file.display())).to_owned();
        let name = format!("{}/{}", kind.display(), input.file_name().unwrap_or_default().display());
        Case { name, input, theirs }
    };
    tests.iter().map(case).collect()
}

pub(super) fn is_equal(theirs: &str, ours: &Assessment) -> bool {
    match theirs {
        "Healthy" => ours.health == Health::Healthy,
        "Progressing" => ours.health == Health::Progressing,
        "Degraded" => ours.health == Health::Degraded,
        "Unknown" => ours.health == Health::Unknown,
        "Suspended" | "Missing" => false,
        other => panic!("Argo CD has a new status {other}"),
    }
}

/// Returns the reason of a difference that is by design. A case that no rule covers does not count
/// as a difference.
fn lua_design(theirs: &str, ours: &Assessment, object: &Value) -> Option<&'static str> {
    match (theirs, ours.health, ours.basis) {
        (_, Health::Unknown, Basis::Kind) => Some(SILENT),
        (_, Health::Unknown, _) => is_silent(object).then_some(SILENT),
        (_, _, Basis::Deletion) => Some(DELETED),
        (_, Health::Progressing, Basis::Generation) => Some(OUTDATED),
        ("Suspended", _, _) => Some(SUSPENDED),
        (_, Health::Progressing, Basis::Conditions) => Some(NOT_READY),
        (_, Health::Degraded, Basis::Conditions) => Some(ERROR),
        (_, Health::Healthy, Basis::Conditions) => Some(BELIEVED),
        (_, Health::Healthy, Basis::Kind) if object.get("kind").and_then(Value::as_str) == Some("CronJob") => {
            Some(CRON)
        }
        (_, Health::Progressing, Basis::Kind) if ours.reason.contains("older generation") => Some(OUTDATED),
        _ => None,
    }
}

/// Reports whether there is no status.
fn is_silent(object: &Value) -> bool {
    match object.get("status") {
        None | Some(Value::Null) => true,
        Some(Value::Map(fields)) => fields.is_empty(),
        Some(_) => false,
    }
}
