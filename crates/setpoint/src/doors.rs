//! The doors: the one place where the process meets its surroundings.
//!
//! Arguments, standard streams and the clock; the environment and the current folder enter here too once something needs
//! them. Everything else takes what it needs as a parameter, so that tests and the simulator can hand in their own.

use std::ffi::OsString;
use std::io::{self, BufWriter, Write};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use setpoint_core::time::{Span, Timestamp};
use tokio::time::Instant;

/// Nobody waits longer than this in one go. Waking early is harmless, an instant that overflows is not.
const LONGEST_WAIT: Span = Span::hours(24 * 30);

/// The command line, the program's name first.
pub(crate) fn arguments() -> impl Iterator<Item = OsString> {
    std::env::args_os()
}

/// Where results go. Who writes there flushes at the end, and hears of it if that fails.
pub(crate) fn output() -> impl Write + Send {
    BufWriter::new(io::stdout())
}

/// Where goes what a person must know and a pipe must not read.
pub(crate) fn complaints() -> impl Write {
    io::stderr().lock()
}

/// The time of this process: the wall clock when it started, plus the time that has elapsed since. It never runs backwards,
/// so a wall clock that is set back cannot make a lease look longer than it is. Copies agree.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    start: Timestamp,
    started: Instant,
}

impl Clock {
    /// Reads the wall clock, once. A process has one clock: make it first and hand it on.
    #[expect(clippy::disallowed_methods, reason = "the door of the clock")]
    pub fn start() -> Self {
        // A machine that believes to live before 1970 starts at 1970: its time still runs forwards.
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self { start: Timestamp::from_millis(millis(wall)), started: Instant::now() }
    }

    pub fn now(&self) -> Timestamp {
        self.start + Span::millis(millis(self.started.elapsed()))
    }

    /// When `at` will be, for the timers of the runtime; at most a month ahead.
    pub fn instant_of(&self, at: Timestamp) -> Instant {
        let now = self.now();
        let ahead = at.since(now).min(LONGEST_WAIT);
        self.started + duration(now.since(self.start) + ahead)
    }
}

/// A span as the runtime measures it.
pub(crate) fn duration(span: Span) -> Duration {
    Duration::from_millis(span.as_millis())
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_clock_counts_elapsed_time() {
        let clock = Clock::start();
        let before = clock.now();
        tokio::time::advance(Duration::from_millis(1_500)).await;
        assert_eq!(clock.now().since(before), Span::millis(1_500));
    }

    #[tokio::test(start_paused = true)]
    async fn an_instant_is_where_the_clock_says_it_is() {
        let clock = Clock::start();
        let at = clock.now() + Span::seconds(7);
        tokio::time::sleep_until(clock.instant_of(at)).await;
        assert_eq!(clock.now(), at);
    }

    #[tokio::test(start_paused = true)]
    async fn an_instant_beyond_all_times_does_not_overflow() {
        let clock = Clock::start();
        assert!(clock.instant_of(Timestamp::from_millis(u64::MAX)) > Instant::now());
        assert_eq!(clock.instant_of(Timestamp::default()), Instant::now());
    }
}
