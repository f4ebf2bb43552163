//! `cargo xtask kill`: the test that kills an agent in the middle of changes, repeated as often as
//! requested.

use anyhow::Context;

use crate::process;

/// The module of the test, which CI repeats 60 times.
const TEST: &str = "running::killing::";

/// Runs the test as many times as `--runs` sets, and prints its histogram.
pub(crate) fn run(options: &[&str]) -> anyhow::Result<bool> {
    let runs = runs(options)?;
    let arguments = ["test", "--locked", "--package", "setpoint", "--test", "main", TEST, "--", "--nocapture"];
    let mut test = process::program("cargo", &arguments);
    test.env("SETPOINT_KILLS", runs.to_string());
    process::succeeds(test)
}

fn runs(options: &[&str]) -> anyhow::Result<u32> {
    match options {
        [] => Ok(1000),
        ["--runs", runs] => {
            let number = runs.parse().ok().filter(|number| *number > 0);
            number.with_context(|| format!("`{runs}` is no number of runs; write it as in `--runs 1000`"))
        }
        other => anyhow::bail!("`{}` is not understood; the only option is `--runs N`", other.join(" ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_of_runs_is_a_number_and_not_zero() {
        assert_eq!(runs(&[]).expect("the default"), 1000);
        assert_eq!(runs(&["--runs", "7"]).expect("a number"), 7);
        for wrong in [&["--runs", "0"][..], &["--runs", "many"], &["--runs"], &["7"]] {
            assert!(runs(wrong).is_err(), "{wrong:?}");
        }
    }
}
