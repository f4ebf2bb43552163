//! One version of a store, read by path and without a checkout.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::error::StoreError;
use crate::path::StorePath;

/// The store's name of one immutable file or directory. Opaque; within one store, equal ids mean
/// equal content.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ObjectId(Arc<str>);

impl ObjectId {
    pub fn new(text: &str) -> Self {
        Self(Arc::from(text))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A file's content.
#[derive(Clone, PartialEq, Eq)]
pub struct Blob {
    pub id: ObjectId,
    pub bytes: Arc<[u8]>,
}

impl fmt::Debug for Blob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Content may be secret and is long, so only its id is shown.
        write!(f, "Blob({}, {} bytes)", self.id, self.bytes.len())
    }
}

/// The kind of an entry in a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EntryKind {
    File,
    Executable,
    Symlink,
    Directory,
    /// Another repository at this place. Its content is not part of this store.
    Submodule,
}

impl EntryKind {
    /// Reports whether it has content that can be read.
    pub fn is_file(self) -> bool {
        matches!(self, Self::File | Self::Executable)
    }
}

/// One entry of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub name: Arc<str>,
    pub kind: EntryKind,
    pub id: ObjectId,
}

/// A directory: its entries, sorted by name. Links are not resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listing {
    /// Covers the names, kinds and ids of everything below, at any depth.
    pub id: ObjectId,
    pub entries: Arc<[Entry]>,
}

impl Listing {
    pub fn get(&self, name: &str) -> Option<&Entry> {
        let at = self.entries.binary_search_by(|entry| entry.name.as_ref().cmp(name)).ok()?;
        self.entries.get(at)
    }
}

/// The entry that a path leads to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EntryId {
    pub kind: EntryKind,
    pub id: ObjectId,
}

/// One version of a store.
///
/// The version never changes: equal queries have equal results for as long as the tree lives.
/// Symbolic links are followed within the tree. `None` is a statement: the entry certainly does not
/// exist. A query that cannot be decided is an error.
pub trait Tree: Send + Sync + fmt::Debug {
    /// Returns the file at a path; `None` if there is no entry or it is not a file.
    fn read(&self, path: &StorePath) -> Result<Option<Blob>, StoreError>;

    /// Returns the directory at a path; `None` if there is no entry or it is not a directory.
    fn list(&self, path: &StorePath) -> Result<Option<Listing>, StoreError>;

    /// Returns the entry that a path leads to, without reading its bytes.
    fn id_at(&self, path: &StorePath) -> Result<Option<EntryId>, StoreError>;

    /// Returns the path without links to the same entry; `None` if there is none.
    fn real_path(&self, path: &StorePath) -> Result<Option<StorePath>, StoreError>;
}
