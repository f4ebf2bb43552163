//! Tests the 22 classes of false differences that users of other engines report, each on a real
//! server: one apply, then ten resyncs with records, ten without and ten at rest, and no write.
//! Numbers as in docs/false-diffs.md, which describes the solution of each.
//!
//! Class 7 (webhooks) is in `webhooks.rs`; class 14 (random templates) needs a renderer with such
//! templates.

mod built_in;
mod custom;
mod others;
