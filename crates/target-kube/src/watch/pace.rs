//! The pace of a stream: how long it waits after a connection before it makes the next one.
//!
//! Servers end their streams every half an hour or so, and restart now and then: a stream that has
//! ended is opened again within half a second. But a server, or a proxy before it, may end every
//! stream at once, and opening one costs several requests. So each connection in a row that did not
//! last doubles the wait, as each failure does.

use setpoint_core::digest::Digest;
use setpoint_core::time::{Span, Timestamp};

/// The longest wait after the first short connection, or the first failure.
const FIRST_WAIT: Span = Span::millis(500);
/// The longest wait after failures.
const LONGEST_WAIT: Span = Span::minutes(1);
/// The longest wait after short connections. It is shorter than that after failures, because such
/// a server does report changes.
const LONGEST_BRIEF_WAIT: Span = Span::seconds(8);
/// The shortest time after which a connection counts as one that lasted.
const LASTING: Span = Span::seconds(10);

/// The pace of one stream.
#[derive(Debug)]
pub(super) struct Pace {
    /// A text that no other stream has: not all streams wait equally long.
    stream: String,
    /// The time at which the present connection was opened.
    opened: Option<Timestamp>,
    /// The number of connections in a row that were opened and did not last.
    brief: u32,
    /// The number of failures since the stream made progress.
    failures: u32,
}

impl Pace {
    pub(super) fn new(stream: String) -> Self {
        Self { stream, opened: None, brief: 0, failures: 0 }
    }

    /// Notes that a connection was opened.
    pub(super) fn open(&mut self, now: Timestamp) {
        self.opened = Some(now);
    }

    /// Notes that the stream has made progress, or that an outage has ended: the next failure is
    /// the first.
    pub(super) fn forget_failures(&mut self) {
        self.failures = 0;
    }

    pub(super) fn failures(&self) -> u32 {
        self.failures
    }

    /// Ends a connection in good order. Returns the wait before the next one: zero if none was
    /// opened.
    pub(super) fn end(&mut self, now: Timestamp) -> Span {
        let wait = self.brief_wait(now);
        self.spread(wait)
    }

    /// Ends a connection, or the try to open one, with a failure. Returns the wait before the next
    /// one.
    pub(super) fn fail(&mut self, now: Timestamp) -> Span {
        let wait = FIRST_WAIT.doubled(self.failures, LONGEST_WAIT).max(self.brief_wait(now));
        self.failures += 1;
        self.spread(wait)
    }

    /// Returns the wait that the length of the connection requires.
    fn brief_wait(&mut self, now: Timestamp) -> Span {
        let Some(opened) = self.opened.take() else { return Span::ZERO };
        if now.since(opened) >= LASTING {
            self.brief = 0;
            return FIRST_WAIT;
        }
        let wait = FIRST_WAIT.doubled(self.brief, LONGEST_BRIEF_WAIT);
        self.brief += 1;
        wait
    }

    /// Returns between half of a wait and the whole of it, not the same for every stream.
    fn spread(&self, wait: Span) -> Span {
        let seed = format!("{}/{}/{}", self.stream, self.brief, self.failures);
        let digest = Digest::of(seed.as_bytes()).to_string();
        let share = u64::from_str_radix(&digest[..4], 16).unwrap_or_default();
        Span::millis(wait.as_millis() / 2 + wait.as_millis() / 2 * share / 0xffff)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Timestamp = Timestamp::from_millis(1_795_000_000_000);

    fn pace() -> Pace {
        Pace::new("one/ConfigMap/".to_owned())
    }

    /// Ends a connection that lasted this long, and returns the wait.
    fn connected_for(pace: &mut Pace, lasted: Span) -> Span {
        pace.open(START);
        pace.end(START + lasted)
    }

    /// Asserts that each wait is this long, or up to half as long because not all streams wait
    /// equally long.
    fn assert_about(waits: &[Span], longest: &[u64]) {
        let is_about = |(wait, longest): (&Span, &u64)| (longest / 2..=*longest).contains(&wait.as_millis());
        assert!(waits.len() == longest.len() && waits.iter().zip(longest).all(is_about), "{waits:?}, not {longest:?}");
    }

    #[test]
    fn the_wait_is_longer_after_each_connection_that_does_not_last() {
        let mut pace = pace();
        let waits: Vec<_> = (0..7).map(|_| connected_for(&mut pace, Span::seconds(9))).collect();
        assert_about(&waits, &[500, 1_000, 2_000, 4_000, 8_000, 8_000, 8_000]);
    }

    #[test]
    fn a_connection_that_lasts_is_followed_by_the_shortest_wait_and_so_is_the_next_short_one() {
        let mut pace = pace();
        let spans = [1, 1, 1, 10, 1_800, 1, 1].map(Span::seconds);
        let waits: Vec<_> = spans.into_iter().map(|lasted| connected_for(&mut pace, lasted)).collect();
        assert_about(&waits, &[500, 1_000, 2_000, 500, 500, 500, 1_000]);
    }

    #[test]
    fn progress_does_not_hasten_a_stream_whose_connections_do_not_last() {
        let mut pace = pace();
        let waits: Vec<_> = (0..4)
            .map(|_| {
                pace.open(START);
                pace.forget_failures();
                pace.fail(START + Span::millis(5))
            })
            .collect();
        assert_about(&waits, &[500, 1_000, 2_000, 4_000]);
        assert_eq!(pace.failures(), 1);
    }

    #[test]
    fn a_connection_that_was_never_opened_is_neither_short_nor_long() {
        let mut pace = pace();
        assert_eq!(pace.end(START), Span::ZERO);
        connected_for(&mut pace, Span::seconds(1));
        let waits: Vec<_> = (0..8).map(|_| pace.fail(START)).collect();
        assert_about(&waits, &[500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000]);
        assert_about(&[connected_for(&mut pace, Span::seconds(1))], &[1_000]);
    }

    #[test]
    fn streams_that_end_together_are_not_opened_together() {
        let waits: std::collections::BTreeSet<_> = ["a", "b", "c", "d"]
            .map(|stream| Pace::new(stream.to_owned()))
            .iter_mut()
            .map(|pace| pace.fail(START))
            .collect();
        assert!(waits.len() > 2, "{waits:?}");
    }
}
