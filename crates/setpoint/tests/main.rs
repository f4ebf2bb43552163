//! The command line as a user meets it: the built binary, its output and its exit codes.

mod setpoint;
mod usage;
