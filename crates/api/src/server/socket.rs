//! The socket file: created in a private directory, and moved to its path with its permissions
//! already set.

use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::net::{UnixListener, UnixStream};

/// After an error of `accept` (too many open files), the next attempt is delayed, to avoid a busy
/// loop.
const PAUSE: Duration = Duration::from_millis(100);

/// The kernel's limit on the path of a socket, without its final zero byte.
const LONGEST_PATH: usize = 107;

/// The reason why the socket cannot be created.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    #[error("another agent is running at {}: stop it first, or use another data directory", socket.display())]
    Taken { socket: PathBuf },
    #[error("{} is not a socket and is not replaced: move it away", socket.display())]
    NotASocket { socket: PathBuf },
    #[error(
        "the path of the socket {} is {} bytes long, more than the {LONGEST_PATH} the system allows: use a data directory with a shorter path",
        socket.display(),
        socket.as_os_str().len()
    )]
    TooLong { socket: PathBuf },
    #[error("cannot create the socket {}: check that the data directory exists and is writable", socket.display())]
    Unusable { socket: PathBuf, source: io::Error },
}

/// A bound socket. Dropping it removes the file, unless another socket has replaced it.
#[derive(Debug)]
pub(super) struct Socket {
    listener: UnixListener,
    path: PathBuf,
    inode: u64,
    owner: u32,
}

impl Socket {
    pub(super) async fn bind(path: &Path) -> Result<Self, BindError> {
        vacate(path).await?;
        let unusable = |source| BindError::Unusable { socket: path.to_owned(), source };
        let (listener, metadata) = make(path).map_err(|error| match error.kind() {
            io::ErrorKind::InvalidInput => BindError::TooLong { socket: path.to_owned() },
            _ => unusable(error),
        })?;
        Ok(Self { listener, path: path.to_owned(), inode: metadata.ino(), owner: metadata.uid() })
    }

    /// The uid that owns the socket.
    pub(super) fn owner(&self) -> u32 {
        self.owner
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "a pause between two tries of the kernel, in a loop that has no events to wait for"
    )]
    pub(super) async fn accept(&self) -> UnixStream {
        loop {
            match self.listener.accept().await {
                Ok((stream, _)) => return stream,
                Err(_) => tokio::time::sleep(PAUSE).await,
            }
        }
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        let ours = fs::symlink_metadata(&self.path).is_ok_and(|metadata| metadata.ino() == self.inode);
        if ours {
            // A file that cannot be removed is replaced by the next agent, which finds it dead.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Checks that `path` holds no live socket and no other kind of file.
async fn vacate(path: &Path) -> Result<(), BindError> {
    let unusable = |source| BindError::Unusable { socket: path.to_owned(), source };
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(unusable(error)),
        Ok(metadata) if !metadata.file_type().is_socket() => {
            return Err(BindError::NotASocket { socket: path.to_owned() });
        }
        Ok(_) => {}
    }
    match UnixStream::connect(path).await {
        Ok(_) => Err(BindError::Taken { socket: path.to_owned() }),
        // The rename replaces it.
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => Ok(()),
        Err(error) => Err(unusable(error)),
    }
}

/// Binds in a directory that only this user may enter, sets the mode there, and moves the socket
/// out: no other user can connect at any moment. The process's umask would have the same effect,
/// but for every thread at once.
fn make(path: &Path) -> io::Result<(UnixListener, fs::Metadata)> {
    // Shorter than the name of the socket, so that its path fits if the final one does.
    let nursery = path.with_file_name(".new");
    match fs::remove_dir_all(&nursery) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => DirBuilder::new().mode(0o700).create(&nursery)?,
    }
    let born = nursery.join("s");
    if path.as_os_str().len() > LONGEST_PATH {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let listener = UnixListener::bind(&born)?;
    fs::set_permissions(&born, Permissions::from_mode(0o600))?;
    let metadata = fs::symlink_metadata(&born)?;
    fs::rename(&born, path)?;
    fs::remove_dir(&nursery)?;
    Ok((listener, metadata))
}
