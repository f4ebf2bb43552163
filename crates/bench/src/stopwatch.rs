//! The door through which benches read the clock.

use std::hint::black_box;
use std::time::{Duration, Instant};

/// How long the work takes when nothing disturbs it: the shortest of several runs, after one that warms the caches.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_work_is_done_once_to_warm_up_and_once_per_run() {
        let mut runs = 0;
        shortest_of(3, || runs += 1);
        assert_eq!(runs, 4);
    }
}
