//! The interpreter: executes the effects of the machine and reports their results to it. Thin and
//! async.
//!
//! No decision is made here. Every branch about *what* to do belongs to
//! [`setpoint_engine::Machine`], where the simulator proves it. This module adds order, bounds and
//! time:
//!
//! | file | purpose |
//! | --- | --- |
//! | [`environment`] | the interfaces to the outside: ledger, targets, sources, messenger |
//! | [`worker`], [`ledger_queue`] | requests to the ledger start and complete in order; concurrent ones share a sync |
//! | [`executor`] | calls to targets, stores and notifiers, each with a permit and a timeout |
//! | [`event_loop`] | the loop: one event, one step, its effects; one timer; the graceful stop |
//! | [`recorded`], [`changes`], [`contacts`] | the log: decisions, results of changes, systems that fail |
//! | [`measured`] | the metrics, from the events and effects that pass through the loop |
//! | [`handle`] | the interface for the rest of the process |

mod changes;
mod contacts;
mod environment;
mod event_loop;
mod executor;
mod handle;
mod ledger_queue;
mod measured;
mod recorded;
mod worker;

use std::sync::Arc;

use setpoint_engine::Settings;
use tokio::sync::{mpsc, watch};

pub use environment::{Environment, Governed, Limits, Messenger, OpenLedger, Opening, Rendering, Sources, Targets};
use event_loop::{EventLoop, Pulse};
pub use handle::{AppNow, Ended, Handle, PORTION, Renewed, Steps, StopError};

/// Starts to hold apps. Needs a runtime of tokio with time.
#[expect(clippy::disallowed_methods, reason = "the door: one task for the loop, every other task is counted by it")]
pub fn start(surroundings: Environment, settings: Settings, limits: Limits) -> Handle {
    let (messages, inbox) = mpsc::channel(limits.events);
    let (pulse, felt) = watch::channel(Pulse::default());
    let surroundings = Arc::new(surroundings);
    let conductor = EventLoop::new(&surroundings, settings, limits, messages.clone(), pulse);
    Handle::new(messages, felt, tokio::spawn(conductor.run(inbox)))
}
