//! The decision: `(Snapshot, now) → plan + report + questions`. Pure; equal input gives an equal
//! answer.
//!
//! It never fails on what it is given: what cannot be done is withheld with a reason, what must be
//! found out is asked. [`declared`] judges what the bundle declares, [`order`] puts the steps in
//! order, [`remarked`] tells what stands on it and is left alone, [`replaced`] judges what has to
//! be made anew, [`undeclared`] what we own beside what is declared.

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

/// What to do, what not to do and why, and what must be known first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    pub plan: Plan,
    pub report: Vec<Withheld>,
    pub questions: BTreeSet<Question>,
    /// Claims that follow from what was seen, without touching the target: absence observed, an
    /// equal object adopted.
    pub changes: Vec<Change>,
    /// Baselines learned from what was seen.
    pub baselines: Vec<(Key, Baseline)>,
    /// Every such departure, healed or not.
    pub drifts: Vec<Drift>,
    /// What stands undeclared on what is in place, and is left alone. It makes nothing out of sync.
    pub remarks: Vec<Drift>,
    /// What of that nobody was told of yet.
    pub told: Vec<Drift>,
    /// What was told and is there no longer.
    pub over: Vec<Over>,
    /// Everything declared was seen to be as declared.
    pub in_sync: bool,
    /// The worst health of what is declared.
    pub health: Health,
}

/// The observed state left the last converged one while the declaration did not move; or differs at
/// all, where it is only observed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Drift {
    pub key: Key,
    pub cause: Cause,
    pub differences: Vec<Difference>,
    pub writer: Writer,
    /// Where something stands that is not declared and is left alone, in the target's own words.
    /// Then nothing differs.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub beside: Vec<Arc<str>>,
}

/// What was told of an object and is so no longer: what stood undeclared in these places or,
/// without any, all that had drifted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Over {
    pub key: Key,
    pub paths: Vec<Arc<str>>,
}

impl Decision {
    /// Nothing to do, nothing to ask, nothing to record.
    pub fn is_idle(&self) -> bool {
        self.plan.is_empty() && self.questions.is_empty() && self.changes.is_empty()
    }
}

/// Whether something that is there is as it is declared.
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

/// A decision in the making.
struct Draft<'a> {
    snapshot: &'a Snapshot<'a>,
    now: Timestamp,
    decision: Decision,
    /// What cannot be changed into its declaration.
    stuck: Vec<replaced::Stuck<'a>>,
    /// What is declared and not there.
    missing: Vec<&'a Key>,
    /// The earliest wave that is not through, and what of it is not: nothing new of later ones is
    /// begun.
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

    /// Differences are reported, and never written.
    fn is_only_observed(&self) -> bool {
        self.snapshot.states.contains(State::Observe)
    }

    fn finish(self) -> Decision {
        self.decision
    }
}

/// Walks a map once, beside another walk in the same order. Looking keys up one by one would cost a
/// descent each.
struct Cursor<'a, V> {
    rest: Peekable<btree_map::Iter<'a, Key, V>>,
}

impl<'a, V> Cursor<'a, V> {
    fn new(map: &'a std::collections::BTreeMap<Key, V>) -> Self {
        Self { rest: map.iter().peekable() }
    }

    /// The value under `key`. Keys must be asked for in ascending order.
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
