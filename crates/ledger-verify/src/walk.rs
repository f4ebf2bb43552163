//! The walk over every record of every log, from first to last.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use data_encoding::HEXLOWER;
use serde_json::value::RawValue;
use sha2::{Digest as _, Sha256};

use crate::database::{BodyRow, Database, LogRow};
use crate::error::VerifyError;
use crate::note::{self, Checkpoint, Key};
use crate::record::{Erasure, Gap, Record};
use crate::replay::Facts;
use crate::report::{LogReport, Report};
use crate::tables;
use crate::tree::{Hash, Stack, leaf};

/// The number of records read at a time.
const CHUNK: i64 = 2_048;
/// The height of the subtrees whose roots the writer stores.
const SEGMENT_HEIGHT: u32 = 10;

/// Verifies the ledger at `path` against the checkpoints stored elsewhere (`anchors`, as text) and
/// the keys that may sign.
///
/// An error means that the ledger could not be verified. It is a failure no less than a finding.
pub async fn verify(path: &Path, anchors: &[String], keys: &[Key]) -> Result<Report, VerifyError> {
    let mut database = Database::open(path).await?;
    let mut report = Report::default();
    tables::check_schema(&mut database, &mut report).await?;
    let anchors = open_anchors(anchors, keys, &mut report);
    let logs = database.logs().await?;
    let bundles = tables::check_bundles(&mut database, &mut report).await?;
    for log in &logs {
        verify_log(&mut database, log, &anchors, keys, &bundles, &mut report).await?;
    }
    for (anchor, _) in anchors.iter().filter(|(anchor, _)| logs.iter().all(|log| log.origin != anchor.origin)) {
        report.find(&anchor.origin, None, format!("the whole log is missing: {} records are anchored", anchor.size));
    }
    tables::check_strays(&mut database, &logs, &mut report).await?;
    report.sort();
    Ok(report)
}

type Signed = (Checkpoint, String);

fn open_anchors(texts: &[String], keys: &[Key], report: &mut Report) -> Vec<Signed> {
    let mut anchors = Vec::new();
    for text in texts {
        match note::open(text, keys) {
            Ok(anchor) => anchors.push((anchor, text.clone())),
            Err(why) => report.find("", None, format!("an anchor cannot be trusted: {why}")),
        }
    }
    anchors
}

async fn verify_log(
    database: &mut Database,
    log: &LogRow,
    anchors: &[Signed],
    keys: &[Key],
    bundles: &BTreeSet<String>,
    report: &mut Report,
) -> Result<(), VerifyError> {
    let checkpoints = read_checkpoints(database, log, keys, report).await?;
    let anchors: Vec<_> = anchors.iter().filter(|(anchor, _)| anchor.origin == log.origin).collect();
    let sizes = checkpoints.iter().chain(anchors.iter().copied()).map(|(checkpoint, _)| checkpoint.size);
    let segments = database.rows("SELECT segment, root FROM segments WHERE log = ?", log.id).await?;
    let mut walk = Walk::new(log, sizes.collect(), segments.into_iter().collect(), report);
    walk.all_records(database).await?;
    walk.finish();
    walk.judge_checkpoints(&checkpoints);
    walk.judge_anchors(&anchors, &checkpoints);
    let Walk { facts, summary, report, .. } = walk;
    tables::compare_facts(database, log, &facts, bundles, report).await?;
    report.logs.push(summary);
    Ok(())
}

async fn read_checkpoints(
    database: &mut Database,
    log: &LogRow,
    keys: &[Key],
    report: &mut Report,
) -> Result<Vec<Signed>, VerifyError> {
    let sql = "SELECT number, size, text FROM checkpoints WHERE log = ? ORDER BY number";
    let rows: Vec<(i64, i64, String)> = database.rows(sql, log.id).await?;
    let mut checkpoints = Vec::new();
    for (expected, (number, size, text)) in (0..).zip(rows) {
        let name = format!("checkpoint {number}");
        if number != expected {
            report.find(&log.origin, None, format!("checkpoint {expected} is missing"));
        }
        match note::open(&text, keys) {
            Err(why) => report.find(&log.origin, None, format!("{name} cannot be trusted: {why}")),
            Ok(checkpoint) if checkpoint.origin != log.origin || i64::try_from(checkpoint.size) != Ok(size) => {
                report.find(&log.origin, None, format!("{name} is not the one that was stored here"));
            }
            Ok(checkpoint) => checkpoints.push((checkpoint, text)),
        }
    }
    for pair in checkpoints.windows(2) {
        if pair[0].0.size >= pair[1].0.size || pair[0].0.epoch > pair[1].0.epoch {
            report.find(&log.origin, Some(pair[1].0.size), "a later checkpoint has an earlier size or epoch");
        }
    }
    Ok(checkpoints)
}

/// The state of the walk over one log.
struct Walk<'a> {
    log: &'a LogRow,
    report: &'a mut Report,
    summary: LogReport,
    stack: Stack,
    facts: Facts,
    /// Set when a change did not fit: its consequences are not reported again.
    misfit: bool,
    next: u64,
    epoch: u64,
    /// The root at the size of each checkpoint and anchor.
    roots: BTreeMap<u64, Option<Hash>>,
    segments: BTreeMap<i64, Vec<u8>>,
    erased: BTreeSet<u64>,
    erasures: BTreeSet<u64>,
    gaps: Vec<Gap>,
}

impl<'a> Walk<'a> {
    fn new(log: &'a LogRow, sizes: BTreeSet<u64>, segments: BTreeMap<i64, Vec<u8>>, report: &'a mut Report) -> Self {
        let mut walk = Self {
            log,
            report,
            summary: LogReport { origin: log.origin.clone(), ..LogReport::default() },
            stack: Stack::default(),
            facts: Facts::default(),
            misfit: false,
            next: 0,
            epoch: 0,
            roots: sizes.into_iter().map(|size| (size, None)).collect(),
            segments,
            erased: BTreeSet::new(),
            erasures: BTreeSet::new(),
            gaps: Vec::new(),
        };
        walk.keep_root();
        walk
    }

    fn find(&mut self, seq: impl Into<Option<u64>>, what: impl Into<String>) {
        self.report.find(&self.log.origin, seq.into(), what);
    }

    fn keep_root(&mut self) {
        if let Some(root) = self.roots.get_mut(&self.summary.records) {
            *root = Some(self.stack.root());
        }
    }

    async fn all_records(&mut self, database: &mut Database) -> Result<(), VerifyError> {
        let bounds = "SELECT min(seq), max(seq) FROM records WHERE log = ?";
        let bounds: Vec<(Option<i64>, Option<i64>)> = database.rows(bounds, self.log.id).await?;
        let Some((Some(first), Some(last))) = bounds.first().copied() else { return Ok(()) };
        // A negative number would be a record outside the sequence, so the walk begins at the first
        // record.
        let mut start = first.min(0);
        while start <= last {
            let end = start + CHUNK;
            let sql = "SELECT seq, bytes, leaf FROM records WHERE log = ? AND seq >= ? AND seq < ? ORDER BY seq";
            let rows: Vec<(i64, Vec<u8>, Vec<u8>)> = database.range(sql, self.log.id, start, end).await?;
            let mut bodies = BTreeMap::new();
            for (seq, bytes, beside) in &rows {
                bodies.extend(self.record(*seq, bytes, beside).map(|digest| (*seq, digest)));
            }
            let sql = "SELECT seq, salt, bytes FROM bodies WHERE log = ? AND seq >= ? AND seq < ?";
            for row in database.range(sql, self.log.id, start, end).await? {
                self.body(row, &mut bodies);
            }
            for seq in bodies.into_keys() {
                self.find(u64::try_from(seq).ok(), "its body is missing");
            }
            // Jumps over a gap, which an attacker may have made arbitrarily wide.
            let sql = "SELECT min(seq) FROM records WHERE log = ? AND seq >= ? AND ? = 0";
            let next: Vec<(Option<i64>,)> = database.range(sql, self.log.id, end, 0).await?;
            match next.first() {
                Some((Some(next),)) => start = *next,
                _ => break,
            }
        }
        Ok(())
    }

    /// Verifies one record. Returns the digest of its expected body.
    ///
    /// The stored hash proves nothing, because an attacker who changes the bytes can change it too.
    /// Where bytes are damaged, it identifies the record.
    fn record(&mut self, row: i64, bytes: &[u8], beside: &[u8]) -> Option<String> {
        let seq = self.next;
        if u64::try_from(row) != Ok(seq) {
            self.find(seq, format!("it is missing; record {row} follows"));
            self.next = u64::try_from(row).unwrap_or(seq);
        }
        let hash = leaf(bytes);
        if hash != beside {
            self.find(u64::try_from(row).ok(), "it is not what was recorded: its stored hash does not match");
        }
        let segment = self.stack.add(hash, SEGMENT_HEIGHT);
        if let Some(root) = segment {
            self.segment(&root);
        }
        self.next += 1;
        self.summary.records += 1;
        self.keep_root();
        match serde_json::from_slice::<Record<'_>>(bytes) {
            Ok(record) => self.judge(row, &record),
            Err(error) => {
                self.find(u64::try_from(row).ok(), format!("it cannot be read: {error}"));
                None
            }
        }
    }

    fn segment(&mut self, root: &Hash) {
        let number = i64::try_from(self.summary.records >> SEGMENT_HEIGHT).unwrap_or(i64::MAX);
        if self.segments.remove(&number).as_deref() != Some(&root[..]) {
            self.find(self.next, format!("the root of segment {number}, which ends here, is wrong or missing"));
        }
    }

    fn judge(&mut self, row: i64, record: &Record<'_>) -> Option<String> {
        let seq = u64::try_from(row).ok();
        if record.v != 1 {
            self.find(seq, format!("its version {} is unknown", record.v));
        }
        if record.origin != self.log.origin || Some(record.seq) != seq {
            self.find(seq, format!("it is numbered {} of {}", record.seq, record.origin.escape_debug()));
        }
        if record.epoch < self.epoch {
            self.find(seq, format!("its epoch {} comes after epoch {}", record.epoch, self.epoch));
        }
        self.epoch = self.epoch.max(record.epoch);
        for change in &record.changes {
            if let Err(why) = self.facts.fold(change)
                && !std::mem::replace(&mut self.misfit, true)
            {
                self.find(seq, format!("it does not follow from the records before it: {why}"));
            }
        }
        self.statement(seq, &record.kind, record.data);
        record.body.as_ref().map(ToString::to_string)
    }

    /// Stores the statements of a record about the ledger itself.
    fn statement(&mut self, seq: Option<u64>, kind: &str, data: &RawValue) {
        let read = match kind {
            "override" => {
                serde_json::from_str::<Erasure>(data.get()).map(|erasure| self.erasures.extend(erasure.erased))
            }
            "ledger.gap" => serde_json::from_str::<Gap>(data.get()).map(|gap| self.gaps.push(gap)),
            _ => Ok(()),
        };
        if let Err(error) = read {
            self.find(seq, format!("its data cannot be read: {error}"));
        }
    }

    fn body(&mut self, (row, salt, bytes): BodyRow, expected: &mut BTreeMap<i64, String>) {
        let seq = u64::try_from(row).ok();
        let Some(digest) = expected.remove(&row) else {
            return self.find(seq, "it has a body that it does not declare");
        };
        match (salt, bytes) {
            (Some(salt), Some(bytes)) => {
                self.summary.bodies += 1;
                let found = Sha256::new_with_prefix(salt).chain_update(bytes).finalize();
                if HEXLOWER.encode(&found) != digest {
                    self.find(seq, "its body is not the one that was recorded");
                }
            }
            (None, None) => {
                self.summary.erased += 1;
                self.erased.extend(seq);
            }
            _ => self.find(seq, "its body is half erased"),
        }
    }

    /// Checks that need all records.
    fn finish(&mut self) {
        self.summary.root = HEXLOWER.encode(&self.stack.root());
        self.summary.gaps = self.gaps.len() as u64;
        let unsaid: Vec<_> = self.erased.difference(&self.erasures).copied().collect();
        for seq in unsaid {
            self.find(seq, "its body is missing, and no record documents its erasure");
        }
        let undone: Vec<_> = self.erasures.difference(&self.erased).copied().collect();
        for seq in undone {
            self.find(seq, "a record documents the erasure of its body, but the body exists");
        }
        if let Some(number) = self.segments.keys().next().copied() {
            self.find(None, format!("segment {number} is beyond the log"));
        }
        if u64::try_from(self.log.epoch).is_ok_and(|epoch| epoch >= self.epoch) {
            return;
        }
        let (given, written) = (self.log.epoch, self.epoch);
        self.find(None, format!("epoch {given} is the newest that was acquired, but records are of epoch {written}"));
    }

    fn judge_checkpoints(&mut self, checkpoints: &[Signed]) {
        self.summary.checkpoints = checkpoints.len() as u64;
        for (checkpoint, _) in checkpoints {
            match self.roots.get(&checkpoint.size).copied().flatten() {
                Some(root) if root == checkpoint.root => self.summary.signed = checkpoint.size,
                Some(_) => return self.find_unsigned(checkpoint.size),
                None => {
                    let (size, records) = (checkpoint.size, self.summary.records);
                    self.find(records, format!("it and what follows is missing: {size} records were signed"));
                }
            }
            if u64::try_from(self.log.epoch).is_ok_and(|epoch| epoch < checkpoint.epoch) {
                self.find(None, format!("a checkpoint is of epoch {}, which was never acquired", checkpoint.epoch));
            }
        }
    }

    /// Reports the range of the first wrong root. Later wrong roots follow from it and are not
    /// reported. If a record of this log is already reported as bad, the range is not attributed to
    /// a record.
    fn find_unsigned(&mut self, size: u64) {
        let since = self.summary.signed;
        let named =
            self.report.findings.iter().any(|finding| finding.origin == self.log.origin && finding.seq.is_some());
        let what = format!("one of the records from {since} to before {size} differs from the signed one");
        self.find((!named).then_some(since), what);
    }

    fn judge_anchors(&mut self, anchors: &[&Signed], checkpoints: &[Signed]) {
        for (anchor, text) in anchors {
            let root = HEXLOWER.encode(&anchor.root);
            if self.gaps.iter().any(|gap| gap.anchor_size == anchor.size && gap.anchor_root == root) {
                continue;
            }
            let size = anchor.size;
            match self.roots.get(&size).copied().flatten() {
                None => {
                    let records = self.summary.records;
                    self.find(records, format!("it and what follows is missing: {size} records are anchored"));
                }
                Some(found) if found != anchor.root => {
                    self.find(None, format!("the first {size} records are not those that were anchored"));
                }
                Some(_) => {
                    self.summary.anchored = self.summary.anchored.max(size);
                    if !checkpoints.iter().any(|(_, stored)| stored == text) {
                        self.find(None, format!("the anchored checkpoint of {size} records is missing"));
                    }
                }
            }
        }
    }
}
