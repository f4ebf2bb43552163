//! Processor time: of this thread, of this process, and of child processes that have ended.

use std::fs;
use std::time::Duration;

use anyhow::Context;
use rustix::time::{ClockId, clock_gettime};

use crate::percentile::percentile;

/// The kernel's unit for the time of children, in ticks a second: the same wherever Linux runs
/// today.
const TICKS: f64 = 100.0;

fn thread() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap_or_default()
}

/// Returns the time of all threads of this process.
pub(super) fn process() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ProcessCPUTime)).unwrap_or_default()
}

/// Returns the result of the work, and the processor time that this thread took for it.
pub(super) fn time<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let start = thread();
    let answer = std::hint::black_box(work());
    (answer, thread().saturating_sub(start))
}

/// Returns the time of all children that have ended so far, to a hundredth of a second: compare the
/// values before and after many.
pub(super) fn children() -> anyhow::Result<Duration> {
    let stat = fs::read_to_string("/proc/self/stat")?;
    children_in(&stat).context("the kernel tells about a process in another form than expected")
}

fn children_in(stat: &str) -> Option<Duration> {
    // The second field is a name that may contain anything; no parentheses follow it.
    let (_, fields) = stat.rsplit_once(')')?;
    let mut ticks = fields.split_whitespace().skip(13).map(|field| field.parse::<u32>().ok());
    Some(Duration::from_secs_f64(f64::from(ticks.next()?? + ticks.next()??) / TICKS))
}

/// Returns the median in milliseconds.
pub(super) fn median(mut taken: Vec<Duration>) -> f64 {
    taken.sort();
    let millis: Vec<f64> = taken.iter().map(|taken| taken.as_secs_f64() * 1e3).collect();
    percentile(&millis, 50)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_children_is_read_even_if_the_process_has_an_odd_name() {
        let stat = "7 (a) b) S 1 7 7 0 -1 4194304 100 0 0 0 30 12 150 50 20 0 1 0 5 1000 200 18446744073709551615";
        assert_eq!(children_in(stat), Some(Duration::from_secs(2)));
    }

    #[test]
    fn the_median_is_one_that_was_measured() {
        assert_eq!(median([9, 1, 5].map(Duration::from_millis).to_vec()), 5.0);
    }
}
