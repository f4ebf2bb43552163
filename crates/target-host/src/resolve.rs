//! From a path to an open folder, without ever leaving the root and without following a link that
//! somebody else may bend.
//!
//! The quick way is one `openat2` that follows no link at all. Where there is a link (`/var/run`,
//! `/lib`), or where the kernel does not let us use `openat2`, the path is walked name by name,
//! each step from the folder opened before it: a link counts from the root, `..` stops there, and
//! only links of root or of ourselves are followed. Whoever can plant a link in a folder of theirs
//! could otherwise have us write where only we may.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, ResolveFlags, openat, openat2};
use rustix::io::Errno;
use setpoint_core::observed::UnknownReason;

use crate::disk::Folder;
use crate::path::join;

/// The kernel's own limit.
const MOST_LINKS: usize = 40;

/// How many folders one call keeps open. Keys come sorted, so the next one is nearly always in one
/// of the last folders.
const KEPT_OPEN: usize = 32;

/// Why a folder could not be opened.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unresolved {
    #[error("the folder {folder} is not there: declare it as a Directory, or make it")]
    Missing { folder: String },
    #[error("{folder} is not a folder: remove what stands there, or correct the path")]
    NotAFolder { folder: String },
    #[error("{link} is a link that leads nowhere: mend or remove it")]
    Dangling { link: String },
    #[error("the links at {folder} lead in a circle: mend or remove them")]
    Circle { folder: String },
    #[error("{link} is a link of user {owner}, who could lead us anywhere with it: declare the path it leads to")]
    StrangersLink { link: String, owner: u32 },
    #[error("the folder {folder} may not be opened: give the agent the right to, or run it as root")]
    Denied { folder: String },
    #[error("the folder {folder} could not be opened: {errno}")]
    Failed { folder: String, errno: Errno },
}

impl Unresolved {
    /// What it means for a look. A folder that is not there is no error: nothing stands in it.
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

/// What folders are opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// To look at what is in them.
    Look,
    /// To change what is in them and make that durable, for which the folder itself must be
    /// readable.
    Change,
}

/// The folder all paths are seen from.
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

    /// Opens a folder by its normalised path.
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

/// The names in a path that mean something.
fn names(path: &OsStr) -> impl DoubleEndedIterator<Item = OsString> {
    let parts = path.as_bytes().split(|byte| *byte == b'/');
    parts.filter(|part| !part.is_empty() && *part != b".").map(|part| OsStr::from_bytes(part).to_owned())
}

/// A name still to be gone through.
struct Ahead {
    name: OsString,
    /// It is from the text of a link, and not from the path itself.
    linked: bool,
}

fn declared(name: OsString) -> Ahead {
    Ahead { name, linked: false }
}

/// On the way through a path.
struct Walk<'r> {
    root: &'r Root,
    /// The folders we are in, the innermost last.
    inside: Vec<(OsString, OwnedFd)>,
    ahead: VecDeque<Ahead>,
    links: usize,
}

impl Walk<'_> {
    fn here(&self) -> &OwnedFd {
        self.inside.last().map_or(&self.root.fd, |(_, fd)| fd)
    }

    /// The path of the present folder.
    fn folder(&self) -> String {
        self.inside.iter().fold("/".to_owned(), |path, (name, _)| join(&path, &name.to_string_lossy()))
    }

    /// How a name in the present folder is shown.
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

/// The folders opened during one call.
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

/// Whether we may make and remove names in a folder.
pub(crate) fn is_writable(folder: &Folder) -> Result<bool, Errno> {
    use rustix::fs::Access;
    // By the path of the open folder itself: `.` needs the right to search it, as writing does.
    match rustix::fs::accessat(folder.fd(), ".", Access::WRITE_OK | Access::EXEC_OK, AtFlags::EACCESS) {
        Ok(()) => Ok(true),
        Err(Errno::ACCESS | Errno::PERM | Errno::ROFS) => Ok(false),
        Err(errno) => Err(errno),
    }
}
