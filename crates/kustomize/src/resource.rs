//! A resource on its way through a kustomization: what it holds now, and what it was called before.
//!
//! Kustomize keeps what it knows of a resource in annotations of it, and takes them out at the end.
//! Here it stands beside the node; what taking them out does to other annotations is done all the
//! same ([`Resource::finish`]).

use std::sync::Arc;

use crate::identity::{Gvk, Id};
use crate::node::{Map, Node, Scalar, Tag};
use crate::shared::Shared;

/// What is done where a generated resource has the name of one that is there.
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
    /// What it was called before, the oldest first.
    pub former: Vec<Former>,
    /// Prefixes that its name was given, the first first.
    pub prefixes: Vec<Arc<str>>,
    pub suffixes: Vec<Arc<str>>,
    /// Who names it.
    pub referred_by: Vec<Id>,
    /// Entries of its maps that are one node.
    pub shared: Vec<Shared>,
    /// Variables whose value is taken from it.
    pub variables: Vec<Arc<str>>,
    /// A hash of what it holds is put behind its name.
    pub needs_hash: bool,
    pub behavior: Behavior,
    /// As a patch: it may change the name of what it patches.
    pub may_change_name: bool,
    pub may_change_kind: bool,
    /// Something was noted in its annotations, as kustomize has it.
    pub is_annotated: bool,
    /// It had no name when it was to be noted what it is called.
    pub was_nameless: bool,
}

/// What a resource was called before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Former {
    pub name: Arc<str>,
    /// That it was in, whatever it said.
    pub namespace: Arc<str>,
    pub kind: Arc<str>,
}

impl Former {
    /// What one was called then that is of this group and version.
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

    /// What it is called now.
    pub fn id(&self, is_cluster_scoped: &dyn Fn(&Gvk) -> bool) -> Id {
        let id = self.written_id();
        Id { is_cluster_scoped: is_cluster_scoped(&id.gvk), ..id }
    }

    /// What it was called first. Names that it had before are never known to be in no namespace.
    pub fn first_id(&self, is_cluster_scoped: &dyn Fn(&Gvk) -> bool) -> Id {
        match self.former.first() {
            Some(former) => former.id(&self.gvk()),
            None => self.id(is_cluster_scoped),
        }
    }

    /// What it was called before, the oldest first.
    pub fn former_ids(&self) -> impl Iterator<Item = Id> {
        let gvk = self.former.first().map(|_| self.gvk()).unwrap_or_default();
        self.former.iter().map(move |former| former.id(&gvk))
    }

    /// What it is called now and what it was called before, as it is written: nothing of it is
    /// known to be in no namespace.
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

    /// What was read as null is nothing; a text that is put there and looks like it is still a
    /// name.
    fn metadata_scalar(&self, field: &str) -> Option<&Scalar> {
        let scalar = self.node.at(&["metadata", field]).and_then(Node::as_scalar);
        scalar.filter(|scalar| scalar.tag != Tag::Null)
    }

    /// Labels or annotations, as texts.
    pub fn texts(&self, field: &str) -> impl Iterator<Item = (&Arc<str>, &str)> {
        let map = self.node.at(&["metadata", field]).and_then(Node::as_map);
        map.into_iter().flat_map(Map::iter).filter_map(|(name, node)| Some((name, node.as_text()?)))
    }
}
