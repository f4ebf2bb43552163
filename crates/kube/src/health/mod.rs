//! The health of a live object, as its controller reports it, with a one-line reason. Pure: no
//! clock, no request, no memory.
//!
//! [`assess`] uses the first of these that has a result:
//!
//! 1. the object itself: it is being deleted, or its status is about another generation than the
//!    present one;
//! 2. `expressions`: the user's rules for its kind ([`Rules`]);
//! 3. `kinds`: the rules for the kinds of Kubernetes itself (`workloads`, `pods`, `jobs`,
//!    `storage`, `network`, `gateway`, `control_plane`), and the list of kinds that have no
//!    controller;
//! 4. `conditions` and `words`: common conventions of custom kinds.
//!
//! Without a result the object is `Unknown`, never healthy: its controller may not have observed it
//! yet. The only list of kinds that are healthy if they exist is in `kinds`; docs/health.md
//! describes the rules.

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

/// The health of an object, and its reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assessment {
    pub health: Health,
    /// One line for people.
    pub reason: String,
    /// Set if waiting changes nothing: the controller has finished, or has given up.
    pub terminal: bool,
    pub basis: Basis,
}

/// The basis of an assessment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Basis {
    /// It is being deleted.
    Deletion,
    /// Its status is about another generation.
    Generation,
    /// The user's expressions for its kind.
    Expressions,
    /// The built-in rule for its kind.
    Kind,
    /// Its existence, since its kind has no controller.
    Existence,
    /// Common conventions of controllers, whatever the kind.
    Conditions,
    /// Nothing: its controller reports nothing, or nothing that is understood here.
    Nothing,
}

/// Assesses the health of a live object, as the server sent it.
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

/// Reports whether the metadata of a class suffices to assess it: the kind has no controller, and
/// there are no expressions for it.
pub fn is_known_by_metadata(class: &str, rules: &Rules) -> bool {
    let (group, kind) = group_and_kind(class);
    rules.of(group, kind).is_none() && kinds::rule(group, kind).is_none() && kinds::has_no_controller(group, kind)
}

/// The result of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Verdict {
    health: Health,
    reason: String,
    terminal: bool,
}

/// The maximum length of a reason: controllers write anything into messages, and a reason is one
/// line.
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

    /// Marks the verdict as final: the controller has finished, or has given up.
    fn for_good(self) -> Self {
        Self { terminal: true, ..self }
    }

    fn resting_on(self, basis: Basis) -> Assessment {
        Assessment { health: self.health, reason: self.reason, terminal: self.terminal, basis }
    }
}

#[cfg(test)]
mod tests;
