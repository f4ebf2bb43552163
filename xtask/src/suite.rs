//! The result of one suite of tests, and the summary that ends a run.

use std::fmt::Write as _;
use std::time::Duration;

/// The outcome of one suite.
#[derive(Debug, Default)]
pub(crate) struct Suite {
    pub(crate) name: &'static str,
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    /// Tests that did not run although no option left them out, each with the remedy.
    pub(crate) skipped: Vec<String>,
    /// Tests that did not run because they need something that is no part of the project: reported,
    /// but no failure.
    pub(crate) left_out: Vec<String>,
    /// Tests of the current binary that returned without checking anything. libtest counts them as
    /// passed.
    pub(crate) unchecked: u64,
    /// The time that compiling took before the first test.
    pub(crate) built_in: Duration,
    pub(crate) took: Duration,
    /// Each test with the time that it took.
    pub(crate) times: Vec<(Duration, String)>,
}

/// The number of slow tests that a run lists.
const SLOWEST: usize = 20;

/// The beginning of the line by which a test reports, with `setpoint_testbed::skipped`, that it
/// checks nothing on this machine.
const SKIPPED: &str = "skipped test: ";

impl Suite {
    pub(crate) fn new(name: &'static str) -> Self {
        Self { name, ..Self::default() }
    }

    pub(crate) fn skipped(name: &'static str, reason: String) -> Self {
        Self { skipped: vec![reason], ..Self::new(name) }
    }

    /// Adds the counts of a line of libtest, if it ends a test binary, and notes a test that
    /// reports itself as skipped.
    pub(crate) fn count(&mut self, line: &str) {
        if let Some(test) = line.strip_prefix(SKIPPED) {
            self.unchecked += 1;
            self.skipped.push(test.to_owned());
        }
        self.times.extend(timed(line));
        let Some((_, counts)) = line.strip_prefix("test result: ").and_then(|rest| rest.split_once(". ")) else {
            return;
        };
        let mut ignored = 0;
        for part in counts.split("; ") {
            let Some((number, what)) = part.split_once(' ') else { continue };
            let Ok(number) = number.parse::<u64>() else { continue };
            match what {
                "passed" => self.passed += number.saturating_sub(std::mem::take(&mut self.unchecked)),
                "failed" => self.failed += number,
                "ignored" => ignored += number,
                _ => {}
            }
        }
        if ignored > 0 {
            self.skipped.push(format!("{ignored} ignored in one binary; remove their #[ignore]"));
        }
    }

    /// Prints the total of a suite that runs alone; returns whether all of it passed.
    pub(crate) fn told(self) -> bool {
        let suites = [self];
        print!("{}", summary(&suites));
        all_passed(&suites, false)
    }
}

/// Returns the time and the name of a test from a line of `libtest --report-time`, such as
/// `test prune::nothing_is_lost ... ok <0.120s>`.
fn timed(line: &str) -> Option<(Duration, String)> {
    let (name, outcome) = line.strip_prefix("test ")?.split_once(" ... ")?;
    let (_, time) = outcome.rsplit_once('<')?;
    let seconds: f64 = time.strip_suffix("s>")?.parse().ok()?;
    Some((Duration::try_from_secs_f64(seconds).ok()?, name.to_owned()))
}

/// Reports whether a run of these suites is a success. Skipped tests count as a failure unless that
/// is allowed, and a run in which no test ran at all proves nothing.
pub(crate) fn all_passed(suites: &[Suite], allow_missing: bool) -> bool {
    suites.iter().all(|suite| suite.failed == 0)
        && suites.iter().any(|suite| suite.passed > 0)
        && (allow_missing || suites.iter().all(|suite| suite.skipped.is_empty()))
}

/// Formats one line per suite, then the skipped tests, then the total alone on its line.
pub(crate) fn summary(suites: &[Suite]) -> String {
    let mut text = String::from("\n");
    let width = suites.iter().map(|suite| suite.name.len()).max().unwrap_or(0);
    for suite in suites {
        if suite.built_in > Duration::ZERO {
            let _ = writeln!(text, "{:width$}  built in {:.1} s", suite.name, suite.built_in.as_secs_f64());
        }
        let _ = writeln!(
            text,
            "{:width$}  {} passed, {} failed, {} skipped  {:.1} s",
            suite.name,
            suite.passed,
            suite.failed,
            suite.skipped.len(),
            suite.took.as_secs_f64()
        );
    }
    text.push_str(&slowest(suites));
    text.push_str(&skips(suites));
    let passed: u64 = suites.iter().map(|suite| suite.passed).sum();
    let failed: u64 = suites.iter().map(|suite| suite.failed).sum();
    if passed + failed == 0 {
        text.push_str("nothing ran, which proves nothing; leave out the filter or correct it\n");
    }
    let _ = writeln!(text, "{passed} passed, {failed} failed");
    text
}

/// Formats the slowest tests of all suites, one line each.
fn slowest(suites: &[Suite]) -> String {
    let mut times: Vec<&(Duration, String)> = suites.iter().flat_map(|suite| &suite.times).collect();
    times.sort_unstable_by(|a, b| b.cmp(a));
    let mut text = String::new();
    for (took, name) in times.into_iter().take(SLOWEST) {
        let _ = writeln!(text, "slow: {:6.1} s  {name}", took.as_secs_f64());
    }
    text
}

/// Formats one line for each test that was skipped or left out.
fn skips(suites: &[Suite]) -> String {
    let mut text = String::new();
    for suite in suites {
        for reason in &suite.left_out {
            let _ = writeln!(text, "left out: {}: {reason}", suite.name);
        }
        for reason in &suite.skipped {
            let _ = writeln!(text, "skipped: {}: {reason} (--allow-missing accepts this)", suite.name);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counts_of_every_test_binary_add_up() {
        let mut suite = Suite::new("tests");
        suite.count("test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s");
        suite
            .count("test result: FAILED. 2 passed; 1 failed; 0 ignored; 0 measured; 7 filtered out; finished in 0.10s");
        suite.count("test decide::a_plan_passed ... ok");
        assert_eq!((suite.passed, suite.failed, suite.skipped.len()), (5, 1, 0));
    }

    #[test]
    fn a_run_lists_its_slowest_tests_with_the_slowest_first() {
        let mut suite = Suite::new("tests");
        suite.count("test decide::a_quick_one ... ok <0.100s>");
        suite.count("test kube::a_slow_one ... FAILED <12.340s>");
        suite.count("test decide::one_without_a_time ... ok");
        let text = summary(&[suite]);
        let slow: Vec<&str> = text.lines().filter(|line| line.starts_with("slow: ")).collect();
        assert_eq!(slow, ["slow:   12.3 s  kube::a_slow_one", "slow:    0.1 s  decide::a_quick_one"]);
    }

    #[test]
    fn an_ignored_test_fails_the_run_unless_missing_is_allowed() {
        let mut suite = Suite::new("tests");
        suite.count("test result: ok. 3 passed; 0 failed; 2 ignored; 0 measured; 0 filtered out; finished in 0.00s");
        let suites = [suite];
        assert!(!all_passed(&suites, false));
        assert!(all_passed(&suites, true));
        assert!(summary(&suites).contains("skipped: tests: 2 ignored in one binary"));
    }

    #[test]
    fn a_test_that_checked_nothing_is_skipped_and_did_not_pass() {
        let mut suite = Suite::new("tests");
        suite.count(
            "skipped test: ssh::a_key_opens_the_store: the account `x` has no shell; run the tests as another user",
        );
        suite.count("test ssh::a_key_opens_the_store ... ok");
        suite.count("test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s");
        suite.count("test result: ok. 4 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s");
        assert_eq!((suite.passed, suite.skipped.len()), (6, 1));
        let suites = [suite];
        assert!(!all_passed(&suites, false) && all_passed(&suites, true));
        let line = "skipped: tests: ssh::a_key_opens_the_store: the account `x` has no shell";
        assert!(summary(&suites).contains(line), "{}", summary(&suites));
    }

    #[test]
    fn what_is_no_part_of_the_project_is_told_and_no_failure() {
        let suites = [Suite { passed: 1, left_out: vec!["a clone".to_owned()], ..Suite::new("replays") }];
        assert!(all_passed(&suites, false));
        assert!(summary(&suites).contains("\nleft out: replays: a clone\n"));
    }

    #[test]
    fn a_run_in_which_nothing_ran_is_not_a_success() {
        let suites = [Suite::new("tests")];
        assert!(!all_passed(&suites, true));
        assert!(summary(&suites).contains("nothing ran"));
    }

    #[test]
    fn the_total_stands_alone_on_the_last_line() {
        let suites =
            [Suite { passed: 4, ..Suite::new("tests") }, Suite { passed: 1, failed: 2, ..Suite::new("structure") }];
        assert_eq!(summary(&suites).lines().last(), Some("5 passed, 2 failed"));
    }
}
