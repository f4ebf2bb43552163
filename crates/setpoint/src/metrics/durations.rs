//! A histogram of durations that is written without a lock: the engine must never wait for a reader
//! of the metrics.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use prometheus_client::encoding::{MetricEncoder, NoLabelSet};

/// The upper bounds of the buckets, in seconds: from a step of the engine to a deadline of an app.
const BOUNDS: [f64; 16] =
    [0.000_1, 0.001, 0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 900.0, 3_600.0];

/// A histogram of durations.
#[derive(Debug, Default)]
pub struct Durations {
    /// The number of durations in each bucket; the last one has no bound.
    counts: [AtomicU64; BOUNDS.len() + 1],
    /// The sum of all durations. It suffices for half a million years.
    microseconds: AtomicU64,
}

impl Durations {
    pub fn observe(&self, duration: Duration) {
        let seconds = duration.as_secs_f64();
        let bucket = BOUNDS.partition_point(|bound| *bound < seconds);
        self.counts[bucket].fetch_add(1, Ordering::Relaxed);
        let microseconds = u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
        self.microseconds.fetch_add(microseconds, Ordering::Relaxed);
    }

    /// Returns the sum of all durations.
    pub fn sum(&self) -> Duration {
        Duration::from_micros(self.microseconds.load(Ordering::Relaxed))
    }

    /// Encodes the histogram. A duration that arrives meanwhile may be missing in the sum.
    pub(super) fn encode(&self, encoder: &mut MetricEncoder<'_>) -> fmt::Result {
        let counts = self.counts.each_ref().map(|count| count.load(Ordering::Relaxed));
        let bounds = BOUNDS.into_iter().chain([f64::INFINITY]);
        let buckets: Vec<(f64, u64)> = bounds.zip(counts).collect();
        encoder.encode_histogram::<NoLabelSet>(self.sum().as_secs_f64(), counts.iter().sum(), &buckets, None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_counted_in_the_first_bucket_that_contains_it() {
        let durations = Durations::default();
        for milliseconds in [0, 1_000, 1_001, 10_000_000] {
            durations.observe(Duration::from_millis(milliseconds));
        }
        let counts: Vec<u64> = durations.counts.iter().map(|count| count.load(Ordering::Relaxed)).collect();
        assert_eq!(counts, [1, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 1]);
        assert_eq!(durations.sum(), Duration::from_millis(10_002_001));
    }
}
