//! Files that a kustomization names. They come from a tree that is never left; paths are from its
//! root.

use std::sync::Arc;

use crate::folder::{BadPath, without_account};
use crate::limits::{Budget, Exceeded};

/// The files of a tree.
pub trait Files {
    /// What a file holds. The path is from the root of the tree, without `.` and `..` and without a
    /// `/` at its start.
    fn read(&self, path: &str) -> Result<Arc<[u8]>, FileError>;

    /// The path by which a folder is reached without a link. Where there are no links, all paths
    /// are such.
    fn real_folder(&self, path: &str) -> Result<String, FileError> {
        Ok(path.to_owned())
    }

    /// The same of a file. It decides whether a kustomization may read it.
    fn real_file(&self, path: &str) -> Result<String, FileError> {
        Ok(path.to_owned())
    }

    /// A file as people are told of it.
    fn told(&self, path: &str) -> String {
        path.to_owned()
    }

    /// The folder that an URL stands for. Nothing is fetched: what nobody declared is not there.
    fn remote_folder(&self, url: &str) -> Result<RemoteFolder, FileError> {
        Err(BadPath::Remote(url.to_owned()).into())
    }
}

/// A folder of another tree, with paths of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteFolder {
    /// What all paths of that tree begin with: one name.
    pub tree: String,
    /// From the root of that tree.
    pub path: String,
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
    /// An URL that stands for nothing.
    #[error("{0}")]
    Undeclared(String),
    #[error("`{path}` cannot be read: {reason}")]
    Unreadable { path: String, reason: String },
    /// With it, too much was read.
    #[error("limit: `{path}` is one file too many")]
    Limit { path: String, source: Exceeded },
}

impl FileError {
    /// An URL may stand where only files can be named, and is looked for as one.
    fn without_account(self) -> Self {
        match self {
            Self::Missing { path } => Self::Missing { path: without_account(&path) },
            Self::Folder { path } => Self::Folder { path: without_account(&path) },
            Self::Unreadable { path, reason } => Self::Unreadable { path: without_account(&path), reason },
            other => other,
        }
    }
}

/// Files of which a budget is told what was read.
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
