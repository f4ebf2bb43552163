//! Sets labels and annotations in maps of resources.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::TransformError;
use crate::field_spec::{Create, FieldProblem, FieldSpec, set_entry};
use crate::limits::{Budget, NODE};
use crate::node::{Map, Node, Style};
use crate::origin::Origin;
use crate::resource::Resource;
use crate::shared::Shared;

/// Sets labels in the maps of the field specs.
pub fn labels(
    resources: &mut [Resource],
    labels: &BTreeMap<Arc<str>, Arc<str>>,
    specs: &[FieldSpec],
    origin: Origin,
    budget: &Budget,
) -> Result<(), TransformError> {
    for resource in resources {
        resource.sharing(budget, |resource| {
            labels.iter().try_for_each(|(name, text)| set(resource, name, text, specs, origin, budget))
        })?;
    }
    Ok(())
}

/// Sets annotations in the maps of the field specs.
pub fn annotations(
    resources: &mut [Resource],
    annotations: &BTreeMap<Arc<str>, Arc<str>>,
    specs: &[FieldSpec],
    origin: Origin,
    budget: &Budget,
) -> Result<(), TransformError> {
    labels(resources, annotations, specs, origin, budget)
}

/// Sets one entry in several maps. New entries are one shared node from then on.
fn set(
    resource: &mut Resource,
    name: &Arc<str>,
    text: &Arc<str>,
    specs: &[FieldSpec],
    origin: Origin,
    budget: &Budget,
) -> Result<(), TransformError> {
    budget.steps(10)?;
    let new: Arc<str> = Arc::from(&**text);
    let mut count = 0;
    let mut style = Style::default();
    let is_one_of_them = |node: &Node| node.as_scalar().is_some_and(|old| Arc::ptr_eq(&old.text, &new));
    let entry = &mut |node: &mut Node| -> Result<(), FieldProblem> {
        // The entry is searched in the map.
        budget.steps(2 * node.as_map().map_or(0, Map::len))?;
        if node.as_map().and_then(|map: &Map| map.get(name)).is_some_and(is_one_of_them) {
            return Ok(());
        }
        let is_new = node.as_map().is_some_and(|map: &Map| map.get(name).is_none());
        count += usize::from(is_new);
        budget.hold(if is_new { NODE + name.len() } else { 0 } + text.len())?;
        let text = if is_new { Arc::clone(&new) } else { Arc::from(&**text) };
        set_entry(node, name, &text, &mut style, origin)
    };
    for spec in specs {
        spec.apply(&mut resource.node, Create::Map, origin, budget, entry)?;
    }
    // All shared entries are written in the style of the last one.
    for spec in specs.iter().filter(|_| count > 0) {
        spec.apply(&mut resource.node, Create::Nothing, origin, budget, &mut |node| {
            budget.steps(node.as_map().map_or(0, Map::len))?;
            let entry = node.as_map_mut().and_then(|map| map.get_mut(name)).filter(|node| is_one_of_them(node));
            entry.into_iter().for_each(|node| node.style = style);
            Ok(())
        })?;
    }
    if count > 1 {
        if resource.shared.is_empty() {
            resource.shared.reserve_exact(1);
        }
        resource.shared.push(Shared { name: Arc::clone(name), text: new });
    }
    Ok(())
}
