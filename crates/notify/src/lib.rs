//! Notifies people: sends messages to webhooks, grouped, and each once to every notifier.
//!
//! Reading order: [`message`] (a message), `form` (the body for each kind of webhook), [`notifier`]
//! (one receiver), [`courier`] (delivery to all of them). The engine does the retries: it submits a
//! message again if a notifier did not accept it.

pub mod courier;
mod form;
pub mod message;
pub mod notifier;

pub use courier::{Courier, Limits, Tested};
pub use message::Message;
pub use notifier::{DeliveryProblem, Notifier, Trouble};
