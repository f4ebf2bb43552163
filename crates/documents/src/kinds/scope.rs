//! `kind: Scope`.

use setpoint_core::name::{StoreName, TargetName};
use setpoint_yaml::{Class, Node};

use crate::declaration::object;
use crate::reader::Reader;
use crate::text::{GroupKind, NamePattern, Principal};

object! {
    /// The permissions of a tenant's apps on stores, targets and clusters of other scopes. Without
    /// an entry here, access is denied.
    pub struct ScopeSpec {
        /// The stores of other scopes that apps of this scope may read.
        "stores" stores: Vec<StoreName> = Vec::new(),
        /// The targets of other scopes that apps of this scope may manage.
        "targets" targets: Vec<TargetName> = Vec::new(),
        /// The namespaces in which apps of this scope may write: names, or patterns such as
        /// `web-*`. If both `namespaces` and `clusterKinds` are omitted, apps may write nowhere on
        /// clusters of other scopes, and everywhere on clusters of this scope.
        "namespaces" namespaces: Option<Vec<NamePattern>> = None,
        /// The cluster-scoped kinds that apps of this scope may write: `group/Kind`, or `Kind` for
        /// the core group. The name of a Namespace must also match `namespaces`.
        "clusterKinds" cluster_kinds: Option<Vec<GroupKind>> = None,
        /// Permits apps of this scope to declare the objects that Setpoint itself runs from in its
        /// cluster: objects in its namespace, and bindings of its service accounts.
        "manageSetpoint" manage_setpoint: bool = false,
        /// The user that the agent impersonates when it writes to clusters for apps of this scope.
        /// If omitted, the agent writes as itself. On a cluster of another scope, the user must be
        /// listed in `identities` of the Target.
        "actAs" act_as: Option<ActAs> = None,
    }
}

object! {
    /// A Kubernetes user that the agent impersonates.
    pub struct ActAs => service_account_has_no_groups {
        /// The user name: `system:serviceaccount:NAMESPACE:NAME`, or a user that is reserved for
        /// this purpose.
        "user" user: Principal,
        /// The groups of the user. Must be empty for a service account, which has groups of its
        /// own.
        "groups" groups: Vec<Principal> = Vec::new(),
    }
}

/// Reports groups for a service account: the API server adds a service account's own groups only if
/// the request impersonates no others.
fn service_account_has_no_groups(act_as: &ActAs, node: Node<'_>, reader: &mut Reader) -> bool {
    let has_groups = act_as.user.is_service_account() && !act_as.groups.is_empty();
    if has_groups {
        let place = node.get("groups").unwrap_or(node);
        let message = "a service account cannot be given groups: the cluster assigns its own";
        reader.report::<()>(Class::Value, place, message, "remove `groups`");
    }
    !has_groups
}
