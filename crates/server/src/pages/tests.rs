//! Tests of all pages, and example data for the tests of single ones.

use std::collections::BTreeMap;

use setpoint_api::answer::{AppState, AppSummary, Tally};
use setpoint_api::canned::{CannedAgent, NOON};
use setpoint_core::digest::Digest;
use setpoint_core::facts::Accepted;
use setpoint_core::live::Health;
use setpoint_core::name::{Actor, StoreName, VersionId};
use setpoint_core::time::Span;
use setpoint_core::version::Revision;

use setpoint_accounts::{Account, MachineToken, OpenSession, SessionId, TokenText, Via};

use super::access::{AccountsView, PasswordView, Refused, SessionsView, TokensView};
use super::app::{AppView, Order, OrderView, Tab};
use super::audit::AuditView;
use super::changes::ChangesView;
use super::drift::DriftView;
use super::fleet::{FleetQuery, FleetView};
use super::problem::ProblemView;
use super::set_up::SetUpView;
use super::sign_in::SignInView;
use super::stores::StoresView;
use super::targets::TargetsView;
use super::*;

/// Returns a converged app without properties.
pub(super) fn summary(name: &str) -> AppSummary {
    AppSummary {
        app: name.parse().unwrap(),
        component: String::new(),
        environment: String::new(),
        labels: BTreeMap::new(),
        state: AppState::Converged,
        problems: Vec::new(),
        target: "kube-0f6a1c52".parse().unwrap(),
        target_name: None,
        moved_to: None,
        accepted: None,
        health: Health::Healthy,
        resources: 1,
        drifts: 0,
        remarks: 0,
        withheld: 0,
        note: None,
        set_back: None,
        requests: Tally::new(),
    }
}

/// Returns a converged app with a change.
pub(super) fn with(name: &str, change: impl FnOnce(&mut AppSummary)) -> AppSummary {
    let mut summary = summary(name);
    change(&mut summary);
    summary
}

pub(super) fn accepted(version: &str, minutes_ago: u64) -> Accepted {
    let revision = Revision::of(&StoreName::new("platform").unwrap(), &VersionId::new(version).unwrap());
    Accepted { bundle: Digest::of(version.as_bytes()), sequence: 1, revision, at: NOON - Span::minutes(minutes_ago) }
}

fn chrome() -> Chrome {
    Chrome {
        base: "/base".to_owned(),
        user: Some("erika".to_owned()),
        csrf: "token-of-the-form".to_owned(),
        has_account: true,
        administers: true,
        live: true,
        ..Chrome::new("Apps", Section::Apps, NOON)
    }
}

fn fleet(apps: &[AppSummary], query: &str) -> String {
    fleet::page(&chrome(), &FleetView::new(apps, FleetQuery::parse(query), NOON))
}

fn app_view(tab: Tab) -> AppView {
    let agent = CannedAgent::example();
    AppView {
        tree: Part::Ready(agent.tree),
        changes: Part::Ready(agent.changes),
        drift: Part::Ready(agent.drift),
        plan: Part::Ready(agent.plan.apps[1].clone()),
        explained: Part::Ready(agent.explained),
        logs: Part::Ready(agent.logs),
        reads_logs: true,
        orders: Order::ALL.to_vec(),
        ..AppView::new(agent.detail, tab)
    }
}

fn order_view(order: Order) -> OrderView {
    let agent = CannedAgent::example();
    OrderView {
        detail: agent.detail,
        order,
        plan: Part::Ready(agent.plan.apps[1].clone()),
        problem: None,
        reason: String::new(),
    }
}

/// Returns an account whose groups are a text of users.
fn account(name: &str, group: &str) -> Account {
    Account {
        name: name.to_owned(),
        actor: Actor::new(&format!("account:{name}")).unwrap(),
        groups: vec![group.to_owned()],
        administrator: true,
        disabled: false,
        created_at: NOON - Span::hours(40),
        password_set_at: NOON - Span::hours(40),
        last_sign_in: None,
    }
}

fn token(name: &str, days: u64) -> MachineToken {
    MachineToken {
        id: format!("id-of-{name}"),
        name: name.to_owned(),
        actor: Actor::new(&format!("token:{name}")).unwrap(),
        grants: String::new(),
        created_by: Actor::new("account:ada").unwrap(),
        created_at: NOON - Span::hours(40),
        expires: NOON + Span::hours(days * 24),
        last_use: None,
        revoked_at: None,
    }
}

fn session(id: &str, name: &str, agent: &str) -> OpenSession {
    OpenSession {
        id: SessionId::new(id),
        actor: Actor::new("oidc:corp/1").unwrap(),
        name: name.to_owned(),
        via: Via::Provider("corp".to_owned()),
        signed_in_at: NOON - Span::hours(2),
        last_use: NOON - Span::minutes(2),
        address: "192.0.2.1".parse().unwrap(),
        agent: agent.to_owned(),
    }
}

const OWN_SESSION: &str = "mfrggzdfmztwq2lk";

fn access_pages(text: &str) -> Vec<(String, String)> {
    let refused = |action: &str| {
        let values = Refused { name: text.to_owned(), groups: text.to_owned(), ..Refused::default() };
        Some(Refused { action: action.to_owned(), problem: text.to_owned(), reason: text.to_owned(), ..values })
    };
    let accounts = vec![account("ada", text), Account { disabled: true, ..account("grace", text) }];
    let mut pages: Vec<(String, String)> = ["create", "set-password", "set-groups", "disable", "enable", "delete"]
        .into_iter()
        .map(|action| {
            let selected = (action != "create").then(|| accounts[usize::from(action == "enable")].clone());
            let view = AccountsView { accounts: accounts.clone(), selected, refused: refused(action) };
            (format!("account {action}"), access::accounts_page(&chrome(), &view))
        })
        .collect();
    for action in ["create", "revoke"] {
        let issued = Some((text.to_owned(), TokenText::new("setpoint_text".to_owned())));
        let view = TokensView { tokens: vec![token("ci", 30)], issued, refused: refused(action) };
        pages.push((format!("token {action}"), access::tokens_page(&chrome(), &view)));
    }
    let sessions = vec![session(OWN_SESSION, text, text), session("aaaaaaaaaaaaaaaa", text, "curl/8.5.0")];
    let sessions = SessionsView { sessions, own: Some(SessionId::new(OWN_SESSION)) };
    let password = PasswordView { account: text.to_owned(), problem: Some(text.to_owned()) };
    pages.extend([
        ("no accounts".to_owned(), access::accounts_page(&chrome(), &AccountsView::default())),
        ("no tokens".to_owned(), access::tokens_page(&chrome(), &TokensView::default())),
        ("sessions".to_owned(), access::sessions_page(&chrome(), &sessions)),
        ("no sessions".to_owned(), access::sessions_page(&chrome(), &SessionsView::default())),
        ("account".to_owned(), access::password_page(&chrome(), &password)),
    ]);
    pages
}

/// Renders every page, with its name.
fn every_page() -> Vec<(String, String)> {
    let agent = CannedAgent::example();
    let chrome = chrome();
    let alerts = alerts::of(&agent.overview);
    let mut pages: Vec<(String, String)> = ["", "view=matrix", "view=tiles", "group=scope", "q=nothing"]
        .iter()
        .map(|query| {
            let view = FleetView::new(&agent.overview.apps, FleetQuery::parse(query), NOON);
            (format!("fleet?{query}"), fleet::page(&chrome, &view.with_alerts(alerts.clone())))
        })
        .collect();
    pages.push(("no apps".to_owned(), fleet(&[], "")));
    let tabs = Tab::ALL.into_iter();
    pages.extend(tabs.map(|tab| (format!("app {}", tab.name()), app::page(&chrome, &app_view(tab)))));
    let orders = Order::ALL.into_iter();
    pages.extend(orders.map(|order| (order.name().to_owned(), app::order_page(&chrome, &order_view(order)))));
    let history = ChangesView { changes: agent.changes, has_more: true, ..ChangesView::default() };
    let records = AuditView { records: agent.history, ..AuditView::default() };
    let targets = TargetsView::of(&agent.overview);
    pages.extend([
        ("version".to_owned(), version::page(&chrome, &agent.version)),
        ("changes".to_owned(), changes::page(&chrome, &history)),
        ("no changes".to_owned(), changes::page(&chrome, &ChangesView::default())),
        ("drift".to_owned(), drift::page(&chrome, &DriftView { records: agent.drift, ..DriftView::default() })),
        ("no drift".to_owned(), drift::page(&chrome, &DriftView::default())),
        ("stores".to_owned(), stores::page(&chrome, &StoresView { stores: agent.overview.stores })),
        ("no stores".to_owned(), stores::page(&chrome, &StoresView::default())),
        ("targets".to_owned(), targets::page(&chrome, &targets)),
        ("no targets".to_owned(), targets::page(&chrome, &TargetsView::default())),
        ("audit".to_owned(), audit::page(&chrome, &records)),
        ("no records".to_owned(), audit::page(&chrome, &AuditView::default())),
        ("sign-in".to_owned(), sign_in::page(&chrome, &SignInView { with_password: true, ..SignInView::default() })),
        ("set-up".to_owned(), set_up::page(&chrome, &SetUpView { token: Some("t".into()), ..SetUpView::default() })),
        ("problem".to_owned(), problem::page(&chrome, &ProblemView { status: 404, ..ProblemView::default() })),
    ]);
    pages.extend(access_pages("example"));
    pages
}

#[test]
fn no_page_needs_an_exception_from_the_content_security_policy() {
    for (name, html) in every_page() {
        for banned in [" style=", "<style", "onclick", " onerror", " onload", "javascript:", "http://", "https://"] {
            assert!(!html.contains(banned), "{name} contains {banned}");
        }
        let scripts: Vec<&str> = html.split("<script").skip(1).collect();
        assert!(scripts.iter().all(|script| script.starts_with(" src=\"/base/assets/")), "{name}");
    }
}

#[test]
fn no_template_marks_text_as_safe_or_contains_code() {
    let mut checked = 0;
    for directory in ["templates", "templates/parts"] {
        let directory = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(directory);
        for entry in std::fs::read_dir(directory).unwrap().map(Result::unwrap) {
            if entry.file_type().unwrap().is_dir() {
                continue;
            }
            let text = std::fs::read_to_string(entry.path()).unwrap();
            for banned in ["|safe", "| safe", " style=", "onclick", "<script>", "autoescape", "escape(\"none\""] {
                assert!(!text.contains(banned), "{:?} contains {banned}", entry.path());
            }
            checked += 1;
        }
    }
    assert!(checked > 20);
}

#[test]
fn every_link_has_the_base_path_and_every_asset_exists() {
    for (name, html) in every_page() {
        for attribute in ["href=\"", "action=\"", "src=\""] {
            for value in html.split(attribute).skip(1).filter_map(|rest| rest.split('"').next()) {
                assert!(value.starts_with("/base/") || value.starts_with('#'), "{name}: {attribute}{value}");
                if let Some(path) = value.strip_prefix("/base").filter(|path| path.starts_with("/assets/")) {
                    assert!(crate::assets::asset(path).is_some(), "{name}: {path}");
                }
            }
        }
    }
}

#[test]
fn every_picture_that_a_page_uses_is_defined() {
    for (name, html) in every_page() {
        for id in html.split("<use ").skip(1).filter_map(|rest| rest.split("href=\"#").nth(1)?.split('"').next()) {
            assert!(html.contains(&format!("<symbol id=\"{id}\"")), "{name}: #{id}");
        }
    }
}

#[test]
fn every_form_that_changes_something_has_the_token() {
    for (name, html) in every_page() {
        let forms = html.split("<form").skip(1).map(|rest| rest.split("</form>").next().unwrap());
        for form in forms.filter(|form| form.contains("method=\"post\"")) {
            assert!(form.contains("name=\"csrf\" value=\"token-of-the-form\""), "{name}: {form}");
        }
    }
}

#[test]
fn text_of_users_is_never_code() {
    let attack = "<img src=x onerror=alert(1)>";
    let app = with("web/shop", |app| {
        app.note = Some(attack.to_owned());
        app.state = AppState::Unknown;
        app.component = attack.to_owned();
        app.environment = attack.to_owned();
        app.labels.insert(attack.to_owned(), "\"><script>".to_owned());
    });
    for query in
        ["", "view=matrix", "view=tiles", "group=component", "q=%3Cimg+src%3Dx", "component=%3Cimg%20src%3Dx%3E"]
    {
        let html = fleet(std::slice::from_ref(&app), query);
        assert!(!html.contains("<img") && !html.contains("\"><script>"), "{query}");
    }
    assert!(fleet(std::slice::from_ref(&app), "").contains("&#60;img src=x onerror=alert(1)&#62;"));
    let mut view = app_view(Tab::Overview);
    view.detail.summary = app;
    view.detail.versions[0].subject = attack.to_owned();
    view.detail.refused.as_mut().unwrap().problem = attack.to_owned();
    for tab in Tab::ALL {
        view.tab = tab;
        assert!(!app::page(&chrome(), &view).contains("<img"), "{}", tab.name());
    }
}

#[test]
fn text_on_the_pages_of_access_is_never_code() {
    for (name, html) in access_pages("\"><img src=x onerror=alert(1)>") {
        assert!(!html.contains("<img") && !html.contains("\"\">"), "{name}");
        assert!(name.starts_with("no ") || html.contains("&#60;img src=x"), "{name}");
    }
}

#[test]
fn no_field_of_a_password_has_a_value() {
    let mut fields = 0;
    for (name, html) in every_page() {
        for field in html.split("<input").skip(1).filter_map(|rest| rest.split('>').next()) {
            if field.contains("type=\"password\"") {
                assert!(!field.contains("value="), "{name}: {field}");
                fields += 1;
            }
        }
    }
    assert!(fields > 5);
}

#[test]
fn a_refused_form_keeps_its_values_next_to_the_problem() {
    let pages = access_pages("kept-value");
    let page = |name: &str| pages.iter().find(|(known, _)| known == name).unwrap().1.as_str();
    assert!(page("account create").contains("name=\"name\" type=\"text\" value=\"kept-value\""));
    assert!(page("account set-groups").contains("name=\"groups\" type=\"text\" value=\"kept-value\""));
    assert!(page("account delete").contains("name=\"reason\" type=\"text\" value=\"kept-value\""));
    assert!(pages.iter().all(|(_, html)| html.matches("class=\"form-problem\"").count() <= 1));
    // The account was deleted since: its forms are not there, but the problem is.
    let refused = Refused { action: "disable".to_owned(), problem: "gone".to_owned(), ..Refused::default() };
    let view = AccountsView { refused: Some(refused), ..AccountsView::default() };
    assert!(access::accounts_page(&chrome(), &view).contains("gone"));
}

#[test]
fn the_text_of_a_token_is_only_on_the_page_after_its_creation() {
    let issued = Some(("ci".to_owned(), TokenText::new("setpoint_secret".to_owned())));
    let mut view = TokensView { tokens: vec![token("ci", 30), token("old", 3)], issued, ..TokensView::default() };
    let html = access::tokens_page(&chrome(), &view);
    assert!(html.contains("setpoint_secret") && html.contains("expires soon"));
    assert!(!format!("{view:?}").contains("setpoint_secret"));
    view.issued = None;
    assert!(!access::tokens_page(&chrome(), &view).contains("setpoint_secret"));
}

#[test]
fn the_session_of_the_visitor_is_marked() {
    let sessions = vec![session(OWN_SESSION, "Ada", ""), session("aaaaaaaaaaaaaaaa", "Grace", "")];
    let view = SessionsView { sessions, own: Some(SessionId::new(OWN_SESSION)) };
    let html = access::sessions_page(&chrome(), &view);
    assert_eq!(html.matches("this session").count(), 1);
    assert!(html.find("this session") < html.find("Grace"));
}

#[test]
fn only_administrators_see_the_section_of_access() {
    let fleet_of = |chrome: &Chrome| fleet::page(chrome, &FleetView::new(&[], FleetQuery::default(), NOON));
    let html = fleet_of(&chrome());
    assert!(html.contains("href=\"/base/access\" data-key=\"p\"") && html.contains("<kbd>p</kbd>"));
    let other = fleet_of(&Chrome { administers: false, has_account: false, ..chrome() });
    assert!(!other.contains("/access") && !other.contains("<kbd>p</kbd>") && !other.contains("/base/account"));
}

#[test]
fn a_fragment_is_the_content_of_the_page() {
    let apps = CannedAgent::example().overview.apps;
    let view = FleetView::new(&apps, FleetQuery::default(), NOON);
    let whole = fleet::page(&chrome(), &view);
    let fragment = fleet::page(&Chrome { fragment: true, ..chrome() }, &view);
    assert!(!fragment.contains("<html") && !fragment.contains("<main") && !fragment.contains("sign-out"));
    assert!(whole.contains(fragment.trim()));
}

#[test]
fn a_page_of_50_000_apps_is_small_in_every_view() {
    let apps: Vec<AppSummary> = (0..50_000)
        .map(|n| {
            with(&format!("scope-{:03}/component-{:05}-production", n % 400, n / 4), |app| {
                app.component = format!("component-{:05}", n / 4);
                app.environment = ["dev", "staging", "canary", "production"][n % 4].to_owned();
                app.target_name = format!("cluster-{}", n % 90).parse().ok();
                app.accepted = Some(accepted(&"3f2a91c0".repeat(5), n as u64));
                app.state = if n % 3 == 0 { AppState::Degraded } else { AppState::Converged };
                app.note = (n % 3 == 0).then(|| "the pods cannot be scheduled: ".repeat(3));
            })
        })
        .collect();
    for query in ["", "view=matrix", "view=tiles", "group=scope", "q=component-00001"] {
        let size = fleet(&apps, query).len();
        assert!(size <= 100_000, "{query}: {size} bytes");
    }
}
