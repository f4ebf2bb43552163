//! Reads the ledger backwards: its records, and the time at which each drift was corrected.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use setpoint_api::answer::{DriftRecord, HistoryRecord};
use setpoint_api::question::{DriftQuestion, HistoryQuestion};
use setpoint_core::canonical;
use setpoint_core::decide::{Drift, Over};
use setpoint_core::key::Key;
use setpoint_core::live::Writer;
use setpoint_core::modes::Cause;
use setpoint_core::name::AppId;
use setpoint_core::time::Timestamp;
use setpoint_ledger::record::Record;
use setpoint_ledger::{Body, Kind, Ledger, LedgerError, Origin};

use super::rights::View;

/// The number of records that are read at once.
pub(super) const PAGE: u64 = 500;
/// The largest number of records that one request reads.
const FARTHEST: u64 = 200_000;

/// Reads records backwards from `before` until `see` breaks, one page at a time.
pub(super) async fn walk_back(
    ledger: &dyn Ledger,
    origin: &Origin,
    before: Option<u64>,
    page: u64,
    mut see: impl FnMut(Record) -> ControlFlow<()>,
) -> Result<(), LedgerError> {
    let size = ledger.head(origin).await?.size;
    let mut end = before.unwrap_or(size).min(size);
    let stop = end.saturating_sub(FARTHEST);
    while end > stop {
        let start = end.saturating_sub(page);
        let records = ledger.records(origin, start..end).await?;
        for bytes in records.iter().rev() {
            if see(Record::from_bytes(bytes)?).is_break() {
                return Ok(());
            }
        }
        end = start;
    }
    Ok(())
}

/// Returns records, newest first.
pub(super) async fn history(
    ledger: &dyn Ledger,
    origin: &Origin,
    question: &HistoryQuestion,
    view: &View,
) -> Result<Vec<HistoryRecord>, LedgerError> {
    let mut found = Vec::new();
    // If all records match, no more are read than are returned.
    let page = match question.app {
        None if view.sees_all() => (question.limit as u64).clamp(1, PAGE),
        _ => PAGE,
    };
    walk_back(ledger, origin, question.before, page, |record| {
        let is_asked = question.app.as_ref().is_none_or(|app| is_about(&record, app)) && view.sees_record(&record);
        if is_asked && found.len() < question.limit {
            let mut record = recorded(&record);
            view.redact(&mut record.text);
            found.push(record);
        }
        if found.len() < question.limit { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })
    .await?;
    Ok(found)
}

pub(super) fn is_about(record: &Record, app: &AppId) -> bool {
    let subject = record.subject.strip_prefix(&app.to_string());
    subject.is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
}

/// Returns a record as people and programs read it.
pub(super) fn recorded(record: &Record) -> HistoryRecord {
    let shown = |(name, value): (&String, &serde_json::Value)| match value {
        serde_json::Value::String(text) => format!("{name}: {text}"),
        other => format!("{name}: {other}"),
    };
    HistoryRecord {
        seq: record.seq,
        at: record.time,
        kind: serde_json::to_value(record.kind)
            .ok()
            .and_then(|kind| kind.as_str().map(str::to_owned))
            .unwrap_or_default(),
        subject: record.subject.clone(),
        actor: record.actor.to_string(),
        text: record.data.iter().map(shown).collect::<Vec<_>>().join(", "),
    }
}

/// A record of drift, or of the end of some drift.
enum Seen {
    Drift(Observed),
    Over { seq: u64, at: Timestamp, app: AppId },
}

/// A record of drift.
struct Observed {
    seq: u64,
    at: Timestamp,
    app: AppId,
    /// The drifted objects, with the time of the next change by Setpoint.
    keys: BTreeMap<Key, Option<Timestamp>>,
    /// The records that attribute it to a writer.
    attributed: Vec<u64>,
}

/// Returns recorded drift, newest first.
pub(super) async fn drift(
    ledger: &dyn Ledger,
    origin: &Origin,
    question: &DriftQuestion,
    view: &View,
) -> Result<Vec<DriftRecord>, LedgerError> {
    let mut found = Vec::new();
    // Drift that is left unchanged ends with a record of its own, which comes first when reading
    // backwards.
    let mut over = Ends::default();
    for seen in seen(ledger, origin, question, view).await? {
        match seen {
            Seen::Over { seq, at, app } => {
                for ended in overs(ledger, origin, seq).await? {
                    over.take(&app, ended, at);
                }
            }
            Seen::Drift(observed) => found.extend(told_of(ledger, origin, observed, &mut over).await?),
        }
    }
    found.truncate(question.limit);
    Ok(found)
}

/// Returns the records of drift, newest first.
async fn seen(
    ledger: &dyn Ledger,
    origin: &Origin,
    question: &DriftQuestion,
    view: &View,
) -> Result<Vec<Seen>, LedgerError> {
    // When reading backwards, the last change found of a resource is the first one after the next
    // record.
    let mut changed: BTreeMap<String, Timestamp> = BTreeMap::new();
    let mut found = Vec::new();
    // Attribution is recorded after the drift, and so comes first.
    let mut attributed: BTreeMap<(String, String), Vec<u64>> = BTreeMap::new();
    let mut count = 0;
    walk_back(ledger, origin, None, PAGE, |record| {
        let done = record.data.get("outcome").is_some_and(|outcome| outcome == "done" || outcome == "found done");
        let app = record.subject.parse::<AppId>().ok();
        let app = app.filter(|app| question.app.as_ref().is_none_or(|wanted| wanted == app) && view.sees(app));
        match (record.kind, app) {
            (Kind::EffectResult, _) if done => drop(changed.insert(record.subject, record.time)),
            (Kind::DriftAttributed, _) => {
                let of = text_of(&record, "of");
                attributed.entry((record.subject, of)).or_default().push(record.seq);
            }
            (Kind::DriftOver, Some(app)) => found.push(Seen::Over { seq: record.seq, at: record.time, app }),
            (Kind::DriftObserved, Some(app)) => {
                let keys = drifted(&record);
                count += keys.len();
                let healed = |key: &Key| changed.get(&format!("{app} {key}")).copied();
                let keys = keys.into_iter().map(|key| (key.clone(), healed(&key))).collect();
                let attributed = attributed.remove(&(record.subject.clone(), text_of(&record, "drift")));
                let attributed = attributed.unwrap_or_default();
                found.push(Seen::Drift(Observed { seq: record.seq, at: record.time, app, keys, attributed }));
            }
            _ => {}
        }
        if count < question.limit { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })
    .await?;
    Ok(found)
}

/// Ends of drift that Setpoint did not cause, reading backwards.
#[derive(Default)]
struct Ends {
    /// Ends of undeclared fields: each end belongs to the first drift that matches it.
    beside: BTreeMap<(AppId, Key, Arc<str>), Timestamp>,
    /// The times at which objects matched their declaration again.
    drift: BTreeMap<(AppId, Key), Timestamp>,
}

impl Ends {
    fn take(&mut self, app: &AppId, Over { key, paths }: Over, at: Timestamp) {
        if paths.is_empty() {
            self.drift.insert((app.clone(), key), at);
            return;
        }
        self.beside.extend(paths.into_iter().map(|path| ((app.clone(), key.clone(), path), at)));
    }

    fn of_drift(&self, app: &AppId, key: &Key) -> Option<Timestamp> {
        self.drift.get(&(app.clone(), key.clone())).copied()
    }

    /// Returns the end of the undeclared fields at all these paths.
    fn of_all(&mut self, app: &AppId, key: &Key, beside: &[Arc<str>]) -> Option<Timestamp> {
        let end = |path: &Arc<str>| self.beside.remove(&(app.clone(), key.clone(), Arc::clone(path)));
        let ends: Vec<Option<Timestamp>> = beside.iter().map(end).collect();
        ends.into_iter().collect::<Option<Vec<_>>>().and_then(|ends| ends.into_iter().max())
    }
}

/// Returns the drift of one record. `over` has the later ends.
async fn told_of(
    ledger: &dyn Ledger,
    origin: &Origin,
    observed: Observed,
    over: &mut Ends,
) -> Result<Vec<DriftRecord>, LedgerError> {
    let Observed { seq, at: seen, app, keys, attributed } = observed;
    let mut bodies = bodies(ledger, origin, seq).await?;
    let writers = writers(ledger, origin, &attributed).await?;
    let mut told = Vec::new();
    for (key, changed) in keys {
        for drift in bodies.remove(&key).unwrap_or_else(|| vec![unsaid(&key)]) {
            let Drift { cause, differences, writer, beside, .. } = drift;
            let proven = writers.get(&key).filter(|_| cause != Cause::Leftover).cloned();
            let healed = match beside.is_empty() {
                true => changed.into_iter().chain(over.of_drift(&app, &key)).min(),
                false => over.of_all(&app, &key, &beside),
            };
            told.push(DriftRecord {
                seq,
                app: app.clone(),
                key: key.clone(),
                cause,
                seen,
                healed,
                writer: proven.unwrap_or(writer),
                differences,
                beside,
            });
        }
    }
    Ok(told)
}

/// Returns the drift of an object whose body is missing.
fn unsaid(key: &Key) -> Drift {
    let (differences, beside) = (Vec::new(), Vec::new());
    Drift { key: key.clone(), cause: Cause::Drift, differences, writer: Writer::Unknown, beside }
}

pub(super) fn text_of(record: &Record, name: &str) -> String {
    record.data.get(name).and_then(|text| text.as_str()).unwrap_or_default().to_owned()
}

fn drifted(record: &Record) -> Vec<Key> {
    text_of(record, "keys").lines().filter_map(|key| key.parse().ok()).collect()
}

/// Returns the writers from the records of attribution; none if their bodies were erased.
pub(super) async fn writers(
    ledger: &dyn Ledger,
    origin: &Origin,
    records: &[u64],
) -> Result<BTreeMap<Key, Writer>, LedgerError> {
    let mut writers = BTreeMap::new();
    for seq in records {
        let Body::Bytes(bytes) = ledger.body(origin, *seq).await? else { continue };
        let told: Vec<(Key, Writer)> = canonical::from_bytes(&bytes)
            .map_err(|source| LedgerError::corrupt("cannot read a record that attributes drift", source))?;
        writers.extend(told);
    }
    Ok(writers)
}

/// Returns the drift in the body of a record; empty if it was erased.
pub(super) async fn bodies(
    ledger: &dyn Ledger,
    origin: &Origin,
    seq: u64,
) -> Result<BTreeMap<Key, Vec<Drift>>, LedgerError> {
    let Body::Bytes(bytes) = ledger.body(origin, seq).await? else { return Ok(BTreeMap::new()) };
    let drifts: Vec<Drift> = canonical::from_bytes(&bytes)
        .map_err(|source| LedgerError::corrupt("cannot read a record of drift", source))?;
    let mut bodies: BTreeMap<Key, Vec<Drift>> = BTreeMap::new();
    for drift in drifts {
        bodies.entry(drift.key.clone()).or_default().push(drift);
    }
    Ok(bodies)
}

/// Returns the ends of drift in the body of a record; empty if it was erased.
async fn overs(ledger: &dyn Ledger, origin: &Origin, seq: u64) -> Result<Vec<Over>, LedgerError> {
    let Body::Bytes(bytes) = ledger.body(origin, seq).await? else { return Ok(Vec::new()) };
    canonical::from_bytes(&bytes)
        .map_err(|source| LedgerError::corrupt("cannot read a record of the end of drift", source))
}
