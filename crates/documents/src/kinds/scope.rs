//! `kind: Scope`.

use setpoint_core::name::{StoreName, TargetName};

use crate::declaration::object;

object! {
    /// A tenant's boundary. What is not listed is not allowed.
    pub struct ScopeSpec {
        /// The stores apps of this scope may read.
        "stores" stores: Vec<StoreName> = Vec::new(),
        /// The targets apps of this scope may be held on.
        "targets" targets: Vec<TargetName> = Vec::new(),
    }
}
