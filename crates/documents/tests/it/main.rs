//! The integration tests of `setpoint-documents`, as one binary.

mod bad_input;
mod messages;
mod reading;
mod reference;
mod resources;
mod targets;
