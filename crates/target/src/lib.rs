//! The [`Target`] trait, the [`Family`] of a target, the conformance suite every target passes, and
//! the in-memory target.
//!
//! Reading order: [`contract`] (the operations of a target and the guarantees for crash recovery),
//! [`family`] (everything in which one kind of target differs from another), [`connection`] and
//! [`cache`] (how an agent connects to it), [`kinds`] (its resources, for the accept plane),
//! [`showing`] (the views for people), [`memory`] (the target of the simulator and of tests). The
//! suite is `conformance`, behind the feature of that name.

pub mod cache;
#[cfg(feature = "conformance")]
pub mod conformance;
pub mod connection;
pub mod contract;
pub mod family;
pub mod kinds;
pub mod memory;
pub mod showing;

pub use cache::{Cache, CacheChanges, CacheError, CachedBytes, NoCache, ProcessCache};
pub use connection::{Agent, Connection, Task};
pub use contract::{
    Answer, Asker, Capabilities, Fence, Granularity, Hint, Outcome, Priority, Refusal, RefusalClass, Settlement,
    Sightings, Target, Unidentifiable, Unwatched, Wanted, Work,
};
pub use family::{Bounds, Effects, Families, Family, LentIdentities, NotConnected, PathCheck, PathError, Protection};
pub use kinds::{Kinds, after_implied};
pub use memory::{MemoryFamily, MemoryOptions, MemoryTarget, MemoryWorld};
pub use showing::{LogPart, LogQuestion, LogReader, Tally, Tree, TreeObject, Unwell};
