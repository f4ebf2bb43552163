//! `cargo xtask test`: everything that can fail, in one run, with nothing left out silently.

use std::path::PathBuf;
use std::process::Command;

use anyhow::bail;

use crate::kubernetes::{self, SharedServer};
use crate::peer;
use crate::process;
use crate::replays;
use crate::setup;
use crate::sim;
use crate::stopwatch::Stopwatch;
use crate::structure;
use crate::suite::{Suite, all_passed, summary};

/// The number of seeds of the simulator in a full run.
const SEEDS: &str = "2000";

/// The module name of tests that need a real API server, so that they can be left out together;
/// nothing else has that name.
const NEEDING_KUBERNETES: &str = "envtest::";

/// The options of the command line.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Options {
    allow_missing: bool,
    /// Runs only tests whose name contains this.
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

    /// Returns the options of the set-up that belongs to the run.
    fn setup(&self) -> &'static [&'static str] {
        if self.allow_missing { &[setup::ALLOW_MISSING] } else { &[] }
    }
}

/// The Kubernetes tools for tests.
enum Kubernetes {
    /// The directory of the tools.
    Ready(PathBuf),
    /// Neither present nor built, because only some tests were requested; those that need them
    /// report it.
    NotAsked,
    Missing(String),
    Broken(String),
}

impl Kubernetes {
    fn look(filter: Option<&str>) -> anyhow::Result<Self> {
        if filter.is_some() {
            return Ok(kubernetes::ready()?.map_or(Self::NotAsked, Self::Ready));
        }
        Ok(match kubernetes::missing()? {
            Some(reason) => Self::Missing(reason),
            None => kubernetes::prepare().map_or_else(|error| Self::Broken(format!("{error:#}")), Self::Ready),
        })
    }

    /// Reports whether the tests that need them are left out.
    fn is_left_out(&self) -> bool {
        matches!(self, Self::Missing(_) | Self::Broken(_))
    }

    /// Starts the server that all test binaries of a run share; it ends with the value. It is a
    /// binary of the workspace, and exists once the tests are built. If it cannot start, the tests
    /// that need one report the reason.
    fn serve(&self) -> Option<SharedServer> {
        let Self::Ready(tools) = self else { return None };
        SharedServer::start(tools).inspect_err(|error| println!("envtest: {error:#}")).ok()
    }

    /// Returns the report for the end of the run, if there is one.
    fn suite(self) -> Option<Suite> {
        match self {
            Self::Ready(_) | Self::NotAsked => None,
            Self::Missing(reason) => Some(Suite::skipped("envtest", reason)),
            Self::Broken(reason) => {
                println!("envtest: {reason}");
                Some(Suite { failed: 1, ..Suite::new("envtest") })
            }
        }
    }
}

/// Runs every suite even if an earlier one failed: one run reports everything that is wrong.
///
/// A whole run begins with the set-up, so that a missing program is installed, or named, before
/// anything is compiled.
pub(crate) fn run(options: &Options) -> anyhow::Result<bool> {
    let filter = options.filter.as_deref();
    if filter.is_none() && !setup::run(options.setup())? && !options.allow_missing {
        bail!("the tests need what is missing above; {} leaves out the tests that need it", setup::ALLOW_MISSING);
    }
    let kubernetes = Kubernetes::look(filter)?;
    if let Kubernetes::Missing(reason) | Kubernetes::Broken(reason) = &kubernetes {
        println!("skipped: envtest: {reason}");
    }
    // With a filter nothing is built for it; tests that do not find it report that.
    let unasked = if filter.is_none() { peer::lacking()? } else { None };
    for reason in unasked.iter().flat_map(|suite| &suite.skipped) {
        println!("skipped: kustomize peer: {reason}");
    }
    // A filter may leave the replays out altogether.
    let unplayed = if filter.is_none() { replays::left_out() } else { Vec::new() };
    for what in &unplayed {
        println!("left out: tests: {what}");
    }
    let missing = if filter.is_none() { sim::missing() } else { None };
    if let Some(reason) = &missing {
        println!("skipped: sim: {reason}");
    }
    let mut suites = vec![tests(filter, &kubernetes, unasked.is_some())?, doc_tests(filter)?, structure::run(filter)];
    suites[0].left_out = unplayed;
    suites.extend(kubernetes.suite());
    suites.extend(unasked);
    match (filter, missing) {
        // A filter names tests; the simulator has none by name.
        (Some(_), _) => println!("sim: left out, because a filter was given"),
        (None, Some(reason)) => suites.push(Suite::skipped("sim", reason)),
        (None, None) => suites.push(simulator()?),
    }
    print!("{}", summary(&suites));
    Ok(all_passed(&suites, options.allow_missing))
}

/// Builds and runs all tests but those in documentation.
fn tests(filter: Option<&str>, kubernetes: &Kubernetes, without_peer: bool) -> anyhow::Result<Suite> {
    let mut suite = Suite::new("tests");
    let clock = Stopwatch::start();
    let mut build = cargo_test(&BINARIES);
    build.arg("--no-run");
    let is_built = process::succeeds(build)?;
    suite.built_in = clock.elapsed();
    if !is_built {
        println!("tests: something did not compile; see above");
        suite.failed = 1;
        return Ok(suite);
    }
    let mut tests = cargo_test(&BINARIES);
    // Only the nightly options of libtest report the time of each test. The runner gives them to the
    // test binaries alone: for cargo they would be another build.
    tests.args(["--config", "target.'cfg(all())'.runner = ['env', 'RUSTC_BOOTSTRAP=1']"]);
    tests.arg("--").args(filter).args(["-Zunstable-options", "--report-time"]);
    if kubernetes.is_left_out() {
        tests.args(["--skip", NEEDING_KUBERNETES]);
    }
    if without_peer {
        tests.args(["--skip", peer::TESTS]);
    }
    let server = kubernetes.serve();
    if let Kubernetes::Ready(tools) = kubernetes {
        tests.env(kubernetes::ASSETS, tools);
    }
    if let Some(server) = &server {
        tests.env(kubernetes::SHARED, server.folder());
    }
    ran(suite, tests)
}

fn doc_tests(filter: Option<&str>) -> anyhow::Result<Suite> {
    let mut tests = cargo_test(&["--doc"]);
    tests.arg("--").args(filter);
    ran(Suite::new("doc tests"), tests)
}

/// All targets with tests but the documentation.
const BINARIES: [&str; 3] = ["--lib", "--bins", "--tests"];

fn cargo_test(targets: &[&str]) -> Command {
    process::program("cargo", &[&["test", "--workspace", "--locked", "--no-fail-fast"], targets].concat())
}

/// Runs tests and adds their counts to a suite.
fn ran(mut suite: Suite, tests: Command) -> anyhow::Result<Suite> {
    let clock = Stopwatch::start();
    let succeeded = process::watch(tests, |line| suite.count(line))?;
    if !succeeded && suite.failed == 0 {
        println!("{}: something did not compile, or a test binary ended without a result; see above", suite.name);
        suite.failed = 1;
    }
    suite.took = clock.elapsed();
    Ok(suite)
}

/// Runs the simulator, which counts as one test: every seed holds and every mutant is caught, or
/// not.
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
