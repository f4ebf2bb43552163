//! Deletes files in three steps: move aside, check once more, remove. A directory is deleted only
//! when it is empty.

use rustix::fs::{Dir, Mode, OFlags, openat};
use rustix::io::Errno;
use setpoint_target::{Outcome, Refusal, RefusalClass, Work};

use super::errors::{failed, not_put, refused, uncertain, unresolved};
use super::landing::{Landed, written};
use super::temporary::{sweep, temporary_name};
use super::{Batch, unclear};
use crate::declaration::COMMAND_CLASS;
use crate::disk::Folder;
use crate::look::Found;
use crate::path::HostPath;
use crate::resolve::Unresolved;
use crate::stamp::{Stamp, Type};

/// The number of entries that the message about a directory with content names.
const NAMED: usize = 5;

impl Batch<'_> {
    pub(super) fn remove(&mut self, number: usize, work: &Work) -> Outcome {
        if work.step.key.class() == COMMAND_CLASS {
            return Outcome::Done { live: None };
        }
        let (path, folder, found) = match self.removable(work) {
            Ok(Some(removable)) => removable,
            Ok(None) => return Outcome::Done { live: None },
            Err(refusal) => return Outcome::Refused { refusal },
        };
        self.host.watch.own_write(&path, None);
        let removed = match found.stamp.of {
            Type::Directory => self.remove_folder(&folder, &path),
            _ => self.remove_aside(&folder, &path, &found, &temporary_name(work.intent)),
        };
        match removed {
            Ok(()) => {
                self.landed.push(Landed { number, folder });
                Outcome::Done { live: None }
            }
            Err(outcome) => {
                self.host.watch.no_own_write(&path);
                *outcome
            }
        }
    }

    /// Returns the object to remove, with its path and directory; `None` if it does not exist.
    fn removable(&mut self, work: &Work) -> Result<Option<(HostPath, Folder, Found)>, Refusal> {
        let (path, expect) = (self.path_of(&work.step)?, work.step.expect.as_ref());
        let expect = expect.ok_or_else(|| unclear(&work.step))?;
        let folder = match self.folders.get(path.folder()) {
            Err(Unresolved::Missing { .. }) => return Ok(None),
            folder => folder.map_err(|error| unresolved(&error))?,
        };
        self.is_not_own(&folder, &path)?;
        sweep(self.host, &folder);
        let found = self.expected(&folder, &path, None, expect)?;
        Ok(found.map(|found| (path, folder, found)))
    }

    fn remove_aside(&self, folder: &Folder, path: &HostPath, found: &Found, aside: &str) -> Result<(), Box<Outcome>> {
        let disk = &self.host.disk;
        match disk.rename_to_free(folder, path.name(), aside) {
            Ok(()) => {}
            Err(Errno::NOENT) => return Ok(()),
            Err(errno) => return Err(not_put(path.as_str(), errno).into()),
        }
        let untouched = Stamp::at(folder.fd(), aside).is_ok_and(|stamp| stamp.is_untouched_since(&found.stamp));
        let kept = match untouched.then(|| disk.remove(folder, aside)) {
            Some(Ok(())) => return Ok(()),
            Some(Err(errno)) => failed(path.as_str(), errno),
            None => written(path),
        };
        // Another program wrote it meanwhile, or it cannot be removed: move it back.
        let put_back = disk.rename_to_free(folder, aside, path.name());
        put_back.map_err(|errno| uncertain(path.as_str(), errno))?;
        Err(Outcome::Refused { refusal: kept }.into())
    }

    fn remove_folder(&self, folder: &Folder, path: &HostPath) -> Result<(), Box<Outcome>> {
        match self.host.disk.remove_folder(folder, path.name()) {
            Err(Errno::NOTEMPTY | Errno::EXIST) => {
                let named = entries(folder, path).join(", ");
                let detail = format!(
                    "{path} is not deleted: it contains files that no app has claimed ({named}); move them away first"
                );
                Err(refused(RefusalClass::Denied, detail).into())
            }
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(errno) => Err(not_put(path.as_str(), errno).into()),
        }
    }
}

/// Returns some of the entries of a directory, escaped, because names may contain any bytes.
fn entries(folder: &Folder, path: &HostPath) -> Vec<String> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let listing = openat(folder.fd(), path.name(), flags, Mode::empty()).and_then(Dir::new);
    let names = listing.into_iter().flatten().flatten().map(|entry| entry.file_name().to_bytes().to_vec());
    let mut names: Vec<String> = names
        .filter(|name| name != b"." && name != b"..")
        .take(NAMED)
        .map(|name| format!("`{}`", name.escape_ascii()))
        .collect();
    names.sort();
    names
}
