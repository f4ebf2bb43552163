//! Watching the folders of what was looked at, so that a change is hinted at within milliseconds.
//!
//! A path is watched through its folder and through every folder above it, up to the root: one that is moved away or put back
//! tells of everything below it. A hint only says where to look again. Our own writes are not hinted at while what they put
//! there is what stands there; anything else that happens to a path is, even in the midst of them.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use rustix::io::Errno;
use setpoint_core::key::Key;
use setpoint_target::Hint;

use crate::disk::Folder;
use crate::path::{HostPath, folders_above, join};
use crate::resolve::{Purpose, Root};
use crate::stamp::Stamp;

/// How far the watch reaches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Watching {
    pub folders: usize,
    /// Why some folders are not watched: changes there are found only by the next regular look.
    pub gap: Option<String>,
}

#[derive(Debug)]
pub(crate) struct Watch {
    events: Result<OwnedFd, Errno>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Every path that was looked at.
    paths: BTreeMap<String, Key>,
    folders: BTreeMap<String, Watched>,
    /// The folders behind a watch: two paths may lead to one.
    behind: BTreeMap<i32, BTreeSet<String>>,
    /// What our last write left at a path: an inode, or nothing.
    own: BTreeMap<String, Option<u64>>,
    gap: Option<String>,
}

/// A folder as it was when the watch on it began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Watched {
    watch: i32,
    device: (u32, u32),
    inode: u64,
}

impl Watch {
    pub(crate) fn new() -> Self {
        let events = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC);
        let gap = events.as_ref().err().map(|errno| {
            format!("the kernel gives no watch ({errno}): raise fs.inotify.max_user_instances; until then only regular looks find changes")
        });
        Self { events, state: Mutex::new(State { gap, ..State::default() }) }
    }

    /// What becomes readable when something has happened; `None` where nothing can be watched.
    pub(crate) fn events(&self) -> Option<&OwnedFd> {
        self.events.as_ref().ok()
    }

    pub(crate) fn watching(&self) -> Watching {
        let state = self.state();
        Watching { folders: state.folders.len(), gap: state.gap.clone() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A panic elsewhere leaves at worst a folder unwatched until the next look.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on, what happens to this path is hinted at.
    pub(crate) fn path(&self, path: &HostPath) {
        let mut state = self.state();
        if !state.paths.contains_key(path.as_str()) {
            state.paths.insert(path.as_str().to_owned(), path.key().clone());
        }
    }

    /// Watches an open folder and those above it.
    pub(crate) fn folder(&self, root: &Root, folder: &Folder) {
        let Ok(events) = &self.events else { return };
        let mut state = self.state();
        if !state.is_watched(folder) {
            state.watch_down_to(events, root, &folder.path);
        }
    }

    /// Watches what there is on the way to a path whose folder cannot be opened.
    pub(crate) fn missing_folder(&self, root: &Root, path: &HostPath) {
        self.path(path);
        if let Ok(events) = &self.events {
            self.state().watch_down_to(events, root, path.folder());
        }
    }

    /// What a write of ours is about to leave at a path. Said before it happens, so that its event finds it.
    pub(crate) fn own_write(&self, path: &HostPath, inode: Option<u64>) {
        self.state().own.insert(path.as_str().to_owned(), inode);
    }

    /// It did not happen: whatever happens there now is somebody else's doing.
    pub(crate) fn no_own_write(&self, path: &HostPath) {
        self.state().own.remove(path.as_str());
    }

    /// Reads everything that has happened; `None` if there was nothing to hint at.
    pub(crate) fn take(&self, look: impl Fn(&str) -> Result<Option<u64>, Errno>) -> Option<Hint> {
        let events = self.events.as_ref().ok()?;
        let mut buffer = [MaybeUninit::uninit(); 16 << 10];
        let mut reader = inotify::Reader::new(events, &mut buffer);
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
}

impl State {
    fn is_watched(&self, folder: &Folder) -> bool {
        let Some(watched) = self.folders.get(&*folder.path) else { return false };
        let stamp = Stamp::of_open(folder.fd());
        stamp.is_ok_and(|stamp| (stamp.device, stamp.inode) == (watched.device, watched.inode))
    }

    fn watch_down_to(&mut self, events: &OwnedFd, root: &Root, folder: &str) {
        for path in std::iter::once("/").chain(folders_above(folder)).chain((folder != "/").then_some(folder)) {
            // The first that is not there, or that may not be opened, is watched through the one above it.
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
        // By the open folder: its path may lead elsewhere by now.
        let place = format!("/proc/self/fd/{}", folder.fd().as_raw_fd());
        match inotify::add_watch(events, place, flags) {
            Ok(watch) => {
                self.forget(&folder.path);
                let watched = Watched { watch, device: stamp.device, inode: stamp.inode };
                self.folders.insert(folder.path.to_string(), watched);
                self.behind.entry(watch).or_default().insert(folder.path.to_string());
            }
            Err(errno) => {
                let next = "raise fs.inotify.max_user_watches; until then only regular looks find changes there";
                self.gap = Some(format!("{} is not watched ({errno}): {next}", folder.path));
            }
        }
    }

    fn forget(&mut self, folder: &str) {
        let Some(watched) = self.folders.remove(folder) else { return };
        if let Some(behind) = self.behind.get_mut(&watched.watch) {
            behind.remove(folder);
        }
    }

    /// What one event says about the paths that were looked at.
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
                // A name that is no text is nobody's we know.
                Some(Err(_)) => {}
                None => self.add_below(folder, keys),
            }
        }
        if what.intersects(ReadFlags::DELETE_SELF | ReadFlags::MOVE_SELF | ReadFlags::IGNORED | ReadFlags::UNMOUNT) {
            folders.iter().for_each(|folder| self.forget(folder));
            self.behind.remove(&watch);
        }
    }

    /// Whether an event is of a write of ours, and what that left is what stands there. Our writes put names in place, and so
    /// a change of what is *in* a file is never one of them.
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
