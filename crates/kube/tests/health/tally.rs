//! What a replay came to: equal, different by design, different, not covered.

use std::collections::BTreeMap;

use setpoint_kube::health::{Assessment, Basis};

/// Counts of a replay, and the names behind them.
#[derive(Default)]
pub(super) struct Tally {
    pub(super) equal: usize,
    /// Why, and which.
    pub(super) by_design: BTreeMap<&'static str, Vec<String>>,
    /// No rule reads such an object: it is `Unknown`, and says so.
    pub(super) not_covered: Vec<String>,
    pub(super) different: Vec<String>,
}

impl Tally {
    /// Takes a case in. `design` says why a difference is meant.
    pub(super) fn add(
        &mut self,
        name: &str,
        theirs: &str,
        ours: &Assessment,
        is_equal: bool,
        design: Option<&'static str>,
    ) {
        let line = format!("{name}: theirs {theirs}, ours {:?} ({:?}: {})", ours.health, ours.basis, ours.reason);
        // Two that say "unknown" do not agree if ours says it for want of a rule.
        let is_claimed = ours.basis != Basis::Nothing || design.is_some();
        if is_equal && is_claimed {
            self.equal += 1;
        } else if let Some(why) = design {
            self.by_design.entry(why).or_default().push(line);
        } else if !is_claimed {
            self.not_covered.push(line);
        } else {
            self.different.push(line);
        }
    }

    /// The counts, and every case that is not equal.
    pub(super) fn told(&self, whose: &str) -> String {
        let by_design: usize = self.by_design.values().map(Vec::len).sum();
        let all = self.equal + by_design + self.not_covered.len() + self.different.len();
        let mut lines = vec![format!(
            "{whose}: {all} cases: {} covered ({} equal, {by_design} different by design, {} different), {} not covered",
            all - self.not_covered.len(),
            self.equal,
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
}
