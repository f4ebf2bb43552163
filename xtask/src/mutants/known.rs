//! Known survivors, each with the reason why it is harmless.

use std::collections::BTreeMap;
use std::fs;

use anyhow::{Context, ensure};

use super::sample::Mutant;
use crate::process;

/// The committed list. docs/simulator.md names it.
pub(super) const FILE: &str = "docs/surviving-mutants.txt";

/// The reasons by the names of mutants without their lines.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Known(BTreeMap<String, String>);

impl Known {
    pub(super) fn read() -> anyhow::Result<Self> {
        let text = fs::read_to_string(process::root().join(FILE)).with_context(|| format!("cannot read {FILE}"))?;
        Self::parse(&text)
    }

    /// Reads mutants, each on its own line, followed by its reason on indented lines. `#` begins a
    /// comment.
    fn parse(text: &str) -> anyhow::Result<Self> {
        let mut known: BTreeMap<String, String> = BTreeMap::new();
        let mut last: Option<String> = None;
        for line in text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#')) {
            match (line.strip_prefix(' '), &last) {
                (Some(reason), Some(name)) => {
                    let all = known.entry(name.clone()).or_default();
                    let space = if all.is_empty() { "" } else { " " };
                    *all += &format!("{space}{}", reason.trim());
                }
                (Some(_), None) => anyhow::bail!("{FILE}: `{}` explains no mutant", line.trim()),
                (None, _) => {
                    ensure!(known.insert(line.to_owned(), String::new()).is_none(), "{FILE}: `{line}` exists twice");
                    last = Some(line.to_owned());
                }
            }
        }
        let unexplained = known.iter().find(|(_, reason)| reason.is_empty());
        ensure!(unexplained.is_none(), "{FILE}: {unexplained:?} has no reason; write it on an indented line below");
        Ok(Self(known))
    }

    /// Returns the reason why a survivor is harmless.
    pub(super) fn reason(&self, mutant: &Mutant) -> Option<&str> {
        let of_all = || self.0.get(&format!("{}: {} #*", mutant.file, mutant.change));
        self.0.get(&mutant.lasting_name()).or_else(of_all).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_committed_list_can_be_read() {
        Known::read().expect("each mutant has a reason");
    }

    #[test]
    fn a_mutant_is_known_on_whatever_line_it_is() {
        let known = Known::parse("# one\ncrates/core/src/a.rs: replace f -> bool with true\n  It is\n  equal.\n");
        let known = known.expect("a list");
        let mutant = |name: &str| Mutant::read(name).expect("a name");
        let reason = |name: &str| known.reason(&mutant(name)).map(ToOwned::to_owned);
        assert_eq!(reason("crates/core/src/a.rs:7:1: replace f -> bool with true").as_deref(), Some("It is equal."));
        assert_eq!(reason("crates/core/src/a.rs:7:1: replace f -> bool with false"), None);
        let known = Known::parse("crates/core/src/a.rs: replace | with ^ in f #*\n  Equal.\n").expect("a list");
        assert!(known.reason(&mutant("crates/core/src/a.rs:7:1: replace | with ^ in f")).is_some());
    }

    #[test]
    fn a_mutant_without_a_reason_is_refused() {
        assert!(Known::parse("crates/core/src/a.rs: replace f -> bool with true\n").is_err());
        assert!(Known::parse("  It is equal.\n").is_err());
    }
}
