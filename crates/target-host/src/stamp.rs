//! The metadata that the file system returns without opening a file, and the UID and version
//! derived from it.
//!
//! On a host, ownership belongs to the *path*: editors save by replacing a file with a new one, and
//! the app must still own it. So the UID is only the type of the file at the path. The version
//! covers the rest: a step that was decided on another inode, content, mode, owner or change time
//! is refused.

use std::os::fd::AsFd;

use rustix::fs::{AtFlags, FileType, Statx, StatxFlags, statx};
use rustix::io::Errno;
use setpoint_core::digest::{Digest, DigestKey};
use setpoint_core::name::{LiveVersion, Uid};

/// The type of the file at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Type {
    File,
    Directory,
    Symlink,
    /// A device, a pipe or a socket: none of them can be declared.
    Other,
}

impl Type {
    pub(crate) fn uid(self) -> Uid {
        let text = match self {
            Self::File => "regular",
            Self::Directory => "directory",
            Self::Symlink => "symlink",
            Self::Other => "other",
        };
        Uid::new(text).expect("a short ASCII text")
    }

    /// Returns the kind of document that declares this type, if there is one.
    pub(crate) fn kind(self) -> &'static str {
        match self {
            Self::File => "File",
            Self::Directory => "Directory",
            Self::Symlink => "Symlink",
            Self::Other => "Other",
        }
    }
}

/// Seconds and nanoseconds since 1970.
pub(crate) type Moment = (i64, u32);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    pub(crate) of: Type,
    pub(crate) device: (u32, u32),
    pub(crate) inode: u64,
    born: Moment,
    pub(crate) changed: Moment,
    pub(crate) modified: Moment,
    pub(crate) size: u64,
    /// The permission bits.
    pub(crate) mode: u32,
    pub(crate) owner: u32,
    pub(crate) group: u32,
}

impl Stamp {
    /// Reads the metadata of the name itself, never of the target of a link.
    pub(crate) fn at(folder: impl AsFd, name: &str) -> Result<Self, Errno> {
        let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT;
        statx(folder, name, flags, wanted()).map(|stat| Self::from(&stat))
    }

    pub(crate) fn of_open(file: impl AsFd) -> Result<Self, Errno> {
        statx(file, "", AtFlags::EMPTY_PATH, wanted()).map(|stat| Self::from(&stat))
    }

    /// Identifies this file among all that were or will be at the same path.
    pub(crate) fn incarnation(&self) -> String {
        format!("{:x}.{:x}.{:x}", self.inode, self.born.0, self.born.1)
    }

    /// Returns the version of the file with this content.
    ///
    /// The times of a directory are left out: they change with its entries, and entries are not
    /// part of its declaration.
    pub(crate) fn version(&self, content: &str) -> LiveVersion {
        let times = if self.of == Type::Directory { (0, 0) } else { self.changed };
        let text = format!("{content}\n{:o} {} {} {} {}", self.mode, self.owner, self.group, times.0, times.1);
        let version = format!("{}-{}", self.incarnation(), Digest::of(text.as_bytes()).short());
        LiveVersion::new(&version).expect("hex digits are a version")
    }

    /// Reports whether this is still the same file, unchanged except for its name: renaming it
    /// updates its change time.
    pub(crate) fn is_untouched_since(&self, earlier: &Self) -> bool {
        Self { changed: earlier.changed, ..*self } == *earlier
    }
}

/// Reports whether a version is of the same incarnation as this file.
pub(crate) fn is_same_incarnation(stamp: &Stamp, version: &LiveVersion) -> bool {
    version.as_str().split('-').next() == Some(stamp.incarnation().as_str())
}

/// Larger contents are compared by size and times only: hashing them on every observation would
/// keep the disk busy.
pub(crate) const LARGE: u64 = 16 << 20;

/// Returns the form of a content that goes into a version. It is keyed, because versions are
/// recorded and shown, and a plain hash would reveal a short secret to anyone who guesses it.
pub(crate) fn content_text(key: &DigestKey, bytes: &[u8]) -> String {
    match u64::try_from(bytes.len()) {
        Ok(size) if size <= LARGE => key.digest(bytes).to_string(),
        _ => large_text(bytes.len() as u64),
    }
}

pub(crate) fn large_text(size: u64) -> String {
    format!("{size} bytes")
}

fn wanted() -> StatxFlags {
    StatxFlags::BASIC_STATS | StatxFlags::BTIME
}

impl From<&Statx> for Stamp {
    fn from(stat: &Statx) -> Self {
        let of = match FileType::from_raw_mode(u32::from(stat.stx_mode)) {
            FileType::RegularFile => Type::File,
            FileType::Directory => Type::Directory,
            FileType::Symlink => Type::Symlink,
            _ => Type::Other,
        };
        Self {
            of,
            device: (stat.stx_dev_major, stat.stx_dev_minor),
            inode: stat.stx_ino,
            born: (stat.stx_btime.tv_sec, stat.stx_btime.tv_nsec),
            changed: (stat.stx_ctime.tv_sec, stat.stx_ctime.tv_nsec),
            modified: (stat.stx_mtime.tv_sec, stat.stx_mtime.tv_nsec),
            size: stat.stx_size,
            mode: u32::from(stat.stx_mode) & 0o7777,
            owner: stat.stx_uid,
            group: stat.stx_gid,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_content_is_told_from_others_by_its_bytes_unless_it_is_large() {
        let (key, large) = (DigestKey::new([7; 32]), usize::try_from(LARGE).unwrap());
        let text = |bytes: &[u8]| content_text(&key, bytes);
        assert_ne!(text(b"one"), text(b"two"));
        assert_eq!(text(b"one"), text(b"one"));
        assert_ne!(text(b"one"), content_text(&DigestKey::new([8; 32]), b"one"));
        let (mut one, other) = (vec![0; large], vec![1; large]);
        assert_ne!(text(&one), text(&other));
        one.push(0);
        assert_eq!(text(&one), "16777217 bytes");
    }
}
