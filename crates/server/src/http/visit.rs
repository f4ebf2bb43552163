//! A visit of a page: the caller, its session, and the frame of the page.

use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderName, StatusCode};
use axum::response::{Html, IntoResponse, Response};
use setpoint_accounts::{Author, Session};
use setpoint_api::rights::Verb;
use setpoint_api::{Caller, Problem, ProblemKind};

use super::identity::{SignIn, author};
use super::{Shared, redirect};
use crate::pages::problem::{self, ProblemView};
use crate::pages::{Chrome, Section, address};

/// The header with which the script of a page asks for its content alone.
const FRAGMENT: HeaderName = HeaderName::from_static("x-fragment");

/// A signed-in visitor of a page.
#[derive(Clone, Debug)]
pub(super) struct Visit {
    pub(super) caller: Caller,
    pub(super) session: Session,
    pub(super) query: String,
    fragment: bool,
}

impl Visit {
    /// Builds the frame of a page. The notice about the former request is shown once.
    pub(super) fn chrome(&self, shared: &Shared, title: &str, active: Section) -> Chrome {
        let notice = if self.fragment { None } else { shared.notices.take(&self.session.id) };
        Chrome {
            base: shared.base().to_owned(),
            user: Some(self.session.name.clone()),
            has_account: self.account().is_some(),
            administers: self.administers(),
            csrf: self.session.csrf.open().to_owned(),
            live: true,
            notice,
            fragment: self.fragment,
            ..Chrome::new(title, active, shared.now())
        }
    }

    /// Renders a problem as a page of the visitor.
    pub(super) fn problem(&self, shared: &Shared, problem: &Problem) -> Response {
        let chrome = self.chrome(shared, "Problem", Section::Other);
        problem_page(&Chrome { live: false, ..chrome }, problem)
    }

    /// Returns the visitor as the author of a change of accounts, tokens or sessions.
    pub(super) fn author<'a>(&'a self, shared: &Shared, reason: &'a str) -> Author<'a> {
        author(shared, &self.caller, reason)
    }

    /// Reports whether the visitor may administer accounts, tokens and sessions.
    pub(super) fn administers(&self) -> bool {
        self.caller.rights.allow_everywhere(Verb::Administer)
    }

    /// Returns the name of the visitor's local account. People of a provider have none.
    pub(super) fn account(&self) -> Option<&str> {
        self.session.actor.as_str().strip_prefix("account:")
    }

    /// Returns the value of a parameter of the query.
    pub(super) fn parameter(&self, name: &str) -> Option<String> {
        address::pairs(&self.query).find(|(known, _)| known == name).map(|(_, value)| value)
    }
}

impl FromRequestParts<Arc<Shared>> for Visit {
    type Rejection = Response;

    /// Sends visitors without a session to the sign-in page, and from there back.
    async fn from_request_parts(head: &mut Parts, shared: &Arc<Shared>) -> Result<Self, Response> {
        let sign_in = head.extensions.get::<SignIn>();
        let session = sign_in.and_then(SignIn::session).cloned();
        let fragment = head.headers.contains_key(&FRAGMENT);
        match (head.extensions.get::<Caller>().cloned(), session) {
            (Some(caller), Some(session)) => {
                let query = head.uri.query().unwrap_or_default().to_owned();
                Ok(Self { caller, session, query, fragment })
            }
            // The script of an open page must not put the sign-in form into it.
            _ if fragment => Err(StatusCode::UNAUTHORIZED.into_response()),
            _ => {
                // The router has removed the base path.
                let next = head.uri.path_and_query().map_or("/", |path| path.as_str());
                let next = format!("{}{next}", shared.base());
                let query = address::query([("next", next.as_str())]);
                Err(redirect(&format!("{}/sign-in{query}", shared.base())))
            }
        }
    }
}

/// Renders a problem as a page.
pub(super) fn problem_page(chrome: &Chrome, problem: &Problem) -> Response {
    let status = problem.kind.status();
    let title = match problem.kind {
        ProblemKind::Missing => "Not found",
        ProblemKind::Forbidden => "Not permitted",
        ProblemKind::Unavailable => "Not available now",
        ProblemKind::TooMany => "Too many requests",
        _ => "The request is not valid",
    };
    let view = ProblemView { status: status.as_u16(), title: title.to_owned(), text: problem.message.clone() };
    (status, Html(problem::page(chrome, &view))).into_response()
}
