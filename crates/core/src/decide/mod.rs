//! The decision: `(Snapshot, now) → plan + report + questions`. Pure: equal input gives equal
//! output.
//!
//! It never fails on its input. A change that cannot be made is withheld with a reason; a missing
//! fact becomes a question.
//!
//! - [`declared`] judges the resources of the bundle.
//! - [`order`] puts the steps in order.
//! - [`remarked`] reports undeclared fields that are left alone.
//! - [`replaced`] judges objects that must be deleted and created again.
//! - [`undeclared`] judges objects that we own and do not declare.

mod declared;
mod order;
mod remarked;
mod replaced;
#[cfg(test)]
mod tests;
mod undeclared;

use std::collections::BTreeSet;
use std::collections::btree_map;
use std::iter::Peekable;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::diff::Difference;
use crate::facts::Change;
use crate::key::Key;
use crate::live::{Baseline, Health, Live, Writer};
use crate::modes::{Cause, State};
use crate::plan::{Plan, Step};
use crate::report::{Why, Withheld};
use crate::resource::Resource;
use crate::snapshot::{Question, Snapshot};
use crate::time::Timestamp;

/// The outcome of a decision: the plan, the changes that are withheld and why, and the questions
/// that must be answered first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    pub plan: Plan,
    pub report: Vec<Withheld>,
    pub questions: BTreeSet<Question>,
    /// Changes of claims that follow from the observation, without touching the target: absence
    /// observed, an equal object adopted.
    pub changes: Vec<Change>,
    /// Baselines learned from the observation.
    pub baselines: Vec<(Key, Baseline)>,
    /// Every drift, healed or not.
    pub drifts: Vec<Drift>,
    /// Undeclared fields of objects in place that are left alone. They do not put the app out of
    /// sync.
    pub remarks: Vec<Drift>,
    /// The remarks that were not reported to people yet.
    pub told: Vec<Drift>,
    /// Remarks that were reported and no longer hold.
    pub over: Vec<Over>,
    /// Set if every declared object was observed to be as declared.
    pub in_sync: bool,
    /// The worst health of the declared objects.
    pub health: Health,
}

/// A drift: the observed state left the last converged one while the declaration did not change. In
/// an app that is only observed, any difference.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Drift {
    pub key: Key,
    pub cause: Cause,
    pub differences: Vec<Difference>,
    pub writer: Writer,
    /// Paths of undeclared fields that are left alone, in the target's notation. If there are any,
    /// nothing differs.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub beside: Vec<Arc<str>>,
}

/// The end of what was reported about an object: of the undeclared fields at these paths, or,
/// without paths, of its drift.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Over {
    pub key: Key,
    pub paths: Vec<Arc<str>>,
}

impl Decision {
    /// Reports whether there is nothing to do, to ask or to record.
    pub fn is_idle(&self) -> bool {
        self.plan.is_empty() && self.questions.is_empty() && self.changes.is_empty()
    }
}

/// Reports whether a live object is as declared.
pub fn is_as_declared(resource: &Resource, live: &Live) -> bool {
    declared::differences(resource, live).is_empty()
}

/// Decides what to do for one app.
pub fn decide(snapshot: &Snapshot<'_>, now: Timestamp) -> Decision {
    let mut draft = Draft::new(snapshot, now);
    if !snapshot.retiring {
        declared::judge_all(&mut draft);
        order::put_in_order(&mut draft);
        replaced::judge_all(&mut draft);
    }
    undeclared::judge_all(&mut draft);
    draft.finish()
}

/// A decision under construction.
struct Draft<'a> {
    snapshot: &'a Snapshot<'a>,
    now: Timestamp,
    decision: Decision,
    /// Objects that cannot be changed in place to their declaration.
    stuck: Vec<replaced::Stuck<'a>>,
    /// Declared resources without a live object.
    missing: Vec<&'a Key>,
    /// The earliest wave that is not finished, with its first unfinished key: nothing new of later
    /// waves is begun.
    unfinished: Option<(i32, Key)>,
}

impl<'a> Draft<'a> {
    fn new(snapshot: &'a Snapshot<'a>, now: Timestamp) -> Self {
        let plan = Plan {
            app: snapshot.app.clone(),
            target: snapshot.target.identity.clone(),
            bundle: snapshot.bundle.digest(),
            parent: snapshot.parent,
            steps: Vec::new(),
        };
        let decision = Decision {
            plan,
            report: Vec::new(),
            questions: BTreeSet::new(),
            changes: Vec::new(),
            baselines: Vec::new(),
            drifts: Vec::new(),
            remarks: Vec::new(),
            told: Vec::new(),
            over: Vec::new(),
            in_sync: true,
            health: Health::Healthy,
        };
        Self { snapshot, now, decision, stuck: Vec::new(), missing: Vec::new(), unfinished: None }
    }

    fn step(&mut self, step: Step) {
        self.decision.plan.steps.push(step);
    }

    fn withhold(&mut self, key: &Key, cause: Cause, why: impl Into<Why>) {
        self.decision.report.push(Withheld { key: key.clone(), cause, why: why.into() });
    }

    /// Reports whether differences are only reported, and never written.
    fn is_only_observed(&self) -> bool {
        self.snapshot.states.contains(State::Observe)
    }

    fn finish(mut self) -> Decision {
        // People read the first lines: causes come before changes that only wait for them.
        self.decision.report.sort_by_key(|withheld| withheld.why.is_consequence());
        self.decision
    }
}

/// A walk over a map in step with another walk in the same order. A separate lookup would cost one
/// descent of the tree per key.
struct Cursor<'a, V> {
    rest: Peekable<btree_map::Iter<'a, Key, V>>,
}

impl<'a, V> Cursor<'a, V> {
    fn new(map: &'a std::collections::BTreeMap<Key, V>) -> Self {
        Self { rest: map.iter().peekable() }
    }

    /// Returns the value under `key`. Keys must be requested in ascending order.
    fn seek(&mut self, key: &Key) -> Option<&'a V> {
        while let Some((next, value)) = self.rest.peek() {
            match (*next).cmp(key) {
                std::cmp::Ordering::Less => {
                    self.rest.next();
                }
                std::cmp::Ordering::Equal => return Some(value),
                std::cmp::Ordering::Greater => return None,
            }
        }
        None
    }
}
