//! The integration tests of `setpoint-kustomize`, as one binary.

mod builds;
mod corpus;
