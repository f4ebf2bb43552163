//! Labels that are one node in several maps.
//!
//! If kustomize adds a label to several maps of a resource, it adds the same node to each of them.
//! A later change in one map is then a change in all: a label of `metadata` that an overlay changes
//! is also changed in selectors and templates. A patch of RFC 6902 ends this, since the resource is
//! parsed again.
//!
//! In our tree a node has exactly one parent. The resource therefore records which nodes are
//! shared, by the memory address of their text. After a step changes one of them, the same change
//! is applied to the others ([`Resource::sharing`]).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::field_spec::{Create, FieldError, FieldProblem, FieldSpec};
use crate::limits::{Budget, found_among};
use crate::node::{Content, Node, Scalar};
use crate::origin::Origin;
use crate::resource::Resource;

/// Map entries that are one node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shared {
    pub name: Arc<str>,
    /// The text of all of them, at the same address in memory.
    pub text: Arc<str>,
}

#[derive(Clone, Debug)]
enum Step {
    Field(Arc<str>),
    /// The index of the item, and the number of items.
    Item(usize, usize),
}

impl Resource {
    /// Runs a step and then makes shared entries equal again: a value set in one is set in all.
    pub fn sharing<T>(&mut self, budget: &Budget, step: impl FnOnce(&mut Self) -> T) -> T {
        if self.shared.is_empty() {
            return step(self);
        }
        let before = self.shared.clone();
        let mut places = vec![Vec::new(); before.len()];
        budget.spend(find(&mut self.node, &before, &mut |at, path, _| places[at].push(path.to_vec())));
        let outcome = step(self);
        // Each entry is found in its map.
        budget.spend(before.len() * before.len() / 8);
        let now: BTreeMap<usize, usize> =
            self.shared.iter().enumerate().map(|(at, shared)| (place(&shared.text), at)).collect();
        let (mut changed, mut ended) = (Vec::new(), BTreeSet::new());
        for (shared, places) in before.iter().zip(&places) {
            let own = now.get(&place(&shared.text)).copied();
            if let Some(new) = self.share_anew(shared, places, own) {
                ended.extend(own.filter(|_| new.as_scalar().is_none()));
                changed.push((shared.clone(), new));
            }
        }
        if !changed.is_empty() {
            let (shared, new): (Vec<Shared>, Vec<Node>) = changed.into_iter().unzip();
            budget.spend(find(&mut self.node, &shared, &mut |at, _, node| *node = new[at].clone()));
            let mut at = 0..;
            self.shared.retain(|_| at.next().is_none_or(|at| !ended.contains(&at)));
        }
        outcome
    }

    /// Passes fields to `set`, as [`FieldSpec::apply`] does; shared entries stay shared.
    pub fn set_fields(
        &mut self,
        spec: &FieldSpec,
        create: Create,
        origin: Origin,
        budget: &Budget,
        set: &mut dyn FnMut(&mut Node) -> Result<(), FieldProblem>,
    ) -> Result<(), FieldError> {
        budget.spend(self.shared.len());
        match self.shared.iter().any(|shared| spec.path.ends_with(&*shared.name)) {
            true => self.sharing(budget, |resource| spec.apply(&mut resource.node, create, origin, budget, set)),
            false => spec.apply(&mut self.node, create, origin, budget, set),
        }
    }

    /// Copies a changed scalar to all entries that shared its old text.
    pub(crate) fn spread(&mut self, old: &Arc<str>, new: &Node, budget: &Budget) {
        let Some(scalar) = new.as_scalar() else { return };
        let own = self.shared.iter_mut().find(|own| Arc::ptr_eq(&own.text, old));
        let Some(own) = own.filter(|_| !Arc::ptr_eq(&scalar.text, old)) else { return };
        let before = std::mem::replace(own, Shared { name: Arc::clone(&own.name), text: Arc::clone(&scalar.text) });
        budget.spend(find(&mut self.node, &[before], &mut |_, _, node| *node = new.clone()));
    }

    /// Gives the last changed value to all changed entries of a shared node, and returns it.
    /// Entries that still have the old value are left to the caller.
    fn share_anew(&mut self, shared: &Shared, places: &[Vec<Step>], own: Option<usize>) -> Option<Node> {
        let is_old = |node: &Node| node.as_scalar().is_some_and(|scalar| Arc::ptr_eq(&scalar.text, &shared.text));
        let changed: Vec<&Vec<Step>> =
            places.iter().filter(|path| at(&mut self.node, path).is_some_and(|node| !is_old(node))).collect();
        let mut new = at(&mut self.node, changed.last()?)?.clone();
        if let Content::Scalar(Scalar { text, .. }) = &mut new.content {
            *text = Arc::from(&**text);
            if let Some(own) = own {
                self.shared[own].text = Arc::clone(text);
            }
        }
        for path in changed {
            if let Some(node) = at(&mut self.node, path) {
                *node = new.clone();
            }
        }
        Some(new)
    }
}

/// Returns the entry at a path, if it is still the same entry. In a map that was replaced, the
/// names have other addresses in memory.
fn at<'n>(node: &'n mut Node, path: &[Step]) -> Option<&'n mut Node> {
    path.iter().try_fold(node, |node, step| match (step, &mut node.content) {
        (Step::Field(name), Content::Map(map)) => {
            map.iter_mut().find_map(|(own, field)| Arc::ptr_eq(own, name).then_some(field))
        }
        // In a list of another length, this index may be another item.
        (Step::Item(at, of), Content::Seq(items)) if items.len() == *of => items.get_mut(*at),
        _ => None,
    })
}

type Found<'f> = dyn FnMut(usize, &[Step], &mut Node) + 'f;

/// Finds the entries of `shared` nodes, and calls `found` with the index in `shared`, the path and
/// the entry. Returns the number of steps to visit the nodes and to find the entries again.
fn find(node: &mut Node, shared: &[Shared], found: &mut Found<'_>) -> usize {
    let known = shared.iter().enumerate().map(|(at, shared)| (place(&shared.text), at)).collect();
    walk(
        node,
        &mut Vec::new(),
        0,
        &|name, text| {
            let known: &BTreeMap<usize, usize> = &known;
            known.get(&place(text)).copied().filter(|at| shared[*at].name == *name)
        },
        found,
    )
}

fn place(text: &Arc<str>) -> usize {
    text.as_ptr() as usize
}

type Which<'w> = dyn Fn(&Arc<str>, &Arc<str>) -> Option<usize> + 'w;

/// Walks a node. `around` is the number of steps to find this node again.
fn walk(node: &mut Node, path: &mut Vec<Step>, around: usize, which: &Which<'_>, found: &mut Found<'_>) -> usize {
    let mut count = 1;
    match &mut node.content {
        Content::Scalar(_) => {}
        Content::Seq(items) => {
            let of = items.len();
            for (at, item) in items.iter_mut().enumerate() {
                path.push(Step::Item(at, of));
                count += walk(item, path, around, which, found);
                path.pop();
            }
        }
        Content::Map(map) => {
            let around = around + found_among(map.len());
            for (name, field) in map.iter_mut() {
                path.push(Step::Field(Arc::clone(name)));
                match field.as_scalar().and_then(|scalar| which(name, &scalar.text)) {
                    Some(at) => {
                        found(at, path, field);
                        count += around;
                    }
                    None => count += walk(field, path, around, which, found),
                }
                path.pop();
            }
        }
    }
    count
}
