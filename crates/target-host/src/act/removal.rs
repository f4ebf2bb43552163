//! Deleting: moved aside, looked at once more, and only then removed. A folder goes only when it is empty.

use rustix::fs::{Dir, Mode, OFlags, openat};
use rustix::io::Errno;
use setpoint_core::intent::Expect;
use setpoint_target::{Outcome, Refusal, RefusalClass, Work};

use super::Batch;
use super::errors::{failed, refusal, unresolved};
use super::landing::{Landed, written};
use super::temporary::{sweep, temporary_name};
use crate::declaration::COMMAND_CLASS;
use crate::disk::Folder;
use crate::look::Found;
use crate::path::HostPath;
use crate::resolve::Unresolved;
use crate::stamp::{Stamp, Type};

/// How many of the things that keep a folder are named.
const NAMED: usize = 5;

impl Batch<'_> {
    pub(super) fn remove(&mut self, number: usize, work: &Work) -> Outcome {
        match self.try_remove(work) {
            Ok(folder) => {
                self.landed.extend(folder.map(|folder| Landed { number, folder }));
                Outcome::Done { live: None }
            }
            Err(refusal) => Outcome::Refused { refusal },
        }
    }

    /// The folder something was removed from; `None` where nothing stood.
    fn try_remove(&mut self, work: &Work) -> Result<Option<Folder>, Refusal> {
        if work.step.key.class() == COMMAND_CLASS {
            return Ok(None);
        }
        let (path, expect) = (self.path_of(&work.step)?, work.step.expect.as_ref());
        let expect: &Expect = expect.ok_or_else(|| super::unclear(&work.step))?;
        let folder = match self.folders.get(path.folder()) {
            Err(Unresolved::Missing { .. }) => return Ok(None),
            folder => folder.map_err(|error| unresolved(&error))?,
        };
        sweep(self.host, &folder);
        let Some(found) = self.expected(&folder, &path, None, expect)? else { return Ok(None) };
        self.host.watch.own_write(&path, None);
        let removed = match found.stamp.of {
            Type::Directory => self.remove_folder(&folder, &path),
            _ => self.remove_aside(&folder, &path, &found, &temporary_name(work.intent)),
        };
        removed.map(|()| Some(folder))
    }

    fn remove_aside(&self, folder: &Folder, path: &HostPath, found: &Found, aside: &str) -> Result<(), Refusal> {
        let (disk, failed) = (&self.host.disk, |errno| failed(path.as_str(), errno));
        match disk.rename_to_free(folder, path.name(), aside) {
            Err(Errno::NOENT) => return Ok(()),
            renamed => renamed.map_err(failed)?,
        }
        let untouched = Stamp::at(folder.fd(), aside).is_ok_and(|stamp| stamp.is_untouched_since(&found.stamp));
        if untouched && disk.remove(folder, aside).is_ok() {
            return Ok(());
        }
        disk.rename_to_free(folder, aside, path.name()).map_err(failed)?;
        Err(written(path))
    }

    fn remove_folder(&self, folder: &Folder, path: &HostPath) -> Result<(), Refusal> {
        match self.host.disk.remove_folder(folder, path.name()) {
            Err(Errno::NOTEMPTY | Errno::EXIST) => {
                let named = entries(folder, path).join(", ");
                let detail =
                    format!("{path} holds what nobody here has claimed ({named}), and is kept: move that away first");
                Err(refusal(RefusalClass::Denied, detail))
            }
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(errno) => Err(failed(path.as_str(), errno)),
        }
    }
}

/// Some of what is in a folder. Names may hold anything, so they are shown escaped.
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
