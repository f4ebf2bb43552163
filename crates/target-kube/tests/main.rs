//! The Kubernetes target passes the suite every target passes, and keeps its promises against a
//! real API server, under real and injected faults; and to the exact request, against an API server
//! in memory.

#![expect(clippy::unwrap_used, reason = "a test that cannot set its scene fails where it stands")]

mod audit_webhook;
mod envtest;
mod in_memory;
