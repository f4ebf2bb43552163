//! The complete input of a decision, borrowed from its owners. Nothing outside of a snapshot can
//! influence a plan.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::boundary::Boundary;
use crate::bundle::Bundle;
use crate::claim::Claim;
use crate::digest::Digest;
use crate::facts::PruneAllowance;
use crate::intent::IntentId;
use crate::key::Key;
use crate::live::{Baseline, Observation};
use crate::modes::States;
use crate::mutant::Mutant;
use crate::name::{AppId, LiveVersion, TargetIdentity, Uid};
use crate::report::{Setback, Why};
use crate::time::{Span, Timestamp};

/// One app at one instant.
#[derive(Clone, Copy, Debug)]
pub struct Snapshot<'a> {
    pub app: &'a AppId,
    pub target: &'a TargetStanding,
    pub rules: &'a Rules,
    pub states: States,
    /// The bundle at which the app is to be held.
    pub bundle: &'a Bundle,
    /// Set if the app is being retired: nothing is declared any more.
    pub retiring: bool,
    /// Set if the bundle is the last good one, held after a failure.
    pub rolling_back: bool,
    /// Set if the app has converged at this bundle before: without a baseline, a difference is then
    /// drift and not a declared change.
    pub converged_before: bool,
    /// The app's claims on this target.
    pub claims: &'a BTreeMap<Key, Arc<Claim>>,
    /// Keys of this app that another app claims or declares.
    pub elsewhere: &'a BTreeMap<Key, Elsewhere>,
    pub baselines: &'a BTreeMap<Key, Baseline>,
    pub observation: &'a Observation,
    /// The time since which every observation of a key has lacked the object we own there.
    pub missing_since: &'a BTreeMap<Key, Timestamp>,
    /// Intents on this app's keys whose end is unknown.
    pub open_intents: &'a BTreeMap<Key, IntentId>,
    /// Resources that failed or fight with another writer, and until when they are left alone.
    pub backing_off: &'a BTreeMap<Key, BackOff>,
    /// An app that reads the same stores and has not rendered their heads yet: it may be about to
    /// declare a resource that this app no longer declares.
    pub unconsidered: Option<&'a AppId>,
    /// Apps this one depends on that have not converged.
    pub waiting_for: &'a [AppId],
    pub budget: &'a Budget,
    pub answers: &'a Answers,
    /// The plan before this one.
    pub parent: Option<Digest>,
}

/// A pause in the changes of one resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackOff {
    pub until: Timestamp,
    pub setback: Setback,
}

impl BackOff {
    /// Returns why the resource is not changed now; `None` if the pause is over.
    pub fn reason(&self, now: Timestamp) -> Option<Why> {
        let Self { until, setback } = self;
        (*until > now).then(|| Why::BackingOff { until: *until, setback: setback.clone() })
    }
}

/// The rules of an app, from its document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rules {
    pub prune: bool,
    /// Take over objects that exist under a declared key and that no app claims.
    pub adopt: bool,
    /// The boundary that the app's scope sets.
    pub boundary: Boundary,
}

impl Default for Rules {
    fn default() -> Self {
        Self { prune: true, adopt: true, boundary: Boundary::Open }
    }
}

/// The state of a target, as far as a decision needs it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetStanding {
    pub identity: TargetIdentity,
    /// Nothing is deleted until this instant: the installation is new.
    pub quarantine_until: Timestamp,
    /// Set if reads include the target's own latest writes. On a target that may lag, absence is
    /// believed only when it is observed twice, some time apart.
    pub fresh_reads: bool,
    /// Set if the circuit breaker opened and there has been no complete and fresh observation
    /// since.
    pub breaker_open: bool,
}

/// Another app's interest in a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Elsewhere {
    pub app: AppId,
    /// The other app's claim, if it owns the object.
    pub claim: Option<Arc<Claim>>,
    pub declares: bool,
}

impl Elsewhere {
    /// Returns the other app's claim if it owns the object and no longer declares it: free to be
    /// taken over.
    pub fn handed_over(&self) -> Option<&Claim> {
        self.claim.as_deref().filter(|_| !self.declares)
    }
}

/// The budgets for deletes, and the spent part of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Resources the app owns.
    pub owned: u32,
    /// Deletes of the app in the last 24 hours.
    pub spent: u32,
    /// Resources all apps own together.
    pub fleet_owned: u32,
    /// Deletes of all apps in the last hour.
    pub fleet_spent: u32,
    pub allowance: Option<PruneAllowance>,
}

/// The answers to questions of an earlier decision, each with the state it holds for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answers {
    pub fresh_render: Option<FreshRender>,
    pub previews: BTreeMap<Key, Preview>,
    /// Changes that were refused because of immutable fields.
    pub immutable: BTreeMap<Key, Immutable>,
    /// Results of checks whether the target would accept a declaration as a new object.
    pub replacements: BTreeMap<Key, Replacement>,
}

/// The result of reading and rendering the store again, without any cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FreshRender {
    /// The bundle that the question was about.
    pub of: Digest,
    /// The bundle that the render gave.
    pub rendered: Digest,
    pub at: Timestamp,
}

/// The target's verdict on a change that was not made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preview {
    /// The verdict holds only for this version of the object…
    pub version: LiveVersion,
    /// …and this declaration.
    pub declared: Digest,
    pub verdict: Result<(), String>,
}

/// A target's refusal to change immutable fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Immutable {
    /// The refusal holds for this object…
    pub uid: Uid,
    /// …this declaration…
    pub declared: Digest,
    /// …and these differences between the two, by their digest.
    pub differences: Digest,
    /// The target's own message.
    pub problem: String,
}

/// A target's verdict on a declaration as a new object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replacement {
    /// The verdict was requested to replace this object…
    pub uid: Uid,
    /// …at this version…
    pub version: LiveVersion,
    /// …and for this declaration.
    pub declared: Digest,
    /// The time of the request.
    pub at: Timestamp,
    pub verdict: Result<(), String>,
}

/// A fact that must be found out before a decision can be made.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Question {
    /// How did this intent end?
    Settle { intent: IntentId },
    /// Would the target accept this declaration as an update of the live object?
    Preview { key: Key, version: LiveVersion, declared: Digest },
    /// Would the target accept this declaration as a new object if this one did not exist?
    Replace { key: Key, uid: Uid, version: LiveVersion, declared: Digest },
    /// Does a fresh render of the store still give this bundle?
    FreshRender { bundle: Digest },
}

/// The largest age of an observation or a fresh render that a delete may rest on.
pub const FRESH: Span = Span::seconds(60);

/// The longest time that a target without fresh reads may lag behind.
pub const LAG: Span = Span::seconds(60);

impl Snapshot<'_> {
    /// Reports whether the object that we own under `key` is certainly gone, given that the last
    /// observation did not contain it.
    pub fn is_gone(&self, key: &Key, now: Timestamp) -> bool {
        let believed = self.missing_since.get(key).is_some_and(|since| now.since(*since) > LAG);
        self.target.fresh_reads || believed || Mutant::BelieveStaleAbsence.is_on()
    }
}
