//! The ledger: the append-only, Merkle-hashed record of what was decided and done, and on which
//! observations.
//!
//! Reading order: [`record`] (entries and records, in [`canonical`] bytes), [`merkle`] and
//! [`proof`] (their hashes), [`checkpoint`] and [`anchor`] (the evidence of its past),
//! [`contract`] (the [`Ledger`] trait and the guarantees for crash recovery), [`memory`] (the
//! ledger of the simulator and of tests).
//!
//! This crate holds no database and no async runtime: the simulator links it. The conformance suite
//! that every implementation passes is `conformance`, behind the feature of that name.

pub mod anchor;
pub mod cadence;
pub mod canonical;
pub mod checkpoint;
#[cfg(feature = "conformance")]
pub mod conformance;
pub mod contract;
pub mod error;
pub mod memory;
pub mod merkle;
pub mod origin;
pub mod proof;
pub mod record;
pub mod replay;
pub mod tenure;
pub mod undo;

pub use contract::{
    Answer, Appended, Batch, Body, Erasure, Gap, Head, Lease, LeaseRequest, Ledger, Loaded, Standing, lost_log_entry,
};
pub use error::{Class, LedgerError};
pub use memory::{MemoryLedger, MemoryLog};
pub use origin::Origin;
pub use record::{Entry, Kind, Record};
