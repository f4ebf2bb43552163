//! Tests the target's requests, and its handling of the responses, with an in-memory API server:
//! fast, and to the exact request.

mod identity;
mod installations;
mod preconditions;
mod reading;
mod scene;
mod settling;
mod streams;
