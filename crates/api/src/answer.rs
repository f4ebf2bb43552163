//! Responses.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use setpoint_core::decide::Drift;
use setpoint_core::diff::Difference;
use setpoint_core::digest::Digest;
use setpoint_core::facts::Accepted;
use setpoint_core::hold::{Hold, Suspension};
use setpoint_core::intent::{IntentId, Verb};
use setpoint_core::key::Key;
use setpoint_core::live::{Health, Writer};
use setpoint_core::modes::Cause;
use setpoint_core::name::{Actor, AppId, StoreName, TargetIdentity, TargetName, VersionId};
use setpoint_core::report::{Why, Withheld};
use setpoint_core::time::Timestamp;
use setpoint_core::version::Revision;

#[cfg(feature = "openapi")]
use crate::openapi::model;

/// The number of requests sent since the agent started, by verb: `get`, `list`, `watch`, `apply`,
/// `dry-run`, …
pub type Tally = BTreeMap<String, u64>;

/// The state of all apps, stores and targets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Overview {
    /// The agent's own time.
    #[cfg_attr(feature = "openapi", schema(value_type = model::Timestamp))]
    pub now: Timestamp,
    /// The position in the change feed before this was read: later changes may concern it.
    #[serde(default)]
    pub position: u64,
    pub version: String,
    pub ledger: LedgerStanding,
    pub stores: Vec<StoreStanding>,
    /// The connected targets.
    #[serde(default)]
    pub targets: Vec<TargetStanding>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unreached: Vec<UnreachedTarget>,
    pub apps: Vec<AppSummary>,
}

/// The state of the ledger, and with it whether the agent may act.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct LedgerStanding {
    /// This agent is the writer of the log and may act.
    pub holding: bool,
    /// The last error of the ledger.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trouble: Option<String>,
    /// The reason why the anchor of the ledger is not up to date. The agent continues to work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub anchor: Option<String>,
}

/// The conditions of an agent that can act.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Readiness {
    pub ledger: LedgerStanding,
    /// Set once the control documents are in force, as far as they can be read, and every store
    /// has been read or has failed.
    pub stores_tried: bool,
}

impl Readiness {
    /// Returns the reason why the agent is not ready; `None` if it is.
    pub fn missing(&self) -> Option<&'static str> {
        if !self.ledger.holding || self.ledger.trouble.is_some() {
            Some("the ledger is not held")
        } else if !self.stores_tried {
            Some("the stores have not been read yet")
        } else {
            None
        }
    }
}

/// The state of a store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct StoreStanding {
    #[cfg_attr(feature = "openapi", schema(value_type = model::StoreName))]
    pub store: StoreName,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<model::VersionId>))]
    pub head: Option<VersionId>,
    /// The time of its last successful response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<model::Timestamp>))]
    pub answered: Option<Timestamp>,
    pub stale: bool,
    /// The number of consecutive failed polls. The reason for the last failure is `problem`.
    pub failures: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// A connected target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct TargetStanding {
    #[cfg_attr(feature = "openapi", schema(value_type = model::TargetName))]
    pub target: TargetName,
    /// The kind of system, as in its document.
    #[serde(default)]
    pub kind: String,
    #[cfg_attr(feature = "openapi", schema(value_type = model::TargetIdentity))]
    pub identity: TargetIdentity,
    /// The number of apps that are managed on it.
    #[serde(default)]
    pub apps: usize,
    /// Empty if requests are not counted.
    #[cfg_attr(feature = "openapi", schema(value_type = BTreeMap<String, u64>))]
    pub requests: Tally,
    /// A limitation in how it is managed, and what to do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub degraded: Option<String>,
    /// The time until which Setpoint does not contact it, because it failed too often. Afterwards,
    /// nothing is deleted there before everything on it has been read once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<model::Timestamp>))]
    pub left_alone_until: Option<Timestamp>,
}

/// A target whose identity is not known yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct UnreachedTarget {
    #[cfg_attr(feature = "openapi", schema(value_type = model::TargetName))]
    pub target: TargetName,
    /// The kind of system, as in its document.
    #[serde(default)]
    pub kind: String,
    pub problem: String,
    /// The apps that wait for it. Apps that were never managed are missing from the apps of the
    /// overview.
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<model::AppId>))]
    pub waiting: Vec<AppId>,
}

/// The state of an app, in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "kebab-case")]
pub enum AppState {
    /// All declared objects were observed in place and healthy.
    Converged,
    /// It is being changed, or observed for the first time.
    Progressing,
    /// Something differs from the declaration and is not being changed; the report gives the
    /// reason.
    OutOfSync,
    /// All declared objects are in place, but not all are healthy.
    Degraded,
    Suspended,
    Held,
    /// Its document is gone, or points to another system than the one with the objects it owns.
    Frozen,
    /// It is being taken down.
    Retiring,
    /// No version was accepted yet.
    Waiting,
    /// It could not be observed.
    Unknown,
}

/// A problem of an app that its state does not show: the app may be exactly as its accepted version
/// declares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "kebab-case")]
pub enum AppProblem {
    /// The newest version is refused.
    VersionRefused,
    /// The newest version cannot be rendered now.
    VersionNotRendered,
    /// The stores offer a version that does not descend from the accepted one.
    HistoryRewritten,
    /// The stores offer an older version than the accepted one.
    StoreSetBack,
    /// A store has not responded for so long that its current version is unknown.
    StoreStale,
    /// Objects that are no longer declared are not deleted.
    DeletesWithheld,
}

impl fmt::Display for AppProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::VersionRefused => "version refused",
            Self::VersionNotRendered => "version not rendered",
            Self::HistoryRewritten => "history rewritten",
            Self::StoreSetBack => "store set back",
            Self::StoreStale => "store stale",
            Self::DeletesWithheld => "deletes withheld",
        })
    }
}

/// A summary of an app, for one line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct AppSummary {
    #[cfg_attr(feature = "openapi", schema(value_type = model::AppId))]
    pub app: AppId,
    /// The component and the environment of its document; empty if it has none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub component: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub environment: String,
    /// The labels of its document.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    pub state: AppState,
    /// Everything else that is wrong.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<AppProblem>,
    #[cfg_attr(feature = "openapi", schema(value_type = model::TargetIdentity))]
    pub target: TargetIdentity,
    /// The name of the target; absent if no Target document leads to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<model::TargetName>))]
    pub target_name: Option<TargetName>,
    /// The system that its document points to, if it is not `target`, which has the objects it
    /// owns. The app is frozen until that changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<model::TargetIdentity>))]
    pub moved_to: Option<TargetIdentity>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<model::Accepted>))]
    pub accepted: Option<Accepted>,
    #[cfg_attr(feature = "openapi", schema(value_type = model::Health))]
    pub health: Health,
    /// The number of resources it declares.
    pub resources: usize,
    pub drifts: usize,
    /// The number of undeclared fields on its resources that Setpoint does not change. They do not
    /// make it out of sync.
    #[serde(default)]
    pub remarks: usize,
    /// The number of changes that are withheld.
    pub withheld: usize,
    /// The reason why it does not progress, in one line, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The current version of its stores, if it is older than the accepted one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub set_back: Option<SetBack>,
    /// The requests for this app alone. Requests for several apps are counted with the target.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[cfg_attr(feature = "openapi", schema(value_type = BTreeMap<String, u64>))]
    pub requests: Tally,
}

/// All apps, for pages that group and count them. The summaries are shared with the agent, and
/// lack the requests for each app.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Fleet {
    /// Everything but the apps.
    pub overview: Overview,
    pub apps: Vec<Arc<AppSummary>>,
}

/// One page of apps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct AppsPage {
    /// The position in the change feed before this was read: later changes may concern it.
    #[serde(default)]
    pub position: u64,
    pub apps: Vec<AppSummary>,
    /// The value of `after` for the next page; absent on the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
    /// The number of apps on all pages.
    pub total: usize,
    /// The number of apps that match all filters but those of state, health and problems, by state.
    pub states: BTreeMap<AppState, usize>,
    /// The number of those that are not converged, or that have a problem.
    pub problems: usize,
}

/// An event of the change feed: something has changed, and can be read again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct FeedEvent {
    /// The position in the feed, from which a reader can continue.
    pub seq: u64,
    #[serde(flatten)]
    pub change: Change,
}

/// A change that a reader of the feed may want to read.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "what", rename_all = "kebab-case")]
pub enum Change {
    App {
        #[cfg_attr(feature = "openapi", schema(value_type = model::AppId))]
        app: AppId,
    },
    Store {
        #[cfg_attr(feature = "openapi", schema(value_type = model::StoreName))]
        store: StoreName,
    },
    Target {
        #[cfg_attr(feature = "openapi", schema(value_type = model::TargetName))]
        target: TargetName,
    },
    /// Events are missing, because the reader was too slow or its position is not known: read
    /// everything again.
    Reload,
}

/// An older version than the accepted one: the branch was set back, or a mirror lags. Setpoint does
/// not follow it by itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct SetBack {
    #[cfg_attr(feature = "openapi", schema(value_type = model::Revision))]
    pub offered: Revision,
    /// The command that follows it.
    pub command: String,
}

impl fmt::Display for SetBack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { offered, command } = self;
        write!(f, "{offered} is older than what was accepted and is not followed; to follow it: {command}")
    }
}

/// All details of an app.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct AppDetail {
    /// The position in the change feed before this was read: later changes may concern it.
    #[serde(default)]
    pub position: u64,
    pub summary: AppSummary,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<model::Accepted>))]
    pub last_good: Option<Accepted>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<model::Hold>))]
    pub hold: Option<Hold>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<model::Suspension>))]
    pub suspension: Option<Suspension>,
    /// The newest version that was refused, while no newer one was accepted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<RefusedVersion>,
    /// The accepted version, as its store describes it.
    pub versions: Vec<VersionNote>,
    pub resources: Vec<ResourceLine>,
    /// All changes that are withheld, with reasons.
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<model::Withheld>))]
    pub report: Vec<Withheld>,
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<model::Drift>))]
    pub drifts: Vec<Drift>,
    /// Undeclared fields on its resources that Setpoint does not change.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<model::Drift>))]
    pub remarks: Vec<Drift>,
    /// A limitation in how its target is managed, and what to do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_degraded: Option<String>,
    /// The time until which Setpoint does not contact its target, as in the overview.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<model::Timestamp>))]
    pub left_alone_until: Option<Timestamp>,
    /// The time when its window opens, if it is closed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<model::Timestamp>))]
    pub window_opens: Option<Timestamp>,
    /// Unhealthy objects, if the target can give the reason. At most a few dozen.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unhealthy: Vec<Unhealthy>,
    /// Changes whose outcome is not known.
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<model::IntentId>))]
    pub unsettled: Vec<IntentId>,
    /// The comparison with another program that also renders its versions, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shadow: Option<ShadowStanding>,
}

/// A comparison of another program's renders with those of Setpoint. It has no effect on the app.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct ShadowStanding {
    /// The digest of the other program.
    pub renderer: String,
    /// The number of versions after which the comparison ends.
    pub versions: u32,
    pub compared: usize,
    /// The number of versions not compared, because newer ones came.
    pub passed_over: u64,
    /// The number of versions not counted above, because neither of the two renders them.
    #[serde(default)]
    pub refused_by_both: u64,
    /// The compared versions that are rendered differently.
    pub different: Vec<ShadowedVersion>,
    /// The reason why the newest version could not be compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trouble: Option<String>,
}

impl ShadowStanding {
    pub fn is_over(&self) -> bool {
        self.compared >= usize::try_from(self.versions).unwrap_or(usize::MAX)
    }
}

/// A version that another program renders differently.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct ShadowedVersion {
    #[cfg_attr(feature = "openapi", schema(value_type = model::Revision))]
    pub revision: Revision,
    #[cfg_attr(feature = "openapi", schema(value_type = model::Timestamp))]
    pub at: Timestamp,
    /// The differences, one per line: resources and fields, never values.
    pub differences: Vec<String>,
}

/// An unhealthy object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Unhealthy {
    #[cfg_attr(feature = "openapi", schema(value_type = model::Key))]
    pub key: Key,
    #[cfg_attr(feature = "openapi", schema(value_type = model::Health))]
    pub health: Health,
    /// The reason, in one line.
    pub reason: String,
}

/// The objects of an app on its target, and the objects they own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct AppTree {
    #[cfg_attr(feature = "openapi", schema(value_type = model::AppId))]
    pub app: AppId,
    #[cfg_attr(feature = "openapi", schema(value_type = model::TargetIdentity))]
    pub target: TargetIdentity,
    /// The name of the target; absent if no Target document leads to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<model::TargetName>))]
    pub target_name: Option<TargetName>,
    /// The agent's own time.
    #[cfg_attr(feature = "openapi", schema(value_type = model::Timestamp))]
    pub now: Timestamp,
    /// In display order: the objects that an object owns follow it, one level deeper.
    pub objects: Vec<TreeObject>,
    /// The app is only observed: it does not take ownership of the objects it declares.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub observed: bool,
    /// Their differences from the declaration, as last observed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<model::Drift>))]
    pub drifts: Vec<Drift>,
    /// Undeclared fields on them that Setpoint does not change, as last observed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<model::Drift>))]
    pub remarks: Vec<Drift>,
    /// Kinds or namespaces that could not be observed, one per line. Objects that are missing above
    /// because of this may exist.
    pub unseen: Vec<String>,
}

/// One object of a tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct TreeObject {
    #[cfg_attr(feature = "openapi", schema(value_type = model::Key))]
    pub key: Key,
    pub depth: usize,
    /// The object that owns it; absent for an object of the app itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<model::Key>))]
    pub owner: Option<Key>,
    /// The app declares it.
    pub declared: bool,
    /// The app has a claim to it. Objects that are owned by an object of the app have none.
    pub owned: bool,
    pub present: bool,
    #[cfg_attr(feature = "openapi", schema(value_type = model::Health))]
    pub health: Health,
    /// The reason why it is not healthy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<model::Timestamp>))]
    pub created: Option<Timestamp>,
}

/// A part of the logs of the pods of an app.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "kebab-case")]
pub enum LogPart {
    /// The sources of the logs, each `pod/container`. Sent first, and again with all sources when
    /// more are followed.
    Sources { names: Vec<String> },
    Line {
        /// The container that wrote it: `pod/container`.
        source: String,
        text: String,
    },
    /// A remark about the logs: a log that cannot be read, or a part that is left out.
    Note { text: String },
}

/// A version that was refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct RefusedVersion {
    #[cfg_attr(feature = "openapi", schema(value_type = model::Revision))]
    pub revision: Revision,
    pub problem: String,
    #[cfg_attr(feature = "openapi", schema(value_type = model::Timestamp))]
    pub at: Timestamp,
}

/// The description of a version by its store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct VersionNote {
    #[cfg_attr(feature = "openapi", schema(value_type = model::StoreName))]
    pub store: StoreName,
    #[cfg_attr(feature = "openapi", schema(value_type = model::VersionId))]
    pub version: VersionId,
    pub author: String,
    /// The first line of its message.
    pub subject: String,
    /// The rest of its message, at most 4,000 characters.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub body: String,
    #[cfg_attr(feature = "openapi", schema(value_type = model::Timestamp))]
    pub at: Timestamp,
}

/// The identity of a caller.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct SessionInfo {
    #[cfg_attr(feature = "openapi", schema(value_type = model::Actor))]
    pub actor: Actor,
    /// The way of sign-in, such as `password` or `token`.
    pub via: String,
    /// The caller has all rights, whatever the documents contain.
    pub administrator: bool,
    /// The token that requests of this session which change something send in `x-csrf-token`;
    /// absent for a machine token, which needs none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub csrf: Option<String>,
}

/// One record of the ledger, with the proof that it is in the signed log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct RecordProof {
    pub seq: u64,
    /// The name of the log.
    pub origin: String,
    /// The record, byte for byte.
    pub record: String,
    /// The number of signed records.
    pub size: u64,
    /// The hash of the record.
    #[cfg_attr(feature = "openapi", schema(value_type = model::Digest))]
    pub leaf: Digest,
    /// The hashes that lead from the record to the root, as in RFC 6962.
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<model::Digest>))]
    pub path: Vec<Digest>,
    /// The signed checkpoint, with the root.
    pub checkpoint: String,
}

/// One version and its way through the apps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct VersionDetail {
    /// The agent's own time.
    #[cfg_attr(feature = "openapi", schema(value_type = model::Timestamp))]
    pub now: Timestamp,
    /// The position in the change feed before this was read: later changes may concern it.
    #[serde(default)]
    pub position: u64,
    /// Its whole name, if the store still has it.
    pub version: String,
    /// Its description by the store, if an app accepted it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<VersionNote>,
    /// The apps that accepted or refused it, in the order of time. Apps that it does not change
    /// have no record of it.
    pub apps: Vec<VersionInApp>,
}

/// A version in one app.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct VersionInApp {
    #[cfg_attr(feature = "openapi", schema(value_type = model::AppId))]
    pub app: AppId,
    /// The versions of all stores of the app.
    pub revision: String,
    #[cfg_attr(feature = "openapi", schema(value_type = model::Timestamp))]
    pub at: Timestamp,
    pub outcome: VersionOutcome,
    /// The declared objects that the last version before it, at which the app converged, did not
    /// have.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<model::Key>))]
    pub created: Vec<Key>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<model::Key>))]
    pub changed: Vec<Key>,
    /// The objects that are no longer declared.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<model::Key>))]
    pub removed: Vec<Key>,
    /// The number of further objects.
    #[serde(default)]
    pub more: usize,
}

/// The outcome of a version in one app.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "what", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum VersionOutcome {
    Accepted {
        /// The time at which all objects were first observed in place and healthy.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "openapi", schema(value_type = Option<model::Timestamp>))]
        converged: Option<Timestamp>,
        /// The time at which a newer version was accepted.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "openapi", schema(value_type = Option<model::Timestamp>))]
        superseded: Option<Timestamp>,
    },
    Refused {
        problem: String,
    },
}

/// One declared or owned resource.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct ResourceLine {
    #[cfg_attr(feature = "openapi", schema(value_type = model::Key))]
    pub key: Key,
    pub kind: String,
    pub declared: bool,
    pub owned: bool,
}

/// One record of the ledger.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct HistoryRecord {
    pub seq: u64,
    #[cfg_attr(feature = "openapi", schema(value_type = model::Timestamp))]
    pub at: Timestamp,
    pub kind: String,
    pub subject: String,
    pub actor: String,
    /// A description for people.
    pub text: String,
}

/// One change of the history. The records of a change, from its intent to its result, are one.
///
/// `kind`, `subject`, `actor` and `text` are those of its newest record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct HistoryChange {
    /// The number of its newest record.
    pub seq: u64,
    #[cfg_attr(feature = "openapi", schema(value_type = model::Timestamp))]
    pub at: Timestamp,
    pub kind: String,
    pub subject: String,
    pub actor: String,
    pub text: String,
    /// The app that it is about, if it is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<model::AppId>))]
    pub app: Option<AppId>,
    /// The kind of change in a word or two: `update`, `accept`, `suspend`, `drift`.
    pub what: String,
    /// The changed object, version or document; empty if it is the app itself.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub object: String,
    pub result: String,
    /// The cause of a change, the writer of a drift, or the reason of an order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
    /// The numbers of its records, newest first.
    pub records: Vec<u64>,
}

/// One drift of one resource.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct DriftRecord {
    pub seq: u64,
    #[cfg_attr(feature = "openapi", schema(value_type = model::AppId))]
    pub app: AppId,
    #[cfg_attr(feature = "openapi", schema(value_type = model::Key))]
    pub key: Key,
    #[cfg_attr(feature = "openapi", schema(value_type = model::Cause))]
    pub cause: Cause,
    #[cfg_attr(feature = "openapi", schema(value_type = model::Timestamp))]
    pub seen: Timestamp,
    /// The time when it was corrected, or was observed to be gone; absent if it was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<model::Timestamp>))]
    pub healed: Option<Timestamp>,
    #[cfg_attr(feature = "openapi", schema(value_type = model::Writer))]
    pub writer: Writer,
    /// The differences; empty if its body was erased or was too large to store.
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<model::Difference>))]
    pub differences: Vec<Difference>,
    /// The undeclared fields that were left unchanged. If there are any, `differences` is empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<String>))]
    pub beside: Vec<Arc<str>>,
}

/// The plans of the requested apps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct PlanAnswer {
    pub apps: Vec<AppPlan>,
}

/// The steps that would be taken for one app.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct AppPlan {
    #[cfg_attr(feature = "openapi", schema(value_type = model::AppId))]
    pub app: AppId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<model::Revision>))]
    pub revision: Option<Revision>,
    /// The plan is for the accepted version, and the stores now have an older one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub set_back: Option<SetBack>,
    /// The plan is for the accepted version, because this newer one is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub newest_refused: Option<RefusedVersion>,
    /// The reasons why the version would be refused.
    pub refused: Vec<String>,
    /// The app is only observed: none of the steps is taken.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub observed: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<model::Hold>))]
    pub hold: Option<Hold>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<model::Suspension>))]
    pub suspension: Option<Suspension>,
    /// The time when its window opens, if it is closed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<model::Timestamp>))]
    pub window_opens: Option<Timestamp>,
    pub steps: Vec<PlanStep>,
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<model::Withheld>))]
    pub report: Vec<Withheld>,
}

/// One step that would be taken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct PlanStep {
    #[cfg_attr(feature = "openapi", schema(value_type = model::Key))]
    pub key: Key,
    #[cfg_attr(feature = "openapi", schema(value_type = model::Verb))]
    pub verb: Verb,
    #[cfg_attr(feature = "openapi", schema(value_type = model::Cause))]
    pub cause: Cause,
    /// The differences between the current state and the state after it.
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<model::Difference>))]
    pub differences: Vec<Difference>,
    /// The reasons why it is not taken now, or why it failed the last time. Empty if the agent takes
    /// it next.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<model::Why>))]
    pub waits: Vec<Why>,
    /// The reason why the target would refuse it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
}

/// The origin of the fields of a resource.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Explained {
    /// `Kind/name`.
    pub resource: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// The version that was read; none for files that are in no store.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<model::Revision>))]
    pub revision: Option<Revision>,
    pub fields: Vec<ExplainedField>,
}

/// A field, and its origin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct ExplainedField {
    pub field: String,
    /// `null` if it is secret.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub value: Option<String>,
    /// Absent if no file set it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// The field of a kustomization that set it; absent if the file sets it directly.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// A recorded order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Ordered {
    #[cfg_attr(feature = "openapi", schema(value_type = model::AppId))]
    pub app: AppId,
    /// The effects that the order ends or leaves undone, for people, such as what was skipped
    /// during a suspension.
    pub notes: Vec<String>,
}

/// The result of a test message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct NotifyTested {
    pub notifier: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}
