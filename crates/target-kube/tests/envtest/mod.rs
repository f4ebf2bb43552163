//! Everything that needs a real API server.

mod acting;
mod conforming;
mod connecting;
mod drifting;
mod faults;
mod resting;
mod scene;
mod sharing;
