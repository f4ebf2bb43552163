//! The 22 classes of false differences that users of other engines report, each on a real server:
//! applied, then ten resyncs with what is remembered, ten without and ten at rest, and no write.
//! Numbers as in docs/false-diffs.md, which says what is done about each.
//!
//! Class 7 (webhooks) stands in `webhooks.rs`; class 14 (templates that are random) needs a
//! renderer that has such.

mod built_in;
mod custom;
mod others;
