//! The integration tests of `setpoint-oidc`, as one binary: real HTTP on this machine, with an issuer
//! that responds and signs as a test says.

mod availability;
mod flow;
mod issuer;
mod scene;
mod tokens;
