//! Reading the ledger backwards: what happened, and which drift was put right when.

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

/// Records that are read at once.
const PAGE: u64 = 500;
/// Records that one question looks at, at the most.
const FARTHEST: u64 = 200_000;

/// Walks back from `before` until told to stop, so many records at a time.
async fn walk_back(
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

/// What was recorded, newest first.
pub(super) async fn history(
    ledger: &dyn Ledger,
    origin: &Origin,
    question: &HistoryQuestion,
) -> Result<Vec<HistoryRecord>, LedgerError> {
    let mut found = Vec::new();
    // Every record is about all apps together: no more are read than are told.
    let page = match question.app {
        None => (question.limit as u64).clamp(1, PAGE),
        Some(_) => PAGE,
    };
    walk_back(ledger, origin, question.before, page, |record| {
        if question.app.as_ref().is_none_or(|app| is_about(&record, app)) && found.len() < question.limit {
            found.push(told(&record));
        }
        if found.len() < question.limit { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })
    .await?;
    Ok(found)
}

fn is_about(record: &Record, app: &AppId) -> bool {
    let subject = record.subject.strip_prefix(&app.to_string());
    subject.is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
}

fn told(record: &Record) -> HistoryRecord {
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

/// A record of drift, or that some of it is over.
enum Seen {
    Drift(Observed),
    Over { seq: u64, at: Timestamp, app: AppId },
}

/// A record of drift.
struct Observed {
    seq: u64,
    at: Timestamp,
    app: AppId,
    /// What drifted, with when it was changed by us afterwards.
    keys: BTreeMap<Key, Option<Timestamp>>,
    /// The records that tell who did it.
    attributed: Vec<u64>,
}

/// Drift that was recorded, newest first.
pub(super) async fn drift(
    ledger: &dyn Ledger,
    origin: &Origin,
    question: &DriftQuestion,
) -> Result<Vec<DriftRecord>, LedgerError> {
    let mut found = Vec::new();
    // What is left alone ends by a record of its own, which is met before the one it is about.
    let mut over = Ends::default();
    for seen in seen(ledger, origin, question).await? {
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

/// The records of drift, newest first.
async fn seen(ledger: &dyn Ledger, origin: &Origin, question: &DriftQuestion) -> Result<Vec<Seen>, LedgerError> {
    // Walking back, the last change seen of a resource is the first one after what comes next.
    let mut changed: BTreeMap<String, Timestamp> = BTreeMap::new();
    let mut found = Vec::new();
    // Who did it is found out later than it is seen, and so comes first.
    let mut attributed: BTreeMap<(String, String), Vec<u64>> = BTreeMap::new();
    let mut count = 0;
    walk_back(ledger, origin, None, PAGE, |record| {
        let done = record.data.get("outcome").is_some_and(|outcome| outcome == "done" || outcome == "found done");
        let app = record.subject.parse::<AppId>().ok();
        let app = app.filter(|app| question.app.as_ref().is_none_or(|wanted| wanted == app));
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

/// What ended without our doing, walking back.
#[derive(Default)]
struct Ends {
    /// What stood undeclared: each end is taken by the first that it is the end of.
    beside: BTreeMap<(AppId, Key, Arc<str>), Timestamp>,
    /// When an object was as declared again.
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

    /// The end of what stood in all these places.
    fn of_all(&mut self, app: &AppId, key: &Key, beside: &[Arc<str>]) -> Option<Timestamp> {
        let end = |path: &Arc<str>| self.beside.remove(&(app.clone(), key.clone(), Arc::clone(path)));
        let ends: Vec<Option<Timestamp>> = beside.iter().map(end).collect();
        ends.into_iter().collect::<Option<Vec<_>>>().and_then(|ends| ends.into_iter().max())
    }
}

/// What one record tells. `over`: what ended after it.
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

/// What is known of a drift whose body is not there.
fn unsaid(key: &Key) -> Drift {
    let (differences, beside) = (Vec::new(), Vec::new());
    Drift { key: key.clone(), cause: Cause::Drift, differences, writer: Writer::Unknown, beside }
}

fn text_of(record: &Record, name: &str) -> String {
    record.data.get(name).and_then(|text| text.as_str()).unwrap_or_default().to_owned()
}

fn drifted(record: &Record) -> Vec<Key> {
    text_of(record, "keys").lines().filter_map(|key| key.parse().ok()).collect()
}

/// Who did it, by the records that say so; nobody where their bodies were erased.
async fn writers(ledger: &dyn Ledger, origin: &Origin, records: &[u64]) -> Result<BTreeMap<Key, Writer>, LedgerError> {
    let mut writers = BTreeMap::new();
    for seq in records {
        let Body::Bytes(bytes) = ledger.body(origin, *seq).await? else { continue };
        let told: Vec<(Key, Writer)> = canonical::from_bytes(&bytes)
            .map_err(|source| LedgerError::corrupt("a record of who drifted something cannot be read", source))?;
        writers.extend(told);
    }
    Ok(writers)
}

/// What a record of drift says in its body; nothing if that was erased.
async fn bodies(ledger: &dyn Ledger, origin: &Origin, seq: u64) -> Result<BTreeMap<Key, Vec<Drift>>, LedgerError> {
    let Body::Bytes(bytes) = ledger.body(origin, seq).await? else { return Ok(BTreeMap::new()) };
    let drifts: Vec<Drift> = canonical::from_bytes(&bytes)
        .map_err(|source| LedgerError::corrupt("a record of drift cannot be read", source))?;
    let mut bodies: BTreeMap<Key, Vec<Drift>> = BTreeMap::new();
    for drift in drifts {
        bodies.entry(drift.key.clone()).or_default().push(drift);
    }
    Ok(bodies)
}

/// What is over, by the record that says so; nothing if its body was erased.
async fn overs(ledger: &dyn Ledger, origin: &Origin, seq: u64) -> Result<Vec<Over>, LedgerError> {
    let Body::Bytes(bytes) = ledger.body(origin, seq).await? else { return Ok(Vec::new()) };
    canonical::from_bytes(&bytes)
        .map_err(|source| LedgerError::corrupt("a record of what is over cannot be read", source))
}
