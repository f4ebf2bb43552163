//! Temporary files: the new content, written next to its final path under a name that contains the
//! intent.
//!
//! The name begins with a dot and ends in `.tmp`, so that no service mistakes it for its
//! configuration. After a crash, the file is removed when its intent is settled, or when a process
//! first changes something in the directory.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, PoisonError};

use rustix::fs::{Dir, Mode, OFlags, Timespec};
use rustix::io::Errno;
use setpoint_core::digest::Digest;
use setpoint_core::intent::IntentId;
use setpoint_target::{Outcome, Refusal, RefusalClass};

use super::errors::{failed, refusal};
use super::rights::NO_SEAL;
use super::{Batch, FEW};
use crate::declaration::{Content, HostResource};
use crate::disk::{Dress, Folder};
use crate::host::{Host, Known};
use crate::path::HostPath;
use crate::stamp::Stamp;

const PREFIX: &str = ".setpoint-";
const SUFFIX: &str = ".tmp";

/// Returns the name of the temporary file of an intent.
pub(crate) fn temporary_name(intent: IntentId) -> String {
    format!("{PREFIX}{intent}{SUFFIX}")
}

fn is_temporary(name: &str) -> bool {
    let inner = name.strip_prefix(PREFIX).and_then(|rest| rest.strip_suffix(SUFFIX));
    inner.is_some_and(|intent| intent.parse::<IntentId>().is_ok())
}

/// Returns the mark of an intent: the nanoseconds of the modification time of the file it creates.
/// Every file system stores them, links have them too, and any later write overwrites them. By this
/// mark, settling distinguishes a file of Setpoint from an equal one of another program.
pub(crate) fn mark_of(intent: IntentId) -> u32 {
    let digest = Digest::of(intent.to_string().as_bytes());
    let [a, b, c, d, ..] = *digest.as_bytes();
    u32::from_be_bytes([a, b, c, d]) % 1_000_000_000
}

/// A temporary file that is ready to be moved into place.
pub(super) struct Prepared {
    pub(super) number: usize,
    pub(super) path: HostPath,
    pub(super) folder: Folder,
    pub(super) name: String,
    pub(super) known: Arc<Known>,
    /// The metadata of the file, before and after it is moved.
    pub(super) stamp: Stamp,
    /// Open until it is durable, if it is synced on its own.
    file: Option<OwnedFd>,
}

impl Batch<'_> {
    pub(super) fn write_beside(
        &mut self,
        number: usize,
        intent: IntentId,
        known: &Arc<Known>,
        dress: Dress,
    ) -> Result<Prepared, Refusal> {
        let path = self.path_of(&self.work[number].step)?;
        let folder = self.folder(&path)?;
        let name = temporary_name(intent);
        let seconds = i64::try_from(self.host.now().as_millis() / 1_000).unwrap_or_default();
        let modified = Timespec { tv_sec: seconds, tv_nsec: mark_of(intent).into() };
        let written = self.write_one(&folder, &name, &known.declared, dress, modified);
        let stamped = written
            .and_then(|file| Ok((file, Stamp::at(folder.fd(), &name).map_err(|errno| failed(path.as_str(), errno))?)));
        match stamped {
            Ok((file, stamp)) => {
                // One sync for all needs no open file, and a process may not have thousands.
                let file = file.filter(|_| self.work.len() <= FEW);
                Ok(Prepared { number, path, folder, name, known: Arc::clone(known), stamp, file })
            }
            Err(refusal) => {
                self.discard(&folder, &name);
                Err(refusal)
            }
        }
    }

    fn write_one(
        &self,
        folder: &Folder,
        name: &str,
        declared: &HostResource,
        dress: Dress,
        modified: Timespec,
    ) -> Result<Option<OwnedFd>, Refusal> {
        let disk = &self.host.disk;
        let failed = |errno| failed(declared.key().name(), errno);
        match declared {
            HostResource::File(file) => {
                let temporary = disk.make_file(folder, name).map_err(failed)?;
                self.with_content(&file.content, |bytes| {
                    disk.write(temporary.as_fd(), folder, name, bytes).map_err(failed)
                })?;
                disk.dress(temporary.as_fd(), dress, modified).map_err(failed)?;
                Ok(Some(temporary))
            }
            HostResource::Directory(_) => {
                let temporary = disk.make_folder(folder, name).map_err(failed)?;
                disk.dress(temporary.as_fd(), dress, modified).map_err(failed)?;
                Ok(Some(temporary))
            }
            HostResource::Symlink(link) => {
                disk.make_link(folder, name, &link.target).map_err(failed)?;
                disk.mark_link(folder, name, modified).map_err(failed)?;
                Ok(None)
            }
            HostResource::Command(_) => Ok(None),
        }
    }

    /// Passes the content to `write`. Sealed bytes are open only during this call.
    fn with_content<T>(
        &self,
        content: &Content,
        write: impl FnOnce(&[u8]) -> Result<T, Refusal>,
    ) -> Result<T, Refusal> {
        match content {
            Content::Sealed(reference) => {
                let opened = self.host.secrets.as_ref().and_then(|secrets| secrets.open(reference));
                let opened = opened.ok_or_else(|| refusal(RefusalClass::Denied, NO_SEAL))?;
                write(opened.open())
            }
            content => write(content.bytes().unwrap_or_default()),
        }
    }

    /// Makes all temporary files durable, and records an outcome for those that are not: bytes that
    /// may be lost must not replace bytes that are durable.
    pub(super) fn sync_temporaries(&mut self, prepared: Vec<Prepared>) -> Vec<Prepared> {
        if prepared.iter().all(|one| one.file.is_some() || matches!(one.known.declared, HostResource::Symlink(_))) {
            return prepared.into_iter().filter_map(|one| self.sync_one(one)).collect();
        }
        let mut synced: Vec<((u32, u32), Result<(), Errno>)> = Vec::new();
        for one in &prepared {
            if synced.iter().all(|(device, _)| *device != one.stamp.device) {
                synced.push((one.stamp.device, self.host.disk.sync_all(&one.folder)));
            }
        }
        let mut durable = Vec::new();
        for one in prepared {
            match synced.iter().find(|(device, _)| *device == one.stamp.device) {
                Some((_, Err(errno))) => self.not_durable(&one, *errno),
                _ => durable.push(one),
            }
        }
        durable
    }

    fn sync_one(&mut self, mut one: Prepared) -> Option<Prepared> {
        let Some(file) = one.file.take() else { return Some(one) };
        match self.host.disk.sync(file.as_fd(), &one.folder.at(&one.name)) {
            Ok(()) => Some(one),
            Err(errno) => {
                self.not_durable(&one, errno);
                None
            }
        }
    }

    fn not_durable(&mut self, one: &Prepared, errno: Errno) {
        self.discard(&one.folder, &one.name);
        let outcome = match errno {
            // Some file systems reserve space late: nothing was changed, and there may be space
            // later.
            Errno::NOSPC | Errno::DQUOT => Outcome::Refused { refusal: failed(one.path.as_str(), errno) },
            errno => {
                let detail = format!("cannot make {} durable ({errno}): check the disk", one.path);
                Outcome::Unknown { detail }
            }
        };
        self.outcomes[one.number] = Some(outcome);
    }

    /// Removes a temporary file that will not be moved into place. If that fails, it is swept
    /// later.
    pub(super) fn discard(&self, folder: &Folder, name: &str) {
        let _ = self.host.disk.remove(folder, name);
    }
}

/// Removes the remains of earlier processes from a directory. Runs once in the life of this
/// process: later files are its own work.
pub(super) fn sweep(host: &Host, folder: &Folder) {
    let mut swept = host.swept.lock().unwrap_or_else(PoisonError::into_inner);
    if swept.contains(&*folder.path) {
        return;
    }
    swept.insert(folder.path.to_string());
    let open =
        rustix::fs::openat(folder.fd(), ".", OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty());
    let Ok(entries) = open.and_then(Dir::new) else { return };
    for entry in entries.flatten() {
        if let Some(name) = entry.file_name().to_str().ok().filter(|name| is_temporary(name)) {
            let _ = host.disk.remove(folder, name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_ours_are_swept() {
        let ours = temporary_name(IntentId { epoch: 7, number: 12 });
        assert_eq!(ours, ".setpoint-7-12.tmp");
        assert!(is_temporary(&ours));
        for name in
            [".setpoint-.tmp", ".setpoint-7-12.tmp.bak", "setpoint-7-12.tmp", ".setpoint-notes.tmp", ".setpoint-7.tmp"]
        {
            assert!(!is_temporary(name), "{name}");
        }
    }

    #[test]
    fn the_mark_of_each_intent_is_another_and_fits_a_time() {
        let marks: std::collections::BTreeSet<u32> =
            (0..100).map(|number| mark_of(IntentId { epoch: 7, number })).collect();
        assert_eq!(marks.len(), 100);
        assert!(marks.iter().all(|mark| *mark < 1_000_000_000));
        assert_eq!(mark_of(IntentId { epoch: 7, number: 1 }), mark_of(IntentId { epoch: 7, number: 1 }));
    }
}
