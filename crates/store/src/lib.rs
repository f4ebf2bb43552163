//! The [`Store`] trait: a source of versions, each of which is read without a checkout.
//!
//! Reading order: [`contract`] (the operations of a store), [`error`] (its errors, by the reaction
//! they require), [`path`] and [`tree`] (one version, read by path), [`reads`] (the files that a
//! render read, listed and missed: an app is skipped by them), [`objects`] (directories and files
//! by id, and their conversion to a tree), [`inspect`] (content that no version may have),
//! [`memory`] (the store of the simulator and of tests).
//!
//! This crate links no client of a real store: the simulator depends on it.

pub mod contract;
pub mod error;
pub mod inspect;
pub mod memory;
pub mod objects;
pub mod path;
pub mod reads;
pub mod tree;

pub use contract::{Answer, Person, Signature, Store, Trailer, VersionInfo, only_one};
pub use error::StoreError;
pub use inspect::{Inspector, Limits};
pub use memory::{MemoryStore, MemoryTree};
pub use objects::{ObjectTree, Objects};
pub use path::{BadPath, StorePath};
pub use reads::{ReadSet, Recording};
pub use tree::{Blob, Entry, EntryId, EntryKind, Listing, ObjectId, Tree};
