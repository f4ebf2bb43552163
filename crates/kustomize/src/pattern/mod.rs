//! Regular expressions in the syntax of Go (RE2), because the selectors and field paths of
//! kustomizations use it. Only whether a text matches is needed, so there are no captures. The time
//! is bounded by the size of the pattern times that of the text, and spent from a budget.
//!
//! - `parse`: the syntax. `class`: sets of characters, `category` those named by Unicode, and
//!   `letter_case` their case variants. `program`: runs a pattern.
//!
//! Unlike in Go, a pattern of more than 100,000 steps is rejected, and characters added to Unicode
//! after version 15.0 have their category and script.

mod category;
mod class;
mod letter_case;
mod parse;
mod program;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use crate::limits::Budget;
use program::Program;

/// A compiled pattern.
#[derive(Clone, Debug)]
pub struct Pattern(Way);

/// The form of a pattern. Most patterns are plain names, and there may be many of them.
#[derive(Clone, Debug)]
enum Way {
    Whole(Arc<str>),
    Within(Arc<str>),
    /// The program, and the size of its source in bytes.
    Program(Arc<Program>, usize),
}

/// An invalid pattern. The problem is in the words of Go.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("error parsing regexp: {problem}: `{pattern}`: write a regular expression of RE2")]
pub struct BadPattern {
    pub pattern: Arc<str>,
    pub problem: &'static str,
}

impl Pattern {
    /// Compiles a pattern that matches anywhere in a text.
    pub fn new(pattern: &str) -> Result<Self, BadPattern> {
        if is_literal(pattern) {
            return Ok(Self(Way::Within(pattern.into())));
        }
        match parse::parse(pattern).and_then(|tree| Program::new(&tree)) {
            Ok(program) => Ok(Self(Way::Program(Arc::new(program), pattern.len()))),
            Err(problem) => Err(BadPattern { pattern: pattern.into(), problem }),
        }
    }

    /// Compiles a pattern that matches whole texts only. As in kustomize it is concatenated as
    /// text, so that an invalid pattern may become a valid one.
    pub fn whole(pattern: &str) -> Result<Self, BadPattern> {
        if is_literal(pattern) {
            return Ok(Self(Way::Whole(pattern.into())));
        }
        Self::new(&format!("^(?:{pattern})$")).map_err(|bad| BadPattern { pattern: pattern.into(), ..bad })
    }

    /// Returns the only text that matches, if there is exactly one.
    pub fn only(&self) -> Option<&str> {
        match &self.0 {
            Way::Whole(literal) => Some(literal),
            _ => None,
        }
    }

    /// Returns the number of steps to compile the pattern. It equals the number of bytes, so that a
    /// build with many patterns runs out of steps before memory.
    pub(crate) fn size(&self) -> usize {
        match &self.0 {
            Way::Whole(literal) | Way::Within(literal) => 1 + literal.len() / 8,
            Way::Program(program, written) => program.bytes() + 2 * written,
        }
    }

    /// Reports whether a text matches. If the budget ends first, the result is false, and the next
    /// expense reports the limit.
    pub fn is_match(&self, text: &str, budget: &Budget) -> bool {
        match &self.0 {
            Way::Whole(literal) => {
                budget.spend(1);
                **literal == *text
            }
            Way::Within(literal) => {
                budget.spend(1 + text.len() / 8);
                text.contains(&**literal)
            }
            Way::Program(program, _) => program.is_match(text, budget),
        }
    }
}

/// Reports whether the pattern has no special characters.
fn is_literal(pattern: &str) -> bool {
    !pattern.contains(['\\', '.', '+', '*', '?', '(', ')', '|', '[', ']', '{', '}', '^', '$'])
}
