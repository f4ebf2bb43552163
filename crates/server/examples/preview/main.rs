//! Writes all pages with example data into a directory, for a browser:
//! `cargo run -p setpoint-server --example preview -- /tmp/pages`.

mod access;
mod fleet;

use std::path::{Path, PathBuf};

use setpoint_api::answer::{AppState, AppSummary, Overview};
use setpoint_api::canned::{CannedAgent, NOON};
use setpoint_server::pages::app::{AppView, Order, OrderView, Tab};
use setpoint_server::pages::audit::AuditView;
use setpoint_server::pages::changes::ChangesView;
use setpoint_server::pages::drift::DriftView;
use setpoint_server::pages::fleet::{FleetQuery, FleetView};
use setpoint_server::pages::problem::ProblemView;
use setpoint_server::pages::set_up::SetUpView;
use setpoint_server::pages::sign_in::SignInView;
use setpoint_server::pages::stores::StoresView;
use setpoint_server::pages::targets::TargetsView;
use setpoint_server::pages::{self, Chrome, Part, Section, alerts};

fn main() -> std::io::Result<()> {
    let directory = PathBuf::from(std::env::args_os().nth(1).unwrap_or_else(|| "target/preview".into()));
    let write = |name: &str, html: String| write(&directory, &format!("{name}.html"), html.as_bytes());
    for path in setpoint_server::assets::paths() {
        let asset = setpoint_server::assets::asset(path).expect("every path leads to its asset");
        self::write(&directory, path.trim_start_matches('/'), asset.bytes)?;
    }
    let agent = CannedAgent::example();
    let overview = fleet::overview(&agent, 1_000);
    let pages = fleet_pages(&overview).into_iter().chain(app_pages(&agent)).chain(other_pages(&overview));
    for (name, html) in pages.chain(access::pages(&chrome("Access", Section::Access))) {
        write(&name, html)?;
    }
    Ok(())
}

fn write(directory: &Path, name: &str, bytes: &[u8]) -> std::io::Result<()> {
    let path = directory.join(name);
    std::fs::create_dir_all(path.parent().unwrap_or(directory))?;
    std::fs::write(path, bytes)
}

fn chrome(title: &str, active: Section) -> Chrome {
    Chrome {
        user: Some("erika.mustermann".to_owned()),
        csrf: "preview".to_owned(),
        has_account: true,
        administers: true,
        live: true,
        ..Chrome::new(title, active, NOON)
    }
}

fn fleet_pages(overview: &Overview) -> Vec<(String, String)> {
    let chrome = chrome("Apps", Section::Apps);
    let page = |apps: &[AppSummary], query: &str| {
        let view = FleetView::new(apps, FleetQuery::parse(query), NOON);
        pages::fleet::page(&chrome, &view.with_alerts(alerts::of(overview)))
    };
    let calm: Vec<AppSummary> = overview
        .apps
        .iter()
        .filter(|app| app.state == AppState::Converged && app.problems.is_empty())
        .cloned()
        .collect();
    let view = FleetView::new(&calm, FleetQuery::default(), NOON);
    vec![
        ("fleet".to_owned(), page(&overview.apps, "")),
        ("fleet-filtered".to_owned(), page(&overview.apps, "scope=payments&environment=production&q=api")),
        ("fleet-groups".to_owned(), page(&overview.apps, "group=scope")),
        ("fleet-matrix".to_owned(), page(&overview.apps, "view=matrix")),
        ("fleet-tiles".to_owned(), page(&overview.apps, "view=tiles")),
        ("fleet-none".to_owned(), page(&overview.apps, "q=nothing+at+all")),
        ("fleet-calm".to_owned(), pages::fleet::page(&chrome, &view)),
        ("fleet-empty".to_owned(), pages::fleet::page(&chrome, &FleetView::new(&[], FleetQuery::default(), NOON))),
    ]
}

fn app_pages(agent: &CannedAgent) -> Vec<(String, String)> {
    let chrome = chrome("web/shop", Section::Apps);
    let mut pages = Vec::new();
    for tab in Tab::ALL {
        let mut view = AppView {
            tree: Part::Ready(agent.tree.clone()),
            changes: Part::Ready(agent.changes.clone()),
            drift: Part::Ready(agent.drift.clone()),
            plan: Part::Ready(agent.plan.apps[1].clone()),
            orders: Order::ALL.to_vec(),
            ..AppView::new(agent.detail.clone(), tab)
        };
        pages.push((format!("app-{}", tab.name()), pages::app::page(&chrome, &view)));
        view.detail = fleet::calm_detail(agent);
        view.tree = Part::Ready(fleet::large_tree(agent));
        view.drift = Part::Ready(Vec::new());
        view.plan = Part::Ready(agent.plan.apps[0].clone());
        pages.push((format!("calm-{}", tab.name()), pages::app::page(&chrome, &view)));
    }
    let explained =
        AppView { explained: Part::Ready(agent.explained.clone()), ..AppView::new(agent.detail.clone(), Tab::Diff) };
    pages.push(("app-explained".to_owned(), pages::app::page(&chrome, &explained)));
    for order in Order::ALL {
        let view = OrderView {
            detail: agent.detail.clone(),
            order,
            plan: Part::Ready(agent.plan.apps[1].clone()),
            problem: None,
            reason: String::new(),
        };
        pages.push((format!("order-{}", order.name()), pages::app::order_page(&chrome, &view)));
    }
    pages
}

fn other_pages(overview: &Overview) -> Vec<(String, String)> {
    let agent = CannedAgent::example();
    let changes = ChangesView {
        changes: fleet::changes(&agent, overview),
        versions: agent.detail.versions.clone(),
        has_more: true,
        ..ChangesView::default()
    };
    let drift = DriftView { records: fleet::drift(&agent, overview), ..DriftView::default() };
    let audit = AuditView {
        records: agent.history.clone(),
        kinds: ["acceptance", "effect.result", "hold", "override"].map(str::to_owned).to_vec(),
        has_more: true,
        ..AuditView::default()
    };
    let sign_in = SignInView {
        with_password: true,
        providers: vec![("corporate".to_owned(), "Example SSO".to_owned())],
        ..SignInView::default()
    };
    let failed = SignInView {
        problem: Some("account or password is wrong".to_owned()),
        providers: Vec::new(),
        ..sign_in.clone()
    };
    let door = Chrome::new("Sign in", Section::Other, NOON);
    let set_up = SetUpView { token: Some("preview".to_owned()), ..SetUpView::default() };
    let problem = ProblemView {
        status: 404,
        title: "This page does not exist".to_owned(),
        text: "The app was retired, or you have no permission to see it.".to_owned(),
    };
    let page = |name: &str, html: String| (name.to_owned(), html);
    vec![
        page("changes", pages::changes::page(&chrome("Changes", Section::Changes), &changes)),
        page("changes-empty", pages::changes::page(&chrome("Changes", Section::Changes), &ChangesView::default())),
        page("drift", pages::drift::page(&chrome("Drift", Section::Drift), &drift)),
        page("drift-empty", pages::drift::page(&chrome("Drift", Section::Drift), &DriftView::default())),
        page(
            "stores",
            pages::stores::page(&chrome("Stores", Section::Stores), &StoresView { stores: overview.stores.clone() }),
        ),
        page("targets", pages::targets::page(&chrome("Targets", Section::Targets), &TargetsView::of(overview))),
        page("audit", pages::audit::page(&chrome("Audit", Section::Audit), &audit)),
        page("sign-in", pages::sign_in::page(&door, &sign_in)),
        page("sign-in-failed", pages::sign_in::page(&door, &failed)),
        page("set-up", pages::set_up::page(&Chrome::new("Set up", Section::Other, NOON), &set_up)),
        page(
            "set-up-expired",
            pages::set_up::page(&Chrome::new("Set up", Section::Other, NOON), &SetUpView::default()),
        ),
        page("problem", pages::problem::page(&chrome("Not found", Section::Other), &problem)),
    ]
}
