//! The door through which benches read the clock.

use std::hint::black_box;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use setpoint_core::time::Timestamp;

/// How long the work takes when nothing disturbs it: the shortest of several runs, after one that
/// warms the caches.
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

/// What the work answers and how long it took, done once: for work that changes what it works on.
#[expect(clippy::disallowed_methods, reason = "the one door of benches to the clock")]
pub fn time<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let start = Instant::now();
    let answer = black_box(work());
    (answer, start.elapsed())
}

/// A running measurement of something that is waited for.
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

/// The time of day, for what is compared with records.
pub fn wall() -> Timestamp {
    Timestamp::from_millis(u64::try_from(since_epoch().as_millis()).unwrap_or(u64::MAX))
}

/// The same, finer than records know it.
#[expect(clippy::disallowed_methods, reason = "the one door of benches to the clock")]
pub fn since_epoch() -> Duration {
    // A machine that believes to live before 1970 measures nothing sensible anyway.
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
