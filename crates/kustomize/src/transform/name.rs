//! Adds prefixes and suffixes to names, and to other fields.

use std::sync::Arc;

use super::TransformError;
use crate::field_spec::{Create, FieldSpec, set_plain};
use crate::identity::Gvk;
use crate::limits::{Budget, NODE, named};
use crate::node::{Node, Tag};
use crate::noted::IsClusterScoped;
use crate::origin::Origin;
use crate::resource::Resource;

/// The steps to record the former id of a resource.
const NOTED: usize = 100;
/// The field whose changes are recorded.
const NAME: &str = "metadata/name";

#[derive(Clone, Copy)]
enum Side {
    Before,
    Behind,
}

#[derive(Clone, Copy)]
struct Affix<'a> {
    side: Side,
    text: &'a Arc<str>,
    origin: Origin,
}

/// Adds a prefix to the fields of the field specs.
pub fn prefix(
    resources: &mut [Resource],
    text: &Arc<str>,
    specs: &[FieldSpec],
    is_cluster_scoped: IsClusterScoped<'_>,
    origin: Origin,
    budget: &Budget,
) -> Result<(), TransformError> {
    let affix = Affix { side: Side::Before, text, origin };
    resources.iter_mut().try_for_each(|resource| put(resource, affix, specs, is_cluster_scoped, budget))
}

/// Adds a suffix to the fields of the field specs.
pub fn suffix(
    resources: &mut [Resource],
    text: &Arc<str>,
    specs: &[FieldSpec],
    is_cluster_scoped: IsClusterScoped<'_>,
    origin: Origin,
    budget: &Budget,
) -> Result<(), TransformError> {
    let affix = Affix { side: Side::Behind, text, origin };
    resources.iter_mut().try_for_each(|resource| put(resource, affix, specs, is_cluster_scoped, budget))
}

/// Reports whether the name of a kind has a fixed meaning and must not change.
fn keeps_its_name(gvk: &Gvk) -> bool {
    match &*gvk.kind {
        "CustomResourceDefinition" | "Namespace" => true,
        "APIService" => &*gvk.group == "apiregistration.k8s.io",
        _ => false,
    }
}

fn put(
    resource: &mut Resource,
    Affix { side, text, origin }: Affix<'_>,
    specs: &[FieldSpec],
    is_cluster_scoped: IsClusterScoped<'_>,
    budget: &Budget,
) -> Result<(), TransformError> {
    let gvk = resource.original_gvk();
    if keeps_its_name(&gvk) {
        return Ok(());
    }
    budget.steps(NOTED + specs.len() + named(&resource.node))?;
    for spec in specs.iter().filter(|spec| gvk.is_selected(&spec.gvk)) {
        // An empty text is not recorded. It may still create missing fields.
        if &*spec.path == NAME && !text.is_empty() {
            let affixes = match side {
                Side::Before => &mut resource.prefixes,
                Side::Behind => &mut resource.suffixes,
            };
            // Most resources get one.
            if affixes.is_empty() {
                affixes.reserve_exact(1);
            }
            affixes.push(Arc::clone(text));
            resource.note_former(is_cluster_scoped)?;
        }
        resource.set_fields(spec, Create::Scalar(Tag::Text), origin, budget, &mut |node: &mut Node| {
            let old = node.as_text().unwrap_or_default();
            // The old name is recorded, too.
            budget.hold(NODE + text.len() + old.len())?;
            let new = match side {
                Side::Before => format!("{text}{old}"),
                Side::Behind => format!("{old}{text}"),
            };
            // Kustomize cannot set an empty string.
            if new.is_empty() {
                return Ok(());
            }
            let origin = if new == old { node.origin } else { origin };
            set_plain(node, &new, origin)
        })?;
    }
    Ok(())
}
