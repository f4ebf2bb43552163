//! A cache of reads and renders in a world. Reading is a function of the content (S12), so equal
//! content is not read again: parsing the same YAML was most of the cost of a run. Every sixteenth
//! cached result is computed again and must be equal.
//!
//! Only the accept plane's results are kept here, never whether a render may be skipped: that is
//! decided each time. The full renders that skips are judged by never come from the cache.

use std::collections::BTreeMap;
use std::sync::Arc;

use setpoint_core::bundle::Bundle;
use setpoint_core::digest::Digest;
use setpoint_engine::accept::{AppSource, Considered, ControlDocuments, consider};
use setpoint_render::{Problem, Trees};
use setpoint_store::{MemoryTree, ObjectId, StorePath, Tree};

use crate::accept_plane::Candidate;
use crate::repository::Things;
use crate::universe::families;

/// One in so many cached results is computed again.
const WORKED_OUT_ANEW: u64 = 16;

/// The cache of a world for all of its instances.
#[derive(Debug, Default)]
pub(crate) struct Recall {
    /// Candidates of the root app, by the directory of control documents.
    folders: Remembered<ObjectId, Candidate>,
    /// Accepted control documents, by the bundle that contains them.
    documents: Remembered<Digest, Result<Arc<ControlDocuments>, Vec<Problem>>>,
    /// Full renders, by the source of the app and the directories it names.
    renders: Remembered<(Digest, Vec<ObjectId>), Considered>,
}

impl Recall {
    /// Returns the candidate of the control documents below a directory.
    pub(crate) fn control_candidate(
        &mut self,
        tree: &MemoryTree,
        folder: &StorePath,
        read: impl FnOnce() -> Candidate,
    ) -> Candidate {
        match tree.id_at(folder) {
            Ok(Some(entry)) => self.folders.answer(entry.id, read),
            Ok(None) | Err(_) => read(),
        }
    }

    /// Returns the control documents that an accepted bundle contains.
    pub(crate) fn documents(&mut self, bundle: &Bundle) -> Result<Arc<ControlDocuments>, Vec<Problem>> {
        self.documents.answer(bundle.digest(), || ControlDocuments::from_bundle(bundle, &families()).map(Arc::new))
    }

    /// Returns a full render. Directories contain no links, so a render reads only the directories
    /// of its source.
    pub(crate) fn render(&mut self, source: &AppSource, trees: &Trees) -> Considered {
        let read = || consider(source, trees, None, &Things);
        let id = |input: &setpoint_render::Input| Some(trees.get(&input.store)?.id_at(&input.path).ok()??.id);
        match source.inputs.iter().map(id).collect() {
            Some(folders) => self.renders.answer((source.recipe(), folders), read),
            None => read(),
        }
    }

    /// Returns a contradiction: a second read with another result than the cached one.
    pub(crate) fn contradiction(&self) -> Option<&str> {
        let found = [&self.folders.contradiction, &self.documents.contradiction, &self.renders.contradiction];
        found.into_iter().find_map(Option::as_deref)
    }
}

/// Results by the content that they are a function of.
#[derive(Debug)]
struct Remembered<K, V> {
    answers: BTreeMap<K, V>,
    /// The number of results from the cache.
    given: u64,
    contradiction: Option<String>,
}

impl<K, V> Default for Remembered<K, V> {
    fn default() -> Self {
        Self { answers: BTreeMap::new(), given: 0, contradiction: None }
    }
}

impl<K: Ord + std::fmt::Debug, V: Clone + PartialEq> Remembered<K, V> {
    fn answer(&mut self, key: K, read: impl FnOnce() -> V) -> V {
        let Some(known) = self.answers.get(&key) else {
            return self.answers.entry(key).or_insert_with(read).clone();
        };
        self.given += 1;
        if self.given.is_multiple_of(WORKED_OUT_ANEW) && read() != *known {
            self.contradiction.get_or_insert_with(|| format!("{key:?} was read twice, with different outcomes"));
        }
        known.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_content_is_read_once_until_an_answer_is_worked_out_anew() {
        let (mut remembered, mut reads) = (Remembered::default(), 0);
        for _ in 0..WORKED_OUT_ANEW {
            remembered.answer("folder", || reads += 1);
        }
        assert_eq!(reads, 1);
        remembered.answer("folder", || reads += 1);
        assert_eq!(reads, 2);
        assert_eq!(remembered.contradiction, None);
    }

    #[test]
    fn content_that_reads_differently_the_second_time_is_found_out() {
        let mut remembered = Remembered::default();
        for reading in 0..=WORKED_OUT_ANEW {
            remembered.answer("folder", || reading);
        }
        assert!(remembered.contradiction.is_some());
    }

    #[test]
    fn different_content_is_never_answered_from_memory() {
        let mut remembered = Remembered::default();
        assert_eq!(remembered.answer("one", || 1), 1);
        assert_eq!(remembered.answer("two", || 2), 2);
        assert_eq!(remembered.answer("one", || 3), 1);
    }
}
