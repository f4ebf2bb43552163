//! What a render read of a version: every file, every listing, and everything it looked for and
//! missed.
//!
//! An app is skipped on a new version only if all of it resolves the same there. The property that
//! makes this sound is tested over random trees and readers: if a [`ReadSet`] holds on a tree,
//! reading again gives equal results.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use crate::error::StoreError;
use crate::path::StorePath;
use crate::tree::{Blob, EntryId, EntryKind, Listing, ObjectId, Tree};

/// Everything that was asked of a tree and what the answer rested on; `None` is an absence.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReadSet {
    /// Files that were read.
    files: BTreeMap<StorePath, Option<ObjectId>>,
    /// Folders that were listed.
    folders: BTreeMap<StorePath, Option<ObjectId>>,
    /// Paths that were looked up without reading.
    entries: BTreeMap<StorePath, Option<EntryId>>,
    /// Paths of which was asked where they really are.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    real: BTreeMap<StorePath, Option<StorePath>>,
    /// A question failed: what was made of it must not be taken for what another reading would
    /// make.
    failed: bool,
}

impl ReadSet {
    /// Whether everything read, listed or missed resolves the same on another tree of the same
    /// store. What that version itself is to blame for, such as a link that leads nowhere good,
    /// does not: whoever reads it tells where it is.
    pub fn holds_on(&self, tree: &dyn Tree) -> Result<bool, StoreError> {
        match self.resolves_on(tree) {
            Err(StoreError::Refused { .. } | StoreError::Vanished { .. }) => Ok(false),
            resolves => resolves,
        }
    }

    fn resolves_on(&self, tree: &dyn Tree) -> Result<bool, StoreError> {
        if self.failed {
            return Ok(false);
        }
        for (path, read) in &self.files {
            if file(tree.id_at(path)?) != *read {
                return Ok(false);
            }
        }
        for (path, listed) in &self.folders {
            if folder(tree.id_at(path)?) != *listed {
                return Ok(false);
            }
        }
        for (path, seen) in &self.entries {
            if tree.id_at(path)? != *seen {
                return Ok(false);
            }
        }
        for (path, real) in &self.real {
            if tree.real_path(path)? != *real {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// How many different questions were asked.
    pub fn len(&self) -> usize {
        self.files.len() + self.folders.len() + self.entries.len() + self.real.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The id [`Tree::read`] would answer with for what a path leads to.
fn file(entry: Option<EntryId>) -> Option<ObjectId> {
    entry.filter(|entry| entry.kind.is_file()).map(|entry| entry.id)
}

/// The id [`Tree::list`] would answer with for what a path leads to.
fn folder(entry: Option<EntryId>) -> Option<ObjectId> {
    entry.filter(|entry| entry.kind == EntryKind::Directory).map(|entry| entry.id)
}

/// A tree that remembers what was asked of it.
#[derive(Debug)]
pub struct Recording<'a> {
    tree: &'a dyn Tree,
    reads: Mutex<ReadSet>,
}

impl<'a> Recording<'a> {
    pub fn new(tree: &'a dyn Tree) -> Self {
        Self { tree, reads: Mutex::default() }
    }

    /// The tree itself. What is asked of it is not remembered.
    pub fn tree(&self) -> &'a dyn Tree {
        self.tree
    }

    /// What was asked so far.
    pub fn into_reads(self) -> ReadSet {
        self.reads.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    fn note<T>(&self, answer: Result<T, StoreError>, note: impl FnOnce(&mut ReadSet, &T)) -> Result<T, StoreError> {
        // A set is whole after every insert, so a panic elsewhere while it was locked leaves
        // nothing half done.
        let mut reads = self.reads.lock().unwrap_or_else(PoisonError::into_inner);
        match &answer {
            Ok(answer) => note(&mut reads, answer),
            Err(_) => reads.failed = true,
        }
        answer
    }
}

impl Tree for Recording<'_> {
    fn read(&self, path: &StorePath) -> Result<Option<Blob>, StoreError> {
        self.note(self.tree.read(path), |reads, blob| {
            reads.files.insert(path.clone(), blob.as_ref().map(|blob| blob.id.clone()));
        })
    }

    fn list(&self, path: &StorePath) -> Result<Option<Listing>, StoreError> {
        self.note(self.tree.list(path), |reads, listing| {
            reads.folders.insert(path.clone(), listing.as_ref().map(|listing| listing.id.clone()));
        })
    }

    fn id_at(&self, path: &StorePath) -> Result<Option<EntryId>, StoreError> {
        self.note(self.tree.id_at(path), |reads, entry| {
            reads.entries.insert(path.clone(), entry.clone());
        })
    }

    fn real_path(&self, path: &StorePath) -> Result<Option<StorePath>, StoreError> {
        self.note(self.tree.real_path(path), |reads, real| {
            reads.real.insert(path.clone(), real.clone());
        })
    }
}
