//! What a verification found.

use std::fmt;

/// Findings beyond this are not listed: the first ones tell the story.
const MOST: usize = 100;

/// One thing that is not as it must be.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// The log it was found in; empty where it concerns the whole ledger.
    pub origin: String,
    /// The record it was found at, where it concerns one.
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

/// What was verified of one log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogReport {
    pub origin: String,
    pub records: u64,
    /// The root over all records, in hex.
    pub root: String,
    pub checkpoints: u64,
    /// Records that a checkpoint covers.
    pub signed: u64,
    /// Records that a given anchor covers: nothing among them can have been changed unseen.
    pub anchored: u64,
    pub bodies: u64,
    pub erased: u64,
    /// Losses that an operator has recorded.
    pub gaps: u64,
}

/// What was verified, and what is wrong.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    pub logs: Vec<LogReport>,
    /// In the order of logs and records: the first is the first bad record.
    pub findings: Vec<Finding>,
    /// Findings that are not listed.
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

    /// Puts the earliest damage first; what concerns no single record follows.
    pub(crate) fn sort(&mut self) {
        self.findings.sort_by_key(|finding| (finding.origin.clone(), finding.seq.is_none(), finding.seq));
    }
}
