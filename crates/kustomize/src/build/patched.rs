//! Resources that are being patched, and what they are called: a patch that names one finds it
//! without going through all of them.

use std::collections::BTreeSet;

use super::names::Names;
use crate::resource::Resource;
use crate::selector::Scope;

/// So many selectors go through all resources before it is worth to know what they are called.
pub(super) const FEW: usize = 8;

/// Resources that are being patched. One that a patch takes away stays until the last patch is
/// done, so that the places of others hold.
pub(super) struct Patched<'r> {
    all: &'r mut Vec<Resource>,
    /// None until somebody asks.
    names: Option<Names>,
    gone: BTreeSet<usize>,
    /// How often a selector was asked.
    pub(super) asked: usize,
}

impl<'r> Patched<'r> {
    pub(super) fn new(all: &'r mut Vec<Resource>) -> Self {
        Self { all, names: None, gone: BTreeSet::new(), asked: 0 }
    }

    /// Those that are not gone, and where they stand.
    pub(super) fn there(&self) -> impl Iterator<Item = (usize, &Resource)> {
        self.all.iter().enumerate().filter(|(at, _)| !self.gone.contains(at))
    }

    pub(super) fn there_at(&self, places: BTreeSet<usize>) -> impl Iterator<Item = (usize, &Resource)> {
        places.into_iter().filter_map(|at| Some((at, self.all.get(at)?)))
    }

    pub(super) fn resource(&mut self, at: usize) -> &mut Resource {
        &mut self.all[at]
    }

    /// What those that are not gone are and were called.
    pub(super) fn names(&mut self, scope: Scope<'_>) -> &mut Names {
        let names = match self.names.take() {
            Some(names) => names,
            None => Names::of(self.there(), scope),
        };
        self.names.insert(names)
    }

    /// Before one is changed.
    pub(super) fn forget(&mut self, at: usize, scope: Scope<'_>) {
        if let Some(names) = &mut self.names {
            names.forget(at, &self.all[at], scope);
        }
    }

    /// After one was changed.
    pub(super) fn learn(&mut self, at: usize, scope: Scope<'_>) {
        if let Some(names) = &mut self.names {
            names.learn(at, &self.all[at], scope);
        }
    }

    /// Takes one away that was forgotten.
    pub(super) fn remove(&mut self, at: usize) {
        if let Some(names) = &mut self.names {
            names.remove(at);
        }
        self.gone.insert(at);
    }

    /// Those that are left, for whoever goes through all of them.
    pub(super) fn rest(&mut self) -> &mut [Resource] {
        if !self.gone.is_empty() {
            self.names = None;
            let gone = std::mem::take(&mut self.gone);
            let mut at = 0..;
            self.all.retain(|_| at.next().is_none_or(|at| !gone.contains(&at)));
        }
        self.all
    }

    /// Takes away what is gone.
    pub(super) fn end(mut self) {
        self.rest();
    }
}
