//! The [`Target`] trait: what the engine may ask of a system under management, and what crash
//! recovery relies on.

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

use crate::showing::{LogQuestion, LogReader, Requests, Tree, Unwell};

/// An answer on its way.
pub type Answer<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// What to look at: each key with what is declared under it, `None` where a claim is all that is
/// left. A target compares what it finds with the declaration in the declaration's own shape, and
/// some things (a command's check) can be seen only through it.
pub type Wanted = BTreeMap<Key, Option<Arc<Resource>>>;

/// What was seen that somebody else did: each object with the version it was in, `None` where it
/// was gone.
pub type Sightings = BTreeMap<Key, Option<LiveVersion>>;

/// On whose behalf a target is asked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Asker {
    /// `None` where it is asked for several at once, or for nobody in particular.
    pub app: Option<AppId>,
    /// In whose name what would change something is asked, and what is asked for that; `None` for
    /// the agent's own.
    pub acting_as: Option<Arc<ActingAs>>,
    pub priority: Priority,
    /// What is remembered is not enough: each object is to be read, and what cannot be is to be
    /// read at the next look. The net under whatever events have missed.
    pub afresh: bool,
}

/// How urgent a look and what comes of it are, most urgent first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Priority {
    /// Somebody waits for it.
    Person,
    NewBundle,
    #[default]
    Drift,
    /// Nobody asked for it, and nothing told of a change.
    Sweep,
}

/// What a target can do, so that the engine does not have to know which one it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capabilities {
    pub granularity: Granularity,
    /// It refuses effects of an epoch older than the newest it has seen.
    pub checks_epochs: bool,
    /// What it shows includes every effect it has answered for. A target that may lag shows an
    /// object for gone, or an older one, for at most a minute
    /// ([`LAG`](setpoint_core::snapshot::LAG)).
    pub fresh_reads: bool,
    /// It can say what it would do without doing it.
    pub previews: bool,
    /// A new object under an old key has another UID. Where ownership is of a place and not of the
    /// thing in it (a path, which editors save to by putting a new file there), the UID says only
    /// what type of thing stands there: then the *version* must differ for every new object, and a
    /// delete that may have been followed by a create is settled as unknown.
    pub incarnations: bool,
    /// It has an audit trail to be asked who did something.
    pub attributes: bool,
}

/// What one call of [`Target::execute`] is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Granularity {
    /// Each step stands on its own.
    Resource,
    /// All steps of a plan are handed over together, as a tool that plans by itself wants them.
    Unit,
}

/// One step with the durable intent it is carried out under.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Work {
    pub intent: IntentId,
    pub step: Step,
    /// In whose name it is done, where not in the agent's: as the intent says.
    pub acting_as: Option<Arc<ActingAs>>,
    /// That of the look it was decided on.
    pub priority: Priority,
}

/// Under whose right and until when an effect may leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fence {
    pub epoch: u64,
    /// An effect that has not left by then must not leave at all.
    pub leave_by: Timestamp,
    /// By then it has landed or never will.
    pub land_by: Timestamp,
}

/// How one step went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It happened; the object as it stands now, `None` after a delete.
    Done { live: Option<Live> },
    /// It did not happen and never will under this intent.
    Refused { refusal: Refusal },
    /// It may or may not have happened: it must be settled by looking, never repeated blindly.
    Unknown { detail: String },
}

/// Why a step was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{detail}")]
pub struct Refusal {
    pub class: RefusalClass,
    pub detail: String,
    /// The target asked to be left alone for this long.
    pub retry_after: Option<Span>,
}

/// What the engine does about a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RefusalClass {
    /// The object is not what the step was decided on: look again and decide anew.
    Conflict,
    /// Another writer holds what the step would change, and it is not ours to take: a person has to
    /// say whose it is.
    Contested,
    /// The declaration cannot be accepted: the same input will fail the same way.
    Invalid,
    /// The declaration is well, but what is there cannot be changed into it: only a new object
    /// could be as declared.
    Immutable,
    /// We are not allowed to.
    Denied,
    /// The target is busy or failing: later.
    Unavailable,
    /// The target is well, but what this step needs around it is not: its namespace, its kind, room
    /// for it. Later, and no reason to leave the rest of the target alone.
    Unready,
    /// The effect came too late or from an epoch that is over.
    Fenced,
}

/// How an intent of unknown outcome ended, as found out by looking.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Settlement {
    /// It happened; the object as it stands now, `None` after a delete.
    Done {
        live: Option<Live>,
    },
    NotDone,
    /// It can no longer land, and someone has written since: the object shows neither that it
    /// happened nor that it did not. Repeating it is safe, as with a write of a whole object, so
    /// that the engine decides again from what is there. What a create may have made is not ours.
    Superseded {
        detail: String,
    },
    /// It cannot be told. A person has to look.
    Unknown {
        detail: String,
    },
}

/// Something may have changed: look again. Never a statement about what is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hint {
    Changed {
        keys: BTreeSet<Key>,
    },
    /// Events were lost: everything watched must be looked at again.
    Lost,
    /// Changes of these kinds are not noticed now, and of no others. Where it is empty, all are
    /// noticed again.
    Unwatched {
        kinds: Vec<Unwatched>,
    },
    /// The target did not answer for a while, and does again.
    AnswersAgain,
}

/// Objects whose changes are not noticed now.
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

/// The target cannot tell what a declared object would be on it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{problem}")]
pub struct Unidentifiable {
    /// What is wrong with the declaration and what would be right.
    pub problem: String,
}

/// A system under management.
///
/// Crash recovery relies on this, and every implementation shows it by passing
/// [`crate::conformance`]:
///
/// 1. **Identity is checked.** [`identity`](Self::identity) asks the system itself, on every
///    connection.
/// 2. **Errors are `Unknown`.** [`observe`](Self::observe) answers for every key it was asked for;
///    what could not be read is [`Observed::Unknown`](setpoint_core::observed::Observed), never
///    absent.
/// 3. **Preconditions hold at the moment of the effect.** A create finds nothing, an update or
///    delete finds the UID and version it names, or the step is refused with
///    [`RefusalClass::Conflict`] and nothing changes.
/// 4. **An effect leaves in time or not at all** ([`Fence::leave_by`]), and lands before
///    [`Fence::land_by`] or never.
/// 5. **`Refused` is final**: the step did not happen. Anything less certain is
///    [`Outcome::Unknown`].
/// 6. **[`settle`](Self::settle) only looks.** Asked after `land_by`, its `Done`, `NotDone` and
///    `Superseded` are final. Asked earlier, or so soon after it that a clock may be to blame, a
///    target may make sure that the effect can no longer land, which moves nothing but the object's
///    version.
pub trait Target: Send + Sync + fmt::Debug {
    /// What the system says it is.
    fn identity(&self) -> Answer<'_, Result<TargetIdentity, Refusal>>;

    fn capabilities(&self) -> Capabilities;

    /// What a declared object would be on this target. Pure.
    fn key(&self, api_version: &str, kind: &str, body: &Value) -> Result<Key, Unidentifiable>;

    /// Looks at the given keys.
    fn observe(&self, wanted: Wanted, asker: Asker, now: Timestamp) -> Answer<'_, Observation>;

    /// Whether the target would accept this declaration over what is there now. Changes nothing.
    fn preview<'a>(&'a self, resource: &'a Resource, asker: &'a Asker) -> Answer<'a, Result<(), Refusal>>;

    /// Whether the target would take this declaration as a new object, were nothing there under its
    /// key. Changes nothing. What stands there is deleted on the strength of it, so that a target
    /// that cannot tell says no.
    fn preview_replacement<'a>(&'a self, resource: &'a Resource, asker: &'a Asker) -> Answer<'a, Result<(), Refusal>> {
        let _ = asker;
        let detail = format!("this target makes nothing anew: delete {} by hand if it must be", resource.key);
        Box::pin(async { Err(Refusal { class: RefusalClass::Invalid, detail, retry_after: None }) })
    }

    /// What would differ once this declaration was put over what is there, by the target's own
    /// word. `None` where it knows no more than the comparison with what it shows. For people:
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

    /// Finds out how an intent ended. `declared` is what it was to make.
    fn settle<'a>(&'a self, intent: &'a Intent, declared: Option<&'a Resource>) -> Answer<'a, Settlement>;

    /// Waits for something to happen to what this target watches.
    fn hints(&self) -> Answer<'_, Hint>;

    /// Who did what was seen, by an audit trail. Answers as soon as something can be said about any
    /// of it, with all that can be said then, which may take minutes; with nothing where nothing
    /// more is to be expected.
    fn attribute(&self, seen: Sightings) -> Answer<'_, BTreeMap<Key, Writer>> {
        drop(seen);
        Box::pin(async { BTreeMap::new() })
    }

    /// The objects asked for with what has come of them, for people. Where a target knows of
    /// nothing that objects own, only themselves.
    fn tree(&self, wanted: Wanted, now: Timestamp) -> Answer<'_, Tree> {
        Box::pin(async move { Tree::flat(self.observe(wanted, Asker::default(), now).await) })
    }

    /// Those of these objects that are not healthy, and why, for people; none where nobody could
    /// say more than the observation does.
    fn unwell(&self, keys: BTreeSet<Key>) -> Answer<'_, Vec<Unwell>> {
        drop(keys);
        Box::pin(async { Vec::new() })
    }

    /// What the objects asked for, and what they own, have logged.
    fn logs(&self, wanted: Wanted, question: LogQuestion) -> Answer<'_, Result<Box<dyn LogReader>, Refusal>> {
        drop((wanted, question));
        Box::pin(async {
            Err(Refusal {
                class: RefusalClass::Invalid,
                detail: "this target keeps no logs: only those of a cluster can be read".to_owned(),
                retry_after: None,
            })
        })
    }

    /// What is not as good as it could be about how this target is held, and what to do about it;
    /// for people.
    fn degraded(&self) -> Option<String> {
        None
    }

    /// How many requests were sent.
    fn request_counts(&self) -> Requests {
        Requests::default()
    }
}
