//! The identity of a resource: its group, version and kind, its name, and its namespace.

use std::fmt;
use std::sync::Arc;

use crate::node::Node;

/// The namespace of resources that set none.
pub const DEFAULT_NAMESPACE: &str = "default";
/// A placeholder for the namespace of cluster-scoped resources.
const NO_NAMESPACE: &str = "_non_namespaceable_";

/// Group, version and kind. In a selector, empty parts match anything.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Gvk {
    pub group: Arc<str>,
    pub version: Arc<str>,
    pub kind: Arc<str>,
}

impl Gvk {
    pub fn new(group: &str, version: &str, kind: &str) -> Self {
        Self { group: group.into(), version: version.into(), kind: kind.into() }
    }

    /// Reads the `apiVersion` and `kind` of a resource.
    pub fn of(node: &Node) -> Self {
        let text = |field| node.at(&[field]).and_then(Node::as_scalar).map(|scalar| Arc::clone(&scalar.text));
        let (api_version, kind) = (text("apiVersion").unwrap_or_default(), text("kind").unwrap_or_default());
        match api_version.split_once('/') {
            Some((group, version)) => Self { group: group.into(), version: version.into(), kind },
            None => Self { group: Arc::default(), version: api_version, kind },
        }
    }

    pub fn from_api_version(api_version: &str, kind: &str) -> Self {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        Self::new(group, version, kind)
    }

    pub fn api_version(&self) -> String {
        match &*self.group {
            "" => self.version.to_string(),
            group => format!("{group}/{}", self.version),
        }
    }

    /// Reports whether a selector matches. Its empty parts match anything.
    pub fn is_selected(&self, selector: &Self) -> bool {
        let is = |wanted: &str, own: &str| wanted.is_empty() || wanted == own;
        is(&selector.group, &self.group) && is(&selector.version, &self.version) && is(&selector.kind, &self.kind)
    }

    /// Returns the sort key of a kind.
    pub(crate) fn sorted_as(&self) -> String {
        let or = |text: &Arc<str>, none: &str| if text.is_empty() { none.to_owned() } else { text.to_string() };
        format!("{}_{}_{}", or(&self.group, "~G"), or(&self.version, "~V"), or(&self.kind, "~K"))
    }
}

/// Formats as kustomize does in messages: `Deployment.v1.apps`.
impl fmt::Display for Gvk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let or = |text: &Arc<str>, none: &'static str| if text.is_empty() { none.into() } else { Arc::clone(text) };
        write!(f, "{}.{}.{}", or(&self.kind, "[noKind]"), or(&self.version, "[noVer]"), or(&self.group, "[noGrp]"))
    }
}

/// The id of one resource.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Id {
    pub gvk: Gvk,
    pub name: Arc<str>,
    /// Empty if not set.
    pub namespace: Arc<str>,
    /// The resource is known to be cluster-scoped.
    pub is_cluster_scoped: bool,
}

impl Id {
    /// Returns the actual namespace, whatever the resource sets.
    pub fn effective_namespace(&self) -> &str {
        match &*self.namespace {
            _ if self.is_cluster_scoped => NO_NAMESPACE,
            "" => DEFAULT_NAMESPACE,
            namespace => namespace,
        }
    }

    pub fn is_in_default_namespace(&self) -> bool {
        self.effective_namespace() == DEFAULT_NAMESPACE
    }

    /// Reports whether the resource is known to be cluster-scoped, or was under a former id.
    pub fn is_in_no_namespace(&self) -> bool {
        self.effective_namespace() == NO_NAMESPACE
    }

    pub fn is_in_namespace_of(&self, other: &Self) -> bool {
        self.effective_namespace() == other.effective_namespace()
    }

    /// Reports whether kind and name are equal, in any namespace.
    pub fn is_named_as(&self, other: &Self) -> bool {
        self.gvk == other.gvk && self.name == other.name
    }

    pub fn is_same(&self, other: &Self) -> bool {
        self.is_in_namespace_of(other) && self.is_named_as(other)
    }

    /// Reports whether a selector matches. Its empty parts match anything.
    pub fn is_selected(&self, selector: &Self) -> bool {
        (selector.name.is_empty() || selector.name == self.name)
            && (selector.namespace.is_empty() || selector.is_in_namespace_of(self))
            && self.gvk.is_selected(&selector.gvk)
    }
}

/// Formats as kustomize does in messages: `Deployment.v1.apps/web.shop`.
impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let or = |text: &Arc<str>, none: &'static str| if text.is_empty() { none.into() } else { Arc::clone(text) };
        write!(f, "{}/{}.{}", self.gvk, or(&self.name, "[noName]"), or(&self.namespace, "[noNs]"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(kind: &str, name: &str, namespace: &str, is_cluster_scoped: bool) -> Id {
        Id { gvk: Gvk::new("", "v1", kind), name: name.into(), namespace: namespace.into(), is_cluster_scoped }
    }

    #[test]
    fn what_names_no_namespace_is_in_the_default_one_unless_it_can_be_in_none() {
        let bare = id("ConfigMap", "a", "", false);
        assert!(bare.is_same(&id("ConfigMap", "a", "default", false)));
        assert!(!bare.is_same(&id("ConfigMap", "a", "shop", false)));
        assert!(id("Namespace", "a", "x", true).is_same(&id("Namespace", "a", "y", true)));
        assert!(!id("Namespace", "a", "", true).is_in_default_namespace());
        assert_eq!(bare.to_string(), "ConfigMap.v1.[noGrp]/a.[noNs]");
    }

    #[test]
    fn a_selector_is_about_whatever_it_does_not_name() {
        let web = Id { gvk: Gvk::new("apps", "v1", "Deployment"), name: "web".into(), ..Id::default() };
        let selector = |group: &str, kind: &str, name: &str, namespace: &str| Id {
            gvk: Gvk::new(group, "", kind),
            name: name.into(),
            namespace: namespace.into(),
            is_cluster_scoped: false,
        };
        assert!(web.is_selected(&Id::default()));
        assert!(web.is_selected(&selector("apps", "Deployment", "web", "default")));
        for other in [
            selector("batch", "", "", ""),
            selector("", "Job", "", ""),
            selector("", "", "other", ""),
            selector("", "", "", "shop"),
        ] {
            assert!(!web.is_selected(&other), "{other}");
        }
    }
}
