//! The pages of accounts, tokens and sessions, with example data.

use setpoint_accounts::{Account, MachineToken, OpenSession, SessionId, TokenText, Via};
use setpoint_api::canned::NOON;
use setpoint_core::name::Actor;
use setpoint_core::time::Span;
use setpoint_server::pages::Chrome;
use setpoint_server::pages::access::{
    AccountsView, PasswordView, Refused, SessionsView, TokensView, accounts_page, password_page, sessions_page,
    tokens_page,
};

fn actor(text: &str) -> Actor {
    Actor::new(text).expect("a plain name")
}

fn account(name: &str, groups: &[&str]) -> Account {
    Account {
        name: name.to_owned(),
        actor: actor(&format!("account:{name}")),
        groups: groups.iter().map(|&group| group.to_owned()).collect(),
        administrator: groups.is_empty(),
        disabled: name.starts_with('j'),
        created_at: NOON - Span::hours(3_000),
        password_set_at: NOON - Span::hours(3_000),
        last_sign_in: (!name.starts_with('j')).then_some(NOON - Span::minutes(42)),
    }
}

fn token(name: &str, days: u64, revoked: bool) -> MachineToken {
    MachineToken {
        id: name.to_owned(),
        name: name.to_owned(),
        actor: actor(&format!("token:{name}")),
        grants: String::new(),
        created_by: actor("account:erika.mustermann"),
        created_at: NOON - Span::hours(200),
        expires: NOON + Span::hours(days * 24),
        last_use: revoked.then_some(NOON - Span::hours(9)),
        revoked_at: revoked.then_some(NOON - Span::hours(5)),
    }
}

fn session(id: &str, name: &str, via: Via, agent: &str) -> OpenSession {
    OpenSession {
        id: SessionId::new(id),
        actor: actor(&format!("account:{name}")),
        name: name.to_owned(),
        via,
        signed_in_at: NOON - Span::hours(7),
        last_use: NOON - Span::minutes(3),
        address: "2001:db8::4f:17".parse().expect("an address"),
        agent: agent.to_owned(),
    }
}

pub(super) fn pages(chrome: &Chrome) -> Vec<(String, String)> {
    let accounts = vec![
        account("erika.mustermann", &[]),
        account("jan", &["payments"]),
        account("max", &["platform", "payments-operators", "on-call"]),
    ];
    let problem = "`max` exists: choose another name".to_owned();
    let refused = Refused { action: "create".to_owned(), problem, name: "max".to_owned(), ..Refused::default() };
    let list = AccountsView { accounts: accounts.clone(), ..AccountsView::default() };
    let tokens = TokensView {
        tokens: vec![token("ci-checkout", 80, false), token("nightly-report", 4, false), token("old-ci", 30, true)],
        ..TokensView::default()
    };
    let text = "setpoint_mfrggzdfmztwq2lk_kz2xg5dbnrsw4z3uojuw4zzaorugk3tf_1f3a9c02".to_owned();
    let issued = TokensView { issued: Some(("ci-checkout".to_owned(), TokenText::new(text))), ..tokens.clone() };
    let firefox = "Mozilla/5.0 (X11; Linux x86_64; rv:132.0) Gecko/20100101 Firefox/132.0";
    let sessions = SessionsView {
        sessions: vec![
            session("mfrggzdfmztwq2lk", "erika.mustermann", Via::Password, firefox),
            session("aaaaaaaaaaaaaaaa", "Max", Via::Provider("corporate".to_owned()), "curl/8.5.0"),
        ],
        own: Some(SessionId::new("mfrggzdfmztwq2lk")),
    };
    let page = |name: &str, html: String| (name.to_owned(), html);
    vec![
        page("access", accounts_page(chrome, &list)),
        page("access-refused", accounts_page(chrome, &AccountsView { refused: Some(refused), ..list.clone() })),
        page("access-account", accounts_page(chrome, &AccountsView { selected: accounts.get(2).cloned(), ..list })),
        page("access-tokens", tokens_page(chrome, &tokens)),
        page("access-issued", tokens_page(chrome, &issued)),
        page("access-sessions", sessions_page(chrome, &sessions)),
        page("account", password_page(chrome, &PasswordView { account: "max".to_owned(), problem: None })),
    ]
}
