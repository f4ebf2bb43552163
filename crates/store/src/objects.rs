//! Directories and files by id, and their conversion to a [`Tree`], which is the same for all
//! stores that have such objects.

use std::fmt;
use std::sync::Arc;

use crate::error::StoreError;
use crate::path::{StorePath, shown};
use crate::tree::{Blob, Entry, EntryId, EntryKind, Listing, ObjectId, Tree};

/// The most symbolic links on one path.
pub const MAX_HOPS: usize = 8;

/// Immutable directories and files, found by id.
pub trait Objects: Send + Sync + fmt::Debug {
    /// Returns a directory's entries, sorted by name. A missing id is [`StoreError::Damaged`],
    /// because another object refers to it.
    fn folder(&self, id: &ObjectId) -> Result<Arc<[Entry]>, StoreError>;

    /// Returns the bytes of a file or link.
    fn blob(&self, id: &ObjectId) -> Result<Arc<[u8]>, StoreError>;
}

/// A tree made of objects. Links are followed within it and never out of it.
#[derive(Clone, Debug)]
pub struct ObjectTree<O> {
    objects: O,
    root: ObjectId,
}

impl<O: Objects> ObjectTree<O> {
    pub fn new(objects: O, root: ObjectId) -> Self {
        Self { objects, root }
    }

    pub fn root(&self) -> &ObjectId {
        &self.root
    }

    pub fn objects(&self) -> &O {
        &self.objects
    }
}

impl<O: Objects> Tree for ObjectTree<O> {
    fn read(&self, path: &StorePath) -> Result<Option<Blob>, StoreError> {
        match self.id_at(path)? {
            Some(EntryId { kind, id }) if kind.is_file() => {
                let bytes = self.objects.blob(&id)?;
                Ok(Some(Blob { id, bytes }))
            }
            _ => Ok(None),
        }
    }

    fn list(&self, path: &StorePath) -> Result<Option<Listing>, StoreError> {
        match self.id_at(path)? {
            Some(EntryId { kind: EntryKind::Directory, id }) => {
                let entries = self.objects.folder(&id)?;
                Ok(Some(Listing { id, entries }))
            }
            _ => Ok(None),
        }
    }

    fn id_at(&self, path: &StorePath) -> Result<Option<EntryId>, StoreError> {
        Ok(follow(&self.objects, &self.root, path)?.pop().map(|(_, entry)| entry))
    }

    fn real_path(&self, path: &StorePath) -> Result<Option<StorePath>, StoreError> {
        let way = follow(&self.objects, &self.root, path)?;
        let Some(((root, _), names)) = way.split_first() else { return Ok(None) };
        debug_assert!(root.is_empty(), "the root has no name");
        let joined = names.iter().try_fold(StorePath::root(), |folder, (name, _)| folder.join(name));
        joined.map(Some).map_err(|bad| bad_link(path, &format!("leads to {bad}")))
    }
}

/// Walks a path from the root, through links, and returns the steps: the root without a name, then
/// each entry below it by name. Returns nothing if a component is missing, or is a file instead of
/// a directory.
pub(crate) fn follow(
    objects: &(impl Objects + ?Sized),
    root: &ObjectId,
    path: &StorePath,
) -> Result<Vec<(String, EntryId)>, StoreError> {
    let root = EntryId { kind: EntryKind::Directory, id: root.clone() };
    // The components that remain, the next one last; and the directories already entered, for `..`
    // in link targets.
    let mut ahead: Vec<String> = path.components().rev().map(str::to_owned).collect();
    let mut behind = vec![(String::new(), root)];
    let mut hops = 0;
    while let Some(name) = ahead.pop() {
        if name == ".." {
            behind.pop();
            if behind.is_empty() {
                return Err(leads_out(path));
            }
            continue;
        }
        let (_, here) = behind.last().expect("the root is never popped without returning");
        if here.kind != EntryKind::Directory {
            return Ok(Vec::new());
        }
        let entries = objects.folder(&here.id)?;
        let Ok(at) = entries.binary_search_by(|entry| entry.name.as_ref().cmp(name.as_str())) else {
            return Ok(Vec::new());
        };
        let entry = &entries[at];
        if entry.kind != EntryKind::Symlink {
            behind.push((name, EntryId { kind: entry.kind, id: entry.id.clone() }));
            continue;
        }
        hops += 1;
        if hops > MAX_HOPS {
            return Err(too_many_hops(path));
        }
        let target = link_target(path, &objects.blob(&entry.id)?)?;
        ahead.extend(target.into_iter().rev());
    }
    Ok(behind)
}

/// Returns the components of a link's text: names and `..`.
fn link_target(path: &StorePath, bytes: &[u8]) -> Result<Vec<String>, StoreError> {
    let text = std::str::from_utf8(bytes).ok().filter(|text| !text.is_empty() && text.len() <= crate::path::MAX_BYTES);
    let Some(text) = text else {
        return Err(bad_link(path, "does not hold a path"));
    };
    if text.starts_with('/') {
        return Err(leads_out(path));
    }
    let parts = text.split('/').filter(|part| !part.is_empty() && *part != ".");
    let checked = parts.map(|part| match crate::path::component_problem(part) {
        Some(_) if part != ".." => Err(bad_link(path, "holds a path with a backslash or control characters")),
        _ => Ok(part.to_owned()),
    });
    checked.collect()
}

fn leads_out(path: &StorePath) -> StoreError {
    bad_link(path, "leads out of the tree")
}

fn too_many_hops(path: &StorePath) -> StoreError {
    bad_link(path, "goes in a circle or through more than 8 links")
}

fn bad_link(path: &StorePath, problem: &str) -> StoreError {
    StoreError::refused(
        format!("the symbolic link at or above `{}` {problem}", shown(path.as_str())),
        "link only within the same tree, or commit the file itself",
    )
}
