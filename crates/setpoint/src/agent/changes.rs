//! The history as people read it: one row for each change, from the records of the ledger.
//!
//! An intent, its result and the outcome found later are one change. Plans, and records that only
//! serve the engine, have no row; `setpoint history --records` shows them.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use setpoint_api::answer::{HistoryChange, HistoryRecord};
use setpoint_api::question::HistoryQuestion;
use setpoint_core::decide::Drift;
use setpoint_core::facts::Change;
use setpoint_core::intent::{IntentEnd, IntentId};
use setpoint_core::key::Key;
use setpoint_core::live::Writer;
use setpoint_core::name::AppId;
use setpoint_ledger::record::Record;
use setpoint_ledger::{Kind, Ledger, LedgerError, Origin};

use super::history::{PAGE, bodies, is_about, recorded, text_of, walk_back, writers};
use super::rights::View;

/// The number of records that are searched for the other records of a change, beyond those that
/// were requested.
const REACH: u64 = 2_000;

/// The number of fields that the row of a drift names.
const FIELDS: usize = 4;

/// Returns changes, newest first.
pub(super) async fn changes(
    ledger: &dyn Ledger,
    origin: &Origin,
    question: &HistoryQuestion,
    view: &View,
) -> Result<Vec<HistoryChange>, LedgerError> {
    let mut rows = Rows::new(question, view);
    // The result of a change may be on the page before, and then the change has its row there.
    let from = question.before.map(|before| before.saturating_add(REACH));
    walk_back(ledger, origin, from, PAGE, |record| rows.read(&record)).await?;
    for (index, attributed) in std::mem::take(&mut rows.drifts) {
        let Some(row) = rows.rows.get_mut(index) else { continue };
        let mut drifts = bodies(ledger, origin, row.seq).await?;
        for (key, proven) in writers(ledger, origin, &attributed).await? {
            drifts.entry(key).or_default().iter_mut().for_each(|drift| drift.writer = proven.clone());
        }
        row.records.extend(attributed);
        describe_drift(&drifts, row);
    }
    for row in &mut rows.rows {
        [&mut row.text, &mut row.result].into_iter().chain(&mut row.cause).for_each(|text| view.redact(text));
    }
    Ok(rows.rows)
}

/// The rows read so far, backwards.
struct Rows<'a> {
    question: &'a HistoryQuestion,
    view: &'a View,
    rows: Vec<HistoryChange>,
    /// Results whose intents are still to be read, by subject: at most one intent is open for each
    /// object. `None` if the row of the result is on another page.
    results: BTreeMap<String, Option<usize>>,
    /// The ends of intents whose result is no record of its own: a person recorded it.
    ended: BTreeMap<IntentId, IntentEnd>,
    /// The records that attribute a drift, by app and name of the drift.
    attributed: BTreeMap<(String, String), Vec<u64>>,
    /// The rows of drift, with the records that attribute it.
    drifts: Vec<(usize, Vec<u64>)>,
    /// The number of records read after the last row.
    beyond: u64,
}

impl<'a> Rows<'a> {
    fn new(question: &'a HistoryQuestion, view: &'a View) -> Self {
        let (rows, results, ended) = (Vec::new(), BTreeMap::new(), BTreeMap::new());
        Self { question, view, rows, results, ended, attributed: BTreeMap::new(), drifts: Vec::new(), beyond: 0 }
    }

    fn read(&mut self, record: &Record) -> ControlFlow<()> {
        let is_asked = self.question.app.as_ref().is_none_or(|app| is_about(record, app));
        if is_asked && self.view.sees_record(record) {
            self.take(record);
        }
        if self.rows.len() < self.question.limit {
            return ControlFlow::Continue(());
        }
        self.beyond += 1;
        let is_whole = self.results.values().all(Option::is_none);
        if is_whole || self.beyond > REACH { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn take(&mut self, record: &Record) {
        for change in &record.changes {
            if let Change::CloseIntent { intent, end } = change {
                self.ended.insert(*intent, end.clone());
            }
        }
        match record.kind {
            Kind::EffectResult => self.take_result(record),
            Kind::Intent => self.take_intent(record),
            Kind::DriftAttributed => {
                let of = (record.subject.clone(), text_of(record, "of"));
                self.attributed.entry(of).or_default().push(record.seq);
            }
            Kind::DriftObserved => {
                let attributed = self.attributed.remove(&(record.subject.clone(), text_of(record, "drift")));
                if let Some(index) = self.push(row_of(record)) {
                    self.drifts.push((index, attributed.unwrap_or_default()));
                }
            }
            _ => drop(self.push(row_of(record))),
        }
    }

    /// Adds a row, and returns its place, if it belongs to the page.
    fn push(&mut self, row: Option<HistoryChange>) -> Option<usize> {
        let is_older = |row: &HistoryChange| self.question.before.is_none_or(|before| row.seq < before);
        let row = row.filter(|row| is_older(row) && self.rows.len() < self.question.limit)?;
        self.rows.push(row);
        Some(self.rows.len() - 1)
    }

    fn take_result(&mut self, record: &Record) {
        // An outcome that was found later has the row, and the first result belongs to it.
        if let Some(known) = self.results.get(&record.subject).copied() {
            self.add_record(known, record);
            if let Some(row) = known.and_then(|index| self.rows.get_mut(index)) {
                let first = with_reason(&text_of(record, "outcome"), &text_of(record, "why"));
                row.result.push_str(&format!("; at first {first}"));
            }
            return;
        }
        let index = self.push(row_of(record));
        self.results.insert(record.subject.clone(), index);
    }

    fn take_intent(&mut self, record: &Record) {
        let index = match self.results.remove(&record.subject) {
            Some(known) => {
                self.add_record(known, record);
                known
            }
            None => self.push(row_of(record)),
        };
        let end = self.end_of(record);
        let Some(row) = index.and_then(|index| self.rows.get_mut(index)) else { return };
        row.what = text_of(record, "verb");
        row.cause = Some(text_of(record, "cause"));
        if row.seq == record.seq {
            row.result = end;
        }
        let details = record.data.iter().filter(|(name, _)| !["verb", "cause"].contains(&name.as_str()));
        for (name, value) in details {
            row.result.push_str(&format!("; {name}: {}", plain(value)));
        }
    }

    fn add_record(&mut self, index: Option<usize>, record: &Record) {
        if let Some(row) = index.and_then(|index| self.rows.get_mut(index)) {
            row.records.push(record.seq);
        }
    }

    /// Returns the end of an intent without a result of its own.
    fn end_of(&self, record: &Record) -> String {
        let opened = record.changes.iter().find_map(|change| match change {
            Change::OpenIntent { intent } => Some(intent.id),
            _ => None,
        });
        match opened.and_then(|intent| self.ended.get(&intent)) {
            Some(IntentEnd::Done) => "done".to_owned(),
            Some(IntentEnd::NotDone { why }) => format!("not done: {why}"),
            Some(IntentEnd::Superseded { why }) => format!("overwritten: {why}"),
            None => "no result yet".to_owned(),
        }
    }
}

/// Returns the row of a record; `None` if it only serves the engine.
fn row_of(record: &Record) -> Option<HistoryChange> {
    let text = |name: &str| text_of(record, name);
    let (what, object, result) = match record.kind {
        Kind::Plan => return None,
        Kind::Intent => (text("verb"), object_of(record), String::new()),
        Kind::EffectResult => ("change".to_owned(), object_of(record), with_reason(&text("outcome"), &text("why"))),
        Kind::VersionAccepted => {
            let resources = record.data.get("resources").and_then(serde_json::Value::as_u64).unwrap_or_default();
            let resources = if resources == 1 { "1 resource".to_owned() } else { format!("{resources} resources") };
            ("accept".to_owned(), text("revision"), format!("{resources}, bundle {}", text("bundle")))
        }
        Kind::VersionRefused => ("refuse".to_owned(), text("revision"), text("problem")),
        Kind::DriftObserved => ("drift".to_owned(), drifted(record), "observed".to_owned()),
        Kind::DriftOver => ("drift over".to_owned(), drifted(record), "it is as declared again".to_owned()),
        Kind::ConfigChanged => ("configure".to_owned(), String::new(), "its document changed".to_owned()),
        Kind::NotifySent => ("notify".to_owned(), object_of(record), text("kind")),
        Kind::AccessChanged => ("access".to_owned(), object_of(record), text("what")),
        Kind::Approval | Kind::Override if record.data.contains_key("order") => {
            let skipped = Some(text("skipped")).filter(|skipped| !skipped.is_empty());
            (text("order"), String::new(), skipped.map_or(String::new(), |skipped| format!("skipped: {skipped}")))
        }
        Kind::AppState | Kind::GateDecision => state_of(record)?,
        _ => {
            let HistoryRecord { kind, text, .. } = recorded(record);
            (kind, object_of(record), text)
        }
    };
    let cause = Some(text("reason")).filter(|reason| !reason.is_empty());
    Some(row(record, (what, object, result), cause))
}

fn row(record: &Record, (what, object, result): (String, String, String), cause: Option<String>) -> HistoryChange {
    let HistoryRecord { seq, at, kind, subject, actor, text } = recorded(record);
    let app = app_of(record);
    HistoryChange { seq, at, kind, subject, actor, text, app, what, object, result, cause, records: vec![seq] }
}

/// Returns what happened to the state of an app; `None` for bookkeeping.
fn state_of(record: &Record) -> Option<(String, String, String)> {
    let what = text_of(record, "what");
    let told = |what: &str, result: String| Some((what.to_owned(), String::new(), result));
    match what.as_str() {
        "deletes intended" => None,
        "claims follow what was seen" => {
            let claimed = record.changes.iter().filter(|change| matches!(change, Change::PutClaim { .. })).count();
            let dropped = record.changes.iter().filter(|change| matches!(change, Change::DropClaim { .. })).count();
            told("claim", format!("{claimed} objects claimed, {dropped} released"))
        }
        "suspension ended" => told("resume", format!("the suspension ended; skipped: {}", text_of(record, "skipped"))),
        "forgotten" => told("forget", "nothing of it is left".to_owned()),
        "" if record.changes.iter().any(|change| matches!(change, Change::Installed { .. })) => {
            told("install", "the ledger is new".to_owned())
        }
        held if held.starts_with("held: ") => told("hold", held["held: ".len()..].to_owned()),
        other => told(other, String::new()),
    }
}

/// Returns the app that a record is about.
fn app_of(record: &Record) -> Option<AppId> {
    record.subject.split(' ').next().and_then(|app| app.parse().ok())
}

/// Returns the subject without its app.
fn object_of(record: &Record) -> String {
    match app_of(record) {
        Some(app) => record.subject[app.to_string().len()..].trim_start().to_owned(),
        None => record.subject.clone(),
    }
}

/// Returns the one drifted object, or the number of them.
fn drifted(record: &Record) -> String {
    let keys = text_of(record, "keys");
    let keys: Vec<Key> = keys.lines().filter_map(|key| key.parse().ok()).collect();
    let count = record.data.get("count").and_then(serde_json::Value::as_u64).unwrap_or(keys.len() as u64);
    match keys.as_slice() {
        [key] if count == 1 => key.to_string(),
        _ => format!("{count} objects"),
    }
}

/// Describes a drift by its fields and its writer, as far as the body of its record has them.
fn describe_drift(drifts: &BTreeMap<Key, Vec<Drift>>, row: &mut HistoryChange) {
    let drifts = || drifts.values().flatten();
    let writers: BTreeSet<&str> = drifts().map(|drift| drift.writer.name()).collect();
    row.cause = match (writers.len(), drifts().next().map(|drift| &drift.writer)) {
        (_, None) => None,
        (1, Some(Writer::Unknown)) => Some("unknown writer".to_owned()),
        (1, Some(Writer::Likely { who })) => Some(format!("likely {who}")),
        (1, Some(writer @ Writer::Proven(_))) => Some(writer.name().to_owned()),
        (many, Some(_)) => Some(format!("{many} writers")),
    };
    let gone = drifts().flat_map(|drift| &drift.differences).any(|it| it.path.0.is_empty() && it.after.is_none());
    let changed = drifts().flat_map(|drift| &drift.differences).filter(|it| !it.path.0.is_empty());
    let added = drifts().flat_map(|drift| &drift.beside).map(ToString::to_string);
    let fields: BTreeSet<String> = changed.map(|difference| difference.path.to_string()).chain(added).collect();
    let named = fields.iter().take(FIELDS).cloned().collect::<Vec<_>>().join(", ");
    row.result = match (gone, fields.len()) {
        (true, 0) => "gone".to_owned(),
        (false, 0) => "observed".to_owned(),
        (_, some) if some > FIELDS => format!("{named} and {} more", some - FIELDS),
        _ => named,
    };
}

fn with_reason(outcome: &str, why: &str) -> String {
    if why.is_empty() { outcome.to_owned() } else { format!("{outcome}: {why}") }
}

fn plain(value: &serde_json::Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned)
}
