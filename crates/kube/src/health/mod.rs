//! How well a live object is: what its controller says of it, in one word and one line. Pure: no
//! clock, no request, no memory.
//!
//! [`assess`] asks in this order, and whoever has an answer first gives it:
//!
//! 1. the object itself: it is being deleted, or its status speaks of another generation than the
//!    one that stands;
//! 2. `expressions`: what users wrote for its kind ([`Rules`]);
//! 3. `kinds`: the rules for the kinds of Kubernetes itself (`workloads`, `pods`, `jobs`,
//!    `storage`, `network`, `gateway`, `control_plane`), and the list of kinds that have no
//!    controller;
//! 4. `conditions` and `words`: what controllers commonly say of their own kinds.
//!
//! Where nobody has an answer the object is `Unknown`, never healthy: for its controller may not
//! have looked at it yet. The one list of kinds that are well by being there is in `kinds`;
//! docs/health.md has the rules in words.

mod conditions;
mod control_plane;
mod expressions;
mod gateway;
mod jobs;
mod kinds;
mod network;
mod pods;
mod rules;
mod status;
mod storage;
mod words;
mod workloads;

pub use expressions::{BadExpression, MAX_DEPTH, MAX_EXPRESSION_BYTES, MAX_NESTED_LOOPS};
pub use rules::{BadRule, Expressions, Rules};

use setpoint_core::live::Health;
use setpoint_core::value::Value;

use crate::key::group_and_kind;
use status::Object;

/// How well an object is, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assessment {
    pub health: Health,
    /// One line for people.
    pub reason: String,
    /// Waiting changes nothing: the controller is done, or has given up.
    pub terminal: bool,
    pub basis: Basis,
}

/// What an assessment rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Basis {
    /// It is being deleted.
    Deletion,
    /// Its status speaks of another generation.
    Generation,
    /// What a user wrote for its kind.
    Expressions,
    /// The rule of Setpoint for its kind.
    Kind,
    /// Its kind has no controller, so that being there is all it can do.
    Existence,
    /// What controllers commonly report, whatever the kind.
    Conditions,
    /// Nothing: its controller is silent, or says nothing that is understood here.
    Nothing,
}

/// Says how well a live object is, as the server gave it.
pub fn assess(object: &Value, rules: &Rules) -> Assessment {
    let object = Object::new(object);
    if let Some(verdict) = object.terminating() {
        return verdict.resting_on(Basis::Deletion);
    }
    if let Some(verdict) = object.outdated() {
        return verdict.resting_on(Basis::Generation);
    }
    let (group, kind) = object.group_and_kind();
    if let Some(expressions) = rules.of(group, kind) {
        return expressions.judge(object).resting_on(Basis::Expressions);
    }
    if let Some(judge) = kinds::rule(group, kind) {
        return judge(object).resting_on(Basis::Kind);
    }
    if kinds::has_no_controller(group, kind) {
        return Verdict::healthy("it exists, and its kind has no controller").resting_on(Basis::Existence);
    }
    conditions::judge(object)
}

/// Whether its metadata is enough to say how well an object is: its kind has no controller, and
/// nobody wrote expressions for it.
pub fn is_known_by_metadata(class: &str, rules: &Rules) -> bool {
    let (group, kind) = group_and_kind(class);
    rules.of(group, kind).is_none() && kinds::rule(group, kind).is_none() && kinds::has_no_controller(group, kind)
}

/// What a rule says.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Verdict {
    health: Health,
    reason: String,
    terminal: bool,
}

/// Controllers write what they like into messages; a reason is a line.
const LONGEST_REASON: usize = 300;

impl Verdict {
    fn new(health: Health, reason: &str) -> Self {
        let mut line = reason.split_whitespace().collect::<Vec<_>>().join(" ");
        if let Some((end, _)) = line.char_indices().nth(LONGEST_REASON) {
            line.truncate(end);
            line.push('…');
        }
        Self { health, reason: line, terminal: false }
    }

    fn healthy(reason: impl AsRef<str>) -> Self {
        Self::new(Health::Healthy, reason.as_ref())
    }

    fn progressing(reason: impl AsRef<str>) -> Self {
        Self::new(Health::Progressing, reason.as_ref())
    }

    fn degraded(reason: impl AsRef<str>) -> Self {
        Self::new(Health::Degraded, reason.as_ref())
    }

    fn unknown(reason: impl AsRef<str>) -> Self {
        Self::new(Health::Unknown, reason.as_ref())
    }

    /// The controller is done with it, or has given up.
    fn for_good(self) -> Self {
        Self { terminal: true, ..self }
    }

    fn resting_on(self, basis: Basis) -> Assessment {
        Assessment { health: self.health, reason: self.reason, terminal: self.terminal, basis }
    }
}

#[cfg(test)]
mod tests;
