//! The families of targets that this program manages. Adding one is a line here: its crate has
//! everything else.

use std::sync::Arc;

use setpoint_target::{Families, Family, MemoryFamily};
use setpoint_target_host::Host;
use setpoint_target_kube::{Kubernetes, OwnCluster};

/// Returns the families. `own_cluster` is the cluster that the process runs in, if any.
pub fn families(own_cluster: Option<OwnCluster>) -> Families {
    let all: [Arc<dyn Family>; 3] =
        [Arc::new(Host), Arc::new(Kubernetes { own_cluster }), Arc::new(MemoryFamily::default())];
    Families::new(all)
}
