//! Tests that need the tools of `cargo xtask envtest`.

mod faults;
mod identities;
mod scene;
mod servers;
mod streams;
