//! The [`Store`] trait: where versions live, and how one of them is read without a checkout.
//!
//! Reading order: [`contract`] (what the engine may ask of a store), [`error`] (what can go wrong,
//! by what to do about it), [`path`] and [`tree`] (one version, read by path), [`reads`] (what a
//! render read, listed and missed: the rule by which an app is skipped), [`objects`] (folders and
//! files by id, and the one way they become a tree), [`inspect`] (what no version may contain),
//! [`memory`] (the store of the simulator and of tests).
//!
//! No crate that speaks to a real store is linked here: the simulator depends on this one.

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
