//! Regular expressions as Go writes them (RE2), because that is what selectors and field paths of
//! kustomizations hold. Only whether a text matches is asked, so there are no captures; the time is
//! bounded by the size of the pattern times that of the text, and spent from a budget.
//!
//! - `parse`: the syntax. `class`: sets of characters, `category` those that Unicode names, and
//!   `letter_case` what they are without regard to case. `program`: what is run.
//!
//! Other than in Go, a pattern of more than 100,000 steps is refused, and characters that Unicode
//! added after version 15.0 have their category and script.

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

/// A pattern, ready to be asked.
#[derive(Clone, Debug)]
pub struct Pattern(Way);

/// How it is asked. Most patterns are names, and there may be many of them.
#[derive(Clone, Debug)]
enum Way {
    Whole(Arc<str>),
    Within(Arc<str>),
    /// Made from so many bytes.
    Program(Arc<Program>, usize),
}

/// A pattern that is none. The words of the problem are Go's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("error parsing regexp: {problem}: `{pattern}`: write a regular expression of RE2")]
pub struct BadPattern {
    pub pattern: Arc<str>,
    pub problem: &'static str,
}

impl Pattern {
    /// Matches wherever in a text it stands.
    pub fn new(pattern: &str) -> Result<Self, BadPattern> {
        if is_literal(pattern) {
            return Ok(Self(Way::Within(pattern.into())));
        }
        match parse::parse(pattern).and_then(|tree| Program::new(&tree)) {
            Ok(program) => Ok(Self(Way::Program(Arc::new(program), pattern.len()))),
            Err(problem) => Err(BadPattern { pattern: pattern.into(), problem }),
        }
    }

    /// Matches whole texts only. It is put together as a text, as in kustomize: what is no pattern
    /// alone may be one so.
    pub fn whole(pattern: &str) -> Result<Self, BadPattern> {
        if is_literal(pattern) {
            return Ok(Self(Way::Whole(pattern.into())));
        }
        Self::new(&format!("^(?:{pattern})$")).map_err(|bad| BadPattern { pattern: pattern.into(), ..bad })
    }

    /// The one text that it matches, if there is but one.
    pub fn only(&self) -> Option<&str> {
        match &self.0 {
            Way::Whole(literal) => Some(literal),
            _ => None,
        }
    }

    /// How many steps it took to make. As many as it takes bytes: so whoever keeps many of them
    /// comes to the end of the steps before that of the memory.
    pub(crate) fn size(&self) -> usize {
        match &self.0 {
            Way::Whole(literal) | Way::Within(literal) => 1 + literal.len() / 8,
            Way::Program(program, written) => program.bytes() + 2 * written,
        }
    }

    /// Whether a text matches. Where the budget ends before that is known it does not, of which
    /// whoever asks for more is told.
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

/// Whether nothing in it means anything but itself.
fn is_literal(pattern: &str) -> bool {
    !pattern.contains(['\\', '.', '+', '*', '?', '(', ')', '|', '[', ']', '{', '}', '^', '$'])
}
