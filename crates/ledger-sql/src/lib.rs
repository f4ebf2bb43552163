//! The ledger in SQLite: one process, one data directory, one writer.
//!
//! Reading order: `options` (the configuration), `folder` and `schema` (the files and tables),
//! `opening` (opens a log of millions without reading it), `writer` (group commit: many appends,
//! one sync), `writing`, `fact_rows` and `script` (the statements of one append), `anchoring` and
//! `memory` (checkpoints outside the database), `reading`, `ledger` (the trait), `scratch`
//! (disposable data).
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
