//! Moves files into place, after checking that each path still has the state on which its step was
//! decided.
//!
//! No single call can compare and replace. So the temporary file and the existing one are
//! *exchanged*, the displaced file is checked, and moved back if it is not the one that was checked
//! a moment before. So a write of another program between the check and the exchange is preserved,
//! and the step refused.

use std::collections::BTreeMap;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use rustix::io::Errno;
use setpoint_core::intent::{Expect, Verb};
use setpoint_target::{Outcome, Refusal, RefusalClass, Work};

use super::errors::{failed, not_put, refusal, refused, uncertain, unseen};
use super::rights::fits;
use super::temporary::Prepared;
use super::{Batch, FEW, unclear};
use crate::declaration::HostResource;
use crate::disk::{Dress, Folder};
use crate::host::Known;
use crate::look::{Eye, Found, Showing};
use crate::path::HostPath;
use crate::stamp::Stamp;

/// A step that has changed something in a directory.
#[derive(Debug)]
pub(super) struct Landed {
    pub(super) number: usize,
    pub(super) folder: Folder,
}

impl Batch<'_> {
    pub(super) fn land_all(&mut self, durable: Vec<Prepared>) {
        let mut waiting: BTreeMap<usize, Prepared> = durable.into_iter().map(|one| (one.number, one)).collect();
        let work = self.work;
        for (number, work) in work.iter().enumerate() {
            if self.outcomes[number].is_some() {
                continue;
            }
            let one = waiting.remove(&number);
            if self.is_late() {
                if let Some(one) = &one {
                    self.discard(&one.folder, &one.name);
                }
                let detail = "the step did not land in time: Setpoint reads the object again and retries";
                self.outcomes[number] = Some(refused(RefusalClass::Fenced, detail));
                continue;
            }
            let outcome = match one {
                Some(one) => self.land(&one, work.step.expect.as_ref()),
                None => self.act_in_place(number, work),
            };
            self.outcomes[number] = Some(outcome);
        }
    }

    fn land(&mut self, one: &Prepared, expect: Option<&Expect>) -> Outcome {
        let put = match expect {
            None => self.put_where_nothing_is(one),
            Some(expect) => self.put_in_place_of(one, expect),
        };
        match put {
            Ok(()) => {
                self.landed.push(Landed { number: one.number, folder: one.folder.clone() });
                self.answer(&one.folder, &one.path, &one.known, Some(one.stamp.inode))
            }
            Err(outcome) => {
                self.host.watch.no_own_write(&one.path);
                // After an uncertain exchange, the temporary name may hold a file of another
                // program: it stays until the intent is settled.
                if matches!(*outcome, Outcome::Refused { .. }) {
                    self.discard(&one.folder, &one.name);
                }
                *outcome
            }
        }
    }

    fn put_where_nothing_is(&self, one: &Prepared) -> Result<(), Box<Outcome>> {
        self.host.watch.own_write(&one.path, Some(one.stamp.inode));
        let renamed = self.host.disk.rename_to_free(&one.folder, &one.name, one.path.name());
        renamed.map_err(|errno| not_put(one.path.as_str(), errno).into())
    }

    fn put_in_place_of(&self, one: &Prepared, expect: &Expect) -> Result<(), Box<Outcome>> {
        let disk = &self.host.disk;
        let found = self.replaceable(one, expect).map_err(|refusal| Outcome::Refused { refusal })?;
        self.host.watch.own_write(&one.path, Some(one.stamp.inode));
        disk.exchange(&one.folder, &one.name, one.path.name()).map_err(|errno| match errno {
            Errno::NOENT => Outcome::Refused { refusal: gone(&one.path) },
            Errno::INVAL | Errno::NOSYS => {
                let detail =
                    format!("the file system of {} cannot exchange two names: move the file to another one", one.path);
                refused(RefusalClass::Invalid, detail)
            }
            errno => not_put(one.path.as_str(), errno),
        })?;
        let displaced = Stamp::at(one.folder.fd(), &one.name);
        if displaced.is_ok_and(|displaced| displaced.is_untouched_since(&found.stamp)) {
            self.discard(&one.folder, &one.name);
            return Ok(());
        }
        let put_back = disk.exchange(&one.folder, &one.name, one.path.name());
        put_back.map_err(|errno| uncertain(one.path.as_str(), errno))?;
        Err(Outcome::Refused { refusal: written(&one.path) }.into())
    }

    fn replaceable(&self, one: &Prepared, expect: &Expect) -> Result<Found, Refusal> {
        let found = self.expected(&one.folder, &one.path, Some(&one.known), expect)?.ok_or_else(|| gone(&one.path))?;
        fits(&one.path, &one.known.declared, found.stamp.of)?;
        Ok(found)
    }

    /// Returns the state of a path if it is the one on which the step was decided. `None` if the
    /// path does not exist.
    pub(super) fn expected(
        &self,
        folder: &Folder,
        path: &HostPath,
        known: Option<&Known>,
        expect: &Expect,
    ) -> Result<Option<Found>, Refusal> {
        let mut eye = Eye::new(&self.host.disk, &self.host.digest_key);
        let Some(found) = eye.see(folder, path.name(), known).map_err(|reason| unseen(&reason))? else {
            return Ok(None);
        };
        if found.stamp.of.uid() != expect.uid {
            let detail = format!("{path} is no longer the {} it was: observe it again", expect.uid);
            return Err(refusal(RefusalClass::Conflict, detail));
        }
        match &expect.version {
            Some(version) if *version != found.version() => Err(written(path)),
            _ => Ok(Some(found)),
        }
    }

    /// Executes a step that needs no temporary file.
    fn act_in_place(&mut self, number: usize, work: &Work) -> Outcome {
        let step = &work.step;
        if step.verb == Verb::Delete {
            return self.remove(number, work);
        }
        let known = step.resource.as_ref().map(|resource| self.host.known(&mut self.host.memory(), resource));
        let (Some(Ok(known)), expect) = (known, &step.expect) else {
            return Outcome::Refused { refusal: unclear(step) };
        };
        match (&known.declared, expect) {
            (HostResource::Command(command), _) => self.host.apply(&known, command, self.fence),
            (HostResource::Directory(_), Some(expect)) => self.change_folder(number, &known, expect),
            _ => Outcome::Refused { refusal: unclear(step) },
        }
    }

    fn change_folder(&mut self, number: usize, known: &Known, expect: &Expect) -> Outcome {
        let opened = self.path_of(&self.work[number].step).and_then(|path| {
            let folder = self.folder(&path)?;
            let (open, dress) = self.open_checked(&folder, &path, known, expect)?;
            Ok((path, folder, open, dress))
        });
        let (path, folder, open, dress) = match opened {
            Ok(opened) => opened,
            Err(refusal) => return Outcome::Refused { refusal },
        };
        if let Err(errno) = self.host.disk.change(open.as_fd(), path.as_str(), dress) {
            return not_put(path.as_str(), errno);
        }
        if let Err(errno) = self.host.disk.sync(open.as_fd(), path.as_str()) {
            return uncertain(path.as_str(), errno);
        }
        let outcome = self.answer(&folder, &path, known, None);
        self.landed.push(Landed { number, folder });
        outcome
    }

    /// Opens the directory on which a step was decided, and not one that replaced it since.
    fn open_checked(
        &self,
        folder: &Folder,
        path: &HostPath,
        known: &Known,
        expect: &Expect,
    ) -> Result<(OwnedFd, Dress), Refusal> {
        let found = self.expected(folder, path, Some(known), expect)?.ok_or_else(|| gone(path))?;
        fits(path, &known.declared, found.stamp.of)?;
        let dress = self.host.permitted(&known.declared, self.accounts)?;
        let failed = |errno| failed(path.as_str(), errno);
        let open = self.host.disk.open_to_change(folder, path.name()).map_err(failed)?;
        match Stamp::of_open(&open).map_err(failed)?.version("") == found.version() {
            true => Ok((open, dress)),
            false => Err(written(path)),
        }
    }

    /// Returns the outcome of a write that has landed, with the current state of the path: the
    /// written one, unless another program has changed it already.
    fn answer(&self, folder: &Folder, path: &HostPath, known: &Known, inode: Option<u64>) -> Outcome {
        let written =
            Stamp::at(folder.fd(), path.name()).ok().filter(|stamp| inode.is_none_or(|inode| inode == stamp.inode));
        let found = match written {
            Some(stamp) => Ok(Some(Found::declared(stamp, known))),
            None => Eye::new(&self.host.disk, &self.host.digest_key).see(folder, path.name(), Some(known)),
        };
        match found {
            Ok(Some(found)) => {
                let live = Showing::new(self.accounts).live(path, &found, Some(known));
                Outcome::Done { live: Some(live) }
            }
            Ok(None) | Err(_) => {
                let detail = format!("{path} was moved into place, and could not be read a moment later");
                Outcome::Unknown { detail }
            }
        }
    }

    /// Makes every changed directory durable. If that fails, the state after a crash is unknown.
    pub(super) fn sync_folders(&mut self) {
        let mut folders: BTreeMap<Arc<str>, (Folder, Result<(), Errno>)> = BTreeMap::new();
        for landed in &self.landed {
            folders.entry(landed.folder.path.clone()).or_insert_with(|| (landed.folder.clone(), Ok(())));
        }
        let disk = &self.host.disk;
        let many = folders.len() > FEW;
        let mut synced: Vec<((u32, u32), Result<(), Errno>)> = Vec::new();
        for (folder, result) in folders.values_mut() {
            if !many {
                *result = disk.sync(folder.fd(), &folder.path);
                continue;
            }
            let device = Stamp::of_open(folder.fd()).map(|stamp| stamp.device);
            *result = device.and_then(|device| match synced.iter().find(|(synced, _)| *synced == device) {
                Some((_, result)) => *result,
                None => {
                    let result = disk.sync_all(folder);
                    synced.push((device, result));
                    result
                }
            });
        }
        for landed in &self.landed {
            if let Some((folder, Err(errno))) = folders.get(&landed.folder.path) {
                let detail =
                    format!("{} was changed but cannot be made durable ({errno}): check the disk", folder.path);
                self.outcomes[landed.number] = Some(Outcome::Unknown { detail });
            }
        }
    }
}

pub(super) fn gone(path: &HostPath) -> Refusal {
    refusal(RefusalClass::Conflict, format!("{path} no longer exists: observe it again"))
}

pub(super) fn written(path: &HostPath) -> Refusal {
    refusal(RefusalClass::Conflict, format!("{path} was written since it was observed: observe it again"))
}
