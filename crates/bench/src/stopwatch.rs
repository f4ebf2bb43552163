//! The door through which benches read the clock.

use std::hint::black_box;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use setpoint_core::time::Timestamp;

/// Returns the duration of the work without disturbance: the shortest of several runs, after one
/// that warms the caches.
#[expect(clippy::disallowed_methods, reason = "the one door of benches to the clock")]
pub fn shortest_of<T>(runs: u32, mut work: impl FnMut() -> T) -> Duration {
    black_box(work());
    let timed = (0..runs.max(1)).map(|_| {
        let start = Instant::now();
        black_box(work());
        start.elapsed()
    });
    timed.min().expect("there is at least one run")
}

/// Returns the result of the work and its duration, from one run: for work that changes its input.
#[expect(clippy::disallowed_methods, reason = "the one door of benches to the clock")]
pub fn time<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let start = Instant::now();
    let answer = black_box(work());
    (answer, start.elapsed())
}

/// A running measurement of a wait.
#[derive(Debug, Clone, Copy)]
pub struct Stopwatch(Instant);

impl Stopwatch {
    #[expect(clippy::disallowed_methods, reason = "the one door of benches to the clock")]
    pub fn start() -> Self {
        Self(Instant::now())
    }

    pub fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }
}

/// Returns the time of day, to compare it with records.
pub fn wall() -> Timestamp {
    Timestamp::from_millis(u64::try_from(since_epoch().as_millis()).unwrap_or(u64::MAX))
}

/// Returns the same, with a finer resolution than that of records.
#[expect(clippy::disallowed_methods, reason = "the one door of benches to the clock")]
pub fn since_epoch() -> Duration {
    // A machine whose clock is before 1970 measures nothing useful anyway.
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_work_is_done_once_to_warm_up_and_once_per_run() {
        let mut runs = 0;
        shortest_of(3, || runs += 1);
        assert_eq!(runs, 4);
    }

    #[test]
    fn work_that_is_timed_once_is_done_once_and_answers() {
        let (answer, taken) = time(|| 7);
        assert_eq!(answer, 7);
        assert!(taken < Duration::from_secs(60));
    }
}
