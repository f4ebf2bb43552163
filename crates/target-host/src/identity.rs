//! The identity of this machine: its hashed machine ID and the root directory.
//!
//! The machine ID itself is never shown: its manual requires that applications use it only in a
//! form specific to them. A target with a root of its own is a different target, and becomes a
//! different one again when another directory takes the place of that root.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::io::Errno;
use setpoint_core::digest::Digest;
use setpoint_core::name::TargetIdentity;

use crate::resolve::Root;
use crate::stamp::Stamp;

/// Makes the hash specific to Setpoint: other applications get another hash from the same machine
/// ID.
const APPLICATION: &str = "setpoint.dev/target-host/1";

/// The word that begins the identities of hosts.
pub(crate) const FAMILY: &str = "host";

/// The name of the generated ID, in the data directory.
const GENERATED: &str = "host-id";

/// The reason why a machine has no identity.
#[derive(Debug, thiserror::Error)]
pub enum NoIdentity {
    #[error("the root {} cannot be opened: create the directory, or correct `root`", place.display())]
    Root { place: PathBuf, source: io::Error },
    #[error("the machine ID {} cannot be read: allow the agent to read it", place.display())]
    MachineId { place: PathBuf, source: io::Error },
    #[error("no machine ID found, and {} cannot store a generated one: create one with `systemd-machine-id-setup`", place.display())]
    Generated { place: PathBuf, source: io::Error },
}

/// The sources of the identity.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    pub(crate) machine_id: PathBuf,
    pub(crate) data: PathBuf,
    /// The directory that all paths are relative to; `None` for the whole host.
    pub(crate) root: Option<PathBuf>,
}

impl Source {
    /// Opens the root and determines the identity of the machine. All work on the returned root
    /// happens on that machine.
    pub(crate) fn open(&self) -> Result<(Root, TargetIdentity), NoIdentity> {
        let place = self.root.as_deref().unwrap_or(Path::new("/"));
        let failed = |errno: Errno| NoIdentity::Root { place: place.to_owned(), source: errno.into() };
        let root = Root::open(place).map_err(failed)?;
        let mut text = format!("{APPLICATION}\n{}\n", self.machine()?);
        if self.root.is_some() {
            let stamp = Stamp::of_open(root.fd()).map_err(failed)?;
            text.push_str(&stamp.incarnation());
        }
        let identity = format!("{FAMILY}-{}", &Digest::of(text.as_bytes()).to_string()[..32]);
        Ok((root, TargetIdentity::new(&identity).expect("hex digits are an identity")))
    }

    fn machine(&self) -> Result<String, NoIdentity> {
        match fs::read_to_string(&self.machine_id) {
            Ok(text) if is_machine_id(text.trim()) => Ok(text.trim().to_owned()),
            // Empty or `uninitialized`: the machine has no ID yet.
            Ok(_) => self.generated(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => self.generated(),
            Err(source) => Err(NoIdentity::MachineId { place: self.machine_id.clone(), source }),
        }
    }

    fn generated(&self) -> Result<String, NoIdentity> {
        let place = self.data.join(GENERATED);
        let kept = match fs::read_to_string(&place) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => generate(&self.data, &place),
            kept => kept,
        };
        match kept {
            Ok(text) if is_machine_id(text.trim()) => Ok(text.trim().to_owned()),
            Ok(_) => Err(NoIdentity::Generated { place, source: io::ErrorKind::InvalidData.into() }),
            Err(source) => Err(NoIdentity::Generated { place, source }),
        }
    }
}

fn is_machine_id(text: &str) -> bool {
    text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit()) && text.bytes().any(|byte| byte != b'0')
}

/// Generates an ID and stores it for good: under a temporary name first, made durable, and only
/// then under its final name.
#[expect(clippy::disallowed_methods, reason = "the door: an id that no other machine has")]
fn generate(folder: &Path, place: &Path) -> io::Result<String> {
    let mut random = [0; 16];
    getrandom::fill(&mut random).map_err(|error| io::Error::other(error.to_string()))?;
    let text = data_encoding::HEXLOWER.encode(&random);
    let beside = folder.join(format!("{GENERATED}.{text}"));
    let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&beside)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    // A link, not a rename: if two processes generate an ID at once, the second adopts that of the
    // first.
    let linked = fs::hard_link(&beside, place);
    fs::remove_file(&beside)?;
    fs::File::open(folder)?.sync_all()?;
    match linked {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => fs::read_to_string(place),
        linked => linked.map(|()| text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(folder: &Path) -> Source {
        Source { machine_id: folder.join("machine-id"), data: folder.to_owned(), root: None }
    }

    fn identity(source: &Source) -> String {
        source.open().unwrap().1.to_string()
    }

    #[test]
    fn a_machine_is_known_by_a_hash_of_its_id() {
        let folder = tempfile::tempdir().unwrap();
        let id = "0123456789abcdef0123456789abcdef";
        fs::write(folder.path().join("machine-id"), format!("{id}\n")).unwrap();
        let source = source(folder.path());
        let first = identity(&source);
        assert_eq!(identity(&source), first);
        assert!(!first.contains(id) && !first.contains(&Digest::of(id.as_bytes()).to_string()[..32]));
        let rooted = Source { root: Some(folder.path().to_owned()), ..source.clone() };
        assert_ne!(identity(&rooted), first);
    }

    #[test]
    fn a_machine_without_an_id_is_given_one_for_good() {
        let folder = tempfile::tempdir().unwrap();
        let source = source(folder.path());
        fs::write(&source.machine_id, "uninitialized\n").unwrap();
        let first = identity(&source);
        assert_eq!(identity(&source), first);
        let left: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left.len(), 2, "{left:?}");
    }

    #[test]
    fn an_id_that_cannot_be_read_is_an_error_and_not_another_machine() {
        let folder = tempfile::tempdir().unwrap();
        let source = source(folder.path());
        fs::create_dir(&source.machine_id).unwrap();
        assert!(matches!(source.open(), Err(NoIdentity::MachineId { .. })));
    }

    #[test]
    fn an_id_of_zeros_is_none() {
        assert!(is_machine_id("0123456789abcdef0123456789abcdef"));
        assert!(is_machine_id(&"1".repeat(32)));
        assert!(!is_machine_id(&"0".repeat(32)));
    }
}
