//! What is noted of a resource while it is transformed: what it was called, and what its name was
//! given.

use std::sync::Arc;

use crate::field_spec::{FieldProblem, shown};
use crate::identity::{Gvk, Id};
use crate::node::{Content, Map, Node};
use crate::resource::{Former, Resource};

/// Whether a kind is known to be in no namespace.
pub type IsClusterScoped<'s> = &'s dyn Fn(&Gvk) -> bool;

/// A resource of which nothing can be noted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotNoted {
    #[error("`metadata.annotations` of {resource} is not a map of texts; correct it")]
    Annotations {
        resource: Box<Id>,
        #[source]
        problem: FieldProblem,
    },
    /// Kustomize forgets that its name was in quotes, and cannot write it then.
    #[error(
        "json: unsupported type: map[interface {{}}]interface {{}}: the annotation `{name}` of {resource} is no text without quotes: rename it"
    )]
    Unwritable { resource: Box<Id>, name: Arc<str> },
    /// Kustomize panics at it: it notes names and kinds with commas between them, and nothing where
    /// there is none.
    #[error(
        "{resource} has no name, namespace or kind that can be kept in mind: write one without commas, or look for what took it away"
    )]
    NoName { resource: Box<Id> },
}

/// What is noted of a resource in its annotations, as kustomize has it.
#[derive(Clone, Debug)]
pub(crate) struct Noted {
    former: Vec<Former>,
    prefixes: Vec<Arc<str>>,
    suffixes: Vec<Arc<str>>,
    needs_hash: bool,
}

impl Resource {
    /// The kind that it had at first.
    pub fn original_gvk(&self) -> Gvk {
        let gvk = self.gvk();
        match self.former.first() {
            Some(first) => Gvk { kind: Arc::clone(&first.kind), ..gvk },
            None => gvk,
        }
    }

    /// Whether it is, or was at any time, of this name and of a kind that is selected.
    pub fn was_ever(&self, name: &str, selector: &Gvk) -> bool {
        let gvk = self.gvk();
        let is = |own: &str, gvk: &Gvk| own == name && gvk.is_selected(selector);
        is(self.name(), &gvk)
            || self.former.iter().any(|former| is(&former.name, &Gvk { kind: Arc::clone(&former.kind), ..gvk.clone() }))
    }

    /// Notes that something was noted in its annotations, which have to be a map for it.
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

    /// Kustomize notes in the annotations: who puts a text in their place, takes the notes away
    /// with them.
    pub(crate) fn forget_what_is_lost(&mut self) {
        let annotations = self.node.at(&["metadata", "annotations"]);
        if annotations.is_some_and(|node| node.as_scalar().is_some()) {
            self.forget();
        }
    }

    /// What is noted, if anything is.
    pub(crate) fn noted(&self) -> Option<Noted> {
        self.is_annotated.then(|| Noted {
            former: self.former.clone(),
            prefixes: self.prefixes.clone(),
            suffixes: self.suffixes.clone(),
            needs_hash: self.needs_hash,
        })
    }

    /// Takes over what was noted of another one.
    pub(crate) fn note_as(&mut self, noted: Noted) {
        let Noted { former, prefixes, suffixes, needs_hash } = noted;
        (self.former, self.prefixes, self.suffixes) = (former, prefixes, suffixes);
        (self.needs_hash, self.is_annotated) = (needs_hash, true);
    }

    /// Sets all annotations anew, as texts. Where one has an empty name kustomize cannot, and goes
    /// on with none: what was noted is gone, too.
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

    /// Forgets all that was noted.
    pub(crate) fn forget(&mut self) {
        if self.is_annotated {
            self.former.clear();
            self.prefixes.clear();
            self.suffixes.clear();
            self.needs_hash = false;
            self.is_annotated = false;
        }
    }

    /// Notes what it is called now, before that changes.
    pub fn note_former(&mut self, is_cluster_scoped: IsClusterScoped<'_>) -> Result<(), NotNoted> {
        self.note()?;
        let id = self.id(is_cluster_scoped);
        // Nothing is noted, which is noticed when there is something to be noted once more.
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
        // Most are given another name twice at the most, and there are many of them.
        if self.former.is_empty() {
            self.former.reserve_exact(2);
        }
        let former = Former { namespace, name: id.name, kind: id.gvk.kind };
        // Kustomize notes it once more, but all that it asks for is the first one, and whether
        // there is one like this.
        if self.former.last() != Some(&former) {
            self.former.push(former);
        }
        Ok(())
    }
}

/// What kustomize puts a map in the place of: a scalar holds nothing to it.
fn is_empty(node: &Node) -> bool {
    match &node.content {
        Content::Scalar(_) => true,
        Content::Seq(items) => items.is_empty(),
        Content::Map(map) => map.is_empty(),
    }
}
