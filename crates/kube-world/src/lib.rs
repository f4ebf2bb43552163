//! A Kubernetes API server in memory, for the simulator: one thread, no clock, no randomness; a
//! clone of it is a snapshot.
//!
//! It is written from the server's own rules and shares no code with what it tests. That it answers
//! as the real one does is tested: the same requests, drawn from seeds, go to both
//! (`tests/envtest`).
//!
//! Reading order: [`schema`] (what kinds there are and how their fields merge), `fields` (sets of
//! fields), `merge` (merging and comparing), `managed` (who holds which field), `write` (what a
//! write makes of an object), `stored` (objects and how they are shown), [`Server`] (requests),
//! `cascade` (what goes with what is deleted).

mod cascade;
mod fields;
mod managed;
mod merge;
mod patch;
mod refusal;
mod request;
pub mod schema;
mod server;
mod stored;
mod watch;
mod write;

pub use refusal::Refused;
pub use request::{Method, Request};
pub use server::{Backup, Committed, Place, Reply, Rule, Server};
pub use stored::Stored;
pub use watch::Watch;
