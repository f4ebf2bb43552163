//! The [`Target`] trait: the operations the engine needs of a system under management, and the
//! guarantees crash recovery relies on.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use setpoint_core::acting::ActingAs;
use setpoint_core::diff::Difference;
use setpoint_core::intent::{Intent, IntentId};
use setpoint_core::key::Key;
use setpoint_core::live::{Live, Observation, Writer};
use setpoint_core::name::{AppId, LiveVersion, TargetIdentity};
use setpoint_core::plan::Step;
use setpoint_core::resource::Resource;
use setpoint_core::time::{Span, Timestamp};
use setpoint_core::value::Value;

use crate::showing::{LogQuestion, LogReader, Tally, Tree, Unwell};

/// The pending result of a target operation.
pub type Answer<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The keys to observe, each with its declaration; `None` where only a claim remains. A target
/// compares each object with the declaration in the declaration's own shape, and some states (a
/// command's check) can only be observed with the declaration.
pub type Wanted = BTreeMap<Key, Option<Arc<Resource>>>;

/// Observed changes by others: each object with its version, `None` where it was gone.
pub type Sightings = BTreeMap<Key, Option<LiveVersion>>;

/// The client of a request to a target.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Asker {
    /// The app; `None` for several apps at once, or none in particular.
    pub app: Option<AppId>,
    /// The impersonated user of changes, and of requests that prepare them; `None` for the agent's
    /// own identity.
    pub acting_as: Option<Arc<ActingAs>>,
    pub priority: Priority,
    /// Requires that each object is read, because remembered states are not enough. Objects that
    /// cannot be read now are read at the next observation. This catches changes that events have
    /// missed.
    pub afresh: bool,
}

/// The urgency of an observation and of its consequences, most urgent first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Priority {
    /// A person waits for it.
    Person,
    NewBundle,
    #[default]
    Drift,
    /// Nothing requested it, and no event reported a change.
    Sweep,
}

/// The capabilities of a target, so that the engine need not know which one it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capabilities {
    pub granularity: Granularity,
    /// The target refuses effects of an epoch older than the newest known one.
    pub checks_epochs: bool,
    /// Reads include every confirmed effect. A target that may lag reports an object as gone, or an
    /// older one, for at most a minute ([`LAG`](setpoint_core::snapshot::LAG)).
    pub fresh_reads: bool,
    /// The target can predict its reaction without changing anything.
    pub previews: bool,
    /// A new object under an old key has another UID. Where ownership is of a place and not of its
    /// content (a path, which editors save to by putting a new file there), the UID only shows the
    /// type of the content: then the *version* must differ for every new object, and a delete that
    /// may have been followed by a create is settled as unknown.
    pub incarnations: bool,
    /// The target has an audit trail that shows who made a change.
    pub attributes: bool,
}

/// The unit of one call of [`Target::execute`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Granularity {
    /// Each step is independent.
    Resource,
    /// All steps of a plan are passed together, as a tool requires that plans by itself.
    Unit,
}

/// One step with its durable intent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Work {
    pub intent: IntentId,
    pub step: Step,
    /// The impersonated user, if not the agent's own identity: the same as in the intent.
    pub acting_as: Option<Arc<ActingAs>>,
    /// The priority of the observation it was decided on.
    pub priority: Priority,
}

/// The epoch and the deadlines of an effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fence {
    pub epoch: u64,
    /// An effect that has not left by then must not leave at all.
    pub leave_by: Timestamp,
    /// By then it has landed or never will.
    pub land_by: Timestamp,
}

/// The outcome of one step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It happened. Contains the object after it, `None` after a delete.
    Done { live: Option<Live> },
    /// It did not happen and never will under this intent.
    Refused { refusal: Refusal },
    /// It may or may not have happened. It must be settled by observation, never repeated blindly.
    Unknown { detail: String },
}

/// The reason why a step was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{detail}")]
pub struct Refusal {
    pub class: RefusalClass,
    pub detail: String,
    /// The target requires a pause of this length.
    pub retry_after: Option<Span>,
}

/// The reaction of the engine to a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RefusalClass {
    /// The object is not the one that the step was decided on: observe and decide again.
    Conflict,
    /// Another writer holds the fields that the step would change, and Setpoint must not take them:
    /// a person has to decide who owns them.
    Contested,
    /// The declaration cannot be accepted: the same input will fail the same way.
    Invalid,
    /// The declaration is valid, but the existing object has immutable fields: only a new object
    /// could match the declaration.
    Immutable,
    /// The agent has no permission.
    Denied,
    /// The target is busy or failing: retry later.
    Unavailable,
    /// The target is healthy, but a requirement of this step is not ready: its namespace, its kind,
    /// a quota. Retry later; the rest of the target is not affected.
    Unready,
    /// The effect came too late or from an epoch that is over.
    Fenced,
}

/// The end of an intent with unknown outcome, as found by observation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Settlement {
    /// It happened. Contains the object after it, `None` after a delete.
    Done {
        live: Option<Live>,
    },
    NotDone,
    /// It can no longer land, and another writer has changed the object since, which shows neither
    /// that it happened nor that it did not. Repeating it is safe, as with a write of a whole
    /// object, so that the engine decides again from the present state. An object that a create may
    /// have made is not ours.
    Superseded {
        detail: String,
    },
    /// It cannot be decided. A person has to check.
    Unknown {
        detail: String,
    },
}

/// Something may have changed: observe again. A hint is never a statement about the state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hint {
    Changed {
        keys: BTreeSet<Key>,
    },
    /// Events were lost: all watched objects must be observed again.
    Lost,
    /// Changes of these kinds are not noticed at present, and of no others. If the list is empty,
    /// all are noticed again.
    Unwatched {
        kinds: Vec<Unwatched>,
    },
    /// The target did not respond for a while, and responds again.
    AnswersAgain,
}

/// Objects whose changes are not noticed at present.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unwatched {
    /// The class of their keys.
    pub class: Arc<str>,
    /// The namespace of their keys; any if `None`.
    pub namespace: Option<Arc<str>>,
    pub since: Timestamp,
    pub why: Arc<str>,
}

impl Unwatched {
    pub fn covers(&self, key: &Key) -> bool {
        key.class() == &*self.class && self.namespace.as_ref().is_none_or(|namespace| key.namespace() == &**namespace)
    }
}

/// The error for a declaration that a target cannot identify.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{problem}")]
pub struct Unidentifiable {
    /// The mistake in the declaration and the valid form.
    pub problem: String,
}

/// A system under management.
///
/// Crash recovery relies on these guarantees. Every implementation proves them by passing
/// [`crate::conformance`]:
///
/// 1. **Identity is checked.** [`identity`](Self::identity) queries the system itself, on every
///    connection.
/// 2. **Errors are `Unknown`.** [`observe`](Self::observe) returns a state for every requested key.
///    An unreadable one is [`Observed::Unknown`](setpoint_core::observed::Observed), never absent.
/// 3. **Preconditions hold at the moment of the effect.** A create finds nothing, an update or
///    delete finds the UID and version it names, or the step is refused with
///    [`RefusalClass::Conflict`] and nothing changes.
/// 4. **An effect leaves in time or not at all** ([`Fence::leave_by`]), and lands before
///    [`Fence::land_by`] or never.
/// 5. **`Refused` is final**: the step did not happen. Anything less certain is
///    [`Outcome::Unknown`].
/// 6. **[`settle`](Self::settle) only reads.** When called after `land_by`, its `Done`, `NotDone`
///    and `Superseded` are final. When called earlier, or so soon after it that a clock may be
///    wrong, a target may make sure that the effect can no longer land, which changes nothing but
///    the object's version.
pub trait Target: Send + Sync + fmt::Debug {
    /// Returns the identity that the system reports.
    fn identity(&self) -> Answer<'_, Result<TargetIdentity, Refusal>>;

    fn capabilities(&self) -> Capabilities;

    /// Returns the key of a declared object on this target. Pure.
    fn key(&self, api_version: &str, kind: &str, body: &Value) -> Result<Key, Unidentifiable>;

    /// Observes the given keys.
    fn observe(&self, wanted: Wanted, asker: Asker, now: Timestamp) -> Answer<'_, Observation>;

    /// Checks whether the target would accept this declaration for the present state. Changes
    /// nothing.
    fn preview<'a>(&'a self, resource: &'a Resource, asker: &'a Asker) -> Answer<'a, Result<(), Refusal>>;

    /// Checks whether the target would accept this declaration as a new object, if its key were
    /// free. Changes nothing. The existing object is deleted because of this result, so a target
    /// that cannot decide it returns an error.
    fn preview_replacement<'a>(&'a self, resource: &'a Resource, asker: &'a Asker) -> Answer<'a, Result<(), Refusal>> {
        let _ = asker;
        let detail = format!("this target cannot recreate objects: delete {} by hand if required", resource.key);
        Box::pin(async { Err(Refusal { class: RefusalClass::Invalid, detail, retry_after: None }) })
    }

    /// Returns the differences that applying this declaration would make, as the target predicts
    /// them. `None` where it knows no more than the comparison with the observed state. For people:
    /// nothing is decided by it, and nothing changes.
    fn forecast<'a>(
        &'a self,
        resource: &'a Resource,
        asker: &'a Asker,
    ) -> Answer<'a, Result<Option<Vec<Difference>>, Refusal>> {
        Box::pin(async { self.preview(resource, asker).await.map(|()| None) })
    }

    /// Carries out steps under durable intents; one outcome per step, in order.
    fn execute(&self, work: Vec<Work>, fence: Fence) -> Answer<'_, Vec<Outcome>>;

    /// Determines how an intent ended. `declared` is its declaration.
    fn settle<'a>(&'a self, intent: &'a Intent, declared: Option<&'a Resource>) -> Answer<'a, Settlement>;

    /// Waits for a change of the objects that this target watches.
    fn hints(&self) -> Answer<'_, Hint>;

    /// Attributes observed changes to writers, by an audit trail. Returns as soon as any of them is
    /// known, with all that are known then, which may take minutes. Returns none if no more are
    /// expected.
    fn attribute(&self, seen: Sightings) -> Answer<'_, BTreeMap<Key, Writer>> {
        drop(seen);
        Box::pin(async { BTreeMap::new() })
    }

    /// Returns the requested objects with the objects they own, for people. A target without
    /// ownership returns only the requested ones.
    fn tree(&self, wanted: Wanted, now: Timestamp) -> Answer<'_, Tree> {
        Box::pin(async move { Tree::flat(self.observe(wanted, Asker::default(), now).await) })
    }

    /// Returns those of these objects that are not healthy, with the reason, for people. Returns
    /// none if the observation already has all that is known.
    fn unwell(&self, keys: BTreeSet<Key>) -> Answer<'_, Vec<Unwell>> {
        drop(keys);
        Box::pin(async { Vec::new() })
    }

    /// Reads the logs of the requested objects and of the objects they own.
    fn logs(&self, wanted: Wanted, question: LogQuestion) -> Answer<'_, Result<Box<dyn LogReader>, Refusal>> {
        drop((wanted, question));
        Box::pin(async {
            Err(Refusal {
                class: RefusalClass::Invalid,
                detail: "this target has no logs: only those of a cluster can be read".to_owned(),
                retry_after: None,
            })
        })
    }

    /// Stores the cached state of the target for the next process.
    fn remember(&self) -> Answer<'_, ()> {
        Box::pin(async {})
    }

    /// Returns the present limitations of managing this target, with the action that removes them;
    /// for people.
    fn degraded(&self) -> Option<String> {
        None
    }

    /// Returns the number of requests sent. Costs little, whatever the number of apps.
    fn request_counts(&self) -> Tally {
        Tally::default()
    }

    /// Returns the number of requests sent for one app.
    fn requests_for(&self, app: &AppId) -> Tally {
        let _ = app;
        Tally::default()
    }
}
