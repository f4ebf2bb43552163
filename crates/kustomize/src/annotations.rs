//! Annotations reserved for kustomize, and functions on all annotations at once. Setting one
//! annotation converts all of them to strings; an empty map of them is removed.

use std::sync::Arc;

use crate::field_spec::{FieldProblem, shown};
use crate::node::{Content, Map, Node, Scalar, Style, Tag};
use crate::noted::NotNoted;
use crate::origin::Origin;
use crate::resource::Resource;

/// The annotation in which kustomize records the file that a resource came from.
pub const ORIGIN: &str = "config.kubernetes.io/origin";
/// The annotation in which kustomize records the transformers of a resource.
pub const TRANSFORMATIONS: &str = "alpha.config.kubernetes.io/transformations";
/// If it is `enabled`, a hash is appended to the name of the resource.
pub const NEEDS_HASH: &str = "internal.config.kubernetes.io/needsHashSuffix";

/// Annotations that are removed from the output of every build, even if a resource sets them.
const OF_A_BUILD: [&str; 19] = [
    "internal.config.kubernetes.io/previousKinds",
    "internal.config.kubernetes.io/previousNames",
    "internal.config.kubernetes.io/prefixes",
    "internal.config.kubernetes.io/suffixes",
    "internal.config.kubernetes.io/previousNamespaces",
    "internal.config.kubernetes.io/allowNameChange",
    "internal.config.kubernetes.io/allowKindChange",
    "internal.config.kubernetes.io/refBy",
    "internal.config.kubernetes.io/generatorBehavior",
    NEEDS_HASH,
    "internal.config.kubernetes.io/path",
    "internal.config.kubernetes.io/index",
    "internal.config.kubernetes.io/seqindent",
    "internal.config.kubernetes.io/id",
    "internal.config.kubernetes.io/annotations-migration-resource-id",
    "config.kubernetes.io/path",
    "config.kubernetes.io/index",
    "config.k8s.io/id",
    "internal.config.kubernetes.io/helm-generated",
];

impl Resource {
    pub fn annotation(&self, name: &str) -> Option<&Arc<str>> {
        self.node.at(&["metadata", "annotations", name])?.as_scalar().map(|scalar| &scalar.text)
    }

    /// Reports whether an annotation is `enabled`.
    pub fn is_enabled(&self, name: &str) -> bool {
        self.annotation(name).is_some_and(|text| &**text == "enabled")
    }

    /// Sets one annotation, and sets all others again.
    pub fn annotate(&mut self, name: &str, text: Arc<str>, origin: Origin) {
        self.rewrite_annotations(|annotations| {
            annotations.set(name, Node::text(text, origin));
            for (_, node) in annotations.iter_mut() {
                node.style = Style::of_new(node.as_text().unwrap_or_default());
            }
        });
    }

    /// Removes the annotations of [`OF_A_BUILD`]. Those of origins and transformations are removed
    /// too, unless the build records them.
    pub fn finish(&mut self, keeps_origin: bool, keeps_transformations: bool) -> Result<(), NotNoted> {
        let annotations = self.node.at(&["metadata", "annotations"]);
        let is_untouched = annotations.is_none_or(is_without_entries);
        if is_untouched && !self.is_annotated && keeps_origin && keeps_transformations {
            return Ok(());
        }
        // Here kustomize panics.
        if let Some(list @ Node { content: Content::Seq(_), .. }) = annotations.filter(|_| !is_untouched) {
            let problem = FieldProblem::kind("MappingNode", list);
            return Err(NotNoted::Annotations { resource: shown(&self.node), problem });
        }
        if let Some(Content::Map(map)) = annotations.map(|node| &node.content)
            && let Some((name, _)) = map.iter().find(|(name, _)| Tag::of(name) != Tag::Text)
        {
            return Err(NotNoted::Unwritable { resource: shown(&self.node), name: Arc::clone(name) });
        }
        self.rewrite_annotations(|annotations| {
            OF_A_BUILD.iter().for_each(|name| drop(annotations.remove(name)));
            if !keeps_origin {
                annotations.remove(ORIGIN);
            }
            if !keeps_transformations {
                annotations.remove(TRANSFORMATIONS);
            }
        });
        Ok(())
    }

    fn rewrite_annotations(&mut self, change: impl FnOnce(&mut Map)) {
        let is_shared = !self.shared.is_empty();
        let origin = self.node.origin;
        let Some(metadata) = self.node.as_map_mut().and_then(|map| map.get_mut("metadata")).and_then(Node::as_map_mut)
        else {
            return;
        };
        let old = metadata.remove("annotations").unwrap_or_else(|| Node::new(Content::Map(Map::default()), origin));
        let mut annotations = texts(old.content, is_shared);
        change(&mut annotations);
        if !annotations.is_empty() {
            metadata.set("annotations", Node::new(Content::Map(annotations), old.origin));
        }
    }
}

fn is_without_entries(node: &Node) -> bool {
    match &node.content {
        Content::Scalar(_) => true,
        Content::Seq(items) => items.is_empty(),
        Content::Map(map) => map.is_empty(),
    }
}

/// Converts the entries to strings: the text of a scalar, and an empty string for a collection.
/// They are no longer shared with other nodes.
fn texts(annotations: Content, is_shared: bool) -> Map {
    let text = |node: &Node| match &node.content {
        Content::Scalar(scalar) if is_shared => Arc::from(&*scalar.text),
        Content::Scalar(scalar) => Arc::clone(&scalar.text),
        _ => "".into(),
    };
    match annotations {
        Content::Map(mut map) => {
            for (_, node) in map.iter_mut() {
                *node = Node::new(Content::Scalar(Scalar::text(text(node))), node.origin);
            }
            map
        }
        Content::Seq(_) | Content::Scalar(_) => Map::default(),
    }
}
