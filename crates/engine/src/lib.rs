//! The engine: a state machine without I/O. [`Machine::step`] takes an event and returns the
//! effects to carry out.
//!
//! Nothing in here is async, reads a clock, draws a random number or depends on the order of a hash
//! map. Production and simulator differ only in the code that carries out the [`Effect`]s. So the
//! properties that the simulator proves hold in production.

pub mod accept;
pub mod controls;
pub mod effect;
pub mod event;
pub mod machine;

pub use controls::{AppControl, Controls, Mode, OnFailure, Settings, StoreControl, TargetControl};
pub use effect::{Declined, Effect, Note, NoteKind, Ticket};
pub use event::{Command, Event, LONGEST_REASON, LONGEST_SUSPENSION, Order, OrderId, RenderOutcome, Statement};
pub use machine::{BundleCache, Machine};
