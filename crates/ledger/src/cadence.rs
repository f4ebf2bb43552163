//! Decides when a checkpoint is due: only after new records, so that an idle log writes nothing.

use setpoint_core::time::{Span, Timestamp};

use crate::record::Kind;

/// The most records without a checkpoint.
pub const RECORDS: u64 = 1_000;
/// The longest time that a record has no checkpoint.
pub const LONGEST: Span = Span::seconds(60);

/// The records since the last checkpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unsigned {
    count: u64,
    oldest: Option<Timestamp>,
    urgent: bool,
}

impl Unsigned {
    /// Counts the records found when a log was opened. Their age is unknown, so they are due with
    /// the next record.
    pub fn found(count: u64) -> Self {
        Self { count, oldest: (count > 0).then(Timestamp::default), urgent: false }
    }

    pub fn note(&mut self, kind: Kind, time: Timestamp) {
        self.count += 1;
        self.oldest.get_or_insert(time);
        self.urgent |= kind.is_signed_at_once();
    }

    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub fn is_due(&self, now: Timestamp) -> bool {
        self.urgent || self.count >= RECORDS || self.oldest.is_some_and(|oldest| now.since(oldest) >= LONGEST)
    }

    /// Returns when a checkpoint is due if nothing more is written. A caller asks for one then.
    pub fn due_at(&self) -> Option<Timestamp> {
        self.oldest.map(|oldest| oldest + LONGEST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Timestamp {
        Timestamp::default() + Span::seconds(seconds)
    }

    #[test]
    fn an_idle_log_needs_no_checkpoint() {
        assert!(!Unsigned::default().is_due(at(1_000_000)));
        assert_eq!(Unsigned::found(0).due_at(), None);
    }

    #[test]
    fn records_are_signed_after_a_minute_or_a_thousand() {
        let mut unsigned = Unsigned::default();
        unsigned.note(Kind::Plan, at(100));
        assert!(!unsigned.is_due(at(159)));
        assert!(unsigned.is_due(at(160)));
        for _ in 1..RECORDS {
            unsigned.note(Kind::Plan, at(100));
        }
        assert!(unsigned.is_due(at(100)));
    }

    #[test]
    fn a_person_s_decision_is_signed_at_once() {
        for kind in [Kind::Approval, Kind::Override, Kind::AccessChanged, Kind::KeyRotated, Kind::LedgerGap] {
            let mut unsigned = Unsigned::default();
            unsigned.note(kind, at(5));
            assert!(unsigned.is_due(at(5)), "{kind:?}");
        }
    }
}
