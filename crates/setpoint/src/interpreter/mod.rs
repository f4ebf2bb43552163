//! The interpreter: carries out what the machine wants done, and tells it what came of it. Thin and async.
//!
//! No decision is made here. Every branch that is about *what* to do belongs to [`setpoint_engine::Machine`], where the
//! simulator proves it; here are order, bounds and time:
//!
//! | file | what it sees to |
//! | --- | --- |
//! | [`surroundings`] | what the outside must offer: ledger, targets, sources, messenger |
//! | [`lane`], [`desk`] | requests to the ledger begin and are answered in order; those under way share a sync |
//! | [`hands`] | calls to targets, stores and people, each with a turn and an end |
//! | [`conductor`] | the loop: one event, one step, its effects; one timer; the graceful stop |
//! | [`handle`] | what the rest of the process may ask |

mod conductor;
mod desk;
mod handle;
mod hands;
mod lane;
mod surroundings;

use std::sync::Arc;

use setpoint_engine::Settings;
use tokio::sync::{mpsc, watch};

use conductor::{Conductor, Pulse};
pub use handle::{Ended, Handle, Steps, StopError};
pub use surroundings::{Governed, Limits, Messenger, OpenLedger, Opening, Rendering, Sources, Surroundings, Targets};

/// Starts holding apps. Needs a runtime of tokio with time.
#[expect(clippy::disallowed_methods, reason = "the door: one task for the loop, every other task is counted by it")]
pub fn start(surroundings: Surroundings, settings: Settings, limits: Limits) -> Handle {
    let (messages, inbox) = mpsc::channel(limits.events);
    let (pulse, felt) = watch::channel(Pulse::default());
    let surroundings = Arc::new(surroundings);
    let conductor = Conductor::new(&surroundings, settings, limits, messages.clone(), pulse);
    Handle::new(messages, felt, tokio::spawn(conductor.run(inbox)))
}
