//! The result of a verification.

use std::fmt;

/// The most findings that are listed: the first ones show the cause.
const MOST: usize = 100;

/// One violation.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// The log of the violation; empty if it concerns the whole ledger.
    pub origin: String,
    /// The record of the violation, if it concerns a single one.
    pub seq: Option<u64>,
    pub what: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.origin.as_str(), self.seq) {
            ("", _) => f.write_str(&self.what),
            (origin, Some(seq)) => write!(f, "{origin}, record {seq}: {}", self.what),
            (origin, None) => write!(f, "{origin}: {}", self.what),
        }
    }
}

/// The verified contents of one log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogReport {
    pub origin: String,
    pub records: u64,
    /// The root over all records, in hex.
    pub root: String,
    pub checkpoints: u64,
    /// The number of records that a checkpoint covers.
    pub signed: u64,
    /// The number of records that a given anchor covers. None of them can have been changed
    /// unnoticed.
    pub anchored: u64,
    pub bodies: u64,
    pub erased: u64,
    /// The number of losses that an operator recorded.
    pub gaps: u64,
}

/// The verified logs and the violations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    pub logs: Vec<LogReport>,
    /// In the order of logs and records: the first one is the first bad record.
    pub findings: Vec<Finding>,
    /// The number of findings that are not listed.
    pub more: u64,
}

impl Report {
    pub fn is_sound(&self) -> bool {
        self.findings.is_empty()
    }

    pub(crate) fn find(&mut self, origin: &str, seq: Option<u64>, what: impl Into<String>) {
        if self.findings.len() < MOST {
            self.findings.push(Finding { origin: origin.to_owned(), seq, what: what.into() });
        } else {
            self.more += 1;
        }
    }

    /// Sorts the earliest damage first; findings that concern no single record follow.
    pub(crate) fn sort(&mut self) {
        self.findings.sort_by_key(|finding| (finding.origin.clone(), finding.seq.is_none(), finding.seq));
    }
}
