//! One process of the engine: a machine, its own clock, and its state.

use setpoint_core::time::Timestamp;
use setpoint_engine::{Machine, Settings};
use setpoint_ledger::Lease;

use crate::accept_plane::AcceptPlane;
use crate::monitor::Shown;

#[derive(Debug)]
pub(crate) struct Instance {
    pub(crate) name: String,
    pub(crate) machine: Machine,
    /// The number of starts: messages to an earlier run are lost.
    pub(crate) life: u32,
    pub(crate) up: bool,
    /// The time in the world until which it is stopped.
    pub(crate) down_until: u64,
    /// The time in the world until which it is paused.
    pub(crate) paused_until: u64,
    /// The difference of its clock from the world's, in milliseconds.
    pub(crate) offset: i64,
    /// The rate of its clock, as a multiple of time, and the start of that rate.
    rate: u64,
    rate_since: u64,
    /// The memory about the accept plane.
    pub(crate) desk: AcceptPlane,
    pub(crate) lease: Option<Lease>,
    /// The times at which its last append arrives, and its last response to one returns.
    pub(crate) append_lane: u64,
    pub(crate) answer_lane: u64,
    /// The status of everything after its last step, if it is compared.
    pub(crate) shown: Shown,
    /// The newest wake-up that it requested, so that older ones are ignored.
    pub(crate) wake: Option<Timestamp>,
}

/// The start of the world's clock, so that another clock can be behind it.
pub(crate) const EPOCH: u64 = 1_000_000_000;

impl Instance {
    pub(crate) fn new(n: usize, settings: Settings) -> Self {
        Self {
            name: format!("instance-{n}"),
            machine: Machine::new(settings),
            life: 0,
            up: false,
            down_until: 0,
            paused_until: 0,
            offset: 0,
            rate: 1,
            rate_since: 0,
            desk: AcceptPlane::default(),
            lease: None,
            append_lane: 0,
            answer_lane: 0,
            shown: Shown::default(),
            wake: None,
        }
    }

    pub(crate) fn clock(&self, now: u64) -> Timestamp {
        let gained = (now - self.rate_since) * (self.rate - 1);
        Timestamp::from_millis((EPOCH + now + gained).saturating_add_signed(self.offset))
    }

    /// Sets the rate of its clock; the time it had gained before is lost.
    pub(crate) fn run_clock(&mut self, rate: u64, now: u64) {
        (self.rate, self.rate_since) = (rate, now);
    }

    /// Returns the duration in the world of a duration by its own clock.
    pub(crate) fn lasts(&self, own: u64) -> u64 {
        own.div_ceil(self.rate)
    }

    /// Returns the time in the world until an instant of its clock.
    pub(crate) fn until(&self, at: Timestamp, now: u64) -> u64 {
        self.lasts(at.since(self.clock(now)).as_millis())
    }
}
