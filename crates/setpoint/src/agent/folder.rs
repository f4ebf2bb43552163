//! The data directory of an installation: its identity, and the paths of its parts.

use std::error::Error;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use setpoint_core::digest::DigestKey;
use setpoint_ledger::checkpoint::Signer;
use setpoint_ledger::origin::BadOrigin;
use setpoint_ledger::{LedgerError, Origin};

use crate::doors;

/// The directory with the state of an installation, both durable and disposable.
#[derive(Clone, Debug)]
pub struct DataFolder {
    path: PathBuf,
}

/// The identity of an installation. Created once; without it the ledger can no longer be signed.
#[derive(Debug)]
pub struct Installation {
    pub origin: Origin,
    pub signer: Signer,
    /// The key of digests of secrets, so that a shown digest cannot be used to test guesses.
    pub digest_key: DigestKey,
}

/// The reason why a data directory cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    #[error("{} cannot be used: check that it exists, has room and belongs to this user", path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error("{} is damaged: restore it from a copy; without it the ledger cannot be signed", path.display())]
    Damaged { path: PathBuf, source: serde_json::Error },
    #[error(
        "{} holds no installation: set its data directory with `--data`; if it was lost, start over with `setpoint recover`",
        path.display()
    )]
    NotInstalled { path: PathBuf },
    #[error("{} names no valid log: restore it from a copy", path.display())]
    Origin { path: PathBuf, source: BadOrigin },
    #[error("another process created an installation in {} at the same time: start this one again", path.display())]
    Taken { path: PathBuf },
}

/// The serialised identity.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Written {
    origin: String,
    signing_key: [u8; 32],
    digest_key: [u8; 32],
}

impl Written {
    fn installation(&self, path: &Path) -> Result<Installation, FolderError> {
        let damaged = |source| FolderError::Origin { path: path.to_owned(), source };
        let origin = Origin::new(&self.origin).map_err(damaged)?;
        let signer = Signer::new(origin.clone(), &self.signing_key);
        Ok(Installation { origin, signer, digest_key: DigestKey::new(self.digest_key) })
    }
}

/// An identity that has not been written yet.
pub(super) struct NewInstallation(Written);

const INSTALLATION: &str = "installation.json";
/// More bytes than the auxiliary files of an open database need.
const PROBE: usize = 64 << 10;

impl DataFolder {
    /// Creates the directory, for this user only, if it does not exist.
    pub fn open(path: &Path) -> Result<Self, FolderError> {
        let failed = |source| FolderError::Io { path: path.to_owned(), source };
        DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(failed)?;
        Ok(Self { path: path.to_owned() })
    }

    /// Opens a directory that already has an installation. Creates nothing.
    pub fn existing(path: &Path) -> Result<Self, FolderError> {
        let folder = Self { path: path.to_owned() };
        if folder.is_installed() { Ok(folder) } else { Err(FolderError::NotInstalled { path: path.to_owned() }) }
    }

    /// Checks that the disk has space for opening a ledger.
    pub fn try_writing(&self) -> Result<(), FolderError> {
        let path = self.path.join("probe");
        let written = || {
            let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&path)?;
            file.write_all(&[0; PROBE])?;
            file.sync_all()
        };
        let tried = written();
        // Even half of it takes space. If it cannot be removed, the next attempt overwrites it.
        let _ = fs::remove_file(&path);
        tried.map_err(|source| FolderError::Io { path, source })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn socket(&self) -> PathBuf {
        self.path.join("agent.sock")
    }

    /// The copies of stores: disposable.
    pub fn stores(&self) -> PathBuf {
        self.path.join("stores")
    }

    /// The cached renders: disposable.
    pub fn renders(&self) -> PathBuf {
        self.path.join("renders")
    }

    /// The versions that external renderers read: disposable.
    pub fn trees(&self) -> PathBuf {
        self.path.join("trees")
    }

    /// The differences found by shadow renderers: disposable.
    pub fn shadows(&self) -> PathBuf {
        self.path.join("shadows")
    }

    /// Reports whether an installation was ever created here.
    pub fn is_installed(&self) -> bool {
        self.path.join(INSTALLATION).exists()
    }

    /// Reads the identity of this installation.
    pub fn installation(&self) -> Result<Installation, FolderError> {
        let path = self.path.join(INSTALLATION);
        let written: Written = match fs::read(&path) {
            Ok(bytes) => {
                serde_json::from_slice(&bytes).map_err(|source| FolderError::Damaged { path: path.clone(), source })?
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(FolderError::NotInstalled { path: self.path.clone() });
            }
            Err(source) => return Err(FolderError::Io { path, source }),
        };
        written.installation(&path)
    }

    /// Fails if this installation is no longer in the directory: it was removed, and perhaps
    /// another one created in its place.
    pub(super) fn refuse_unless_of(&self, origin: &Origin) -> Result<(), Box<dyn Error + Send + Sync>> {
        let removed = || LedgerError::Removed { path: self.path.join(INSTALLATION) };
        match self.installation() {
            Ok(installation) if installation.origin == *origin => Ok(()),
            Ok(_) | Err(FolderError::NotInstalled { .. }) => Err(Box::new(removed())),
            Err(error) => Err(Box::new(error)),
        }
    }

    /// Reads the identity of this installation, or generates a new one that is still to be written.
    /// Must be called by the process that holds the lock of the directory.
    pub(super) fn installation_or_new(&self) -> Result<(Installation, Option<NewInstallation>), FolderError> {
        match self.installation() {
            Err(FolderError::NotInstalled { .. }) => {
                let path = self.path.join(INSTALLATION);
                let written = drawn().map_err(|source| FolderError::Io { path: path.clone(), source })?;
                Ok((written.installation(&path)?, Some(NewInstallation(written))))
            }
            installed => installed.map(|installation| (installation, None)),
        }
    }

    /// Writes an identity, completely or not at all, and never over another one: a torn or replaced
    /// identity is a lost installation. Must be called after the ledger was created, so that an
    /// identity without a ledger always means that the ledger was lost.
    pub(super) fn install(&self, NewInstallation(written): &NewInstallation) -> Result<(), FolderError> {
        let path = self.path.join(INSTALLATION);
        let next = self.path.join("installation.json.next");
        let publish = || {
            match fs::remove_file(&next) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
            // A new file: an existing one may be a hard link to an identity.
            let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&next)?;
            file.write_all(&serde_json::to_vec(written)?)?;
            file.sync_all()?;
            // Unlike a rename, a link replaces nothing.
            fs::hard_link(&next, &path)?;
            fs::remove_file(&next)?;
            File::open(&self.path)?.sync_all()
        };
        publish().map_err(|source| match source.kind() {
            io::ErrorKind::AlreadyExists => FolderError::Taken { path: self.path.clone() },
            _ => FolderError::Io { path: path.clone(), source },
        })
    }
}

fn drawn() -> io::Result<Written> {
    let name: [u8; 8] = doors::random()?;
    let name: String = name.iter().map(|byte| format!("{byte:02x}")).collect();
    let origin = format!("setpoint.dev/installation/{name}");
    Ok(Written { origin, signing_key: doors::random()?, digest_key: doors::random()? })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn installed(folder: &DataFolder) -> Installation {
        let (installation, new) = folder.installation_or_new().unwrap();
        folder.install(&new.expect("nothing is installed yet")).unwrap();
        installation
    }

    #[test]
    fn an_installation_stays_the_same_and_is_for_its_user_only() {
        let parent = tempfile::tempdir().unwrap();
        let folder = DataFolder::open(&parent.path().join("data")).unwrap();
        assert!(!folder.is_installed());
        let first = installed(&folder);
        let again = DataFolder::open(folder.path()).unwrap().installation().unwrap();
        assert_eq!(first.origin, again.origin);
        assert_eq!(first.signer.public(), again.signer.public());
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(folder.path()), 0o700);
        assert_eq!(mode(&folder.path().join(INSTALLATION)), 0o600);
    }

    #[test]
    fn an_installation_is_never_replaced_by_another_one() {
        let parent = tempfile::tempdir().unwrap();
        let folder = DataFolder::open(parent.path()).unwrap();
        // As if the lock had excluded no other process.
        let (_, late) = folder.installation_or_new().unwrap();
        let first = installed(&folder);
        assert!(matches!(folder.install(&late.unwrap()), Err(FolderError::Taken { .. })));
        assert_eq!(folder.installation().unwrap().origin, first.origin);
    }

    #[test]
    fn a_damaged_installation_is_an_error_and_not_a_new_one() {
        let parent = tempfile::tempdir().unwrap();
        let folder = DataFolder::open(parent.path()).unwrap();
        fs::write(folder.path().join(INSTALLATION), "{").unwrap();
        assert!(matches!(folder.installation_or_new(), Err(FolderError::Damaged { .. })));
    }
}
