//! The data folder: locked by one process, readable by one user.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use setpoint_ledger::checkpoint::PublicKey;

use crate::options::OpenError;

/// A data folder that is ours until this is dropped.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    /// Dropping the file releases the lock, as does the end of the process, however it ends.
    _lock: File,
}

impl Folder {
    pub(crate) fn take(path: &Path) -> Result<Self, OpenError> {
        let failed = |source| OpenError::Folder { path: path.to_owned(), source };
        DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(failed)?;
        let lock = private_file(&path.join("lock")).map_err(failed)?;
        // A folder whose name is lost with the power takes everything in it along.
        path.parent().map_or(Ok(()), sync_folder).map_err(failed)?;
        match lock.try_lock() {
            Ok(()) => Ok(Self { path: path.to_owned(), _lock: lock }),
            Err(TryLockError::WouldBlock) => Err(OpenError::InUse { path: path.to_owned() }),
            Err(TryLockError::Error(source)) => Err(failed(source)),
        }
    }

    /// The path of a database, made for this user only. SQLite gives its side files the same rights.
    pub(crate) fn database(&self, name: &str) -> Result<PathBuf, OpenError> {
        let path = self.path.join(name);
        let failed = |source| OpenError::Folder { path: path.clone(), source };
        private_file(&path).map_err(failed)?;
        sync_folder(&self.path).map_err(failed)?;
        Ok(path)
    }
}

/// Where the public keys of a data folder are, one to a line, the one that signs now first.
const KEYS: &str = "ledger.keys";

impl Folder {
    /// Writes down who signs here, so that a new user can be told. Whole or not at all: it is renamed into place.
    pub(crate) fn write_keys(&self, keys: &[PublicKey]) -> Result<(), OpenError> {
        let path = self.path.join(KEYS);
        let failed = |source| OpenError::Folder { path: path.clone(), source };
        let text: String = keys.iter().map(|key| key.to_text() + "\n").collect();
        if fs::read(&path).is_ok_and(|written| written == text.as_bytes()) {
            return Ok(());
        }
        let next = path.with_extension("keys.next");
        let mut file = private_file(&next).map_err(failed)?;
        file.set_len(0).and_then(|()| file.write_all(text.as_bytes())).map_err(failed)?;
        file.sync_all().and_then(|()| fs::rename(&next, &path)).map_err(failed)?;
        sync_folder(&self.path).map_err(failed)
    }
}

fn sync_folder(path: &Path) -> io::Result<()> {
    let here = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    File::open(here)?.sync_all()
}

/// Opens or makes a file that only this user can read.
pub(crate) fn private_file(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().create(true).truncate(false).read(true).write(true).mode(0o600).open(path)?;
    // A file from elsewhere, a restored copy for example, may have come with wider rights.
    if file.metadata()?.permissions().mode() & 0o077 != 0 {
        fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_data_folder_belongs_to_one_at_a_time() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("data");
        let first = Folder::take(&path).unwrap();
        assert!(matches!(Folder::take(&path), Err(OpenError::InUse { .. })));
        drop(first);
        assert!(Folder::take(&path).is_ok());
    }

    #[test]
    fn its_files_are_for_one_user_only() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("data");
        fs::create_dir(&path).unwrap();
        fs::write(path.join("ledger.db"), b"").unwrap();
        let file = Folder::take(&path).unwrap().database("ledger.db").unwrap();
        assert_eq!(fs::metadata(file).unwrap().permissions().mode() & 0o777, 0o600);
    }
}
