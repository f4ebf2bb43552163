//! The options of a Kubernetes target: the wire to its server, the clock, and the memory.

use std::fmt;
use std::sync::Arc;

use setpoint_core::digest::DigestKey;
use setpoint_core::name::TargetIdentity;
use setpoint_core::time::{Span, Timestamp};
use setpoint_kube::health::Rules as HealthRules;

use crate::wire::Wire;
use setpoint_target::{Cache, NoCache};

/// The namespace of objects that name none, where neither the Target document nor the kubeconfig
/// names one.
pub(crate) const DEFAULT_NAMESPACE: &str = "default";

/// The clock of the engine.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> Timestamp + Send + Sync>);

impl Clock {
    pub fn new(read: Arc<dyn Fn() -> Timestamp + Send + Sync>) -> Self {
        Self(read)
    }

    pub fn now(&self) -> Timestamp {
        (self.0)()
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Clock")
    }
}

/// The settings of a cluster. Create them with [`KubeOptions::new`], then adjust them.
#[derive(Clone, Debug)]
pub struct KubeOptions {
    pub wire: Arc<dyn Wire>,
    /// The name of this installation of Setpoint: part of our field manager, and the value of the
    /// label on every object we apply.
    pub installation: Arc<str>,
    /// The namespace of resources that declare none.
    pub namespace: Arc<str>,
    pub clock: Clock,
    /// The installation's key: values are compared by hashes made with it, and secrets are shown as
    /// digests.
    pub digest_key: DigestKey,
    pub memory: Arc<dyn Cache>,
    /// The health rules for kinds that report their health in their own way.
    pub health: Arc<HealthRules>,
    /// The identity that the cluster must have. If omitted, the first identity it reports.
    pub identity: Option<TargetIdentity>,
    /// How long a cluster's identity holds on the same connection before it is checked again.
    pub identity_holds: Span,
    /// Trust that an object is unchanged while a caught-up stream reports nothing about it. Without
    /// it every observation is a request.
    pub trust_streams: bool,
    /// The most streams of kinds that are open at the same time. Kinds beyond this are listed from
    /// time to time.
    pub most_streams: usize,
    /// The period in which all of these kinds are listed once.
    pub poll_round: Span,
    /// The most objects without our label that are each followed by name. More are followed with
    /// all others of their kind.
    pub most_by_name: usize,
    /// Audit events will arrive. All events about one instant arrive within this span of each
    /// other.
    pub audit: Option<Span>,
}

impl KubeOptions {
    pub fn new(wire: Arc<dyn Wire>, installation: &str, clock: Clock, digest_key: DigestKey) -> Self {
        Self {
            wire,
            installation: installation.into(),
            namespace: DEFAULT_NAMESPACE.into(),
            clock,
            digest_key,
            memory: Arc::new(NoCache),
            health: Arc::default(),
            identity: None,
            identity_holds: Span::seconds(30),
            trust_streams: true,
            most_streams: 500,
            most_by_name: 100,
            poll_round: Span::minutes(5),
            audit: None,
        }
    }
}
