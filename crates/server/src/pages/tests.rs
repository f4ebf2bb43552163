//! Tests of all pages, and example data for the tests of single ones.

use std::collections::BTreeMap;

use setpoint_api::answer::{AppState, AppSummary, Tally};
use setpoint_api::canned::{CannedAgent, NOON};
use setpoint_core::digest::Digest;
use setpoint_core::facts::Accepted;
use setpoint_core::live::Health;
use setpoint_core::name::{StoreName, VersionId};
use setpoint_core::time::Span;
use setpoint_core::version::Revision;

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
    let records = AuditView { records: agent.history, has_proofs: true, ..AuditView::default() };
    let targets = TargetsView::of(&agent.overview);
    pages.extend([
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
