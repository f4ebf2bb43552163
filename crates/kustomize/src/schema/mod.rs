//! What OpenAPI says of resources, as far as kustomize asks: how the lists in them are merged, and
//! which kinds are in no namespace.
//!
//! - [`kubernetes`]: the kinds that kustomize knows by itself, from a table in the binary. Nothing
//!   of it is read before it is asked for.
//! - [`given`]: a document that a kustomization names under `openapi`. [`part`]: a part of it.

mod given;
mod kubernetes;
mod part;
#[cfg(test)]
mod tests;

use crate::identity::Gvk;
use crate::node::Node;
use given::Given;
pub use given::NoSchema;

/// What is known of resources.
#[derive(Clone, Debug, Default)]
pub struct Schema(Option<Given>);

/// What was made of the built-in schema before one was given. Kustomize keeps what it read of both
/// in one place for as long as it runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BuiltIn {
    /// Nothing: it is not read any more.
    #[default]
    Unread,
    /// A kind was asked of that kustomize has to look up: it is read behind the given one, and
    /// stands in its place where both say something.
    Asked,
    /// It was read before: the given one stands in its place where both say something.
    Read,
}

/// What is known of one node of a resource.
#[derive(Clone, Copy, Debug)]
pub enum Cursor<'a> {
    Kubernetes(kubernetes::Cursor),
    Given(given::Cursor<'a>),
}

/// What becomes of a list that is patched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListMerge<'a> {
    /// The patch's stands in its place.
    Replace,
    /// The patch's texts come first, and each once.
    Set,
    /// Items with the same values under all of these are one.
    ByKeys(Vec<&'a str>),
}

impl Schema {
    /// What the built-in one is called under `openapi`, which may name no other version.
    pub const BUILT_IN: &'static str = "v1.21.2";

    /// The one built into kustomize 5.8.1.
    pub fn kubernetes() -> Self {
        Self(None)
    }

    /// From an OpenAPI document, in the place of the built-in one, or beside it.
    pub fn from_openapi(document: &Node, built_in: BuiltIn) -> Result<Self, NoSchema> {
        Given::read(document, built_in).map(|given| Self(Some(given)))
    }

    pub fn resource(&self, gvk: &Gvk) -> Option<Cursor<'_>> {
        self.resource_of(&gvk.api_version(), &gvk.kind)
    }

    pub fn resource_of(&self, api_version: &str, kind: &str) -> Option<Cursor<'_>> {
        let built_in = || kubernetes::resource(api_version, kind).map(Cursor::Kubernetes);
        match &self.0 {
            // What kustomize knows of its own kinds is not replaced.
            Some(given) if !api_version.starts_with("kustomize.config.k8s.io/") => {
                let own = || given.resource(api_version, kind).map(Cursor::Given);
                given.built_in.first(own, built_in)
            }
            _ => built_in(),
        }
    }

    /// How many steps the answers took since this was asked. The built-in one knows so little of
    /// each node that whoever asks counts it.
    pub(crate) fn take_steps(&self) -> usize {
        self.0.as_ref().map_or(0, Given::take_steps)
    }

    /// Whether Kubernetes has a kind.
    pub fn is_built_in(gvk: &Gvk) -> bool {
        kubernetes::is_namespaced(gvk).is_some()
    }

    /// Whether resources of this kind are certainly in no namespace. A given schema is asked only
    /// for kinds that Kubernetes does not have.
    pub fn is_cluster_scoped(&self, gvk: &Gvk) -> bool {
        let given = || self.0.as_ref()?.is_namespaced(&gvk.api_version(), &gvk.kind);
        kubernetes::is_namespaced(gvk).or_else(given) == Some(false)
    }
}

impl BuiltIn {
    /// Which of two counts.
    fn first<T>(self, given: impl FnOnce() -> Option<T>, built_in: impl FnOnce() -> Option<T>) -> Option<T> {
        match self {
            Self::Unread => given(),
            Self::Asked => built_in().or_else(given),
            Self::Read => given().or_else(built_in),
        }
    }
}

impl<'a> Cursor<'a> {
    pub fn field(self, name: &str) -> Option<Self> {
        match self {
            Self::Kubernetes(own) => own.field(name).map(Self::Kubernetes),
            Self::Given(own) => own.field(name),
        }
    }

    /// Of the items of a list.
    pub fn items(self) -> Option<Self> {
        match self {
            Self::Kubernetes(own) => own.items().map(Self::Kubernetes),
            Self::Given(own) => own.items(),
        }
    }

    pub fn list(self) -> ListMerge<'a> {
        match self {
            Self::Kubernetes(own) => own.list(),
            Self::Given(own) => own.list(),
        }
    }
}
