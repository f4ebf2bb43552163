//! Answers.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use setpoint_core::decide::Drift;
use setpoint_core::diff::Difference;
use setpoint_core::facts::Accepted;
use setpoint_core::hold::{Hold, Suspension};
use setpoint_core::intent::{IntentId, Verb};
use setpoint_core::key::Key;
use setpoint_core::live::{Health, Writer};
use setpoint_core::modes::Cause;
use setpoint_core::name::{AppId, StoreName, TargetIdentity, TargetName, VersionId};
use setpoint_core::report::Withheld;
use setpoint_core::time::Timestamp;
use setpoint_core::version::Revision;

/// How many requests were sent since the agent started, by what they do: `get`, `list`, `watch`,
/// `apply`, `dry-run`, …
pub type Tally = BTreeMap<String, u64>;

/// How everything stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Overview {
    /// The agent's own time.
    pub now: Timestamp,
    pub version: String,
    pub ledger: LedgerStanding,
    pub stores: Vec<StoreStanding>,
    /// Those that are connected.
    #[serde(default)]
    pub targets: Vec<TargetStanding>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unreached: Vec<UnreachedTarget>,
    pub apps: Vec<AppSummary>,
}

/// Whether the agent may act.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LedgerStanding {
    /// This agent is the writer of the log and may act.
    pub holding: bool,
    /// What the ledger last failed with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trouble: Option<String>,
    /// Why the anchor of the ledger does not follow. Work goes on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub anchor: Option<String>,
}

/// How fresh a store is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StoreStanding {
    pub store: StoreName,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<VersionId>,
    /// When it last answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answered: Option<Timestamp>,
    pub stale: bool,
    /// Polls in a row that failed, and why the last one did.
    pub failures: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// A connected target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TargetStanding {
    pub target: TargetName,
    pub identity: TargetIdentity,
    /// Empty where requests are not counted.
    pub requests: Tally,
    /// What is not as good as it could be about how it is held, and what to do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub degraded: Option<String>,
    /// It failed too often, and is left alone until then. Later than that, nothing is deleted there
    /// before everything on it was read once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_alone_until: Option<Timestamp>,
}

/// A target that has not said who it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UnreachedTarget {
    pub target: TargetName,
    pub problem: String,
    /// The apps that wait for it. Those that have never been held are not among the apps of the
    /// overview.
    pub waiting: Vec<AppId>,
}

/// How an app stands, in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AppState {
    /// Everything declared was seen in place and healthy.
    Converged,
    /// It is being changed, or looked at for the first time.
    Progressing,
    /// Something is not as declared and is not being changed; the report says why.
    OutOfSync,
    /// What is declared is in place and not healthy.
    Degraded,
    Suspended,
    Held,
    /// Its document is gone, or leads to another system than the one that holds what it owns.
    Frozen,
    /// It is being taken down.
    Retiring,
    /// No version was accepted yet.
    Waiting,
    /// It could not be seen.
    Unknown,
}

/// One line about an app.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AppSummary {
    pub app: AppId,
    pub state: AppState,
    pub target: TargetIdentity,
    /// The system that its document leads to, where that is not `target`, which holds what it owns.
    /// The app is frozen until that changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moved_to: Option<TargetIdentity>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accepted: Option<Accepted>,
    pub health: Health,
    /// Resources it declares.
    pub resources: usize,
    pub drifts: usize,
    /// What stands undeclared on its resources and is left alone: it makes nothing out of sync.
    #[serde(default)]
    pub remarks: usize,
    /// What is not being done.
    pub withheld: usize,
    /// One line on what stands in the way, where anything does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// What its stores offer now, where that is older than what was accepted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub set_back: Option<SetBack>,
    /// Requests that were made for this app alone; what serves several apps is counted with the
    /// target.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub requests: Tally,
}

/// An older version than the accepted one: the branch was set back, or a mirror lags. Setpoint does
/// not follow it by itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SetBack {
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

/// Everything about an app.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AppDetail {
    pub summary: AppSummary,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_good: Option<Accepted>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hold: Option<Hold>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suspension: Option<Suspension>,
    /// The newest version that was refused, while no newer one was accepted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<RefusedVersion>,
    /// The version that was accepted, as its store tells it.
    pub versions: Vec<VersionNote>,
    pub resources: Vec<ResourceLine>,
    /// Everything that is not being done, and why.
    pub report: Vec<Withheld>,
    pub drifts: Vec<Drift>,
    /// What stands undeclared on its resources and is left alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<Drift>,
    /// What is not as good as it could be about how its target is held, and what to do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_degraded: Option<String>,
    /// Its target failed too often, and is left alone until then, as in the overview.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_alone_until: Option<Timestamp>,
    /// Objects that are not healthy, as far as their target can say why. At most a few dozen.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unhealthy: Vec<Unhealthy>,
    /// Changes whose outcome is not known.
    pub unsettled: Vec<IntentId>,
    /// What another program makes of its versions, where one renders them, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shadow: Option<ShadowStanding>,
}

/// How another program's renders compare with ours. Nothing follows from it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ShadowStanding {
    /// The digest of the other program.
    pub renderer: String,
    /// It ends after so many.
    pub versions: u32,
    pub compared: usize,
    /// Not compared, because newer ones came.
    pub passed_over: u64,
    /// Not counted, because neither of the two renders them.
    #[serde(default)]
    pub refused_by_both: u64,
    /// Those of the compared ones that are rendered otherwise.
    pub different: Vec<ShadowedVersion>,
    /// Why the newest could not be compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trouble: Option<String>,
}

impl ShadowStanding {
    pub fn is_over(&self) -> bool {
        self.compared >= usize::try_from(self.versions).unwrap_or(usize::MAX)
    }
}

/// A version that another program renders otherwise.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ShadowedVersion {
    pub revision: Revision,
    pub at: Timestamp,
    /// What differs, a line each: resources and fields, never values.
    pub differences: Vec<String>,
}

/// An object that is not healthy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Unhealthy {
    pub key: Key,
    pub health: Health,
    /// Why, in one line.
    pub reason: String,
}

/// What stands on its target of an app, and what has come of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AppTree {
    pub app: AppId,
    pub target: TargetIdentity,
    /// The agent's own time.
    pub now: Timestamp,
    /// In the order in which they are shown: what an object owns comes after it, one level deeper.
    pub objects: Vec<TreeObject>,
    /// The app is only observed: what it declares is not to become ours.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub observed: bool,
    /// What of them is not as declared, as it was last seen.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub drifts: Vec<Drift>,
    /// What stands undeclared on them and is left alone, as it was last seen.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<Drift>,
    /// What could not be looked at, a line each. What is missing above because of it is not known
    /// to be absent.
    pub unseen: Vec<String>,
}

/// One object of a tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TreeObject {
    pub key: Key,
    pub depth: usize,
    /// The object it belongs to; `None` for one of the app's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<Key>,
    /// The app declares it.
    pub declared: bool,
    /// The app has a claim to it. What an object of the app owns has none.
    pub owned: bool,
    pub present: bool,
    pub health: Health,
    /// Why it is not healthy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created: Option<Timestamp>,
}

/// A piece of what the pods of an app have logged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LogPart {
    /// Whose logs these are, each `pod/container`; it comes first, and again with all of them when
    /// more are followed.
    Sources { names: Vec<String> },
    Line {
        /// Who wrote it: `pod/container`.
        source: String,
        text: String,
    },
    /// Something about the logs: one that cannot be read, a part that is left out.
    Note { text: String },
}

/// A version that was refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RefusedVersion {
    pub revision: Revision,
    pub problem: String,
    pub at: Timestamp,
}

/// What a store says about a version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct VersionNote {
    pub store: StoreName,
    pub version: VersionId,
    pub author: String,
    pub subject: String,
    pub at: Timestamp,
}

/// One declared or owned resource.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourceLine {
    pub key: Key,
    pub kind: String,
    pub declared: bool,
    pub owned: bool,
}

/// One record of the ledger.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HistoryRecord {
    pub seq: u64,
    pub at: Timestamp,
    pub kind: String,
    pub subject: String,
    pub actor: String,
    /// What it says, for people.
    pub text: String,
}

/// One drift of one resource.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DriftRecord {
    pub seq: u64,
    pub app: AppId,
    pub key: Key,
    pub cause: Cause,
    pub seen: Timestamp,
    /// When it was put right, or was seen to be there no longer; `None` if it was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub healed: Option<Timestamp>,
    pub writer: Writer,
    /// What differed; empty if its body was erased or was too large to keep.
    pub differences: Vec<Difference>,
    /// What was left alone: where something stands that is not declared. Then nothing differed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<Arc<str>>,
}

/// What would be done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PlanAnswer {
    pub apps: Vec<AppPlan>,
}

/// What would be done for one app.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AppPlan {
    pub app: AppId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<Revision>,
    /// The plan is for what was accepted, and the stores offer something older now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub set_back: Option<SetBack>,
    /// The version would be refused, for these reasons.
    pub refused: Vec<String>,
    /// The app is only observed: none of the steps is taken.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub observed: bool,
    pub steps: Vec<PlanStep>,
    pub report: Vec<Withheld>,
}

/// One step that would be taken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PlanStep {
    pub key: Key,
    pub verb: Verb,
    pub cause: Cause,
    /// What it changes, from what is there to what would be.
    pub differences: Vec<Difference>,
    /// The target would refuse it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
}

/// Who set what of a resource.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Explained {
    /// `Kind/name`.
    pub resource: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// The version that was looked at; none for files that are in no store.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<Revision>,
    pub fields: Vec<ExplainedField>,
}

/// A field, and who set it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExplainedField {
    pub field: String,
    /// Nothing if it is secret.
    pub value: Option<String>,
    /// Absent where no file set it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// The field of a kustomization that set it; absent for what is written so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// An order is recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Ordered {
    pub app: AppId,
    /// What the order ends or leaves undone, for people: what a suspension had skipped.
    pub notes: Vec<String>,
}

/// How a test message fared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NotifyTested {
    pub notifier: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}
