//! The integration tests of `setpoint-documents`, as one binary.

mod access;
mod bad_input;
mod labels;
mod messages;
mod providers;
mod reading;
mod reference;
mod resources;
mod targets;
