//! The reasons why a field cannot be substituted. Messages never contain values of variables. For a
//! Secret they contain no text except an expression that is the whole field.

use std::sync::Arc;

use crate::identity::Id;
use crate::origin::Origin;

/// The maximum length of an expression in a message.
pub(super) const TOLD: usize = 80;

/// A field, or the name of one, that cannot be substituted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{resource}, field `{path}`: {}{problem}", .expression.as_ref().map(|text| format!("`{text}`: ")).unwrap_or_default())]
pub struct BadSubstitution {
    /// The id before the substitution.
    pub resource: Box<Id>,
    /// For example `spec.containers[0].image`.
    pub path: String,
    /// The place where the field is written.
    pub origin: Origin,
    /// The expression, unless it may be secret.
    pub expression: Option<String>,
    pub problem: Problem,
}

/// The reason of the error.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    #[error(
        "variable not set (strict mode): declare it, write a default as in `${{NAME:=default}}`, escape it as `$${{NAME}}`, skip the resource with the annotation `{}: disabled`, or write `kustomize: {{undeclared: keep}}` in the App to keep undeclared variables as written",
        super::ANNOTATION
    )]
    Undeclared,
    #[error(
        "unable to parse variable name: write letters, digits and `_`, not beginning with a digit, or escape it as `$${{`"
    )]
    NoName,
    #[error("missing closing brace: write one after the name, or a known function, or escape it as `$${{`")]
    NoBrace,
    #[error("bad substitution: correct it, or escape it as `$${{`")]
    Bad,
    #[error("unable to parse substitution within function: write what is missing in it, or escape it as `$${{`")]
    NoArgument,
    #[error("`+`, `?`, `:+` and `:?` are not supported: write a default with `:=` or `:-`, or escape it as `$${{`")]
    Unsupported,
    #[error("the replacement is empty: write `${{NAME#pattern}}` or `${{NAME%pattern}}` to remove the match")]
    NothingInPlace,
    #[error("expressions are nested more than {0} levels deep: write fewer levels")]
    TooDeep(usize),
    #[error("syntax error in pattern: correct it; after `%` only `*` and `?` have a meaning")]
    Pattern,
    #[error("a part of the value ends within a character: lengths count bytes, choose others")]
    Splits,
    #[error("the substitution takes more than {0} bytes and comparisons in all: use shorter values, or fewer of them")]
    TooMuch(u64),
    #[error("the fields `{first}` and `{second}` get the same name: give them different ones")]
    SameName { first: Arc<str>, second: Arc<str> },
    #[error("the value does not match the tag before it: correct the value, or remove the tag")]
    OtherTag,
}

/// A variable that cannot be declared.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadVariable {
    #[error("'{name}' var name is invalid, must match '^[_[:alpha:]][_[:alpha:][:digit:]]*$': give it another name")]
    Name { name: Arc<str> },
    #[error("the value of the variable `{name}` is not a JSON string, number, boolean or null: write it in quotes")]
    Value { name: Arc<str> },
}

/// A problem, with the expression that has it.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) expression: String,
    pub(super) problem: Problem,
}

impl Fault {
    pub(super) fn new(written: &str, problem: Problem) -> Self {
        let mut expression: String = written.chars().take(TOLD).collect();
        if expression.len() < written.len() {
            expression.push('…');
        }
        Self { expression, problem }
    }
}
