//! What resources are called, kept beside the list of them: whoever adds a resource or looks for one by its name does not go through the list each time.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::identity::{Gvk, Id};
use crate::resource::Resource;
use crate::selector::Scope;

/// Two ids that are the same have the same. The name comes first, for it tells most of them apart; a namespace that is the default one is empty.
type Name = (Arc<str>, Gvk, bool, Arc<str>);

fn name(id: &Id) -> Name {
    let is_nowhere = id.is_in_no_namespace();
    let is_any = is_nowhere || id.is_in_default_namespace();
    let namespace = if is_any { Arc::default() } else { Arc::clone(&id.namespace) };
    (Arc::clone(&id.name), id.gvk.clone(), is_nowhere, namespace)
}

/// What the resources of a list are called now.
#[derive(Debug, Default)]
pub(super) struct Registered(BTreeSet<Name>);

impl Registered {
    pub(super) fn of(all: &[Resource], scope: Scope<'_>) -> Self {
        Self(all.iter().map(|resource| name(&resource.id(scope))).collect())
    }

    pub(super) fn has(&self, id: &Id) -> bool {
        self.0.contains(&name(id))
    }

    /// Whether nothing was called so.
    pub(super) fn add(&mut self, id: &Id) -> bool {
        self.0.insert(name(id))
    }
}

/// What the resources of a list are and were called, and where they stand.
#[derive(Debug, Default)]
pub(super) struct Names {
    /// How many are called so now.
    current: BTreeMap<Name, usize>,
    /// Where those are that are or were called so.
    places: BTreeMap<Name, BTreeSet<usize>>,
    /// How many names are those of several.
    shared: usize,
}

impl Names {
    pub(super) fn of<'r>(all: impl Iterator<Item = (usize, &'r Resource)>, scope: Scope<'_>) -> Self {
        let mut names = Self::default();
        for (at, resource) in all {
            names.learn(at, resource, scope);
        }
        names
    }

    pub(super) fn learn(&mut self, at: usize, resource: &Resource, scope: Scope<'_>) {
        let current = name(&resource.id(scope));
        for former in resource.former_ids() {
            self.places.entry(name(&former)).or_default().insert(at);
        }
        self.places.entry(current.clone()).or_default().insert(at);
        let count = self.current.entry(current).or_default();
        *count += 1;
        self.shared += usize::from(*count == 2);
    }

    /// Forgets a resource, which has to be as it was when it was learnt.
    pub(super) fn forget(&mut self, at: usize, resource: &Resource, scope: Scope<'_>) {
        let current = name(&resource.id(scope));
        for gone in resource.former_ids().map(|former| name(&former)).chain([current.clone()]) {
            if let Some(places) = self.places.get_mut(&gone) {
                places.remove(&at);
            }
        }
        if let Some(count) = self.current.get_mut(&current) {
            *count -= 1;
            self.shared -= usize::from(*count == 1);
        }
    }

    /// Where those are that are or were called so, in their order.
    pub(super) fn places(&self, id: &Id) -> impl ExactSizeIterator<Item = usize> {
        self.places.get(&name(id)).map(|places| places.iter()).unwrap_or_default().copied()
    }

    /// Where those are that have or had a name, of whatever kind they are.
    pub(super) fn called(&self, wanted: &str) -> BTreeSet<usize> {
        let first: Name = (wanted.into(), Gvk::default(), false, Arc::default());
        let same = self.places.range(first..).take_while(|((name, ..), _)| **name == *wanted);
        same.flat_map(|(_, places)| places).copied().collect()
    }

    /// Whether no two are called the same now.
    pub(super) fn are_distinct(&self) -> bool {
        self.shared == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::resources;
    use crate::origin::Origin;

    fn maps(names: &[&str]) -> Vec<Resource> {
        let map = |name: &&str| format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\n");
        let text: Vec<String> = names.iter().map(map).collect();
        resources("maps.yaml", &text.join("---\n"), Origin::default()).unwrap()
    }

    #[test]
    fn names_follow_what_resources_are_called_and_where_they_were() {
        let scope: Scope<'_> = &|_| false;
        let mut all = maps(&["a", "b"]);
        let (a, b) = (all[0].id(scope), all[1].id(scope));
        let mut names = Names::of(all.iter().enumerate(), scope);
        assert!(names.places(&a).eq([0]) && names.are_distinct());
        names.forget(0, &all[0], scope);
        all[0].note_former(scope).unwrap();
        super::super::patches::set_metadata(&mut all[0].node, "name", "b", Origin::default());
        names.learn(0, &all[0], scope);
        assert!(names.places(&a).eq([0]), "what was called so is still found");
        assert!(names.places(&b).eq([0, 1]) && !names.are_distinct());
        assert_eq!((names.called("a"), names.called("b")), ([0].into(), [0, 1].into()));
        names.forget(1, &all[1], scope);
        assert!(names.places(&b).eq([0]) && names.are_distinct());
    }
}
