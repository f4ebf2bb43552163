//! One process of the engine: a machine, a clock of its own, and whether it is up.

use setpoint_core::time::Timestamp;
use setpoint_engine::{Machine, Settings};
use setpoint_ledger::Lease;

#[derive(Debug)]
pub(crate) struct Instance {
    pub(crate) name: String,
    pub(crate) machine: Machine,
    /// Counts starts: what was on its way to an earlier life is lost.
    pub(crate) life: u32,
    pub(crate) up: bool,
    /// Stands still until this instant of the world.
    pub(crate) paused_until: u64,
    /// Its clock against the world's, in milliseconds.
    pub(crate) offset: i64,
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
            paused_until: 0,
            offset: 0,
            lease: None,
            append_lane: 0,
            answer_lane: 0,
            wake: None,
        }
    }

    pub(crate) fn clock(&self, now: u64) -> Timestamp {
        Timestamp::from_millis((EPOCH + now).saturating_add_signed(self.offset))
    }

    /// How far in the future of the world an instant of its clock is.
    pub(crate) fn until(&self, at: Timestamp, now: u64) -> u64 {
        at.since(self.clock(now)).as_millis()
    }
}
