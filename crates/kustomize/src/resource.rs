//! A resource while a kustomization is built: its current content and its former ids.
//!
//! Kustomize stores its records about a resource in annotations, and removes them at the end. Here
//! they are next to the node. The effects of the removal on other annotations are reproduced
//! ([`Resource::finish`]).

use std::sync::Arc;

use crate::identity::{Gvk, Id};
use crate::node::{Map, Node, Scalar, Tag};
use crate::shared::Shared;

/// The treatment of a generated resource whose name already exists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Behavior {
    #[default]
    Unspecified,
    Create,
    Replace,
    Merge,
}

/// A resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resource {
    /// A map with at least a kind and a name.
    pub node: Node,
    /// Its former ids, the oldest first.
    pub former: Vec<Former>,
    /// The prefixes added to its name, in the order they were added.
    pub prefixes: Vec<Arc<str>>,
    pub suffixes: Vec<Arc<str>>,
    /// The ids of the resources that refer to it.
    pub referred_by: Vec<Id>,
    /// Entries of its maps that are one node.
    pub shared: Vec<Shared>,
    /// The variables that take their value from it.
    pub variables: Vec<Arc<str>>,
    /// A hash of its content is appended to its name.
    pub needs_hash: bool,
    pub behavior: Behavior,
    /// For a patch: it may change the name of its target.
    pub may_change_name: bool,
    pub may_change_kind: bool,
    /// Kustomize has stored records in its annotations.
    pub is_annotated: bool,
    /// It had no name when its id should have been recorded.
    pub was_nameless: bool,
}

/// A former id of a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Former {
    pub name: Arc<str>,
    /// The actual namespace, whatever the resource set.
    pub namespace: Arc<str>,
    pub kind: Arc<str>,
}

impl Former {
    /// Returns the former id, with the current group and version.
    pub(crate) fn id(&self, now: &Gvk) -> Id {
        Id {
            gvk: Gvk { kind: Arc::clone(&self.kind), ..now.clone() },
            name: Arc::clone(&self.name),
            namespace: Arc::clone(&self.namespace),
            is_cluster_scoped: false,
        }
    }
}

impl Resource {
    pub fn new(node: Node) -> Self {
        Self {
            node,
            former: Vec::new(),
            prefixes: Vec::new(),
            suffixes: Vec::new(),
            referred_by: Vec::new(),
            shared: Vec::new(),
            variables: Vec::new(),
            needs_hash: false,
            behavior: Behavior::Unspecified,
            may_change_name: false,
            may_change_kind: false,
            is_annotated: false,
            was_nameless: false,
        }
    }

    pub fn gvk(&self) -> Gvk {
        Gvk::of(&self.node)
    }

    pub fn kind(&self) -> &str {
        self.node.at(&["kind"]).and_then(Node::as_text).unwrap_or_default()
    }

    pub fn name(&self) -> &str {
        self.metadata("name")
    }

    pub fn namespace(&self) -> &str {
        self.metadata("namespace")
    }

    /// Returns the current id.
    pub fn id(&self, is_cluster_scoped: &dyn Fn(&Gvk) -> bool) -> Id {
        let id = self.written_id();
        Id { is_cluster_scoped: is_cluster_scoped(&id.gvk), ..id }
    }

    /// Returns the first id. A former id is never known to be cluster-scoped.
    pub fn first_id(&self, is_cluster_scoped: &dyn Fn(&Gvk) -> bool) -> Id {
        match self.former.first() {
            Some(former) => former.id(&self.gvk()),
            None => self.id(is_cluster_scoped),
        }
    }

    /// Returns the former ids, the oldest first.
    pub fn former_ids(&self) -> impl Iterator<Item = Id> {
        let gvk = self.former.first().map(|_| self.gvk()).unwrap_or_default();
        self.former.iter().map(move |former| former.id(&gvk))
    }

    /// Returns the current and former ids as written: none is known to be cluster-scoped.
    pub fn written_ids(&self) -> Vec<Id> {
        std::iter::once(self.written_id()).chain(self.former_ids()).collect()
    }

    fn written_id(&self) -> Id {
        let text = |field| self.metadata_scalar(field).map(|scalar| Arc::clone(&scalar.text)).unwrap_or_default();
        Id { gvk: self.gvk(), name: text("name"), namespace: text("namespace"), is_cluster_scoped: false }
    }

    fn metadata(&self, field: &str) -> &str {
        self.metadata_scalar(field).map(|scalar| &*scalar.text).unwrap_or_default()
    }

    /// Returns a scalar of the metadata, or `None` if it was read as null. A text set later is a
    /// name, even if it reads like null.
    fn metadata_scalar(&self, field: &str) -> Option<&Scalar> {
        let scalar = self.node.at(&["metadata", field]).and_then(Node::as_scalar);
        scalar.filter(|scalar| scalar.tag != Tag::Null)
    }

    /// Returns labels or annotations as strings.
    pub fn texts(&self, field: &str) -> impl Iterator<Item = (&Arc<str>, &str)> {
        let map = self.node.at(&["metadata", field]).and_then(Node::as_map);
        map.into_iter().flat_map(Map::iter).filter_map(|(name, node)| Some((name, node.as_text()?)))
    }
}
