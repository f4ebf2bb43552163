//! The health rules against the cases of kstatus and Argo CD. Their files are no part of the
//! project: environment variables name the directories with a clone of each, and without them the
//! test reports what it did not check.

mod argo_cd;
mod examples;
mod kstatus;

use setpoint_kube::health::{Assessment, Basis};

use super::corpus;
use super::tally::{Came, Tally};

impl Tally {
    /// Adds a case of health. `design` is the reason of a difference that is by design.
    fn add(&mut self, name: &str, theirs: &str, ours: &Assessment, is_equal: bool, design: Option<&'static str>) {
        let line = format!("{name}: theirs {theirs}, ours {:?} ({:?}: {})", ours.health, ours.basis, ours.reason);
        // Two results "unknown" do not agree if ours only means that there is no rule.
        let is_claimed = ours.basis != Basis::Nothing || design.is_some();
        let came = match design {
            _ if is_equal && is_claimed => Came::Equal,
            Some(why) => Came::ByDesign(why),
            None if is_claimed => Came::Different,
            None => Came::NotCovered,
        };
        self.take(line, came);
    }
}
