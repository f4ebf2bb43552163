//! Labels and annotations: texts that are set in maps of resources.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::TransformError;
use crate::field_spec::{Create, FieldProblem, FieldSpec, set_entry};
use crate::node::{Map, Node};
use crate::origin::Origin;
use crate::resource::Resource;
use crate::shared::Shared;

/// Sets labels in the maps that the field specs are about.
pub fn labels(
    resources: &mut [Resource],
    labels: &BTreeMap<Arc<str>, Arc<str>>,
    specs: &[FieldSpec],
    origin: Origin,
) -> Result<(), TransformError> {
    for resource in resources {
        resource
            .sharing(|resource| labels.iter().try_for_each(|(name, text)| set(resource, name, text, specs, origin)))?;
    }
    Ok(())
}

/// Sets annotations in the maps that the field specs are about.
pub fn annotations(
    resources: &mut [Resource],
    annotations: &BTreeMap<Arc<str>, Arc<str>>,
    specs: &[FieldSpec],
    origin: Origin,
) -> Result<(), TransformError> {
    labels(resources, annotations, specs, origin)
}

/// Sets one entry of maps. Those that are new are one node from then on.
fn set(
    resource: &mut Resource,
    name: &Arc<str>,
    text: &Arc<str>,
    specs: &[FieldSpec],
    origin: Origin,
) -> Result<(), TransformError> {
    let new: Arc<str> = Arc::from(&**text);
    let mut count = 0;
    let entry = &mut |node: &mut Node| -> Result<(), FieldProblem> {
        let old = node.as_map().and_then(|map: &Map| map.get(name)).and_then(Node::as_scalar);
        if old.is_some_and(|old| Arc::ptr_eq(&old.text, &new)) {
            return Ok(());
        }
        let is_new = node.as_map().is_some_and(|map: &Map| map.get(name).is_none());
        count += usize::from(is_new);
        let text = if is_new { Arc::clone(&new) } else { Arc::from(&**text) };
        set_entry(node, name, &text, origin)
    };
    for spec in specs {
        spec.apply(&mut resource.node, Create::Map, origin, entry)?;
    }
    if count > 1 {
        if resource.shared.is_empty() {
            resource.shared.reserve_exact(1);
        }
        resource.shared.push(Shared { name: Arc::clone(name), text: new });
    }
    Ok(())
}
