//! Refuses steps that the agent has no permission for, before anything else is based on them.
//! Previews and effects share these checks.

use rustix::process::{getegid, geteuid, getgroups};
use setpoint_core::resource::Resource;
use setpoint_target::{Refusal, RefusalClass};

use super::errors::{failed, refusal, unresolved, unseen};
use crate::accounts::Accounts;
use crate::command::NO_COMMANDS;
use crate::declaration::{Content, HostResource, check_resource};
use crate::disk::Dress;
use crate::host::Host;
use crate::path::HostPath;
use crate::resolve::{Purpose, Root, Unresolved, is_writable, permission_denied};
use crate::stamp::{Stamp, Type};

pub(crate) const NO_SEAL: &str = "cannot open a sealed value: seal it for this target, and give the agent its key";

/// In a directory with this bit, a name can be replaced only by the owner of the file or of the
/// directory.
const STICKY: u32 = 0o1000;

impl Host {
    /// Checks whether a declaration would be accepted over the current state.
    pub(crate) fn preview(&self, resource: &Resource) -> Result<(), Refusal> {
        let declared = check_resource(resource).map_err(|detail| refusal(RefusalClass::Invalid, detail))?;
        let accounts = Accounts::read();
        self.permitted(&declared, &accounts)?;
        let Some(path) = declared.path() else { return Ok(()) };
        let root = self.visit().map_err(|reason| unseen(&reason))?;
        may_put(&root, path, &declared)
    }

    /// Checks whether the agent has the permissions for this declaration. Returns the mode and the
    /// IDs of the accounts.
    pub(super) fn permitted(&self, declared: &HostResource, accounts: &Accounts) -> Result<Dress, Refusal> {
        let (mode, owner, group) = match declared {
            HostResource::File(file) => {
                if matches!(file.content, Content::Sealed(_)) && self.secrets.is_none() {
                    return Err(refusal(RefusalClass::Denied, NO_SEAL));
                }
                (file.mode, file.owner.as_ref(), file.group.as_ref())
            }
            HostResource::Directory(folder) => (folder.mode, folder.owner.as_ref(), folder.group.as_ref()),
            HostResource::Symlink(_) => (0o777, None, None),
            HostResource::Command(_) if !self.run_commands => {
                return Err(refusal(RefusalClass::Denied, NO_COMMANDS));
            }
            HostResource::Command(_) => (0, None, None),
        };
        let dress = accounts.dress(mode, owner, group)?;
        may_give(dress)?;
        Ok(dress)
    }
}

/// Checks the ownership that a file is to get: only root can give files to other users.
fn may_give(dress: Dress) -> Result<(), Refusal> {
    let me = geteuid().as_raw();
    if me == 0 {
        return Ok(());
    }
    if let Some(owner) = dress.owner.filter(|owner| *owner != me) {
        let detail =
            format!("user {me} cannot give files to user {owner}: run the agent as root, or leave `owner` out");
        return Err(refusal(RefusalClass::Denied, detail));
    }
    let mine = |group: &u32| {
        *group == getegid().as_raw() || getgroups().is_ok_and(|groups| groups.iter().any(|one| one.as_raw() == *group))
    };
    if let Some(group) = dress.group.filter(|group| !mine(group)) {
        let detail = format!("user {me} is not in group {group}: add it, run the agent as root, or leave `group` out");
        return Err(refusal(RefusalClass::Denied, detail));
    }
    Ok(())
}

fn may_put(root: &Root, path: &HostPath, declared: &HostResource) -> Result<(), Refusal> {
    let mut above = path.folder();
    // Missing directories may be declared too, so the closest existing one counts.
    let folder = loop {
        match root.folder(above, Purpose::Look) {
            Ok(folder) => break folder,
            Err(Unresolved::Missing { .. }) if above != "/" => {
                above = above.rfind('/').map_or("/", |end| if end == 0 { "/" } else { &above[..end] });
            }
            Err(error) => return Err(unresolved(&error)),
        }
    };
    if !is_writable(&folder).map_err(|errno| failed(&folder.path, errno))? {
        let detail = format!("cannot write in {}: {}", folder.path, permission_denied());
        return Err(refusal(RefusalClass::Denied, detail));
    }
    if above != path.folder() {
        return Ok(());
    }
    match Stamp::at(folder.fd(), path.name()) {
        Err(_) => Ok(()),
        Ok(standing) => {
            let place = Stamp::of_open(folder.fd()).map_err(|errno| failed(&folder.path, errno))?;
            fits(path, declared, standing.of)?;
            may_replace(path, &place, &standing)
        }
    }
}

/// Checks that a directory is never replaced by something else, nor anything by a directory: the
/// old content would be lost.
pub(super) fn fits(path: &HostPath, declared: &HostResource, standing: Type) -> Result<(), Refusal> {
    let folder_declared = matches!(declared, HostResource::Directory(_));
    let fits = match standing {
        Type::Directory => folder_declared,
        Type::File | Type::Symlink => !folder_declared,
        Type::Other => false,
    };
    if fits {
        return Ok(());
    }
    let what = match standing {
        Type::Directory => "a directory",
        Type::File => "a file",
        Type::Symlink => "a link",
        Type::Other => "a device, pipe or socket",
    };
    let detail = format!("{path} is {what}, which Setpoint does not replace: move it away, or correct the declaration");
    Err(refusal(RefusalClass::Invalid, detail))
}

fn may_replace(path: &HostPath, folder: &Stamp, standing: &Stamp) -> Result<(), Refusal> {
    let me = geteuid().as_raw();
    let kept_for_others = folder.mode & STICKY != 0 && folder.owner != me && standing.owner != me;
    let others_folder = standing.of == Type::Directory && standing.owner != me;
    if me == 0 || !(kept_for_others || others_folder) {
        return Ok(());
    }
    let owner = standing.owner;
    let detail =
        format!("{path} belongs to user {owner}, and only that user or root can change it: run the agent as root");
    Err(refusal(RefusalClass::Denied, detail))
}
