//! The paths of the API, shared by both ends.

use setpoint_core::name::AppId;

/// Declares the paths, and the list of them.
macro_rules! paths {
    ($($(#[$doc:meta])* $name:ident = $path:literal;)*) => {
        $($(#[$doc])* pub const $name: &str = $path;)*

        /// All paths, for the test that compares them with the OpenAPI document.
        pub const ALL: &[&str] = &[$($name),*];
    };
}

paths! {
    /// The identity of the caller. Served over HTTP only: the socket has no sessions.
    SESSION = "/api/v1/session";
    OVERVIEW = "/api/v1/overview";
    APPS = "/api/v1/apps";
    APP = "/api/v1/apps/{scope}/{app}";
    TREE = "/api/v1/apps/{scope}/{app}/tree";
    LOGS = "/api/v1/logs";
    HISTORY = "/api/v1/history";
    PROOF = "/api/v1/history/{seq}/proof";
    CHANGES = "/api/v1/changes";
    VERSION = "/api/v1/versions/{version}";
    DRIFT = "/api/v1/drift";
    PLAN = "/api/v1/plan";
    EXPLAIN = "/api/v1/explain";
    EVENTS = "/api/v1/events";
    ORDERS = "/api/v1/orders";
    NOTIFIERS_TEST = "/api/v1/notifiers/test";
    /// The OpenAPI document. Public: it describes the program, and nothing of an installation.
    OPENAPI = "/api/v1/openapi.json";
}

/// Returns the path of an app. Names contain no characters that must be escaped.
pub(crate) fn of_app(app: &AppId) -> String {
    format!("{APPS}/{app}")
}

/// Returns the path of the tree of an app.
pub(crate) fn of_tree(app: &AppId) -> String {
    format!("{APPS}/{app}/tree")
}
