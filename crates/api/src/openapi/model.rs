//! The types that requests and responses contain and that write themselves, most of them of
//! `setpoint-core`, as the document describes them. Each mirrors a type of the same name,
//! unless it says otherwise. They have no values: the test of the document compares them with what
//! those types write.

#![expect(dead_code, reason = "the types are only described")]

use std::collections::BTreeMap;

use utoipa::ToSchema;

/// An app: `scope/name`.
#[derive(ToSchema)]
#[schema(example = "web/shop", pattern = r"^[a-z0-9]([a-z0-9.-]*[a-z0-9])?/[a-z0-9]([a-z0-9.-]*[a-z0-9])?$")]
pub(crate) struct AppId(String);

/// The name of a store.
#[derive(ToSchema)]
#[schema(example = "platform")]
pub(crate) struct StoreName(String);

/// The name under which a target is declared.
#[derive(ToSchema)]
#[schema(example = "prod")]
pub(crate) struct TargetName(String);

/// A target's own identity: the UID of a cluster's namespace kube-system, or the id of a machine.
#[derive(ToSchema)]
#[schema(example = "kube-0f6a1c52")]
pub(crate) struct TargetIdentity(String);

/// A version of a store: the id of a commit.
#[derive(ToSchema)]
#[schema(example = "9c1e04d29c1e04d29c1e04d29c1e04d29c1e04d2")]
pub(crate) struct VersionId(String);

/// A person, a machine token or a part of Setpoint.
#[derive(ToSchema)]
#[schema(example = "account:erika")]
pub(crate) struct Actor(String);

/// An object on a target: `class:namespace:name`. The namespace may be empty.
#[derive(ToSchema)]
#[schema(example = "apps/Deployment:web:shop", pattern = "^[^:]+:[^:]*:.+$")]
pub(crate) struct Key(String);

/// An object as people name it: `Kind/name`.
#[derive(ToSchema)]
#[schema(example = "Deployment/shop", pattern = "^[^/]+/.+$")]
pub(crate) struct ObjectName(String);

/// A SHA-256 digest.
#[derive(ToSchema)]
#[schema(pattern = "^[0-9a-f]{64}$")]
pub(crate) struct Digest(String);

/// A change that an agent has begun: `epoch-number`.
#[derive(ToSchema)]
#[schema(example = "7-31", pattern = "^[0-9]+-[0-9]+$")]
pub(crate) struct IntentId(String);

/// An instant: milliseconds since 1970-01-01 UTC.
#[derive(ToSchema)]
#[schema(example = 1_794_744_000_000_u64)]
pub(crate) struct Timestamp(u64);

/// A length of time in milliseconds.
#[derive(ToSchema)]
#[schema(example = 3_600_000)]
pub(crate) struct Span(u64);

/// The inputs of an app: one version of each store that it reads, by the name of the store.
#[derive(ToSchema)]
pub(crate) struct Revision(BTreeMap<String, VersionId>);

/// The health of an object, or of all objects of an app.
#[derive(ToSchema)]
#[schema(rename_all = "kebab-case")]
pub(crate) enum Health {
    Healthy,
    Progressing,
    Degraded,
    Unknown,
}

/// The cause of a change.
#[derive(ToSchema)]
#[schema(rename_all = "kebab-case")]
pub(crate) enum Cause {
    /// A new version declares it.
    Declared,
    /// The target or its defaults have changed.
    Environment,
    /// The object has left its declared state.
    Drift,
    /// It has fields that are not declared.
    Addition,
    /// Undeclared fields that are only reported.
    Leftover,
    /// It is no longer declared.
    Prune,
    /// Its app is retired.
    Retire,
    Rollback,
    /// It cannot be changed in place.
    Replace,
}

/// A change of one object.
#[derive(ToSchema)]
#[schema(rename_all = "kebab-case")]
pub(crate) enum Verb {
    Create,
    Update,
    Delete,
}

/// A state of an app that limits its changes.
#[derive(ToSchema)]
#[schema(rename_all = "kebab-case")]
pub(crate) enum State {
    Auto,
    Manual,
    Observe,
    WindowClosed,
    Frozen,
    TargetMoved,
    Suspended,
    Held,
    StoreStale,
    TargetUnknown,
}

/// A bundle that passed its gates.
#[derive(ToSchema)]
pub(crate) struct Accepted {
    bundle: Digest,
    /// The number of this acceptance: each acceptance of the app adds one.
    sequence: u64,
    revision: Revision,
    at: Timestamp,
}

/// A hold: the app stays at one bundle until a person releases it.
#[derive(ToSchema)]
pub(crate) struct Hold {
    bundle: Option<Digest>,
    why: HoldReason,
    by: Actor,
    at: Timestamp,
}

/// The reason of a hold.
#[derive(ToSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub(crate) enum HoldReason {
    /// A person ordered it.
    Asked { reason: String },
    /// The app was rolled back from this acceptance.
    RolledBack { failed: u64 },
    /// The history of a store was rewritten.
    Rewritten { accepted: Revision, offered: Revision },
}

/// A suspension: nothing is changed until it ends.
#[derive(ToSchema)]
pub(crate) struct Suspension {
    reason: String,
    by: Actor,
    at: Timestamp,
    until: Timestamp,
}

/// One step of a path into an object: the name of a field, or an index.
#[derive(ToSchema)]
#[serde(untagged)]
pub(crate) enum Segment {
    Index(usize),
    Field(String),
}

/// One place where two objects differ. An absent side means that the value is absent.
///
/// Values are JSON. A number that is not a whole number of 64 bits is `{"$num": "0.5"}`, a secret is
/// `{"$secret": …}` with a keyed digest and no content, a value that another object will have is
/// `{"$deferred": …}`, and a field whose name begins with `$` has one more `$`.
#[derive(ToSchema)]
pub(crate) struct Difference {
    path: Vec<Segment>,
    before: Option<serde_json::Value>,
    after: Option<serde_json::Value>,
}

/// A difference of an object from its declaration.
#[derive(ToSchema)]
pub(crate) struct Drift {
    key: Key,
    cause: Cause,
    differences: Vec<Difference>,
    writer: Writer,
    /// The undeclared fields that are left unchanged. If there are any, `differences` is empty.
    beside: Option<Vec<String>>,
}

/// The last writer of an object.
#[derive(ToSchema)]
#[serde(tag = "certainty", rename_all = "kebab-case")]
pub(crate) enum Writer {
    /// An audit event proves it.
    Proven(Proof),
    /// The object's own fields name it; they can be forged.
    Likely {
        who: String,
    },
    Unknown,
}

/// A writer, and the proof.
#[derive(ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Proof {
    who: String,
    /// The user that it impersonated.
    acting_as: Option<String>,
    address: Option<String>,
    audit_id: Option<String>,
    how: String,
}

/// A change that is withheld, with the reason.
#[derive(ToSchema)]
pub(crate) struct Withheld {
    key: Key,
    cause: Cause,
    why: Why,
}

/// The reason why a change is withheld.
#[derive(ToSchema)]
#[serde(tag = "why", rename_all = "kebab-case")]
pub(crate) enum Why {
    State { state: State },
    NotSeen { reason: UnknownReason },
    PerhapsGone,
    NotSeenToEnd,
    OpenIntent { intent: IntentId },
    BackingOff { until: Timestamp, setback: BackOffReason },
    OwnedByOther { app: AppId },
    OutsideScope(Lacking),
    NotOurs,
    Deleting { finalizers: Vec<String> },
    Controlled,
    PreviewPending,
    PreviewRefused { problem: String },
    Immutable { problem: String, until: Timestamp },
    ReplaceNotAllowed { problem: String, until: Timestamp },
    ReplacementPending,
    ReplacementRefused { problem: String, until: Timestamp },
    DependencyNotReady { key: Key },
    DependencyNotHealthy { key: Key },
    EarlierWave { wave: i32, key: Key },
    AppNotReady { app: AppId },
    HandOver { app: AppId },
    DeclaredElsewhere { app: AppId },
    RetentionReason(RetentionReason),
}

/// The reason why a change is tried again later.
//
// The `Setback` of core: two names that differ only by case would be one file of generated clients.
#[derive(ToSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum BackOffReason {
    /// It failed.
    Failure { problem: String },
    /// Another writer keeps changing the object.
    Fight,
}

/// The reason why an object is not deleted.
#[derive(ToSchema)]
#[serde(tag = "guard", rename_all = "kebab-case")]
pub(crate) enum RetentionReason {
    PruneOff,
    EmptyBundle,
    IncompleteObservation,
    OldObservation,
    Quarantine { until: Timestamp },
    BreakerOpen,
    OtherChangesFirst,
    Adopted,
    Recovered,
    Controlled,
    Protected,
    OverBudget { budget: u32, spent: u32 },
    OverFleetBudget { budget: u32, spent: u32 },
    DependentStands,
    OthersNotConsidered,
    FreshRenderPending,
    FreshRenderDiffers,
}

/// A permission that the scope of an app does not have.
#[derive(ToSchema)]
pub(crate) struct Lacking {
    scope: String,
    grant: Grant,
    /// The entry that would have to be listed.
    name: String,
}

/// The field of a Scope document that would grant a permission.
#[derive(ToSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Grant {
    Namespace,
    ClusterKind,
}

/// The reason why a state is unknown.
#[derive(ToSchema)]
#[serde(tag = "why", rename_all = "kebab-case")]
pub(crate) enum UnknownReason {
    Unreachable { detail: String },
    Denied { detail: String },
    Unauthenticated { detail: String },
    NotFound { detail: String },
    Partial { detail: String },
    Malformed { detail: String },
    Unobservable { detail: String },
    EventsLost { detail: String },
    OtherIdentity { expected: String, found: String },
    NotRun { detail: String },
    NotLooked,
    OtherDocuments,
}

/// A problem, as in RFC 9457. Problems have no pages of their own, so that their type is
/// `about:blank`, and is left out.
#[derive(ToSchema)]
pub(crate) struct Problem {
    /// The words of the status.
    title: String,
    /// The status of the response.
    status: u16,
    kind: crate::agent::ProblemKind,
    /// The problem, and what to do about it.
    detail: String,
}
