//! `kind: Scope`.

use setpoint_core::name::{StoreName, TargetName};
use setpoint_yaml::{Class, Node};

use crate::declaration::object;
use crate::reader::Reader;
use crate::text::{GroupKind, NamePattern, Principal};

object! {
    /// A tenant's boundary. What is not listed is not allowed.
    pub struct ScopeSpec {
        /// The stores apps of this scope may read.
        "stores" stores: Vec<StoreName> = Vec::new(),
        /// The targets apps of this scope may be held on.
        "targets" targets: Vec<TargetName> = Vec::new(),
        /// The namespaces of clusters in which they may write: names, or patterns such as `web-*`. If neither these nor `clusterKinds` are
        /// said: none on clusters of other scopes, all on those of this scope.
        "namespaces" namespaces: Option<Vec<NamePattern>> = None,
        /// The kinds without a namespace that they may write: `group/Kind`, or `Kind` of the core group. A Namespace must have a name of
        /// `namespaces` too.
        "clusterKinds" cluster_kinds: Option<Vec<GroupKind>> = None,
        /// They may declare what Setpoint itself runs from in its cluster: objects in its namespace, and bindings of its service accounts.
        "manageSetpoint" manage_setpoint: bool = false,
        /// In whose name they write on clusters, so that they may do there what this user may. In that of the agent if unsaid. On a cluster
        /// of another scope it must be one that its Target lists in `identities`.
        "actAs" act_as: Option<ActAs> = None,
    }
}

object! {
    /// A user of clusters, whom the agent impersonates.
    pub struct ActAs => groups_are_its_own {
        /// The user: `system:serviceaccount:NAMESPACE:NAME`, or one that nobody else uses.
        "user" user: Principal,
        /// The groups it is in. Those of a service account belong to it by itself.
        "groups" groups: Vec<Principal> = Vec::new(),
    }
}

/// The server gives a service account its groups only where no others are named.
fn groups_are_its_own(act_as: &ActAs, node: Node<'_>, reader: &mut Reader) -> bool {
    let odd = act_as.user.is_service_account() && !act_as.groups.is_empty();
    if odd {
        let place = node.get("groups").unwrap_or(node);
        reader.report::<()>(
            Class::Value,
            place,
            "a service account has the groups that are its own",
            "remove `groups`",
        );
    }
    !odd
}
