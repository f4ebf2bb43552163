//! `kind: Target`.

use crate::declaration::{object, words};
use crate::text::{AbsolutePath, Line};

object! {
    /// A system under management.
    pub struct TargetSpec {
        /// What kind of system it is.
        "kind" family: TargetFamily,
        /// The folder of a host that is managed; the whole host if unsaid.
        "root" root: Option<AbsolutePath> = None,
        /// The context of the kubeconfig that reaches a cluster.
        "context" context: Option<Line> = None,
        /// What the system must be: a cluster's kube-system UID, a host's machine id. Taken from the first connection if unsaid.
        "identity" identity: Option<Line> = None,
    }
}

words! {
    /// What kind of system a target is.
    pub enum TargetFamily {
        /// This machine: files, and what else a host has.
        "host" Host,
        /// A cluster.
        "kubernetes" Kubernetes,
        /// In the memory of the engine, for trying things out.
        "memory" Memory,
    }
}
