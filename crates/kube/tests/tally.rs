//! The result of a replay of other projects' cases: equal, different by design, different, not
//! covered.

use std::collections::BTreeMap;
use std::path::Path;

use super::corpus::text;

/// The result of one case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Came {
    Equal,
    /// The reason.
    ByDesign(&'static str),
    NotCovered,
    Different,
}

/// Counts of a replay, and the names of the cases.
#[derive(Default)]
pub(crate) struct Tally {
    pub(crate) equal: usize,
    /// The cases by their reason.
    pub(crate) by_design: BTreeMap<&'static str, Vec<String>>,
    pub(crate) not_covered: Vec<String>,
    pub(crate) different: Vec<String>,
}

impl Tally {
    /// Adds a case. `line` describes it in the report, unless it is equal.
    pub(crate) fn take(&mut self, line: String, came: Came) {
        match came {
            Came::Equal => self.equal += 1,
            Came::ByDesign(why) => self.by_design.entry(why).or_default().push(line),
            Came::NotCovered => self.not_covered.push(line),
            Came::Different => self.different.push(line),
        }
    }

    fn differing_by_design(&self) -> usize {
        self.by_design.values().map(Vec::len).sum()
    }

    fn covered(&self) -> usize {
        self.equal + self.differing_by_design() + self.different.len()
    }

    /// Formats the counts, and every case that is not equal.
    pub(crate) fn told(&self, whose: &str) -> String {
        let mut lines = vec![format!(
            "{whose}: {} cases: {} covered ({} equal, {} different by design, {} different), {} not covered",
            self.covered() + self.not_covered.len(),
            self.covered(),
            self.equal,
            self.differing_by_design(),
            self.different.len(),
            self.not_covered.len(),
        )];
        let classes = self.by_design.iter().map(|(why, cases)| (format!("by design: {why}"), cases));
        let others = [("not covered".to_owned(), &self.not_covered), ("different".to_owned(), &self.different)];
        for (class, cases) in classes.chain(others) {
            lines.push(format!("  {} {class}", cases.len()));
            lines.extend(cases.iter().map(|case| format!("    {case}")));
        }
        lines.join("\n")
    }

    /// Fails unless a page of the documentation has these counts in its table.
    #[track_caller]
    pub(crate) fn assert_counts_in(&self, page: &str, whose: &str) {
        let counts = [
            self.covered() + self.not_covered.len(),
            self.covered(),
            self.equal,
            self.differing_by_design(),
            self.not_covered.len(),
        ];
        let row = format!("| {whose} | {} |", counts.map(with_commas).join(" | "));
        let shown = text(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(page));
        assert!(shown.lines().any(|line| line == row), "docs/{page} has no row `{row}`");
    }
}

fn with_commas(count: usize) -> String {
    if count < 1_000 { count.to_string() } else { format!("{},{:03}", count / 1_000, count % 1_000) }
}
