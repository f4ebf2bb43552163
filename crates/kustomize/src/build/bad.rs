//! Why a kustomization cannot be built.

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

/// Behind the advice where a real kustomize takes what is refused here, and nothing is lost by it.
const OFFER: &str = ", or let kustomize itself render it (`kustomize.external`)";

/// Behind the advice for a key that a patch has twice.
const ONLY_FIRST: &str = " (where kustomize takes such a patch, it drops all but the first in silence)";

/// What went wrong, from the outside in, and where it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadBuild {
    pub message: String,
    /// The file and the line of it, as far as they are known.
    pub place: Option<(String, u32)>,
    /// There is no kustomization where one was looked for.
    is_absent: bool,
    limit: Option<Limit>,
    is_stopped: bool,
    /// A key is written twice.
    is_duplicate: bool,
    /// Where it is, as long as nobody has said which file that is.
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

    /// It was stopped on its way, at nothing in particular.
    pub(super) fn stopped() -> Self {
        Self { is_stopped: true, ..Self::of(Exceeded::Stopped.to_string()) }
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

    /// A real kustomize takes it. What would start programs or reach other machines it cannot take,
    /// either: it is confined.
    pub(super) fn offering(self) -> Self {
        Self { message: format!("{}{OFFER}", self.message), ..self }
    }

    pub(super) fn at(mut self, file: &str, origin: Origin) -> Self {
        self.place = Some((file.to_owned(), origin.line().max(1)));
        self
    }

    /// Where it is written, unless that is known better already.
    pub(super) fn or_at(mut self, sources: &Sources, origin: Origin) -> Self {
        let of = |origin: Origin| Some((sources.get(origin).file.to_string(), origin.line().max(1)));
        let known = |origin| of(origin).filter(|(file, _)| !file.is_empty());
        self.place = self.place.or_else(|| self.origin.take().and_then(known)).or_else(|| known(origin));
        self
    }

    /// Where it is, for who knows the files.
    pub(super) fn coming_from(self, origin: Origin) -> Self {
        Self { origin: self.origin.or(Some(origin)), ..self }
    }

    /// Adds what kustomize does with a strategic merge patch that has a key twice: it refuses such
    /// a resource, but not always such a patch.
    pub(super) fn of_strategic_patch(self) -> Self {
        match self.is_duplicate {
            true => Self { message: format!("{}{ONLY_FIRST}", self.message), ..self },
            false => self,
        }
    }

    /// What stands in a field has lines of its own, which are none of the file.
    pub(super) fn of_inner_text(self) -> Self {
        Self { origin: None, ..self }
    }

    /// The limit that the build exceeds, if that is what is wrong.
    pub fn limit(&self) -> Option<Limit> {
        self.limit
    }

    /// Whether [`Options::stop`](super::Options::stop) ended it. Then nothing is known of the
    /// files: they are not refused, and may be built at another time.
    pub fn is_stopped(&self) -> bool {
        self.is_stopped
    }

    pub(super) fn within(self, what: &str) -> Self {
        Self { message: format!("{what}: {}", self.message), ..self }
    }

    /// What was tried before and is likelier meant, if this says no more than that it failed, too.
    pub(super) fn behind(self, first: &dyn Error) -> Self {
        let message = format!("{first} (and as a folder: {})", self.message);
        if self.is_absent { Self { message, ..self } } else { self }
    }

    /// What was tried before and is surely meant, if this says no more than that it failed, too.
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

/// The limit that something says is exceeded.
fn limit_of(error: &(dyn Error + 'static)) -> Option<Limit> {
    let merge = error.downcast_ref::<NoMerge>().and_then(|bad| match &bad.reason {
        Reason::Limit(exceeded) => Some(exceeded),
        _ => None,
    });
    error.downcast_ref::<Exceeded>().or(merge).and_then(Exceeded::limit)
}

/// Where something is that knows it.
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
