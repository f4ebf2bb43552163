//! The metrics of a moment: what the engine has counted, and what can be read from the present
//! state.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use setpoint_api::answer::{AppState, AppSummary};
use setpoint_api::{Caller, Problem, ProblemKind, Verb};
use setpoint_core::name::AppId;
use setpoint_core::time::{Span, Timestamp};
use setpoint_documents::Mode;
use setpoint_engine::accept::ControlDocuments;
use setpoint_ledger::Ledger;
use setpoint_ledger::record::Record;

use super::answers::{Answers, ended};
use crate::doors::ProcessUsage;
use crate::metrics::Meters;
use crate::metrics::exposition::{AppCounts, LogSize, Snapshot, text};

/// The meters, and what readers of the metrics remember from one reading to the next.
#[derive(Debug)]
pub(super) struct Measured {
    meters: Arc<Meters>,
    unconverged: Mutex<Unconverged>,
}

impl Measured {
    pub(super) fn new(meters: Arc<Meters>) -> Self {
        Self { meters, unconverged: Mutex::default() }
    }
}

/// Since when apps are not converged, as far as the metrics were read.
#[derive(Debug, Default)]
struct Unconverged {
    since: BTreeMap<AppId, Timestamp>,
    last_read: Timestamp,
}

impl Unconverged {
    /// Notes the apps that are not converged now. Returns the longest time. An app whose version
    /// was accepted after the last reading counts from its acceptance.
    fn note<'a>(&mut self, apps: impl IntoIterator<Item = &'a AppSummary>, now: Timestamp) -> Span {
        let earlier = std::mem::take(&mut self.since);
        for app in apps {
            let accepted = app.accepted.as_ref().map(|accepted| accepted.at).filter(|at| *at > self.last_read);
            let since = earlier.get(&app.app).copied().or(accepted).unwrap_or(now);
            self.since.insert(app.app.clone(), since);
        }
        self.last_read = now;
        self.since.values().map(|since| now.since(*since)).max().unwrap_or(Span::ZERO)
    }
}

/// Reports whether an app should converge by itself and has not. An app that a person has stopped,
/// or that has another mode than `auto`, may differ from its declaration for as long as people want.
fn is_overdue(app: &AppSummary, documents: &ControlDocuments) -> bool {
    let fails = matches!(
        app.state,
        AppState::Progressing | AppState::OutOfSync | AppState::Degraded | AppState::Waiting | AppState::Unknown
    );
    fails && documents.apps().get(&app.app).is_none_or(|document| document.spec.sync.mode == Mode::Auto)
}

impl Answers {
    pub(super) async fn metrics_for(&self, caller: &Caller) -> Result<String, Problem> {
        Self::permit_everywhere(caller, Verb::See)?;
        let fleet = self.fleet_of(&self.view(caller)).await?;
        let (documents, now) = (self.provider.documents(), fleet.overview.now);
        let mut apps = AppCounts::of(fleet.apps.iter().map(|app| &**app));
        let overdue = fleet.apps.iter().map(|app| &**app).filter(|app| is_overdue(app, &documents));
        apps.oldest_unconverged =
            self.measured.unconverged.lock().unwrap_or_else(PoisonError::into_inner).note(overdue, now);
        let snapshot = Snapshot {
            meters: Arc::clone(&self.measured.meters),
            overview: fleet.overview,
            apps,
            queued: self.handle.queued().await.map_err(ended)?,
            log: self.log_size(now).await,
            feed_readers: self.feed.readers(),
            usage: ProcessUsage::read(),
            started: self.clock.start_time(),
        };
        text(snapshot).map_err(|error| Problem::new(ProblemKind::Unavailable, format!("cannot write metrics: {error}")))
    }

    /// Returns the size of the ledger; `None` if it cannot be read now, which other metrics report.
    async fn log_size(&self, now: Timestamp) -> Option<LogSize> {
        let ledger = self.open_now.borrow().clone()?;
        let head = ledger.head(&self.origin).await.ok()?;
        let unanchored = match head.anchored {
            Some(anchored) => Some((head.size.saturating_sub(anchored), self.age_of(&*ledger, anchored, now).await)),
            None => None,
        };
        Some(LogSize { records: head.size, unsigned: head.size.saturating_sub(head.checkpointed), unanchored })
    }

    /// Returns the age of a record; none for a record that does not exist yet.
    async fn age_of(&self, ledger: &dyn Ledger, seq: u64, now: Timestamp) -> Span {
        let record = ledger.records(&self.origin, seq..seq + 1).await.ok();
        let record = record.and_then(|records| Record::from_bytes(records.first()?).ok());
        record.map_or(Span::ZERO, |record| now.since(record.time))
    }
}

#[cfg(test)]
mod tests {
    use setpoint_api::canned::CannedAgent;

    use super::*;

    fn app(name: &str) -> AppSummary {
        let app = CannedAgent::example().overview.apps[0].clone();
        AppSummary { app: name.parse().expect("a valid app"), accepted: None, ..app }
    }

    #[test]
    fn an_app_counts_from_the_reading_that_first_found_it_unconverged() {
        let at = |seconds| Timestamp::default() + Span::seconds(seconds);
        let mut unconverged = Unconverged::default();
        assert_eq!(unconverged.note([&app("a/one")], at(100)), Span::ZERO);
        assert_eq!(unconverged.note([&app("a/one"), &app("a/two")], at(130)), Span::seconds(30));
        assert_eq!(unconverged.note([&app("a/two")], at(150)), Span::seconds(20), "the first has converged");
        let mut accepted = CannedAgent::example().overview.apps[0].accepted.clone().expect("it is accepted");
        accepted.at = at(155);
        let new = AppSummary { accepted: Some(accepted), ..app("a/new") };
        assert_eq!(unconverged.note([&new], at(160)), Span::seconds(5), "it counts from its acceptance");
    }
}
