//! The metrics of the agent.
//!
//! - This file has the meters: counters and histograms that `interpreter/measured.rs` derives from
//!   the events and effects of the engine, which does not know them. They are atomic numbers.
//! - [`durations`]: the histogram.
//! - [`exposition`]: the text. Everything that can be read from the present state (apps by state, the
//!   age of stores, the ledger) is no meter, and is read when the text is requested.
//!
//! No label has an app, a resource, a person, a commit or a path as its value. So the length of the
//! text does not depend on the number of apps.

mod durations;
pub(crate) mod exposition;

use std::collections::BTreeMap;
use std::ops::Index;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use setpoint_core::name::{StoreName, TargetIdentity};

pub use durations::Durations;

/// The kind of an effect, as far as it takes time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// Reading the head of a store.
    Poll,
    Render,
    Observe,
    /// Asking a target whether it would accept an object.
    Preview,
    Execute,
    /// Finding out the outcome of a change.
    Settle,
    /// Asking a target for the writers of drift.
    Attribute,
    Notify,
    /// Recording in the ledger.
    Record,
}

impl Call {
    pub(crate) const ALL: [Self; 9] = [
        Self::Poll,
        Self::Render,
        Self::Observe,
        Self::Preview,
        Self::Execute,
        Self::Settle,
        Self::Attribute,
        Self::Notify,
        Self::Record,
    ];

    /// Reports whether calls of this kind wait for a permit.
    const fn waits(self) -> bool {
        !matches!(self, Self::Attribute | Self::Record)
    }

    const fn word(self) -> &'static str {
        match self {
            Self::Poll => "poll",
            Self::Render => "render",
            Self::Observe => "observe",
            Self::Preview => "preview",
            Self::Execute => "execute",
            Self::Settle => "settle",
            Self::Attribute => "attribute",
            Self::Notify => "notify",
            Self::Record => "record",
        }
    }
}

/// One value for each kind of call.
#[derive(Debug, Default)]
pub struct OfCalls<T>([T; Call::ALL.len()]);

impl<T> Index<Call> for OfCalls<T> {
    type Output = T;

    fn index(&self, call: Call) -> &T {
        &self.0[call as usize]
    }
}

/// A number that only grows.
#[derive(Debug, Default)]
pub struct Count(AtomicU64);

impl Count {
    pub fn add(&self, number: u64) {
        self.0.fetch_add(number, Ordering::Relaxed);
    }

    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// The outcomes of polls or changes, by store or target. A store or target that is new takes a
/// lock; all others are counted next to readers.
#[derive(Debug)]
pub struct Outcomes<S, const N: usize>(RwLock<BTreeMap<S, Arc<[Count; N]>>>);

impl<S, const N: usize> Default for Outcomes<S, N> {
    fn default() -> Self {
        Self(RwLock::default())
    }
}

impl<S: Clone + Ord, const N: usize> Outcomes<S, N> {
    pub fn of(&self, subject: &S) -> Arc<[Count; N]> {
        if let Some(counts) = self.known(subject) {
            return counts;
        }
        let mut all = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let new = || Arc::new([const { Count(AtomicU64::new(0)) }; N]);
        Arc::clone(all.entry(subject.clone()).or_insert_with(new))
    }

    fn known(&self, subject: &S) -> Option<Arc<[Count; N]>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).get(subject).cloned()
    }

    /// Returns the present numbers of a subject.
    fn numbers(&self, subject: &S) -> [u64; N] {
        self.known(subject).map_or([0; N], |counts| counts.each_ref().map(Count::get))
    }
}

/// The outcomes of a step of a plan.
pub const STEP_OUTCOMES: [&str; 3] = ["done", "refused", "unknown"];
/// The outcomes of a poll.
pub const POLL_OUTCOMES: [&str; 2] = ["answered", "failed"];

/// Everything that is counted and measured while the engine runs.
#[derive(Debug, Default)]
pub struct Meters {
    /// From a new version in a store to the record that accepts it, or refuses it.
    pub accepted: Durations,
    pub refused: Durations,
    /// From the acceptance of a version to the first convergence at it.
    pub converged: Durations,
    /// From the observation of drift to its correction.
    pub healed: Durations,
    /// One step of the engine, with its decisions.
    pub steps: Durations,
    /// From the request of an effect to its result, with the wait for a permit.
    pub calls: OfCalls<Durations>,
    /// The waits for a permit.
    pub waits: OfCalls<Durations>,
    /// The effects that were requested, and those that have a result or were given up.
    pub begun: OfCalls<Count>,
    pub ended: OfCalls<Count>,
    pub versions_accepted: Count,
    pub versions_refused: Count,
    /// Objects.
    pub drift_observed: Count,
    pub drift_healed: Count,
    pub drift_over: Count,
    pub notes_delivered: Count,
    pub notes_undelivered: Count,
    /// In the order of [`STEP_OUTCOMES`].
    pub changes: Outcomes<TargetIdentity, 3>,
    /// In the order of [`POLL_OUTCOMES`].
    pub polls: Outcomes<StoreName, 2>,
}
