//! Prefixes and suffixes of names, and of other fields.

use std::sync::Arc;

use super::TransformError;
use crate::field_spec::{Create, FieldSpec, set_plain};
use crate::identity::Gvk;
use crate::node::{Node, Tag};
use crate::noted::IsClusterScoped;
use crate::origin::Origin;
use crate::resource::Resource;

/// The field whose change is noted.
const NAME: &str = "metadata/name";

#[derive(Clone, Copy)]
enum Side {
    Before,
    Behind,
}

/// Puts a prefix before the fields of resources that the field specs are about.
pub fn prefix(
    resources: &mut [Resource],
    text: &Arc<str>,
    specs: &[FieldSpec],
    is_cluster_scoped: IsClusterScoped<'_>,
    origin: Origin,
) -> Result<(), TransformError> {
    resources.iter_mut().try_for_each(|resource| put(resource, Side::Before, text, specs, is_cluster_scoped, origin))
}

/// Puts a suffix behind the fields of resources that the field specs are about.
pub fn suffix(
    resources: &mut [Resource],
    text: &Arc<str>,
    specs: &[FieldSpec],
    is_cluster_scoped: IsClusterScoped<'_>,
    origin: Origin,
) -> Result<(), TransformError> {
    resources.iter_mut().try_for_each(|resource| put(resource, Side::Behind, text, specs, is_cluster_scoped, origin))
}

/// Kinds whose name means something to others.
fn keeps_its_name(gvk: &Gvk) -> bool {
    match &*gvk.kind {
        "CustomResourceDefinition" | "Namespace" => true,
        "APIService" => &*gvk.group == "apiregistration.k8s.io",
        _ => false,
    }
}

fn put(
    resource: &mut Resource,
    side: Side,
    text: &Arc<str>,
    specs: &[FieldSpec],
    is_cluster_scoped: IsClusterScoped<'_>,
    origin: Origin,
) -> Result<(), TransformError> {
    let gvk = resource.original_gvk();
    if keeps_its_name(&gvk) {
        return Ok(());
    }
    for spec in specs.iter().filter(|spec| gvk.is_selected(&spec.gvk)) {
        // What is empty is not noted. It may still put fields there that are missing.
        if &*spec.path == NAME && !text.is_empty() {
            let affixes = match side {
                Side::Before => &mut resource.prefixes,
                Side::Behind => &mut resource.suffixes,
            };
            // Most are given one.
            if affixes.is_empty() {
                affixes.reserve_exact(1);
            }
            affixes.push(Arc::clone(text));
            resource.note_former(is_cluster_scoped)?;
        }
        resource.set_fields(spec, Create::Scalar(Tag::Text), origin, &mut |node: &mut Node| {
            let old = node.as_text().unwrap_or_default();
            let new = match side {
                Side::Before => format!("{text}{old}"),
                Side::Behind => format!("{old}{text}"),
            };
            let origin = if new == old { node.origin } else { origin };
            set_plain(node, &new, origin)
        })?;
    }
    Ok(())
}
