//! The user's health rules for kinds: three expressions, of which the worst that is true decides.

use std::collections::BTreeMap;
use std::sync::Arc;

use setpoint_core::digest::Digest;

use super::Verdict;
use super::expressions::{BadExpression, Expression, Subject};
use super::status::Object;
use crate::key::group_and_kind;

/// The user's rules, by kind, compiled once.
#[derive(Debug, Default)]
pub struct Rules {
    by_group: BTreeMap<Arc<str>, BTreeMap<Arc<str>, Compiled>>,
}

/// The user's expressions for one kind, in CEL over `self`, the object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expressions<'a> {
    pub healthy: &'a str,
    /// Without it, an object that is neither degraded nor healthy is progressing.
    pub progressing: Option<&'a str>,
    pub degraded: Option<&'a str>,
}

/// The error for a rule that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadRule {
    #[error("`{class}` is not a kind; write `Kind` for the core group and `group/Kind` for others, without a version")]
    NotAKind { class: String },
    #[error("the health expression `{field}` for {class} cannot be used")]
    Expression { class: String, field: &'static str, source: BadExpression },
}

#[derive(Debug)]
pub(super) struct Compiled {
    healthy: Expression,
    progressing: Option<Expression>,
    degraded: Option<Expression>,
}

impl Rules {
    /// Sets the expressions of a kind. They precede every other rule for it.
    pub fn set(&mut self, class: &str, expressions: Expressions<'_>) -> Result<(), BadRule> {
        let (group, kind) = group_and_kind(class);
        // `apps/v1/Deployment` would never match anything.
        if kind.is_empty() || kind.contains('/') || kind.starts_with(|first: char| !first.is_ascii_alphabetic()) {
            return Err(BadRule::NotAKind { class: class.to_owned() });
        }
        let compile = |field, text| {
            let bad = |source| BadRule::Expression { class: class.to_owned(), field, source };
            Expression::compile(text).map_err(bad)
        };
        let compiled = Compiled {
            healthy: compile("healthy", expressions.healthy)?,
            progressing: expressions.progressing.map(|text| compile("progressing", text)).transpose()?,
            degraded: expressions.degraded.map(|text| compile("degraded", text)).transpose()?,
        };
        self.by_group.entry(group.into()).or_default().insert(kind.into(), compiled);
        Ok(())
    }

    /// Identifies the rule of a kind, across runs too; `None` if there is none. Objects that were
    /// assessed by another rule have to be assessed again.
    pub fn fingerprint(&self, class: &str) -> Option<Digest> {
        let (group, kind) = group_and_kind(class);
        self.of(group, kind).map(Compiled::fingerprint)
    }

    pub(super) fn of(&self, group: &str, kind: &str) -> Option<&Compiled> {
        self.by_group.get(group)?.get(kind)
    }
}

/// The health that an expression decides on, from the worst.
#[derive(Clone, Copy)]
enum Word {
    Degraded,
    Progressing,
    Healthy,
}

impl Compiled {
    fn fingerprint(&self) -> Digest {
        let optional = [&self.progressing, &self.degraded].map(|expression| expression.as_ref().map(Expression::text));
        Digest::of(format!("{:?} {optional:?}", self.healthy.text()).as_bytes())
    }

    /// If an expression cannot be evaluated, its result is unknown, so the ones after it do not
    /// count.
    pub(super) fn judge(&self, object: Object<'_>) -> Verdict {
        let subject = match Subject::new(object.value()) {
            Ok(subject) => subject,
            Err(problem) => return Verdict::unknown(problem),
        };
        let asked = [
            (Word::Degraded, "degraded", self.degraded.as_ref()),
            (Word::Progressing, "progressing", self.progressing.as_ref()),
            (Word::Healthy, "healthy", Some(&self.healthy)),
        ];
        for (word, name, expression) in asked {
            let Some(expression) = expression else { continue };
            match expression.holds(&subject) {
                Ok(false) => {}
                Ok(true) => {
                    let reason = format!("its rule results in `{name}`: {}", expression.text());
                    return match word {
                        Word::Degraded => Verdict::degraded(reason),
                        Word::Progressing => Verdict::progressing(reason),
                        Word::Healthy => Verdict::healthy(reason),
                    };
                }
                Err(problem) => return Verdict::unknown(format!("its rule `{name}` cannot be evaluated: {problem}")),
            }
        }
        match self.progressing {
            Some(_) => Verdict::unknown("none of the rules for its kind is true"),
            None => Verdict::progressing(format!("its rule does not result in `healthy` yet: {}", self.healthy.text())),
        }
    }
}
