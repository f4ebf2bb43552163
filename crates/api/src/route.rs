//! The routes: one method and path for each request, shared by both ends.
//!
//! A request without parameters other than a name is a `GET`. One with a JSON body, or one that
//! changes something, is a `POST`.

use hyper::Method;
use setpoint_core::name::AppId;

use crate::agent::{Problem, ProblemKind};

/// A request, without its body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    Overview,
    App(AppId),
    Tree(AppId),
    Logs,
    History,
    Changes,
    Drift,
    Plan,
    Explain,
    Order,
    TestNotifiers,
}

const APPS: &str = "/v1/apps/";
const TREES: &str = "/v1/trees/";

impl Route {
    /// Reports whether the request has a body.
    pub(crate) fn has_question(&self) -> bool {
        !matches!(self, Self::Overview | Self::App(_) | Self::Tree(_) | Self::TestNotifiers)
    }

    pub(crate) fn method(&self) -> Method {
        match self {
            Self::Overview | Self::App(_) | Self::Tree(_) => Method::GET,
            Self::Logs
            | Self::History
            | Self::Changes
            | Self::Drift
            | Self::Plan
            | Self::Explain
            | Self::Order
            | Self::TestNotifiers => Method::POST,
        }
    }

    pub(crate) fn path(&self) -> String {
        match self {
            Self::Overview => "/v1/overview".to_owned(),
            // Names contain no characters that must be escaped in a path.
            Self::App(app) => format!("{APPS}{app}"),
            Self::Tree(app) => format!("{TREES}{app}"),
            Self::Logs => "/v1/logs".to_owned(),
            Self::History => "/v1/history".to_owned(),
            Self::Changes => "/v1/changes".to_owned(),
            Self::Drift => "/v1/drift".to_owned(),
            Self::Plan => "/v1/plan".to_owned(),
            Self::Explain => "/v1/explain".to_owned(),
            Self::Order => "/v1/orders".to_owned(),
            Self::TestNotifiers => "/v1/notifiers/test".to_owned(),
        }
    }

    /// Returns the route of a method and path.
    pub(crate) fn of(method: &Method, path: &str) -> Result<Self, Problem> {
        let route = match path {
            "/v1/overview" => Self::Overview,
            "/v1/logs" => Self::Logs,
            "/v1/history" => Self::History,
            "/v1/changes" => Self::Changes,
            "/v1/drift" => Self::Drift,
            "/v1/plan" => Self::Plan,
            "/v1/explain" => Self::Explain,
            "/v1/orders" => Self::Order,
            "/v1/notifiers/test" => Self::TestNotifiers,
            _ => match path.strip_prefix(TREES) {
                Some(app) => Self::Tree(named(app)?),
                None => Self::App(app_at(path)?),
            },
        };
        let wanted = route.method();
        if *method == wanted {
            return Ok(route);
        }
        Err(Problem::new(ProblemKind::Question, format!("{path} requires {wanted}, not {method}")))
    }
}

fn app_at(path: &str) -> Result<AppId, Problem> {
    let Some(app) = path.strip_prefix(APPS) else {
        let message = format!("{path} does not exist; all routes begin with /v1, for example `/v1/overview`");
        return Err(Problem::new(ProblemKind::Missing, message));
    };
    named(app)
}

fn named(app: &str) -> Result<AppId, Problem> {
    app.parse().map_err(|bad| Problem::new(ProblemKind::Question, format!("{bad}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_agree_on_every_route() {
        let app: AppId = "web/shop".parse().expect("a valid app");
        let routes = [
            Route::Overview,
            Route::App(app.clone()),
            Route::Tree(app),
            Route::Logs,
            Route::History,
            Route::Changes,
            Route::Drift,
            Route::Plan,
            Route::Explain,
            Route::Order,
            Route::TestNotifiers,
        ];
        for route in routes {
            assert_eq!(Route::of(&route.method(), &route.path()), Ok(route));
        }
    }

    #[test]
    fn what_is_not_there_and_what_is_asked_wrongly_are_told_apart() {
        let kind = |method, path| Route::of(&method, path).expect_err("not a route").kind;
        assert_eq!(kind(Method::GET, "/v2/overview"), ProblemKind::Missing);
        assert_eq!(kind(Method::GET, "/v1/apps/shop"), ProblemKind::Question);
        assert_eq!(kind(Method::POST, "/v1/overview"), ProblemKind::Question);
    }
}
