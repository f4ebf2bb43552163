//! The integration tests of the SQLite ledger, in one binary.

mod conformance;
mod disk;
mod disk_truth;
mod doubt;
mod group_commit;
mod remembering;
mod scene;
mod scratch;
mod story;
mod tampering;
mod verifying;
