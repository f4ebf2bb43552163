//! Tests the Kubernetes target and its documents: by the suite for every target; against a real API server, under
//! real and injected faults; and, to the exact request, against an in-memory API server.

#![expect(clippy::unwrap_used, reason = "a test that cannot set its scene fails where it stands")]

mod audit_webhook;
mod documents;
mod envtest;
mod in_memory;
