//! Executes a batch of steps in one pass over the disk, with an outcome for each.
//!
//! 1. Every new file is written next to its final path, under a name that contains its intent
//!    (`temporary`).
//! 2. All of them are made durable at once.
//! 3. Each is renamed into place. At that moment it is checked that the path still has the state on
//!    which the step was decided (`landing`).
//! 4. Each directory is made durable.
//!
//! So readers get the old file or the new one, even after a crash, and a failing step fails no
//! other. A step whose file was not renamed into place has changed nothing. One whose file was, but
//! may not be durable, is `Unknown`.

use std::collections::BTreeSet;

use setpoint_core::intent::Verb;
use setpoint_core::observed::UnknownReason;
use setpoint_core::plan::Step;
use setpoint_target::{Fence, Outcome, Refusal, RefusalClass, Work};

use crate::accounts::Accounts;
use crate::declaration::HostResource;
use crate::disk::Folder;
use crate::host::Host;
use crate::path::{HostPath, join};
use crate::resolve::{Folders, Purpose, Root};

mod errors;
mod landing;
mod removal;
mod rights;
mod temporary;

pub(crate) use errors::refused;
use errors::{refusal, unresolved};
use landing::Landed;
pub(crate) use rights::NO_SEAL;
use temporary::Prepared;
pub(crate) use temporary::{mark_of, temporary_name};

/// Above this number of files or directories, one sync of the whole file system is faster than one
/// sync for each: on ext4, 15 ms instead of 1 to 3 s for 1,000.
const FEW: usize = 4;

/// The number of directories that one pass keeps open.
const MOST_FOLDERS: usize = 256;

impl Host {
    pub(crate) fn execute(&self, work: &[Work], fence: Fence) -> Vec<Outcome> {
        let now = self.now();
        if now > fence.leave_by || now > fence.land_by {
            let late = now.since(fence.leave_by.min(fence.land_by));
            let outcome = refused(
                RefusalClass::Fenced,
                format!("the change is {late} late and was not made: Setpoint reads the object again and retries"),
            );
            return vec![outcome; work.len()];
        }
        let root = match self.visit() {
            Ok(root) => root,
            Err(reason) => {
                let class = match reason {
                    UnknownReason::OtherIdentity { .. } => RefusalClass::Conflict,
                    _ => RefusalClass::Unavailable,
                };
                return vec![refused(class, reason.to_string()); work.len()];
            }
        };
        let accounts = Accounts::read();
        passes(work).flat_map(|work| Batch::new(self, &root, &accounts, fence, work).carry_out()).collect()
    }
}

/// Splits a batch so that no pass has more directories open than a process may have files.
fn passes(work: &[Work]) -> impl Iterator<Item = &[Work]> {
    let mut rest = work;
    std::iter::from_fn(move || {
        let mut folders = BTreeSet::new();
        let fits = |work: &&Work| {
            folders.insert(HostPath::of(&work.step.key).map(|path| path.folder().to_owned()));
            folders.len() <= MOST_FOLDERS
        };
        let (pass, after) = rest.split_at(rest.iter().take_while(fits).count());
        rest = after;
        (!pass.is_empty()).then_some(pass)
    })
}

/// One pass.
struct Batch<'h> {
    host: &'h Host,
    accounts: &'h Accounts,
    folders: Folders<'h>,
    fence: Fence,
    work: &'h [Work],
    outcomes: Vec<Option<Outcome>>,
    landed: Vec<Landed>,
}

impl<'h> Batch<'h> {
    fn new(host: &'h Host, root: &'h Root, accounts: &'h Accounts, fence: Fence, work: &'h [Work]) -> Self {
        let folders = Folders::new(root, Purpose::Change);
        let outcomes = vec![None; work.len()];
        Self { host, accounts, folders, fence, work, outcomes, landed: Vec::new() }
    }

    fn carry_out(mut self) -> Vec<Outcome> {
        let prepared = self.prepare_all();
        let durable = self.sync_temporaries(prepared);
        self.land_all(durable);
        self.sync_folders();
        let nothing = || Outcome::Unknown { detail: "the step was lost on the way".to_owned() };
        self.outcomes.into_iter().map(|outcome| outcome.unwrap_or_else(nothing)).collect()
    }

    /// Writes the temporary files; records a refusal for each step whose file cannot be written.
    fn prepare_all(&mut self) -> Vec<Prepared> {
        let mut prepared = Vec::new();
        for (number, work) in self.work.iter().enumerate() {
            match self.prepare(number, work) {
                Ok(one) => prepared.extend(one),
                Err(refusal) => self.outcomes[number] = Some(Outcome::Refused { refusal }),
            }
        }
        prepared
    }

    /// Returns `None` if there is nothing to write beforehand.
    fn prepare(&mut self, number: usize, work: &Work) -> Result<Option<Prepared>, Refusal> {
        let step = &work.step;
        if step.claim.target != self.host.expected {
            let (found, expected) = (&self.host.expected, &step.claim.target);
            let detail = format!("this machine is `{found}`, not `{expected}`: correct the address");
            return Err(refusal(RefusalClass::Conflict, detail));
        }
        let resource = match (step.verb, &step.resource, &step.expect) {
            (Verb::Create, Some(resource), None) | (Verb::Update, Some(resource), Some(_))
                if resource.key == step.key =>
            {
                resource
            }
            (Verb::Delete, None, Some(_)) => return Ok(None),
            _ => return Err(unclear(step)),
        };
        let invalid = |detail| refusal(RefusalClass::Invalid, detail);
        let known = self.host.known(&mut self.host.memory(), resource).map_err(invalid)?;
        let dress = self.host.permitted(&known.declared, self.accounts)?;
        match &known.declared {
            HostResource::Command(_) => Ok(None),
            HostResource::Directory(_) if step.verb == Verb::Update => Ok(None),
            _ => self.write_beside(number, work.intent, &known, dress).map(Some),
        }
    }

    fn path_of(&self, step: &Step) -> Result<HostPath, Refusal> {
        let unlike = || refusal(RefusalClass::Invalid, format!("a host cannot hold {}", step.key));
        HostPath::of(&step.key).ok_or_else(unlike)
    }

    /// Opens the parent directory of a path for changes, and removes the remains of earlier
    /// processes from it.
    fn folder(&mut self, path: &HostPath) -> Result<Folder, Refusal> {
        let folder = self.folders.get(path.folder()).map_err(|error| unresolved(&error))?;
        self.is_not_own(&folder, path)?;
        temporary::sweep(self.host, &folder);
        Ok(folder)
    }

    /// Links may point to the files of Setpoint itself, though no declared path does.
    fn is_not_own(&self, folder: &Folder, path: &HostPath) -> Result<(), Refusal> {
        if self.host.own.hold(&join(&folder.real, path.name())) {
            let detail = format!("{path} leads to a file of Setpoint itself: choose another path");
            return Err(refusal(RefusalClass::Denied, detail));
        }
        Ok(())
    }

    fn is_late(&self) -> bool {
        self.host.now() > self.fence.land_by
    }
}

fn unclear(step: &Step) -> Refusal {
    let detail = format!("the step to {} {} does not name the resource or the object to change", step.verb, step.key);
    refusal(RefusalClass::Invalid, detail)
}
