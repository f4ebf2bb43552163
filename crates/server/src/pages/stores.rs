//! The page of stores: how fresh each one is, and why.

use askama::Template;
use setpoint_api::answer::StoreStanding;

use super::chrome::Chrome;
use super::marks::Mark;
use super::moment::Moment;
use super::{rendered, words};

/// The stores as the page shows them.
#[derive(Clone, Debug, Default)]
pub struct StoresView {
    pub stores: Vec<StoreStanding>,
}

struct StoreRow {
    name: String,
    mark: Mark,
    head: String,
    full: String,
    answered: Option<Moment>,
    failures: u32,
    problem: String,
}

#[derive(Template)]
#[template(path = "stores.html")]
struct Page<'a> {
    chrome: &'a Chrome,
    rows: Vec<StoreRow>,
    summary: String,
}

/// Renders the page of stores.
pub fn page(chrome: &Chrome, view: &StoresView) -> String {
    let mut stores: Vec<&StoreStanding> = view.stores.iter().collect();
    // Stable: stores with problems come first.
    stores.sort_by_key(|store| (!store.stale, store.failures == 0));
    let troubled = stores.iter().filter(|store| store.stale || store.failures > 0).count();
    let all = words::counted(stores.len(), "store");
    let summary = match troubled {
        0 if stores.len() == 1 => "1 store, which responds.".to_owned(),
        0 => format!("{all}, all of which respond."),
        1 => format!("{all}, 1 does not respond."),
        some => format!("{all}, {some} do not respond."),
    };
    rendered(&Page { chrome, rows: stores.into_iter().map(|store| row(store, chrome)).collect(), summary })
}

fn row(store: &StoreStanding, chrome: &Chrome) -> StoreRow {
    let mark = match (store.stale, store.failures) {
        (true, _) => Mark::bad("stale"),
        (false, 0) => Mark::good("fresh"),
        (false, _) => Mark::warn("failing"),
    };
    StoreRow {
        name: store.store.to_string(),
        mark,
        head: store.head.as_ref().map_or_else(String::new, |head| words::short(head).to_owned()),
        full: store.head.as_ref().map_or_else(String::new, ToString::to_string),
        answered: store.answered.map(|at| Moment::new(at, chrome.now)),
        failures: store.failures,
        problem: store.problem.clone().unwrap_or_default(),
    }
}
