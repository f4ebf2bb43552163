//! Reads the limits of the ratchet: one `name limit` per line. `#` begins a comment.

use std::collections::BTreeMap;

use anyhow::Context;

use crate::structure::Complaints;

#[derive(Debug)]
pub(super) struct Limits(BTreeMap<String, f64>);

impl Limits {
    pub(super) fn read(text: &str) -> anyhow::Result<Self> {
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
        let limits = lines.map(|line| limit(line).with_context(|| format!("expected `name limit`, got `{line}`")));
        Ok(Self(limits.collect::<anyhow::Result<_>>()?))
    }

    pub(super) fn of(&self, name: &str) -> anyhow::Result<f64> {
        self.0.get(name).copied().with_context(|| format!("no limit for `{name}`; add it to {}", super::LIMITS))
    }

    /// Complains about limits that are above an earlier one. `history` is the patches of the file.
    pub(super) fn raised(&self, history: &str) -> Complaints {
        let earlier = history.lines().filter_map(|line| limit(line.strip_prefix('+')?));
        let mut lowest: BTreeMap<String, f64> = BTreeMap::new();
        for (name, value) in earlier {
            let lowest = lowest.entry(name).or_insert(value);
            *lowest = lowest.min(value);
        }
        let raised = self.0.iter().filter_map(|(name, now)| {
            let before = lowest.get(name).filter(|before| *before < now)?;
            Some(format!("the limit of `{name}` was raised from {before} to {now}; limits only go down"))
        });
        raised.collect()
    }
}

fn limit(line: &str) -> Option<(String, f64)> {
    let (name, value) = line.split_once(' ')?;
    Some((name.to_owned(), value.trim().parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_that_goes_up_is_reported_and_one_that_goes_down_is_not() {
        let limits = Limits::read("# a comment\nhelp 5.5\ndocs 3\n").unwrap();
        let history = "--- a/limits\n+++ b/limits\n@@ -0,0 +1,2 @@\n+help 6.0\n+docs 2.5\n";
        assert_eq!(limits.raised(history), ["the limit of `docs` was raised from 2.5 to 3; limits only go down"]);
    }

    #[test]
    fn a_missing_or_unreadable_limit_is_an_error() {
        assert!(Limits::read("help\n").is_err() && Limits::read("help many\n").is_err());
        assert!(Limits::read("help 1\n").unwrap().of("docs").is_err());
    }
}
