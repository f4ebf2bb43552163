//! Opens directories by path without leaving the root and without following links that other users
//! control.
//!
//! The fast way is one `openat2` that follows no links at all. If the path contains a link
//! (`/var/run`, `/lib`), or if the kernel does not permit `openat2`, the path is walked name by
//! name, each from the directory opened before it. Absolute links start at the root, `..` stops
//! there, and only links owned by root or by the agent's user are followed. Otherwise a user could
//! plant a link in a directory of theirs and have Setpoint write where only Setpoint may.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, ResolveFlags, openat, openat2};
use rustix::io::Errno;
use rustix::process::geteuid;
use setpoint_core::observed::UnknownReason;

use crate::disk::Folder;
use crate::path::join;

/// The kernel's own limit.
const MOST_LINKS: usize = 40;

/// The number of directories that one call keeps open. Keys come sorted, so the next one is nearly
/// always in one of the last directories.
const KEPT_OPEN: usize = 32;

/// The reason why a directory could not be opened.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unresolved {
    #[error("the directory {folder} does not exist: declare it as a Directory, or create it")]
    Missing { folder: String },
    #[error("{folder} is not a directory: remove it, or correct the path")]
    NotAFolder { folder: String },
    #[error("{link} is a link to a path that does not exist: correct or remove it")]
    Dangling { link: String },
    #[error("the links at {folder} form a loop: correct or remove them")]
    Circle { folder: String },
    #[error("{link} is a link of user {owner}, who could point it anywhere: declare the path it points to")]
    StrangersLink { link: String, owner: u32 },
    #[error("cannot open the directory {folder}: {}", permission_denied())]
    Denied { folder: String },
    #[error("cannot open the directory {folder}: {errno}")]
    Failed { folder: String, errno: Errno },
}

/// Returns the problem and the remedy of a call that the kernel does not permit. Root itself is
/// refused by other means than the mode of a file.
pub(crate) fn permission_denied() -> &'static str {
    if geteuid().is_root() {
        "permission denied, although the agent is root: check the file and its directory for the immutable or append-only flag (`lsattr`), and the mount, the capabilities of the agent and security modules"
    } else {
        "permission denied; give the agent the permission, or run it as root"
    }
}

impl Unresolved {
    /// Returns the reason for an observation to be unknown. `None` if the directory does not exist:
    /// its entries are then known to be absent.
    pub(crate) fn blindness(self) -> Option<UnknownReason> {
        let detail = self.to_string();
        match self {
            Self::Missing { .. } => None,
            Self::Denied { .. } | Self::StrangersLink { .. } => Some(UnknownReason::Denied { detail }),
            Self::NotAFolder { .. } | Self::Dangling { .. } | Self::Circle { .. } => {
                Some(UnknownReason::Unobservable { detail })
            }
            Self::Failed { .. } => Some(UnknownReason::Unreachable { detail }),
        }
    }
}

/// The purpose of opening a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// To read its entries.
    Look,
    /// To change its entries and make that durable, which requires read permission on the directory
    /// itself.
    Change,
}

/// The directory that all paths are relative to.
#[derive(Debug)]
pub(crate) struct Root {
    fd: OwnedFd,
}

impl Root {
    pub(crate) fn open(place: &Path) -> Result<Self, Errno> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        rustix::fs::open(place, flags, Mode::empty()).map(|fd| Self { fd })
    }

    pub(crate) fn fd(&self) -> &OwnedFd {
        &self.fd
    }

    /// Opens a directory by its normalised path.
    pub(crate) fn folder(&self, path: &str, purpose: Purpose) -> Result<Folder, Unresolved> {
        let relative = match path.trim_start_matches('/') {
            "" => ".",
            relative => relative,
        };
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        let (fd, real) = match openat2(&self.fd, relative, flags(purpose), Mode::empty(), resolve) {
            Ok(fd) => (fd, path.into()),
            Err(Errno::LOOP | Errno::NOSYS | Errno::PERM) => self.walk(path, purpose)?,
            Err(errno) => return Err(unresolved(path, errno)),
        };
        Ok(Folder { path: path.into(), real, fd: Arc::new(fd) })
    }

    fn walk(&self, path: &str, purpose: Purpose) -> Result<(OwnedFd, Arc<str>), Unresolved> {
        let mut walk =
            Walk { root: self, inside: Vec::new(), ahead: names(OsStr::new(path)).map(declared).collect(), links: 0 };
        while let Some(ahead) = walk.ahead.pop_front() {
            walk.step(path, &ahead)?;
        }
        let fd = openat(walk.here(), ".", flags(purpose), Mode::empty()).map_err(|errno| unresolved(path, errno))?;
        Ok((fd, walk.folder().into()))
    }
}

fn flags(purpose: Purpose) -> OFlags {
    let access = if purpose == Purpose::Look { OFlags::PATH } else { OFlags::RDONLY };
    access | OFlags::DIRECTORY | OFlags::CLOEXEC
}

fn unresolved(path: &str, errno: Errno) -> Unresolved {
    let folder = path.to_owned();
    match errno {
        Errno::NOENT => Unresolved::Missing { folder },
        Errno::NOTDIR => Unresolved::NotAFolder { folder },
        Errno::ACCESS | Errno::PERM => Unresolved::Denied { folder },
        Errno::LOOP => Unresolved::Circle { folder },
        errno => Unresolved::Failed { folder, errno },
    }
}

/// Returns the names in a path, without empty ones and `.`.
fn names(path: &OsStr) -> impl DoubleEndedIterator<Item = OsString> {
    let parts = path.as_bytes().split(|byte| *byte == b'/');
    parts.filter(|part| !part.is_empty() && *part != b".").map(|part| OsStr::from_bytes(part).to_owned())
}

/// A name that has not been resolved yet.
struct Ahead {
    name: OsString,
    /// It comes from the target of a link, and not from the path itself.
    linked: bool,
}

fn declared(name: OsString) -> Ahead {
    Ahead { name, linked: false }
}

/// The state of walking a path.
struct Walk<'r> {
    root: &'r Root,
    /// The directories entered so far, the innermost last.
    inside: Vec<(OsString, OwnedFd)>,
    ahead: VecDeque<Ahead>,
    links: usize,
}

impl Walk<'_> {
    fn here(&self) -> &OwnedFd {
        self.inside.last().map_or(&self.root.fd, |(_, fd)| fd)
    }

    /// Returns the path of the current directory.
    fn folder(&self) -> String {
        self.inside.iter().fold("/".to_owned(), |path, (name, _)| join(&path, &name.to_string_lossy()))
    }

    /// Formats a name in the current directory as a path.
    fn shown(&self, name: &OsStr) -> String {
        join(&self.folder(), &name.to_string_lossy())
    }

    fn step(&mut self, path: &str, ahead: &Ahead) -> Result<(), Unresolved> {
        let name = &*ahead.name;
        if name == ".." {
            self.inside.pop();
            return Ok(());
        }
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let entry = openat(self.here(), name, flags, Mode::empty()).map_err(|errno| match errno {
            Errno::NOENT if ahead.linked => Unresolved::Dangling { link: path.to_owned() },
            errno => unresolved(&self.shown(name), errno),
        })?;
        let stat = rustix::fs::fstat(&entry).map_err(|errno| unresolved(&self.shown(name), errno))?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => self.inside.push((name.to_owned(), entry)),
            FileType::Symlink => self.follow(path, name, &entry, stat.st_uid)?,
            _ => return Err(Unresolved::NotAFolder { folder: self.shown(name) }),
        }
        Ok(())
    }

    fn follow(&mut self, path: &str, name: &OsStr, link: &OwnedFd, owner: u32) -> Result<(), Unresolved> {
        self.links += 1;
        if self.links > MOST_LINKS {
            return Err(Unresolved::Circle { folder: path.to_owned() });
        }
        if owner != 0 && owner != rustix::process::geteuid().as_raw() {
            return Err(Unresolved::StrangersLink { link: self.shown(name), owner });
        }
        let target = rustix::fs::readlinkat(link.as_fd(), "", Vec::new())
            .map_err(|errno| unresolved(&self.shown(name), errno))?;
        let target = OsString::from_vec(target.into_bytes());
        if target.as_bytes().starts_with(b"/") {
            self.inside.clear();
        }
        for name in names(&target).rev() {
            self.ahead.push_front(Ahead { name, linked: true });
        }
        Ok(())
    }
}

/// The directories opened during one call.
#[derive(Debug)]
pub(crate) struct Folders<'r> {
    root: &'r Root,
    purpose: Purpose,
    open: VecDeque<Folder>,
}

impl<'r> Folders<'r> {
    pub(crate) fn new(root: &'r Root, purpose: Purpose) -> Self {
        Self { root, purpose, open: VecDeque::new() }
    }

    pub(crate) fn get(&mut self, path: &str) -> Result<Folder, Unresolved> {
        if let Some(folder) = self.open.iter().find(|folder| &*folder.path == path) {
            return Ok(folder.clone());
        }
        let folder = self.root.folder(path, self.purpose)?;
        self.open.truncate(KEPT_OPEN - 1);
        self.open.push_front(folder.clone());
        Ok(folder)
    }
}

/// Reports whether the agent may create and remove names in a directory.
pub(crate) fn is_writable(folder: &Folder) -> Result<bool, Errno> {
    use rustix::fs::Access;
    // `.` in the open directory itself: checking it needs search permission there, as writing does.
    match rustix::fs::accessat(folder.fd(), ".", Access::WRITE_OK | Access::EXEC_OK, AtFlags::EACCESS) {
        Ok(()) => Ok(true),
        Err(Errno::ACCESS | Errno::PERM | Errno::ROFS) => Ok(false),
        Err(errno) => Err(errno),
    }
}
