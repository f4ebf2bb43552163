//! Requests and orders.

use serde::{Deserialize, Serialize};
use setpoint_core::intent::IntentId;
use setpoint_core::name::AppId;
use setpoint_core::time::Span;

/// A request for the records about one app or all.
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

/// A request for recorded drift.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DriftQuestion {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub app: Option<AppId>,
    pub limit: usize,
}

/// A request for logs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LogQuestion {
    pub app: AppId,
    /// Only the logs of this object and of the objects it owns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object: Option<ObjectName>,
    /// Continue with new lines until the client disconnects.
    #[serde(default)]
    pub follow: bool,
    /// Only lines written within this time before now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Span>,
    /// Only this number of lines from the end of each container's log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tail: Option<u64>,
    /// Only containers of this name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub container: Option<String>,
    /// The logs of the previous run.
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

/// A request for the plan of one app or all.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PlanRequest {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub app: Option<AppId>,
    /// A version of the app's store: a full id or an unambiguous beginning of one. If omitted: the
    /// accepted version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rev: Option<String>,
}

/// A request for the origin of the fields of a resource that an app declares.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExplainQuestion {
    pub app: AppId,
    pub object: ObjectName,
    /// Its namespace, if several objects have that name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// The field to explain, with all fields below it. If omitted: the whole resource.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub field: String,
    /// A version of the app's store: a full id or an unambiguous beginning of one. If omitted: the
    /// accepted version.
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

/// The kinds of orders.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum OrderKind {
    /// Observe now, and permit the steps of the accepted bundle.
    Sync {
        allow_prune: u32,
    },
    Suspend {
        length: Span,
    },
    Resume,
    Hold,
    /// Release a hold. After a rewrite, `accept` names the correct version.
    Release {
        accept: Option<String>,
    },
    /// Record the outcome of a change, which a person has checked: it happened, or it did not.
    Settle {
        intent: IntentId,
        done: bool,
    },
}
