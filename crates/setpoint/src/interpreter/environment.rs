//! What the outside must offer the interpreter, and how much may be asked of it at once.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use setpoint_core::bundle::Bundle;
use setpoint_core::digest::Digest;
use setpoint_core::facts::Accepted;
use setpoint_core::name::{AppId, StoreName, TargetIdentity, VersionId};
use setpoint_core::observed::{Observed, UnknownReason};
use setpoint_core::time::Timestamp;
use setpoint_core::version::Revision;
use setpoint_engine::{Controls, Note, RenderOutcome};
use setpoint_ledger::{Ledger, Origin};
use setpoint_target::{Answer, Target};

use crate::doors::Clock;

/// A ledger that is being opened.
pub type Opening = Pin<Box<dyn Future<Output = Result<Arc<dyn Ledger>, Box<dyn Error + Send + Sync>>> + Send>>;

/// Opens the ledger: at the start, and again after it could not make something durable.
pub type OpenLedger = Box<dyn Fn() -> Opening + Send + Sync>;

/// What is to be rendered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rendering {
    pub app: AppId,
    pub revision: Revision,
    /// What was last accepted.
    pub accepted: Option<Accepted>,
    /// What the revision must descend from.
    pub descends_from: Option<Revision>,
    /// The root app's bundle by whose documents it is rendered.
    pub documents: Option<Digest>,
}

/// Accepted control documents, worked out: what they say, and connections to the targets they name.
#[derive(Clone, Debug, Default)]
pub struct Governed {
    pub controls: Controls,
    pub targets: Targets,
}

pub type Targets = BTreeMap<TargetIdentity, Arc<dyn Target>>;

/// Where declared state comes from. An error is told as what it is; it never stands for "nothing
/// declared".
pub trait Sources: Send + Sync + fmt::Debug {
    /// The store's head. `now` is when the look began.
    fn poll<'a>(&'a self, store: &'a StoreName, now: Timestamp) -> Answer<'a, Observed<VersionId>>;

    /// Renders an app from a revision, unless everything it reads is as it was at the accepted one.
    /// Fails where other documents than it asks for are taken up.
    fn render<'a>(&'a self, wanted: &'a Rendering) -> Answer<'a, RenderOutcome>;

    /// What the control documents of the root app's bundle say. `known` is where apps are held, for
    /// targets that do not say who they are now. Documents were checked when they were accepted:
    /// what cannot be connected to is said in the log and tried again. `None`: the documents cannot
    /// be read after all. That is no answer, least of all that there are none.
    fn govern<'a>(
        &'a self,
        bundle: &'a Bundle,
        known: &'a BTreeMap<AppId, TargetIdentity>,
    ) -> Answer<'a, Option<Governed>>;

    /// The stores an app is made from; none for an app that no document declares.
    fn stores_of(&self, app: &AppId) -> BTreeSet<StoreName>;

    /// Whether rendering it may take long, so that no other app should wait for that.
    fn renders_apart(&self, _app: &AppId) -> bool {
        false
    }

    /// The digest of the bundle that these heads give, rendered without any memory of former
    /// renders. A delete rests on it.
    fn render_afresh<'a>(
        &'a self,
        app: &'a AppId,
        heads: &'a Revision,
        documents: Option<Digest>,
    ) -> Answer<'a, Result<Digest, UnknownReason>>;
}

/// Reaches people.
pub trait Messenger: Send + Sync + fmt::Debug {
    /// Whether the note has arrived. `false` makes the machine try again later.
    fn deliver<'a>(&'a self, note: &'a Note) -> Answer<'a, bool>;

    /// Says something to whoever reads the log: what cannot wait for the ledger, because it is
    /// about the ledger.
    fn say(&self, line: &str);
}

/// Everything outside of the machine.
pub struct Environment {
    /// The clock of the process.
    pub clock: Clock,
    /// The log to write.
    pub origin: Origin,
    /// Who writes it. The same after a restart, so that the lease of a crashed process need not run
    /// out first.
    pub holder: String,
    pub open_ledger: OpenLedger,
    /// Those that are connected from the start; control documents bring others.
    pub targets: Targets,
    pub sources: Arc<dyn Sources>,
    pub messenger: Arc<dyn Messenger>,
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

/// How much may be under way at once. Who comes later waits for a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Stores asked for their heads, of those that answered when they were last asked; as many
    /// again of the others.
    pub fetches: usize,
    pub renders: usize,
    /// Renders that may take long.
    pub renders_apart: usize,
    /// Calls to one target: a target that hangs keeps no other waiting.
    pub calls_per_target: usize,
    pub deliveries: usize,
    /// Events that wait for the machine before those who bring them do.
    pub events: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { fetches: 16, renders: 4, renders_apart: 2, calls_per_target: 32, deliveries: 4, events: 1_024 }
    }
}
