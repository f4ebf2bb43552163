//! The page of targets: connections, requests by verb, breakers, and the apps that wait.

use askama::Template;
use setpoint_api::answer::{Overview, TargetStanding, UnreachedTarget};

use super::chrome::Chrome;
use super::marks::Mark;
use super::{address, rendered, words};

/// The most waiting apps that are named.
const NAMED: usize = 10;

/// The targets as the page shows them.
#[derive(Clone, Debug, Default)]
pub struct TargetsView {
    pub targets: Vec<TargetStanding>,
    pub unreached: Vec<UnreachedTarget>,
}

impl TargetsView {
    pub fn of(overview: &Overview) -> Self {
        Self { targets: overview.targets.clone(), unreached: overview.unreached.clone() }
    }
}

struct Card {
    name: String,
    kind: String,
    identity: String,
    mark: Mark,
    apps: String,
    /// The list of its apps.
    path: String,
    /// Explanations of the state.
    problems: Vec<String>,
    requests: Vec<Request>,
    total: String,
    waiting: Vec<(String, String)>,
    more_waiting: usize,
}

struct Request {
    verb: String,
    count: String,
    percent: u64,
}

#[derive(Template)]
#[template(path = "targets.html")]
struct Page<'a> {
    chrome: &'a Chrome,
    cards: Vec<Card>,
    summary: String,
}

/// Renders the page of targets.
pub fn page(chrome: &Chrome, view: &TargetsView) -> String {
    let mut connected: Vec<&TargetStanding> = view.targets.iter().collect();
    // Stable: failing targets come first, then degraded ones.
    connected.sort_by_key(|target| (target.left_alone_until.is_none(), target.degraded.is_none()));
    let cards: Vec<Card> =
        view.unreached.iter().map(unreached).chain(connected.into_iter().map(|target| card(target, chrome))).collect();
    let all = words::counted(cards.len(), "target");
    let troubled = cards.iter().filter(|card| !card.problems.is_empty()).count();
    let summary = match troubled {
        0 => format!("{all}, connected."),
        1 => format!("{all}, 1 needs attention."),
        some => format!("{all}, {some} need attention."),
    };
    rendered(&Page { chrome, cards, summary })
}

fn card(target: &TargetStanding, chrome: &Chrome) -> Card {
    let mark = match target {
        TargetStanding { left_alone_until: Some(_), .. } => Mark::bad("breaker open"),
        TargetStanding { degraded: Some(_), .. } => Mark::warn("degraded"),
        _ => Mark::good("connected"),
    };
    let counts = words::by_frequency(&target.requests);
    let most = counts.first().map_or(1, |(_, count)| *count).max(1);
    let request = |(verb, count): &(&str, u64)| Request {
        verb: (*verb).to_owned(),
        count: thousands(*count),
        percent: (count * 100 / most).max(1),
    };
    let failing = target.left_alone_until.map(|until| words::left_alone(until, chrome.now));
    let degraded = target.degraded.as_ref().map(|why| words::sentence(why));
    Card {
        name: target.target.to_string(),
        kind: target.kind.clone(),
        identity: target.identity.to_string(),
        mark,
        apps: words::counted(target.apps, "app"),
        path: format!("/apps{}", address::query([("target", target.target.as_str())])),
        problems: failing.into_iter().chain(degraded).collect(),
        requests: counts.iter().map(request).collect(),
        total: thousands(counts.iter().map(|(_, count)| count).sum()),
        waiting: Vec::new(),
        more_waiting: 0,
    }
}

fn unreached(target: &UnreachedTarget) -> Card {
    let waiting = target.waiting.iter().take(NAMED).map(|app| (app.to_string(), address::app(app))).collect();
    Card {
        name: target.target.to_string(),
        kind: target.kind.clone(),
        identity: String::new(),
        mark: Mark::bad("unreachable"),
        apps: words::counted(target.waiting.len(), "app"),
        path: format!("/apps{}", address::query([("target", target.target.as_str())])),
        problems: vec![words::sentence(&target.problem)],
        requests: Vec::new(),
        total: String::new(),
        waiting,
        more_waiting: target.waiting.len().saturating_sub(NAMED),
    }
}

fn thousands(count: u64) -> String {
    usize::try_from(count).map_or_else(|_| count.to_string(), words::number)
}
