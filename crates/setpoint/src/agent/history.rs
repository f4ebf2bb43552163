//! Reading the ledger backwards: what happened, and which drift was put right when.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use setpoint_api::answer::{DriftRecord, HistoryRecord};
use setpoint_api::question::{DriftQuestion, HistoryQuestion};
use setpoint_core::canonical;
use setpoint_core::decide::Drift;
use setpoint_core::key::Key;
use setpoint_core::live::Writer;
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

/// Drift that was recorded, newest first.
pub(super) async fn drift(
    ledger: &dyn Ledger,
    origin: &Origin,
    question: &DriftQuestion,
) -> Result<Vec<DriftRecord>, LedgerError> {
    // Walking back, the last change seen of a resource is the first one after what comes next.
    let mut changed: BTreeMap<String, Timestamp> = BTreeMap::new();
    let mut observed = Vec::new();
    // Who did it is found out later than it is seen, and so comes first.
    let mut attributed: BTreeMap<(String, String), Vec<u64>> = BTreeMap::new();
    let mut count = 0;
    walk_back(ledger, origin, None, PAGE, |record| {
        let done = record.data.get("outcome").is_some_and(|outcome| outcome == "done" || outcome == "found done");
        match record.kind {
            Kind::EffectResult if done => drop(changed.insert(record.subject, record.time)),
            Kind::DriftAttributed => {
                let of = text_of(&record, "of");
                attributed.entry((record.subject, of)).or_default().push(record.seq);
            }
            Kind::DriftObserved => {
                let Ok(app) = record.subject.parse::<AppId>() else { return ControlFlow::Continue(()) };
                if question.app.as_ref().is_none_or(|wanted| *wanted == app) {
                    let keys = drifted(&record);
                    count += keys.len();
                    let healed = |key: &Key| changed.get(&format!("{app} {key}")).copied();
                    let healed: Vec<_> = keys.into_iter().map(|key| (healed(&key), key)).collect();
                    let completed = attributed.remove(&(record.subject.clone(), text_of(&record, "drift")));
                    observed.push((record.seq, record.time, app, healed, completed.unwrap_or_default()));
                }
            }
            _ => {}
        }
        if count < question.limit { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })
    .await?;
    let mut found = Vec::new();
    for (seq, seen, app, keys, completed) in observed {
        let mut bodies = bodies(ledger, origin, seq).await?;
        let mut writers = writers(ledger, origin, &completed).await?;
        for (healed, key) in keys {
            let drift = bodies.remove(&key);
            let (cause, writer, differences) = drift.map_or_else(
                || (setpoint_core::modes::Cause::Drift, Writer::Unknown, Vec::new()),
                |drift| (drift.cause, drift.writer, drift.differences),
            );
            let writer = writers.remove(&key).unwrap_or(writer);
            found.push(DriftRecord { seq, app: app.clone(), key, cause, seen, healed, writer, differences });
        }
    }
    found.truncate(question.limit);
    Ok(found)
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
async fn bodies(ledger: &dyn Ledger, origin: &Origin, seq: u64) -> Result<BTreeMap<Key, Drift>, LedgerError> {
    let Body::Bytes(bytes) = ledger.body(origin, seq).await? else { return Ok(BTreeMap::new()) };
    let drifts: Vec<Drift> = canonical::from_bytes(&bytes)
        .map_err(|source| LedgerError::corrupt("a record of drift cannot be read", source))?;
    Ok(drifts.into_iter().map(|drift| (drift.key.clone(), drift)).collect())
}
