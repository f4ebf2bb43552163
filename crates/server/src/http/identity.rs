//! The identity of a request: a machine token or the session of a browser. Everything that changes
//! something needs proof that the request comes from our own page, unless it carries a token.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::header::{AUTHORIZATION, COOKIE, HOST, HeaderValue, ORIGIN, SET_COOKIE};
use axum::http::{HeaderMap, HeaderName};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use setpoint_accounts::{Author, Session, SessionCookie, SessionId};
use setpoint_api::{Caller, Principal, Problem, ProblemKind, Rights, Via};

use super::client::{Peer, client};
use super::{Settings, Shared, SharedState};

/// The name of the session's cookie. Browsers refuse the prefix without `Secure` and `Path=/`, or
/// with a domain, so no other host can set it.
const COOKIE_NAME: &str = "__Host-setpoint";

/// The header with the session's token against forged requests, for scripts of our own pages.
const CSRF: HeaderName = HeaderName::from_static("x-csrf-token");

/// The origin of a request, as browsers report it.
const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// A request's sign-in, for the parts of the server that check it again.
#[derive(Clone, Debug)]
pub(super) enum SignIn {
    Session(Box<Session>),
    /// A machine token, by its identifier.
    Token(String),
}

impl SignIn {
    pub(super) fn session(&self) -> Option<&Session> {
        match self {
            Self::Session(session) => Some(session),
            Self::Token(_) => None,
        }
    }
}

/// Adds the caller to a request, if it has a valid token or session. Handlers refuse requests
/// without one.
pub(super) async fn identify(State(shared): SharedState, mut request: Request, next: Next) -> Response {
    let peer = request.extensions().get::<Peer>().map(|peer| peer.0);
    let client = peer.map(|peer| client(request.headers(), peer, &shared.settings));
    let identified = match identified(&shared, request.headers()).await {
        Ok(identified) => identified,
        Err(problem) => return problem.into_response(),
    };
    let changes = !request.method().is_safe();
    let by_token = matches!(identified, Some(Identified { sign_in: SignIn::Token(_), .. }));
    if changes && !by_token && is_foreign(request.headers(), &shared.settings) {
        return forged().into_response();
    }
    let is_api = request.uri().path().starts_with("/api/");
    let mut new_cookie = None;
    if let Some(Identified { caller, sign_in, cookie }) = identified {
        if let Some(session) = sign_in.session().filter(|_| changes && is_api)
            && !text(request.headers(), &CSRF).is_some_and(|token| session.accepts(token))
        {
            return forged().into_response();
        }
        new_cookie = cookie;
        request.extensions_mut().insert(caller);
        request.extensions_mut().insert(sign_in);
    }
    if let Some(client) = client {
        request.extensions_mut().insert(client);
    }
    let mut response = next.run(request).await;
    // A response that sets its own cookie begins or ends a session.
    if let Some(cookie) = new_cookie
        && !response.headers().contains_key(SET_COOKIE)
    {
        response.headers_mut().insert(SET_COOKIE, cookie_of(&cookie));
    }
    response
}

struct Identified {
    caller: Caller,
    sign_in: SignIn,
    cookie: Option<SessionCookie>,
}

async fn identified(shared: &Shared, headers: &HeaderMap) -> Result<Option<Identified>, Problem> {
    let unreadable = |error: setpoint_accounts::AccountsError| {
        Problem::new(ProblemKind::Unavailable, format!("cannot read the accounts: {error}"))
    };
    if let Some(authorization) = headers.get(AUTHORIZATION) {
        let token = authorization.to_str().ok().and_then(|it| it.strip_prefix("Bearer "));
        let token = match token {
            Some(token) => shared.accounts.token(token.trim(), shared.now()).await.map_err(unreadable)?,
            None => None,
        };
        let refused = || Problem::new(ProblemKind::Unauthenticated, "the token is not valid: create a new one");
        let token = token.ok_or_else(refused)?;
        let principal = Principal { token: Some(token.name.clone()), ..Principal::default() };
        let rights = shared.installation.rights_of(&principal);
        let via = Via::Token { name: token.name.clone() };
        let caller = Caller { actor: token.actor.clone(), rights, via };
        return Ok(Some(Identified { caller, sign_in: SignIn::Token(token.id), cookie: None }));
    }
    let Some(cookie) = cookie(headers, COOKIE_NAME) else { return Ok(None) };
    let live = shared.accounts.session(cookie, shared.now()).await.map_err(unreadable)?;
    let Some(live) = live.filter(|live| is_valid(shared, &live.session)) else { return Ok(None) };
    let caller = caller_of(shared, &live.session);
    Ok(Some(Identified { caller, sign_in: SignIn::Session(Box::new(live.session)), cookie: live.new_cookie }))
}

/// Returns the caller of a session, with the rights of the documents in force.
pub(super) fn caller_of(shared: &Shared, session: &Session) -> Caller {
    let via = Via::Session { method: session.via.to_string() };
    Caller { actor: session.actor.clone(), rights: rights_of(shared, session), via }
}

fn rights_of(shared: &Shared, session: &Session) -> Rights {
    if session.administrator {
        return Rights::All;
    }
    shared.installation.rights_of(&principal_of(session))
}

fn principal_of(session: &Session) -> Principal {
    let provider = match &session.via {
        setpoint_accounts::Via::Password => None,
        setpoint_accounts::Via::Provider(provider) => Some(provider.clone()),
    };
    let groups = session.groups.iter().cloned().collect();
    Principal { account: Some(session.name.clone()), groups, provider, token: None }
}

/// Reports whether a session counts. One of a provider that was removed from the configuration does
/// not: nothing vouches for it any more.
fn is_valid(shared: &Shared, session: &Session) -> bool {
    match &session.via {
        setpoint_accounts::Via::Password => true,
        setpoint_accounts::Via::Provider(provider) => shared.providers.contains(provider),
    }
}

/// Returns the rights that a sign-in has now; `None` if it has ended.
pub(super) async fn rights_now(shared: &Arc<Shared>, sign_in: &SignIn) -> Option<Rights> {
    let now = shared.now();
    match sign_in {
        SignIn::Session(session) => {
            let session = shared.accounts.session_by_id(&session.id, now).await.ok()??;
            is_valid(shared, &session).then(|| rights_of(shared, &session))
        }
        SignIn::Token(id) => {
            let token = shared.accounts.token_by_id(id, now).await.ok()??;
            let principal = Principal { token: Some(token.name), ..Principal::default() };
            Some(shared.installation.rights_of(&principal))
        }
    }
}

/// Returns the value of a cookie of a request.
pub(super) fn cookie<'a>(headers: &'a HeaderMap, wanted: &str) -> Option<&'a str> {
    let cookies = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = cookies.flat_map(|value| value.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(name, _)| *name == wanted).map(|(_, value)| value)
}

/// Returns the header that sets the cookie of a session. Scripts cannot read it, and requests from
/// other sites that change something do not carry it.
pub(super) fn cookie_of(cookie: &SessionCookie) -> HeaderValue {
    let text = format!("{COOKIE_NAME}={}; Path=/; Secure; HttpOnly; SameSite=Lax", cookie.open());
    let mut value = HeaderValue::from_str(&text).expect("cookies are base64");
    value.set_sensitive(true);
    value
}

/// Returns the header that removes the cookie.
pub(super) fn no_cookie() -> HeaderValue {
    HeaderValue::from_static("__Host-setpoint=; Path=/; Secure; HttpOnly; SameSite=Lax; Max-Age=0")
}

fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// Reports whether a browser sent the request for a page of another site. Behind a proxy, the
/// origin of our own pages is that of the configured URL, and the `Host` header may be another one.
fn is_foreign(headers: &HeaderMap, settings: &Settings) -> bool {
    let of_other_site = text(headers, &FETCH_SITE).is_some_and(|site| !matches!(site, "same-origin" | "none"));
    let of_other_origin = headers.get(ORIGIN).is_some_and(|origin| {
        let origin = origin.to_str().unwrap_or_default();
        let host = origin.split_once("://").map(|(_, host)| host);
        let is_host = host.is_some() && host == text(headers, &HOST);
        !is_host && origin != settings.origin()
    });
    of_other_site || of_other_origin
}

pub(super) fn forged() -> Problem {
    let message = "the request does not come from a page of this server: open the page again, then repeat";
    Problem::new(ProblemKind::Forbidden, message)
}

/// Returns a caller as the author of a change of accounts, tokens or sessions.
pub(super) fn author<'a>(shared: &Shared, caller: &'a Caller, reason: &'a str) -> Author<'a> {
    Author { actor: &caller.actor, via: caller.via.method(), reason: reason.trim(), now: shared.now() }
}

/// Returns the identifier of the session of a request.
pub(super) fn session_id(sign_in: Option<&SignIn>) -> Option<SessionId> {
    sign_in.and_then(SignIn::session).map(|session| session.id.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value))).collect()
    }

    fn is_foreign(pairs: &[(&'static str, &'static str)]) -> bool {
        let settings = Settings {
            listen: "127.0.0.1:7070".parse().expect("an address"),
            tls: None,
            url: "https://ops.example/setpoint".to_owned(),
            trusted_proxies: [].into(),
            webhooks: Vec::new(),
            open_metrics: false,
        };
        super::is_foreign(&headers(pairs), &settings)
    }

    #[test]
    fn a_request_from_a_page_of_another_site_is_foreign() {
        let host = ("host", "127.0.0.1:7070");
        assert!(!is_foreign(&[host, ("origin", "http://127.0.0.1:7070")]));
        assert!(!is_foreign(&[host]), "no browser sent it");
        assert!(is_foreign(&[host, ("origin", "https://evil.example")]));
        assert!(is_foreign(&[host, ("origin", "null")]));
        assert!(is_foreign(&[("origin", "https://evil.example")]), "without a host, no origin is ours");
        assert!(is_foreign(&[host, ("sec-fetch-site", "cross-site")]));
        assert!(is_foreign(&[host, ("sec-fetch-site", "same-site")]), "a neighbour is not this server");
    }

    #[test]
    fn behind_a_proxy_the_origin_of_the_configured_url_is_ours() {
        let host = ("host", "10.0.0.7:7070");
        assert!(!is_foreign(&[host, ("origin", "https://ops.example")]));
        assert!(is_foreign(&[host, ("origin", "https://ops.example.evil")]));
        assert!(is_foreign(&[host, ("origin", "http://ops.example")]), "not over another scheme");
    }

    #[test]
    fn only_the_cookie_of_the_session_counts() {
        let found = |text: &'static str| cookie(&headers(&[("cookie", text)]), COOKIE_NAME).map(ToOwned::to_owned);
        assert_eq!(found("a=1; __Host-setpoint=value; b=2").as_deref(), Some("value"));
        assert_eq!(found("setpoint=value; __host-setpoint=value"), None);
    }
}
