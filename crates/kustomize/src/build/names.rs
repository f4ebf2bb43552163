//! An index of the names of resources, so that adding a resource or finding one by name does not
//! search the whole list.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::identity::{Gvk, Id};
use crate::resource::Resource;
use crate::selector::Scope;

/// Equal for equal ids. The name comes first, because it distinguishes most of them; the default
/// namespace is empty.
type Name = (Arc<str>, Gvk, bool, Arc<str>);

fn name(id: &Id) -> Name {
    let is_nowhere = id.is_in_no_namespace();
    let is_any = is_nowhere || id.is_in_default_namespace();
    let namespace = if is_any { Arc::default() } else { Arc::clone(&id.namespace) };
    (Arc::clone(&id.name), id.gvk.clone(), is_nowhere, namespace)
}

/// The current names of the resources in a list.
#[derive(Debug, Default)]
pub(super) struct Registered(BTreeSet<Name>);

impl Registered {
    pub(super) fn of(all: &[Resource], scope: Scope<'_>) -> Self {
        Self(all.iter().map(|resource| name(&resource.id(scope))).collect())
    }

    /// Adds a name and reports whether it is new.
    pub(super) fn add(&mut self, id: &Id) -> bool {
        self.0.insert(name(id))
    }
}

/// The current and former names of the resources in a list, and their positions.
///
/// Recorded former names remain, however often a resource is changed: there may be as many of them
/// as there are patches.
#[derive(Debug, Default)]
pub(super) struct Names {
    /// The positions of the resources that have a name now.
    current: BTreeMap<Name, BTreeSet<usize>>,
    /// The positions of the resources that had a name, regardless of group and version: a former id
    /// has the resource's current ones.
    former: BTreeMap<FormerName, BTreeSet<usize>>,
    learnt: BTreeMap<usize, Learnt>,
    /// The number of names that several resources have.
    shared: usize,
}

type FormerName = (Arc<str>, Arc<str>, bool, Arc<str>);

/// The recorded names of a resource.
#[derive(Debug, Default)]
struct Learnt {
    group: Arc<str>,
    version: Arc<str>,
    former: Vec<FormerName>,
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
        let learnt = self.learnt.entry(at).or_default();
        (learnt.group, learnt.version) = (Arc::clone(&current.1.group), Arc::clone(&current.1.version));
        // Former names only grow, unless a step cleared all of them.
        if resource.former.len() < learnt.former.len() {
            forget_former(&mut self.former, learnt, at);
        }
        for former in &resource.former[learnt.former.len()..] {
            let (name, gvk, is_nowhere, namespace) = name(&former.id(&Gvk::default()));
            let former = (name, gvk.kind, is_nowhere, namespace);
            self.former.entry(former.clone()).or_default().insert(at);
            learnt.former.push(former);
        }
        let places = self.current.entry(current).or_default();
        self.shared += usize::from(places.insert(at) && places.len() == 2);
    }

    /// Removes the current name of a resource before it is changed. The resource must be the same
    /// as when it was recorded.
    pub(super) fn forget(&mut self, at: usize, resource: &Resource, scope: Scope<'_>) {
        if let Some(places) = self.current.get_mut(&name(&resource.id(scope))) {
            self.shared -= usize::from(places.remove(&at) && places.len() == 1);
        }
    }

    /// Removes the other names of a resource, after [`Self::forget`].
    pub(super) fn remove(&mut self, at: usize) {
        if let Some(mut learnt) = self.learnt.remove(&at) {
            forget_former(&mut self.former, &mut learnt, at);
        }
    }

    /// Returns the positions of the resources that have or had an id, in their order.
    pub(super) fn places(&self, id: &Id) -> BTreeSet<usize> {
        let name = name(id);
        let mut places = self.current.get(&name).cloned().unwrap_or_default();
        let (name, gvk, is_nowhere, namespace) = name;
        let is_it = |learnt: &Learnt| (&learnt.group, &learnt.version) == (&gvk.group, &gvk.version);
        let former = self.former.get(&(name, Arc::clone(&gvk.kind), is_nowhere, namespace));
        let former = former.into_iter().flatten().filter(|at| self.learnt.get(at).is_some_and(is_it));
        places.extend(former);
        places
    }

    /// Returns the positions of the resources that have or had a name, of any kind.
    pub(super) fn called(&self, wanted: &str) -> BTreeSet<usize> {
        let first = (wanted.into(), Gvk::default(), false, Arc::default());
        let current = self.current.range(first..).take_while(|((name, ..), _)| **name == *wanted);
        let first = (wanted.into(), Arc::default(), false, Arc::default());
        let former = self.former.range(first..).take_while(|((name, ..), _)| **name == *wanted);
        current.flat_map(|(_, places)| places).chain(former.flat_map(|(_, places)| places)).copied().collect()
    }

    /// Reports whether all current names are distinct.
    pub(super) fn are_distinct(&self) -> bool {
        self.shared == 0
    }
}

fn forget_former(all: &mut BTreeMap<FormerName, BTreeSet<usize>>, learnt: &mut Learnt, at: usize) {
    for name in learnt.former.drain(..) {
        if let Some(places) = all.get_mut(&name) {
            places.remove(&at);
        }
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
        assert!(names.places(&a) == [0].into() && names.are_distinct());
        names.forget(0, &all[0], scope);
        all[0].note_former(scope).unwrap();
        super::super::patches::set_metadata(&mut all[0].node, "name", "b", Origin::default());
        names.learn(0, &all[0], scope);
        assert!(names.places(&a) == [0].into(), "what was called so is still found");
        assert!(names.places(&b) == [0, 1].into() && !names.are_distinct());
        assert_eq!((names.called("a"), names.called("b")), ([0].into(), [0, 1].into()));
        names.forget(1, &all[1], scope);
        names.remove(1);
        assert!(names.places(&b) == [0].into() && names.are_distinct());
        names.forget(0, &all[0], scope);
        all[0].former.clear();
        names.learn(0, &all[0], scope);
        assert_eq!((names.places(&a), names.places(&b)), ([].into(), [0].into()), "what was noted can be lost");
    }
}
