//! Resources while they are patched, with their names: a patch that names a resource finds it
//! without a search through all of them.

use std::collections::BTreeSet;

use super::names::Names;
use crate::resource::Resource;
use crate::selector::Scope;

/// The number of selectors that search all resources before building the index of names pays off.
pub(super) const FEW: usize = 8;

/// Resources while they are patched. A resource deleted by a patch remains until the last patch is
/// done, so that the positions of the others stay valid.
pub(super) struct Patched<'r> {
    all: &'r mut Vec<Resource>,
    /// Built on first use.
    names: Option<Names>,
    gone: BTreeSet<usize>,
    /// The number of times that a selector was applied.
    pub(super) asked: usize,
}

impl<'r> Patched<'r> {
    pub(super) fn new(all: &'r mut Vec<Resource>) -> Self {
        Self { all, names: None, gone: BTreeSet::new(), asked: 0 }
    }

    /// Returns the resources that are not deleted, with their positions.
    pub(super) fn there(&self) -> impl Iterator<Item = (usize, &Resource)> {
        self.all.iter().enumerate().filter(|(at, _)| !self.gone.contains(at))
    }

    pub(super) fn there_at(&self, places: BTreeSet<usize>) -> impl Iterator<Item = (usize, &Resource)> {
        places.into_iter().filter_map(|at| Some((at, self.all.get(at)?)))
    }

    pub(super) fn resource(&mut self, at: usize) -> &mut Resource {
        &mut self.all[at]
    }

    /// Returns the current and former names of the resources that are not deleted.
    pub(super) fn names(&mut self, scope: Scope<'_>) -> &mut Names {
        let names = match self.names.take() {
            Some(names) => names,
            None => Names::of(self.there(), scope),
        };
        self.names.insert(names)
    }

    /// Call before a resource is changed.
    pub(super) fn forget(&mut self, at: usize, scope: Scope<'_>) {
        if let Some(names) = &mut self.names {
            names.forget(at, &self.all[at], scope);
        }
    }

    /// Call after a resource was changed.
    pub(super) fn learn(&mut self, at: usize, scope: Scope<'_>) {
        if let Some(names) = &mut self.names {
            names.learn(at, &self.all[at], scope);
        }
    }

    /// Deletes a resource, after [`Self::forget`].
    pub(super) fn remove(&mut self, at: usize) {
        if let Some(names) = &mut self.names {
            names.remove(at);
        }
        self.gone.insert(at);
    }

    /// Drops deleted resources and returns the rest.
    pub(super) fn rest(&mut self) -> &mut [Resource] {
        if !self.gone.is_empty() {
            self.names = None;
            let gone = std::mem::take(&mut self.gone);
            let mut at = 0..;
            self.all.retain(|_| at.next().is_none_or(|at| !gone.contains(&at)));
        }
        self.all
    }

    /// Drops deleted resources.
    pub(super) fn end(mut self) {
        self.rest();
    }
}
