//! The OpenAPI schemas of resources, as far as kustomize uses them: how lists are merged, and which
//! kinds are cluster-scoped.
//!
//! - [`kubernetes`]: the kinds that kustomize has built in, from a table in the binary. Nothing of
//!   it is read before it is needed.
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

/// The schemas of resources.
#[derive(Clone, Debug, Default)]
pub struct Schema(Option<Given>);

/// The use of the built-in schema before a custom one was given. Kustomize stores both in one place
/// for as long as the process runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BuiltIn {
    /// Not used, and not read any more.
    #[default]
    Unread,
    /// A kind was requested: kustomize reads the built-in schema after the given one, and the
    /// built-in one takes precedence.
    Asked,
    /// It was read before: the given schema takes precedence.
    Read,
}

/// The schema of one node of a resource.
#[derive(Clone, Copy, Debug)]
pub enum Cursor<'a> {
    Kubernetes(kubernetes::Cursor),
    Given(given::Cursor<'a>),
}

/// The way a list is merged with that of a patch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListMerge<'a> {
    /// The patch's list replaces it.
    Replace,
    /// The strings of the patch come first, and duplicates are dropped.
    Set,
    /// Items with equal values for all of these keys are merged.
    ByKeys(Vec<&'a str>),
}

impl Schema {
    /// The version of the built-in schema under `openapi`, which accepts no other one.
    pub const BUILT_IN: &'static str = "v1.21.2";

    /// Returns the schema that is built into kustomize 5.8.1.
    pub fn kubernetes() -> Self {
        Self(None)
    }

    /// Reads an OpenAPI document, which replaces the built-in schema or extends it.
    pub fn from_openapi(document: &Node, built_in: BuiltIn) -> Result<Self, NoSchema> {
        Given::read(document, built_in).map(|given| Self(Some(given)))
    }

    pub fn resource(&self, gvk: &Gvk) -> Option<Cursor<'_>> {
        self.resource_of(&gvk.api_version(), &gvk.kind)
    }

    pub fn resource_of(&self, api_version: &str, kind: &str) -> Option<Cursor<'_>> {
        let built_in = || kubernetes::resource(api_version, kind).map(Cursor::Kubernetes);
        match &self.0 {
            // Kustomize's own kinds are not replaced.
            Some(given) if !api_version.starts_with("kustomize.config.k8s.io/") => {
                let own = || given.resource(api_version, kind).map(Cursor::Given);
                given.built_in.first(own, built_in)
            }
            _ => built_in(),
        }
    }

    /// Returns the steps spent on lookups since the last call. Lookups in the built-in schema are
    /// so cheap that the caller counts them.
    pub(crate) fn take_steps(&self) -> usize {
        self.0.as_ref().map_or(0, Given::take_steps)
    }

    /// Reports whether Kubernetes has a kind.
    pub fn is_built_in(gvk: &Gvk) -> bool {
        kubernetes::is_namespaced(gvk).is_some()
    }

    /// Reports whether a kind is known to be cluster-scoped. A given schema is only used for kinds
    /// that Kubernetes does not have.
    pub fn is_cluster_scoped(&self, gvk: &Gvk) -> bool {
        let given = || self.0.as_ref()?.is_namespaced(&gvk.api_version(), &gvk.kind);
        kubernetes::is_namespaced(gvk).or_else(given) == Some(false)
    }
}

impl BuiltIn {
    /// Returns the result that takes precedence.
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

    /// Returns the schema of the items of a list.
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
