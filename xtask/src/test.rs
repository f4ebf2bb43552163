//! `cargo xtask test`: everything that can fail, in one run, with nothing left out silently.

use anyhow::bail;

use crate::process;
use crate::sim;
use crate::stopwatch::Stopwatch;
use crate::structure;
use crate::suite::{Suite, all_passed, summary};

/// How many seeds of the simulator a full run plays.
const SEEDS: &str = "2000";

/// What the command line asked for.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Options {
    allow_missing: bool,
    /// Only what has this in its name.
    filter: Option<String>,
}

impl Options {
    pub(crate) fn read(words: &[&str]) -> anyhow::Result<Self> {
        let mut options = Self::default();
        for word in words {
            match *word {
                "--allow-missing" => options.allow_missing = true,
                flag if flag.starts_with('-') => {
                    bail!("`test` has no option `{flag}`; it has --allow-missing and a filter")
                }
                filter if options.filter.is_none() => options.filter = Some(filter.to_owned()),
                second => bail!("`test` takes one filter; leave out `{second}`"),
            }
        }
        Ok(options)
    }
}

/// Runs every suite even if an earlier one failed: one run tells everything that is wrong.
pub(crate) fn run(options: &Options) -> anyhow::Result<bool> {
    let filter = options.filter.as_deref();
    let missing = if filter.is_none() { sim::missing() } else { None };
    if let Some(reason) = &missing {
        println!("skipped: sim: {reason}");
    }
    let mut suites = vec![
        cargo_test("tests", &["--lib", "--bins", "--tests"], filter)?,
        cargo_test("doc tests", &["--doc"], filter)?,
        structure::run(filter),
    ];
    match (filter, missing) {
        // A filter names tests; the simulator has none by name.
        (Some(_), _) => println!("sim: left out, because a filter was given"),
        (None, Some(reason)) => suites.push(Suite::skipped("sim", reason)),
        (None, None) => suites.push(simulator()?),
    }
    print!("{}", summary(&suites));
    Ok(all_passed(&suites, options.allow_missing))
}

fn cargo_test(name: &'static str, targets: &[&str], filter: Option<&str>) -> anyhow::Result<Suite> {
    let clock = Stopwatch::start();
    let mut suite = Suite::new(name);
    let mut arguments = vec!["test", "--workspace", "--locked", "--no-fail-fast"];
    arguments.extend(targets);
    arguments.extend(filter.map(|filter| ["--", filter]).into_iter().flatten());
    let succeeded = process::watch(process::program("cargo", &arguments), |line| suite.count(line))?;
    if !succeeded && suite.failed == 0 {
        println!("{name}: something did not compile, or a test binary ended without a result; see above");
        suite.failed = 1;
    }
    suite.took = clock.elapsed();
    Ok(suite)
}

/// The simulator counts as one test: every seed holds and every mutant is caught, or not.
fn simulator() -> anyhow::Result<Suite> {
    let clock = Stopwatch::start();
    let mut suite = Suite::new("sim");
    if sim::run(&["--seeds", SEEDS])? {
        suite.passed = 1;
    } else {
        suite.failed = 1;
    }
    suite.took = clock.elapsed();
    Ok(suite)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_filter_and_the_option_may_come_in_any_order() {
        let expected = Options { allow_missing: true, filter: Some("prune".to_owned()) };
        assert_eq!(Options::read(&["prune", "--allow-missing"]).unwrap(), expected);
        assert_eq!(Options::read(&["--allow-missing", "prune"]).unwrap(), expected);
    }

    #[test]
    fn a_misspelt_option_is_refused_instead_of_taken_for_a_filter() {
        let error = Options::read(&["--alow-missing"]).unwrap_err().to_string();
        assert!(error.contains("--alow-missing"), "{error}");
    }
}
