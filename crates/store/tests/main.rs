//! Tests that read sets are sound, that versions with forbidden content are refused, and that the
//! store in memory fulfils the contract.

mod inspecting;
mod memory;
mod reads;
