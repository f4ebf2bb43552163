//! Finds missing objects by one list of names instead of a request for each object.
//!
//! An app that is new on a cluster mostly finds none of its objects. A list is a quorum read like
//! any other. One that could not be read to its end proves nothing, and then each object is read.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use setpoint_core::key::Key;
use setpoint_core::resource::Resource;

use crate::cluster::Cluster;
use crate::requests::{Collection, Form, PAGE, Urgency};
use crate::watch::pages::Listing;

/// From this many objects of a kind in one namespace on, a list costs less than reading each.
const WORTH_A_LIST: usize = 8;
/// A list also returns the other objects of the kind. With this many times as many of them, reading
/// each object costs less.
const MOST_BESIDE: usize = 16;

/// A key to find, with its declaration if it has one.
pub(crate) type Sought = (Key, Option<Arc<Resource>>);

impl Cluster {
    /// Returns the keys that are missing according to a list.
    pub(crate) async fn absent_by_lists(&self, sought: &[Sought]) -> BTreeSet<Key> {
        let mut absent = BTreeSet::new();
        for kind in self.unknown_by_kind(sought).into_values().filter(|kind| kind.len() >= WORTH_A_LIST) {
            let (key, declared) = kind[0];
            if self.records.are_beyond(key, kind.len() * MOST_BESIDE) {
                continue;
            }
            let Ok(collection) = self.collection(key, declared.as_deref()).await else { continue };
            let Some(names) = self.few_names_in(&collection, kind.len()).await else { continue };
            let missing = kind.into_iter().map(|(key, _)| key).filter(|key| !names.contains(key.name()));
            absent.extend(missing.cloned());
        }
        absent
    }

    /// Returns the keys without a record, by kind and namespace.
    fn unknown_by_kind<'s>(&self, sought: &'s [Sought]) -> BTreeMap<(&'s str, &'s str), Vec<&'s Sought>> {
        let mut kinds: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for one in sought {
            if !self.records.has(&one.0) {
                kinds.entry((one.0.class(), one.0.namespace())).or_default().push(one);
            }
        }
        kinds
    }

    /// Returns the names of all objects of a kind. Returns `None` if there are so many more than
    /// the keys sought that reading each costs less, or if the list fails.
    async fn few_names_in(&self, collection: &Collection, sought: usize) -> Option<BTreeSet<String>> {
        let listing = Listing {
            selection: None,
            form: Form::Metadata,
            urgency: Urgency::Drift,
            pages: 1 + sought.div_ceil(PAGE),
        };
        self.some_names_in(collection, listing).await.ok().flatten()
    }
}
