//! Settling: observes how an intent ended whose outcome was never received.
//!
//! - A created object carries the mark of its intent.
//! - An update is done when the declared state is in place, no matter who wrote it.
//! - A create or an update that someone has overwritten since is superseded: writing a whole file
//!   again is safe, so the engine decides again from the current state.
//! - A delete is done when the path is empty. If something is there, only the incarnation shows
//!   whether the old file is gone, and an editor that saves by replacing leaves the same traces as
//!   a delete followed by a create. A person has to decide then, since another delete could remove
//!   the work of another program.

use std::sync::Arc;

use setpoint_core::intent::{Intent, Verb};
use setpoint_core::live::Presence;
use setpoint_core::resource::Resource;
use setpoint_target::Settlement;

use crate::act::{mark_of, temporary_name};
use crate::declaration::COMMAND_CLASS;
use crate::host::{Host, Known};
use crate::look::Seen;
use crate::path::HostPath;
use crate::resolve::{Purpose, Root};
use crate::stamp::is_same_incarnation;

impl Host {
    pub(crate) fn settle(&self, intent: &Intent, declared: Option<&Resource>) -> Settlement {
        let found = self.find_end(intent, declared).unwrap_or_else(|detail| Settlement::Unknown { detail });
        match found {
            Settlement::NotDone | Settlement::Superseded { .. } if self.may_land(intent) => {
                unknown(format!("the effect of intent {} may still land: ask again later", intent.id))
            }
            found => found,
        }
    }

    /// Reports whether the effect can still happen. The effects of a process that has ended cannot,
    /// but a command it had started may run on for a while.
    fn may_land(&self, intent: &Intent) -> bool {
        let outlives = intent.key.class() == COMMAND_CLASS;
        let over = self.alone && !outlives && !self.under_way.holds(intent.id);
        !over && self.now() <= intent.land_by
    }

    fn find_end(&self, intent: &Intent, declared: Option<&Resource>) -> Result<Settlement, String> {
        if intent.target != self.expected {
            return Err(format!("this machine is `{}`, not `{}`: correct the address", self.expected, intent.target));
        }
        let known = declared.map(|resource| Known::read(&Arc::new(resource.clone()), &self.digest_key)).transpose()?;
        if intent.key.class() == COMMAND_CLASS {
            return self.end_of_command(intent, known.as_ref());
        }
        let root = self.visit().map_err(|reason| reason.to_string())?;
        let path = HostPath::of(&intent.key).ok_or_else(|| format!("a host has nothing like {}", intent.key))?;
        let seen = self.look_at(&root, &path, known.as_ref()).map_err(|reason| reason.to_string())?;
        if !self.may_land(intent) {
            self.sweep_after(&root, &path, intent);
        }
        Ok(match intent.verb {
            Verb::Create => end_of_create(intent, seen),
            Verb::Update => end_of_update(intent, seen, known.as_ref()),
            Verb::Delete => end_of_delete(intent, seen.as_ref()),
        })
    }

    /// Removes the temporary file of the intent, which can no longer be moved into place.
    fn sweep_after(&self, root: &Root, path: &HostPath, intent: &Intent) {
        if let Ok(folder) = root.folder(path.folder(), Purpose::Look) {
            // Mostly there is none. One that cannot be removed stays until a process with the
            // permission first changes something in the directory.
            let _ = self.disk.remove(&folder, &temporary_name(intent.id));
        }
    }

    /// Settles a command by its check, no matter who established the state.
    fn end_of_command(&self, intent: &Intent, known: Option<&Known>) -> Result<Settlement, String> {
        match (intent.verb, known) {
            (Verb::Delete, _) => Ok(Settlement::Done { live: None }),
            (_, None) => Err(format!("intent {} does not record what it was to do", intent.id)),
            (_, known) => match self.look_at_command(known).map_err(|reason| reason.to_string())? {
                Presence::Present(live) => Ok(Settlement::Done { live: Some(live) }),
                Presence::Absent => Ok(Settlement::NotDone),
            },
        }
    }
}

fn end_of_create(intent: &Intent, seen: Option<Seen>) -> Settlement {
    match seen {
        None => Settlement::NotDone,
        Some(seen) if seen.stamp.modified.1 == mark_of(intent.id) => Settlement::Done { live: Some(seen.live) },
        Some(_) => superseded(format!("{} exists, and nothing on it shows that Setpoint created it", intent.key)),
    }
}

fn end_of_update(intent: &Intent, seen: Option<Seen>, known: Option<&Known>) -> Settlement {
    let Some(expect) = &intent.expect else { return unknown(nameless(intent)) };
    let is_as_declared = |seen: &Seen| known.is_some_and(|known| *seen.live.value == *known.value);
    match seen {
        None => Settlement::NotDone,
        Some(seen) if expect.version.as_ref() == Some(&seen.live.version) => Settlement::NotDone,
        Some(seen) if is_as_declared(&seen) => Settlement::Done { live: Some(seen.live) },
        Some(_) => superseded(format!("{} was written since, and nothing on it shows by whom", intent.key)),
    }
}

fn end_of_delete(intent: &Intent, seen: Option<&Seen>) -> Settlement {
    let Some(expect) = &intent.expect else { return unknown(nameless(intent)) };
    let Some(seen) = seen else { return Settlement::Done { live: None } };
    if seen.live.uid != expect.uid {
        return Settlement::Done { live: None };
    }
    match &expect.version {
        Some(version) if is_same_incarnation(&seen.stamp, version) => Settlement::NotDone,
        _ => unknown(format!("{} was replaced, and it is unknown whether it had been deleted before", intent.key)),
    }
}

fn superseded(detail: String) -> Settlement {
    Settlement::Superseded { detail }
}

fn unknown(detail: String) -> Settlement {
    Settlement::Unknown { detail }
}

fn nameless(intent: &Intent) -> String {
    format!("intent {} does not record which object it was to {}", intent.id, intent.verb)
}
