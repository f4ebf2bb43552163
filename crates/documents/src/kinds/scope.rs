//! `kind: Scope`.

use setpoint_core::name::{StoreName, TargetName};

use crate::declaration::object;
use crate::text::{GroupKind, NamePattern};

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
    }
}
