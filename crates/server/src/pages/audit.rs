//! The audit page: the records of the ledger as they are.

use askama::Template;
use setpoint_api::answer::HistoryRecord;

use super::chrome::Chrome;
use super::moment::Moment;
use super::{address, rendered};

/// The records of the ledger as one page shows them.
#[derive(Clone, Debug, Default)]
pub struct AuditView {
    /// Newest first.
    pub records: Vec<HistoryRecord>,
    /// The words of the search; empty for all records.
    pub text: String,
    /// The kind of records; empty for all.
    pub kind: String,
    /// The kinds to choose from.
    pub kinds: Vec<String>,
    /// The page is not the newest one.
    pub is_older: bool,
    /// There are records before the last one.
    pub has_more: bool,
}

struct RecordRow {
    seq: u64,
    at: Moment,
    kind: String,
    subject: String,
    actor: String,
    by_person: bool,
    text: String,
}

#[derive(Template)]
#[template(path = "audit.html")]
struct Page<'a> {
    chrome: &'a Chrome,
    view: &'a AuditView,
    rows: Vec<RecordRow>,
    older: Option<String>,
}

/// Renders the audit page.
pub fn page(chrome: &Chrome, view: &AuditView) -> String {
    let row = |record: &HistoryRecord| RecordRow {
        seq: record.seq,
        at: Moment::new(record.at, chrome.now),
        kind: record.kind.clone(),
        subject: record.subject.clone(),
        actor: record.actor.clone(),
        by_person: record.actor != "setpoint",
        text: record.text.clone(),
    };
    let older = view.records.last().filter(|_| view.has_more).map(|last| {
        let before = last.seq.to_string();
        let query = [("q", view.text.as_str()), ("kind", &view.kind), ("before", &before)];
        format!("/audit{}", address::query(query))
    });
    rendered(&Page { chrome, view, rows: view.records.iter().map(row).collect(), older })
}
