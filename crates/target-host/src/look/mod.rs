//! Observes each path and compares it with its declaration.
//!
//! Every file is opened, and its bytes are compared with the declared ones. Equal objects are
//! reported with the declared value itself, so nothing is hashed or copied unless it differs. An
//! error is `Unknown`, never absence.

use std::collections::BTreeMap;
use std::sync::Arc;

use setpoint_core::key::Key;
use setpoint_core::live::{Live, Observation, Presence};
use setpoint_core::observed::{Observed, UnknownReason};
use setpoint_core::time::{Span, Timestamp};
use setpoint_target::Wanted;

use crate::accounts::Accounts;
use crate::declaration::COMMAND_CLASS;
use crate::host::{Host, Known, Memory, Trusted};
use crate::path::HostPath;
use crate::resolve::{Folders, Purpose, Root};
use crate::stamp::Stamp;

mod found;
mod shown;

pub(crate) use found::{Eye, Found};
pub(crate) use shown::Showing;

/// A change this shortly before an observation may have the same change time as one right after it,
/// because the clock of the file system ticks.
const RACY: Span = Span::millis(20);

impl Host {
    pub(crate) fn observe(&self, wanted: &Wanted, now: Timestamp) -> Observation {
        let states = match self.visit() {
            Ok(root) => self.look_at_all(&root, wanted, now),
            Err(reason) => wanted.keys().map(|key| (key.clone(), Observed::unknown(reason.clone()))).collect(),
        };
        Observation { at: now, states }
    }

    fn look_at_all(&self, root: &Root, wanted: &Wanted, now: Timestamp) -> BTreeMap<Key, Observed<Presence>> {
        let accounts = Accounts::read();
        let mut look = Look {
            host: self,
            folders: Folders::new(root, Purpose::Look),
            eye: Eye::new(&self.disk, &self.digest_key),
            showing: Showing::new(&accounts),
            root,
            now,
            watched: None,
        };
        let mut states = BTreeMap::new();
        for (key, resource) in wanted {
            let known = match resource {
                Some(resource) => self.known(&mut self.memory(), resource).map(Some),
                None => {
                    self.memory().forget(key);
                    Ok(None)
                }
            };
            let seen = match known {
                Ok(known) => look.at(key, known.as_ref()),
                Err(detail) => Err(UnknownReason::Unobservable { detail }),
            };
            let state = match seen {
                Ok(presence) => Observed::known(presence, now),
                Err(reason) => Observed::unknown(reason),
            };
            states.insert(key.clone(), state);
        }
        states
    }

    /// Observes one path as [`Host::observe`] does.
    pub(crate) fn look_at(
        &self,
        root: &Root,
        path: &HostPath,
        known: Option<&Known>,
    ) -> Result<Option<Seen>, UnknownReason> {
        let folder = match root.folder(path.folder(), Purpose::Look) {
            Ok(folder) => folder,
            Err(unresolved) => return unresolved.blindness().map_or(Ok(None), Err),
        };
        let found = Eye::new(&self.disk, &self.digest_key).see(&folder, path.name(), known)?;
        let accounts = Accounts::read();
        let showing = Showing::new(&accounts);
        Ok(found.map(|found| Seen { live: showing.live(path, &found, known), stamp: found.stamp }))
    }
}

/// The observed state of a path.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) live: Live,
    pub(crate) stamp: Stamp,
}

/// One call of [`Host::observe`].
struct Look<'h> {
    host: &'h Host,
    root: &'h Root,
    folders: Folders<'h>,
    eye: Eye<'h>,
    showing: Showing<'h>,
    now: Timestamp,
    /// The directory whose watch was checked last.
    watched: Option<Arc<str>>,
}

impl Look<'_> {
    fn at(&mut self, key: &Key, known: Option<&Arc<Known>>) -> Result<Presence, UnknownReason> {
        if key.class() == COMMAND_CLASS {
            return self.host.look_at_command(known.map(Arc::as_ref));
        }
        let live = match known.and_then(|known| known.declared.path()) {
            Some(path) => self.at_path(path, known)?,
            None => match HostPath::of(key) {
                Some(path) => self.at_path(&path, known)?,
                None => return Err(unlike(key)),
            },
        };
        Ok(live.map_or(Presence::Absent, Presence::Present))
    }

    fn at_path(&mut self, path: &HostPath, known: Option<&Arc<Known>>) -> Result<Option<Live>, UnknownReason> {
        let folder = match self.folders.get(path.folder()) {
            Ok(folder) => folder,
            Err(unresolved) => {
                self.host.watch.missing_folder(self.root, path);
                return unresolved.blindness().map_or(Ok(None), Err);
            }
        };
        // Watched before it is read: a later change is hinted at, and an earlier one is in the
        // data.
        let same_folder = self.watched.as_ref().is_some_and(|watched| Arc::ptr_eq(watched, &folder.path));
        if !same_folder {
            self.host.watch.folder(self.root, &folder);
            self.watched = Some(Arc::clone(&folder.path));
        }
        self.host.watch.path(path);
        if let (true, Some(known)) = (self.host.trust_stat, known) {
            let stamp = Stamp::at(folder.fd(), path.name()).ok();
            if let Some(live) = stamp.and_then(|stamp| trusted(&self.host.memory(), path.key(), &stamp, known)) {
                return Ok(Some(live));
            }
        }
        let found = self.eye.see(&folder, path.name(), known.map(Arc::as_ref))?;
        let Some(found) = found else { return Ok(None) };
        let live = self.showing.live(path, &found, known.map(Arc::as_ref));
        if let (true, Some(known)) = (self.host.trust_stat && self.is_settled(&found.stamp), known) {
            let trusted = Trusted { stamp: found.stamp, known: Arc::clone(known), live: live.clone() };
            self.host.memory().trusted.insert(path.key().clone(), trusted);
        }
        Ok(Some(live))
    }

    /// Reports whether any later change must have another change time: the rule of git's index.
    fn is_settled(&self, stamp: &Stamp) -> bool {
        let millis = u64::try_from(stamp.changed.0).unwrap_or(u64::MAX).saturating_mul(1_000);
        let changed = Timestamp::from_millis(millis.saturating_add(u64::from(stamp.changed.1 / 1_000_000)));
        changed + RACY < self.now
    }
}

fn unlike(key: &Key) -> UnknownReason {
    UnknownReason::Unobservable { detail: format!("a host cannot hold {key}: remove its claim") }
}

fn trusted(memory: &Memory, key: &Key, stamp: &Stamp, known: &Arc<Known>) -> Option<Live> {
    let trusted = memory.trusted.get(key)?;
    (trusted.stamp == *stamp && Arc::ptr_eq(&trusted.known, known)).then(|| trusted.live.clone())
}
