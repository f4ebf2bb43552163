//! The reads of a render in a version: every file, every listing, and every path it missed.
//!
//! A new version is skipped for an app only if all of its reads resolve the same there. The
//! property that makes this sound is tested over random trees and readers: if a [`ReadSet`] holds
//! on a tree, reading again gives equal results.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use crate::error::StoreError;
use crate::path::StorePath;
use crate::tree::{Blob, EntryId, EntryKind, Listing, ObjectId, Tree};

/// All queries of a tree, with their results; `None` is an absence.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReadSet {
    /// The files that were read.
    files: BTreeMap<StorePath, Option<ObjectId>>,
    /// The directories that were listed.
    folders: BTreeMap<StorePath, Option<ObjectId>>,
    /// The paths that were queried without reading.
    entries: BTreeMap<StorePath, Option<EntryId>>,
    /// The paths that were resolved to paths without links.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    real: BTreeMap<StorePath, Option<StorePath>>,
    /// Set when a query failed: the result of such a read does not predict that of another.
    failed: bool,
}

impl ReadSet {
    /// Reports whether every file, listing and missed path resolves the same on another tree of the
    /// same store. A mistake in that version, such as a link out of the tree, counts as a change:
    /// the next reader reports its place.
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

    /// Returns the number of different queries.
    pub fn len(&self) -> usize {
        self.files.len() + self.folders.len() + self.entries.len() + self.real.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Returns the id that [`Tree::read`] would return for this entry.
fn file(entry: Option<EntryId>) -> Option<ObjectId> {
    entry.filter(|entry| entry.kind.is_file()).map(|entry| entry.id)
}

/// Returns the id that [`Tree::list`] would return for this entry.
fn folder(entry: Option<EntryId>) -> Option<ObjectId> {
    entry.filter(|entry| entry.kind == EntryKind::Directory).map(|entry| entry.id)
}

/// A tree that records the queries to it.
#[derive(Debug)]
pub struct Recording<'a> {
    tree: &'a dyn Tree,
    reads: Mutex<ReadSet>,
}

impl<'a> Recording<'a> {
    pub fn new(tree: &'a dyn Tree) -> Self {
        Self { tree, reads: Mutex::default() }
    }

    /// Returns the tree itself. Queries to it are not recorded.
    pub fn tree(&self) -> &'a dyn Tree {
        self.tree
    }

    /// Returns the queries so far.
    pub fn into_reads(self) -> ReadSet {
        self.reads.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    fn note<T>(&self, answer: Result<T, StoreError>, note: impl FnOnce(&mut ReadSet, &T)) -> Result<T, StoreError> {
        // A set is valid after every insert, so a panic elsewhere while it was locked leaves no
        // partial change.
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
