//! Replays of other projects' cases: tests that read a directory named by an environment variable,
//! and report what they did not check without it. The directories are no part of the project, so a
//! run without them is complete; but nothing is left out silently.

use crate::process;

struct Replay {
    /// The variable that names the directory.
    variable: &'static str,
    what: &'static str,
    /// The default directory, relative to the project's own.
    beside: Option<&'static str>,
}

const REPLAYS: [Replay; 3] = [
    Replay {
        variable: "SETPOINT_ARGOCD",
        what: "health checks and diff data of Argo CD; set {} to a clone of argoproj/argo-cd",
        beside: None,
    },
    Replay {
        variable: "SETPOINT_KSTATUS",
        what: "the table of kstatus; set {} to a clone of kubernetes-sigs/cli-utils",
        beside: None,
    },
    Replay {
        variable: "SETPOINT_CORPUS",
        what: "overlays with the output of kustomize; set {} to the directory that contains them",
        beside: Some("../shared/corpus"),
    },
];

/// Returns the replays that this run leaves out, each with the remedy.
#[expect(clippy::disallowed_methods, reason = "the environment configures the tests that this is about")]
pub(crate) fn left_out() -> Vec<String> {
    without(|replay| {
        let is_beside = replay.beside.is_some_and(|folder| process::root().join(folder).is_dir());
        is_beside || std::env::var_os(replay.variable).is_some()
    })
}

fn without(is_there: impl Fn(&Replay) -> bool) -> Vec<String> {
    let missing = REPLAYS.iter().filter(|replay| !is_there(replay));
    missing.map(|replay| replay.what.replace("{}", replay.variable)).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;

    #[test]
    fn what_is_unset_is_named_with_its_variable() {
        assert_eq!(without(|_| true), [] as [&str; 0]);
        let named = without(|replay| replay.variable != "SETPOINT_KSTATUS");
        assert_eq!(named, ["the table of kstatus; set SETPOINT_KSTATUS to a clone of kubernetes-sigs/cli-utils"]);
    }

    #[test]
    fn every_replay_of_the_tests_is_known() {
        let mut asked = BTreeSet::new();
        for tests in ["crates/kube/tests", "crates/kustomize/tests"] {
            variables_in(&process::root().join(tests), &mut asked);
        }
        let known: BTreeSet<String> = REPLAYS.iter().map(|replay| replay.variable.to_owned()).collect();
        assert_eq!(asked, known);
    }

    /// Collects the variables that the files of a directory read by `folder("VARIABLE", …)`.
    fn variables_in(folder: &Path, asked: &mut BTreeSet<String>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                variables_in(&path, asked);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = std::fs::read_to_string(&path).unwrap();
                let calls = text.split("folder(\"SETPOINT_").skip(1).filter_map(|rest| rest.split('"').next());
                asked.extend(calls.map(|name| format!("SETPOINT_{name}")));
            }
        }
    }
}
