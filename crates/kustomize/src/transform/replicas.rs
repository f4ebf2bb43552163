//! Sets replica counts.

use std::sync::Arc;

use super::TransformError;
use crate::field_spec::{Create, FieldSpec, set_int};
use crate::limits::{Budget, named};
use crate::node::{Node, Tag};
use crate::origin::Origin;
use crate::resource::Resource;

/// Sets the replica count of the resources that have or had this name. There must be at least one.
pub fn replicas(
    resources: &mut [Resource],
    name: &Arc<str>,
    count: i64,
    specs: &[FieldSpec],
    origin: Origin,
    budget: &Budget,
) -> Result<(), TransformError> {
    let mut is_found = false;
    for spec in specs {
        let names: usize = resources.iter().map(|resource| 2 + resource.former.len() + named(&resource.node)).sum();
        budget.steps(names)?;
        for resource in resources.iter_mut().filter(|resource| resource.was_ever(name, &spec.gvk)) {
            is_found = true;
            let set = &mut |node: &mut Node| set_int(node, count, origin);
            resource.set_fields(spec, Create::Scalar(Tag::Int), origin, budget, set)?;
        }
    }
    match is_found {
        true => Ok(()),
        false => {
            let gvks = specs.iter().map(|spec| spec.gvk.clone()).collect();
            Err(TransformError::NoReplicas { name: Arc::clone(name), gvks })
        }
    }
}
