//! Clusters as targets: the shipped [`KubeTarget`](setpoint_target_kube::KubeTarget) over a
//! Kubernetes API server in memory.
//!
//! Nothing of the target is imitated. Its futures are polled by hand, its requests travel through
//! the world and meet faults, its waiting goes by simulated time. Beside each server the world
//! keeps its plain image ([`MemoryWorld`](setpoint_target::memory::MemoryWorld)), which is what the
//! monitor judges by and what the other worlds have for a target.
//!
//! | file | what it is |
//! | --- | --- |
//! | `objects` | what apps declare on a cluster, and whether an object is as declared |
//! | `wire` | what the target is given for a network and a clock |
//! | `link` | a target of one life of an instance, and what it is doing |
//! | `traffic` | requests and answers on their way, and what is lost on it |
//! | `streams` | what is told to whoever watches |
//! | `hands` | what strangers and the cluster's own controllers do |

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
use setpoint_target_kube::ShortMemory;

pub(crate) use link::{Errand, Link};
pub(crate) use streams::Stream;
pub(crate) use traffic::Sent;
pub(crate) use wire::Reply;

/// Names the installation: part of the field manager, and the label of everything that is applied.
pub(crate) const INSTALLATION: &str = "sim";
pub(crate) const MANAGER: &str = "setpoint-sim";
/// What strangers make objects with.
pub(crate) const TOOL: &str = "kubectl-client-side-apply";

/// A simulated cluster, and who speaks with it.
#[derive(Debug)]
pub(crate) struct Cluster {
    pub(crate) server: Server,
    /// What answers while the address leads elsewhere.
    elsewhere: Server,
    elsewhere_until: u64,
    /// By instance; only those that are up.
    pub(crate) links: BTreeMap<usize, Link>,
    /// What each instance remembers from one life to the next.
    memories: BTreeMap<usize, Arc<ShortMemory>>,
    streams: Vec<Stream>,
    /// Under which intents objects were made and last written, and in which version, by UID.
    made: BTreeMap<String, IntentId>,
    written: BTreeMap<String, (IntentId, u64)>,
    /// Objects that somebody wrote under our name before we did, by UID: nothing tells them from
    /// ours.
    pub(crate) posed: BTreeSet<String>,
    /// Revisions of the last minute, with when they were the newest: what a lagging server
    /// remembers.
    past: VecDeque<(u64, u64)>,
    /// Copies of what was stored in the last minutes, oldest first.
    backups: VecDeque<Backup>,
    /// When it was restored from one last: what was under way then is lost.
    restored_at: u64,
    /// Objects that a backup put back, by UID: who held them then holds them again.
    pub(crate) put_back: BTreeSet<String>,
    /// What controllers say of objects that are not well.
    sick: BTreeMap<Key, Health>,
    /// The controllers will look soon.
    tidying: bool,
    /// Until when somebody keeps the namespace, or the definition, away.
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
