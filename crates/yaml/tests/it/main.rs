//! The integration tests of `setpoint-yaml`, as one binary.

mod bad_input;
mod go_written;
mod go_yaml;
mod messages;
mod reading;
mod scalars;
