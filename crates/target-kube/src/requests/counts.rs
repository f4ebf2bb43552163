//! Counts requests by call, for the cluster and for each app whose effects they are.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use setpoint_core::name::AppId;

/// The kind of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Call {
    Get,
    List,
    Watch,
    Apply,
    /// An apply with `dryRun`, which changes nothing.
    DryRun,
    Patch,
    Delete,
    /// Requests for the identity of the cluster and the kinds it serves.
    Discovery,
    /// Requests for the log of a container.
    Log,
}

impl Call {
    /// Returns the word shown to people.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::List => "list",
            Self::Watch => "watch",
            Self::Apply => "apply",
            Self::DryRun => "dry-run",
            Self::Patch => "patch",
            Self::Delete => "delete",
            Self::Discovery => "discovery",
            Self::Log => "log",
        }
    }
}

/// The number of requests sent, by call.
pub type Tally = BTreeMap<Call, u64>;

/// Returns counts in words, for people.
pub(crate) fn words(tally: &Tally) -> setpoint_target::Tally {
    tally.iter().map(|(call, count)| (call.word(), *count)).collect()
}

/// The counters of a cluster.
#[derive(Debug, Default)]
pub(crate) struct Counts(Mutex<Counted>);

#[derive(Debug, Default)]
struct Counted {
    all: Tally,
    of_apps: BTreeMap<AppId, Tally>,
}

impl Counts {
    pub(crate) fn count(&self, call: Call, app: Option<&AppId>) {
        let mut counted = self.counted();
        *counted.all.entry(call).or_default() += 1;
        if let Some(app) = app {
            if !counted.of_apps.contains_key(app) {
                counted.of_apps.insert(app.clone(), Tally::new());
            }
            if let Some(tally) = counted.of_apps.get_mut(app) {
                *tally.entry(call).or_default() += 1;
            }
        }
    }

    pub(crate) fn all(&self) -> Tally {
        self.counted().all.clone()
    }

    pub(crate) fn of_app(&self, app: &AppId) -> Tally {
        self.counted().of_apps.get(app).cloned().unwrap_or_default()
    }

    fn counted(&self) -> MutexGuard<'_, Counted> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
