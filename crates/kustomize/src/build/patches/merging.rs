//! Merges one strategic merge patch into one resource: prepares the patch as kustomize does, and
//! preserves the parts of the resource that no patch changes.

use std::sync::Arc;

use crate::build::{BadBuild, Builder};
use crate::field_spec::set_plain;
use crate::generator::merged;
use crate::identity::Gvk;
use crate::limits::{BYTES, Weight};
use crate::merge::{Merged, is_total, merge};
use crate::node::{Content, Map, Node, Scalar, Tag, is_bare_name};
use crate::origin::Origin;
use crate::resource::Resource;
use crate::schema::BuiltIn;

/// The steps to merge a node.
const MERGED: usize = 12;

/// The fields that identify the patched resource. A patch repeats them, and sets them only if it
/// changes them.
const IDENTITY: [&[&str]; 4] = [&["apiVersion"], &["kind"], &["metadata", "name"], &["metadata", "namespace"]];

impl Builder<'_> {
    /// Merges the patch and reports whether the resource still exists.
    pub(super) fn merge_into(&mut self, patch: &Resource, resource: &mut Resource) -> Result<bool, BadBuild> {
        let (name, namespace, kind) =
            (resource.name().to_owned(), resource.namespace().to_owned(), resource.kind().to_owned());
        let scope = |gvk: &Gvk| self.schema.is_cluster_scoped(gvk);
        if patch.may_change_name || patch.may_change_kind {
            resource.note_former(&scope).map_err(|error| BadBuild::new(&error))?;
        }
        let identity =
            IDENTITY.map(|path| resource.node.at(path).and_then(|node| Some((scalar_text(node)?, node.origin))));
        let before = Weight::of(&resource.node);
        // The name, namespace and kind are copied, whatever their length.
        let called = (name.len() + namespace.len() + kind.len()) / BYTES;
        self.budget.steps(MERGED * (before.nodes + Weight::of(&patch.node).nodes) + called)?;
        let mut node = patch.node.clone();
        if let Some(version) = node.as_map_mut().and_then(|fields| fields.get_mut("apiVersion"))
            && matches!(version.content, Content::Scalar(Scalar { tag: Tag::Any, .. }))
        {
            let origin = resource.node.at(&["apiVersion"]).map_or(patch.node.origin, |own| own.origin);
            *version = plain(&resource.gvk().api_version(), origin);
        }
        self.built_in = BuiltIn::Read;
        let merged =
            resource.sharing(self.budget, |resource| merge(&node, &mut resource.node, &self.schema, self.budget));
        self.budget.grow(before, &resource.node)?;
        match merged.map_err(|error| BadBuild::new(&error))? {
            Merged::Deleted => return Ok(false),
            Merged::RetentionReason if takes_annotations(&node) => resource.forget(),
            Merged::RetentionReason => {}
        }
        let origin = resource.node.origin;
        if let Some(fields) = resource.node.as_map_mut().filter(|_| !patch.may_change_kind) {
            put_back(fields, "kind", &kind, origin);
        }
        if !patch.may_change_name {
            set_metadata(&mut resource.node, "name", &name, origin);
        }
        set_metadata(&mut resource.node, "namespace", &namespace, origin);
        for (path, (text, origin)) in IDENTITY.into_iter().zip(identity).filter_map(|(path, own)| Some((path, own?))) {
            let node = path.iter().try_fold(&mut resource.node, |node, name| node.as_map_mut()?.get_mut(name));
            if let Some(node) = node.filter(|node| node.as_text() == Some(&text)) {
                node.origin = origin;
            }
        }
        Ok(true)
    }
}

/// Copies a patch as kustomize does. Its labels and annotations become strings, so that a null
/// there deletes nothing. Its `apiVersion` becomes that of the patched resource; this function adds
/// the field for it.
pub(super) fn copied(mut patch: Resource) -> Result<Resource, BadBuild> {
    let origin = patch.node.origin;
    let Some(fields) = patch.node.as_map_mut() else { return Ok(patch) };
    fields.set("apiVersion", plain("", origin));
    as_texts(&mut patch, "labels")?;
    as_texts(&mut patch, "annotations")?;
    Ok(patch)
}

/// Converts the labels or annotations of a patch to strings, or removes the field if there are
/// none.
pub(super) fn as_texts(patch: &mut Resource, field: &str) -> Result<(), BadBuild> {
    let metadata = patch.node.as_map_mut().and_then(|fields| fields.get_mut("metadata")).and_then(Node::as_map_mut);
    let Some(metadata) = metadata else { return Ok(()) };
    let Some(written) = metadata.remove(field) else { return Ok(()) };
    let texts = merged(None, Some(&written), false);
    if let Some((name, _)) = texts.iter().find(|(name, _)| !is_bare_name(name)) {
        let known = "json: unsupported type: map[interface {}]interface {}";
        let problem = format!("`{name}` in the {field} of a patch is not a string without quotes: rename it");
        return Err(BadBuild::of(format!("{known}: {problem}")));
    }
    if !texts.is_empty() {
        metadata.set(field, Node::new(Content::Map(texts), written.origin));
    }
    Ok(())
}

/// Reports whether a patch replaces or deletes all annotations of a resource. Kustomize records
/// former names in them.
fn takes_annotations(patch: &Node) -> bool {
    let paths: [&[&str]; 2] = [&["metadata"], &["metadata", "annotations"]];
    paths.iter().filter_map(|path| patch.at(path)).any(is_total)
}

fn scalar_text(node: &Node) -> Option<Arc<str>> {
    node.as_scalar().map(|scalar| Arc::clone(&scalar.text))
}

fn plain(text: &str, origin: Origin) -> Node {
    Node::new(Content::Scalar(Scalar::plain(text)), origin)
}

/// Sets a string of the metadata, or removes it if it is empty.
pub(in crate::build) fn set_metadata(node: &mut Node, field: &str, text: &str, origin: Origin) {
    if text.is_empty() && node.at(&["metadata", field]).is_none() {
        return;
    }
    let Some(fields) = node.as_map_mut() else { return };
    if fields.get("metadata").and_then(Node::as_map).is_none() {
        fields.set("metadata", Node::new(Content::Map(Map::default()), origin));
    }
    let Some(metadata) = fields.get_mut("metadata").and_then(Node::as_map_mut) else { return };
    match text {
        "" => drop(metadata.remove(field)),
        text => put_back(metadata, field, text, origin),
    }
}

/// Sets a string. As in kustomize, it loses the string type unless the old value was quoted.
fn put_back(fields: &mut Map, field: &str, text: &str, origin: Origin) {
    match fields.get_mut(field) {
        Some(node) if node.as_scalar().is_some() => {
            let origin = if node.as_text() == Some(text) { node.origin } else { origin };
            drop(set_plain(node, text, origin));
        }
        _ => fields.set(field, Node::untagged(text, origin)),
    }
}
