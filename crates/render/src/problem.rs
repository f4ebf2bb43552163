//! Mistakes in the declarations of a version: the place, the mistake and the fix. They remain until
//! the store moves.

use std::fmt;

use setpoint_store::StoreError;
use setpoint_yaml::{Diagnostic, Diagnostics, Place, visible_text};

/// One mistake. Its text is one line; [`Problem::Written`] also has a snippet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// A mistake at a place in a file.
    Written(Box<Diagnostic>),
    /// A mistake in a file, a directory or the app as a whole.
    Found {
        /// The file, directory or app.
        at: String,
        what: String,
        /// The next step for the author.
        fix: String,
    },
}

impl Problem {
    pub fn found(at: impl Into<String>, what: impl Into<String>, fix: impl Into<String>) -> Self {
        Self::Found { at: at.into(), what: what.into(), fix: fix.into() }
    }
}

impl From<Diagnostic> for Problem {
    fn from(diagnostic: Diagnostic) -> Self {
        Self::Written(Box::new(diagnostic))
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Written(diagnostic) => {
                write!(f, "{}: {}", spot(&diagnostic.place), diagnostic.message)?;
                if let Some((place, note)) = &diagnostic.other {
                    write!(f, " ({note}: {})", spot(place))?;
                }
                diagnostic.help.as_ref().map_or(Ok(()), |help| write!(f, "; {help}"))
            }
            Self::Found { at, what, fix } => write!(f, "{}: {what}; {fix}", visible_text(at)),
        }
    }
}

/// Formats `file:line:column`, as editors expect it.
fn spot(place: &Place) -> String {
    format!("{}:{}:{}", visible_text(&place.file), place.line, place.column)
}

/// The most problems that are collected: more would not help.
const MOST: usize = 200;

/// The problems of all files.
#[derive(Debug, Default)]
pub struct Problems(Vec<Problem>);

impl Problems {
    /// Adds a problem if there is room.
    pub fn add(&mut self, problem: impl Into<Problem>) {
        if !self.is_full() {
            self.0.push(problem.into());
        }
    }

    pub fn add_all(&mut self, found: Diagnostics) {
        for diagnostic in found.into_vec() {
            self.add(diagnostic);
        }
    }

    /// Reports whether the collection is full and the search can stop.
    pub fn is_full(&self) -> bool {
        self.0.len() >= MOST
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Separates the errors of a store: a mistake in the version becomes a problem and `None`, a
    /// failed read stays an error.
    pub fn sort_out<T>(&mut self, at: &str, answer: Result<T, StoreError>) -> Result<Option<T>, StoreError> {
        match answer {
            Ok(answer) => Ok(Some(answer)),
            Err(StoreError::Refused { what, fix }) => {
                self.add(Problem::found(at, what, fix));
                Ok(None)
            }
            Err(StoreError::Vanished { what, fix }) => {
                self.add(Problem::found(at, format!("{what} is not in the store"), fix));
                Ok(None)
            }
            Err(blind) => Err(blind),
        }
    }

    /// Returns `value` if there are no problems.
    pub fn or_value<T>(self, value: T) -> Result<T, Vec<Problem>> {
        if self.0.is_empty() { Ok(value) } else { Err(self.0) }
    }
}
