//! Time as a value. Core and engine never read a clock: each event brings its instant.

use std::fmt;
use std::ops::{Add, Sub};

use serde::{Deserialize, Serialize};

/// A length of time in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Span(u64);

impl Span {
    pub const ZERO: Self = Self(0);

    pub const fn millis(n: u64) -> Self {
        Self(n)
    }

    pub const fn seconds(n: u64) -> Self {
        Self(n * 1_000)
    }

    pub const fn minutes(n: u64) -> Self {
        Self(n * 60_000)
    }

    pub const fn hours(n: u64) -> Self {
        Self(n * 3_600_000)
    }

    pub const fn as_millis(self) -> u64 {
        self.0
    }

    /// Returns the span doubled `times` times, at most `most`: the formula of every back-off.
    #[must_use]
    pub fn doubled(self, times: u32, most: Self) -> Self {
        let factor = 1u64.checked_shl(times.min(40)).unwrap_or(u64::MAX);
        Self(self.0.saturating_mul(factor)).min(most)
    }
}

impl Add for Span {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            ms if ms < 1_000 => write!(f, "{ms} ms"),
            ms if ms < 60_000 => write!(f, "{}.{} s", ms / 1_000, ms % 1_000 / 100),
            ms if ms < 3_600_000 => write!(f, "{} min {} s", ms / 60_000, ms % 60_000 / 1_000),
            ms => write!(f, "{} h {} min", ms / 3_600_000, ms % 3_600_000 / 60_000),
        }
    }
}

/// An instant: milliseconds since 1970-01-01 UTC. Read outside of core and engine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(u64);

impl Timestamp {
    pub const fn from_millis(ms: u64) -> Self {
        Self(ms)
    }

    pub const fn as_millis(self) -> u64 {
        self.0
    }

    /// Returns the time since `earlier`; zero if a clock went backwards.
    pub fn since(self, earlier: Self) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Span> for Timestamp {
    type Output = Self;
    fn add(self, span: Span) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

impl Sub<Span> for Timestamp {
    type Output = Self;
    fn sub(self, span: Span) -> Self {
        Self(self.0.saturating_sub(span.0))
    }
}
