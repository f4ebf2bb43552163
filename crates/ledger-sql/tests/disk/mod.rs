//! A simulated disk that separates written from synced data. It loses or tears the difference when
//! the power fails, and fails writes and syncs on demand. SIGKILL proves nothing about durability:
//! the page cache survives it.

use std::collections::{BTreeMap, BTreeSet};

pub(crate) mod vfs;

/// The unit that a disk writes at once. A torn write is cut at such a boundary.
const SECTOR: usize = 512;

/// The fault at the n-th operation that changes the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The power fails: this operation and all later ones do not happen.
    PowerLoss { at: u64 },
    /// Operations of one kind fail: only the n-th, or all from the n-th on.
    Refusal { of: Operation, at: u64, lasting: bool, full: bool },
    /// The file system turns read-only, as Linux remounts a damaged one. Nothing can be changed any
    /// more, and syncing, which has nothing to do, succeeds.
    ReadOnly { at: u64 },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Write,
    Sync,
    /// Truncating and removing files.
    Other,
}

/// The error of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    Full,
    Broken,
}

/// The fate of unsynced writes when the power fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Loss {
    /// All are lost.
    Drop,
    /// Each is written, lost, or torn.
    Tear,
    /// Some are written, in another order.
    Reorder,
}

#[derive(Clone, Debug)]
enum Change {
    Write { at: usize, bytes: Vec<u8> },
    Cut { length: usize },
}

impl Change {
    fn apply(&self, content: &mut Vec<u8>) {
        match self {
            Self::Cut { length } => content.truncate(*length),
            Self::Write { at, bytes } => {
                let end = at + bytes.len();
                if content.len() < end {
                    content.resize(end, 0);
                }
                content[*at..end].copy_from_slice(bytes);
            }
        }
    }
}

/// One file, as programs see it and as it is on the platter.
#[derive(Debug, Default)]
struct File {
    /// Reports whether programs see the file.
    present: bool,
    content: Vec<u8>,
    /// The synced content; `None` if its name is not on the platter yet.
    synced: Option<Vec<u8>>,
    pending: Vec<Change>,
    /// The lock level of each open handle.
    levels: BTreeMap<u64, i32>,
    /// The shared memory of the write-ahead index. A region must not move: SQLite holds pointers
    /// into it.
    regions: Vec<Box<[u8]>>,
    slots: [Slot; 8],
}

#[derive(Debug, Default)]
struct Slot {
    exclusive: Option<u64>,
    shared: BTreeSet<u64>,
}

#[derive(Debug, Default)]
pub(crate) struct Disk {
    files: BTreeMap<String, File>,
    handles: u64,
    open: u64,
    /// The number of operations that changed the disk so far, in total and by kind.
    operations: u64,
    sorts: BTreeMap<u8, u64>,
    fault: Option<Fault>,
    off: bool,
    /// Reports whether the fault has happened.
    struck: bool,
}

impl Disk {
    /// Replaces the disk with an empty one that has this fault.
    pub(crate) fn replace(&mut self, fault: Option<Fault>) {
        assert_eq!(self.open, 0, "a disk is not replaced while it is used");
        *self = Self { fault, ..Self::default() };
    }

    pub(crate) fn operations(&self) -> u64 {
        self.operations
    }

    pub(crate) fn has_struck(&self) -> bool {
        self.struck
    }

    pub(crate) fn has_power(&self) -> bool {
        !self.off
    }

    pub(crate) fn is_in_use(&self) -> bool {
        self.open > 0
    }

    /// Returns the content of a file as programs see it.
    pub(crate) fn content(&self, ending: &str) -> Vec<u8> {
        let found = self.files.iter().find(|(name, file)| name.ends_with(ending) && file.present);
        found.map(|(_, file)| file.content.clone()).unwrap_or_default()
    }

    /// Switches the power off and on again. Unsynced data is lost in the given way, and the fault
    /// is removed.
    pub(crate) fn power_cycle(&mut self, loss: Loss, dice: &mut impl FnMut(usize) -> usize) {
        assert_eq!(self.open, 0, "the process is gone when the power returns");
        (self.off, self.fault) = (false, None);
        for file in self.files.values_mut() {
            file.lose(loss, dice);
        }
        self.files.retain(|_, file| file.present);
    }

    /// Counts an operation. Fails if the operation does not happen.
    fn admit(&mut self, sort: Operation) -> Result<(), Refused> {
        let counted = self.sorts.entry(sort as u8).or_default();
        let (number, of_sort) = (self.operations, *counted);
        self.operations += 1;
        *counted += 1;
        if self.off {
            return Err(Refused::Broken);
        }
        match self.fault {
            Some(Fault::PowerLoss { at }) if at == number => {
                (self.off, self.struck) = (true, true);
                Err(Refused::Broken)
            }
            Some(Fault::Refusal { of, at, lasting, full })
                if of == sort && (of_sort == at || lasting && of_sort > at) =>
            {
                self.struck = true;
                Err(if full { Refused::Full } else { Refused::Broken })
            }
            Some(Fault::ReadOnly { at }) if number >= at && sort != Operation::Sync => {
                self.struck = true;
                Err(Refused::Broken)
            }
            _ => Ok(()),
        }
    }

    fn open_file(&mut self, name: &str, create: bool) -> Option<u64> {
        if self.off || !create && !self.exists(name) {
            return None;
        }
        let file = self.files.entry(name.to_owned()).or_default();
        if !file.present {
            file.present = true;
            file.content.clear();
            file.pending.push(Change::Cut { length: 0 });
        }
        self.handles += 1;
        self.open += 1;
        file.levels.insert(self.handles, 0);
        Some(self.handles)
    }

    fn close_file(&mut self, name: &str, handle: u64) {
        self.open -= 1;
        let file = self.file(name);
        file.levels.remove(&handle);
        for slot in &mut file.slots {
            slot.shared.remove(&handle);
            slot.exclusive.take_if(|owner| *owner == handle);
        }
    }

    fn exists(&self, name: &str) -> bool {
        self.files.get(name).is_some_and(|file| file.present)
    }

    fn file(&mut self, name: &str) -> &mut File {
        self.files.entry(name.to_owned()).or_default()
    }

    /// Fills `buffer`; bytes beyond the end of the file are zero. Reports whether the whole range
    /// exists.
    fn read(&mut self, name: &str, at: usize, buffer: &mut [u8]) -> Result<bool, Refused> {
        if self.off {
            return Err(Refused::Broken);
        }
        let content = &self.file(name).content;
        let there = content.get(at..).unwrap_or_default();
        let length = there.len().min(buffer.len());
        buffer[..length].copy_from_slice(&there[..length]);
        buffer[length..].fill(0);
        Ok(length == buffer.len())
    }

    fn write(&mut self, name: &str, at: usize, bytes: &[u8]) -> Result<(), Refused> {
        self.admit(Operation::Write)?;
        self.file(name).change(Change::Write { at, bytes: bytes.to_vec() });
        Ok(())
    }

    fn cut(&mut self, name: &str, length: usize) -> Result<(), Refused> {
        self.admit(Operation::Other)?;
        self.file(name).change(Change::Cut { length });
        Ok(())
    }

    fn sync(&mut self, name: &str) -> Result<(), Refused> {
        let admitted = self.admit(Operation::Sync);
        let off = self.off;
        let file = self.file(name);
        match admitted {
            Ok(()) => {
                file.synced = Some(file.content.clone());
                file.pending.clear();
            }
            // As on a real system: the pages stay readable but count as clean, and no later sync
            // writes them.
            Err(_) if !off => file.pending.clear(),
            Err(_) => {}
        }
        admitted
    }

    fn remove(&mut self, name: &str, synced: bool) -> Result<bool, Refused> {
        self.admit(Operation::Other)?;
        let there = self.exists(name);
        let file = self.file(name);
        (file.present, file.pending) = (false, Vec::new());
        if synced {
            file.synced = None;
        }
        Ok(there)
    }

    /// Takes a lock of SQLite's five levels. Reports whether it was free.
    fn lock(&mut self, name: &str, handle: u64, level: i32) -> bool {
        let file = self.file(name);
        let others = file.levels.iter().filter(|(other, _)| **other != handle).map(|(_, level)| *level);
        let highest = others.max().unwrap_or(0);
        let free = match level {
            1 => highest < 3,
            2 => highest < 2,
            _ => highest < 1,
        };
        if free {
            let held = file.levels.entry(handle).or_default();
            *held = level.max(*held);
        }
        free
    }

    fn unlock(&mut self, name: &str, handle: u64, level: i32) {
        self.file(name).levels.insert(handle, level);
    }

    fn is_reserved(&mut self, name: &str) -> bool {
        self.file(name).levels.values().any(|level| *level >= 2)
    }

    /// Returns a region of shared memory, or null if it does not exist and `make` is not set.
    fn region(&mut self, name: &str, number: usize, size: usize, make: bool) -> *mut u8 {
        let regions = &mut self.file(name).regions;
        while make && regions.len() <= number {
            regions.push(vec![0; size].into_boxed_slice());
        }
        regions.get_mut(number).map_or(std::ptr::null_mut(), |region| region.as_mut_ptr())
    }

    fn drop_regions(&mut self, name: &str) {
        self.file(name).regions.clear();
    }

    fn lock_slots(&mut self, name: &str, handle: u64, slots: std::ops::Range<usize>, exclusive: bool) -> bool {
        let slots = &mut self.file(name).slots[slots];
        let free = slots.iter().all(|slot| {
            slot.exclusive.is_none_or(|owner| owner == handle)
                && (!exclusive || slot.shared.iter().all(|owner| *owner == handle))
        });
        if free {
            for slot in slots {
                if exclusive {
                    slot.exclusive = Some(handle);
                } else {
                    slot.shared.insert(handle);
                }
            }
        }
        free
    }

    fn unlock_slots(&mut self, name: &str, handle: u64, slots: std::ops::Range<usize>, exclusive: bool) {
        for slot in &mut self.file(name).slots[slots] {
            if exclusive {
                slot.exclusive = None;
            } else {
                slot.shared.remove(&handle);
            }
        }
    }
}

impl File {
    fn change(&mut self, change: Change) {
        change.apply(&mut self.content);
        self.pending.push(change);
    }

    fn lose(&mut self, loss: Loss, dice: &mut impl FnMut(usize) -> usize) {
        let mut kept = std::mem::take(&mut self.pending);
        match loss {
            Loss::Drop => kept.clear(),
            Loss::Tear => kept = kept.into_iter().filter_map(|change| tear(change, dice)).collect(),
            Loss::Reorder => {
                kept.retain(|_| dice(2) == 0);
                for last in (1..kept.len()).rev() {
                    kept.swap(last, dice(last + 1));
                }
            }
        }
        // A name that was created or removed without a sync may or may not have reached the
        // platter.
        let removed = !self.present && self.synced.is_some() && loss != Loss::Drop && dice(2) == 0;
        let appeared = self.present && loss != Loss::Drop && dice(2) == 0;
        let platter = self.synced.take().or_else(|| appeared.then(Vec::new));
        self.present = platter.is_some() && !removed;
        let mut content = platter.unwrap_or_default();
        kept.iter().for_each(|change| change.apply(&mut content));
        *self = Self { present: self.present, synced: Some(content.clone()), content, ..Self::default() };
    }
}

/// Writes all of a change, none of it, or only its first or last sectors.
fn tear(change: Change, dice: &mut impl FnMut(usize) -> usize) -> Option<Change> {
    let Change::Write { at, bytes } = change else { return (dice(2) == 0).then_some(change) };
    let cut = (dice(bytes.len() / SECTOR + 1) * SECTOR).min(bytes.len());
    match dice(4) {
        0 => Some(Change::Write { at, bytes }),
        1 => None,
        2 => Some(Change::Write { at, bytes: bytes[..cut].to_vec() }),
        _ => Some(Change::Write { at: at + cut, bytes: bytes[cut..].to_vec() }),
    }
}
