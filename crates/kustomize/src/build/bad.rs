//! Why a kustomization cannot be built.

use std::error::Error;
use std::fmt;

use setpoint_yaml::Diagnostics;

use crate::origin::Origin;

/// What went wrong, from the outside in, and where it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadBuild {
    pub message: String,
    /// The file and the line of it, as far as they are known.
    pub place: Option<(String, u32)>,
    /// There is no kustomization where one was looked for.
    is_absent: bool,
}

impl BadBuild {
    pub(super) fn of(message: String) -> Self {
        Self { message, place: None, is_absent: false }
    }

    pub(super) fn absent(message: String) -> Self {
        Self { is_absent: true, ..Self::of(message) }
    }

    /// An error with all that it came of. What a parser found is told by its place.
    pub(super) fn new(error: &(dyn Error + 'static)) -> Self {
        let mut bad = Self::of(String::new());
        let mut next = Some(error);
        while let Some(error) = next {
            if !bad.message.is_empty() {
                bad.message.push_str(": ");
            }
            match error.downcast_ref::<Diagnostics>().and_then(|found| found.iter().next()) {
                Some(first) => {
                    let help = first.help.as_ref().map(|help| format!(": {help}")).unwrap_or_default();
                    bad.message.push_str(&format!("{}{help}", first.message));
                    // What stands in a field has lines of its own, and a name that is no file's.
                    let file = Some(&first.place.file).filter(|file| !file.starts_with('<'));
                    bad.place = file.map(|file| (file.clone(), first.place.line));
                }
                None => bad.message.push_str(&error.to_string()),
            }
            next = error.source();
        }
        bad
    }

    pub(super) fn at(mut self, file: &str, origin: Origin) -> Self {
        self.place = Some((file.to_owned(), origin.line));
        self
    }

    pub(super) fn within(self, what: &str) -> Self {
        Self { message: format!("{what}: {}", self.message), ..self }
    }

    /// What was tried before, if this says no more than that it failed, too.
    pub(super) fn beside(self, other: &dyn Error) -> Self {
        match self.is_absent {
            true => Self { message: format!("{} (and as a file: {other})", self.message), ..self },
            false => self,
        }
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
