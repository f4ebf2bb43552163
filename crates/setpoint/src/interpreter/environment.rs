//! The interfaces that the interpreter needs from outside, and the limits on their concurrent use.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use setpoint_core::bundle::Bundle;
use setpoint_core::digest::Digest;
use setpoint_core::facts::Accepted;
use setpoint_core::name::{AppId, StoreName, TargetIdentity, TargetName, VersionId};
use setpoint_core::observed::{Observed, UnknownReason};
use setpoint_core::time::Timestamp;
use setpoint_core::version::Revision;
use setpoint_engine::{Controls, Note, RenderOutcome};
use setpoint_ledger::{Ledger, Origin};
use setpoint_target::{Answer, Target};

use crate::doors::Clock;
use crate::log::Log;
use crate::metrics::Meters;

/// A ledger that is being opened.
pub type Opening = Pin<Box<dyn Future<Output = Result<Arc<dyn Ledger>, Box<dyn Error + Send + Sync>>> + Send>>;

/// Opens the ledger: at the start, and again after it could not make something durable.
pub type OpenLedger = Box<dyn Fn() -> Opening + Send + Sync>;

/// The input of a render.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rendering {
    pub app: AppId,
    pub revision: Revision,
    /// The last accepted version.
    pub accepted: Option<Accepted>,
    /// The revision from which the new one must descend.
    pub descends_from: Option<Revision>,
    /// The bundle of the root app whose documents apply.
    pub documents: Option<Digest>,
}

/// Evaluated control documents: their settings, and connections to the targets they name.
#[derive(Clone, Debug, Default)]
pub struct Governed {
    pub controls: Controls,
    pub targets: Targets,
    /// The names of the targets in the documents, for the log.
    pub names: BTreeMap<TargetIdentity, TargetName>,
}

pub type Targets = BTreeMap<TargetIdentity, Arc<dyn Target>>;

/// The source of declared state. An error is always reported as an error; it never means "nothing
/// declared".
pub trait Sources: Send + Sync + fmt::Debug {
    /// Returns the store's head. `now` is when the poll began.
    fn poll<'a>(&'a self, store: &'a StoreName, now: Timestamp) -> Answer<'a, Observed<VersionId>>;

    /// Renders an app from a revision, unless everything it reads is as it was at the accepted one.
    /// Fails if other documents are loaded than those it asks for.
    fn render<'a>(&'a self, wanted: &'a Rendering) -> Answer<'a, RenderOutcome>;

    /// Evaluates the control documents of the root app's bundle. `known` is where apps are held,
    /// for targets that cannot report their identity now. The documents were checked when they were
    /// accepted: a failed connection is logged and retried. `None` means that the documents cannot
    /// be read after all. It never means that there are none.
    fn govern<'a>(
        &'a self,
        bundle: &'a Bundle,
        known: &'a BTreeMap<AppId, TargetIdentity>,
    ) -> Answer<'a, Option<Governed>>;

    /// Returns the stores that an app reads; none for an app that no document declares.
    fn stores_of(&self, app: &AppId) -> BTreeSet<StoreName>;

    /// Reports whether rendering the app may take long, so that no other app should wait for it.
    fn renders_apart(&self, _app: &AppId) -> bool {
        false
    }

    /// Returns the digest of the bundle that these heads give, rendered without any cache of former
    /// renders. Deletes depend on it.
    fn render_afresh<'a>(
        &'a self,
        app: &'a AppId,
        heads: &'a Revision,
        documents: Option<Digest>,
    ) -> Answer<'a, Result<Digest, UnknownReason>>;
}

/// Sends messages to people.
pub trait Messenger: Send + Sync + fmt::Debug {
    /// Delivers a note and returns whether it arrived. On `false` the machine tries again later.
    fn deliver<'a>(&'a self, note: &'a Note) -> Answer<'a, bool>;
}

/// Everything outside of the machine.
pub struct Environment {
    /// The clock of the process.
    pub clock: Clock,
    /// The log to write.
    pub origin: Origin,
    /// The name of the writer. It stays the same after a restart, so that the lease of a crashed
    /// process need not expire first.
    pub holder: String,
    pub open_ledger: OpenLedger,
    /// The targets that are connected from the start; control documents add others.
    pub targets: Targets,
    pub sources: Arc<dyn Sources>,
    pub messenger: Arc<dyn Messenger>,
    pub log: Log,
    pub meters: Arc<Meters>,
}

impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Environment")
            .field("origin", &self.origin)
            .field("holder", &self.holder)
            .field("targets", &self.targets)
            .field("sources", &self.sources)
            .field("messenger", &self.messenger)
            .finish_non_exhaustive()
    }
}

/// The limits on concurrent work. Further work waits for a permit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Polls of stores that responded to their last poll; as many again for the other stores.
    pub fetches: usize,
    pub renders: usize,
    /// Renders that may take long.
    pub renders_apart: usize,
    /// Calls to one target: a target that hangs delays no other.
    pub calls_per_target: usize,
    pub deliveries: usize,
    /// Events in the queue of the machine, before their senders have to wait.
    pub events: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { fetches: 16, renders: 4, renders_apart: 2, calls_per_target: 32, deliveries: 4, events: 1_024 }
    }
}
