//! The host target passes the suite of all targets, and keeps its promises on real files, with real
//! and injected faults.

#![expect(clippy::unwrap_used, reason = "a test that cannot set its scene fails right there")]

mod batches;
mod bounds;
mod commands;
mod conforming;
mod crashes;
mod declarations;
mod hints;
mod looks;
mod planted;
mod scene;
mod secrets;
mod settling;
mod strangers;
mod unprivileged;
