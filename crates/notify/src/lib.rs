//! Telling people: messages to webhooks, grouped, and each delivered once to everyone who is to
//! have it.
//!
//! Reading order: [`message`] (what is said), `form` (how each kind of webhook wants it),
//! [`notifier`] (one receiver), [`courier`] (who brings messages to all of them). Trying again is
//! the engine's: a message that not every notifier took is handed in again.

pub mod courier;
mod form;
pub mod message;
pub mod notifier;

pub use courier::{Courier, Limits, Tested};
pub use message::Message;
pub use notifier::{DeliveryProblem, Notifier, Trouble};
