//! Replacements as they are written.

use crate::fields::{BadField, Fields};
use crate::identity::Id;
use crate::node::Node;
use crate::replacement::{FieldOptions, Replacement, Source, Target};
use crate::selector::Selector;

/// Reads one; `path` is where it stands.
pub(super) fn replacement(node: &Node, path: &str) -> Result<Replacement, BadField> {
    let fields = Fields::of(node, path)?;
    fields.text("path")?;
    let targets = match fields.node("targets") {
        None => None,
        Some(_) => Some(fields.list("targets", target)?),
    };
    let replacement = Replacement {
        source: fields.inner("source", source)?,
        value: fields.text("sourceValue")?,
        targets,
        origin: node.origin,
    };
    fields.end()?;
    Ok(replacement)
}

fn id(fields: &Fields<'_>) -> Result<Id, BadField> {
    Ok(Id {
        gvk: fields.gvk()?,
        name: fields.text_or_empty("name")?,
        namespace: fields.text_or_empty("namespace")?,
        is_cluster_scoped: false,
    })
}

fn source(node: &Node, path: &str) -> Result<Source, BadField> {
    let fields = Fields::of(node, path)?;
    let source = Source {
        id: id(&fields)?,
        path: fields.text_or_empty("fieldPath")?,
        options: fields.inner("options", options)?,
    };
    fields.end()?;
    Ok(source)
}

fn target(node: &Node, path: &str) -> Result<Target, BadField> {
    let fields = Fields::of(node, path)?;
    let target = Target {
        select: fields.inner("select", selector)?,
        reject: fields.list("reject", selector)?,
        paths: fields.texts("fieldPaths")?,
        options: fields.inner("options", options)?,
    };
    fields.end()?;
    Ok(target)
}

fn selector(node: &Node, path: &str) -> Result<Selector, BadField> {
    let fields = Fields::of(node, path)?;
    let selector = Selector {
        id: id(&fields)?,
        labels: fields.text_or_empty("labelSelector")?,
        annotations: fields.text_or_empty("annotationSelector")?,
    };
    fields.end()?;
    Ok(selector)
}

fn options(node: &Node, path: &str) -> Result<FieldOptions, BadField> {
    let fields = Fields::of(node, path)?;
    let options = FieldOptions {
        delimiter: fields.text_or_empty("delimiter")?,
        index: fields.integer("index")?.unwrap_or_default(),
        encoding: fields.text_or_empty("encoding")?,
        create: fields.flag("create")?.unwrap_or_default(),
    };
    fields.end()?;
    Ok(options)
}
