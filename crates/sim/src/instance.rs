//! One process of the engine: a machine, a clock of its own, and whether it is up.

use setpoint_core::time::Timestamp;
use setpoint_engine::{Machine, Settings};
use setpoint_ledger::Lease;

use crate::accept_plane::AcceptPlane;

#[derive(Debug)]
pub(crate) struct Instance {
    pub(crate) name: String,
    pub(crate) machine: Machine,
    /// Counts starts: what was on its way to an earlier life is lost.
    pub(crate) life: u32,
    pub(crate) up: bool,
    /// Somebody stopped it until this instant of the world.
    pub(crate) down_until: u64,
    /// Stands still until this instant of the world.
    pub(crate) paused_until: u64,
    /// Its clock against the world's, in milliseconds.
    pub(crate) offset: i64,
    /// How many times faster than time its clock runs, and since when.
    rate: u64,
    rate_since: u64,
    /// What it remembers of the accept plane.
    pub(crate) desk: AcceptPlane,
    pub(crate) lease: Option<Lease>,
    /// When its last append arrives, and when the last answer to one comes back.
    pub(crate) append_lane: u64,
    pub(crate) answer_lane: u64,
    /// The newest wake-up it asked for, so that older ones are ignored.
    pub(crate) wake: Option<Timestamp>,
}

/// The world's clock starts here, so that a clock can be behind it.
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
            wake: None,
        }
    }

    pub(crate) fn clock(&self, now: u64) -> Timestamp {
        let gained = (now - self.rate_since) * (self.rate - 1);
        Timestamp::from_millis((EPOCH + now + gained).saturating_add_signed(self.offset))
    }

    /// From now on its clock runs so many times faster than time; what it had gained before is
    /// lost.
    pub(crate) fn run_clock(&mut self, rate: u64, now: u64) {
        (self.rate, self.rate_since) = (rate, now);
    }

    /// So much of its own time is how much of the world's.
    pub(crate) fn lasts(&self, own: u64) -> u64 {
        own.div_ceil(self.rate)
    }

    /// How far in the future of the world an instant of its clock is.
    pub(crate) fn until(&self, at: Timestamp, now: u64) -> u64 {
        self.lasts(at.since(self.clock(now)).as_millis())
    }
}
