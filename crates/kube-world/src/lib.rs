//! An in-memory Kubernetes API server for the simulator: one thread, no clock, no randomness. A
//! clone is a snapshot.
//!
//! It is written from the API server's own rules and shares no code with the crates it tests.
//! `tests/envtest` checks that it responds as the real server does: both get the same requests,
//! drawn from seeds.
//!
//! Reading order: [`schema`] (the kinds and how their fields merge), `fields` (sets of fields),
//! `merge` (merging and comparing), `managed` (managers and their fields), `write` (the effect of a
//! write on an object), `stored` (objects and their rendering), [`Server`] (requests), `cascade`
//! (cascading deletes).

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
