//! Read sets are sound, versions that hold what none may are refused, and the store in memory keeps
//! the contract.

mod inspecting;
mod memory;
mod reads;
