//! The pages of accounts, machine tokens and open sessions, and that of one's own password.
//!
//! No view contains a password: a refused form keeps all values but those.

use std::collections::BTreeSet;

use askama::Template;
use setpoint_accounts::{Account, MachineToken, OpenSession, SessionId, TokenText};
use setpoint_core::time::{Span, Timestamp};

use super::chrome::Chrome;
use super::marks::Mark;
use super::moment::Moment;
use super::{address, rendered};

/// The lives of a new token to choose from, in days.
pub const TOKEN_DAYS: [u64; 4] = [7, 30, 90, 365];

/// The time before its expiry in which a token needs attention.
const EXPIRES_SOON: Span = Span::hours(7 * 24);

/// A form that was refused, with the values that were sent.
#[derive(Clone, Debug, Default)]
pub struct Refused {
    pub action: String,
    pub problem: String,
    pub name: String,
    pub groups: String,
    pub administrator: bool,
    pub days: String,
    pub reason: String,
}

impl Refused {
    /// Returns the values of a form: those that were sent, or none.
    fn of(refused: Option<&Self>, action: &str) -> Self {
        refused.filter(|refused| refused.action == action).cloned().unwrap_or_default()
    }

    fn mark(&self) -> Option<Mark> {
        (!self.problem.is_empty()).then(|| Mark::bad(self.problem.as_str()))
    }
}

/// The accounts, and the forms of one of them.
#[derive(Clone, Debug, Default)]
pub struct AccountsView {
    pub accounts: Vec<Account>,
    /// The account to change. Without one, the page has the form of a new account.
    pub selected: Option<Account>,
    pub refused: Option<Refused>,
}

struct AccountRow {
    name: String,
    path: String,
    administrator: bool,
    groups: String,
    created: Moment,
    last_sign_in: Option<Moment>,
    state: Mark,
}

#[derive(Template)]
#[template(path = "access_accounts.html")]
struct AccountsPage<'a> {
    chrome: &'a Chrome,
    tab: &'static str,
    view: &'a AccountsView,
    rows: Vec<AccountRow>,
}

impl AccountsPage<'_> {
    fn sent(&self, action: &str) -> Refused {
        Refused::of(self.view.refused.as_ref(), action)
    }

    /// Returns the groups of an account as its form has them.
    fn groups(&self, account: &Account) -> String {
        let sent = self.sent("set-groups");
        if sent.problem.is_empty() { account.groups.join(", ") } else { sent.groups }
    }

    /// Returns the problem of a form that the page does not contain, such as that of an account
    /// that was deleted since.
    fn other_problem(&self) -> Option<Mark> {
        let is_shown = |refused: &Refused| (refused.action == "create") == self.view.selected.is_none();
        self.view.refused.as_ref().filter(|refused| !is_shown(refused)).and_then(Refused::mark)
    }
}

/// Renders the page of accounts.
pub fn accounts_page(chrome: &Chrome, view: &AccountsView) -> String {
    let row = |account: &Account| AccountRow {
        name: account.name.clone(),
        path: format!("/access/accounts{}", address::query([("account", account.name.as_str())])),
        administrator: account.administrator,
        groups: account.groups.join(", "),
        created: Moment::new(account.created_at, chrome.now),
        last_sign_in: account.last_sign_in.map(|at| Moment::new(at, chrome.now)),
        state: if account.disabled { Mark::mute("disabled") } else { Mark::good("enabled") },
    };
    let rows = view.accounts.iter().map(row).collect();
    rendered(&AccountsPage { chrome, tab: "accounts", view, rows })
}

/// Returns the groups in a text, which commas separate.
pub fn groups_of(text: &str) -> Vec<String> {
    let groups = text.split(',').map(str::trim).filter(|group| !group.is_empty());
    groups.collect::<BTreeSet<_>>().into_iter().map(ToOwned::to_owned).collect()
}

/// The machine tokens, and the text of one that was created just now.
#[derive(Clone, Debug, Default)]
pub struct TokensView {
    pub tokens: Vec<MachineToken>,
    /// The name and the text of a new token. No other page contains the text.
    pub issued: Option<(String, TokenText)>,
    pub refused: Option<Refused>,
}

struct TokenRow {
    id: String,
    name: String,
    created_by: String,
    created: Moment,
    expires: Moment,
    last_use: Option<Moment>,
    state: Mark,
    ended: Option<Moment>,
    is_valid: bool,
}

#[derive(Template)]
#[template(path = "access_tokens.html")]
struct TokensPage<'a> {
    chrome: &'a Chrome,
    tab: &'static str,
    view: &'a TokensView,
    rows: Vec<TokenRow>,
    sent: Refused,
    other_problem: Option<Mark>,
}

impl TokensPage<'_> {
    /// Returns the lives to choose from: value, and whether it is chosen.
    fn days(&self) -> Vec<(u64, bool)> {
        let chosen = self.sent.days.parse().unwrap_or(90);
        TOKEN_DAYS.into_iter().map(|days| (days, days == chosen)).collect()
    }
}

/// Renders the page of machine tokens.
pub fn tokens_page(chrome: &Chrome, view: &TokensView) -> String {
    let refused = view.refused.as_ref();
    rendered(&TokensPage {
        chrome,
        tab: "tokens",
        view,
        rows: view.tokens.iter().map(|token| token_row(token, chrome.now)).collect(),
        sent: Refused::of(refused, "create"),
        other_problem: refused.filter(|refused| refused.action != "create").and_then(Refused::mark),
    })
}

fn token_row(token: &MachineToken, now: Timestamp) -> TokenRow {
    let has_expired = token.expires <= now;
    let state = match token.revoked_at {
        Some(_) => Mark::mute("revoked"),
        None if has_expired => Mark::mute("expired"),
        None if token.expires < now + EXPIRES_SOON => Mark::warn("expires soon"),
        None => Mark::good("valid"),
    };
    TokenRow {
        id: token.id.clone(),
        name: token.name.clone(),
        created_by: token.created_by.to_string(),
        created: Moment::new(token.created_at, now),
        expires: Moment::new(token.expires, now),
        last_use: token.last_use.map(|at| Moment::new(at, now)),
        state,
        ended: token.revoked_at.map(|at| Moment::new(at, now)),
        is_valid: token.revoked_at.is_none() && !has_expired,
    }
}

/// The open sessions of all people.
#[derive(Clone, Debug, Default)]
pub struct SessionsView {
    /// The latest used first.
    pub sessions: Vec<OpenSession>,
    /// The session of the visitor.
    pub own: Option<SessionId>,
}

struct SessionRow {
    id: String,
    name: String,
    actor: String,
    via: String,
    since: Moment,
    last_use: Moment,
    address: String,
    browser: String,
    agent: String,
    is_own: bool,
}

#[derive(Template)]
#[template(path = "access_sessions.html")]
struct SessionsPage<'a> {
    chrome: &'a Chrome,
    tab: &'static str,
    rows: Vec<SessionRow>,
}

/// Renders the page of open sessions.
pub fn sessions_page(chrome: &Chrome, view: &SessionsView) -> String {
    let row = |session: &OpenSession| SessionRow {
        id: session.id.to_string(),
        name: session.name.clone(),
        actor: session.actor.to_string(),
        via: session.via.to_string(),
        since: Moment::new(session.signed_in_at, chrome.now),
        last_use: Moment::new(session.last_use, chrome.now),
        address: session.address.to_string(),
        browser: browser(&session.agent),
        agent: session.agent.clone(),
        is_own: view.own.as_ref() == Some(&session.id),
    };
    rendered(&SessionsPage { chrome, tab: "sessions", rows: view.sessions.iter().map(row).collect() })
}

/// Returns `Firefox on Linux` for the name that a browser sends, as far as it is known.
fn browser(agent: &str) -> String {
    let first =
        |names: &[(&str, &'static str)]| names.iter().find(|(part, _)| agent.contains(part)).map(|(_, name)| *name);
    // Browsers also send the names of those that they resemble: the order matters.
    let program = first(&[
        ("Edg/", "Edge"),
        ("OPR/", "Opera"),
        ("Firefox/", "Firefox"),
        ("Chrome/", "Chrome"),
        ("Safari/", "Safari"),
        ("curl/", "curl"),
    ]);
    let system = first(&[
        ("Android", "Android"),
        ("iPhone", "iOS"),
        ("iPad", "iPadOS"),
        ("Windows", "Windows"),
        ("Mac OS X", "macOS"),
        ("Linux", "Linux"),
    ]);
    match (program, system) {
        (Some(program), Some(system)) => format!("{program} on {system}"),
        (Some(program), None) => program.to_owned(),
        (None, _) => agent.chars().take(40).collect(),
    }
}

/// The form in which people change their own password.
#[derive(Clone, Debug, Default)]
pub struct PasswordView {
    pub account: String,
    pub problem: Option<String>,
}

#[derive(Template)]
#[template(path = "account.html")]
struct PasswordPage<'a> {
    chrome: &'a Chrome,
    view: &'a PasswordView,
}

/// Renders the page of one's own password.
pub fn password_page(chrome: &Chrome, view: &PasswordView) -> String {
    rendered(&PasswordPage { chrome, view })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_separated_by_commas() {
        assert_eq!(groups_of(" ops, web ,,ops"), ["ops", "web"]);
        assert_eq!(groups_of(" , "), Vec::<String>::new());
    }

    #[test]
    fn a_browser_has_a_name_for_people() {
        let edge = "Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 Chrome/130.0 Safari/537.36 Edg/130.0";
        assert_eq!(browser(edge), "Edge on Windows");
        assert_eq!(
            browser("Mozilla/5.0 (X11; Linux x86_64; rv:132.0) Gecko/20100101 Firefox/132.0"),
            "Firefox on Linux"
        );
        assert_eq!((browser("curl/8.5.0").as_str(), browser("").as_str()), ("curl", ""));
        assert_eq!(browser(&"x".repeat(500)).len(), 40);
    }
}
