//! Clusters as targets: the shipped [`KubeTarget`](setpoint_target_kube::KubeTarget) over a
//! Kubernetes API server in memory.
//!
//! The target itself is not simulated. Its futures are polled by hand, its requests travel through
//! the world and meet faults, its waiting goes by simulated time. Next to each server the world
//! keeps a plain image ([`MemoryWorld`](setpoint_target::memory::MemoryWorld)) of it. The monitor
//! judges by that image, which is of the same type as the targets of the other worlds.
//!
//! | file | content |
//! | --- | --- |
//! | `objects` | declared objects, and the comparison of live ones with them |
//! | `wire` | the network and the clock of the target |
//! | `link` | the target of one run of an instance, and its tasks |
//! | `traffic` | requests and responses on their way, and their losses |
//! | `streams` | the events of watches |
//! | `strangers` | the acts of strangers and of the cluster's own controllers |

mod link;
pub(crate) mod objects;
mod strangers;
mod streams;
mod traffic;
mod wire;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use setpoint_core::intent::IntentId;
use setpoint_core::key::Key;
use setpoint_core::live::Health;
use setpoint_kube_world::{Backup, Server};
use setpoint_target::ProcessCache;

pub(crate) use link::{Errand, Link};
pub(crate) use streams::Stream;
pub(crate) use traffic::Sent;
pub(crate) use wire::Reply;

/// The name of the installation: part of the field manager, and the label of every applied object.
pub(crate) const INSTALLATION: &str = "sim";
pub(crate) const MANAGER: &str = "setpoint-sim";
/// The field manager of objects that strangers create.
pub(crate) const TOOL: &str = "kubectl-client-side-apply";

/// A simulated cluster and its connections.
#[derive(Debug)]
pub(crate) struct Cluster {
    pub(crate) server: Server,
    /// The server that responds while the address leads elsewhere.
    elsewhere: Server,
    elsewhere_until: u64,
    /// The links by instance; only of those that are up.
    pub(crate) links: BTreeMap<usize, Link>,
    /// The memory that each instance keeps from one run to the next.
    memories: BTreeMap<usize, Arc<ProcessCache>>,
    streams: Vec<Stream>,
    /// The intents under which objects were created and last written, and the resulting version, by
    /// UID.
    made: BTreeMap<String, IntentId>,
    written: BTreeMap<String, (IntentId, u64)>,
    /// The UIDs of objects that another client wrote under our name before we did: nothing
    /// distinguishes them from ours.
    pub(crate) posed: BTreeSet<String>,
    /// The revisions of the last minute, with the times at which they were the newest: a lagging
    /// server serves these.
    past: VecDeque<(u64, u64)>,
    /// Copies of the storage in the last minutes, oldest first.
    backups: VecDeque<Backup>,
    /// The time of the last restore: requests that were in progress then are lost.
    restored_at: u64,
    /// The UIDs of objects that a backup restored: their field owners are the former ones again.
    pub(crate) put_back: BTreeSet<String>,
    /// The health of unhealthy objects, as controllers report it.
    sick: BTreeMap<Key, Health>,
    /// Set if the controllers are scheduled to run.
    tidying: bool,
    /// The times until which the namespace or the definition stays removed.
    namespace_away_until: Option<u64>,
    definition_away_until: Option<u64>,
}

impl Cluster {
    pub(crate) fn new(identity: &str) -> Self {
        let mut server = Server::new(identity);
        let mut elsewhere = Server::new("elsewhere");
        for server in [&mut server, &mut elsewhere] {
            strangers::furnish(server);
            server.take_committed();
        }
        Self {
            server,
            elsewhere,
            elsewhere_until: 0,
            links: BTreeMap::new(),
            memories: BTreeMap::new(),
            streams: Vec::new(),
            made: BTreeMap::new(),
            written: BTreeMap::new(),
            posed: BTreeSet::new(),
            past: VecDeque::new(),
            backups: VecDeque::new(),
            restored_at: 0,
            put_back: BTreeSet::new(),
            sick: BTreeMap::new(),
            tidying: false,
            namespace_away_until: None,
            definition_away_until: None,
        }
    }
}
