//! The data directory: locked by one process, readable by one user.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use setpoint_ledger::LedgerError;
use setpoint_ledger::checkpoint::PublicKey;

use crate::options::OpenError;

/// A lock on a data directory, released when dropped.
#[derive(Debug)]
pub struct DirectoryLock {
    path: PathBuf,
    /// The lock file. Dropping it releases the lock, as does any end of the process.
    lock: File,
}

/// How often a lock on a directory in use is retried, and the pause before each retry.
const TRIES: u32 = 25;
const PAUSE: Duration = Duration::from_millis(20);

impl DirectoryLock {
    /// Locks the data directory, and creates it if it is missing. A process that released it a
    /// moment ago may have been starting a child, which holds all files of its parent open until
    /// its own program begins. The call waits only for that.
    #[expect(
        clippy::disallowed_methods,
        reason = "a lock that another process holds gives no event when it is released"
    )]
    pub async fn take(path: &Path) -> Result<Self, OpenError> {
        for _ in 0..TRIES {
            match Self::try_take(path) {
                Err(OpenError::InUse { .. }) => tokio::time::sleep(PAUSE).await,
                taken => return taken,
            }
        }
        Self::try_take(path)
    }

    fn try_take(path: &Path) -> Result<Self, OpenError> {
        let failed = |source| OpenError::Folder { path: path.to_owned(), source };
        DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(failed)?;
        let name = path.join(LOCK);
        let lock = private_file(&name).map_err(failed)?;
        // A directory whose name is lost in a power failure takes all its files with it.
        path.parent().map_or(Ok(()), sync_folder).map_err(failed)?;
        match lock.try_lock() {
            // The lock of a file that was removed in the meantime excludes no one.
            Ok(()) if !Seal::of(&name, &lock).and_then(|seal| seal.is_intact()).map_err(failed)? => {
                Err(OpenError::InUse { path: path.to_owned() })
            }
            Ok(()) => Ok(Self { path: path.to_owned(), lock }),
            Err(TryLockError::WouldBlock) => Err(OpenError::InUse { path: path.to_owned() }),
            Err(TryLockError::Error(source)) => Err(failed(source)),
        }
    }

    /// Returns the path of the locked directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns a check that lock and database are still the files under their names.
    pub(crate) fn presence(&self, database: &Path) -> io::Result<Presence> {
        let database = Seal::of(database, &File::open(database)?)?;
        Ok(Presence { seals: [Seal::of(&self.path.join(LOCK), &self.lock)?, database] })
    }

    /// Returns the path of a database, created for this user only. SQLite gives its side files the
    /// same permissions.
    pub(crate) fn database(&self, name: &str) -> Result<PathBuf, OpenError> {
        let path = self.path.join(name);
        let failed = |source| OpenError::Folder { path: path.clone(), source };
        private_file(&path).map_err(failed)?;
        sync_folder(&self.path).map_err(failed)?;
        Ok(path)
    }
}

/// The identity of a file when it was opened.
#[derive(Clone, Debug)]
struct Seal {
    path: PathBuf,
    device: u64,
    inode: u64,
}

impl Seal {
    fn of(path: &Path, open: &File) -> io::Result<Self> {
        let metadata = open.metadata()?;
        Ok(Self { path: path.to_owned(), device: metadata.dev(), inode: metadata.ino() })
    }

    /// Reports whether the name still leads to the file. An error means that this is unknown.
    fn is_intact(&self) -> io::Result<bool> {
        match fs::metadata(&self.path) {
            Ok(metadata) => Ok((metadata.dev(), metadata.ino()) == (self.device, self.inode)),
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// The lock and the database of an open ledger. A process holds both open after their names are
/// removed, and would record into files that no one can find again, while a second process starts
/// at the same path.
#[derive(Clone, Debug)]
pub(crate) struct Presence {
    seals: [Seal; 2],
}

impl Presence {
    pub(crate) fn check(&self) -> Result<(), LedgerError> {
        for seal in &self.seals {
            let path = seal.path.clone();
            match seal.is_intact() {
                Ok(true) => {}
                Ok(false) => return Err(LedgerError::Removed { path }),
                Err(error) => {
                    return Err(LedgerError::not_durable(format!("{} cannot be checked", path.display()), error));
                }
            }
        }
        Ok(())
    }
}

const LOCK: &str = "lock";

/// The file with the public keys of a data directory, one per line, the current one first.
const KEYS: &str = "ledger.keys";

impl DirectoryLock {
    /// Writes the public keys to a file, so that new users can get them. The file is complete or
    /// absent: it is renamed into place.
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

/// Opens or creates a file that only this user can read.
pub(crate) fn private_file(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().create(true).truncate(false).read(true).write(true).mode(0o600).open(path)?;
    // A file from elsewhere, for example a restored copy, may have wider permissions.
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
        let first = DirectoryLock::try_take(&path).unwrap();
        assert!(matches!(DirectoryLock::try_take(&path), Err(OpenError::InUse { .. })));
        drop(first);
        assert!(DirectoryLock::try_take(&path).is_ok());
    }

    #[test]
    fn its_files_are_for_one_user_only() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("data");
        fs::create_dir(&path).unwrap();
        fs::write(path.join("ledger.db"), b"").unwrap();
        let file = DirectoryLock::try_take(&path).unwrap().database("ledger.db").unwrap();
        assert_eq!(fs::metadata(file).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn a_lock_or_database_that_was_removed_replaced_or_moved_is_noticed() {
        let parent = tempfile::tempdir().unwrap();
        let (path, moved) = (parent.path().join("data"), parent.path().join("moved"));
        let lock = DirectoryLock::try_take(&path).unwrap();
        let database = lock.database("ledger.db").unwrap();
        let presence = lock.presence(&database).unwrap();
        presence.check().unwrap();
        let removed = |presence: &Presence| matches!(presence.check(), Err(LedgerError::Removed { .. }));
        fs::rename(&path, &moved).unwrap();
        assert!(removed(&presence), "the directory was moved");
        let second = DirectoryLock::try_take(&path).unwrap();
        assert!(removed(&presence), "another process has taken its place");
        drop(second);
        fs::remove_dir_all(&path).unwrap();
        fs::rename(&moved, &path).unwrap();
        presence.check().unwrap();
        for name in [LOCK, "ledger.db"] {
            let presence = lock.presence(&database).unwrap();
            fs::rename(path.join(name), path.join("former")).unwrap();
            fs::copy(path.join("former"), path.join(name)).unwrap();
            assert!(removed(&presence), "{name} was replaced");
            fs::rename(path.join("former"), path.join(name)).unwrap();
            presence.check().unwrap();
        }
    }
}
