//! Watches the directories of observed paths, so that changes are hinted at within milliseconds.
//!
//! A path is watched through its directory and all directories above it, up to the root: if one of
//! them is moved away or back, all paths below it are hinted at. A hint only names the paths to
//! observe again. Writes of Setpoint are not hinted at as long as the written file is still in
//! place. Any other change of the path is, even during these writes.
//!
//! If the kernel has no instance or no watch left, the paths are polled instead, and the target is
//! degraded until it has.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::CStr;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::fs::inotify::{self, ReadFlags, WatchFlags};
use rustix::io::Errno;
use setpoint_core::key::Key;
use setpoint_core::time::Timestamp;
use setpoint_target::Hint;

use crate::disk::{Disk, Folder};
use crate::options::Complaint;
use crate::path::{HostPath, folders_above, join};
use crate::resolve::{Purpose, Root};
use crate::stamp::Stamp;

/// The extent of the watch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Watching {
    pub folders: usize,
    /// The reason why some directories are not watched. Changes there are found by polling.
    pub gap: Option<String>,
}

/// The interval at which unwatched paths are polled.
pub(crate) const POLL_INTERVAL: Duration = Duration::from_secs(2);

pub(crate) struct Watch {
    events: Mutex<Option<Arc<OwnedFd>>>,
    state: Mutex<State>,
    complaint: Option<Complaint>,
}

#[derive(Debug, Default)]
struct State {
    /// Every observed path.
    paths: BTreeMap<String, Key>,
    folders: BTreeMap<String, Watched>,
    /// The directories of each watch: two paths may lead to one.
    behind: BTreeMap<i32, BTreeSet<String>>,
    /// The inode that the last write of Setpoint left at a path, or nothing.
    own: BTreeMap<String, Option<u64>>,
    /// The reason why nothing can be watched.
    blind: Option<String>,
    /// Directories for which the kernel had no watch left.
    unwatched: BTreeMap<String, Errno>,
    /// The metadata of each path when it was last polled.
    polled: BTreeMap<String, Result<Option<Stamp>, Errno>>,
    polled_at: Timestamp,
    /// A gap was reported.
    reported: bool,
}

/// A directory as it was when its watch began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Watched {
    watch: i32,
    device: (u32, u32),
    inode: u64,
}

impl std::fmt::Debug for Watch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Watch").field("events", &self.events).field("state", &self.state).finish_non_exhaustive()
    }
}

impl Watch {
    pub(crate) fn new(disk: &Disk, complaint: Option<Complaint>) -> Self {
        let watch = Self { events: Mutex::default(), state: Mutex::default(), complaint };
        watch.begin(disk);
        watch
    }

    /// Requests an instance if there is none. Returns whether this call created one.
    pub(crate) fn begin(&self, disk: &Disk) -> bool {
        let mut events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        if events.is_some() {
            return false;
        }
        match disk.watch() {
            Ok(instance) => {
                *events = Some(Arc::new(instance));
                self.state().blind = None;
            }
            Err(errno) => {
                self.state().blind = Some(format!(
                    "the kernel gives no inotify instance ({errno}): raise fs.inotify.max_user_instances, or stop programs that use many"
                ));
            }
        }
        drop(events);
        self.report();
        self.events().is_some()
    }

    /// Returns the descriptor that becomes readable with the next event; `None` if nothing can be
    /// watched.
    pub(crate) fn events(&self) -> Option<Arc<OwnedFd>> {
        self.events.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Records why events cannot be awaited; `None` if they can.
    pub(crate) fn cannot_wait(&self, error: Option<&io::Error>) {
        self.state().blind = error.map(|error| format!("cannot wait for inotify events: {error}"));
        self.report();
    }

    pub(crate) fn watching(&self) -> Watching {
        let state = self.state();
        Watching { folders: state.folders.len(), gap: state.gap() }
    }

    /// Reports whether paths should have been polled by now, though events keep coming.
    pub(crate) fn is_overdue(&self, now: Timestamp) -> bool {
        self.is_degraded() && now.since(self.state().polled_at).as_millis() >= POLL_INTERVAL.as_secs() * 1_000
    }

    pub(crate) fn begin_poll(&self, now: Timestamp) {
        self.state().polled_at = now;
    }

    /// Reports whether some paths have to be polled.
    pub(crate) fn is_degraded(&self) -> bool {
        let state = self.state();
        state.blind.is_some() || !state.unwatched.is_empty()
    }

    /// Logs when a gap opens and when it closes.
    pub(crate) fn report(&self) {
        let mut state = self.state();
        let gap = state.gap();
        if state.reported == gap.is_some() {
            return;
        }
        state.reported = gap.is_some();
        drop(state);
        if let Some(complaint) = &self.complaint {
            complaint(&gap.unwrap_or_else(|| "all directories are watched again".to_owned()));
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A panic elsewhere leaves at worst a directory unwatched until the next observation.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hints at changes of this path from now on.
    pub(crate) fn path(&self, path: &HostPath) {
        let mut state = self.state();
        if !state.paths.contains_key(path.as_str()) {
            state.paths.insert(path.as_str().to_owned(), path.key().clone());
        }
    }

    /// Watches an open directory and those above it.
    pub(crate) fn folder(&self, root: &Root, folder: &Folder) {
        let Some(events) = self.events() else { return };
        let mut state = self.state();
        if !state.is_watched(folder) {
            state.watch_down_to(&events, root, &folder.path);
            drop(state);
            self.report();
        }
    }

    /// Watches the existing directories on the way to a path whose directory cannot be opened.
    pub(crate) fn missing_folder(&self, root: &Root, path: &HostPath) {
        self.path(path);
        if let Some(events) = self.events() {
            self.state().watch_down_to(&events, root, path.folder());
            self.report();
        }
    }

    /// Records the inode that a write of Setpoint is about to leave at a path. Called before the
    /// write, so that its event finds the record.
    pub(crate) fn own_write(&self, path: &HostPath, inode: Option<u64>) {
        self.state().own.insert(path.as_str().to_owned(), inode);
    }

    /// Forgets a write that did not happen: later changes are those of other programs.
    pub(crate) fn no_own_write(&self, path: &HostPath) {
        self.state().own.remove(path.as_str());
    }

    /// Reads all pending events; `None` if none of them is worth a hint.
    pub(crate) fn take(&self, look: impl Fn(&str) -> Result<Option<u64>, Errno>) -> Option<Hint> {
        let events = self.events()?;
        let mut buffer = [MaybeUninit::uninit(); 16 << 10];
        let mut reader = inotify::Reader::new(&*events, &mut buffer);
        let mut state = self.state();
        let (mut keys, mut lost) = (BTreeSet::new(), false);
        loop {
            match reader.next() {
                Ok(event) => {
                    let name = event.file_name().map(CStr::to_bytes);
                    lost |= event.events().contains(ReadFlags::QUEUE_OVERFLOW);
                    state.note(event.wd(), event.events(), name, &look, &mut keys);
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => break,
                Err(_) => {
                    lost = true;
                    break;
                }
            }
        }
        match (lost, keys.is_empty()) {
            (true, _) => Some(Hint::Lost),
            (false, true) => None,
            (false, false) => Some(Hint::Changed { keys }),
        }
    }

    /// Compares every path with its state at the last poll; `None` if nothing has changed. A path
    /// that is polled for the first time counts as changed: something may have happened since it
    /// was read.
    pub(crate) fn poll(&self, mut stamp: impl FnMut(&str) -> Result<Option<Stamp>, Errno>) -> Option<Hint> {
        let paths: Vec<(String, Key)> =
            self.state().paths.iter().map(|(path, key)| (path.clone(), key.clone())).collect();
        let mut keys = BTreeSet::new();
        for (path, key) in paths {
            let found = stamp(&path);
            let mut state = self.state();
            if state.polled.get(&path) != Some(&found) {
                state.polled.insert(path, found);
                keys.insert(key);
            }
        }
        (!keys.is_empty()).then_some(Hint::Changed { keys })
    }

    /// Forgets the polled states, because everything is watched from now on.
    pub(crate) fn end_polling(&self) {
        self.state().polled.clear();
    }

    /// Tries again to watch the directories for which there was no watch.
    pub(crate) fn watch_again(&self, root: &Root) {
        let folders: Vec<String> = self.state().unwatched.keys().cloned().collect();
        for path in folders {
            match root.folder(&path, Purpose::Look) {
                Ok(folder) => self.folder(root, &folder),
                // If it comes back, the watch of its parent directory notices.
                Err(_) => drop(self.state().unwatched.remove(&path)),
            }
        }
        self.report();
    }
}

impl State {
    fn gap(&self) -> Option<String> {
        let folders = || {
            let (folder, errno) = self.unwatched.first_key_value()?;
            let more = match self.unwatched.len() - 1 {
                0 => String::new(),
                more => format!(" and {more} more directories"),
            };
            Some(format!("{folder}{more} cannot be watched ({errno}): raise fs.inotify.max_user_watches"))
        };
        let gap = self.blind.clone().or_else(folders)?;
        Some(format!("{gap}; until then, changes are found by polling every {} s", POLL_INTERVAL.as_secs()))
    }

    fn is_watched(&self, folder: &Folder) -> bool {
        let Some(watched) = self.folders.get(&*folder.path) else { return false };
        let stamp = Stamp::of_open(folder.fd());
        stamp.is_ok_and(|stamp| (stamp.device, stamp.inode) == (watched.device, watched.inode))
    }

    fn watch_down_to(&mut self, events: &OwnedFd, root: &Root, folder: &str) {
        for path in std::iter::once("/").chain(folders_above(folder)).chain((folder != "/").then_some(folder)) {
            // The first directory that does not exist or cannot be opened is watched through its
            // parent.
            let Ok(folder) = root.folder(path, Purpose::Look) else { break };
            if !self.is_watched(&folder) {
                self.watch(events, &folder);
            }
        }
    }

    fn watch(&mut self, events: &OwnedFd, folder: &Folder) {
        let Ok(stamp) = Stamp::of_open(folder.fd()) else { return };
        let flags = WatchFlags::MODIFY
            | WatchFlags::ATTRIB
            | WatchFlags::CREATE
            | WatchFlags::DELETE
            | WatchFlags::MOVED_FROM
            | WatchFlags::MOVED_TO
            | WatchFlags::DELETE_SELF
            | WatchFlags::MOVE_SELF
            | WatchFlags::ONLYDIR;
        // By the descriptor: the path may lead elsewhere by now.
        let place = format!("/proc/self/fd/{}", folder.fd().as_raw_fd());
        match inotify::add_watch(events, place, flags) {
            Ok(watch) => {
                self.forget(&folder.path);
                self.unwatched.remove(&*folder.path);
                let watched = Watched { watch, device: stamp.device, inode: stamp.inode };
                self.folders.insert(folder.path.to_string(), watched);
                self.behind.entry(watch).or_default().insert(folder.path.to_string());
            }
            Err(errno) => {
                self.unwatched.insert(folder.path.to_string(), errno);
            }
        }
    }

    fn forget(&mut self, folder: &str) {
        let Some(watched) = self.folders.remove(folder) else { return };
        if let Some(behind) = self.behind.get_mut(&watched.watch) {
            behind.remove(folder);
        }
    }

    /// Collects the keys of the observed paths that an event affects.
    fn note(
        &mut self,
        watch: i32,
        what: ReadFlags,
        name: Option<&[u8]>,
        look: &impl Fn(&str) -> Result<Option<u64>, Errno>,
        keys: &mut BTreeSet<Key>,
    ) {
        let folders: Vec<String> = self.behind.get(&watch).into_iter().flatten().cloned().collect();
        for folder in &folders {
            match name.map(std::str::from_utf8) {
                Some(Ok(name)) => {
                    let path = join(folder, name);
                    if !self.is_own(&path, what, look) {
                        self.add_below(&path, keys);
                    }
                }
                // A name that is not UTF-8 is not an observed one.
                Some(Err(_)) => {}
                None => self.add_below(folder, keys),
            }
        }
        if what.intersects(ReadFlags::DELETE_SELF | ReadFlags::MOVE_SELF | ReadFlags::IGNORED | ReadFlags::UNMOUNT) {
            folders.iter().for_each(|folder| self.forget(folder));
            self.behind.remove(&watch);
        }
    }

    /// Reports whether an event comes from a write of Setpoint whose result is still in place.
    /// These writes only rename files, so a change *within* a file is never one of them.
    fn is_own(&mut self, path: &str, what: ReadFlags, look: &impl Fn(&str) -> Result<Option<u64>, Errno>) -> bool {
        let Some(left) = self.own.get(path) else { return false };
        let of_names = ReadFlags::MOVED_TO | ReadFlags::MOVED_FROM | ReadFlags::CREATE | ReadFlags::DELETE;
        let own = what.intersects(of_names) && look(path).is_ok_and(|stands| stands == *left);
        if !own {
            self.own.remove(path);
        }
        own
    }

    fn add_below(&self, path: &str, keys: &mut BTreeSet<Key>) {
        keys.extend(self.paths.get(path).cloned());
        let prefix = if path == "/" { "/".to_owned() } else { format!("{path}/") };
        let below = self.paths.range(prefix.clone()..).take_while(|(path, _)| path.starts_with(&prefix));
        keys.extend(below.map(|(_, key)| key.clone()));
    }
}
