//! Verifies the identity of the cluster: the UID of its `kube-system` namespace, which is unique to
//! the cluster.
//!
//! A kubeconfig that suddenly leads to another cluster must neither be believed nor written to
//! (case 72). So the identity is checked on every new connection, and from time to time on an old
//! one.

use std::sync::{Mutex, MutexGuard, PoisonError};

use setpoint_core::mutant::Mutant;
use setpoint_core::name::TargetIdentity;
use setpoint_core::observed::UnknownReason;
use setpoint_core::time::{Span, Timestamp};
use setpoint_kube::object;

use crate::requests::{Api, Collection, Failure};
use crate::wire::within;

/// The word that begins the identities of clusters.
pub(crate) const FAMILY: &str = "kube";

/// The limit for one check: a caller that checks all targets in turn must not wait for a cluster
/// that hangs.
const PATIENCE: Span = Span::seconds(4);

/// The state of the identity check.
#[derive(Debug)]
pub(crate) struct Identity {
    known: Mutex<Known>,
    /// How long a check holds on the same connection.
    holds: Span,
    /// One check at a time: callers that arrive meanwhile share its result.
    asking: futures_util::lock::Mutex<()>,
}

#[derive(Debug, Default)]
struct Known {
    expected: Option<TargetIdentity>,
    /// The time of the last successful check, and the number of connections made before it.
    verified: Option<(u64, Timestamp)>,
    /// The number of checks, and the reason why the last one failed.
    asked: u64,
    failed: Option<UnknownReason>,
}

impl Identity {
    pub(crate) fn new(expected: Option<TargetIdentity>, holds: Span) -> Self {
        Self {
            known: Mutex::new(Known { expected, verified: None, asked: 0, failed: None }),
            holds,
            asking: futures_util::lock::Mutex::new(()),
        }
    }

    /// Asks the cluster for its identity. The first identity is expected from then on.
    pub(crate) async fn ask(&self, api: &Api) -> Result<TargetIdentity, Failure> {
        let answer = self.ask_once(api).await;
        let mut known = self.known();
        known.asked += 1;
        known.failed = answer.as_ref().err().map(Failure::blindness);
        drop(known);
        answer
    }

    async fn ask_once(&self, api: &Api) -> Result<TargetIdentity, Failure> {
        let sender = &api.sender;
        let place =
            Collection { group: "".into(), version: "v1".into(), resource: "namespaces".into(), namespace: "".into() };
        let place = place.object("kube-system");
        let before = sender.wire.connections();
        let answer = within(&*sender.wire, PATIENCE, api.get_identifying(&place)).await;
        let answer = answer.ok_or_else(|| Failure::Unanswered { detail: format!("timed out after {PATIENCE}") })??;
        let malformed = |detail: String| Failure::Malformed { detail };
        let uid = object::uid(&answer).ok_or_else(|| malformed("its kube-system namespace has no UID".to_owned()))?;
        let found = TargetIdentity::new(&format!("{FAMILY}-{uid}")).map_err(|error| malformed(error.to_string()))?;
        let mut known = self.known();
        if known.expected.get_or_insert_with(|| found.clone()) == &found {
            // A connection that was made meanwhile may not be the one that responded: it is checked
            // the next time.
            known.verified = Some((before, sender.now()));
        }
        Ok(found)
    }

    /// Returns the expected identity, if the cluster that responds now is known to have it.
    pub(crate) async fn verify(&self, api: &Api) -> Result<TargetIdentity, UnknownReason> {
        if let Some(identity) = self.expected().filter(|_| Mutant::SkipIdentity.is_on()) {
            return Ok(identity);
        }
        if let Some(identity) = self.still_verified(api) {
            return Ok(identity);
        }
        let asked = self.known().asked;
        let _turn = self.asking.lock().await;
        if let Some(identity) = self.still_verified(api) {
            return Ok(identity);
        }
        if let Some(failed) = self.failed_since(asked) {
            // All streams check at the same time when a server goes away, and each would wait for a
            // time-out of its own.
            return Err(failed);
        }
        let found = self.ask(api).await.map_err(|failure| failure.blindness())?;
        match self.known().expected.clone() {
            Some(expected) if expected != found => {
                Err(UnknownReason::OtherIdentity { expected: expected.to_string(), found: found.to_string() })
            }
            _ => Ok(found),
        }
    }

    fn failed_since(&self, asked: u64) -> Option<UnknownReason> {
        let known = self.known();
        known.failed.clone().filter(|_| known.asked > asked)
    }

    /// Returns the expected identity, once a cluster has responded.
    pub(crate) fn expected(&self) -> Option<TargetIdentity> {
        self.known().expected.clone()
    }

    fn still_verified(&self, api: &Api) -> Option<TargetIdentity> {
        let known = self.known();
        let (connections, at) = known.verified?;
        let holds = connections == api.sender.wire.connections() && api.sender.now().since(at) < self.holds;
        known.expected.clone().filter(|_| holds)
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
