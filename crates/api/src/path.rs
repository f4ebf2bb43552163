//! The paths of the API, shared by both ends.

use setpoint_core::name::AppId;

/// The identity of the caller. Served over HTTP only: the socket has no sessions.
pub const SESSION: &str = "/api/v1/session";
pub const OVERVIEW: &str = "/api/v1/overview";
pub const APPS: &str = "/api/v1/apps";
pub const APP: &str = "/api/v1/apps/{scope}/{app}";
pub const TREE: &str = "/api/v1/apps/{scope}/{app}/tree";
pub const LOGS: &str = "/api/v1/logs";
pub const HISTORY: &str = "/api/v1/history";
pub const PROOF: &str = "/api/v1/history/{seq}/proof";
pub const CHANGES: &str = "/api/v1/changes";
pub const VERSION: &str = "/api/v1/versions/{version}";
pub const DRIFT: &str = "/api/v1/drift";
pub const PLAN: &str = "/api/v1/plan";
pub const EXPLAIN: &str = "/api/v1/explain";
pub const EVENTS: &str = "/api/v1/events";
pub const ORDERS: &str = "/api/v1/orders";
pub const NOTIFIERS_TEST: &str = "/api/v1/notifiers/test";

/// Returns the path of an app. Names contain no characters that must be escaped.
pub(crate) fn of_app(app: &AppId) -> String {
    format!("{APPS}/{app}")
}

/// Returns the path of the tree of an app.
pub(crate) fn of_tree(app: &AppId) -> String {
    format!("{APPS}/{app}/tree")
}
