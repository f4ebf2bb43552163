//! The files that a kustomization names. They belong to one tree, and no path leaves it; paths are
//! relative to its root.

use std::sync::Arc;

use crate::folder::{BadPath, without_account};
use crate::limits::{Budget, Exceeded};

/// The files of a tree.
pub trait Files {
    /// Returns the content of a file. The path is relative to the root of the tree, without `.` and
    /// `..` and without a `/` at its start.
    fn read(&self, path: &str) -> Result<Arc<[u8]>, FileError>;

    /// Resolves the links in the path of a directory. In a tree without links, this is the path
    /// itself.
    fn real_folder(&self, path: &str) -> Result<String, FileError> {
        Ok(path.to_owned())
    }

    /// Resolves the links in the path of a file. The result decides whether a kustomization may
    /// read the file.
    fn real_file(&self, path: &str) -> Result<String, FileError> {
        Ok(path.to_owned())
    }

    /// Returns the path of a file for messages.
    fn told(&self, path: &str) -> String {
        path.to_owned()
    }

    /// Returns the directory of an URL. Nothing is fetched: an undeclared URL is an error.
    fn remote_folder(&self, url: &str) -> Result<RemoteFolder, FileError> {
        Err(BadPath::Remote(url.to_owned()).into())
    }
}

/// A directory of another tree, with paths of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteFolder {
    /// The first component of all paths of that tree.
    pub tree: String,
    /// Relative to the root of that tree.
    pub path: String,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FileError {
    #[error("`{path}` is not there: add the file, or correct its name")]
    Missing { path: String },
    #[error("`{path}` is a directory: name a file in it")]
    Folder { path: String },
    /// A path that cannot be resolved.
    #[error(transparent)]
    Path(#[from] BadPath),
    /// An URL that is not declared.
    #[error("{0}")]
    Undeclared(String),
    #[error("cannot read `{path}`: {reason}")]
    Unreadable { path: String, reason: String },
    /// Reading this file exceeds the limit.
    #[error("limit: cannot read `{path}`")]
    Limit { path: String, source: Exceeded },
}

impl FileError {
    /// Removes credentials from paths: an URL given in place of a file path is treated as a path.
    fn without_account(self) -> Self {
        match self {
            Self::Missing { path } => Self::Missing { path: without_account(&path) },
            Self::Folder { path } => Self::Folder { path: without_account(&path) },
            Self::Unreadable { path, reason } => Self::Unreadable { path: without_account(&path), reason },
            other => other,
        }
    }
}

/// Files that are counted in a budget when they are read.
pub(crate) struct Counted<'f> {
    pub(crate) files: &'f dyn Files,
    pub(crate) budget: &'f Budget,
}

impl Files for Counted<'_> {
    fn read(&self, path: &str) -> Result<Arc<[u8]>, FileError> {
        let bytes = self.files.read(path).map_err(FileError::without_account)?;
        let counted = self.budget.read(bytes.len());
        counted.map(|()| bytes).map_err(|source| FileError::Limit { path: self.told(path), source })
    }

    fn real_folder(&self, path: &str) -> Result<String, FileError> {
        self.files.real_folder(path).map_err(FileError::without_account)
    }

    fn real_file(&self, path: &str) -> Result<String, FileError> {
        self.files.real_file(path).map_err(FileError::without_account)
    }

    fn told(&self, path: &str) -> String {
        self.files.told(path)
    }

    fn remote_folder(&self, url: &str) -> Result<RemoteFolder, FileError> {
        self.files.remote_folder(url)
    }
}
