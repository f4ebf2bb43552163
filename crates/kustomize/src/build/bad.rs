//! The reasons why a kustomization cannot be built.

use std::error::Error;
use std::fmt;

use setpoint_yaml::{Class, Diagnostics};

use crate::fields::BadField;
use crate::json_patch::Problem;
use crate::limits::{Exceeded, Limit};
use crate::load::NoResources;
use crate::merge::{NoMerge, Reason};
use crate::origin::{Origin, Sources};
use crate::references::BadReference;
use crate::replacement::ReplacementError;
use crate::variables::BadVariable;

/// Appended to the hint if kustomize itself accepts the input without losing anything.
const OFFER: &str = ", or let kustomize itself render it (`kustomize.external`)";

/// Appended to the hint for a duplicate key in a patch.
const ONLY_FIRST: &str = " (if kustomize accepts such a patch, it silently drops all but the first)";

/// The error, from the outermost context to the cause, and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadBuild {
    pub message: String,
    /// The file and the line, if known.
    pub place: Option<(String, u32)>,
    /// There is no kustomization at the expected path.
    is_absent: bool,
    limit: Option<Limit>,
    is_stopped: bool,
    /// The error is a duplicate key.
    is_duplicate: bool,
    /// The origin of the error, until it is resolved to a file.
    origin: Option<Origin>,
}

impl BadBuild {
    pub(super) fn of(message: String) -> Self {
        Self {
            message,
            place: None,
            is_absent: false,
            limit: None,
            is_stopped: false,
            is_duplicate: false,
            origin: None,
        }
    }

    pub(super) fn absent(message: String) -> Self {
        Self { is_absent: true, ..Self::of(message) }
    }

    /// Returns the error of a stopped build, which has no place.
    pub(super) fn stopped() -> Self {
        Self { is_stopped: true, ..Self::of(Exceeded::Stopped.to_string()) }
    }

    /// Builds an error with all of its causes. An error of the parser sets the place.
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
                    // Text inside a field has its own line numbers, and a name that is not a file
                    // name.
                    let file = Some(&first.place.file).filter(|file| !file.starts_with('<'));
                    bad.place = file.map(|file| (file.clone(), first.place.line));
                    bad.limit = Some(Limit::Text).filter(|_| first.class == Class::Limit);
                    bad.is_duplicate = first.class == Class::Duplicate;
                }
                None => bad.message.push_str(&error.to_string()),
            }
            bad.origin = origin_of(error).or(bad.origin);
            bad.limit = bad.limit.or(limit_of(error));
            if is_taken_by_kustomize(error) {
                bad = bad.offering();
            }
            next = error.source();
        }
        bad
    }

    /// Adds the hint that kustomize itself accepts the input. Not used for input that starts
    /// programs or reaches other machines: kustomize runs confined and cannot do that either.
    pub(super) fn offering(self) -> Self {
        Self { message: format!("{}{OFFER}", self.message), ..self }
    }

    pub(super) fn at(mut self, file: &str, origin: Origin) -> Self {
        self.place = Some((file.to_owned(), origin.line().max(1)));
        self
    }

    /// Sets the place of the error, unless a better one is known.
    pub(super) fn or_at(mut self, sources: &Sources, origin: Origin) -> Self {
        let of = |origin: Origin| Some((sources.get(origin).file.to_string(), origin.line().max(1)));
        let known = |origin| of(origin).filter(|(file, _)| !file.is_empty());
        self.place = self.place.or_else(|| self.origin.take().and_then(known)).or_else(|| known(origin));
        self
    }

    /// Sets the origin of the error, which a caller resolves to a file.
    pub(super) fn coming_from(self, origin: Origin) -> Self {
        Self { origin: self.origin.or(Some(origin)), ..self }
    }

    /// Adds a note on a duplicate key in a strategic merge patch: kustomize rejects it in a
    /// resource, but not always in a patch.
    pub(super) fn of_strategic_patch(self) -> Self {
        match self.is_duplicate {
            true => Self { message: format!("{}{ONLY_FIRST}", self.message), ..self },
            false => self,
        }
    }

    /// Drops the origin: text inside a field has its own line numbers, which are not those of the
    /// file.
    pub(super) fn of_inner_text(self) -> Self {
        Self { origin: None, ..self }
    }

    /// Returns the exceeded limit, if that is the cause.
    pub fn limit(&self) -> Option<Limit> {
        self.limit
    }

    /// Reports whether [`Options::stop`](super::Options::stop) ended the build. This is no verdict
    /// on the files: they are not rejected, and may be built at another time.
    pub fn is_stopped(&self) -> bool {
        self.is_stopped
    }

    pub(super) fn within(self, what: &str) -> Self {
        Self { message: format!("{what}: {}", self.message), ..self }
    }

    /// Puts an earlier error first, which is the likelier cause, if this one only reports that no
    /// kustomization was found.
    pub(super) fn behind(self, first: &dyn Error) -> Self {
        let message = format!("{first} (and as a directory: {})", self.message);
        if self.is_absent { Self { message, ..self } } else { self }
    }

    /// Replaces this error by an earlier one, which is the certain cause, if this one only reports
    /// that no kustomization was found.
    pub(super) fn instead(self, first: &dyn Error) -> Self {
        if self.is_absent { Self { message: first.to_string(), ..self } } else { self }
    }
}

fn is_taken_by_kustomize(error: &(dyn Error + 'static)) -> bool {
    let is_tag = |found: &Diagnostics| found.iter().next().is_some_and(|first| first.class == Class::Tag);
    error.downcast_ref().is_some_and(is_tag)
        || matches!(error.downcast_ref(), Some(Problem::NoSlash { .. }))
        || matches!(error.downcast_ref(), Some(ReplacementError::Text { is_lost: false, .. }))
}

/// Returns the limit that an error reports as exceeded.
fn limit_of(error: &(dyn Error + 'static)) -> Option<Limit> {
    let merge = error.downcast_ref::<NoMerge>().and_then(|bad| match &bad.reason {
        Reason::Limit(exceeded) => Some(exceeded),
        _ => None,
    });
    error.downcast_ref::<Exceeded>().or(merge).and_then(Exceeded::limit)
}

/// Returns the origin that an error carries.
fn origin_of(error: &(dyn Error + 'static)) -> Option<Origin> {
    if let Some(no_resources) = error.downcast_ref::<NoResources>() {
        return match no_resources {
            NoResources::Malformed(_) => None,
            NoResources::Incomplete { origin, .. }
            | NoResources::NoItems { origin, .. }
            | NoResources::NoValue { origin, .. } => Some(*origin),
        };
    }
    let field = error.downcast_ref::<BadField>().map(|bad| bad.origin);
    let reference = error.downcast_ref::<BadReference>().map(|bad| bad.origin);
    let variable = error.downcast_ref::<BadVariable>().map(|bad| bad.origin);
    field.or(reference).or(variable)
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

impl From<Exceeded> for BadBuild {
    fn from(exceeded: Exceeded) -> Self {
        Self::new(&exceeded).within("limit")
    }
}
