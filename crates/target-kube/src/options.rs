//! What a Kubernetes target is given: the way to its server, the clock to go by, and what it may
//! remember.

use std::fmt;
use std::sync::Arc;

use setpoint_core::digest::DigestKey;
use setpoint_core::name::TargetIdentity;
use setpoint_core::time::{Span, Timestamp};
use setpoint_kube::health::Rules as HealthRules;

use crate::memory::{Memory, NoMemory};
use crate::wire::Wire;

/// Reads the clock the engine goes by.
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

/// How a cluster is held. Made with [`KubeOptions::new`], then adjusted.
#[derive(Clone, Debug)]
pub struct KubeOptions {
    pub wire: Arc<dyn Wire>,
    /// Names this installation of Setpoint: part of our field manager, and the label of everything
    /// we apply.
    pub installation: Arc<str>,
    /// The namespace of what declares none.
    pub namespace: Arc<str>,
    pub clock: Clock,
    /// The installation's key: values are compared by hashes made with it, and secrets shown by
    /// digests.
    pub digest_key: DigestKey,
    pub memory: Arc<dyn Memory>,
    /// How well kinds are that say so in their own words.
    pub health: Arc<HealthRules>,
    /// Which cluster it must be. If unsaid, the one that answers first.
    pub identity: Option<TargetIdentity>,
    /// How long a cluster that said who it is need not say it again on the same connection.
    pub identity_holds: Span,
    /// Believe that what a caught-up stream tells nothing about is as it was when last seen.
    /// Without it every look is a request.
    pub trust_streams: bool,
    /// Streams of kinds that are open at once. What there is none left for is listed from time to
    /// time.
    pub most_streams: usize,
    /// All of that is listed once in this time.
    pub poll_round: Span,
    /// Objects without our label that are followed each by its name. More are followed with all
    /// others of their kind.
    pub most_by_name: usize,
    /// Audit events will come, and all about one instant within this long of each other.
    pub audit: Option<Span>,
}

impl KubeOptions {
    pub fn new(wire: Arc<dyn Wire>, installation: &str, clock: Clock, digest_key: DigestKey) -> Self {
        Self {
            wire,
            installation: installation.into(),
            namespace: "default".into(),
            clock,
            digest_key,
            memory: Arc::new(NoMemory),
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
