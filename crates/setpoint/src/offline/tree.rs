//! A working directory of this machine as a tree, read while it is used. Only `.git` is left out:
//! whether git ignores a file is not known here.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use setpoint_store::{Entry, EntryKind, Inspector, Limits, ObjectId, ObjectTree, Objects, StoreError, Tree};

/// Git's own directory, or the file in its place in a linked worktree.
const GIT: &str = ".git";

/// Opens a directory. It is inspected like a version of a store.
pub(super) fn open(folder: &Path) -> Result<Arc<dyn Tree>, StoreError> {
    let objects = WorkingDirectory { root: folder.to_owned() };
    let root = ObjectId::new("");
    Inspector::new(Limits::default()).inspect(&objects, &root)?;
    Ok(Arc::new(ObjectTree::new(objects, root)))
}

/// Files and directories, identified by their path below the root.
#[derive(Debug)]
struct WorkingDirectory {
    root: PathBuf,
}

impl WorkingDirectory {
    fn at(&self, id: &ObjectId) -> PathBuf {
        self.root.join(id.as_str())
    }

    fn entry(&self, folder: &ObjectId, found: &fs::DirEntry) -> Result<Option<Entry>, StoreError> {
        let name = found.file_name();
        let unread = |error: io::Error| unreadable(&found.path(), &error);
        let Some(name) = name.to_str() else {
            let what = format!("the name of `{}` is not UTF-8", found.path().display());
            return Err(StoreError::refused(what, "rename it"));
        };
        let metadata = found.metadata().map_err(unread)?;
        let kind = match metadata.file_type() {
            _ if name == GIT => return Ok(None),
            kind if kind.is_dir() => EntryKind::Directory,
            kind if kind.is_symlink() => EntryKind::Symlink,
            kind if kind.is_file() && metadata.permissions().mode() & 0o100 != 0 => EntryKind::Executable,
            kind if kind.is_file() => EntryKind::File,
            // Git does not store sockets, pipes and devices.
            _ => return Ok(None),
        };
        let id = match folder.as_str() {
            "" => ObjectId::new(name),
            above => ObjectId::new(&format!("{above}/{name}")),
        };
        Ok(Some(Entry { name: name.into(), kind, id }))
    }
}

impl Objects for WorkingDirectory {
    fn folder(&self, id: &ObjectId) -> Result<Arc<[Entry]>, StoreError> {
        let path = self.at(id);
        let unread = |error: io::Error| unreadable(&path, &error);
        let mut entries = Vec::new();
        for found in fs::read_dir(&path).map_err(unread)? {
            entries.extend(self.entry(id, &found.map_err(unread)?)?);
        }
        entries.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(entries.into())
    }

    fn blob(&self, id: &ObjectId) -> Result<Arc<[u8]>, StoreError> {
        let path = self.at(id);
        let unread = |error: io::Error| unreadable(&path, &error);
        let metadata = fs::symlink_metadata(&path).map_err(unread)?;
        if metadata.file_type().is_symlink() {
            let target = fs::read_link(&path).map_err(unread)?;
            return Ok(Arc::from(target.as_os_str().as_encoded_bytes()));
        }
        let most = Limits::default().file_bytes;
        if metadata.len() > most {
            let what = format!("`{}` has {} bytes, and {most} are allowed", path.display(), metadata.len());
            return Err(StoreError::refused(what, "make it smaller"));
        }
        fs::read(&path).map(Into::into).map_err(unread)
    }
}

fn unreadable(path: &Path, error: &io::Error) -> StoreError {
    StoreError::damaged(format!("cannot read {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use setpoint_store::StorePath;

    use super::*;

    fn path(text: &str) -> StorePath {
        StorePath::new(text).unwrap()
    }

    #[test]
    fn a_directory_reads_like_a_version_without_git_itself() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("apps/web")).unwrap();
        fs::create_dir(folder.path().join(".git")).unwrap();
        fs::write(folder.path().join("apps/web/a.yaml"), "a").unwrap();
        symlink("web/a.yaml", folder.path().join("apps/link")).unwrap();
        let tree = open(folder.path()).unwrap();
        assert_eq!(&*tree.read(&path("apps/web/a.yaml")).unwrap().unwrap().bytes, b"a");
        assert_eq!(&*tree.read(&path("apps/link")).unwrap().unwrap().bytes, b"a");
        assert!(tree.read(&path("apps/none")).unwrap().is_none());
        let names: Vec<_> = tree
            .list(&StorePath::root())
            .unwrap()
            .unwrap()
            .entries
            .iter()
            .map(|entry| entry.name.to_string())
            .collect();
        assert_eq!(names, ["apps"]);
    }

    #[test]
    fn a_link_that_leads_out_of_the_directory_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        symlink("../outside", folder.path().join("link")).unwrap();
        assert!(matches!(open(folder.path()), Err(StoreError::Refused { .. })));
    }

    #[test]
    fn a_directory_that_cannot_be_read_is_an_error_and_not_empty() {
        let folder = tempfile::tempdir().unwrap();
        assert!(open(&folder.path().join("missing")).is_err());
    }
}
