//! The peer that gives the same results as kustomize (crates/kustomize/record/peer), built once per
//! source with Go; and the chores that use it.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, bail, ensure};

use crate::go;
use crate::kubernetes;
use crate::process;
use crate::stopwatch::Stopwatch;
use crate::suite::Suite;

#[path = "../../crates/kustomize/record/peer/place.rs"]
mod place;

const SOURCE: &str = "crates/kustomize/record/peer";
/// The default number of cases for people; CI runs fewer.
const CASES: u64 = 10_000;

/// Returns the path of the peer, if it was built from its present source.
pub(crate) fn ready() -> anyhow::Result<Option<PathBuf>> {
    let file = kubernetes::cache()?.join(place::file_name());
    Ok(file.exists().then_some(file))
}

/// The name of modules with tests that use the peer, so that they can be left out together.
pub(crate) const TESTS: &str = "against_kustomize::";

/// Builds the peer if it is missing; returns a suite that reports a missing Go or a failed build.
pub(crate) fn lacking() -> anyhow::Result<Option<Suite>> {
    const NAME: &str = "kustomize peer";
    if ready()?.is_none()
        && let Err(reason) = go::found()
    {
        return Ok(Some(Suite::skipped(NAME, reason)));
    }
    Ok(prepare().err().map(|error| {
        println!("{NAME}: {error:#}");
        Suite { failed: 1, ..Suite::new(NAME) }
    }))
}

/// Finds the peer, or builds it.
pub(crate) fn prepare() -> anyhow::Result<PathBuf> {
    if let Some(file) = ready()? {
        println!("kustomize peer: hit ({})", file.display());
        return Ok(file);
    }
    let go = go::found().map_err(anyhow::Error::msg)?;
    println!("kustomize peer: miss; building {SOURCE} with `{go}`");
    let clock = Stopwatch::start();
    let file = kubernetes::cache()?.join(place::file_name());
    // Another run may build it at the same time: each writes its own file until that is complete.
    let built = file.with_extension(std::process::id().to_string());
    let output = built.to_string_lossy();
    let mut build = process::program("go", &["build", "-trimpath", "-o", &*output, "."]);
    build.current_dir(process::root().join(SOURCE)).env("CGO_ENABLED", "0").env("GOWORK", "off");
    ensure!(process::succeeds(build)?, "`go build` of {SOURCE} failed; see above");
    fs::rename(&built, &file).with_context(|| format!("cannot move {} to {}", built.display(), file.display()))?;
    println!("kustomize peer: built in {:.0} s", clock.elapsed().as_secs_f64());
    Ok(file)
}

/// `cargo xtask fuzz kustomize`: compares any number of generated kustomizations.
pub(crate) fn fuzz(options: &[&str]) -> anyhow::Result<bool> {
    let asked = Fuzz::read(options, now)?;
    prepare()?;
    println!("fuzz: {} cases from seed {}", asked.cases, asked.seed);
    let mut test = tests("fuzz::against_kustomize::");
    test.env("SETPOINT_FUZZ_CASES", asked.cases.to_string()).env("SETPOINT_FUZZ_SEED", asked.seed.to_string());
    process::succeeds(test)
}

/// `cargo xtask baseline kustomize`: records the results of kustomize for our fixtures.
pub(crate) fn baseline() -> anyhow::Result<bool> {
    prepare()?;
    let mut test = tests("fixtures::against_kustomize::");
    test.env("SETPOINT_RECORD", "1");
    process::succeeds(test)
}

fn tests(filter: &str) -> std::process::Command {
    let package = ["test", "--locked", "--package", "setpoint-kustomize", "--test", "main"];
    process::program("cargo", &[&package[..], &[filter, "--", "--nocapture"]].concat())
}

#[derive(Debug, PartialEq, Eq)]
struct Fuzz {
    cases: u64,
    seed: u64,
}

impl Fuzz {
    /// Without a seed every run uses another one, which it prints.
    fn read(options: &[&str], any: impl FnOnce() -> u64) -> anyhow::Result<Self> {
        let (mut cases, mut seed) = (CASES, None);
        let mut rest = options;
        while let [option, number, more @ ..] = rest {
            let number = number.parse().ok();
            let number = number.with_context(|| format!("`{option}` takes a number, as in `{option} 7`"))?;
            match *option {
                "--cases" => cases = number,
                "--seed" => seed = Some(number),
                other => bail!("`fuzz` has no option `{other}`; it has --cases N and --seed S"),
            }
            rest = more;
        }
        if let [lone, ..] = rest {
            bail!("`{lone}` is not understood; `fuzz kustomize` has --cases N and --seed S");
        }
        Ok(Self { cases, seed: seed.unwrap_or_else(any) })
    }
}

#[expect(clippy::disallowed_methods, reason = "a run without a seed differs each time, and prints its seed")]
fn now() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_of_the_fuzzer_has_a_number_of_cases_and_a_seed() {
        assert_eq!(Fuzz::read(&[], || 9).expect("the default"), Fuzz { cases: CASES, seed: 9 });
        let asked = Fuzz::read(&["--seed", "3", "--cases", "50"], || 9).expect("both");
        assert_eq!(asked, Fuzz { cases: 50, seed: 3 });
        for wrong in [&["--seed"][..], &["--seed", "x"], &["--runs", "5"], &["5"]] {
            assert!(Fuzz::read(wrong, || 9).is_err(), "{wrong:?}");
        }
    }
}
