//! Records about a resource while it is transformed: its former ids, and the prefixes and suffixes
//! of its name.

use std::sync::Arc;

use crate::field_spec::{FieldProblem, shown};
use crate::identity::{Gvk, Id};
use crate::node::{Content, Map, Node};
use crate::resource::{Former, Resource};

/// Reports whether a kind is known to be cluster-scoped.
pub type IsClusterScoped<'s> = &'s dyn Fn(&Gvk) -> bool;

/// A resource whose former ids cannot be recorded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotNoted {
    #[error("`metadata.annotations` of {resource} is not a map of texts; correct it")]
    Annotations {
        resource: Box<Id>,
        #[source]
        problem: FieldProblem,
    },
    /// Kustomize loses the quotes of its name, and cannot write it then.
    #[error(
        "json: unsupported type: map[interface {{}}]interface {{}}: the annotation `{name}` of {resource} is not a string without quotes: rename it"
    )]
    Unwritable { resource: Box<Id>, name: Arc<str> },
    /// Kustomize panics here: it records names and kinds separated by commas, and records nothing
    /// if one is missing.
    #[error(
        "the name, namespace or kind of {resource} is empty or has a comma: write one without commas, or correct the patch that removed it"
    )]
    NoName { resource: Box<Id> },
}

/// The records of a resource, which kustomize stores in its annotations.
#[derive(Clone, Debug)]
pub(crate) struct Noted {
    former: Vec<Former>,
    prefixes: Vec<Arc<str>>,
    suffixes: Vec<Arc<str>>,
    needs_hash: bool,
}

impl Resource {
    /// Returns its first kind.
    pub fn original_gvk(&self) -> Gvk {
        let gvk = self.gvk();
        match self.former.first() {
            Some(first) => Gvk { kind: Arc::clone(&first.kind), ..gvk },
            None => gvk,
        }
    }

    /// Reports whether it has or had this name, with a kind that is selected.
    pub fn was_ever(&self, name: &str, selector: &Gvk) -> bool {
        let gvk = self.gvk();
        let is = |own: &str, gvk: &Gvk| own == name && gvk.is_selected(selector);
        is(self.name(), &gvk)
            || self.former.iter().any(|former| is(&former.name, &Gvk { kind: Arc::clone(&former.kind), ..gvk.clone() }))
    }

    /// Marks the annotations as holding records; they must be a map for that.
    pub fn note(&mut self) -> Result<(), NotNoted> {
        let resource = shown(&self.node);
        let origin = self.node.origin;
        let found = |problem: &Node| NotNoted::Annotations {
            resource: resource.clone(),
            problem: FieldProblem::kind("MappingNode", problem),
        };
        let Some(root) = self.node.as_map_mut() else { return Err(found(&self.node)) };
        let is_nothing = |node: &Node| node.is_null() || node.as_scalar().is_none() && is_empty(node);
        if root.get("metadata").is_none_or(is_nothing) {
            root.set("metadata", Node::new(Content::Map(Map::default()), origin));
        }
        let Some(metadata) = root.get_mut("metadata") else { return Ok(()) };
        let origin = metadata.origin;
        let Some(fields) = metadata.as_map_mut() else { return Err(found(metadata)) };
        match fields.get("annotations") {
            Some(annotations) if !is_empty(annotations) => {
                if annotations.as_map().is_none() {
                    return Err(found(annotations));
                }
            }
            _ => fields.set("annotations", Node::new(Content::Map(Map::default()), origin)),
        }
        self.is_annotated = true;
        Ok(())
    }

    /// Drops the records if kustomize would: it stores them in the annotations, so that a text in
    /// their place removes the records.
    pub(crate) fn forget_what_is_lost(&mut self) {
        let annotations = self.node.at(&["metadata", "annotations"]);
        if annotations.is_some_and(|node| node.as_scalar().is_some()) {
            self.forget();
        }
    }

    /// Returns the records, if there are any.
    pub(crate) fn noted(&self) -> Option<Noted> {
        self.is_annotated.then(|| Noted {
            former: self.former.clone(),
            prefixes: self.prefixes.clone(),
            suffixes: self.suffixes.clone(),
            needs_hash: self.needs_hash,
        })
    }

    /// Copies the records of another resource.
    pub(crate) fn note_as(&mut self, noted: Noted) {
        let Noted { former, prefixes, suffixes, needs_hash } = noted;
        (self.former, self.prefixes, self.suffixes) = (former, prefixes, suffixes);
        (self.needs_hash, self.is_annotated) = (needs_hash, true);
    }

    /// Sets all annotations again, as strings. If one has an empty name, kustomize fails and
    /// continues without annotations; the records are lost too.
    pub(crate) fn set_annotations_anew(&mut self) {
        let metadata = self.node.as_map_mut().and_then(|map| map.get_mut("metadata")).and_then(Node::as_map_mut);
        let annotations = metadata.and_then(|metadata| metadata.get_mut("annotations")).and_then(Node::as_map_mut);
        let Some(annotations) = annotations else { return };
        if annotations.get("").is_some() {
            *annotations = Map::default();
            self.forget();
            return;
        }
        for (_, node) in annotations.iter_mut() {
            let text = node.as_scalar().map(|scalar| Arc::clone(&scalar.text)).unwrap_or_default();
            *node = Node::text(text, node.origin);
        }
    }

    /// Drops all records.
    pub(crate) fn forget(&mut self) {
        if self.is_annotated {
            self.former.clear();
            self.prefixes.clear();
            self.suffixes.clear();
            self.needs_hash = false;
            self.is_annotated = false;
        }
    }

    /// Records the current id before it changes.
    pub fn note_former(&mut self, is_cluster_scoped: IsClusterScoped<'_>) -> Result<(), NotNoted> {
        self.note()?;
        let id = self.id(is_cluster_scoped);
        // Nothing is recorded. The next call detects this.
        if id.name.is_empty() && self.former.is_empty() {
            self.was_nameless = true;
            return Ok(());
        }
        let cannot_be_noted = |text: &str| text.is_empty() || text.contains(',');
        let is_noted_wrongly = id.effective_namespace().contains(',');
        if self.was_nameless || is_noted_wrongly || cannot_be_noted(&id.name) || cannot_be_noted(&id.gvk.kind) {
            return Err(NotNoted::NoName { resource: id.into() });
        }
        let is_named = id.effective_namespace() == &*id.namespace;
        let namespace = if is_named { Arc::clone(&id.namespace) } else { id.effective_namespace().into() };
        // Most resources are renamed at most twice, and there are many of them.
        if self.former.is_empty() {
            self.former.reserve_exact(2);
        }
        let former = Former { namespace, name: id.name, kind: id.gvk.kind };
        // Kustomize records it again, but it only uses the first record, and whether an equal one
        // exists.
        if self.former.last() != Some(&former) {
            self.former.push(former);
        }
        Ok(())
    }
}

/// Reports whether kustomize replaces a node by a map: a scalar is empty to it.
fn is_empty(node: &Node) -> bool {
    match &node.content {
        Content::Scalar(_) => true,
        Content::Seq(items) => items.is_empty(),
        Content::Map(map) => map.is_empty(),
    }
}
