//! Requests and orders.

use std::str::FromStr;

use serde::{Deserialize, Serialize};
use setpoint_core::intent::IntentId;
use setpoint_core::live::Health;
use setpoint_core::name::AppId;
use setpoint_core::time::Span;

use crate::answer::AppState;
#[cfg(feature = "openapi")]
use crate::openapi::model;

/// The number of entries on a page, if the request sets none.
const PAGE: usize = 100;

fn page() -> usize {
    PAGE
}

/// A request for one page of apps. Every filter that is set must match.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AppsQuestion {
    /// Only apps of this scope.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    /// Only apps of this component.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub component: Option<String>,
    /// Only apps of this environment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment: Option<String>,
    /// The name of the target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// Only apps in this state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<AppState>,
    /// Only apps of this health.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<model::Health>))]
    pub health: Option<Health>,
    /// A label: `name`, or `name=value`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Only apps that are not converged, or that have a problem.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub problems: bool,
    /// Words that must all occur in the name, component, environment, target or note.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub q: Option<String>,
    /// The order of the apps.
    #[serde(default)]
    pub sort: AppsOrder,
    /// At most this many apps on the page; 1,000 are the most.
    #[serde(default = "page")]
    pub limit: usize,
    /// The `next` of the previous page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// Only these fields of each app, separated by commas. Programs that read whole apps, such as
    /// the commands, leave it out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fields: Option<String>,
}

impl Default for AppsQuestion {
    fn default() -> Self {
        Self {
            scope: None,
            component: None,
            environment: None,
            target: None,
            state: None,
            health: None,
            label: None,
            problems: false,
            q: None,
            sort: AppsOrder::Name,
            limit: PAGE,
            after: None,
            fields: None,
        }
    }
}

/// The order of apps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "kebab-case")]
pub enum AppsOrder {
    #[default]
    Name,
    /// The apps that need attention first, then by name.
    Worst,
    /// The newest accepted version first, then by name.
    Newest,
}

/// A request for the records about one app or all.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HistoryQuestion {
    /// Only records about this app.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<model::AppId>))]
    pub app: Option<AppId>,
    /// At most this many records.
    #[serde(default = "page")]
    pub limit: usize,
    /// Only records before this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<u64>,
}

/// A request for one version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct VersionQuestion {
    /// A full id, or at least seven digits of its beginning.
    pub version: String,
}

/// A request for recorded drift.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DriftQuestion {
    /// Only drift of this app.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<model::AppId>))]
    pub app: Option<AppId>,
    /// At most this many entries.
    #[serde(default = "page")]
    pub limit: usize,
}

/// A request for logs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LogQuestion {
    /// The app, whose pods write the logs.
    #[cfg_attr(feature = "openapi", schema(value_type = model::AppId))]
    pub app: AppId,
    /// Only the logs of this object and of the objects it owns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<model::ObjectName>))]
    pub object: Option<ObjectName>,
    /// Continue with new lines until the client disconnects.
    #[serde(default)]
    pub follow: bool,
    /// Only lines written within this time before now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<model::Span>))]
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

/// An object as people name it: `Kind/name`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ObjectName {
    pub kind: String,
    pub name: String,
}

/// A text that does not name an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected KIND/NAME, such as `Deployment/shop`")]
pub struct InvalidObjectName;

impl FromStr for ObjectName {
    type Err = InvalidObjectName;

    fn from_str(text: &str) -> Result<Self, InvalidObjectName> {
        match text.split_once('/') {
            Some((kind, name)) if !kind.is_empty() && !name.is_empty() => {
                Ok(Self { kind: kind.to_owned(), name: name.to_owned() })
            }
            _ => Err(InvalidObjectName),
        }
    }
}

impl TryFrom<String> for ObjectName {
    type Error = InvalidObjectName;

    fn try_from(text: String) -> Result<Self, InvalidObjectName> {
        text.parse()
    }
}

impl From<ObjectName> for String {
    fn from(ObjectName { kind, name }: ObjectName) -> Self {
        format!("{kind}/{name}")
    }
}

/// A request for the plan of one app or all.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PlanRequest {
    /// Only the plan of this app.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<model::AppId>))]
    pub app: Option<AppId>,
    /// A version of the app's store: a full id or an unambiguous beginning of one. If omitted: the
    /// accepted version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rev: Option<String>,
}

/// A request for the origin of the fields of a resource that an app declares.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExplainQuestion {
    /// The app that declares the resource.
    #[cfg_attr(feature = "openapi", schema(value_type = model::AppId))]
    pub app: AppId,
    /// The resource.
    #[cfg_attr(feature = "openapi", schema(value_type = model::ObjectName))]
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
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OrderRequest {
    #[cfg_attr(feature = "openapi", schema(value_type = model::AppId))]
    pub app: AppId,
    #[serde(default)]
    pub reason: String,
    pub order: OrderKind,
}

/// The kinds of orders.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "what", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum OrderKind {
    /// Observe now, and permit the steps of the accepted bundle.
    #[cfg_attr(feature = "openapi", schema(rename_all = "camelCase"))]
    Sync {
        allow_prune: u32,
    },
    Suspend {
        #[cfg_attr(feature = "openapi", schema(value_type = model::Span))]
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
        #[cfg_attr(feature = "openapi", schema(value_type = model::IntentId))]
        intent: IntentId,
        done: bool,
    },
}
