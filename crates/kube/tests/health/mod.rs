//! The health rules against the cases of others: kstatus and Argo CD. Their files are no part of
//! the project; a folder with a clone of each is named by an environment variable, and without it
//! the test says what it did not check.

mod argo_cd;
mod examples;
mod kstatus;

use setpoint_kube::health::{Assessment, Basis};

use super::corpus;
use super::tally::{Came, Tally};

impl Tally {
    /// Takes a case of health in. `design` says why a difference is meant.
    fn add(&mut self, name: &str, theirs: &str, ours: &Assessment, is_equal: bool, design: Option<&'static str>) {
        let line = format!("{name}: theirs {theirs}, ours {:?} ({:?}: {})", ours.health, ours.basis, ours.reason);
        // Two that say "unknown" do not agree if ours says it for want of a rule.
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
