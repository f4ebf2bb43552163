//! `cargo xtask sim`: starts the simulator of crates/sim, with its mutants.

use crate::process;

/// Returns the reason why the simulator cannot run, if there is one.
pub(crate) fn missing() -> Option<String> {
    let folder = process::root().join("crates/sim/src");
    let binary = folder.join("main.rs").exists() || folder.join("bin").exists();
    (!binary).then(|| "crates/sim has no binary yet; nothing was simulated".to_owned())
}

/// Passes the arguments on. Options alone mean `run`.
pub(crate) fn run(options: &[&str]) -> anyhow::Result<bool> {
    if let Some(reason) = missing() {
        anyhow::bail!("{reason}");
    }
    process::succeeds(process::program("cargo", &arguments(options)))
}

fn arguments<'a>(options: &[&'a str]) -> Vec<&'a str> {
    let mut arguments = vec!["run", "--locked", "--package", "setpoint-sim", "--features", "mutants", "--"];
    if options.first().is_none_or(|first| first.starts_with('-')) {
        arguments.push("run");
    }
    arguments.extend(options);
    arguments
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_alone_mean_a_run() {
        assert!(arguments(&["--seeds", "5"]).ends_with(&["--", "run", "--seeds", "5"]));
        assert!(arguments(&[]).ends_with(&["--", "run"]));
    }

    #[test]
    fn a_named_command_is_passed_on_as_it_is() {
        assert!(arguments(&["replay", "failure.json"]).ends_with(&["--", "replay", "failure.json"]));
    }
}
