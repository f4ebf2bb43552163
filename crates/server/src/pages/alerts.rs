//! Alerts about the agent as a whole: the ledger, stores and targets that stop apps from changing.

use setpoint_api::answer::Overview;

use super::marks::Mark;
use super::words;

/// A message above the list of apps, with a link to the page that explains it.
#[derive(Clone, Debug)]
pub struct Alert {
    pub(super) mark: Mark,
    pub(super) text: String,
    /// The path of the page that explains it, without the base path.
    pub(super) path: &'static str,
}

impl Alert {
    fn bad(title: String, text: String, path: &'static str) -> Self {
        Self { mark: Mark::bad(title), text, path }
    }

    fn warn(title: String, text: String, path: &'static str) -> Self {
        Self { mark: Mark::warn(title), text, path }
    }
}

/// Returns the alerts of an overview, worst first.
pub fn of(overview: &Overview) -> Vec<Alert> {
    let mut alerts = Vec::new();
    if let Some(trouble) = &overview.ledger.trouble {
        alerts.push(Alert::bad("Ledger".to_owned(), words::sentence(trouble), "/audit"));
    } else if !overview.ledger.holding {
        let text = "This agent does not hold the ledger, and changes nothing until it does.";
        alerts.push(Alert::warn("Ledger".to_owned(), text.to_owned(), "/audit"));
    } else if let Some(anchor) = &overview.ledger.anchor {
        alerts.push(Alert::warn("Ledger".to_owned(), words::sentence(anchor), "/audit"));
    }
    for target in &overview.unreached {
        let waits = match target.waiting.len() {
            0 => String::new(),
            1 => " 1 app waits for it.".to_owned(),
            many => format!(" {} wait for it.", words::counted(many, "app")),
        };
        let text = format!("{}{waits}", words::sentence(&target.problem));
        alerts.push(Alert::bad(format!("Target {} unreachable", target.target), text, "/targets"));
    }
    for target in overview.targets.iter().filter(|target| target.left_alone_until.is_some()) {
        let text = "At least half of the requests failed, so Setpoint pauses there.";
        alerts.push(Alert::bad(format!("Target {} fails", target.target), text.to_owned(), "/targets"));
    }
    for store in overview.stores.iter().filter(|store| store.stale || store.failures > 0) {
        let text = store.problem.as_deref().unwrap_or("it has not responded for too long");
        let title = if store.stale { "stale" } else { "fails" };
        alerts.push(Alert::warn(format!("Store {} {title}", store.store), words::sentence(text), "/stores"));
    }
    alerts
}
