//! The state of the world that the monitor judges by.

use std::collections::BTreeMap;
use std::sync::Arc;

use setpoint_core::bundle::Bundle;
use setpoint_core::digest::Digest;
use setpoint_core::facts::Facts;
use setpoint_core::intent::Verb;
use setpoint_core::key::Key;
use setpoint_core::name::AppId;
use setpoint_target::Work;
use setpoint_target::memory::MemoryWorld;

use super::DELETE_WINDOW;
use super::documents::Governed;
use crate::store::{Folder, SimStore};
use crate::universe::Universe;

/// The state of the world when an effect lands.
#[derive(Debug)]
pub struct Scene<'a> {
    pub now: u64,
    pub universe: &'a Universe,
    pub stores: &'a [SimStore],
    pub target: &'a MemoryWorld,
    pub facts: &'a Facts,
    pub bundles: &'a Bundles,
}

/// Every bundle that was ever recorded.
pub type Bundles = BTreeMap<Digest, Arc<Bundle>>;

impl Scene<'_> {
    /// Reports whether a create lands on an existing object of ours, on a target that creates one
    /// more object for each.
    pub(super) fn makes_one_more(&self, work: &Work) -> bool {
        let kind = self.universe.targets.iter().find(|kind| kind.identity == *self.target.identity());
        let again = work.step.verb == Verb::Create && kind.is_some_and(|kind| !kind.options.idempotent_create);
        again && self.target.objects().any(|(key, object)| *key == work.step.key && object.created_by.is_some())
    }

    /// Reports whether the app's directory was complete and did not declare the key at some time
    /// when the engine may have read it.
    pub(super) fn undeclared_lately(&self, app: &AppId, key: &Key, governed: &Governed) -> bool {
        let Some(n) = self.universe.apps.iter().position(|known| known == app) else { return false };
        let store = &self.stores[self.universe.store_of(n)];
        let owner = &self.universe.apps[self.universe.owner_of(n)];
        let since = self.now.saturating_sub(DELETE_WINDOW);
        let lacks = |folder: &Folder| matches!(folder, Folder::Declares(declared) if !declared.contains_key(key));
        // As intended, or at the place in the accepted documents while the directory was already
        // elsewhere.
        let named = |(folder, place): (&AppId, u32)| {
            store
                .recent(since)
                .any(|contents| contents.place_of(folder) == place && contents.folders.get(folder).is_some_and(lacks))
        };
        store.recent(since).filter_map(|contents| contents.folder_of(owner)).any(lacks)
            || governed.places(app).into_iter().any(named)
    }
}

/// The state of the world when something is recorded.
#[derive(Debug)]
pub struct Ledgered<'a> {
    pub now: u64,
    /// The instance that records it.
    pub writer: usize,
    pub universe: &'a Universe,
    pub stores: &'a [SimStore],
    pub targets: &'a [MemoryWorld],
    pub facts: &'a Facts,
    pub bundles: &'a Bundles,
}
