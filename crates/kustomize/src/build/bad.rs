//! Why a kustomization cannot be built.

use std::error::Error;
use std::fmt;

use crate::origin::Origin;

/// What went wrong, from the outside in, and where it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadBuild {
    pub message: String,
    /// The file and the line of it, as far as they are known.
    pub place: Option<(String, u32)>,
}

impl BadBuild {
    pub(super) fn of(message: String) -> Self {
        Self { message, place: None }
    }

    /// An error with all that it came of.
    pub(super) fn new(error: &dyn Error) -> Self {
        let mut message = error.to_string();
        let mut source = error.source();
        while let Some(error) = source {
            message = format!("{message}: {error}");
            source = error.source();
        }
        Self::of(message)
    }

    pub(super) fn at(mut self, file: &str, origin: Origin) -> Self {
        self.place = Some((file.to_owned(), origin.line));
        self
    }

    pub(super) fn within(self, what: &str) -> Self {
        Self { message: format!("{what}: {}", self.message), ..self }
    }

    /// What was tried before.
    pub(super) fn beside(self, other: &Self) -> Self {
        Self { message: format!("{} (and as a file: {})", self.message, other.message), ..self }
    }
}

impl fmt::Display for BadBuild {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Some((file, line)) => write!(f, "{file}:{line}: {}", self.message),
            None => f.write_str(&self.message),
        }
    }
}

impl Error for BadBuild {}
