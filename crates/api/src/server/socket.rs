//! The socket in the file system: made where nobody else can reach it, moved into place with its
//! rights already right.

use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::net::{UnixListener, UnixStream};

/// After an error of `accept` (too many open files) the next try comes a little later, not at once
/// and for ever.
const PAUSE: Duration = Duration::from_millis(100);

/// The kernel's limit on the path of a socket, its final zero not counted.
const LONGEST_PATH: usize = 107;

/// Why the socket cannot be there.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    #[error("an agent is already answering at {}: stop it first, or use another data folder", socket.display())]
    Taken { socket: PathBuf },
    #[error("{} is not a socket and is left alone: move it away", socket.display())]
    NotASocket { socket: PathBuf },
    #[error(
        "the path of the socket {} is {} bytes long, more than the {LONGEST_PATH} the system allows: use a data folder with a shorter path",
        socket.display(),
        socket.as_os_str().len()
    )]
    TooLong { socket: PathBuf },
    #[error("cannot make the socket {}: check that the data folder is there and may be written", socket.display())]
    Unusable { socket: PathBuf, source: io::Error },
}

/// A bound socket. Dropping it removes it, unless another has taken its place.
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
            // What cannot be removed is found dead and replaced by the next agent.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Makes sure that nothing alive and nothing that is not a socket stands at `path`.
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
        // The rename over it takes its place.
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => Ok(()),
        Err(error) => Err(unusable(error)),
    }
}

/// Binds in a folder that only we may enter, sets the mode there, and moves the socket out: at no
/// instant could anyone else connect. The process's umask would do it too, for every thread at
/// once.
fn make(path: &Path) -> io::Result<(UnixListener, fs::Metadata)> {
    // Shorter than the socket's own name, so that a path that fits its place fits here.
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
