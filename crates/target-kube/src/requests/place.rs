//! Places of objects on the server: paths and queries.

use std::fmt::Write;
use std::sync::Arc;

use setpoint_kube::audit::ObjectName;

/// A kind as the server serves it: all of its objects, or those of one namespace.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Collection {
    pub(crate) group: Arc<str>,
    pub(crate) version: Arc<str>,
    /// The plural word of the path: `deployments`.
    pub(crate) resource: Arc<str>,
    /// The namespace; empty for all namespaces, and for cluster-scoped kinds.
    pub(crate) namespace: Arc<str>,
}

impl Collection {
    pub(crate) fn path(&self) -> String {
        let mut path = if self.group.is_empty() {
            format!("/api/{}", escaped(&self.version))
        } else {
            format!("/apis/{}/{}", escaped(&self.group), escaped(&self.version))
        };
        if !self.namespace.is_empty() {
            path.push_str("/namespaces/");
            path.push_str(&escaped(&self.namespace));
        }
        path.push('/');
        path.push_str(&escaped(&self.resource));
        path
    }

    /// Reports whether the values of the objects are secret.
    pub(crate) fn is_of_secrets(&self) -> bool {
        self.group.is_empty() && &*self.resource == "secrets"
    }

    pub(crate) fn object(self, name: &str) -> Place {
        Place { collection: self, name: name.into() }
    }
}

/// The place of one object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) collection: Collection,
    pub(crate) name: Arc<str>,
}

impl Place {
    /// Returns the name that audit events use.
    pub(crate) fn audited(&self) -> ObjectName {
        let Collection { group, resource, namespace, .. } = self.collection.clone();
        ObjectName { group, resource, namespace, name: Arc::clone(&self.name) }
    }

    pub(crate) fn path(&self) -> String {
        format!("{}/{}", self.collection.path(), escaped(&self.name))
    }
}

/// Percent-escapes a part of a path or query.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            out.push(char::from(byte));
        } else {
            write!(out, "%{byte:02X}").expect("a String takes everything");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_a_path_that_no_name_can_leave() {
        let of = |group: &str, version: &str, resource: &str, namespace: &str| Collection {
            group: group.into(),
            version: version.into(),
            resource: resource.into(),
            namespace: namespace.into(),
        };
        assert_eq!(of("", "v1", "configmaps", "web").object("a").path(), "/api/v1/namespaces/web/configmaps/a");
        assert_eq!(of("apps", "v1", "deployments", "").path(), "/apis/apps/v1/deployments");
        let roles = of("rbac.authorization.k8s.io", "v1", "clusterroles", "");
        assert_eq!(
            roles.object("system:../x?y").path(),
            "/apis/rbac.authorization.k8s.io/v1/clusterroles/system%3A..%2Fx%3Fy"
        );
    }
}
