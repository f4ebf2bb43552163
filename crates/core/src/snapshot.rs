//! Everything a decision may look at, borrowed from whoever holds it. What is not in here cannot
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
use crate::time::{Span, Timestamp};

/// One app at one instant.
#[derive(Clone, Copy, Debug)]
pub struct Snapshot<'a> {
    pub app: &'a AppId,
    pub target: &'a TargetStanding,
    pub rules: &'a Rules,
    pub states: States,
    /// The bundle the app is to be held at.
    pub bundle: &'a Bundle,
    /// The app is being taken down: nothing is declared any more.
    pub retiring: bool,
    /// The bundle is the last good one, held after a failure.
    pub rolling_back: bool,
    /// The app has converged at this bundle before: without a baseline, a difference is drift and
    /// not a declared change.
    pub converged_before: bool,
    /// This app's claims on this target.
    pub claims: &'a BTreeMap<Key, Arc<Claim>>,
    /// Keys of this app that another app claims or declares.
    pub elsewhere: &'a BTreeMap<Key, Elsewhere>,
    pub baselines: &'a BTreeMap<Key, Baseline>,
    pub observation: &'a Observation,
    /// Since when each key was seen without the object we own there, look after look.
    pub missing_since: &'a BTreeMap<Key, Timestamp>,
    /// Intents on this app's keys whose end is not known.
    pub open_intents: &'a BTreeMap<Key, IntentId>,
    /// Resources that failed or fight, and until when they are left alone.
    pub backing_off: &'a BTreeMap<Key, Timestamp>,
    /// An app that reads the same stores and has not seen their heads yet: it may be about to
    /// declare what this one no longer does.
    pub unconsidered: Option<&'a AppId>,
    /// Apps this one depends on that have not converged.
    pub waiting_for: &'a [AppId],
    pub budget: &'a Budget,
    pub answers: &'a Answers,
    /// The plan before this one.
    pub parent: Option<Digest>,
}

/// The rules of an app, from its document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rules {
    pub prune: bool,
    /// Take over what exists under a declared key and nobody claims.
    pub adopt: bool,
    /// Where its scope lets it write.
    pub boundary: Boundary,
}

impl Default for Rules {
    fn default() -> Self {
        Self { prune: true, adopt: true, boundary: Boundary::Open }
    }
}

/// How a target stands, as far as a decision needs it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetStanding {
    pub identity: TargetIdentity,
    /// Until this instant nothing is deleted: the installation is new.
    pub quarantine_until: Timestamp,
    /// What it shows includes its own latest writes. Where it may lag, absence is believed only
    /// when seen twice, a while apart.
    pub fresh_reads: bool,
    /// The circuit breaker opened and no full, fresh look has been had since.
    pub breaker_open: bool,
}

/// Another app's interest in a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Elsewhere {
    pub app: AppId,
    /// Its claim, where it owns the object.
    pub claim: Option<Arc<Claim>>,
    pub declares: bool,
}

impl Elsewhere {
    /// Its claim, where it owns the object and no longer declares it: free to be taken over.
    pub fn handed_over(&self) -> Option<&Claim> {
        self.claim.as_deref().filter(|_| !self.declares)
    }
}

/// What may be deleted, and what of it is spent.
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

/// The answers to questions an earlier decision asked, with what they hold for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answers {
    pub fresh_render: Option<FreshRender>,
    pub previews: BTreeMap<Key, Preview>,
    /// Changes that were refused because what is there cannot be changed.
    pub immutable: BTreeMap<Key, Immutable>,
    /// Whether the target would take what is declared as a new object.
    pub replacements: BTreeMap<Key, Replacement>,
}

/// The store was read and rendered once more, without any cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FreshRender {
    /// The bundle it was asked for.
    pub of: Digest,
    /// What came out.
    pub rendered: Digest,
    pub at: Timestamp,
}

/// What the target says it would do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preview {
    /// It holds only for this version of the object…
    pub version: LiveVersion,
    /// …and this declaration.
    pub declared: Digest,
    pub verdict: Result<(), String>,
}

/// The target refused a change, because what is there cannot be changed into what is declared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Immutable {
    /// It was said of this object…
    pub uid: Uid,
    /// …of this declaration…
    pub declared: Digest,
    /// …and of these differences between the two, by their digest.
    pub differences: Digest,
    /// What the target said.
    pub problem: String,
}

/// Whether the target would take a declaration as a new object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replacement {
    /// It was asked for this object's sake…
    pub uid: Uid,
    /// …while it was in this state…
    pub version: LiveVersion,
    /// …and for this declaration.
    pub declared: Digest,
    /// When it was asked.
    pub at: Timestamp,
    pub verdict: Result<(), String>,
}

/// What must be found out before a decision can be made.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Question {
    /// How did this intent end?
    Settle { intent: IntentId },
    /// Would the target accept this declaration over what is there?
    Preview { key: Key, version: LiveVersion, declared: Digest },
    /// Would the target take this declaration as a new object, were this one not there?
    Replace { key: Key, uid: Uid, version: LiveVersion, declared: Digest },
    /// Does the store, read afresh, still give this bundle?
    FreshRender { bundle: Digest },
}

/// How old an observation or a fresh render may be for a delete to rest on it.
pub const FRESH: Span = Span::seconds(60);

/// How far a target without fresh reads may lag behind.
pub const LAG: Span = Span::seconds(60);

impl Snapshot<'_> {
    /// Whether it is certain that the object we own under `key` is gone, given that the last look
    /// did not show it.
    pub fn is_gone(&self, key: &Key, now: Timestamp) -> bool {
        let believed = self.missing_since.get(key).is_some_and(|since| now.since(*since) > LAG);
        self.target.fresh_reads || believed || Mutant::BelieveStaleAbsence.is_on()
    }
}
