//! Logs the entries that were recorded in the ledger: decisions, drift and orders.
//!
//! The ledger records every step; the log has one line for a decision. Steps are logged with their
//! results by `changes`, and notifications when they are sent.

use setpoint_core::key::Key;
use setpoint_ledger::{Entry, Kind};
use tracing::{debug, info, warn};

use crate::log::Log;

/// The states that have no other line, and that readers of the log search for. Notifications report
/// holds and rollbacks, with their reasons.
const PUBLIC_STATES: [&str; 3] = ["converged", "suspension ended", "forgotten"];

/// The lines of the entries of one batch.
pub(super) struct Lines(Vec<Line>);

enum Line {
    Accepted { app: String, revision: String, resources: u64 },
    Refused { app: String, revision: String },
    Planned { app: String, steps: u64, deletes: u64 },
    Drift { app: String, objects: u64, keys: String },
    DriftEnded { app: String, objects: u64, keys: String },
    Attributed { app: String, objects: u64 },
    Access { what: String, by: String, via: String, reason: String },
    Ordered { app: String, order: String, by: String, reason: String },
    State { app: String, what: String },
    Settled { object: String, outcome: String, why: Option<String> },
}

impl Lines {
    pub(super) fn of(entries: &[Entry]) -> Self {
        Self(entries.iter().filter_map(line).collect())
    }

    /// Logs the lines, once the entries are recorded.
    pub(super) fn log(self, log: &Log) {
        log.with(|| self.0.into_iter().for_each(Line::log));
    }
}

fn line(entry: &Entry) -> Option<Line> {
    let text = |name: &str| entry.data.get(name).and_then(|value| value.as_str()).map(str::to_owned);
    let texts = |name: &str| text(name).unwrap_or_default();
    let number = |name: &str| entry.data.get(name).and_then(serde_json::Value::as_u64).unwrap_or_default();
    // Keys are one a line in the ledger.
    let shown = |key: &str| key.parse().map_or_else(|_| key.to_owned(), |key: Key| key.to_string());
    let keys = || texts("keys").lines().map(shown).collect::<Vec<_>>().join(", ");
    let app = entry.subject.clone();
    Some(match entry.kind {
        Kind::VersionAccepted => Line::Accepted { app, revision: texts("revision"), resources: number("resources") },
        Kind::VersionRefused => Line::Refused { app, revision: texts("revision") },
        Kind::Plan => Line::Planned { app, steps: number("steps"), deletes: number("deletes") },
        Kind::DriftObserved => Line::Drift { app, objects: number("count"), keys: keys() },
        Kind::DriftOver => Line::DriftEnded { app, objects: number("count"), keys: keys() },
        Kind::DriftAttributed => Line::Attributed { app, objects: number("count") },
        Kind::Approval | Kind::Override => {
            Line::Ordered { app, order: texts("order"), by: entry.actor.to_string(), reason: texts("reason") }
        }
        Kind::AccessChanged => Line::Access {
            what: texts("what"),
            by: entry.actor.to_string(),
            via: texts("via"),
            reason: texts("reason"),
        },
        Kind::AppState | Kind::GateDecision | Kind::ConfigChanged => Line::State { app, what: text("what")? },
        // The results of a batch are logged when they arrive; only an outcome that was found out
        // later has no other line.
        Kind::EffectResult if texts("outcome").starts_with("found") => {
            Line::Settled { object: app, outcome: texts("outcome"), why: text("why") }
        }
        _ => return None,
    })
}

impl Line {
    fn log(self) {
        match self {
            Self::Accepted { app, revision, resources } => info!(app, revision, resources, "version accepted"),
            // People are notified of it, with the reason: that line is a warning.
            Self::Refused { app, revision } => debug!(app, revision, "version refused"),
            Self::Planned { app, steps, deletes } => info!(app, steps, deletes, "changes planned"),
            Self::Drift { app, objects, keys } => warn!(app, objects, keys, "drift observed"),
            Self::DriftEnded { app, objects, keys } => {
                info!(app, objects, keys, "drift ended without our change");
            }
            Self::Attributed { app, objects } => info!(app, objects, "author of drift found"),
            Self::Access { what, by, via, reason } => info!(by, via, what, reason, "access changed"),
            Self::Ordered { app, order, by, reason } => info!(app, order, by, reason, "order recorded"),
            Self::State { app, what } if PUBLIC_STATES.contains(&what.as_str()) => info!(app, "{what}"),
            Self::State { app, what } => debug!(app, what, "state recorded"),
            Self::Settled { object, outcome, why } => {
                info!(object, outcome, reason = why, "outcome of an earlier change found");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use setpoint_core::name::{Actor, Scope};
    use setpoint_core::time::Timestamp;

    use super::*;
    use crate::log::CollectedLines;

    fn logged(entries: &[Entry]) -> Vec<String> {
        let lines = CollectedLines::default();
        Lines::of(entries).log(&Log::collecting(&lines));
        lines.all()
    }

    fn entry(kind: Kind, subject: &str) -> Entry {
        Entry::new(kind, Scope::default_scope(), subject, Actor::new("erika").unwrap(), Timestamp::default())
    }

    #[test]
    fn decisions_drift_and_orders_have_one_line_each() {
        let lines = logged(&[
            entry(Kind::VersionAccepted, "web/shop").with_data("revision", "main@3f2a").with_data("resources", 3),
            entry(Kind::Plan, "web/shop").with_data("steps", 10_000).with_data("deletes", 2),
            entry(Kind::DriftObserved, "web/shop").with_data("count", 2).with_data("keys", "file::/a\nfile::/b"),
            entry(Kind::Override, "web/shop").with_data("order", "hold").with_data("reason", "we\nlook"),
            entry(Kind::AppState, "web/shop").with_data("what", "converged"),
        ]);
        assert_eq!(
            lines,
            [
                "INFO  version accepted app=web/shop revision=main@3f2a resources=3",
                "INFO  changes planned app=web/shop steps=10000 deletes=2",
                "WARN  drift observed app=web/shop objects=2 keys=\"file /a, file /b\"",
                "INFO  order recorded app=web/shop order=hold by=erika reason=\"we\\nlook\"",
                "INFO  converged app=web/shop",
            ]
        );
    }

    #[test]
    fn intents_and_results_of_single_steps_have_no_line() {
        let steps: Vec<Entry> = (0..100)
            .flat_map(|number| {
                let subject = format!("web/shop File /{number}");
                [entry(Kind::Intent, &subject), entry(Kind::EffectResult, &subject).with_data("outcome", "done")]
            })
            .collect();
        assert_eq!(logged(&steps), [] as [&str; 0]);
        let found = entry(Kind::EffectResult, "web/shop File /a").with_data("outcome", "found done");
        assert_eq!(
            logged(&[found]),
            ["INFO  outcome of an earlier change found object=\"web/shop File /a\" outcome=\"found done\""]
        );
    }
}
