//! The [`Target`] trait, the conformance suite every target passes, and the in-memory target.
//!
//! Reading order: [`contract`] (the operations of a target and the guarantees for crash recovery),
//! [`showing`] (the views for people), [`memory`] (the target of the simulator and of tests). The
//! suite is `conformance`, behind the feature of that name.

#[cfg(feature = "conformance")]
pub mod conformance;
pub mod contract;
pub mod memory;
pub mod showing;

pub use contract::{
    Answer, Asker, Capabilities, Fence, Granularity, Hint, Outcome, Priority, Refusal, RefusalClass, Settlement,
    Sightings, Target, Unidentifiable, Unwatched, Wanted, Work,
};
pub use memory::{MemoryOptions, MemoryTarget, MemoryWorld};
pub use showing::{LogPart, LogQuestion, LogReader, Requests, Tally, Tree, TreeObject, Unwell};
