//! Reads the file, directory or link at one name. The result is its state at one instant, or an
//! error.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::io::Errno;
use setpoint_core::digest::{DigestKey, KeyedDigest};
use setpoint_core::name::LiveVersion;
use setpoint_core::observed::UnknownReason;

use crate::declaration::{Content, HostResource};
use crate::disk::{Disk, Folder};
use crate::host::Known;
use crate::resolve::permission_denied;
use crate::stamp::{LARGE, Stamp, Type, content_text, large_text};

/// The number of attempts to read a file that changes meanwhile.
const TRIES: usize = 3;

/// The longest text that is shown in full.
const LONGEST_SHOWN: usize = 64 << 10;

/// The file, directory or link at a name.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) stamp: Stamp,
    pub(crate) held: Held,
    /// The form of its content that goes into its version.
    content: String,
}

/// The content of a file, directory or link.
#[derive(Debug)]
pub(crate) enum Held {
    /// Exactly the declared content.
    Declared,
    /// Other bytes, as text if they can be shown as one.
    Bytes { digest: KeyedDigest, text: Option<Arc<str>> },
    /// More bytes than are read if they cannot be the declared ones.
    Large,
    /// The target of a link.
    Link { target: Vec<u8> },
    /// No content that is compared.
    Nothing,
}

impl Found {
    /// Returns the state of a file that was just written with the declared content.
    pub(crate) fn declared(stamp: Stamp, known: &Known) -> Self {
        let held = match &known.declared {
            HostResource::Symlink(link) => Held::Link { target: link.target.as_bytes().to_vec() },
            HostResource::File(_) => Held::Declared,
            HostResource::Directory(_) | HostResource::Command(_) => Held::Nothing,
        };
        Self { stamp, held, content: known.content.clone() }
    }

    pub(crate) fn version(&self) -> LiveVersion {
        self.stamp.version(&self.content)
    }
}

/// Reads files, with one buffer for all of them.
#[derive(Debug)]
pub(crate) struct Eye<'h> {
    disk: &'h Disk,
    key: &'h DigestKey,
    buffer: Vec<u8>,
}

impl<'h> Eye<'h> {
    pub(crate) fn new(disk: &'h Disk, key: &'h DigestKey) -> Self {
        Self { disk, key, buffer: Vec::new() }
    }

    /// Reads the state of a name in a directory; `None` if it does not exist.
    pub(crate) fn see(
        &mut self,
        folder: &Folder,
        name: &str,
        known: Option<&Known>,
    ) -> Result<Option<Found>, UnknownReason> {
        for _ in 0..TRIES {
            let stamp = match Stamp::at(folder.fd(), name) {
                Ok(stamp) => stamp,
                Err(Errno::NOENT) => return Ok(None),
                Err(errno) => return Err(blindness(folder, name, errno)),
            };
            let found = match stamp.of {
                Type::File => self.read_file(folder, name, stamp, known),
                Type::Symlink => self.read_link(folder, name, stamp),
                Type::Directory | Type::Other => Ok(Some(Found { stamp, held: Held::Nothing, content: String::new() })),
            };
            match found {
                Ok(Some(found)) => return Ok(Some(found)),
                // It changed meanwhile, or its type did: read it again.
                Ok(None) | Err(Errno::NOENT | Errno::LOOP | Errno::INVAL | Errno::ISDIR) => {}
                Err(errno) => return Err(blindness(folder, name, errno)),
            }
        }
        let detail = format!("{} changed while it was read: Setpoint reads it again later", folder.at(name));
        Err(UnknownReason::Partial { detail })
    }

    /// Returns `None` if the file changed while it was read.
    fn read_file(
        &mut self,
        folder: &Folder,
        name: &str,
        stamp: Stamp,
        known: Option<&Known>,
    ) -> Result<Option<Found>, Errno> {
        let declared = known.and_then(|known| match &known.declared {
            HostResource::File(file) => Some(&file.content),
            _ => None,
        });
        let declared_size = declared.and_then(Content::bytes).map(|bytes| bytes.len() as u64);
        let file = self.disk.open(folder, name)?;
        if stamp.size > LARGE && declared_size != Some(stamp.size) {
            return Ok(Some(Found { stamp, held: Held::Large, content: large_text(stamp.size) }));
        }
        self.fill(&file, stamp.size)?;
        if Stamp::of_open(&file)? != stamp || self.buffer.len() as u64 != stamp.size {
            return Ok(None);
        }
        let equal = match declared {
            Some(Content::Sealed(reference)) => self.key.digest(&self.buffer) == reference.digest,
            Some(content) => content.bytes() == Some(&self.buffer),
            None => false,
        };
        if let (true, Some(known)) = (equal, known) {
            return Ok(Some(Found { stamp, held: Held::Declared, content: known.content.clone() }));
        }
        let digest = self.key.digest(&self.buffer);
        let text = (self.buffer.len() <= LONGEST_SHOWN).then(|| std::str::from_utf8(&self.buffer).ok()).flatten();
        let held = Held::Bytes { digest, text: text.map(Arc::from) };
        Ok(Some(Found { stamp, held, content: content_text(self.key, &self.buffer) }))
    }

    /// Reads the whole file, and one more byte if it has grown.
    fn fill(&mut self, file: &OwnedFd, size: u64) -> Result<(), Errno> {
        let size = usize::try_from(size).map_err(|_| Errno::FBIG)?;
        self.buffer.resize(size + 1, 0);
        let mut filled = 0;
        while filled <= size {
            match rustix::io::read(file, &mut self.buffer[filled..]) {
                // The common case needs no second read to find the end: the size is compared
                // afterwards.
                Ok(count) if filled + count == size => {
                    filled = size;
                    break;
                }
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno),
            }
        }
        self.buffer.truncate(filled);
        Ok(())
    }

    fn read_link(&self, folder: &Folder, name: &str, stamp: Stamp) -> Result<Option<Found>, Errno> {
        let target = rustix::fs::readlinkat(folder.fd(), name, Vec::new())?.into_bytes();
        if Stamp::at(folder.fd(), name)? != stamp {
            return Ok(None);
        }
        let content = content_text(self.key, &target);
        Ok(Some(Found { stamp, held: Held::Link { target }, content }))
    }
}

fn blindness(folder: &Folder, name: &str, errno: Errno) -> UnknownReason {
    let path = folder.at(name);
    match errno {
        Errno::ACCESS | Errno::PERM => {
            UnknownReason::Denied { detail: format!("cannot read {path}: {}", permission_denied()) }
        }
        errno => UnknownReason::Unreachable { detail: format!("cannot read {path}: {errno}") },
    }
}
