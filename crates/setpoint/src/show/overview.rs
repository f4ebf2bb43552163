//! The page of `setpoint status`.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use setpoint_api::answer::{
    AppProblem, AppState, AppSummary, LedgerStanding, Overview, StoreStanding, Tally, TargetStanding, UnreachedTarget,
};
use setpoint_core::live::Health;

use super::page::Page;
use super::paint::{Paint, Painted};
use super::table::Table;
use super::{Screen, time, words};

/// The number of apps of a target that are named, with the requests sent for them or as waiting for
/// it. JSON output has all of them.
const BUSIEST: usize = 5;

pub(crate) fn overview(overview: &Overview, screen: &Screen) -> String {
    // All times are relative to the agent's clock: both ends of "3 s ago" come from the same one.
    let screen = Screen { now: overview.now, ..*screen };
    let mut page = Page::new(&screen);
    page.field("agent", format!("{}, {}", overview.version, time::absolute(overview.now)));
    page.field("ledger", ledger(&overview.ledger));
    page.field("apps", tally(overview));
    let problems = problems(&overview.apps);
    if !problems.is_empty() {
        page.field("problems", Painted::new(problems, Paint::Bad));
    }
    if !overview.stores.is_empty() {
        page.heading("Stores");
        page.table(0, &stores(&overview.stores, &screen));
    }
    if !overview.targets.is_empty() || !overview.unreached.is_empty() {
        page.heading("Targets");
        page.table(0, &targets(overview));
    }
    if !overview.unreached.is_empty() {
        page.heading("Unreachable targets");
        overview.unreached.iter().for_each(|target| page.field(target.target.as_str(), unreached(target)));
    }
    let degraded = || overview.targets.iter().filter_map(|target| Some((target, target.degraded.as_ref()?)));
    if degraded().next().is_some() {
        page.heading("Degraded");
        degraded().for_each(|(target, why)| page.field(target.target.as_str(), Painted::new(why, Paint::Warn)));
    }
    let left_alone = || overview.targets.iter().filter_map(|target| Some((target, target.left_alone_until?)));
    if left_alone().next().is_some() {
        page.heading("Failing");
        left_alone()
            .for_each(|(target, until)| page.field(target.target.as_str(), words::left_alone(until, screen.now)));
    }
    if overview.targets.iter().any(|target| !target.requests.is_empty()) {
        page.heading("Requests");
        page.table(0, &requests(&overview.targets, &overview.apps));
    }
    if !overview.apps.is_empty() {
        page.heading("Apps");
        let shown = first_rows(&overview.apps, screen.rows);
        page.table(0, &apps(&shown));
        if shown.len() < overview.apps.len() {
            let more = overview.apps.len() - shown.len();
            page.line(
                0,
                format!("{more} more apps: show them with --all, or select apps by name, --scope, --target or --state"),
            );
        }
    }
    page.into_text()
}

fn ledger(standing: &LedgerStanding) -> Painted {
    match standing {
        LedgerStanding { trouble: Some(trouble), .. } => Painted::new(format!("in trouble: {trouble}"), Paint::Bad),
        LedgerStanding { holding: true, anchor: Some(anchor), .. } => {
            Painted::new(format!("held by this agent, but {anchor}"), Paint::Warn)
        }
        LedgerStanding { holding: true, .. } => Painted::new("held by this agent", Paint::Good),
        LedgerStanding { holding: false, .. } => {
            Painted::new("not held by this agent, which changes nothing until it holds the ledger", Paint::Warn)
        }
    }
}

/// Returns `12, 10 converged, 1 waits for its target`. An app with a problem does not count as
/// converged.
fn tally(Overview { apps, unreached, .. }: &Overview) -> Painted {
    let converged = apps.iter().filter(|app| app.state == AppState::Converged && app.problems.is_empty()).count();
    let waiting = unreached.iter().map(|target| target.waiting.len()).sum::<usize>();
    let waits = match waiting {
        0 => String::new(),
        1 => ", 1 waits for its target".to_owned(),
        many => format!(", {many} wait for their targets"),
    };
    let paint = if converged == apps.len() && waiting == 0 { Paint::Good } else { Paint::Warn };
    Painted::new(format!("{}, {converged} converged{waits}", apps.len()), paint)
}

/// Returns `2 apps: version refused; 1 app: deletes withheld`. Empty if there are none.
fn problems(apps: &[AppSummary]) -> String {
    let mut counts = BTreeMap::<AppProblem, usize>::new();
    for problem in apps.iter().flat_map(|app| &app.problems) {
        *counts.entry(*problem).or_default() += 1;
    }
    let count = |(problem, count): (&AppProblem, &usize)| format!("{}: {problem}", words::counted(*count, "app"));
    counts.iter().map(count).collect::<Vec<_>>().join("; ")
}

fn unreached(UnreachedTarget { problem, waiting, .. }: &UnreachedTarget) -> Painted {
    let mut apps = waiting.iter().take(BUSIEST).map(ToString::to_string).collect::<Vec<_>>().join(", ");
    if waiting.len() > BUSIEST {
        apps.push_str(&format!(" and {} more", waiting.len() - BUSIEST));
    }
    let waits = if apps.is_empty() { String::new() } else { format!("; waiting apps: {apps}") };
    Painted::new(format!("{problem}{waits}"), Paint::Bad)
}

fn stores(stores: &[StoreStanding], screen: &Screen) -> Table<4> {
    let mut table = Table::new(["STORE", "HEAD", "LAST SUCCESS", "NOTE"]).whole(&["LAST SUCCESS"]).spare(&["HEAD"]);
    for StoreStanding { store, head, answered, stale, failures, problem } in stores {
        let answered = answered.map_or_else(|| "never".to_owned(), |at| time::relative(at, screen.now));
        let freshness = if *stale { Paint::Bad } else { Paint::Good };
        let problem = problem.as_deref().unwrap_or("reason unknown");
        let note = match (failures, stale) {
            (0, false) => Painted::from(""),
            (0, true) => Painted::new("stale", Paint::Bad),
            (n, false) => Painted::new(format!("failed {n} times in a row: {problem}"), Paint::Bad),
            (n, true) => Painted::new(format!("stale, failed {n} times in a row: {problem}"), Paint::Bad),
        };
        let head = head.as_ref().map_or("none", words::short);
        table.row([store.as_str().into(), head.into(), Painted::new(answered, freshness), note]);
    }
    table
}

/// Returns all targets. The sections after this one explain each state that is not good.
fn targets(Overview { targets, unreached, .. }: &Overview) -> Table<5> {
    let mut table = Table::new(["TARGET", "KIND", "IDENTITY", "STATE", "APPS"]).spare(&["IDENTITY", "KIND"]);
    for target in targets {
        let state = match target {
            TargetStanding { left_alone_until: Some(_), .. } => Painted::new("breaker open", Paint::Bad),
            TargetStanding { degraded: Some(_), .. } => Painted::new("degraded", Paint::Warn),
            _ => Painted::new("connected", Paint::Good),
        };
        let (kind, identity) = (target.kind.as_str(), words::short_identity(&target.identity));
        let name = Painted::new(target.target.as_str(), Paint::Strong);
        table.row([name, kind.into(), identity.into(), state, target.apps.to_string().into()]);
    }
    for UnreachedTarget { target, kind, waiting, .. } in unreached {
        let (name, state) = (Painted::new(target.as_str(), Paint::Strong), Painted::new("unreachable", Paint::Bad));
        table.row([name, kind.as_str().into(), "unknown".into(), state, waiting.len().to_string().into()]);
    }
    table
}

/// Returns the requests sent to targets since the agent started, with those for the apps that
/// needed the most.
fn requests(targets: &[TargetStanding], apps: &[AppSummary]) -> Table<3> {
    let mut table = Table::new(["FOR", "SENT", "BY TYPE"]);
    for target in targets.iter().filter(|target| !target.requests.is_empty()) {
        let mut row = |name: Painted, requests: &Tally| {
            let sent = requests.values().sum::<u64>().to_string();
            table.row([name, sent.into(), words::tally(requests).into()]);
        };
        row(Painted::new(target.target.as_str(), Paint::Strong), &target.requests);
        let of_target = apps.iter().filter(|app| app.target == target.identity && !app.requests.is_empty());
        let mut asking: Vec<&AppSummary> = of_target.collect();
        asking.sort_by_key(|app| Reverse(app.requests.values().sum::<u64>()));
        asking.iter().take(BUSIEST).for_each(|app| row(app.app.to_string().into(), &app.requests));
        if let Some(more) = asking.len().checked_sub(BUSIEST).filter(|more| *more > 0) {
            table.row([Painted::new(format!("… {more} more apps"), Paint::Faint), "".into(), "".into()]);
        }
    }
    table
}

/// Returns the apps to show. If there are too many, those that need attention come first.
fn first_rows(apps: &[AppSummary], most: Option<usize>) -> Vec<&AppSummary> {
    let mut shown: Vec<&AppSummary> = apps.iter().collect();
    if let Some(most) = most.filter(|most| *most < shown.len()) {
        let is_quiet = |app: &AppSummary| {
            let quiet = app.state == AppState::Converged && app.health == Health::Healthy && app.drifts == 0;
            quiet && app.problems.is_empty() && app.note.is_none()
        };
        // Stable: apps of one group stay in the order of their names.
        shown.sort_by_key(|app| is_quiet(app));
        shown.truncate(most);
    }
    shown
}

fn apps(apps: &[&AppSummary]) -> Table<6> {
    let headings = ["APP", "STATE", "HEALTH", "REVISION", "DRIFT", "NOTE"];
    let mut table = Table::new(headings).whole(&["DRIFT"]).spare(&["REVISION", "DRIFT", "HEALTH"]);
    for app in apps {
        let revision = app.accepted.as_ref().map_or_else(|| "none yet".to_owned(), |at| at.revision.to_string());
        let note = match (&app.note, app.withheld) {
            (Some(note), _) => note.clone(),
            (None, 0) => String::new(),
            (None, n) => format!("{n} not done: setpoint why {}", app.app),
        };
        let drifts = match app.remarks {
            0 => app.drifts.to_string(),
            remarks => format!("{} +{remarks}", app.drifts),
        };
        let drift = if app.drifts == 0 { Paint::Plain } else { Paint::Warn };
        table.row([
            Painted::new(app.app.to_string(), Paint::Strong),
            words::condition_in_short(app),
            words::health(app.health),
            revision.into(),
            Painted::new(drifts, drift),
            note.into(),
        ]);
    }
    table
}
