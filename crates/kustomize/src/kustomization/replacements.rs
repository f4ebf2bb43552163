//! Reads replacements as written.

use std::sync::Arc;

use crate::fields::{BadField, Fields, wrong};
use crate::identity::Id;
use crate::node::Node;
use crate::origin::Origin;
use crate::replacement::{FieldOptions, Replacement, Source, Target};
use crate::selector::Selector;

/// One of `replacements`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplacementEntry {
    /// A file with one or several replacements.
    File {
        path: Arc<str>,
        origin: Origin,
    },
    Inline(Box<Replacement>),
}

/// Reads an entry of a kustomization, where an empty list is the same as an omitted one.
pub(super) fn entry(node: &Node, path: &str) -> Result<ReplacementEntry, BadField> {
    let mut entry = replacement_entry(node, path)?;
    if let ReplacementEntry::Inline(replacement) = &mut entry {
        replacement.targets.take_if(|targets| targets.is_empty());
    }
    Ok(entry)
}

/// Reads an entry; `path` is its path in the document.
pub(crate) fn replacement_entry(node: &Node, path: &str) -> Result<ReplacementEntry, BadField> {
    let fields = Fields::of(node, path)?;
    let file = fields.text_or_empty("path")?;
    let replacement = read(&fields)?;
    fields.end()?;
    if file.is_empty() {
        return Ok(ReplacementEntry::Inline(Box::new(replacement)));
    }
    if replacement.source.is_some() || replacement.targets.is_some_and(|targets| !targets.is_empty()) {
        return Err(BadField {
            path: path.to_owned(),
            origin: node.origin,
            problem: "cannot specify both path and inline replacement".to_owned(),
            help: "take `path` away, or `source` and `targets`".to_owned(),
        });
    }
    Ok(ReplacementEntry::File { path: file, origin: node.origin })
}

/// Reads a replacement in a file; `path` is its path in the document.
pub(crate) fn replacement(node: &Node, path: &str) -> Result<Replacement, BadField> {
    let fields = Fields::of(node, path)?;
    let replacement = read(&fields)?;
    fields.end()?;
    Ok(replacement)
}

fn read(fields: &Fields<'_>) -> Result<Replacement, BadField> {
    let targets = match fields.node("targets") {
        None => None,
        Some(_) => Some(fields.list("targets", target)?),
    };
    Ok(Replacement {
        source: fields.inner("source", source)?,
        value: fields.text("sourceValue")?,
        targets,
        origin: fields.origin(),
    })
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
        reject: fields.list("reject", rejection)?,
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

/// Reads a selector of `reject`. Kustomize panics if one is null.
fn rejection(node: &Node, path: &str) -> Result<Selector, BadField> {
    match node.is_null() {
        true => Err(wrong(path, node, "a selector")),
        false => selector(node, path),
    }
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
