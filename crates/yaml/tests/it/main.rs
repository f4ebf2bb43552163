//! The integration tests of `setpoint-yaml`, as one binary.

mod bad_input;
mod messages;
mod reading;
