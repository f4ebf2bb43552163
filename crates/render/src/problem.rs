//! What is wrong with what a version declares: where, what, and what to do. It stays wrong until
//! the store moves.

use std::fmt;

use setpoint_store::StoreError;
use setpoint_yaml::{Diagnostic, Diagnostics, Place, visible_text};

/// One thing that is wrong. Its text is one line; [`Problem::Written`] also has a snippet to show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// At a place of a file.
    Written(Box<Diagnostic>),
    /// With a file, a folder or the app as a whole.
    Found {
        /// The file, folder or app.
        at: String,
        what: String,
        /// What to do next.
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

/// `file:line:column`, as editors read it.
fn spot(place: &Place) -> String {
    format!("{}:{}:{}", visible_text(&place.file), place.line, place.column)
}

/// More than this many help nobody.
const MOST: usize = 200;

/// Collects problems over all files.
#[derive(Debug, Default)]
pub struct Problems(Vec<Problem>);

impl Problems {
    /// Keeps a problem if there is room.
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

    /// Whether it is time to stop looking.
    pub fn is_full(&self) -> bool {
        self.0.len() >= MOST
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Sorts out a store's answer: what is wrong with the version becomes a problem and no answer,
    /// what could not be found out stays an error.
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

    /// `value` if nothing was found.
    pub fn or_value<T>(self, value: T) -> Result<T, Vec<Problem>> {
        if self.0.is_empty() { Ok(value) } else { Err(self.0) }
    }
}
