//! The integration tests of `setpoint-render-external`, as one binary.

#![expect(clippy::unwrap_used, reason = "a test that cannot set its scene fails where it stands")]

mod envtest;
mod hostile;
mod trial;
