//! The disk: every call that changes it, and every read that is compared, goes through here.
//!
//! A [`Probe`] is called before each of them and may fail it. Tests use one to inject errors that a
//! healthy disk does not have, to write as another program between two calls, to stop the process
//! at any call, and to check the order of syncs.

use std::fmt;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use rustix::fs::inotify::{self, CreateFlags};
use rustix::fs::{AtFlags, Gid, Mode, OFlags, RenameFlags, Timespec, Timestamps, Uid};
use rustix::io::Errno;

use crate::path::join;

/// One call to the disk. Paths are relative to the target's root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Call {
    /// Reads the file at a path.
    Read { path: String },
    /// Creates a temporary file, directory or link.
    Make { path: String },
    /// Writes the content of a temporary file.
    Write { path: String },
    /// Makes one file or directory durable.
    Sync { path: String },
    /// Makes everything on the file system of this directory durable.
    SyncAll { folder: String },
    /// Moves a name to a free one, or exchanges it with one that is taken.
    Rename { from: String, to: String },
    /// Removes a name.
    Remove { path: String },
    /// Opens a directory that is to be changed in place.
    Open { path: String },
    /// Changes the mode or the owner of a directory in place.
    Change { path: String },
    /// Requests an inotify instance.
    Watch,
    /// Copies the descriptor of an inotify instance, to wait for events.
    Wait,
}

/// Is called before each call; an error it returns replaces the result of the call.
pub trait Probe: Send + Sync + fmt::Debug {
    fn before(&self, call: &Call) -> io::Result<()>;
}

/// The mode and owner of a file, with names resolved to IDs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Dress {
    pub(crate) mode: u32,
    pub(crate) owner: Option<u32>,
    pub(crate) group: Option<u32>,
}

/// An open directory with its path.
#[derive(Clone, Debug)]
pub(crate) struct Folder {
    pub(crate) path: Arc<str>,
    /// The path without links, relative to the root.
    pub(crate) real: Arc<str>,
    pub(crate) fd: Arc<OwnedFd>,
}

impl Folder {
    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    pub(crate) fn at(&self, name: &str) -> String {
        join(&self.path, name)
    }
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Disk {
    probe: Option<Arc<dyn Probe>>,
}

type Done<T = ()> = Result<T, Errno>;

impl Disk {
    pub(crate) fn new(probe: Option<Arc<dyn Probe>>) -> Self {
        Self { probe }
    }

    fn ask(&self, call: impl FnOnce() -> Call) -> Done {
        match &self.probe {
            None => Ok(()),
            Some(probe) => probe.before(&call()).map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO)),
        }
    }

    /// Requests an inotify instance.
    pub(crate) fn watch(&self) -> Done<OwnedFd> {
        self.ask(|| Call::Watch)?;
        inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)
    }

    /// Copies the descriptor of an inotify instance.
    pub(crate) fn copy_to_wait(&self, events: &OwnedFd) -> io::Result<OwnedFd> {
        self.ask(|| Call::Wait)?;
        events.try_clone()
    }

    /// Opens a file for reading: the file itself, never the target of a link.
    pub(crate) fn open(&self, folder: &Folder, name: &str) -> Done<OwnedFd> {
        self.ask(|| Call::Read { path: folder.at(name) })?;
        // Without NONBLOCK, a pipe that took the place of the file after its metadata was read
        // would block the open for ever.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        rustix::fs::openat(folder.fd(), name, flags, Mode::empty())
    }

    /// Creates a temporary file that no other user can read yet.
    pub(crate) fn make_file(&self, folder: &Folder, name: &str) -> Done<OwnedFd> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        self.make(folder, name, || rustix::fs::openat(folder.fd(), name, flags, Mode::RUSR | Mode::WUSR))
    }

    pub(crate) fn make_folder(&self, folder: &Folder, name: &str) -> Done<OwnedFd> {
        self.make(folder, name, || rustix::fs::mkdirat(folder.fd(), name, Mode::RWXU))?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        rustix::fs::openat(folder.fd(), name, flags, Mode::empty())
    }

    pub(crate) fn make_link(&self, folder: &Folder, name: &str, target: &str) -> Done {
        self.make(folder, name, || rustix::fs::symlinkat(target, folder.fd(), name))
    }

    /// Creates a temporary name. If it exists, an earlier attempt of the same intent left it there,
    /// and it is removed first.
    fn make<T>(&self, folder: &Folder, name: &str, call: impl Fn() -> Done<T>) -> Done<T> {
        self.ask(|| Call::Make { path: folder.at(name) })?;
        match call() {
            Err(Errno::EXIST) => {
                self.remove(folder, name)?;
                call()
            }
            result => result,
        }
    }

    pub(crate) fn write(&self, file: BorrowedFd<'_>, folder: &Folder, name: &str, mut bytes: &[u8]) -> Done {
        self.ask(|| Call::Write { path: folder.at(name) })?;
        while !bytes.is_empty() {
            match rustix::io::write(file, bytes) {
                Ok(count) => bytes = &bytes[count..],
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno),
            }
        }
        Ok(())
    }

    /// Sets the owner of a temporary file or directory, then its mode: a change of owner clears
    /// set-ID bits.
    pub(crate) fn dress(&self, file: BorrowedFd<'_>, dress: Dress, modified: Timespec) -> Done {
        if dress.owner.is_some() || dress.group.is_some() {
            rustix::fs::fchown(file, dress.owner.map(Uid::from_raw), dress.group.map(Gid::from_raw))?;
        }
        rustix::fs::fchmod(file, Mode::from_raw_mode(dress.mode))?;
        rustix::fs::futimens(file, &times(modified))
    }

    pub(crate) fn mark_link(&self, folder: &Folder, name: &str, modified: Timespec) -> Done {
        rustix::fs::utimensat(folder.fd(), name, &times(modified), AtFlags::SYMLINK_NOFOLLOW)
    }

    /// Opens a directory to change it: the directory itself, never the target of a link.
    pub(crate) fn open_to_change(&self, folder: &Folder, name: &str) -> Done<OwnedFd> {
        self.ask(|| Call::Open { path: folder.at(name) })?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        rustix::fs::openat(folder.fd(), name, flags, Mode::empty())
    }

    /// Changes mode and owner of a directory in place.
    pub(crate) fn change(&self, file: BorrowedFd<'_>, path: &str, dress: Dress) -> Done {
        self.ask(|| Call::Change { path: path.to_owned() })?;
        if dress.owner.is_some() || dress.group.is_some() {
            rustix::fs::fchown(file, dress.owner.map(Uid::from_raw), dress.group.map(Gid::from_raw))?;
        }
        rustix::fs::fchmod(file, Mode::from_raw_mode(dress.mode))
    }

    pub(crate) fn sync(&self, file: BorrowedFd<'_>, path: &str) -> Done {
        self.ask(|| Call::Sync { path: path.to_owned() })?;
        rustix::fs::fsync(file)
    }

    /// Makes everything on the directory's file system durable. The directory must have been opened
    /// before the data was written: the kernel reports a write error only to descriptors that were
    /// open then.
    pub(crate) fn sync_all(&self, folder: &Folder) -> Done {
        self.ask(|| Call::SyncAll { folder: folder.path.to_string() })?;
        rustix::fs::syncfs(folder.fd())
    }

    /// Moves a name to another, which must be free.
    pub(crate) fn rename_to_free(&self, folder: &Folder, from: &str, to: &str) -> Done {
        self.ask(|| Call::Rename { from: folder.at(from), to: folder.at(to) })?;
        rustix::fs::renameat_with(folder.fd(), from, folder.fd(), to, RenameFlags::NOREPLACE)
    }

    /// Exchanges two names, so that the displaced file can be checked, and moved back.
    pub(crate) fn exchange(&self, folder: &Folder, from: &str, to: &str) -> Done {
        self.ask(|| Call::Rename { from: folder.at(from), to: folder.at(to) })?;
        rustix::fs::renameat_with(folder.fd(), from, folder.fd(), to, RenameFlags::EXCHANGE)
    }

    /// Removes a directory, which must be empty.
    pub(crate) fn remove_folder(&self, folder: &Folder, name: &str) -> Done {
        self.ask(|| Call::Remove { path: folder.at(name) })?;
        rustix::fs::unlinkat(folder.fd(), name, AtFlags::REMOVEDIR)
    }

    pub(crate) fn remove(&self, folder: &Folder, name: &str) -> Done {
        self.ask(|| Call::Remove { path: folder.at(name) })?;
        match rustix::fs::unlinkat(folder.fd(), name, AtFlags::empty()) {
            Err(Errno::ISDIR) => rustix::fs::unlinkat(folder.fd(), name, AtFlags::REMOVEDIR),
            result => result,
        }
    }
}

fn times(modified: Timespec) -> Timestamps {
    Timestamps { last_access: modified, last_modification: modified }
}
