//! Mutants by their names, and the choice among them.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use anyhow::Context;

/// The seed of the sample; another one draws another sample.
pub(super) const SEED: u64 = 23;

/// One changed expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mutant {
    /// The name in cargo-mutants: `crates/core/src/a.rs:12:5: replace f -> bool with true`.
    pub(super) name: String,
    pub(super) file: String,
    pub(super) line: usize,
    pub(super) column: usize,
    /// The change, without its position.
    pub(super) change: String,
    /// The number among the mutants of its file with the same change, counted from 1.
    number: usize,
}

impl Mutant {
    pub(super) fn read(name: &str) -> anyhow::Result<Self> {
        let parts = || {
            let (place, change) = name.split_once(": ")?;
            let (place, column) = place.rsplit_once(':')?;
            let (file, line) = place.rsplit_once(':')?;
            Some((file, line.parse().ok()?, column.parse().ok()?, change))
        };
        let (file, line, column, change) = parts().with_context(|| format!("`{name}` is not the name of a mutant"))?;
        Ok(Self { name: name.to_owned(), file: file.to_owned(), line, column, change: change.to_owned(), number: 1 })
    }

    /// Returns the directory of its crate.
    pub(super) fn krate(&self) -> Option<&str> {
        self.file.strip_prefix("crates/")?.split('/').next()
    }

    /// Reports whether it switches off a deliberate mistake of `core::mutant`, which is off in all
    /// tests.
    pub(super) fn is_switched_off(&self, code: &str) -> bool {
        code.starts_with("!Mutant::") || self.change.contains("Mutant::") && self.change.ends_with("with false")
    }

    /// Returns its name for a list that outlives edits of other lines.
    pub(super) fn lasting_name(&self) -> String {
        let number = if self.number > 1 { format!(" #{}", self.number) } else { String::new() };
        format!("{}: {}{number}", self.file, self.change)
    }
}

/// Draws a number of mutants, of each crate in proportion. An edit elsewhere in a file changes the
/// choice by little, because it does not depend on line numbers.
pub(super) fn draw(all: Vec<Mutant>, size: usize) -> Vec<Mutant> {
    let of_all = all.len();
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let mut by_crate: BTreeMap<String, Vec<(u64, Mutant)>> = BTreeMap::new();
    for mut mutant in all {
        mutant.number = *seen.entry(mutant.lasting_name()).and_modify(|number| *number += 1).or_insert(1);
        let rank = hash(&format!("{SEED} {}", mutant.lasting_name()));
        by_crate.entry(mutant.krate().unwrap_or_default().to_owned()).or_default().push((rank, mutant));
    }
    let shares = shares(&by_crate.values().map(Vec::len).collect::<Vec<_>>(), size.min(of_all));
    let mut drawn = Vec::new();
    for (mut mutants, share) in by_crate.into_values().zip(shares) {
        mutants.sort_by(|one, other| (one.0, &one.1.name).cmp(&(other.0, &other.1.name)));
        drawn.extend(mutants.into_iter().take(share).map(|(_, mutant)| mutant));
    }
    drawn.sort_by(|one, other| (&one.file, one.line, one.column).cmp(&(&other.file, other.line, other.column)));
    drawn
}

/// Divides a number in proportion to counts. The remainder after rounding goes to the largest
/// fractions.
fn shares(counts: &[usize], size: usize) -> Vec<usize> {
    let all = counts.iter().sum::<usize>().max(1);
    let mut shares: Vec<usize> = counts.iter().map(|count| count * size / all).collect();
    let mut by_rest: Vec<usize> = (0..counts.len()).collect();
    by_rest.sort_by_key(|at| Reverse(counts[*at] * size % all));
    let left = size.saturating_sub(shares.iter().sum());
    by_rest.into_iter().take(left).for_each(|at| shares[at] += 1);
    shares
}

/// FNV-1a, with its bits mixed once more: the same on every machine and with every compiler.
fn hash(text: &str) -> u64 {
    let folded = text
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
    let mixed = (folded ^ folded >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
    mixed ^ mixed >> 33
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mutants(krate: &str, count: usize, first_line: usize) -> Vec<Mutant> {
        let name =
            |at: usize| format!("crates/{krate}/src/a.rs:{}:5: replace f{at} -> bool with true", first_line + at);
        (0..count).map(|at| Mutant::read(&name(at)).expect("a name")).collect()
    }

    #[test]
    fn a_mutant_is_read_from_its_name() {
        let name = "crates/core/src/a.rs:12:5: replace <impl A for B>::f -> C with D: E";
        let mutant = Mutant::read(name).expect("a name");
        assert_eq!((mutant.file.as_str(), mutant.line, mutant.column), ("crates/core/src/a.rs", 12, 5));
        assert_eq!(mutant.change, "replace <impl A for B>::f -> C with D: E");
        assert_eq!(mutant.krate(), Some("core"));
        assert!(Mutant::read("no mutants found").is_err());
    }

    #[test]
    fn a_sample_has_of_each_crate_in_proportion_and_is_the_same_each_time() {
        let all = || [mutants("core", 60, 0), mutants("engine", 30, 0), mutants("ledger", 9, 0)].concat();
        let drawn = draw(all(), 10);
        let of = |krate| drawn.iter().filter(|mutant| mutant.krate() == Some(krate)).count();
        assert_eq!((of("core"), of("engine"), of("ledger")), (6, 3, 1));
        assert_eq!(drawn, draw(all(), 10));
        assert_eq!(draw(all(), 1_000).len(), 99);
    }

    #[test]
    fn a_line_more_at_the_top_of_a_file_draws_the_same_mutants() {
        let changes = |first_line| {
            let drawn = draw(mutants("core", 100, first_line), 10);
            drawn.into_iter().map(|mutant| mutant.change).collect::<Vec<_>>()
        };
        assert_eq!(changes(1), changes(2));
    }

    #[test]
    fn of_equal_changes_in_a_file_each_has_a_number() {
        let all = [1, 9].map(|line| format!("crates/core/src/a.rs:{line}:5: replace == with != in f"));
        let drawn = draw(all.iter().map(|name| Mutant::read(name).expect("a name")).collect(), 2);
        let names: Vec<_> = drawn.iter().map(Mutant::lasting_name).collect();
        assert_eq!(
            names,
            ["crates/core/src/a.rs: replace == with != in f", "crates/core/src/a.rs: replace == with != in f #2"]
        );
    }

    #[test]
    fn what_switches_off_a_deliberate_mistake_is_left_out() {
        let mutant = |change: &str| Mutant::read(&format!("crates/core/src/a.rs:1:1: {change}")).expect("a name");
        assert!(mutant("delete ! in f").is_switched_off("!Mutant::DropUidCheck.is_on() {"));
        assert!(mutant("replace match guard Mutant::A.is_on() with false").is_switched_off("Mutant::A.is_on() => 1,"));
        assert!(!mutant("replace match guard Mutant::A.is_on() with true").is_switched_off("Mutant::A.is_on() => 1,"));
        assert!(!mutant("delete ! in f").is_switched_off("!retiring && !Mutant::A.is_on() {"));
    }
}
