//! The program, and the proof that it is the pinned one.
//!
//! A digest of a file proves nothing about the file a moment later. So the bytes are copied into a
//! file in memory, sealed against any change, hashed there, and executed from there: the hashed
//! bytes are the ones that run, every time. For the same reason the program need not be executable
//! on disk.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use data_encoding::HEXLOWER;
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
use sha2::{Digest as _, Sha256};

use crate::elf;
use crate::problem::NotRun;

/// The most bytes of a program; no renderer is larger. An endless file must not fill the memory.
const MOST_BYTES: u64 = 512 << 20;

/// The prefix of the digits.
const SHA256: &str = "sha256:";

/// A program with the digest that pins it.
#[derive(Debug)]
pub struct Pinned {
    /// The sealed copy: it cannot be written, grown, shrunk or unsealed.
    pub(crate) sealed: File,
    digest: String,
}

impl Pinned {
    /// Reads a program and checks its digest: SHA-256 in hexadecimal digits, with or without the
    /// prefix `sha256:`.
    pub fn open(path: &Path, digest: &str) -> Result<Self, NotRun> {
        let expected = digest.strip_prefix(SHA256).unwrap_or(digest).to_ascii_lowercase();
        if HEXLOWER.decode(expected.as_bytes()).map_or(0, |bytes| bytes.len()) != 32 {
            return Err(NotRun::NoDigest { digest: setpoint_yaml::visible_text(digest) });
        }
        Self::checked(path, Some(expected))
    }

    /// Pins a program in its current state, for a person who names it on the command line.
    pub fn as_found(path: &Path) -> Result<Self, NotRun> {
        Self::checked(path, None)
    }

    /// Returns the digest in the form of the documents.
    pub fn digest(&self) -> String {
        format!("{SHA256}{}", self.digest)
    }

    fn checked(path: &Path, expected: Option<String>) -> Result<Self, NotRun> {
        let bytes = read(path).map_err(|source| NotRun::Unreadable { path: PathBuf::from(path), source })?;
        let digest = HEXLOWER.encode(&Sha256::digest(&bytes));
        if let Some(expected) = expected.filter(|expected| *expected != digest) {
            return Err(NotRun::OtherDigest { path: PathBuf::from(path), expected, found: digest });
        }
        if let Some(what) = elf::objection(&bytes) {
            return Err(NotRun::NotStatic { path: PathBuf::from(path), what });
        }
        let sealed = sealed(&bytes).map_err(|source| NotRun::Broken { doing: "seal a copy of", source })?;
        Ok(Self { sealed, digest })
    }
}

/// Reads the bytes of a file. Only a regular file is read, because a pipe could block.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
    }
    let mut bytes = Vec::new();
    File::open(path)?.take(MOST_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("it has more than {MOST_BYTES} bytes")));
    }
    Ok(bytes)
}

/// Creates a sealed file in memory with these bytes. They were hashed before in memory of this
/// process, which no other process writes to.
fn sealed(bytes: &[u8]) -> io::Result<File> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING | MemfdFlags::EXEC;
    let mut file = File::from(memfd_create("renderer", flags)?);
    file.write_all(bytes)?;
    fcntl_add_seals(&file, SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sealed_cannot_be_changed() {
        let mut file = sealed(b"program").unwrap();
        assert!(file.write_all(b"x").is_err());
        assert!(file.set_len(3).is_err());
        assert!(std::fs::write(format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&file)), b"y").is_err());
    }

    #[test]
    fn a_digest_of_another_form_is_refused_before_the_file_is_looked_at() {
        for digest in ["", "sha256:", "abc", "md5:d41d8cd98f00b204e9800998ecf8427e", &"g".repeat(64), &"0".repeat(66)] {
            let refused = Pinned::open(Path::new("/nowhere"), digest);
            assert!(matches!(refused, Err(NotRun::NoDigest { .. })), "{digest}: {refused:?}");
        }
    }

    #[test]
    fn a_folder_a_device_and_nothing_are_unreadable() {
        for path in ["/", "/dev/zero", "/nowhere"] {
            let refused = Pinned::open(Path::new(path), &"0".repeat(64));
            assert!(matches!(refused, Err(NotRun::Unreadable { .. })), "{path}: {refused:?}");
        }
    }
}
