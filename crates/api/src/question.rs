//! Questions and orders.

use serde::{Deserialize, Serialize};
use setpoint_core::intent::IntentId;
use setpoint_core::name::AppId;
use setpoint_core::time::Span;

/// What was recorded about one app or all.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HistoryQuestion {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub app: Option<AppId>,
    /// At most this many records.
    pub limit: usize,
    /// Only records before this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<u64>,
}

/// Which drift.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DriftQuestion {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub app: Option<AppId>,
    pub limit: usize,
}

/// Whose logs, and how much of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LogQuestion {
    pub app: AppId,
    /// Only those of this object and of what it owns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object: Option<ObjectName>,
    /// Go on as more is written, until whoever asks hangs up.
    #[serde(default)]
    pub follow: bool,
    /// Only what was written in this last while.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Span>,
    /// Only the last so many lines of each container.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tail: Option<u64>,
    /// Only containers of this name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub container: Option<String>,
    /// Those of the run before the present one.
    #[serde(default)]
    pub previous: bool,
}

/// An object as people name it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ObjectName {
    pub kind: String,
    pub name: String,
}

/// A plan for one app, or all of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PlanRequest {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub app: Option<AppId>,
    /// A version of the app's store: a full id or an unambiguous beginning of one; what was
    /// accepted if unsaid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rev: Option<String>,
}

/// Who set what of a resource that an app declares.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExplainQuestion {
    pub app: AppId,
    pub object: ObjectName,
    /// Its namespace, if there are several of that name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Everything below it is told; all of the resource if unsaid.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub field: String,
    /// A version of the app's store: a full id or an unambiguous beginning of one; what was
    /// accepted if unsaid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rev: Option<String>,
}

/// A person's order for one app.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OrderRequest {
    pub app: AppId,
    #[serde(default)]
    pub reason: String,
    pub order: OrderKind,
}

/// What may be ordered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum OrderKind {
    /// Look now and let the accepted bundle through.
    Sync {
        allow_prune: u32,
    },
    Suspend {
        length: Span,
    },
    Resume,
    Hold,
    /// Let go of a hold; after a rewrite `accept` names the version that is right.
    Release {
        accept: Option<String>,
    },
    /// A person looked: the change of unknown outcome happened, or it did not.
    Settle {
        intent: IntentId,
        done: bool,
    },
}
