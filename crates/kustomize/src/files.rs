//! Files that a kustomization names. They come from a tree that is never left; paths are from its root.

use std::sync::Arc;

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
    #[error(
        "security; file '{path}' is not in or below '{folder}', which is the tree of this app: move it into the tree"
    )]
    OutOfTree { path: String, folder: String },
    #[error("security; file '{path}' is not in or below '{folder}': move it there, or lift the load restriction")]
    Restricted { path: String, folder: String },
    #[error("`{path}` is at another place than this tree: put a copy of it into the tree")]
    Remote { path: String },
    #[error("`{path}` cannot be read: {reason}")]
    Unreadable { path: String, reason: String },
}

/// The folder of a kustomization, from which it names files.
#[derive(Clone, Copy)]
pub struct Folder<'f> {
    pub files: &'f dyn Files,
    /// From the root of the tree; empty for the root itself.
    pub path: &'f str,
    /// Only what is in it or below may be read.
    pub is_restricted: bool,
}

impl std::fmt::Debug for Folder<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Folder").field("path", &self.path).field("is_restricted", &self.is_restricted).finish()
    }
}

impl Folder<'_> {
    /// What a file holds that is named from this folder.
    pub fn read(&self, path: &str) -> Result<Arc<[u8]>, FileError> {
        let full = self.resolve(path)?;
        let is_below = self.path.is_empty() || full.strip_prefix(self.path).is_some_and(|rest| rest.starts_with('/'));
        if self.is_restricted && !is_below {
            return Err(FileError::Restricted { path: path.to_owned(), folder: self.path.to_owned() });
        }
        self.files.read(&full)
    }

    /// A path from here as one from the root of the tree.
    pub fn resolve(&self, path: &str) -> Result<String, FileError> {
        let lower = path.to_ascii_lowercase();
        if lower.starts_with("http://") || lower.starts_with("https://") {
            return Err(FileError::Remote { path: path.to_owned() });
        }
        let out_of_tree = || FileError::OutOfTree { path: path.to_owned(), folder: self.path.to_owned() };
        if path.starts_with('/') {
            return Err(out_of_tree());
        }
        let mut full = Vec::new();
        for part in self.path.split('/').chain(path.split('/')) {
            match part {
                "" | "." => {}
                ".." => {
                    full.pop().ok_or_else(out_of_tree)?;
                }
                part => full.push(part),
            }
        }
        Ok(full.join("/"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Names;

    impl Files for Names {
        fn read(&self, path: &str) -> Result<Arc<[u8]>, FileError> {
            Ok(path.as_bytes().into())
        }
    }

    #[test]
    fn paths_are_from_the_folder_and_do_not_leave_the_tree() {
        let folder = Folder { files: &Names, path: "apps/web", is_restricted: false };
        let read = |path| folder.read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        assert_eq!(read("./a//b.txt").as_deref(), Ok("apps/web/a/b.txt"));
        assert_eq!(read("../../c").as_deref(), Ok("c"));
        for path in ["../../../c", "/etc/passwd", "a/../../../../b"] {
            assert!(matches!(read(path), Err(FileError::OutOfTree { .. })), "{path}");
        }
        assert!(matches!(read("https://example.com/a"), Err(FileError::Remote { .. })));
    }

    #[test]
    fn with_the_restriction_nothing_beside_the_folder_is_read() {
        let folder = Folder { files: &Names, path: "apps/web", is_restricted: true };
        assert!(folder.read("x/../a").is_ok());
        for path in ["../other/a", "../webs"] {
            assert!(matches!(folder.read(path), Err(FileError::Restricted { .. })), "{path}");
        }
    }
}
