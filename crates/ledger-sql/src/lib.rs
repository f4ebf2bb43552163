//! The ledger in SQLite: one process, one data folder, one writer.
//!
//! Reading order: `options` (what is configured), `folder` and `schema` (what is on disk),
//! `opening` (how a log of millions is opened without reading it), `writer` (group commit: many
//! appends, one sync), `writing`, `fact_rows` and `script` (what one append does to the tables),
//! `anchoring` and `memory` (checkpoints kept outside of the database), `reading`, `ledger` (the
//! trait), `scratch` (what may be lost).
//!
//! SQLite runs in WAL mode and syncs every commit: with less, a committed transaction can vanish on
//! loss of power.

mod anchoring;
mod columns;
mod fact_rows;
mod folder;
mod ledger;
mod memory;
mod opening;
mod options;
mod reading;
mod schema;
mod scratch;
mod script;
mod state;
#[cfg(feature = "workload")]
pub mod workload;
mod writer;
mod writing;

pub use folder::DirectoryLock;
pub use ledger::SqlLedger;
pub use memory::path_in as remembered_in;
pub use options::{OpenError, Options};
pub use scratch::{Scratch, ScratchError};
