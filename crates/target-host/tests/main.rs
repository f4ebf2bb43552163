//! The host target passes the suite every target passes, and keeps its promises on real files,
//! under real and injected faults.

#![expect(clippy::unwrap_used, reason = "a test that cannot set its scene fails where it stands")]

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
