//! Files that a kustomization names. They come from a tree that is never left; paths are from its root.

use std::sync::Arc;

use crate::folder::BadPath;

/// The files of a tree.
pub trait Files {
    /// What a file holds. The path is from the root of the tree, without `.` and `..` and without a `/` at its start.
    fn read(&self, path: &str) -> Result<Arc<[u8]>, FileError>;
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FileError {
    #[error("`{path}` is not there: add the file, or correct its name")]
    Missing { path: String },
    #[error("`{path}` is a folder: name a file in it")]
    Folder { path: String },
    /// It leads nowhere.
    #[error(transparent)]
    Path(#[from] BadPath),
    #[error("`{path}` cannot be read: {reason}")]
    Unreadable { path: String, reason: String },
}
